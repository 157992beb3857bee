// Warps and blocks that wait for each other: mbarriers, flags, locks, look-back, a grid barrier.

#include <cuda/barrier>

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// Half of the block fills two buffers, the other half adds them up.
extern "C" __global__ void pipeline(const float* in, float* out, int rounds) {
    constexpr int half = 64;
    __shared__ float buffer[2][half];
    __shared__ block_barrier barriers[4];
    if (threadIdx.x < 4) init(barriers + threadIdx.x, blockDim.x);
    __syncthreads();
    block_barrier *ready = barriers, *filled = barriers + 2;
    int lane = threadIdx.x % half;
    const float* mine = in + blockIdx.x * rounds * half;
    if (threadIdx.x < half) {
        for (int i = 0; i < rounds; ++i) {
            ready[i % 2].arrive_and_wait();
            buffer[i % 2][lane] = mine[i * half + lane];
            (void)filled[i % 2].arrive();
        }
        return;
    }
    (void)ready[0].arrive();
    (void)ready[1].arrive();
    float sum = 0;
    for (int i = 0; i < rounds; ++i) {
        filled[i % 2].arrive_and_wait();
        sum += buffer[i % 2][lane ^ 1];
        (void)ready[i % 2].arrive();
    }
    out[blockIdx.x * half + lane] = sum;
}

// The same with __syncthreads().
extern "C" __global__ void pipeline_sibling(const float* in, float* out, int rounds) {
    constexpr int half = 64;
    __shared__ float buffer[2][half];
    int lane = threadIdx.x % half;
    const float* mine = in + blockIdx.x * rounds * half;
    float sum = 0;
    for (int i = 0; i < rounds; ++i) {
        __syncthreads();
        if (threadIdx.x < half) buffer[i % 2][lane] = mine[i * half + lane];
        __syncthreads();
        if (threadIdx.x >= half) sum += buffer[i % 2][lane ^ 1];
    }
    if (threadIdx.x >= half) out[blockIdx.x * half + lane] = sum;
}

extern "C" __global__ void arrival_missing(int* out) {
    __shared__ block_barrier barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x + 1);
    __syncthreads();
    barrier.arrive_and_wait();
    out[threadIdx.x] = 1;
}

// The warps take turns, the last one first.
extern "C" __global__ void turns(int* out, int rounds) {
    __shared__ volatile int turn;
    __shared__ int value;
    if (threadIdx.x == 0) turn = value = 0;
    __syncthreads();
    int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x % 32 == 0)
        for (int i = 0; i < rounds; ++i) {
            while (turn != i * warps + (warps - 1 - warp)) {}
            value = value * 3 + warp;
            __threadfence_block();
            turn = turn + 1;
        }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = value;
}

extern "C" __global__ void flag_never_set(volatile int* flag, int* out) {
    if (threadIdx.x == 0) while (*flag == 0) {}
    out[threadIdx.x] = 1;
}

extern "C" __global__ void lock(int* lock, int* count, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        if (threadIdx.x % 32 == 0) {
            while (atomicCAS(lock, 0, 1) != 0) {}
            __threadfence();
            *(volatile int*)count = *(volatile int*)count + 1;
            __threadfence();
            atomicExch(lock, 0);
        }
        __syncwarp();
    }
}

// Tile i needs the prefix of tile i - 1, and the first block has the last tile.
extern "C" __global__ void look_back(const int* in, int* out, volatile int* state) {
    int tile = gridDim.x - 1 - blockIdx.x;
    if (threadIdx.x == 0) {
        int before = 0;
        if (tile > 0) {
            int s;
            while ((s = state[tile - 1]) == 0) {}
            before = s - 1;
        }
        out[tile] = before + in[tile];
        __threadfence();
        state[tile] = before + in[tile] + 1;
    }
}

extern "C" __global__ void grid_rounds(float* a, float* b, volatile unsigned* count, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int r = 0; r < rounds; ++r) {
        volatile float *from = r % 2 ? b : a, *to = r % 2 ? a : b;
        to[i] = from[(i + 1) % n] + 1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd((unsigned*)count, 1);
            while (*count < (r + 1) * gridDim.x) {}
            __threadfence();
        }
        __syncthreads();
    }
}

// Lanes of all warps take turns, the last one first: parts of a warp wait for each other.
extern "C" __global__ void lanes_in_turn(int* out, int rounds, int lanes) {
    __shared__ volatile int turn;
    __shared__ int value;
    if (threadIdx.x == 0) turn = value = 0;
    __syncthreads();
    int lane = threadIdx.x % 32, all = blockDim.x / 32 * lanes;
    int own = threadIdx.x / 32 + lane * (blockDim.x / 32);
    if (lane < lanes) {
        for (int i = 0; i < rounds; ++i) {
            while (turn != i * all + (all - 1 - own)) {}
            value = value * 3 + own;
            __threadfence_block();
            turn = turn + 1;
        }
    }
    __syncwarp();
    if (lane == 31) {
        while (turn != rounds * all) {}
        out[threadIdx.x / 32] = value;
    }
}
