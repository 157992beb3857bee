/* Kernels inside a module of Python: what its initialisers register, and their launches. */

enum { FATBIN = 1, FUNCTION, VARIABLE, MANAGED };
struct config { struct dim grid, block; size_t shared; void *stream, *attributes; unsigned count; };
typedef int launch_function(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, void *, void **, void **);
typedef int cooperative_function(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, void *, void **);
typedef int extended_function(const struct config *, uint64_t, void **, void **);

static int asked(int slot, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) {
    void *type, *value, *traceback;
    int lock = python.ensure();
    python.fetch(&type, &value, &traceback);
    int code = ((int (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t))targets[slot])(
        a, b, c, d, e);
    python.restore(type, value, traceback);
    python.release(lock);
    if (code) last = code;
    return code;
}

static uint64_t count;
EXPORTED void **__cudaRegisterFatBinary(void *wrapper) {
    uint64_t handle = ++count;
    asked(REGISTER, FATBIN, handle, (uint64_t)wrapper, 0, 0);
    return (void **)handle;
}
EXPORTED void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
EXPORTED void __cudaUnregisterFatBinary(void **handle) { (void)handle; }
EXPORTED void __cudaRegisterFunction(void **handle, const char *host, char *device,
                                     const char *name, int limit, void *tid, void *bid, void *block,
                                     void *grid, int *warp) {
    asked(REGISTER, FUNCTION, (uint64_t)handle, (uint64_t)host, (uint64_t)name, 0);
}
EXPORTED void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                                size_t size, int constant, int global) {
    asked(REGISTER, VARIABLE, (uint64_t)handle, (uint64_t)host, (uint64_t)name, size);
}
EXPORTED void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size) {
    asked(REGISTER, VARIABLE, (uint64_t)handle, (uint64_t)host, (uint64_t)name, size);
}
EXPORTED void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                       int ext, size_t size, int constant, int global) {
    asked(REGISTER, MANAGED, (uint64_t)handle, (uint64_t)host, (uint64_t)name, size);
}
EXPORTED char __cudaInitModule(void **handle) { (void)handle; return 1; }
EXPORTED void __cudaRegisterUnifiedTable(void) {}

EXPORTED int __cudaGetKernel(void **kernel, const void *function) {
    *kernel = (void *)function;
    return 0;
}
EXPORTED int cudaGetKernel(void **kernel, const void *function) {
    return __cudaGetKernel(kernel, function);
}
EXPORTED int cudaGetFuncBySymbol(void **found, const void *host) {
    return asked(KERNEL, (uint64_t)host, (uint64_t)found, 0, 0, 0);
}

static int told(int code) {
    if (code) last = code;
    return code;
}
static int launch(const void *host, struct dim grid, struct dim block, void **args, size_t shared,
                  void *stream, int is_cooperative) {
    uint64_t function = 0;
    int code = asked(KERNEL, (uint64_t)host, (uint64_t)&function, 0, 0, 0);
    if (code) return code;
    if (is_cooperative)
        return told(((cooperative_function *)targets[COOPERATIVE])(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, args));
    return told(((launch_function *)targets[LAUNCH])(
        function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, args, 0));
}
#define LAUNCHES(name, is_cooperative)                                                             \
    EXPORTED int name(const void *host, struct dim grid, struct dim block, void **args,            \
                      size_t shared, void *stream) {                                               \
        return launch(host, grid, block, args, shared, stream, is_cooperative);                    \
    }
LAUNCHES(cudaLaunchKernel, 0)
LAUNCHES(cudaLaunchKernel_ptsz, 0)
LAUNCHES(__cudaLaunchKernel, 0)
LAUNCHES(__cudaLaunchKernel_ptsz, 0)
LAUNCHES(cudaLaunchCooperativeKernel, 1)
LAUNCHES(cudaLaunchCooperativeKernel_ptsz, 1)

/* The driver's structure differs in the width of `shared` only, whose upper half is 0. */
EXPORTED int cudaLaunchKernelExC(const struct config *config, const void *host, void **args) {
    uint64_t function = 0;
    int code = asked(KERNEL, (uint64_t)host, (uint64_t)&function, 0, 0, 0);
    if (code) return code;
    return told(((extended_function *)targets[EXTENDED])(config, function, args, 0));
}
EXPORTED int cudaLaunchKernelExC_ptsz(const struct config *config, const void *host, void **args) {
    return cudaLaunchKernelExC(config, host, args);
}

/* The driver's functions by name, as the runtime hands them out. */
EXPORTED int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                              unsigned long long flags, int *found) {
    int kind = 1;
    int code = ((int (*)(const char *, void **, int, uint64_t, int *))targets[LOOKUP])(
        symbol, function, (int)version, flags, &kind);
    if (found) *found = kind;
    return told(code == 500 ? 0 : code);
}
EXPORTED int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                     int *found) {
    return cudaGetDriverEntryPointByVersion(symbol, function, 13000, flags, found);
}
