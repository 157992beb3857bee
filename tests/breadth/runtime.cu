// Calls, tables, heap, clocks, fences, memory orders, 128-bit accesses, local arrays.
#include <cuda/atomic>

#define KERNEL extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - 3 * b; }
__device__ __noinline__ int times(int a, int b) { return a * b + 7; }
typedef int (*binary)(int, int);
__device__ binary table[3] = {plus, minus, times};
KERNEL function_table(const int *a, int *o) { o[I] = table[a[I] % 3](a[I], I); }

struct Shape { __device__ virtual int area(int s) const = 0; __device__ virtual ~Shape() {} int k; };
struct Square : Shape { __device__ __noinline__ int area(int s) const override { return s * s + k; } };
struct Bar : Shape { __device__ __noinline__ int area(int s) const override { return s * k; } };
KERNEL virtual_heap(int *o) {
    Shape *shape;
    if (I & 1) shape = new Square; else shape = new Bar;
    shape->k = I;
    o[I] = shape->area(I + 2);
    delete shape;
}
KERNEL heap_list(int *o, int n) {
    struct Node { int value; Node *next; };
    Node *head = nullptr;
    for (int i = 0; i < n; i++) {
        Node *node = (Node *)malloc(sizeof(Node));
        if (!node) { o[I] = -1; return; }
        node->value = i * (I + 1); node->next = head; head = node;
    }
    int sum = 0;
    while (head) { Node *next = head->next; sum = sum * 3 + head->value; free(head); head = next; }
    o[I] = sum;
}
KERNEL switch_table(const int *a, int *o) {
    int v = a[I], r = 0;
    switch (v & 15) {
        case 0: r = v * 3; break; case 1: r = v ^ 0x55; break; case 2: r = v - 9; break;
        case 3: r = v << 3; case 4: r += 17; break; case 5: r = -v; break; case 6: r = v / 3; break;
        case 7: r = v % 11; break; case 8: r = __popc(v); break; case 9: r = ~v; break;
        case 10: r = __brev(v); break; case 12: r = v * v; break; case 13: r = 5; break;
        default: r = 1000 + v;
    }
    o[I] = r;
}
KERNEL clocks(long long *o) {
    long long a = clock64(); int b = clock();
    unsigned long long t, u; asm volatile("mov.u64 %0,%globaltimer;" : "=l"(t));
    __nanosleep(100);
    long long c = clock64(); int d = clock();
    asm volatile("mov.u64 %0,%globaltimer;" : "=l"(u));
    o[I] = (c > a) + 2 * (d - b > 0) + 4 * (u > t);
}
KERNEL identities(int *o) {
    int n = gridDim.x * blockDim.x, i = I; unsigned r;
    asm("mov.u32 %0,%laneid;" : "=r"(r)); o[i] = r;
    asm("mov.u32 %0,%lanemask_lt;" : "=r"(r)); o[i + n] = r;
    asm("mov.u32 %0,%lanemask_ge;" : "=r"(r)); o[i + 2 * n] = r;
    asm("mov.u32 %0,%nctaid.x;" : "=r"(r)); o[i + 3 * n] = r;
    asm("mov.u32 %0,%dynamic_smem_size;" : "=r"(r)); o[i + 4 * n] = r;
    asm("mov.u32 %0,%total_smem_size;" : "=r"(r)); o[i + 5 * n] = r;
    asm("mov.u32 %0,%smid;" : "=r"(r)); unsigned m; asm("mov.u32 %0,%nsmid;" : "=r"(m));
    o[i + 6 * n] = r < m;
    asm("mov.u32 %0,%warpid;" : "=r"(r)); o[i + 7 * n] = r < 64;
    o[i + 8 * n] = __isShared(o) + 2 * __isGlobal(o) + 4 * __isLocal(o) + 8 * __isConstant(o);
    asm("mov.u32 %0,%lanemask_gt;" : "=r"(r)); o[i + 9 * n] = r;
}
KERNEL fences(int *data, int *flag, int *o) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x * 3;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) { __threadfence_system(); atomicExch(flag, 1); }
    } else {
        if (threadIdx.x == 0) while (atomicAdd(flag, 0) == 0) {}
        __syncthreads();
        __threadfence_block();
        o[threadIdx.x] = ((volatile int *)data)[threadIdx.x];
    }
}
KERNEL last_block(const int *a, int *partial, unsigned *count, int *o) {
    __shared__ bool last;
    int v = a[I];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int s = 0;
        for (int i = 0; i < gridDim.x; i++) s += __ldcg(partial + i);
        *o = s;
    }
}
KERNEL memory_orders(int *a, long long *b, unsigned *o) {
    cuda::atomic_ref<int, cuda::thread_scope_device> x(*a);
    cuda::atomic_ref<long long, cuda::thread_scope_system> y(*b);
    x.fetch_add(2, cuda::memory_order_relaxed);
    y.fetch_max((long long)I, cuda::memory_order_acq_rel);
    x.fetch_sub(1, cuda::memory_order_seq_cst);
    int seen = x.load(cuda::memory_order_acquire);
    while (!x.compare_exchange_weak(seen, seen + 1, cuda::memory_order_release, cuda::memory_order_relaxed)) {}
    o[I] = y.load(cuda::memory_order_seq_cst) >= I;
}
KERNEL atomic_floats(float *a, double *b, const float *v) {
    cuda::atomic_ref<float, cuda::thread_scope_device> x(*a);
    x.fetch_add(v[I]);
    cuda::atomic_ref<double, cuda::thread_scope_block> y(*b);
    y.fetch_max((double)v[I]);
}
KERNEL atomic_shared_zoo(const int *a, int *o, unsigned long long *p) {
    __shared__ int s[6];
    __shared__ unsigned long long w[3];
    if (threadIdx.x < 6) s[threadIdx.x] = threadIdx.x == 3 ? -1 : 0;
    if (threadIdx.x < 3) w[threadIdx.x] = 0;
    __syncthreads();
    int v = a[threadIdx.x];
    atomicAdd(s, v); atomicMax(s + 1, v); atomicMin(s + 2, v); atomicAnd(s + 3, v | 0xff);
    atomicOr(s + 4, v & 0xff); atomicXor(s + 5, v);
    atomicAdd(w, (unsigned long long)v); atomicMax(w + 1, (unsigned long long)(unsigned)v);
    atomicXor(w + 2, (unsigned long long)v << 20);
    __syncthreads();
    if (threadIdx.x < 6) o[threadIdx.x] = s[threadIdx.x];
    if (threadIdx.x < 3) p[threadIdx.x] = w[threadIdx.x];
}
KERNEL atomic_generic(int *g, int *o, const int *a) {
    __shared__ int s[4];
    if (threadIdx.x < 4) s[threadIdx.x] = 0;
    __syncthreads();
    int *where = a[threadIdx.x] & 1 ? s + (threadIdx.x & 3) : g + (threadIdx.x & 3);
    atomicAdd(where, a[threadIdx.x]);
    atomicCAS(where, 12345, 0);
    __syncthreads();
    if (threadIdx.x < 4) o[threadIdx.x] = s[threadIdx.x];
}
KERNEL wide_accesses(const int4 *a, const double2 *b, int4 *o, double2 *p) {
    __shared__ int4 s[64];
    s[threadIdx.x] = a[I];
    __syncthreads();
    int4 v = s[63 - threadIdx.x];
    o[I] = make_int4(v.w, v.z, v.y, v.x);
    double2 d = __ldg(b + I);
    __stcs(p + I, make_double2(d.y, d.x));
}
KERNEL local_array(const int *a, int *o) {
    int t[32];
    for (int i = 0; i < 32; i++) t[i] = a[I] * i + 1;
    for (int i = 0; i < 16; i++) t[(a[I] + i) & 31] += t[(a[I] * 3 + i) & 31];
    long long w[8];
    for (int i = 0; i < 8; i++) w[i] = (long long)t[i * 4] << i;
    o[I] = t[a[I] & 31] + (int)(w[a[I] & 7] >> 2);
}
KERNEL local_generic(const int *a, int *o) {
    int t[16], g = a[I] & 15;
    for (int i = 0; i < 16; i++) t[i] = i * a[I];
    int *q = a[I] & 1 ? t + g : o + I;
    *(volatile int *)q = 77;
    o[I] += t[g];
}
#if __CUDA_ARCH__ >= 800
KERNEL cache_hints(const int *a, int *o) {
    int n = gridDim.x * blockDim.x, i = I, r;
    __stcg(o + i, __ldca(a + i)); __stwt(o + i + n, __ldcs(a + i) + __ldlu(a + i));
    __stwb(o + i + 2 * n, __ldcv(a + i) + __ldcg(a + i));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a + i));
    asm volatile("ld.global.L1::no_allocate.L2::128B.s32 %0,[%1];" : "=r"(r) : "l"(a + i));
    o[i + 3 * n] = r;
    asm volatile("{.reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p,1.0; ld.global.L2::cache_hint.s32 %0,[%1],p;}" : "=r"(r) : "l"(a + i));
    o[i + 4 * n] = r;
    asm volatile("ld.relaxed.gpu.global.s32 %0,[%1];" : "=r"(r) : "l"(a + i)); o[i + 5 * n] = r;
}
#endif
KERNEL narrow_accesses(const signed char *a, const unsigned short *b, short *o, unsigned char *p) {
    __shared__ signed char s[64]; __shared__ unsigned short t[64];
    s[threadIdx.x] = a[threadIdx.x]; t[63 - threadIdx.x] = b[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = s[63 - threadIdx.x] * 3; p[threadIdx.x] = t[threadIdx.x] >> 3;
}
// Atomics through addresses that may be shared or global: each space has its own way.
KERNEL generic_atomics(unsigned long long *g, int *old, float *gf, double *gd, int flag) {
    __shared__ unsigned long long s[4];
    __shared__ float sf;
    __shared__ double sd;
    unsigned long long *p = flag ? s : g, t = threadIdx.x;
    if (t < 4) s[t] = t == 2 ? ~0ull : 0;
    if (t == 0) sf = 0, sd = 0;
    __syncthreads();
    unsigned long long r = atomicCAS(p, 0ull, t + 1);
    atomicAdd(p + 1, t);
    atomicMin(p + 2, t + 5);
    r += atomicExch(p + 3, t + 1);
    atomicAdd(flag ? &sf : gf, 1.0f);
    atomicAdd(flag ? &sd : gd, 1.0);
    __syncthreads();
    old[t] = (int)r;
    if (t < 4) g[t] = p[t];
    if (t == 0 && flag) *gf = sf, *gd = sd;
}
KERNEL warp_slots(int *o) {
    unsigned slots, slot;
    asm volatile("mov.u32 %0,%%nwarpid;" : "=r"(slots));
    asm volatile("mov.u32 %0,%%warpid;" : "=r"(slot));
    o[threadIdx.x] = slot < slots ? slots : -1;
}
