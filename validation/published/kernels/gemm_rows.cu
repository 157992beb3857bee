// Row-major C = alpha A B + beta C without guards, 32-bit indices: a ladder from one thread an
// element to two shared buffers and registers that hold the next tile.

extern "C" __global__ void plain(int m, int n, int k, float alpha, float* a, float* b, float beta,
                                 float* c) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[y * k + i] * b[i * n + x];
    c[y * n + x] = alpha * sum + beta * c[y * n + x];
}

extern "C" __global__ __launch_bounds__(1024) void tiled(int m, int n, int k, float alpha,
                                                         float* a, float* b, float beta,
                                                         float* c) {
    const int S = 32;
    __shared__ float tile_a[S * S];
    __shared__ float tile_b[S * S];
    int column = threadIdx.x % S, row = threadIdx.x / S;
    a = &a[blockIdx.y * S * k];
    b = &b[blockIdx.x * S];
    c = &c[blockIdx.y * S * n + blockIdx.x * S];
    float sum = 0.0f;
    for (int step = 0; step < k; step += S) {
        tile_a[row * S + column] = a[row * k + column];
        tile_b[row * S + column] = b[row * n + column];
        __syncthreads();
        a += S;
        b += S * n;
        for (int i = 0; i < S; i++) sum += tile_a[row * S + i] * tile_b[i * S + column];
        __syncthreads();
    }
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

extern "C" __global__ __launch_bounds__(512) void column_of_eight(int m, int n, int k, float alpha,
                                                                  float* a, float* b, float beta,
                                                                  float* c) {
    const int X = 64, Y = 64, K = 8, EACH = 8;
    __shared__ float tile_a[Y * K];
    __shared__ float tile_b[K * X];
    int left = threadIdx.x % X, top = threadIdx.x / X * EACH;
    int a_row = threadIdx.x / K, a_column = threadIdx.x % K;
    int b_row = threadIdx.x / X, b_column = threadIdx.x % X;
    a = &a[blockIdx.y * Y * k];
    b = &b[blockIdx.x * X];
    c = &c[blockIdx.y * Y * n + blockIdx.x * X];
    float sums[EACH + 1] = {0.0f};
#pragma unroll
    for (int step = 0; step < k; step += K) {
        tile_a[a_row * K + a_column] = a[a_row * k + a_column];
        tile_b[b_row * X + b_column] = b[b_row * n + b_column];
        __syncthreads();
        a += K;
        b += K * n;
#pragma unroll
        for (int i = 0; i < K; i++) {
            sums[EACH] = tile_b[left + i * X];
#pragma unroll
            for (int j = 0; j < EACH; j++) sums[j] += tile_a[(top + j) * K + i] * sums[EACH];
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; j++)
        c[(top + j) * n + left] = alpha * sums[j] + beta * c[(top + j) * n + left];
}

// 128 x 128 tiles, 8 deep, 8 x 8 elements a thread; scalar loads. FRAGMENTS: the tiles' values go
// through registers of their own.
template <bool FRAGMENTS>
__global__ __launch_bounds__(256) void square_of_eight(int m, int n, int k, float alpha, float* a,
                                                       float* b, float beta, float* c) {
    const int SIDE = 128, K = 8, EACH = 8;
    __shared__ float tile_a[SIDE * K];
    __shared__ float tile_b[K * SIDE];
    int left = threadIdx.x % 16 * EACH, top = threadIdx.x / 16 * EACH;
    int a_row = threadIdx.x / K, a_column = threadIdx.x % K;
    int b_row = threadIdx.x / SIDE, b_column = threadIdx.x % SIDE;
    a = &a[blockIdx.y * SIDE * k];
    b = &b[blockIdx.x * SIDE];
    c = &c[blockIdx.y * SIDE * n + blockIdx.x * SIDE];
    float sums[EACH][EACH] = {0.0f};
    float down[EACH], across[EACH];
#pragma unroll
    for (int step = 0; step < k; step += K) {
#pragma unroll
        for (int i = 0; i < SIDE; i += 32)
            tile_a[(a_row + i) * K + a_column] = a[(a_row + i) * k + a_column];
#pragma unroll
        for (int i = 0; i < K; i += 2)
            tile_b[(b_row + i) * SIDE + b_column] = b[(b_row + i) * n + b_column];
        __syncthreads();
        a += K;
        b += K * n;
#pragma unroll
        for (int i = 0; i < K; i++) {
            if (FRAGMENTS) {
#pragma unroll
                for (int j = 0; j < EACH; j++) down[j] = tile_a[(top + j) * K + i];
#pragma unroll
                for (int l = 0; l < EACH; l++) across[l] = tile_b[left + l + i * SIDE];
            }
#pragma unroll
            for (int j = 0; j < EACH; j++) {
#pragma unroll
                for (int l = 0; l < EACH; l++) {
                    if (FRAGMENTS) sums[j][l] += down[j] * across[l];
                    else sums[j][l] += tile_a[(top + j) * K + i] * tile_b[left + l + i * SIDE];
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
#pragma unroll
        for (int l = 0; l < EACH; l++)
            c[(top + j) * n + left + l] =
                alpha * sums[j][l] + beta * c[(top + j) * n + left + l];
    }
}

#define WIDE(place) (*reinterpret_cast<float4*>(&(place)))

__device__ __forceinline__ void scatter(float* tile, int column, int row, float4 v) {
    tile[column * 128 + row] = v.x;
    tile[(column + 1) * 128 + row] = v.y;
    tile[(column + 2) * 128 + row] = v.z;
    tile[(column + 3) * 128 + row] = v.w;
}

__device__ __forceinline__ void fragments(const float* tile_a, const float* tile_b, int i, int top,
                                          int left, float* down, float* across) {
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
        WIDE(down[j]) = *reinterpret_cast<const float4*>(&tile_a[i * 128 + top + j]);
        WIDE(across[j]) = *reinterpret_cast<const float4*>(&tile_b[i * 128 + left + j]);
    }
}

__device__ __forceinline__ void multiply(float (&sums)[8][8], const float* down,
                                         const float* across) {
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int l = 0; l < 8; l++) sums[j][l] += down[j] * across[l];
    }
}

__device__ __forceinline__ void write_back(float (&sums)[8][8], float* c, int n, int top, int left,
                                           float alpha, float beta) {
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int l = 0; l < 8; l += 4) {
            float4 old = WIDE(c[(top + j) * n + left + l]);
            old.x = alpha * sums[j][l] + beta * old.x;
            old.y = alpha * sums[j][l + 1] + beta * old.y;
            old.z = alpha * sums[j][l + 2] + beta * old.z;
            old.w = alpha * sums[j][l + 3] + beta * old.w;
            WIDE(c[(top + j) * n + left + l]) = old;
        }
    }
}

extern "C" __global__ __launch_bounds__(256) void by_16_bytes(int m, int n, int k, float alpha,
                                                              float* a, float* b, float beta,
                                                              float* c) {
    __shared__ float tile_a[8 * 128];
    __shared__ float tile_b[8 * 128];
    int left = threadIdx.x % 16 * 8, top = threadIdx.x / 16 * 8;
    int a_row = threadIdx.x / 2, a_column = threadIdx.x % 2 * 4;
    int b_row = threadIdx.x / 32, b_column = threadIdx.x % 32 * 4;
    a = &a[blockIdx.y * 128 * k];
    b = &b[blockIdx.x * 128];
    c = &c[blockIdx.y * 128 * n + blockIdx.x * 128];
    float sums[8][8] = {0.0f};
    float down[8], across[8];
#pragma unroll
    for (int step = 0; step < k; step += 8) {
        scatter(tile_a, a_column, a_row, WIDE(a[a_row * k + a_column]));
        WIDE(tile_b[b_row * 128 + b_column]) = WIDE(b[b_row * n + b_column]);
        __syncthreads();
        a += 8;
        b += 8 * n;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            fragments(tile_a, tile_b, i, top, left, down, across);
            multiply(sums, down, across);
        }
        __syncthreads();
    }
    write_back(sums, c, n, top, left, alpha, beta);
}

// Two buffers of both tiles: while one is multiplied, the next tile is on its way in registers and
// the fragments of the next step are read.
extern "C" __global__ __launch_bounds__(256) void two_buffers(int m, int n, int k, float alpha,
                                                              float* a, float* b, float beta,
                                                              float* c) {
    __shared__ float tile_a[2][8 * 128];
    __shared__ float tile_b[2][8 * 128];
    int left = threadIdx.x % 16 * 8, top = threadIdx.x / 16 * 8;
    int a_row = threadIdx.x / 2, a_column = threadIdx.x % 2 * 4;
    int b_row = threadIdx.x / 32, b_column = threadIdx.x % 32 * 4;
    a = &a[blockIdx.y * 128 * k];
    b = &b[blockIdx.x * 128];
    c = &c[blockIdx.y * 128 * n + blockIdx.x * 128];
    float sums[8][8] = {0.0f};
    float down[2][8], across[2][8];
    scatter(tile_a[0], a_column, a_row, WIDE(a[a_row * k + a_column]));
    WIDE(tile_b[0][b_row * 128 + b_column]) = WIDE(b[b_row * n + b_column]);
    __syncthreads();
    fragments(tile_a[0], tile_b[0], 0, top, left, down[0], across[0]);
    int next = 1, step = 0;
    do {
        step += 8;
        float4 soon_a, soon_b;
        if (step < k) {
            soon_a = WIDE(a[a_row * k + a_column + step]);
            soon_b = WIDE(b[(b_row + step) * n + b_column]);
        }
        int now = next ^ 1;
#pragma unroll
        for (int i = 0; i < 7; i++) {
            fragments(tile_a[now], tile_b[now], i + 1, top, left, down[(i + 1) % 2],
                      across[(i + 1) % 2]);
            multiply(sums, down[i % 2], across[i % 2]);
        }
        if (step < k) {
            scatter(tile_a[next], a_column, a_row, soon_a);
            WIDE(tile_b[next][b_row * 128 + b_column]) = soon_b;
            __syncthreads();
            fragments(tile_a[next], tile_b[next], 0, top, left, down[0], across[0]);
            next ^= 1;
        }
        multiply(sums, down[1], across[1]);
    } while (step < k);
    write_back(sums, c, n, top, left, alpha, beta);
}
