// Calls of the device runtime: printf, malloc, free, assert.
#include <assert.h>
#include <stdio.h>

__global__ void runtime(int* p, int k) {
    int* q = (int*)malloc(k);
    if (q) {
        q[0] = k;
        printf("%d %f %s\n", q[0], 1.5 * k, "text");
        free(q);
    }
    assert(k > 3);
}
