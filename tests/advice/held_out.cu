// Kernels that no rule was written against. NAME_before has one planted cause, NAME_after has not.

// --- a thread walks along a row; a warp should -------------------------------------------------
__global__ void rows_before(const float* in, float* out, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += in[row * n + k];
    out[row] = sum;
}
__global__ void rows_after(const float* in, float* out, int n) {
    __shared__ float tile[128][33];
    float sum = 0;
    for (int k = 0; k < n; k += 32) {
        for (int r = threadIdx.x / 32; r < 128; r += 4)
            tile[r][threadIdx.x % 32] = in[(blockIdx.x * 128 + r) * n + k + threadIdx.x % 32];
        __syncthreads();
        for (int j = 0; j < 32; j++) sum += tile[threadIdx.x][j];
        __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// --- pixels of four separate bytes, one byte wanted -------------------------------------------
__global__ void channel_before(const unsigned char* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; k++) sum += in[(k * n + i) * 32] * 0.25f;
    out[i] = sum;
}
__global__ void channel_after(const unsigned char* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; k++) sum += in[k * n + i] * 0.25f;
    out[i] = sum;
}

// --- records of eight words in shared memory ---------------------------------------------------
__global__ void records_before(const float* in, float* out, int n) {
    __shared__ float s[128 * 8];
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < 8; k++) s[threadIdx.x * 8 + k] = in[i] * k;
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < 40; r++)
        sum += s[((threadIdx.x + r) % 128) * 8 + r * 5 % 8];
    out[i] = sum;
}
__global__ void records_after(const float* in, float* out, int n) {
    __shared__ float s[128 * 8];
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < 8; k++) s[threadIdx.x + 128 * k] = in[i] * k;
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < 40; r++)
        sum += s[(threadIdx.x + r) % 128 + 128 * (r * 5 % 8)];
    out[i] = sum;
}

// --- as many steps as the lane's number --------------------------------------------------------
__global__ void steps_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    int last = (i * 7) % 32 * 8;
    for (int k = 0; k < last; k++) x = x * 0.5f + 0.25f;
    out[i] = x;
}
__global__ void steps_after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    int last = (i / 32 * 7) % 32 * 8;
    for (int k = 0; k < last; k++) x = x * 0.5f + 0.25f;
    out[i] = x;
}

// --- launched with 20 threads per block; with 32 -----------------------------------------------
__global__ void threads_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = in[i], b = a;
    for (int k = 0; k < 100; k++) { a = a * 0.5f + b; b = b * 0.25f + a; }
    out[i] = a + b;
}
__global__ void threads_after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = in[i], b = a;
    for (int k = 0; k < 100; k++) { a = a * 0.5f + b; b = b * 0.25f + a; }
    out[i] = a + b;
}

// --- launched with 12 blocks; with as many as there are SMs ------------------------------------
__global__ void few_before(const float* in, float* out, int n) {
    float best = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = in[i];
        for (int k = 0; k < 24; k++) x = x * x - 0.5f;
        best = fmaxf(best, x);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = best;
}
__global__ void few_after(const float* in, float* out, int n) {
    float best = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = in[i];
        for (int k = 0; k < 24; k++) x = x * x - 0.5f;
        best = fmaxf(best, x);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = best;
}

// --- dynamic shared memory far beyond what is used ---------------------------------------------
extern __shared__ float scratch[];
__global__ void reserved_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 12; k++) {
        scratch[threadIdx.x] = in[(i + k * 8192) % n];
        __syncthreads();
        sum += scratch[threadIdx.x ^ 1];
        __syncthreads();
    }
    out[i] = sum;
}
__global__ void reserved_after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 12; k++) {
        scratch[threadIdx.x] = in[(i + k * 8192) % n];
        __syncthreads();
        sum += scratch[threadIdx.x ^ 1];
        __syncthreads();
    }
    out[i] = sum;
}

// --- functions of double where float would do --------------------------------------------------
__global__ void roots_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < 10; k++) x = 1.0 / (1.0 + x * (0.5 + x * (0.25 + x * 0.125)));
    out[i] = x;
}
__global__ void roots_after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < 10; k++) x = 1.0f / (1.0f + x * (0.5f + x * (0.25f + x * 0.125f)));
    out[i] = x;
}

// --- registers capped: values spill ------------------------------------------------------------
template <int N> __device__ float spread(const float* in, int i, int n) {
    float v[N];
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = in[(i + k * 1024) % n];
    for (int r = 0; r < 12; r++)
#pragma unroll
        for (int k = 0; k < N; k++) v[k] = v[k] * v[(k + 7) % N] + v[(k + 3) % N];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < N; k++) sum += v[k];
    return sum;
}
__global__ void __launch_bounds__(1024, 2) spills_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = spread<48>(in, i, n);
}
__global__ void __launch_bounds__(128) spills_after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = spread<48>(in, i, n);
}

// --- every lane adds to one sum ----------------------------------------------------------------
__global__ void sum_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}
__global__ void sum_after(const float* in, float* out, int n) {
    __shared__ float part[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? in[i] : 0;
    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) sum += part[w];
        atomicAdd(out, sum);
    }
}

// --- rounding intrinsics keep a complex product apart ------------------------------------------
__global__ void complex_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float re = in[i], im = in[i] * 0.5f, c = 0.6f, s = 0.8f;
    for (int k = 0; k < 96; k++) {
        float r = __fsub_rn(__fmul_rn(re, c), __fmul_rn(im, s));
        im = __fadd_rn(__fmul_rn(re, s), __fmul_rn(im, c));
        re = r;
    }
    out[i] = re + im;
}
__global__ void complex_after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float re = in[i], im = in[i] * 0.5f, c = 0.6f, s = 0.8f;
    for (int k = 0; k < 96; k++) {
        float r = fmaf(re, c, -im * s);
        im = fmaf(re, s, im * c);
        re = r;
    }
    out[i] = re + im;
}

// --- few bins, all in memory --------------------------------------------------------------------
__global__ void bins_before(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[in[i] & 15], 1);
}
__global__ void bins_after(const int* in, int* out, int n) {
    __shared__ int part[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 16) part[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&part[in[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], part[threadIdx.x]);
}

// --- three paths through the special functions --------------------------------------------------
__global__ void paths_before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    switch (i % 3) {
    case 0: for (int k = 0; k < 80; k++) x = __sinf(x) + 1; break;
    case 1: for (int k = 0; k < 80; k++) x = __cosf(x) - 1; break;
    default: for (int k = 0; k < 80; k++) x = __expf(-x) * 0.5f;
    }
    out[i] = x;
}
__global__ void paths_after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    switch (i / 32 % 3) {
    case 0: for (int k = 0; k < 80; k++) x = __sinf(x) + 1; break;
    case 1: for (int k = 0; k < 80; k++) x = __cosf(x) - 1; break;
    default: for (int k = 0; k < 80; k++) x = __expf(-x) * 0.5f;
    }
    out[i] = x;
}

// --- good ones ---------------------------------------------------------------------------------
__global__ void good_triad(const float4* a, const float4* b, float4* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 x = a[i], y = b[i];
        out[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
    }
}
__global__ void good_matvec(const float* a, const float* x, float* out, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = lane; k < n; k += 32) sum = fmaf(a[row * n + k], x[k], sum);
    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (lane == 0) out[row] = sum;
}
__global__ void good_jacobi(const float* in, const float*, float* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = 0.25f * (in[y * n + x - 1] + in[y * n + x + 1] + in[y * n - n + x] +
                                  in[y * n + n + x]);
}
__global__ void good_bodies(const float4* a, const float*, float4* out, int n) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 me = a[i];
    float fx = 0, fy = 0, fz = 0;
    for (int k = 0; k < n; k += 128) {
        tile[threadIdx.x] = a[k + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f))));
            float f = tile[j].w * r * r * r;
            fx = fmaf(f, dx, fx), fy = fmaf(f, dy, fy), fz = fmaf(f, dz, fz);
        }
        __syncthreads();
    }
    out[i] = make_float4(fx, fy, fz, 0);
}
__global__ void good_scan(const float* in, const float*, float* out, int n) {
    __shared__ float sums[8];
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
    float x = in[i];
    for (int s = 1; s < 32; s *= 2) {
        float y = __shfl_up_sync(~0u, x, s);
        if (lane >= s) x += y;
    }
    if (lane == 31) sums[threadIdx.x / 32] = x;
    __syncthreads();
    float before = 0;
    for (int w = 0; w < threadIdx.x / 32; w++) before += sums[w];
    out[i] = x + before;
}
__global__ void good_option(const float* s, const float* k, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float d = (__logf((s[i] + 1) / (k[i] + 1)) + 0.06f) * 3.3f;
    float p = 1.0f / (1.0f + __expf(-1.7f * d)), q = 1.0f / (1.0f + __expf(0.5f - 1.7f * d));
    out[i] = (s[i] + 1) * p - (k[i] + 1) * 0.95f * q;
}
__global__ void good_convolution(const float* in, const float*, float* out, int n) {
    __shared__ float tile[10][34];
    int x = threadIdx.x, y = threadIdx.y, left = blockIdx.x * 32, top = blockIdx.y * 8;
    for (int k = y * 32 + x; k < 340; k += 256) {
        int row = min(max(top + k / 34 - 1, 0), n - 1), at = min(max(left + k % 34 - 1, 0), n - 1);
        tile[k / 34][k % 34] = in[row * n + at];
    }
    __syncthreads();
    float sum = 0;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++) sum = fmaf(tile[y + dy][x + dx], 0.11f, sum);
    out[(top + y) * n + left + x] = sum;
}
__global__ void good_norm(const float4* in, const float*, float4* out, int n) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 v = in[row * 32 + lane];
    float mean = v.x + v.y + v.z + v.w;
    for (int s = 16; s; s /= 2) mean += __shfl_xor_sync(~0u, mean, s);
    mean /= 128;
    float a = v.x - mean, b = v.y - mean, c = v.z - mean, d = v.w - mean;
    float square = a * a + b * b + c * c + d * d;
    for (int s = 16; s; s /= 2) square += __shfl_xor_sync(~0u, square, s);
    float scale = rsqrtf(square / 128 + 1e-5f);
    out[row * 32 + lane] = make_float4(a * scale, b * scale, c * scale, d * scale);
}
