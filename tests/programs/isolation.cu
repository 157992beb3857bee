// A program that tries to reach the memory of the process that simulates its GPU, each time in a
// child of its own: what touches its own memory at that address ends by a signal, as with a GPU.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void reads(const char *from, char *to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void writes(char *to) { to[threadIdx.x] = 'x'; }
__global__ void adds(unsigned *to) { atomicAdd(to, 1); }

static const char *names[] = {
    "copy to the host", "copy by kind of address", "copy to it", "copy on the device",
    "copy on the device to it", "asynchronous copy", "rows", "fill", "free", "free of the host's",
    "registration", "device address", "prefetch", "kernel that reads", "kernel that writes",
    "kernel that adds"};
static char *mine, found[64];

static cudaError_t tried(int which, char *other) {
    auto out = cudaMemcpyDeviceToHost, in = cudaMemcpyHostToDevice, on = cudaMemcpyDeviceToDevice;
    void *far = nullptr;
    switch (which) {
    case 0: return cudaMemcpy(found, other, 32, out);
    case 1: return cudaMemcpy(found, other, 32, cudaMemcpyDefault);
    case 2: return cudaMemcpy(other, found, 32, in);
    case 3: return cudaMemcpy(mine, other, 32, on);
    case 4: return cudaMemcpy(other, mine, 32, on);
    case 5: return cudaMemcpyAsync(found, other, 32, out, 0);
    case 6: return cudaMemcpy2D(found, 8, other, 8, 8, 4, out);
    case 7: return cudaMemset(other, 'x', 32);
    case 8: return cudaFree(other);
    case 9: return cudaFreeHost(other);
    case 10: return cudaHostRegister(other, 32, cudaHostRegisterMapped);
    case 11: return cudaHostGetDevicePointer(&far, other, 0);
    case 12: return cudaMemPrefetchAsync(other, 4096, {cudaMemLocationTypeDevice, 0}, 0, 0);
    case 13: reads<<<1, 32>>>(other, mine); break;
    case 14: writes<<<1, 32>>>(other); break;
    case 15: adds<<<1, 32>>>((unsigned *)other); break;
    }
    return cudaDeviceSynchronize();
}

int main(int, char **argv) {
    char *other = (char *)strtoull(argv[1], nullptr, 0);
    for (int which = 0; which < 16; which++) {
        pid_t child = fork();
        if (!child) {
            cudaMalloc(&mine, 4096);
            cudaError_t error = tried(which, other);
            char text[64] = {};
            if (error == cudaSuccess) cudaMemcpy(text, mine, 32, cudaMemcpyDeviceToHost);
            printf("%s: %s %.32s %.32s\n", names[which], error ? "refused" : "went", found, text);
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) printf("%s: signal\n", names[which]);
        fflush(stdout);
    }
    return 0;
}
