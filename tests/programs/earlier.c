/* Calls CUDA 12's runtime as its headers declare it, which is not always as CUDA 13's do. */
#include <stdio.h>
#include <stddef.h>

int cudaRuntimeGetVersion(int *);
int cudaGraphCreate(void **, unsigned);
int cudaGraphAddEmptyNode(void **, void *, void *const *, size_t);
int cudaGraphAddDependencies(void *, void *const *, void *const *, size_t);
int cudaGraphRemoveDependencies(void *, void *const *, void *const *, size_t);
int cudaGraphGetEdges(void *, void **, void **, size_t *);
int cudaGraphNodeGetDependencies(void *, void **, size_t *);
int cudaMallocManaged(void **, size_t, unsigned);
int cudaMemAdvise(const void *, size_t, int, int);
int cudaMemPrefetchAsync(const void *, size_t, int, void *);
int cudaStreamCreate(void **);
int cudaStreamBeginCapture(void *, int);
int cudaStreamGetCaptureInfo_v2(void *, int *, unsigned long long *, void **, void ***, size_t *);
int cudaStreamEndCapture(void *, void **);
int cudaThreadSynchronize(void);

int main(void) {
    int version = 0, status = 0;
    void *graph, *nodes[3], *from[4], *to[4], *memory, *stream, *capture = NULL, **after;
    size_t count = 0;
    unsigned long long id;
    cudaRuntimeGetVersion(&version);
    int wrong = cudaGraphCreate(&graph, 0);
    for (int i = 0; i < 3; i++) wrong += cudaGraphAddEmptyNode(&nodes[i], graph, NULL, 0);
    wrong += cudaGraphAddDependencies(graph, nodes, nodes + 1, 2); /* 0 -> 1 -> 2 */
    wrong += cudaGraphGetEdges(graph, NULL, NULL, &count);
    printf("%d edges, ", (int)count);
    wrong += cudaGraphGetEdges(graph, from, to, &count);
    wrong += cudaGraphRemoveDependencies(graph, from, to, 1);
    wrong += cudaGraphGetEdges(graph, NULL, NULL, &count);
    printf("then %d; ", (int)count);
    wrong += cudaGraphNodeGetDependencies(nodes[0], NULL, &count);
    printf("%d before the first\n", (int)count);
    wrong += cudaMallocManaged(&memory, 4096, 1);
    wrong += cudaMemAdvise(memory, 4096, 1, -1);
    wrong += cudaStreamCreate(&stream);
    wrong += cudaMemPrefetchAsync(memory, 4096, -1, stream);
    wrong += cudaStreamBeginCapture(stream, 0);
    wrong += cudaStreamGetCaptureInfo_v2(stream, &status, &id, &capture, &after, &count);
    printf("status %d, graph %d, %d nodes\n", status, capture != NULL, (int)count);
    wrong += cudaStreamEndCapture(stream, &graph);
    wrong += cudaThreadSynchronize();
    printf("version %d, sum of codes %d\n", version, wrong);
    return 0;
}
