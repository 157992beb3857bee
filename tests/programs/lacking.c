/* Calls a function that cuSPARSE had in CUDA 12 and that no header declares here. */
#include <stdio.h>

int cusparseDcsrilu02(void *, int, int, void *, void *, void *, void *, void *, int, void *);
int cusparseCreate(void **);

int main(void) {
    void *handle;
    int made = cusparseCreate(&handle);
    printf("%d %d\n", made, cusparseDcsrilu02(handle, 1, 1, 0, 0, 0, 0, 0, 0, 0));
    return 0;
}
