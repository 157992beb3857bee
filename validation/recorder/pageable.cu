// Pageable copies by size, with memory the host has just written and with memory used before; JSON lines.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
// Columns: validation/data/pageable_sm90.json.
int main() {
    char *d; cudaMalloc(&d, 512u << 20);
    cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
    for (int round = 0; round < 4; round++)
        for (size_t n = 1u << 16; n <= (256u << 20); n *= 4)
            for (int kind = 0; kind < 2; kind++) {
                char *h = (char *)malloc(n);
                for (size_t i = 0; i < n / 4; i++) ((unsigned *)h)[i] = (unsigned)(i * 2654435761u) >> 7;
                double t[4]; float ms[4];
                for (int k = 0; k < 4; k++) { // in, in, out, out
                    char *x = h;
                    if (kind && k >= 2) { x = (char *)malloc(n); memset(x, 1, n); } // another target
                    double s = now(); cudaEventRecord(a);
                    if (k < 2) cudaMemcpy(d, x, n, cudaMemcpyHostToDevice); else cudaMemcpy(x, d, n, cudaMemcpyDeviceToHost);
                    cudaEventRecord(b); t[k] = now() - s; cudaEventSynchronize(b); cudaEventElapsedTime(&ms[k], a, b);
                    if (x != h) free(x);
                }
                printf("[%d, %zu, %d, %.2f, %.2f, %.2f, %.2f, %.2f, %.2f, %.2f, %.2f]\n", round, n, kind, t[0]*1e6, t[1]*1e6, t[2]*1e6, t[3]*1e6, ms[0]*1e3, ms[1]*1e3, ms[2]*1e3, ms[3]*1e3);
                free(h);
            }
}
