// Row-major C = alpha A B + beta C with sizes of 64 bits and every access guarded: from one thread
// an element to tiles of block, warp and thread.

template <bool ROW_FROM_X>
__global__ void plain(size_t m, size_t n, size_t k, float alpha, const float* a, size_t lda,
                      const float* b, size_t ldb, float beta, float* c, size_t ldc) {
    size_t x = blockIdx.x * blockDim.x + threadIdx.x;
    size_t y = blockIdx.y * blockDim.y + threadIdx.y;
    size_t row = ROW_FROM_X ? x : y, column = ROW_FROM_X ? y : x;
    if (row < m && column < n) {
        float sum = 0.0f;
        for (size_t i = 0; i < k; ++i) sum += a[row * lda + i] * b[i * ldb + column];
        c[row * ldc + column] = alpha * sum + beta * c[row * ldc + column];
    }
}

// A ROWS x COLUMNS tile of `from` at (top, left), one element a thread and turn; where TURNED, the
// tile is kept by columns.
template <size_t ROWS, size_t COLUMNS, size_t THREADS, bool TURNED>
__device__ __forceinline__ void load_tile(const float* from, size_t ld, float* tile, size_t top,
                                          size_t left, size_t rows, size_t columns, size_t t) {
#pragma unroll
    for (size_t turn = 0; turn < (ROWS * COLUMNS + THREADS - 1) / THREADS; ++turn) {
        size_t r = (t + turn * THREADS) / COLUMNS, s = (t + turn * THREADS) % COLUMNS;
        float value = 0.0f;
        if (top + r < rows && left + s < columns) value = from[(top + r) * ld + left + s];
        tile[TURNED ? s * ROWS + r : r * COLUMNS + s] = value;
    }
}

// The same by 16 bytes; what lies beyond the last column becomes zero.
template <size_t ROWS, size_t COLUMNS, size_t THREADS, bool TURNED>
__device__ __forceinline__ void load_tile_wide(const float* from, size_t ld, float* tile,
                                               size_t top, size_t left, size_t rows,
                                               size_t columns, size_t t) {
    constexpr size_t ACROSS = COLUMNS / 4;
#pragma unroll
    for (size_t turn = 0; turn < (ROWS * ACROSS + THREADS - 1) / THREADS; ++turn) {
        size_t r = (t + turn * THREADS) / ACROSS, s = (t + turn * THREADS) % ACROSS * 4;
        int4 values = {0, 0, 0, 0};
        if (top + r < rows && left + s < columns)
            values = *reinterpret_cast<const int4*>(&from[(top + r) * ld + left + s]);
        if (left + s + 4 > columns) {
            size_t beyond = left + s + 4 - columns;
            float* single = reinterpret_cast<float*>(&values);
            for (size_t i = 0; i < beyond; ++i) single[3 - i] = 0.0f;
        }
        if (r < ROWS && s < COLUMNS) {
            if (TURNED) {
                for (size_t i = 0; i < 4; ++i)
                    tile[(s + i) * ROWS + r] = reinterpret_cast<const float*>(&values)[i];
            } else {
                *reinterpret_cast<int4*>(&tile[r * COLUMNS + s]) = values;
            }
        }
    }
}

template <size_t X, size_t Y, size_t K, size_t THREADS, bool TURNED, bool WIDE>
__device__ __forceinline__ void load_tiles(const float* a, size_t lda, const float* b, size_t ldb,
                                           float* tile_a, float* tile_b, size_t step, size_t m,
                                           size_t n, size_t k, size_t t) {
    if (WIDE) {
        load_tile_wide<Y, K, THREADS, TURNED>(a, lda, tile_a, blockIdx.y * Y, step * K, m, k, t);
        load_tile_wide<K, X, THREADS, false>(b, ldb, tile_b, step * K, blockIdx.x * X, k, n, t);
    } else {
        load_tile<Y, K, THREADS, TURNED>(a, lda, tile_a, blockIdx.y * Y, step * K, m, k, t);
        load_tile<K, X, THREADS, false>(b, ldb, tile_b, step * K, blockIdx.x * X, k, n, t);
    }
}

template <bool WIDE>
__global__ void tiled(size_t m, size_t n, size_t k, float alpha, const float* a, size_t lda,
                      const float* b, size_t ldb, float beta, float* c, size_t ldc) {
    __shared__ float tile_a[32][32];
    __shared__ float tile_b[32][32];
    size_t t = threadIdx.y * blockDim.x + threadIdx.x;
    size_t column = blockIdx.x * blockDim.x + threadIdx.x;
    size_t row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (size_t step = 0; step < (k + 31) / 32; ++step) {
        load_tiles<32, 32, 32, 1024, false, WIDE>(a, lda, b, ldb, tile_a[0], tile_b[0], step, m, n,
                                                  k, t);
        __syncthreads();
#pragma unroll
        for (size_t i = 0; i < 32; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * ldc + column] = alpha * sum + beta * c[row * ldc + column];
}

template <bool WIDE>
__global__ void column_of_eight(size_t m, size_t n, size_t k, float alpha, const float* a,
                                size_t lda, const float* b, size_t ldb, float beta, float* c,
                                size_t ldc) {
    constexpr size_t X = 64, Y = 64, K = 8, EACH = 8, THREADS = X * Y / EACH;
    __shared__ float tile_a[Y][K];
    __shared__ float tile_b[K][X];
    size_t t = threadIdx.y * blockDim.x + threadIdx.x;
    float sums[EACH] = {0.0f};
    for (size_t step = 0; step < (k + K - 1) / K; ++step) {
        load_tiles<X, Y, K, THREADS, false, WIDE>(a, lda, b, ldb, tile_a[0], tile_b[0], step, m, n,
                                                  k, t);
        __syncthreads();
#pragma unroll
        for (size_t i = 0; i < K; ++i) {
            float right = tile_b[i][t % X];
#pragma unroll
            for (size_t j = 0; j < EACH; ++j) sums[j] += tile_a[t / X * EACH + j][i] * right;
        }
        __syncthreads();
    }
#pragma unroll
    for (size_t j = 0; j < EACH; ++j) {
        size_t row = blockIdx.y * Y + t / X * EACH + j, column = blockIdx.x * X + t % X;
        if (row < m && column < n)
            c[row * ldc + column] = alpha * sums[j] + beta * c[row * ldc + column];
    }
}

__device__ __forceinline__ void copy_eight(float* to, const float* from, bool wide) {
    if (wide) {
#pragma unroll
        for (size_t i = 0; i < 8; i += 4)
            *reinterpret_cast<int4*>(&to[i]) = *reinterpret_cast<const int4*>(&from[i]);
    } else {
#pragma unroll
        for (size_t i = 0; i < 8; ++i) to[i] = from[i];
    }
}

// 128 x 128 tiles, 8 x 8 elements a thread. TURNED: A's tile by columns. WARPS: lanes of a warp
// cover 32 columns x 64 rows; else threads follow the rows of the tile.
template <bool TURNED, bool WIDE_LOAD, bool WIDE, bool WARPS>
__global__ void square_of_eight(size_t m, size_t n, size_t k, float alpha, const float* a,
                                size_t lda, const float* b, size_t ldb, float beta, float* c,
                                size_t ldc) {
    constexpr size_t SIDE = 128, K = 16, THREADS = 256;
    __shared__ float tile_a[TURNED ? K : SIDE][TURNED ? SIDE : K];
    __shared__ float tile_b[K][SIDE];
    size_t t = threadIdx.y * blockDim.x + threadIdx.x;
    size_t warp = t / 32, lane = t % 32;
    size_t top = WARPS ? warp / 4 * 64 + lane / 4 * 8 : t / 16 * 8;
    size_t left = WARPS ? warp % 4 * 32 + lane % 4 * 8 : t % 16 * 8;
    float sums[8][8] = {{0.0f}};
    float down[8] = {0.0f}, across[8] = {0.0f};
    for (size_t step = 0; step < (k + K - 1) / K; ++step) {
        load_tiles<SIDE, SIDE, K, THREADS, TURNED, WIDE_LOAD>(a, lda, b, ldb, tile_a[0], tile_b[0],
                                                              step, m, n, k, t);
        __syncthreads();
#pragma unroll
        for (size_t i = 0; i < K; ++i) {
            if (TURNED) {
                copy_eight(down, &tile_a[i][top], WIDE);
            } else {
#pragma unroll
                for (size_t j = 0; j < 8; ++j) down[j] = tile_a[top + j][i];
            }
            copy_eight(across, &tile_b[i][left], WIDE);
#pragma unroll
            for (size_t j = 0; j < 8; ++j) {
#pragma unroll
                for (size_t l = 0; l < 8; ++l) sums[j][l] += down[j] * across[l];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (size_t j = 0; j < 8; ++j) {
        size_t row = blockIdx.y * SIDE + top + j;
#pragma unroll
        for (size_t l = 0; l < 8; l += WIDE ? 4 : 1) {
            size_t column = blockIdx.x * SIDE + left + l;
            if (!(row < m && column < n)) continue;
            if (WIDE) {
                float4 old = *reinterpret_cast<float4*>(&c[row * ldc + column]);
                old.x = alpha * sums[j][l] + beta * old.x;
                old.y = alpha * sums[j][l + 1] + beta * old.y;
                old.z = alpha * sums[j][l + 2] + beta * old.z;
                old.w = alpha * sums[j][l + 3] + beta * old.w;
                *reinterpret_cast<float4*>(&c[row * ldc + column]) = old;
            } else {
                c[row * ldc + column] = alpha * sums[j][l] + beta * c[row * ldc + column];
            }
        }
    }
}
