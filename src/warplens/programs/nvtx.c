/* NVTX: the functions of its library, and what its headers load by NVTX_INJECTION64_PATH. Names of
   domains and strings are kept here; the engine is told when ranges begin and end. */
#include <stdlib.h>
#include <wchar.h>

#define MOST_DOMAINS 64
enum { PUSH, POP, START, END, MARK };
enum { ASCII = 1, UNICODE = 2, REGISTERED = 3 };

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};
struct depth { const char *domain; int levels; };
static __thread struct depth depths[MOST_DOMAINS];
static atomic_ulong latest;

static char *narrow(const wchar_t *wide) {
    size_t n = wide ? wcslen(wide) : 0;
    char *text = malloc(4 * n + 1), *to = text;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = (uint32_t)wide[i];
        if (c < 0x80) *to++ = (char)c;
        else if (c < 0x800) *to++ = (char)(0xC0 | c >> 6), *to++ = (char)(0x80 | (c & 63));
        else {
            if (c < 0x10000) *to++ = (char)(0xE0 | c >> 12);
            else *to++ = (char)(0xF0 | c >> 18), *to++ = (char)(0x80 | (c >> 12 & 63));
            *to++ = (char)(0x80 | (c >> 6 & 63)), *to++ = (char)(0x80 | (c & 63));
        }
    }
    *to = 0;
    return text;
}

static void tell(uint64_t kind, const char *domain, uint64_t id, const char *text) {
    size_t before = domain ? strlen(domain) : 0, after = text ? strlen(text) : 0;
    char *both = malloc(before + after + 1);
    memcpy(both, domain ? domain : "", before);
    memcpy(both + before, text ? text : "", after);
    uint64_t words[] = {kind, id, before};
    warplens_call(SLOT___warplens_nvtx, words, 3, both, before + after);
    free(both);
}
static void tell_wide(uint64_t kind, const char *domain, uint64_t id, const wchar_t *wide) {
    char *text = narrow(wide);
    tell(kind, domain, id, text);
    free(text);
}
static void tell_event(uint64_t kind, const char *domain, uint64_t id, const struct attributes *a) {
    int type = a ? a->message_type : 0;
    if (type == UNICODE) tell_wide(kind, domain, id, a->message);
    else tell(kind, domain, id, type == ASCII || type == REGISTERED ? a->message : "");
}
static struct depth *depth_of(const char *domain) {
    for (int i = 1; i < MOST_DOMAINS && domain; i++) {
        if (!depths[i].domain) depths[i].domain = domain;
        if (depths[i].domain == domain) return &depths[i];
    }
    return &depths[0];
}
static int pushed(const char *domain) { return depth_of(domain)->levels++; }
static int popped(const char *domain) {
    struct depth *depth = depth_of(domain);
    if (!depth->levels) return -2; /* NVTX_NO_PUSH_POP_TRACKING where nothing is open */
    tell(POP, domain, 0, NULL);
    return --depth->levels;
}

/* A domain and a registered string are their names. */
EXPORTED char *nvtxDomainCreateA(const char *name) { return strdup(name ? name : ""); }
EXPORTED char *nvtxDomainCreateW(const wchar_t *name) { return narrow(name); }
EXPORTED void nvtxDomainDestroy(char *domain) { (void)domain; } /* its ranges may be open */
EXPORTED char *nvtxDomainRegisterStringA(char *domain, const char *text) { return strdup(text); }
EXPORTED char *nvtxDomainRegisterStringW(char *domain, const wchar_t *text) { return narrow(text); }

EXPORTED void nvtxDomainMarkEx(const char *domain, const struct attributes *event) {
    tell_event(MARK, domain, 0, event);
}
EXPORTED uint64_t nvtxDomainRangeStartEx(const char *domain, const struct attributes *event) {
    uint64_t id = ++latest;
    tell_event(START, domain, id, event);
    return id;
}
EXPORTED void nvtxDomainRangeEnd(const char *domain, uint64_t id) { tell(END, domain, id, NULL); }
EXPORTED int nvtxDomainRangePushEx(const char *domain, const struct attributes *event) {
    tell_event(PUSH, domain, 0, event);
    return pushed(domain);
}
EXPORTED int nvtxDomainRangePop(const char *domain) { return popped(domain); }

EXPORTED void nvtxMarkEx(const struct attributes *event) { nvtxDomainMarkEx(NULL, event); }
EXPORTED void nvtxMarkA(const char *text) { tell(MARK, NULL, 0, text); }
EXPORTED void nvtxMarkW(const wchar_t *text) { tell_wide(MARK, NULL, 0, text); }
EXPORTED uint64_t nvtxRangeStartEx(const struct attributes *event) {
    return nvtxDomainRangeStartEx(NULL, event);
}
EXPORTED uint64_t nvtxRangeStartA(const char *text) {
    uint64_t id = ++latest;
    tell(START, NULL, id, text);
    return id;
}
EXPORTED uint64_t nvtxRangeStartW(const wchar_t *text) {
    uint64_t id = ++latest;
    tell_wide(START, NULL, id, text);
    return id;
}
EXPORTED void nvtxRangeEnd(uint64_t id) { tell(END, NULL, id, NULL); }
EXPORTED int nvtxRangePushEx(const struct attributes *event) {
    return nvtxDomainRangePushEx(NULL, event);
}
EXPORTED int nvtxRangePushA(const char *text) {
    tell(PUSH, NULL, 0, text);
    return pushed(NULL);
}
EXPORTED int nvtxRangePushW(const wchar_t *text) {
    tell_wide(PUSH, NULL, 0, text);
    return pushed(NULL);
}
EXPORTED int nvtxRangePop(void) { return popped(NULL); }
EXPORTED void nvtxInitialize(const void *reserved) { (void)reserved; }

#define NOTHING(name) EXPORTED void *name(void) { return NULL; }
NOTHING(nvtxNameCategoryA) NOTHING(nvtxNameCategoryW)
NOTHING(nvtxNameOsThreadA) NOTHING(nvtxNameOsThreadW)
NOTHING(nvtxDomainNameCategoryA) NOTHING(nvtxDomainNameCategoryW)
NOTHING(nvtxDomainResourceCreate) NOTHING(nvtxDomainResourceDestroy)
NOTHING(nvtxNameCudaDeviceA) NOTHING(nvtxNameCudaDeviceW)
NOTHING(nvtxNameCudaStreamA) NOTHING(nvtxNameCudaStreamW)
NOTHING(nvtxNameCudaEventA) NOTHING(nvtxNameCudaEventW)
NOTHING(nvtxNameCuDeviceA) NOTHING(nvtxNameCuDeviceW)
NOTHING(nvtxNameCuContextA) NOTHING(nvtxNameCuContextW)
NOTHING(nvtxNameCuStreamA) NOTHING(nvtxNameCuStreamW)
NOTHING(nvtxNameCuEventA) NOTHING(nvtxNameCuEventW)

/* The headers' own functions call through a table of pointers, which they offer to be filled. */
typedef void (*function)(void);
struct callbacks {
    size_t size;
    int (*table)(int module, function ***functions, unsigned *count);
};
#define AT(name) (function)name
static const function core[] = {
    NULL, AT(nvtxMarkEx), AT(nvtxMarkA), AT(nvtxMarkW), AT(nvtxRangeStartEx), AT(nvtxRangeStartA),
    AT(nvtxRangeStartW), AT(nvtxRangeEnd), AT(nvtxRangePushEx), AT(nvtxRangePushA),
    AT(nvtxRangePushW), AT(nvtxRangePop)};
static const function core2[] = {
    NULL, AT(nvtxDomainMarkEx), AT(nvtxDomainRangeStartEx), AT(nvtxDomainRangeEnd),
    AT(nvtxDomainRangePushEx), AT(nvtxDomainRangePop), NULL, NULL, NULL, NULL,
    AT(nvtxDomainRegisterStringA), AT(nvtxDomainRegisterStringW), AT(nvtxDomainCreateA),
    AT(nvtxDomainCreateW), AT(nvtxDomainDestroy), AT(nvtxInitialize)};

static int fill(const struct callbacks *offered, int module, const function *ours, unsigned n) {
    function **theirs;
    unsigned count;
    if (!offered->table(module, &theirs, &count)) return 0;
    for (unsigned i = 1; i < n && i < count; i++)
        if (ours[i] && theirs[i]) *theirs[i] = ours[i];
    return 1;
}
EXPORTED int InitializeInjectionNvtx2(const void *(*offer)(uint32_t table)) {
    const struct callbacks *offered = offer(1);
    if (!offered || offered->size < sizeof *offered) return 0;
    return fill(offered, 1, core, sizeof core / sizeof *core) &&
           fill(offered, 5, core2, sizeof core2 / sizeof *core2);
}
