// Column-major C = alpha A B + beta C: element (row, column) stands at row + column * ld. A ladder
// from one thread an element to warp tiles with two shared buffers.
#define AT(p, row, column, ld) ((p)[(row) + (column) * (ld)])
#define WIDE(place) (*reinterpret_cast<float4*>(&(place)))
#define PARAMETERS int m, int n, int k, float alpha, float *a, float *b, float beta, float *c

extern "C" __global__ __launch_bounds__(1024) void plain(PARAMETERS) {
    int row = threadIdx.x, column = threadIdx.y;
    a = &AT(a, blockIdx.x << 5, 0, m);
    b = &AT(b, 0, blockIdx.y << 5, k);
    c = &AT(c, blockIdx.x << 5, blockIdx.y << 5, m);
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += AT(a, row, i, m) * AT(b, i, column, k);
    AT(c, row, column, m) = alpha * sum + beta * AT(c, row, column, m);
}

// 32 x 32 tiles. COLUMNS: both tiles by columns; else by rows, so that a warp reads one bank.
template <bool FLAT, bool COLUMNS>
__global__ __launch_bounds__(1024) void tiled(PARAMETERS) {
    __shared__ float tile_a[1024];
    __shared__ float tile_b[1024];
    int row = FLAT ? threadIdx.x & 31 : threadIdx.x;
    int column = FLAT ? threadIdx.x >> 5 : threadIdx.y;
    a = &AT(a, blockIdx.x << 5, 0, m);
    b = &AT(b, 0, blockIdx.y << 5, k);
    c = &AT(c, blockIdx.x << 5, blockIdx.y << 5, m);
    float sum = 0.0f;
    for (int step = 0; step < k; step += 32) {
        if (COLUMNS) {
            tile_a[(column << 5) + row] = AT(a, row, column, m);
            tile_b[(row << 5) + column] = AT(b, row, column, k);
        } else {
            tile_a[(row << 5) + column] = AT(a, row, column, m);
            tile_b[(column << 5) + row] = AT(b, row, column, k);
        }
        a += m << 5;
        b += 32;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++) {
            float left = COLUMNS ? tile_a[(i << 5) + row] : tile_a[(row << 5) + i];
            float right = COLUMNS ? tile_b[(i << 5) + column] : tile_b[(column << 5) + i];
            sum += left * right;
        }
        __syncthreads();
    }
    AT(c, row, column, m) = alpha * sum + beta * AT(c, row, column, m);
}

// 32 x 32 tiles, four rows a thread, 256 threads; BY_16: global memory and A's tile by 16 bytes.
template <bool BY_16>
__global__ __launch_bounds__(256) void four_rows(PARAMETERS) {
    __shared__ __align__(16) float tile_a[1024];
    __shared__ float tile_b[1024];
    int t = threadIdx.x;
    int row = (t & 7) << 2, column = t >> 3;
    a = &AT(a, blockIdx.x << 5, 0, m);
    b = &AT(b, 0, blockIdx.y << 5, k);
    c = &AT(c, blockIdx.x << 5, blockIdx.y << 5, m);
    float sums[4] = {0.0f};
    for (int step = 0; step < k; step += 32) {
        if (BY_16) {
            WIDE(tile_a[t << 2]) = WIDE(AT(a, row, column, m));
            float4 v = WIDE(AT(b, row, column, k));
            tile_b[(row << 5) + column] = v.x;
            tile_b[((row + 1) << 5) + column] = v.y;
            tile_b[((row + 2) << 5) + column] = v.z;
            tile_b[((row + 3) << 5) + column] = v.w;
        } else {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                tile_a[(column << 5) + row + j] = AT(a, row + j, column, m);
                tile_b[((row + j) << 5) + column] = AT(b, row + j, column, k);
            }
        }
        a += m << 5;
        b += 32;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++) {
            float right = tile_b[(i << 5) + column];
#pragma unroll
            for (int j = 0; j < 4; j++) sums[j] += tile_a[(i << 5) + row + j] * right;
        }
        __syncthreads();
    }
    if (BY_16) {
        float4 old = WIDE(AT(c, row, column, m));
        old.x = alpha * sums[0] + beta * old.x;
        old.y = alpha * sums[1] + beta * old.y;
        old.z = alpha * sums[2] + beta * old.z;
        old.w = alpha * sums[3] + beta * old.w;
        WIDE(AT(c, row, column, m)) = old;
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
            AT(c, row + j, column, m) = alpha * sums[j] + beta * AT(c, row + j, column, m);
    }
}

template <int N>
__device__ __forceinline__ void read_row(float* to, const float* from) {
#pragma unroll
    for (int j = 0; j < N; j += 4)
        WIDE(to[j]) = *reinterpret_cast<const float4*>(&from[j]);
}

template <int N>
__device__ __forceinline__ void multiply(float (&sums)[N][N], const float* rows,
                                         const float* columns) {
#pragma unroll
    for (int l = 0; l < N; l++) {
#pragma unroll
        for (int j = 0; j < N; j++) sums[l][j] += rows[j] * columns[l];
    }
}

template <int N>
__device__ __forceinline__ void write_back(float (&sums)[N][N], float* c, int m, int row,
                                           int column, float alpha, float beta) {
#pragma unroll
    for (int l = 0; l < N; l++) {
#pragma unroll
        for (int j = 0; j < N; j += 4) {
            float4 old = WIDE(AT(c, row + j, column + l, m));
            old.x = alpha * sums[l][j] + beta * old.x;
            old.y = alpha * sums[l][j + 1] + beta * old.y;
            old.z = alpha * sums[l][j + 2] + beta * old.z;
            old.w = alpha * sums[l][j + 3] + beta * old.w;
            WIDE(AT(c, row + j, column + l, m)) = old;
        }
    }
}

template <int SIDE>
__device__ __forceinline__ void scatter(float* tile, int row, int column, float4 v) {
    tile[row * SIDE + column] = v.x;
    tile[(row + 1) * SIDE + column] = v.y;
    tile[(row + 2) * SIDE + column] = v.z;
    tile[(row + 3) * SIDE + column] = v.w;
}

extern "C" __global__ __launch_bounds__(256) void square_of_four(PARAMETERS) {
    __shared__ __align__(16) float tile_a[1024];
    __shared__ __align__(16) float tile_b[1024];
    int t = threadIdx.x;
    int a_row = (t & 15) << 2, a_column = t >> 4;
    int b_row = (t & 3) << 2, b_column = t >> 2;
    int row = (t & 15) << 2, column = (t >> 4) << 2;
    a = &AT(a, blockIdx.x << 6, 0, m);
    b = &AT(b, 0, blockIdx.y << 6, k);
    c = &AT(c, blockIdx.x << 6, blockIdx.y << 6, m);
    float sums[4][4] = {{0.0f}};
    float rows[4], columns[4];
    for (int step = 0; step < k; step += 16) {
        float4 from_a = WIDE(AT(a, a_row, a_column, m));
        float4 from_b = WIDE(AT(b, b_row, b_column, k));
        WIDE(tile_a[t << 2]) = from_a;
        scatter<64>(tile_b, b_row, b_column, from_b);
        a += m << 4;
        b += 16;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            read_row<4>(rows, &tile_a[(i << 6) + row]);
            read_row<4>(columns, &tile_b[(i << 6) + column]);
            multiply<4>(sums, rows, columns);
        }
        __syncthreads();
    }
    write_back<4>(sums, c, m, row, column, alpha, beta);
}

// 128 x 128 tiles, 8 deep, 8 x 8 elements a thread. WARPS: a warp covers 32 rows x 64 columns.
template <bool WARPS>
__global__ __launch_bounds__(256) void square_of_eight(PARAMETERS) {
    __shared__ __align__(16) float tile_a[1024];
    __shared__ __align__(16) float tile_b[1024];
    int t = threadIdx.x, warp = t >> 5, lane = t & 31;
    int a_row = (t & 31) << 2, a_column = t >> 5;
    int b_row = (t & 1) << 2, b_column = t >> 1;
    int row = WARPS ? ((warp & 3) << 5) + ((lane & 3) << 3) : (t & 15) << 3;
    int column = WARPS ? ((warp >> 2) << 6) + ((lane >> 2) << 3) : (t >> 4) << 3;
    a = &AT(a, blockIdx.x << 7, 0, m);
    b = &AT(b, 0, blockIdx.y << 7, k);
    c = &AT(c, blockIdx.x << 7, blockIdx.y << 7, m);
    float sums[8][8] = {{0.0f}};
    float rows[8], columns[8];
    for (int step = 0; step < k; step += 8) {
        float4 from_a = WIDE(AT(a, a_row, a_column, m));
        float4 from_b = WIDE(AT(b, b_row, b_column, k));
        WIDE(tile_a[t << 2]) = from_a;
        scatter<128>(tile_b, b_row, b_column, from_b);
        a += m << 3;
        b += 8;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++) {
            read_row<8>(rows, &tile_a[(i << 7) + row]);
            read_row<8>(columns, &tile_b[(i << 7) + column]);
            multiply<8>(sums, rows, columns);
        }
        __syncthreads();
    }
    write_back<8>(sums, c, m, row, column, alpha, beta);
}

// As before with warps; the next tile travels in registers, and so do the next step's values.
// BUFFERS: 1, or 2 of each shared tile.
template <int BUFFERS>
__global__ __launch_bounds__(256) void prefetched(PARAMETERS) {
    __shared__ __align__(16) float tile_a[BUFFERS][1024];
    __shared__ __align__(16) float tile_b[BUFFERS][1024];
    int t = threadIdx.x, warp = t >> 5, lane = t & 31;
    int a_row = (t & 31) << 2, a_column = t >> 5;
    int b_row = (t & 1) << 2, b_column = t >> 1;
    int row = ((warp & 3) << 5) + ((lane & 3) << 3);
    int column = ((warp >> 2) << 6) + ((lane >> 2) << 3);
    a = &AT(a, blockIdx.x << 7, 0, m);
    b = &AT(b, 0, blockIdx.y << 7, k);
    c = &AT(c, blockIdx.x << 7, blockIdx.y << 7, m);
    float sums[8][8] = {{0.0f}};
    float rows[2][8], columns[2][8];
    WIDE(tile_a[0][t << 2]) = WIDE(AT(a, a_row, a_column, m));
    scatter<128>(tile_b[0], b_row, b_column, WIDE(AT(b, b_row, b_column, k)));
    __syncthreads();
    read_row<8>(rows[0], &tile_a[0][row]);
    read_row<8>(columns[0], &tile_b[0][column]);
    int tiles = k >> 3, now = 0;
    for (int step = 0; step < tiles; step++) {
        int following = (step + 1) % tiles;
        float4 soon_a = WIDE(AT(a + (m << 3) * following, a_row, a_column, m));
        float4 soon_b = WIDE(AT(b + 8 * following, b_row, b_column, k));
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int next = (i + 1) & 7;
            read_row<8>(rows[(i + 1) & 1], &tile_a[now][(next << 7) + row]);
            read_row<8>(columns[(i + 1) & 1], &tile_b[now][(next << 7) + column]);
            multiply<8>(sums, rows[i & 1], columns[i & 1]);
        }
        if (BUFFERS == 2) now ^= 1;
        else __syncthreads();
        WIDE(tile_a[now][t << 2]) = soon_a;
        scatter<128>(tile_b[now], b_row, b_column, soon_b);
        __syncthreads();
        read_row<8>(rows[0], &tile_a[now][row]);
        read_row<8>(columns[0], &tile_b[now][column]);
    }
    write_back<8>(sums, c, m, row, column, alpha, beta);
}
