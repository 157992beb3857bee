// Locks: what only the order of taking one separates, and what is handed over under a lock, by
// flags, tickets, counters and pointers, which is right. Blocks of one working thread unless noted.
#include <cuda/atomic>
#include "pairs.cuh"
#define ONE if (threadIdx.x != 0) return

__device__ void take(int *l) {
    while (atomicCAS(l, 0, 1) != 0) {}
    __threadfence();
}
__device__ void leave(int *l) {
    __threadfence();
    atomicExch(l, 0);
}
__device__ void count_up(int *l, int *n) {
    take(l);
    *n += 1;
    leave(l);
}

// @ between_two_sections: ordered-by-lock-only <<<3, 32>>>
KERNEL(between_two_sections) {
    ONE;
    count_up(a, a + 1);
    FIX(take(a);)
    b[0] = B;
    FIX(leave(a);)
    count_up(a, a + 1);
}
// @ word_behind_two_locks: ordered-by-lock-only <<<4, 32>>>
KERNEL(word_behind_two_locks) {
    ONE;
    count_up(a, a + 8);
    int *own = a + 1 BUG(+ B % 2);
    take(own);
    b[0] += 1;
    leave(own);
    count_up(a, a + 8);
}
// @ looked_at_outside: ordered-by-lock-only <<<3, 32>>>
KERNEL(looked_at_outside) {
    ONE;
    take(a);
    b[0] += B;
    FIX(c[B] = b[0];)
    leave(a);
    BUG(c[B] = b[0];)
    count_up(a, a + 1);
}
// @ lock_by_exchange: ordered-by-lock-only <<<3, 32>>>
KERNEL(lock_by_exchange) {
    ONE;
    for (int i = 0; i < 3; ++i) {
        while (atomicExch(a, 1) != 0) {}
        __threadfence();
        a[1] += 1;
        FIX(b[0] += 1;)
        __threadfence();
        atomicExch(a, 0);
        BUG(if (i == 1) b[0] += 1;)
    }
}
// @ lock_looked_at_before: ordered-by-lock-only <<<3, 32>>>
KERNEL(lock_looked_at_before) {
    ONE;
    for (int i = 0; i < 2; ++i) {
        do {
            while (*(volatile int *)a != 0) {}
        } while (atomicCAS(a, 0, 1) != 0);
        __threadfence();
        a[1] += 1;
        FIX(b[0] = B;)
        __threadfence();
        atomicExch(a, 0);
        BUG(if (i == 0) b[0] = B;)
    }
}
// @ left_by_compare_and_swap: ordered-by-lock-only <<<3, 32>>>
KERNEL(left_by_compare_and_swap) {
    ONE;
    for (int i = 0; i < 2; ++i) {
        take(a);
        a[1] += 1;
        FIX(b[0] = B;)
        __threadfence();
        atomicCAS(a, 1, 0);
        BUG(if (i == 0) b[0] = B;)
    }
}
// @ lock_of_library: ordered-by-lock-only <<<3, 32>>>
KERNEL(lock_of_library) {
    ONE;
    cuda::atomic_ref<int, cuda::thread_scope_device> lock(a[0]);
    for (int i = 0; i < 2; ++i) {
        int free = 0;
        while (!lock.compare_exchange_weak(free, 1, cuda::memory_order_acquire)) free = 0;
        a[1] += 1;
        FIX(b[0] = B;)
        lock.store(0, cuda::memory_order_release);
        BUG(if (i == 0) b[0] = B;)
    }
}
// @ between_warps: ordered-by-lock-only <<<1, 96>>>
KERNEL(between_warps) {
    if (threadIdx.x % 32 != 0) return;
    count_up(a, a + 1);
    FIX(take(a);)
    b[0] += threadIdx.x;
    FIX(leave(a);)
    count_up(a, a + 1);
}
// @ behind_a_barrier: ordered-by-lock-only <<<3, 64>>>
KERNEL(behind_a_barrier) {
    if (threadIdx.x == 0) count_up(a, a + 1);
    __syncthreads();
    if (threadIdx.x == 32) b[FIX(B) BUG(0)] = B;
    __syncthreads();
    if (threadIdx.x == 0) count_up(a, a + 1);
}
// @ in_other_section_read: ordered-by-lock-only <<<3, 32>>>
KERNEL(in_other_section_read) {
    ONE;
    count_up(a, a + 8);
    take(a + 1);
    c[B] = b[0];
    leave(a + 1);
    BUG(count_up(a, a + 8);)
    take(a + 1 BUG(+ 1));
    b[0] += 1;
    leave(a + 1 BUG(+ 1));
    count_up(a, a + 8);
}

// What follows is right where nothing is left out.

// @ handed_by_flag_under_lock: global-read-write-race|ordered-by-lock-only <<<2, 32>>>
KERNEL(handed_by_flag_under_lock) {
    ONE;
    if (B == 0) {
        b[0] = 5;
        take(a);
        a[1] = 1;
        leave(a);
    } else {
        int ready;
        do {
            take(a);
            ready = a[1];
            leave(a);
        } while (FIX(!) ready BUG(> 9));
        c[0] = b[0];
        count_up(a, a + 2);
    }
}
// @ last_block_under_lock: global-read-write-race|ordered-by-lock-only <<<4, 32>>>
KERNEL(last_block_under_lock) {
    ONE;
    b[B] = B;
    take(a);
    int done = a[1] + 1;
    a[1] = done;
    leave(a);
    if (FIX(done == 4) BUG(B == 3)) c[0] = b[0] + b[1] + b[2] + b[3];
}
// @ item_of_queue: global-read-write-race|global-write-race|ordered-by-lock-only <<<4, 32>>>
KERNEL(item_of_queue) {
    ONE;
    if (B < 2) {
        take(a);
        int place = a[1];
        b[FIX(place) BUG(0)] = 7 + B;
        a[1] = place + 1;
        leave(a);
    } else {
        int place;
        do {
            take(a);
            place = a[2];
            if (place < a[1]) a[2] = place + 1; else place = -1;
            leave(a);
        } while (place < 0);
        c[B] = b[FIX(place) BUG(0)];
        BUG(b[0] = 0;)
    }
}
// @ pointer_under_lock: global-read-write-race|ordered-by-lock-only <<<3, 32>>>
KERNEL(pointer_under_lock) {
    ONE;
    if (B == 0) b[3] = 9;
    take(a);
    if (B == 0) a[1] = 3;
    int head = a[1];
    leave(a);
    c[B] = b[FIX(head) BUG((head & 0) + 3)];
    count_up(a, a + 2);
}
// @ swapped_flag_as_hand_over: global-read-write-race <<<2, 32>>>
KERNEL(swapped_flag_as_hand_over) {
    ONE;
    for (int i = 0; i < 4; ++i)
        if (B == 0) {
            while (atomicCAS(a, 0, 3) != 0) {}
            __threadfence();
            b[i] = i;
            FIX(__threadfence();)
            atomicExch(a, 1);
        } else {
            while (atomicCAS(a, 1, 2) != 1) {}
            __threadfence();
            FIX(__threadfence();)
            atomicExch(a, 0);
            c[i] = b[i];
        }
}
// @ tickets: global-read-write-race|global-write-race <<<4, 32>>>
KERNEL(tickets) {
    ONE;
    int mine = atomicAdd(a, 1);
    while (atomicAdd(a + 1, 0) != mine) {}
    FIX(__threadfence();)
    b[0] += B;
    __threadfence();
    atomicAdd(a + 1, 1);
    c[B] = mine;
}
// @ counted_readers: global-read-write-race <<<4, 32>>>
KERNEL(counted_readers) {
    ONE;
    if (B == 0) {
        while (atomicCAS(a, 0, -1) != 0) {}
        __threadfence();
        b[0] = 5;
        FIX(__threadfence();)
        atomicExch(a, 0);
        return;
    }
    for (int seen = atomicAdd(a, 0);;) {
        if (seen < 0) { seen = atomicAdd(a, 0); continue; }
        int old = atomicCAS(a, seen, seen + 1);
        if (old == seen) break;
        seen = old;
    }
    __threadfence();
    c[B] = b[0];
    __threadfence();
    atomicSub(a, 1);
}
// @ tokens_of_semaphore: global-read-write-race|global-write-race <<<3, 32>>>
KERNEL(tokens_of_semaphore) {
    ONE;
    if (B == 0) {
        b[0] = 1;
        FIX(__threadfence();)
        atomicAdd(a, 2);
        return;
    }
    for (;;) {
        int n = atomicAdd(a, 0);
        if (n > 0 && atomicCAS(a, n, n - 1) == n) break;
    }
    __threadfence();
    c[B] = b[0];
}
// @ try_once: ordered-by-lock-only <<<3, 32>>>
KERNEL(try_once) {
    ONE;
    for (int i = 0; i < 2; ++i)
        if (atomicCAS(a, 0, 1) == 0) {
            __threadfence();
            FIX(b[0] = B;)
            a[1] += 1;
            leave(a);
            BUG(if (i == 0) b[0] = B;)
        }
}
// @ lanes_take_turns: global-read-write-race|global-write-race|ordered-by-lock-only <<<2, 32>>>
KERNEL(lanes_take_turns) {
    for (bool done = false; !done;)
        if (atomicCAS(a, 0, 1) == 0) {
            __threadfence();
            FIX(b[0] += threadIdx.x;)
            leave(a);
            BUG(b[0] += threadIdx.x;)
            done = true;
        }
}
// @ one_lock_within_another: global-write-race|ordered-by-lock-only <<<3, 32>>>
KERNEL(one_lock_within_another) {
    ONE;
    FIX(take(a + 1);)
    take(a);
    b[0] = B;
    FIX(b[1] = B;)
    leave(a);
    FIX(leave(a + 1);)
    BUG(b[1] = B;)
}
// @ grid_barrier_with_lock: global-read-write-race|ordered-by-lock-only <<<3, 32>>>
KERNEL(grid_barrier_with_lock) {
    ONE;
    b[B] = B + 1;
    take(a);
    a[1] += 1;
    leave(a);
    FIX(int n; do { take(a); n = a[1]; leave(a); } while (n < 3);)
    c[B] = b[(B + 1) % 3];
}
// @ lock_of_shared_memory: ordered-by-lock-only <<<2, 128>>>
KERNEL(lock_of_shared_memory) {
    __shared__ int lock, n, last;
    if (threadIdx.x == 0) lock = n = last = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        count_up(&lock, &n);
        FIX(take(&lock);)
        last = threadIdx.x;
        FIX(leave(&lock);)
        count_up(&lock, &n);
    }
    __syncthreads();
    c[threadIdx.x + 128 * B] = n + last;
}
// @ handed_over_in_shared_memory: shared-read-write-race|shared-write-race <<<2, 64>>>
KERNEL(handed_over_in_shared_memory) {
    __shared__ int lock, ready, data;
    if (threadIdx.x == 0) lock = ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        FIX(data = a[8];)
        take(&lock);
        ready = 1;
        leave(&lock);
        BUG(data = a[8];)
    }
    if (threadIdx.x == 32) {
        int seen;
        do {
            take(&lock);
            seen = ready;
            leave(&lock);
        } while (!seen);
        c[B] = data;
    }
}
// @ section_of_a_block: global-read-write-race|global-write-race|ordered-by-lock-only <<<3, 64>>>
KERNEL(section_of_a_block) {
    if (threadIdx.x == 0) take(a);
    __syncthreads();
    b[threadIdx.x] += B;
    __threadfence();
    FIX(__syncthreads();)
    if (threadIdx.x == 0) leave(a);
}
// @ section_of_a_warp: ordered-by-lock-only|global-read-write-race <<<3, 32>>>
KERNEL(section_of_a_warp) {
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x == 0) take(a);
        __syncwarp();
        FIX(b[threadIdx.x] += B;)
        a[1 + threadIdx.x] += 1;
        __threadfence();
        __syncwarp();
        if (threadIdx.x == 0) leave(a);
        __syncwarp();
        BUG(if (i == 0) b[threadIdx.x] += B;)
    }
}
// @ looked_at_twice: global-read-write-race|global-write-race <<<4, 32>>>
KERNEL(looked_at_twice) {
    ONE;
    if (atomicAdd(a + 1, 0) == 0) {
        take(a);
        if (atomicAdd(a + 1, 0) == 0) {
            b[0] = 9;
            b[1] = 8;
            __threadfence();
            atomicExch(a + 1, 1);
        }
        leave(a);
    }
    FIX(__threadfence();)
    c[B] = b[0] + b[1];
    BUG(if (B == 0) b[1] = 7;)
}
// @ hand_over_hand: global-write-race|ordered-by-lock-only <<<3, 32>>>
KERNEL(hand_over_hand) {
    ONE;
    take(a);
    for (int i = 0; i < 4; ++i) {
        b[i] = B;
        take(a + i + 1);
        leave(a + i);
        BUG(b[i] = B + 1;)
    }
    b[4] = B;
    leave(a + 4);
}
// @ item_by_shared_memory: global-read-write-race|ordered-by-lock-only <<<4, 32>>>
KERNEL(item_by_shared_memory) {
    __shared__ int item;
    if (B == 0) {
        b[threadIdx.x] = threadIdx.x + 1;
        __syncwarp();
        if (threadIdx.x == 0) {
            take(a);
            a[1] = 1;
            leave(a);
        }
        return;
    }
    if (threadIdx.x == 0) {
        take(a);
        item = a[1];
        leave(a);
    }
    __syncthreads();
    if (FIX(item) BUG(item < 2)) c[32 * B + threadIdx.x] = b[threadIdx.x];
    if (threadIdx.x == 0) count_up(a, a + 2);
}
// @ list_under_lock: global-read-write-race|ordered-by-lock-only <<<4, 32>>>
KERNEL(list_under_lock) {
    ONE;
    int *next = b, *value = b + 64, *head = a + 1;
    if (B < 3) {
        value[B + 1] = 10 * B;
        take(a);
        next[B + 1] = *head;
        *head = B + 1;
        leave(a);
        BUG(value[B + 1] += 1;)
        return;
    }
    take(a);
    int node = *head;
    leave(a);
    int sum = 0;
    for (; node; node = next[node]) sum += value[node];
    c[0] = sum;
}
// @ sum_put_back: ordered-by-lock-only <<<3, 32>>>
KERNEL(sum_put_back) {
    ONE;
    for (int i = 0; i < 2; ++i) {
        float *total = (float *)(a + 1);
        take(a);
        *total = fmaxf(*total, 0.5f * B) + 1.0f;
        FIX(c[i] += 1;)
        leave(a);
        BUG(if (i == 0) c[i] += 1;)
    }
}
