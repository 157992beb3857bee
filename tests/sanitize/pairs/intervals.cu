// Shared memory between two barriers of a block: who uses what there, and the barriers that do not
// count, for only a part of the block waits at them.
#ifdef BUGGED
#define WAIT
#define SLIP 1
#else
#define WAIT __syncthreads()
#define SLIP 0
#endif
#define KERNEL extern "C" __global__ void
#define ARGS int *a, int *b, int *o

// @ read_then_written: shared-read-write-race <<<1, 128>>>
KERNEL read_then_written(ARGS) {
    __shared__ int s[128];
    int t = threadIdx.x, sum = 0;
    s[t] = t;
    __syncthreads();
    for (int i = 0; i < 8; ++i) sum += s[(t + 16 * i) % 128];
    WAIT;
    s[t] = sum;
    __syncthreads();
    o[t] = s[127 - t];
}
// @ long_read_then_written: shared-read-write-race <<<1, 64>>>
KERNEL long_read_then_written(ARGS) {
    __shared__ int s[256];
    int t = threadIdx.x, sum = 0;
    for (int i = t; i < 256; i += 64) s[i] = i;
    __syncthreads();
    for (int i = 0; i < 2000 + a[0]; ++i) sum += s[(t + 5 * i) % 255];
    WAIT;
    if (t == 63) s[254 - (a[0] & 1)] = sum;
    o[t] = sum;
}
// @ row_of_neighbour: shared-read-write-race <<<1, 96>>>
KERNEL row_of_neighbour(ARGS) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t + 32] = t;
    if (t < 32) s[t] = 0;
    __syncthreads();
    int v = s[t + 32 * (1 - SLIP)];
    s[t + 32] = v + 1;
    __syncthreads();
    o[t] = s[t + 32];
}
// @ rows_overlap: shared-write-race <<<1, 128>>>
KERNEL rows_overlap(ARGS) {
    __shared__ int s[132];
    int t = threadIdx.x;
    s[t + (t >= 64 ? 4 : 0) - (t >= 96 ? SLIP : 0)] = t;
    __syncthreads();
    o[t] = s[t + (t >= 64 ? 4 : 0) - SLIP * (t >= 96)];
}
// @ late_interval: shared-write-race <<<1, 64>>>
KERNEL late_interval(ARGS) {
    __shared__ int s[64];
    int t = threadIdx.x;
    for (int i = 0; i < 40; ++i) {
        s[(t + i) % 64] = t;
        __syncthreads();
        o[t] += s[t];
        __syncthreads();
    }
    s[(t + 40 + SLIP * (t == 31)) % 64] = t;
    __syncthreads();
    o[t] += s[t];
}
// @ after_shared_lanes: shared-read-write-race <<<1, 64>>>
KERNEL after_shared_lanes(ARGS) {
    __shared__ int s[64];
    int t = threadIdx.x;
    for (int i = 0; i < 12; ++i) {  // lanes of a warp hand on words, interval after interval
        s[t] = t + i;
        __syncwarp();
        int v = s[t ^ 1];
        __syncwarp();
        s[t] = v;
        __syncthreads();
    }
    s[t] = t;
    WAIT;
    o[t] = s[63 - t];
}
// @ many_atomics_then_write: shared-write-race <<<1, 64>>>
KERNEL many_atomics_then_write(ARGS) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32) s[t] = 0;
    __syncthreads();
    if (t < 32)
        for (int i = 0; i < 2000 + a[0]; ++i) atomicAdd(&s[(t + i) / 2 % 32], 1);
    WAIT;
    if (t == 40) s[7] = 1;
    __syncthreads();
    o[t] = s[t % 32];
}
// @ atomics_then_read: shared-read-write-race <<<1, 64>>>
KERNEL atomics_then_read(ARGS) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32) s[t] = 0;
    __syncthreads();
    atomicAdd(&s[(t * 7) % 32], t);
    atomicMax(&s[t % 32], t);
    WAIT;
    o[t] = s[t % 32];
}
// @ two_widths: shared-write-race|shared-read-write-race <<<1, 64>>>
KERNEL two_widths(ARGS) {
    __shared__ unsigned long long s[32];
    int t = threadIdx.x;
    if (t < 32) s[t] = 0;
    __syncthreads();
    if (t < 32) atomicAdd(&s[t], 1ull);
    WAIT;
    if (t >= 32) atomicAdd((unsigned *)&s[t - 32], 1u);
    __syncthreads();
    o[t] = (int)s[t % 32];
}
// @ part_of_block: shared-read-write-race <<<1, 128>>>
KERNEL part_of_block(ARGS) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    o[t] = s[SLIP ? 127 - t : t ^ 63];
}
// @ bytes_in_words: shared-read-write-race <<<1, 64>>>
KERNEL bytes_in_words(ARGS) {
    __shared__ __align__(16) unsigned char s[256];
    int t = threadIdx.x;
    for (int i = 0; i < 4; ++i) s[64 * i + t] = t;
    WAIT;
    __syncwarp();
    o[t] = ((int *)s)[t % 16];
}
// @ quads: shared-read-write-race <<<1, 64>>>
KERNEL quads(ARGS) {
    __shared__ int4 s[64];
    int t = threadIdx.x;
    s[t] = make_int4(t, t, t, t);
    __syncthreads();
    int4 v = s[63 - t];
    WAIT;
    ((int *)s)[4 * t + 1] = v.x;
    __syncthreads();
    o[t] = s[t].w + v.y;
}
// @ blocks_in_turn: shared-read-write-race <<<8, 64>>>
KERNEL blocks_in_turn(ARGS) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    if (blockIdx.x < 7) __syncthreads();
    else WAIT;
    o[64 * blockIdx.x + t] = s[63 - t];
}
