// The same between the two blocks of a pair.
#define OF_PAIRS
#include "races.cuh"
#define R (blockIdx.x & 1)
__device__ __forceinline__ void meet_all() { before(); asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); after(); }
#define KERNEL(NAME) RACY(NAME, __cluster_dims__(2, 1, 1), meet_all, out + blockIdx.x * 128)
// @ fellow_loads_too_early: tensor-memory-read-write-race
KERNEL(fellow_loads_too_early) {
    if (T == 0 && R == 0) multiply(base, A, B), commit(barrier);
    if (R == 0 BUG(|| W != 2) FIX(|| true)) wait(barrier);
    out[T] = load(own);
}
// @ fellow_overwrites_operand: shared-read-write-race
KERNEL(fellow_overwrites_operand) {
    if (T == 0 && R == 0) multiply(base, A, B), commit(barrier);
    if (R == 0) wait(barrier);
    FIX(wait(barrier);)
    if (R == 1) b[T] = 7;
    wait(barrier);
    out[T] = load(own);
}
// @ own_overwrites_operand: shared-read-write-race
KERNEL(own_overwrites_operand) {
    if (T == 0 && R == 0) multiply(base, A, B), commit(barrier);
    FIX(wait(barrier);)
    if (R == 0) a[T] = 7;
    wait(barrier);
    out[T] = load(own);
}
// @ fellow_stores_late: tensor-memory-write-race
KERNEL(fellow_stores_late) {
    if (R == 1) store(own, T), store(own + 8, T), store(own + 16, T), store(own + 24, T), stored();
    if (R == 0) store(own, T), store(own + 8, T), store(own + 16, T), store(own + 24, T), stored();
    FIX(meet_all();)
    BUG(meet();)
    if (T == 0 && R == 0) multiply(base, A, B, true), commit(barrier);
    wait(barrier);
    out[T] = load(own);
}
// @ fellow_still_reads: tensor-memory-read-write-race
KERNEL(fellow_still_reads) {
    if (T == 0 && R == 0) multiply(base, A, B), commit(barrier);
    wait(barrier);
    unsigned v = load(own);
    FIX(meet_all();)
    BUG(meet();)
    if (T == 0 && R == 0) multiply(base, A, B, true), commit(barrier + 1);
    wait(barrier + 1);
    out[T] = v + load(own);
}
// @ remote_arrival:
__device__ void arrive_at(unsigned long long *b, int rank) {
    asm volatile("{.reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r];}" ::"r"(place_of(b)), "r"(rank) : "memory");
}
__device__ void wait_for_all(unsigned long long *b) {
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0; @p bra D; bra W; D:}" ::"r"(place_of(b)) : "memory");
    after();
}
KERNEL(remote_arrival) {
    __shared__ unsigned long long ready, drained;
    if (T == 0) begin(&ready, 128), begin(&drained, 256);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (R == 1) arrive_at(&ready, 0);
    if (T == 0 && R == 0) wait_for_all(&ready), multiply(base, A, B), commit(barrier);
    wait(barrier);
    unsigned v = load(own);
    before();
    arrive_at(&drained, 0);
    if (T == 0 && R == 0) wait_for_all(&drained), multiply(base, A, B, true), commit(barrier + 1);
    wait(barrier + 1);
    out[T] = v + load(own);
}
