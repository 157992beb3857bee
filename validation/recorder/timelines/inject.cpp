// Loaded into a program by CUDA_INJECTION64_PATH: writes what CUPTI's activity API tells of its
// kernels, copies, fills and calls, a line of JSON each, to the file $TIMELINE.
#include <cupti.h>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#ifndef KERNEL
#error "define KERNEL, COPY and FILL as this CUPTI's newest records, e.g. CUpti_ActivityKernel10"
#endif

static FILE *out;

static void told(CUpti_Activity *record) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        auto *k = (KERNEL *)record;
        fprintf(out, "{\"kind\": \"kernel\", \"name\": \"%s\", \"start\": %llu, \"end\": %llu, "
                "\"stream\": %u, \"grid\": [%d, %d, %d], \"block\": [%d, %d, %d]}\n", k->name,
                (unsigned long long)k->start, (unsigned long long)k->end, k->streamId, k->gridX,
                k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        auto *c = (COPY *)record;
        fprintf(out, "{\"kind\": \"copy\", \"way\": %d, \"from\": %d, \"to\": %d, \"bytes\": %llu, "
                "\"start\": %llu, \"end\": %llu, \"stream\": %u}\n", c->copyKind, c->srcKind,
                c->dstKind, (unsigned long long)c->bytes, (unsigned long long)c->start,
                (unsigned long long)c->end, c->streamId);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        auto *m = (FILL *)record;
        fprintf(out, "{\"kind\": \"fill\", \"bytes\": %llu, \"start\": %llu, \"end\": %llu}\n",
                (unsigned long long)m->bytes, (unsigned long long)m->start,
                (unsigned long long)m->end);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
        auto *a = (CUpti_ActivityAPI *)record;
        const char *name = "?";
        cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, a->cbid, &name);
        fprintf(out, "{\"kind\": \"call\", \"name\": \"%s\", \"start\": %llu, \"end\": %llu}\n", name,
                (unsigned long long)a->start, (unsigned long long)a->end);
    }
}
static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most) {
    *size = 8 << 20, *most = 0;
    *buffer = (uint8_t *)aligned_alloc(8, *size);
}
static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
    CUpti_Activity *record = nullptr;
    while (valid && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        told(record);
    free(buffer);
}
static void finish() {
    cuptiActivityFlushAll(1);
    fclose(out);
}

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    const char *path = getenv("TIMELINE");
    out = fopen(path ? path : "timeline.jsonl", "w");
    cuptiActivityRegisterCallbacks(requested, completed);
    for (CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                    CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                    CUPTI_ACTIVITY_KIND_RUNTIME})
        cuptiActivityEnable(kind);
    atexit(finish);
    return 1;
}
