// Warps with one task each, as in matrix products: bulk copies fill a ring of two stages, products
// empty it into two accumulators in turn, four warps load these.
#include "tcgen05.cuh"
#define ROUNDS 6

__device__ void expect(unsigned long long *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(place_of(barrier)), "r"(bytes) : "memory");
}
__device__ void bulk(void *to, const void *from, int bytes, unsigned long long *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place_of(to)), "l"(from), "r"(bytes), "r"(place_of(barrier)) : "memory");
}
struct Ring {
    alignas(1024) unsigned a[2][1024];
    alignas(1024) unsigned b[2][128];
    unsigned long long full[2], empty[2], done[2], drained[2];
    unsigned slot;
};

template <bool FULL, bool EMPTY, bool DONE, bool DRAINED>
__device__ __forceinline__ void run(const unsigned *in, unsigned *out) {
    __shared__ Ring r;
    if (T < 2) begin(r.full + T, 1), begin(r.empty + T, 1), begin(r.done + T, 1), begin(r.drained + T, 128);
    if (W == 0) take(&r.slot);
    meet();
    unsigned base = r.slot;
    if (T == 160) {  // fills
        for (int i = 0; i < ROUNDS; i++) {
            if (EMPTY && i >= 2) wait(r.empty + i % 2, (i / 2 - 1) & 1);
            expect(r.full + i % 2, 4608);
            bulk(r.a[i % 2], in, 4096, r.full + i % 2);
            bulk(r.b[i % 2], in, 512, r.full + i % 2);
        }
    } else if (T == 128) {  // multiplies
        for (int i = 0; i < ROUNDS; i++) {
            if (FULL) wait(r.full + i % 2, i / 2 & 1);
            if (DRAINED && i >= 2) wait(r.drained + i % 2, (i / 2 - 1) & 1);
            multiply(base + 32 * (i % 2), matrix(r.a[i % 2], 2048), matrix(r.b[i % 2], 256));
            commit(r.empty + i % 2);
            commit(r.done + i % 2);
        }
    } else if (T < 128) {  // takes the results
        unsigned sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            if (DONE || W != 1) wait(r.done + i % 2, i / 2 & 1);
            sum += load(base + 32 * (i % 2) + (W << 21));
            before();
            arrive(r.drained + i % 2);
        }
        out[T] = sum;
    }
    meet();
    if (W == 0) give(base);
}
#define KERNEL(NAME, ...)                                                                           \
    extern "C" __global__ void NAME(const unsigned *in, unsigned *out) { run<__VA_ARGS__>(in, out); }
// @ copies_not_waited_for: shared-read-write-race|shared-write-race
KERNEL(copies_not_waited_for, FIX(true) BUG(false), true, true, true)
// @ stages_not_empty: shared-write-race
KERNEL(stages_not_empty, true, FIX(true) BUG(false), true, true)
// @ results_not_done: tensor-memory-read-write-race
KERNEL(results_not_done, true, true, FIX(true) BUG(false), true)
// @ results_not_drained: tensor-memory-read-write-race
KERNEL(results_not_drained, true, true, true, FIX(true) BUG(false))
