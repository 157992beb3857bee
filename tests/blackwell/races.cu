// Tensor memory and operands of tcgen05 in shared memory: with BUGGED each kernel races in one way.
// `@ name: checks` says what is to be found.
#include "races.cuh"
#define KERNEL(NAME) RACY(NAME, , meet, out)

// @ operand_overwritten: shared-read-write-race
KERNEL(operand_overwritten) {
    if (T == 0) multiply(base, A, B), commit(barrier);
    FIX(wait(barrier);)
    a[T] = T;
    BUG(wait(barrier);)
    out[T] = load(own);
}
// @ operand_overwritten_by_its_own_thread: shared-read-write-race
KERNEL(operand_overwritten_by_its_own_thread) {
    if (T == 0) {
        multiply(base, A, B);
        FIX(commit(barrier);)
        FIX(wait(barrier);)
        b[5] = 1;
        BUG(commit(barrier);)
    }
    wait(barrier);
    out[T] = load(own);
}
// @ operand_of_the_second_product: shared-read-write-race
KERNEL(operand_of_the_second_product) {
    if (T == 0) {
        multiply(base, A, B), commit(barrier);
        multiply(base, A, B, true), commit(barrier + 1);
    }
    wait(barrier);
    FIX(wait(barrier + 1);)
    a[T] = T;
    BUG(wait(barrier + 1);)
    out[T] = load(own);
}
// @ operand_without_proxy_fence: missing-proxy-fence
KERNEL(operand_without_proxy_fence) {
    a[T + 128] = T;
    FIX(proxy();)
    __syncthreads();
    if (T == 0) multiply(base, A, B), commit(barrier);
    wait(barrier);
    out[T] = load(own);
}
// @ operand_without_barrier: shared-read-write-race
KERNEL(operand_without_barrier) {
    b[T] = T;
    proxy();
    FIX(__syncthreads();)
    if (T == 0) multiply(base, A, B), commit(barrier);
    wait(barrier);
    out[T] = load(own);
}
// @ result_before_the_wait: tensor-memory-read-write-race
KERNEL(result_before_the_wait) {
    if (T == 0) multiply(base, A, B), commit(barrier);
    if (BUG(W == 0) FIX(true)) wait(barrier);
    out[T] = load(own);
}
// @ result_of_the_next_product: tensor-memory-read-write-race
KERNEL(result_of_the_next_product) {
    if (T == 0) multiply(base, A, B), commit(barrier);
    wait(barrier);
    unsigned sum = load(own);
    FIX(meet();)
    if (T == 0) multiply(base, A, B, true), commit(barrier + 1);
    wait(barrier + 1);
    out[T] = sum + load(own);
}
// @ products_of_two_warps: tensor-memory-write-race
KERNEL(products_of_two_warps) {
    if (T == 0) multiply(base, A, B), commit(barrier);
    FIX(wait(barrier);)
    if (T == 32) multiply(base, A, B, true), commit(barrier + 1);
    wait(barrier);
    wait(barrier + 1);
    out[T] = load(own);
}
// @ stores_not_waited_for: tensor-memory-write-race
KERNEL(stores_not_waited_for) {
    store(own, T), store(own + 8, T);
    FIX(stored();)
    meet();
    if (T == 0) multiply(base, A, B, true), commit(barrier);
    BUG(stored();)
    wait(barrier);
    out[T] = load(own);
}
// @ stores_before_the_barrier: tensor-memory-write-race
KERNEL(stores_before_the_barrier) {
    store(own, T), store(own + 8, T);
    stored();
    FIX(meet();)
    if (T == 0) multiply(base, A, B, true), commit(barrier);
    wait(barrier);
    out[T] = load(own);
}
// @ stored_and_loaded: tensor-memory-read-write-race
KERNEL(stored_and_loaded) {
    store(own, T);
    FIX(stored();)
    out[T] = load(own + 3);
}
// @ operand_in_tensor_memory: tensor-memory-read-write-race
KERNEL(operand_in_tensor_memory) {
    store(own + 32, T);
    FIX(stored();)
    meet();
    if (T == 0) multiply_from(base, base + 32, B), commit(barrier);
    wait(barrier);
    out[T] = load(own);
}
// @ operand_in_tensor_memory_overwritten: tensor-memory-read-write-race
KERNEL(operand_in_tensor_memory_overwritten) {
    store(own + 32, T), stored();
    meet();
    if (T == 0) multiply_from(base, base + 32, B), commit(barrier);
    FIX(wait(barrier);)
    store(own + 32, T + 1), stored();
    BUG(wait(barrier);)
    out[T] = load(own);
}
// @ copied_and_overwritten: shared-read-write-race
KERNEL(copied_and_overwritten) {
    if (T == 0) copy(base + 32, A), commit(barrier);
    FIX(wait(barrier);)
    a[T] = T;
    BUG(wait(barrier);)
    out[T] = load(own + 32);
}
// @ copy_without_proxy_fence: missing-proxy-fence
KERNEL(copy_without_proxy_fence) {
    a[T] = T;
    FIX(proxy();)
    __syncthreads();
    if (T == 0) copy(base + 32, A), commit(barrier);
    wait(barrier);
    out[T] = load(own + 32);
}
// @ copy_read_before_the_wait: tensor-memory-read-write-race
KERNEL(copy_read_before_the_wait) {
    if (T == 32) copy(base + 32, A), commit(barrier);
    if (BUG(W == 1) FIX(true)) wait(barrier);
    out[T] = load(own + 32);
}
// @ another_warps_commit: tensor-memory-read-write-race
KERNEL(another_warps_commit) {
    if (T == 0) {
        multiply(base, A, B);
        FIX(commit(barrier);)
        BUG(commit(barrier + 1);)
    }
    __syncthreads();
    if (T == 32) { BUG(commit(barrier);) FIX(commit(barrier + 1);) }
    if (W == 3) wait(barrier + 1);
    wait(barrier);
    if (W == 2) out[T] = load(own);
}
// @ freed_too_early: tensor-memory-write-race|tensor-memory-read-write-race
KERNEL(freed_too_early) {
    if (T == 0) multiply(base, A, B), commit(barrier);
    wait(barrier);
    out[T] = load(own);
    unsigned other;
    __shared__ unsigned again;
    if (W == 0)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(place_of(&again)) : "memory");
    meet();
    other = again;
    store(other + (W << 21), T), stored();
    out[T] += load(other + (W << 21));
    FIX(meet();)
    if (W == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(other));
}
// What is right, in both builds.
// @ copied_then_multiplied:
KERNEL(copied_then_multiplied) {
    if (T == 0) {
        copy(base + 32, A), copy(base + 36, A);
        multiply_from(base, base + 32, B), multiply(base, A, B, true);
        copy(base + 32, A), commit(barrier);
    }
    wait(barrier);
    out[T] = load(own);
}
// @ one_thread_waits:
KERNEL(one_thread_waits) {
    if (T == 0) multiply(base, A, B), commit(barrier), wait(barrier);
    meet();
    out[T] = load(own), a[T] = T;
}
// @ rows_of_their_own:
KERNEL(rows_of_their_own) {
    store(own, T), stored();
    out[T] = load(own + 3);
    store(own, T + 1), stored();
    out[T] += load(own + 3);
}
// @ ring:
KERNEL(ring) {
    for (int i = 0; i < 4; i++) {
        for (int k = T; k < 1024; k += 128) a[k] = i;
        proxy();
        meet();
        if (T == 0) multiply(base, A, B, i > 0), commit(barrier);
        wait(barrier, i & 1);
    }
    out[T] = load(own);
}
