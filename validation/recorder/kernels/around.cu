// Fences by whole warps and by single lanes, and asynchronous copies around L1 to rows at any place.
typedef unsigned int u32;
#define KERNEL extern "C" __global__ void
#define ME threadIdx.x
#define LANE (threadIdx.x % 32)
#define STORED(name, action) KERNEL name(u32 *out) { out[ME] = 1; action; out[ME + 128] = 1; }
#define ONLY(name, action) KERNEL name(u32 *out) { action; out[ME + 128] = 1; }
#define PROXY(kind) asm volatile("fence.proxy.async" kind ";" ::: "memory")
#define AT(p) (u32)__cvta_generic_to_shared(p)
#define INIT(p) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(AT(p)) : "memory")

KERNEL f_none(u32 *out) { out[ME] = 1; }
STORED(f_full, __threadfence())
ONLY(f_full_nostore, __threadfence())
STORED(f_one, if (LANE == 0) __threadfence())
ONLY(f_one_nostore, if (LANE == 0) __threadfence())
STORED(f_half, if (LANE < 16) __threadfence())
STORED(f_31, if (LANE < 31) __threadfence())
STORED(f_one_of_block, if (ME == 0) __threadfence())
STORED(a_full, PROXY(".shared::cta"))
STORED(a_one, if (LANE == 0) PROXY(".shared::cta"))
STORED(a_half, if (LANE < 16) PROXY(".shared::cta"))
STORED(g_full, PROXY(".global"))
STORED(g_one, if (LANE == 0) PROXY(".global"))
STORED(p_full, PROXY(""))
STORED(p_one, if (LANE == 0) PROXY(""))
KERNEL m_one(u32 *out) {
    __shared__ unsigned long long barriers[8];
    if (ME == 0) for (int i = 0; i < 8; i++) INIT(barriers + i);
    __syncthreads();
    out[ME] = 1;
}
KERNEL m_full(u32 *out) {
    __shared__ unsigned long long barriers[8];
    INIT(barriers);
    __syncthreads();
    out[ME] = 1;
}
KERNEL copies(u32 *out, const uint4 *in, u32 start, u32 pitch, u32 per) {
    extern __shared__ uint4 shared[];
    u32 to = AT(shared) + start + LANE / per * pitch + LANE % per * 16;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + ME) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[ME] = ((u32 *)shared)[ME];
}
