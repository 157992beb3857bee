// Small experiments on questions that no document answers. See semantics.py for what is asked.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 lane_id() { u32 r; asm("mov.u32 %0, %laneid;" : "=r"(r)); return r; }

// --- Which side of a divergent branch runs first? Each arm reads the clock when it starts. --------
// The loop of run-time length, different in each arm, keeps the arms from being predicated.
#define ARM(OP)                                                                                    \
    asm volatile("mov.u32 %0, %clock;" : "=r"(t));                                                 \
    for (u32 i = 0; i < n; i++) asm volatile(OP : "+r"(x));

// in[lane] chooses the arm; out[lane] is the arm's start, out[32 + lane] keeps x alive.
extern "C" __global__ void branch_two_way(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], t, x = arm;
    if (arm == 0) { ARM("mul.lo.u32 %0, %0, %0;") } else { ARM("mad.lo.u32 %0, %0, %0, %0;") }
    __syncwarp();
    out[l] = t; out[32 + l] = x;
}
extern "C" __global__ void branch_two_way_swapped(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], t, x = arm;
    if (arm != 0) { ARM("mul.lo.u32 %0, %0, %0;") } else { ARM("mad.lo.u32 %0, %0, %0, %0;") }
    __syncwarp();
    out[l] = t; out[32 + l] = x;
}
extern "C" __global__ void branch_two_way_biased(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], t, x = arm;
    if (__builtin_expect(arm != 0, 0)) { ARM("mul.lo.u32 %0, %0, %0;") }
    else { ARM("mad.lo.u32 %0, %0, %0, %0;") }
    __syncwarp();
    out[l] = t; out[32 + l] = x;
}
extern "C" __global__ void branch_early_exit(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], t, x = arm;
    if (arm == 0) { ARM("mul.lo.u32 %0, %0, %0;") out[l] = t; out[32 + l] = x; return; }
    ARM("mad.lo.u32 %0, %0, %0, %0;")
    out[l] = t; out[32 + l] = x;
}
extern "C" __global__ void branch_nested(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], t, x = arm;
    if (arm & 1) {
        if (arm & 2) { ARM("mul.lo.u32 %0, %0, %0;") } else { ARM("mad.lo.u32 %0, %0, %0, %0;") }
    } else {
        if (arm & 2) { ARM("mad.lo.u32 %0, %0, %0, 3;") } else { ARM("mad.lo.u32 %0, %0, 7, %0;") }
    }
    __syncwarp();
    out[l] = t; out[32 + l] = x;
}
extern "C" __global__ void branch_ladder(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], t, x = arm;
    if (arm == 0) { ARM("mul.lo.u32 %0, %0, %0;") }
    else if (arm == 1) { ARM("mad.lo.u32 %0, %0, %0, %0;") }
    else if (arm == 2) { ARM("mad.lo.u32 %0, %0, %0, 3;") }
    else { ARM("mad.lo.u32 %0, %0, 7, %0;") }
    __syncwarp();
    out[l] = t; out[32 + l] = x;
}

extern "C" __global__ void branch_switch(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], t = 0, x = arm;
    switch (arm) {
    case 0: ARM("mul.lo.u32 %0, %0, %0;") break;
    case 1: ARM("mad.lo.u32 %0, %0, %0, %0;") break;
    case 2: ARM("mad.lo.u32 %0, %0, %0, 3;") break;
    case 3: ARM("mad.lo.u32 %0, %0, 7, %0;") break;
    case 4: ARM("mad.lo.u32 %0, %0, 11, %0;") break;
    case 5: ARM("mad.lo.u32 %0, %0, 13, %0;") break;
    }
    __syncwarp();
    out[l] = t; out[32 + l] = x;
}
extern "C" __global__ void branch_loop(u32 *out, const u32 *in, u32 n) {
    // Lanes leave after in[lane] turns; the clock after the loop tells whether leavers wait.
    u32 l = threadIdx.x, turns = in[l], x = l, t;
#pragma unroll 1
    for (u32 i = 0; i < turns; i++) asm volatile("mad.lo.u32 %0, %0, %0, 3;" : "+r"(x));
    asm volatile("mov.u32 %0, %clock;" : "=r"(t));
    out[l] = t; out[32 + l] = x;
}

// --- Convergence without a barrier: do splits at the same pc merge? -----------------------------
extern "C" __global__ void merge_question(u32 *out, const u32 *in, u32 n) {
    u32 l = threadIdx.x, arm = in[l], x = arm;
    if (arm == 0) { for (u32 i = 0; i < n; i++) asm volatile("add.u32 %0, %0, 5;" : "+r"(x)); }
    else { for (u32 i = 0; i < 4 * n; i++) asm volatile("mul.lo.u32 %0, %0, 77;" : "+r"(x)); }
    out[l] = __activemask();
    out[32 + l] = x;
}
// A spin between lanes of one warp: lane 0 waits for lane 31. in[0] bounds the turns.
extern "C" __global__ void spin_question(u32 *out, const u32 *in, u32 n) {
    __shared__ volatile u32 flag;
    u32 l = threadIdx.x, turns = 0;
    flag = 0;
    __syncwarp();
    if (l < 16) { while (flag == 0 && turns < in[0]) turns++; }
    else { for (u32 i = 0; i < n; i++) asm volatile("mad.lo.u32 %0, %0, 1, 0;" : "+r"(turns)); flag = 1; }
    out[l] = turns;
}
extern "C" __global__ void spin_question_swapped(u32 *out, const u32 *in, u32 n) {
    __shared__ volatile u32 flag;
    u32 l = threadIdx.x, turns = 0;
    flag = 0;
    __syncwarp();
    if (l >= 16) { while (flag == 0 && turns < in[0]) turns++; }
    else { for (u32 i = 0; i < n; i++) asm volatile("mad.lo.u32 %0, %0, 1, 0;" : "+r"(turns)); flag = 1; }
    out[l] = turns;
}

// --- Lane order of atomics --------------------------------------------------------------------
extern "C" __global__ void order_exch_global(u32 *out, const u32 *in, u32 *cell) {
    u32 l = threadIdx.x;
    out[l] = atomicExch(&cell[in[l]], l + 1);
}
extern "C" __global__ void order_exch_shared(u32 *out, const u32 *in, u32 *cell) {
    __shared__ u32 s[64];
    u32 l = threadIdx.x;
    s[l] = 0; s[l + 32] = 0;
    __syncwarp();
    u32 k = atomicExch(&s[in[l]], l + 1);
    __syncwarp();
    out[l] = k;
    cell[l] = s[l];
}
extern "C" __global__ void order_add_global(u32 *out, const u32 *in, u32 *cell) {
    u32 l = threadIdx.x;
    out[l] = atomicAdd(&cell[in[l]], 1u << (l & 31));
}
extern "C" __global__ void order_add_shared(u32 *out, const u32 *in, u32 *cell) {
    __shared__ u32 s[64];
    u32 l = threadIdx.x;
    s[l] = 0; s[l + 32] = 0;
    __syncwarp();
    u32 k = atomicAdd(&s[in[l]], 1u << (l & 31));
    __syncwarp();
    out[l] = k;
    cell[l] = s[l];
}
extern "C" __global__ void order_inc_shared(u32 *out, const u32 *in, u32 *cell) {
    __shared__ u32 s[64];
    u32 l = threadIdx.x;
    s[l] = 0; s[l + 32] = 0;
    __syncwarp();
    u32 k = atomicAdd(&s[in[l]], 1u);
    __syncwarp();
    out[l] = k;
    cell[l] = s[l];
}
extern "C" __global__ void order_inc_shared_one(u32 *out, const u32 *in, u32 *cell) {
    __shared__ u32 s;
    u32 l = threadIdx.x, k = 777;
    s = 100;
    __syncwarp();
    if (in[l]) k = atomicAdd(&s, 1u);
    __syncwarp();
    out[l] = k;
    cell[l] = s;
}
extern "C" __global__ void order_inc_global_one(u32 *out, const u32 *in, u32 *cell) {
    u32 l = threadIdx.x, k = 777;
    if (in[l]) k = atomicAdd(&cell[0], 1u);
    out[l] = k;
}
extern "C" __global__ void order_addf_global(float *out, const u32 *in, float *cell) {
    u32 l = threadIdx.x;
    out[l] = atomicAdd(&cell[in[l]], 1.0f + (float)(1u << (l & 31)));
}
extern "C" __global__ void order_redf_global(const float *value, const u32 *in, float *cell) {
    u32 l = threadIdx.x + blockIdx.x * 32;
    atomicAdd(&cell[in[threadIdx.x] + blockIdx.x * 32], value[l]);
}
extern "C" __global__ void order_addf_old_global(float *out, const float *value, const u32 *in,
                                                 float *cell) {
    u32 l = threadIdx.x + blockIdx.x * 32;
    out[l] = atomicAdd(&cell[in[threadIdx.x] + blockIdx.x * 32], value[l]);
}
extern "C" __global__ void order_addf_shared(float *out, const float *value, const u32 *in,
                                             float *cell) {
    __shared__ float s[32];
    u32 l = threadIdx.x;
    s[l] = 0.0f;
    __syncwarp();
    float k = atomicAdd(&s[in[l]], value[l + blockIdx.x * 32]);
    __syncwarp();
    out[l + blockIdx.x * 32] = k;
    cell[l + blockIdx.x * 32] = s[l];
}
extern "C" __global__ void order_addd_old_global(double *out, const double *value, const u32 *in,
                                                 double *cell) {
    u32 l = threadIdx.x + blockIdx.x * 32;
    out[l] = atomicAdd(&cell[in[threadIdx.x] + blockIdx.x * 32], value[l]);
}
extern "C" __global__ void order_cas_global(u32 *out, const u32 *in, u32 *cell) {
    u32 l = threadIdx.x;
    out[l] = atomicCAS(&cell[in[l]], 0u, l + 1);
}
extern "C" __global__ void order_cas_shared(u32 *out, const u32 *in, u32 *cell) {
    __shared__ u32 s[64];
    u32 l = threadIdx.x;
    s[l] = 0; s[l + 32] = 0;
    __syncwarp();
    u32 k = atomicCAS(&s[in[l]], 0u, l + 1);
    __syncwarp();
    out[l] = k;
    cell[l] = s[l];
}
// Plain stores of several lanes to one address: which lane's value stays?
extern "C" __global__ void order_store(u32 *out, const u32 *in, u32 *cell) {
    __shared__ u32 s[64];
    u32 l = threadIdx.x;
    s[l] = 0;
    __syncwarp();
    s[in[l]] = l + 1;
    cell[in[l]] = l + 1;
    __syncwarp();
    out[l] = s[l];
}

// --- Shuffles that read a lane outside the executing set ---------------------------------------
extern "C" __global__ void shuffle_inactive(u32 *out, const u32 *in) {
    u32 l = threadIdx.x, v = 1000 + l, r = 7777;
    if (in[l]) {
        u32 m = __activemask();
        asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                     : "=r"(r) : "r"(v), "r"((l + 5) & 31), "r"(m));
    }
    out[l] = r;
}
extern "C" __global__ void shuffle_inactive_stale(u32 *out, const u32 *in) {
    // The inactive lanes last wrote another value to the register before the branch.
    u32 l = threadIdx.x, v = in[32 + l], r = 7777;
    if (in[l]) {
        v = v * 3 + 1;
        u32 m = __activemask();
        asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                     : "=r"(r) : "r"(v), "r"((l + 5) & 31), "r"(m));
    } else {
        out[32 + l] = v;
    }
    out[l] = r;
}
extern "C" __global__ void shuffle_exited(u32 *out, const u32 *in) {
    u32 l = threadIdx.x, v = 1000 + l, r;
    if (!in[l]) return;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                 : "=r"(r) : "r"(v), "r"((l + 5) & 31), "r"(0xffffffff));
    out[l] = r;
}

// --- The driver's constant bank, read through a patched bank number ------------------------------
__constant__ u32 bank_probe[64];
extern "C" __global__ void read_bank(u32 *out, u32 first) {
    out[threadIdx.x] = bank_probe[first + threadIdx.x];
}

// --- Special registers: the register number of the S2R is replaced ------------------------------
extern "C" __global__ void special_register(u32 *out) {
    u32 r;
    asm volatile("mov.u32 %0, %smid;" : "=r"(r));
    out[threadIdx.x + (blockIdx.x + gridDim.x * blockIdx.y) * blockDim.x] = r;
}

// --- A place for one two-input instruction with a predicate result (FCHK) ------------------------
extern "C" __global__ void predicate_of(u32 *out, const u32 *a, const u32 *b) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = __uint_as_float(a[i]), y = __uint_as_float(b[i]);
    u32 r;
    asm volatile("{.reg .pred p; setp.lt.f32 p, %1, %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(r) : "f"(x), "f"(y));
    out[i] = r;
}

// --- float -> int without the NTZ bit ----------------------------------------------------------
extern "C" __global__ void f2i_s32(u32 *out, const u32 *a) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = (u32)__float2int_rz(__uint_as_float(a[i]));
}
extern "C" __global__ void f2i_u32(u32 *out, const u32 *a) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __float2uint_rz(__uint_as_float(a[i]));
}

// --- R2UR of values that differ between lanes: VIADD and IADD3 below are replaced -----------------
extern "C" __global__ void uniform_of(u32 *out, const u32 *in) {
    u32 l = threadIdx.x, v = in[32 + l], r = 0;
    if (in[l]) {
        asm volatile("mad.lo.u32 %0, %1, 7, 0x11;" : "=r"(r) : "r"(v));
    }
    out[l] = r;
}
extern "C" __global__ void read_clocks(u32 *out) {
    u32 a, b, c;
    u64 g;
    asm volatile("mov.u32 %0, %clock;" : "=r"(a));
    asm volatile("mov.u32 %0, %clock;" : "=r"(b));
    asm volatile("mov.u32 %0, %clock;" : "=r"(c));
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(g));
    out[threadIdx.x * 4] = a; out[threadIdx.x * 4 + 1] = b - a; out[threadIdx.x * 4 + 2] = c - b;
    out[threadIdx.x * 4 + 3] = (u32)g;
}

// --- When does a warp switch between two ready sides? ---------------------------------------------
// Both arms chase pointers (in global or shared memory); clocks at start and end of each arm.
extern "C" __global__ void switch_global(u32 *out, const u32 *in, u32 n, const u32 *chain) {
    u32 l = threadIdx.x, arm = in[l], x = l, s, e;
    if (arm == 0) {
        asm volatile("mov.u32 %0, %clock;" : "=r"(s));
        for (u32 i = 0; i < n; i++) x = *(const volatile u32 *)(chain + x);
        asm volatile("mov.u32 %0, %clock;" : "=r"(e));
    } else {
        asm volatile("mov.u32 %0, %clock;" : "=r"(s));
        for (u32 i = 0; i < n; i++) x = *(const volatile u32 *)(chain + x) + 1;
        asm volatile("mov.u32 %0, %clock;" : "=r"(e));
    }
    __syncwarp();
    out[l] = s; out[32 + l] = e; out[64 + l] = x;
}
extern "C" __global__ void switch_shared(u32 *out, const u32 *in, u32 n) {
    __shared__ volatile u32 chain[64];
    u32 l = threadIdx.x, arm = in[l], x = l, s, e;
    chain[l] = l; chain[l + 32] = l;
    __syncwarp();
    if (arm == 0) {
        asm volatile("mov.u32 %0, %clock;" : "=r"(s));
        for (u32 i = 0; i < n; i++) x = chain[x];
        asm volatile("mov.u32 %0, %clock;" : "=r"(e));
    } else {
        asm volatile("mov.u32 %0, %clock;" : "=r"(s));
        for (u32 i = 0; i < n; i++) x = chain[x] & 31;
        asm volatile("mov.u32 %0, %clock;" : "=r"(e));
    }
    __syncwarp();
    out[l] = s; out[32 + l] = e; out[64 + l] = x;
}
// The smaller side (lane 0) spins until the larger side has set a flag; bounded by in[0] turns.
extern "C" __global__ void spin_minority(u32 *out, const u32 *in, u32 n) {
    __shared__ volatile u32 flag;
    u32 l = threadIdx.x, turns = 0, s, e;
    flag = 0;
    __syncwarp();
    asm volatile("mov.u32 %0, %clock;" : "=r"(s));
    if (l == 0) {
        while (flag == 0 && turns < in[0]) turns++;
    } else {
        for (u32 i = 0; i < n; i++) asm volatile("mad.lo.u32 %0, %0, %0, 1;" : "+r"(turns));
        flag = 1;
    }
    asm volatile("mov.u32 %0, %clock;" : "=r"(e));
    out[l] = turns; out[32 + l] = e - s;
}
extern "C" __global__ void spin_minority_atomic(u32 *out, const u32 *in, u32 n) {
    __shared__ u32 flag;
    u32 l = threadIdx.x, turns = 0, s, e;
    flag = 0;
    __syncwarp();
    asm volatile("mov.u32 %0, %clock;" : "=r"(s));
    if (l == 0) {
        while (atomicCAS(&flag, 1u, 2u) == 0 && turns < in[0]) turns++;
    } else {
        for (u32 i = 0; i < n; i++) asm volatile("mad.lo.u32 %0, %0, %0, 1;" : "+r"(turns));
        atomicExch(&flag, 1u);
    }
    asm volatile("mov.u32 %0, %clock;" : "=r"(e));
    out[l] = turns; out[32 + l] = e - s;
}
