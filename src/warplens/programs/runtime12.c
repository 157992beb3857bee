/* Functions that CUDA 12's runtime has with other parameters than CUDA 13's, or that it alone has.
   What CUDA 13 calls `name` is `name_v2` there, and `name` takes what it took before. */

#define CPU (-1)

static struct wl_location place_of(int device) {
    return device == CPU ? (struct wl_location){2, 0} : (struct wl_location){1, device};
}

EXPORTED int cudaRuntimeGetVersion(int *version) {
    if (!version) return result(INVALID_VALUE);
    *version = 12090;
    return 0;
}

EXPORTED int cudaMemAdvise(uint64_t data, size_t size, int advice, int device) {
    return cudaMemAdvise_v2(data, size, advice, place_of(device));
}
EXPORTED int cudaMemPrefetchAsync(uint64_t data, size_t size, int device, uint64_t stream) {
    return cudaMemPrefetchAsync_v2(data, size, place_of(device), 0, stream);
}
EXPORTED int cudaMemPrefetchAsync_ptsz(uint64_t data, size_t size, int device, uint64_t stream) {
    return cudaMemPrefetchAsync(data, size, device, stream);
}

/* --- graphs: no data for edges ------------------------------------------------------------------ */

EXPORTED int cudaGraphAddDependencies(uint64_t graph, uint64_t from, uint64_t to, size_t count) {
    return cudaGraphAddDependencies_v2(graph, from, to, 0, count);
}
EXPORTED int cudaGraphRemoveDependencies(uint64_t graph, uint64_t from, uint64_t to,
                                         size_t count) {
    return cudaGraphRemoveDependencies_v2(graph, from, to, 0, count);
}
EXPORTED int cudaGraphAddNode(uint64_t node, uint64_t graph, uint64_t after, size_t count,
                              uint64_t parameters) {
    return cudaGraphAddNode_v2(node, graph, after, 0, count, parameters);
}
EXPORTED int cudaGraphGetEdges(uint64_t graph, uint64_t from, uint64_t to, uint64_t count) {
    return cudaGraphGetEdges_v2(graph, from, to, 0, count);
}
EXPORTED int cudaGraphNodeGetDependencies(uint64_t node, uint64_t nodes, uint64_t count) {
    return cudaGraphNodeGetDependencies_v2(node, nodes, 0, count);
}
EXPORTED int cudaGraphNodeGetDependentNodes(uint64_t node, uint64_t nodes, uint64_t count) {
    return cudaGraphNodeGetDependentNodes_v2(node, nodes, 0, count);
}

EXPORTED int cudaStreamGetCaptureInfo_v2(uint64_t stream, uint64_t status, uint64_t id,
                                         uint64_t graph, uint64_t nodes, uint64_t count) {
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, 0, count);
}
EXPORTED int cudaStreamGetCaptureInfo_v2_ptsz(uint64_t stream, uint64_t status, uint64_t id,
                                              uint64_t graph, uint64_t nodes, uint64_t count) {
    return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
}
EXPORTED int cudaStreamGetCaptureInfo(uint64_t stream, uint64_t status, uint64_t id) {
    return cudaStreamGetCaptureInfo_v3(stream, status, id, 0, 0, 0, 0);
}
EXPORTED int cudaStreamGetCaptureInfo_ptsz(uint64_t stream, uint64_t status, uint64_t id) {
    return cudaStreamGetCaptureInfo(stream, status, id);
}
EXPORTED int cudaStreamUpdateCaptureDependencies(uint64_t stream, uint64_t nodes, size_t count,
                                                 uint32_t flags) {
    return cudaStreamUpdateCaptureDependencies_v2(stream, nodes, 0, count, flags);
}
EXPORTED int cudaStreamUpdateCaptureDependencies_ptsz(uint64_t stream, uint64_t nodes,
                                                      size_t count, uint32_t flags) {
    return cudaStreamUpdateCaptureDependencies(stream, nodes, count, flags);
}

/* --- names that CUDA 13 has no more -------------------------------------------------------------- */

EXPORTED int cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
EXPORTED int cudaThreadExit(void) { return cudaDeviceReset(); }
EXPORTED int cudaThreadGetLimit(uint64_t value, int limit) {
    return cudaDeviceGetLimit(value, limit);
}
EXPORTED int cudaThreadSetLimit(int limit, size_t value) {
    return cudaDeviceSetLimit(limit, value);
}
EXPORTED int cudaThreadGetCacheConfig(uint64_t config) {
    return cudaDeviceGetCacheConfig(config);
}
EXPORTED int cudaThreadSetCacheConfig(int config) { return cudaDeviceSetCacheConfig(config); }
EXPORTED int cudaSetDoubleForDevice(double *number) { (void)number; return 0; }
EXPORTED int cudaSetDoubleForHost(double *number) { (void)number; return 0; }
EXPORTED int cudaLaunchCooperativeKernelMultiDevice(void) {
    static atomic_int is_told;
    return result(warplens_missing(&is_told, "cudaLaunchCooperativeKernelMultiDevice"));
}
