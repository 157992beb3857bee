// Thrust's sort and reduce, CUB's device-wide scan: header code, compiled as it is.
#include <algorithm>
#include <cstdio>
#include <cub/cub.cuh>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

int main() {
    const int n = 20000;
    thrust::host_vector<unsigned> host(n);
    unsigned state = 1;
    for (auto &x : host) x = state = state * 1664525u + 1013904223u;
    thrust::device_vector<unsigned> device = host;
    thrust::sort(device.begin(), device.end());
    unsigned sum = thrust::reduce(device.begin(), device.end());
    thrust::host_vector<unsigned> sorted = device;
    bool right = std::is_sorted(sorted.begin(), sorted.end()) &&
                 sum == std::accumulate(host.begin(), host.end(), 0u);

    thrust::device_vector<unsigned> scanned(n);
    size_t bytes = 0;
    cub::DeviceScan::InclusiveSum(nullptr, bytes, device.begin(), scanned.begin(), n);
    thrust::device_vector<char> room(bytes);
    void *place = thrust::raw_pointer_cast(room.data());
    cub::DeviceScan::InclusiveSum(place, bytes, device.begin(), scanned.begin(), n);
    thrust::host_vector<unsigned> found = scanned, expected(n);
    std::partial_sum(sorted.begin(), sorted.end(), expected.begin());
    printf("%d %d\n", right, found == expected);
    return 0;
}
