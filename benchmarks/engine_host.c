/* The same work as ladder and sgemm in plain C, timed inside: prints nanoseconds and a check. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char** argv) {
    long n = atol(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "ladder")) {
        int32_t* in = malloc(n * sizeof *in);
        for (long i = 0; i < n; ++i) in[i] = (int32_t)(i & 15);
        double begin = now();
        uint32_t sum = 0;
        for (long i = 0; i < n; ++i) sum += (uint32_t)in[i];
        printf("%.0f %u\n", now() - begin, sum);
    } else {
        float *a = malloc(n * n * 4), *b = malloc(n * n * 4), *c = calloc(n * n, 4);
        for (long i = 0; i < n * n; ++i) a[i] = (float)(i % 7), b[i] = (float)(i % 5);
        double begin = now();
        for (long y = 0; y < n; ++y)
            for (long k = 0; k < n; ++k) {
                float u = a[y * n + k];
                for (long x = 0; x < n; ++x) c[y * n + x] += u * b[k * n + x];
            }
        printf("%.0f %g\n", now() - begin, (double)c[n * n / 2]);
    }
    return 0;
}
