/* Plain C for benchmarks/engine.py: engine_host NAME N prints nanoseconds and a check.
 *
 * ladder and sgemm are the kernels of engine_kernels.cu block by block and thread by thread: the
 * code between two barriers is a loop over the threads, shared memory an array of the block.
 * ladder-short and sgemm-short are the shortest loops with the same result. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* v += __shfl_down_sync(~0u, v, d): lanes at the end get their own value. */
static inline void add_shuffled(uint32_t v[32], int d) {
    uint32_t from[32];
    for (int lane = 0; lane < 32; ++lane) from[lane] = v[lane + d < 32 ? lane + d : lane];
    for (int lane = 0; lane < 32; ++lane) v[lane] += from[lane];
}

static void ladder_block(const int32_t* in, uint32_t* out, long n, long block) {
    uint32_t warps[8], v[256];
    for (int t = 0; t < 256; ++t) {
        long i = (block * 256 + t) * 4;
        v[t] = 0;
        if (i + 3 < n) v[t] = ((uint32_t)in[i] + in[i + 1]) + ((uint32_t)in[i + 2] + in[i + 3]);
    }
    for (int w = 0; w < 8; ++w)
        for (int d = 16; d; d >>= 1) add_shuffled(v + 32 * w, d);
    for (int t = 0; t < 256; t += 32) warps[t / 32] = v[t];
    /* __syncthreads() */
    for (int t = 0; t < 32; ++t) v[t] = t < 8 ? warps[t] : 0;
    for (int d = 4; d; d >>= 1) add_shuffled(v, d);
    *out += v[0];
}

static void sgemm_block(const float* a, const float* b, float* c, long n, long x0, long y0) {
    float as[8][64], bs[8][64], sum[64][8][8];
    memset(sum, 0, sizeof sum);
    for (long k = 0; k < n; k += 8) {
        for (int t = 0; t < 64; ++t)
            for (int i = t; i < 512; i += 64) {
                as[i % 8][i / 8] = a[(y0 + i / 8) * n + k + i % 8];
                bs[i / 64][i % 64] = b[(k + i / 64) * n + x0 + i % 64];
            }
        /* __syncthreads() */
        for (int t = 0; t < 64; ++t) {
            int tx = t % 8, ty = t / 8;
            for (int i = 0; i < 8; ++i)
                for (int r = 0; r < 8; ++r)
                    for (int s = 0; s < 8; ++s)
                        sum[t][r][s] += as[i][ty * 8 + r] * bs[i][tx * 8 + s];
        }
        /* __syncthreads() */
    }
    for (int t = 0; t < 64; ++t)
        for (int r = 0; r < 8; ++r)
            for (int s = 0; s < 8; ++s)
                c[(y0 + t / 8 * 8 + r) * n + x0 + t % 8 * 8 + s] = sum[t][r][s];
}

static void ladder(const char* name, long n) {
    int32_t* in = malloc(n * sizeof *in);
    uint32_t sum = 0;
    for (long i = 0; i < n; ++i) in[i] = (int32_t)(i & 15);
    double begin = now();
    if (!strcmp(name, "ladder"))
        for (long block = 0; block < n / 1024; ++block) ladder_block(in, &sum, n, block);
    else
        for (long i = 0; i < n; ++i) sum += (uint32_t)in[i];
    printf("%.0f %u\n", now() - begin, sum);
}

static void sgemm(const char* name, long n) {
    float *a = malloc(n * n * 4), *b = malloc(n * n * 4), *c = calloc(n * n, 4);
    for (long i = 0; i < n * n; ++i) a[i] = (float)(i % 7), b[i] = (float)(i % 5);
    double begin = now();
    if (!strcmp(name, "sgemm"))
        for (long y = 0; y < n; y += 64)
            for (long x = 0; x < n; x += 64) sgemm_block(a, b, c, n, x, y);
    else
        for (long y = 0; y < n; ++y)
            for (long k = 0; k < n; ++k) {
                float u = a[y * n + k];
                for (long x = 0; x < n; ++x) c[y * n + x] += u * b[k * n + x];
            }
    double time = now() - begin, check = 0.0;
    for (long i = 0; i < n * n; ++i) check += c[i] * (double)(i % 11);
    printf("%.0f %.17g\n", time, check);
}

int main(int argc, char** argv) {
    if (argc != 3) return 1;
    if (!strncmp(argv[1], "ladder", 6))
        ladder(argv[1], atol(argv[2]));
    else
        sgemm(argv[1], atol(argv[2]));
    return 0;
}
