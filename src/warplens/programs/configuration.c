/* The shapes of launches that the compiler's `<<<>>>` pushes and a kernel's stub pops. */
#include <stdint.h>
#include <stddef.h>

#define INVALID_VALUE 1
#define MOST_CALLS 64

struct dim { uint32_t x, y, z; };
struct configuration { struct dim grid, block; uint64_t shared; void *stream; };

static __thread struct configuration pushed[MOST_CALLS];
static __thread int n_pushed;

EXPORTED unsigned __cudaPushCallConfiguration(struct dim grid, struct dim block, size_t shared,
                                              void *stream) {
    if (n_pushed == MOST_CALLS) return INVALID_VALUE;
    pushed[n_pushed++] = (struct configuration){grid, block, shared, stream};
    return 0;
}
EXPORTED int __cudaPopCallConfiguration(struct dim *grid, struct dim *block, size_t *shared,
                                        void **stream) {
    if (!n_pushed) return INVALID_VALUE;
    struct configuration *top = &pushed[--n_pushed];
    *grid = top->grid, *block = top->block, *shared = top->shared, *stream = top->stream;
    return 0;
}
