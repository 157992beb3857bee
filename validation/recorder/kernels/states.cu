// What warps are counted to wait for (smsp__warps_issue_stalled_*) in loops of a few instructions.
typedef unsigned u32;
#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(1024) NAME(u32 *out, u32 *in, u32 n)
#define END if (v == 12345) out[threadIdx.x] = v

KERNEL(barrier_only) { u32 v = n; for (u32 i = 0; i < n; i++) { __syncthreads(); v += i; } END; }
KERNEL(barrier_chain) {  // arithmetic between
    u32 v = n;
    for (u32 i = 0; i < n; i++) { __syncthreads(); v = v * 5 + i; v = v * 7 + i; v = v * 9 + i; v = v * 3 + i; }
    END;
}
KERNEL(load_chain) {
    __shared__ u32 t[1024]; u32 v = threadIdx.x; t[v] = v; __syncthreads();
    for (u32 i = 0; i < n; i++) v = t[v & 1023];
    END;
}
KERNEL(barrier_load) {
    __shared__ u32 t[1024]; u32 v = threadIdx.x; t[v] = v; __syncthreads();
    for (u32 i = 0; i < n; i++) { __syncthreads(); v = ((volatile u32 *)t)[v & 1023]; }
    END;
}
KERNEL(barrier_store_load) {
    __shared__ u32 t[1024]; u32 v = threadIdx.x, to = threadIdx.x; t[v] = v; __syncthreads();
    for (u32 i = 0; i < n; i++) { ((volatile u32 *)t)[to] = v; __syncthreads(); v += ((volatile u32 *)t)[to ^ 32]; __syncthreads(); }
    END;
}
KERNEL(barrier_one_loads) {  // the first warp alone has anything to do
    __shared__ u32 t[1024]; u32 v = threadIdx.x, to = threadIdx.x; t[v] = v; __syncthreads();
    for (u32 i = 0; i < n; i++) { if (to < 32) { v += ((volatile u32 *)t)[to ^ 16]; ((volatile u32 *)t)[to] = v; } __syncthreads(); }
    END;
}
KERNEL(loads_without_lanes) {
    __shared__ u32 t[1024]; u32 v = threadIdx.x; t[v] = v; __syncthreads();
    for (u32 i = 0; i < n; i++) {
        u32 w = 0;
        asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 77777; @p ld.shared.u32 %0, [%2];}" : "+r"(w) : "r"(v), "r"(threadIdx.x * 4));
        v += w + i;
    }
    END;
}
KERNEL(constant_behind_barrier) {  // a scoreboard and a barrier at once
    u32 v = n;
    for (u32 i = 0; i < n; i++) { u32 w; asm volatile("mov.u32 %0, %%clock;" : "=r"(w)); __syncthreads(); v += w; }
    END;
}
KERNEL(special_behind_barrier) {
    float v = n;
    for (u32 i = 0; i < n; i++) { float w; asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(w) : "f"(v)); __syncthreads(); v = w + 1.0f; }
    if (v == 12345.0f) out[threadIdx.x] = 1;
}
KERNEL(loop_short) { u32 v = n; 
#pragma unroll 1
    for (u32 i = 0; i < n; i++) v = v * 5 + i; END; }
KERNEL(loop_long) { u32 v = n;
#pragma unroll 1
    for (u32 i = 0; i < n; i++) { v = v * 5 + i; v = v * 7 + i; v = v * 9 + i; v = v * 3 + i; v = v * 5 + 1; v = v * 7 + 1; v = v * 9 + 1; v = v * 3 + 1; }
    END; }
KERNEL(skips) {  // a branch that is taken, around an instruction or two
    u32 v = n;
#pragma unroll 1
    for (u32 i = 0; i < n; i++) { if (v == 77777 + i) { out[i] = v; __threadfence(); } v = v * 5 + i; }
    END;
}
KERNEL(shuffles) { u32 v = threadIdx.x; for (u32 i = 0; i < n; i++) v += __shfl_xor_sync(~0u, v, 1 + (i & 15)); END; }
KERNEL(many_loads) {  // as many loads of shared memory as multiply-adds
    __shared__ float t[1056]; float s = 0; t[threadIdx.x] = n; __syncthreads();
    u32 at = threadIdx.x & 31;
#pragma unroll 1
    for (u32 i = 0; i < n; i++) {
#pragma unroll
        for (int k = 0; k < 16; k++) s += ((volatile float *)t)[at + k * 32] * 1.25f;
    }
    if (s == 12345.0f) out[threadIdx.x] = 1;
}
KERNEL(many_global) {  // the same of lines that L1 has
    float s = 0; const volatile float *t = (const volatile float *)in; u32 at = threadIdx.x & 31;
#pragma unroll 1
    for (u32 i = 0; i < n; i++) {
#pragma unroll
        for (int k = 0; k < 16; k++) s += t[at + k * 32] * 1.25f;
    }
    if (s == 12345.0f) out[threadIdx.x] = 1;
}
KERNEL(scattered_then_special) {  // stores that L2 completes, then special functions
    float v = n; u32 at = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
#pragma unroll 1
    for (u32 i = 0; i < n; i++) {
        in[(at + i * 1081344) & 0xffffff] = i;
        float w; asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(w) : "f"(v)); v = w + 1.0f;
    }
    if (v == 12345.0f) out[threadIdx.x] = 1;
}
KERNEL(scattered_then_shared) {
    __shared__ u32 t[1024]; u32 v = threadIdx.x; t[v] = v; __syncthreads();
    u32 at = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
#pragma unroll 1
    for (u32 i = 0; i < n; i++) { in[(at + i * 1081344) & 0xffffff] = i; v = ((volatile u32 *)t)[v & 1023]; }
    END;
}
