// Row-major C = beta C + alpha A B of square matrices: 16 x 16 threads, from one element each to
// 8 x 8 elements with 16-byte accesses.

extern "C" __global__ void plain(float* a, float* b, float* c, float alpha, float beta, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + column];
    c[row * n + column] = c[row * n + column] * beta + sum * alpha;
}

extern "C" __global__ void tiled(float* a, float* b, float* c, float alpha, float beta, int n) {
    const int S = 16;
    __shared__ float tile_a[S][S], tile_b[S][S];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * blockDim.y + y, column = blockIdx.x * blockDim.x + x;
    float sum = 0.0f;
    for (int i = 0; i < (n + S - 1) / S; i++) {
        int a_column = i * S + x, b_row = i * S + y;
        if (a_column < n && row < n) tile_a[y][x] = a[row * n + a_column];
        else tile_a[y][x] = 0.0f;
        if (b_row < n && column < n) tile_b[y][x] = b[b_row * n + column];
        else tile_b[y][x] = 0.0f;
        __syncthreads();
        for (int k = 0; k < S; k++) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = c[row * n + column] * beta + sum * alpha;
}

extern "C" __global__ void square_of_four(float* a, float* b, float* c, float alpha, float beta,
                                          int n) {
    const int T = 64, STEP = 16, EACH = 4;
    __shared__ float tile_a[T][T], tile_b[T][T];
    int top = threadIdx.y * EACH, left = threadIdx.x * EACH;
    int first_row = blockIdx.y * T, first_column = blockIdx.x * T;
    float sums[EACH][EACH] = {0.0f};
    float down[EACH], across[EACH];
    for (int tile = 0; tile < (n + T - 1) / T; tile++) {
        for (int i = 0; i < T; i += STEP) {
            for (int j = 0; j < T; j += STEP) {
                int r = threadIdx.y + i, s = threadIdx.x + j;
                int a_column = s + tile * T, a_row = r + first_row;
                int b_row = r + tile * T, b_column = s + first_column;
                if (a_column < n && a_row < n) tile_a[r][s] = a[a_row * n + a_column];
                else tile_a[r][s] = 0.0f;
                if (b_row < n && b_column < n) tile_b[r][s] = b[b_row * n + b_column];
                else tile_b[r][s] = 0.0f;
            }
        }
        __syncthreads();
        for (int i = 0; i < T; i++) {
            for (int j = 0; j < EACH; j++) {
                down[j] = tile_a[top + j][i];
                across[j] = tile_b[i][left + j];
            }
            for (int l = 0; l < EACH; l++) {
                for (int j = 0; j < EACH; j++) sums[j][l] += down[j] * across[l];
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < EACH; j++) {
        for (int l = 0; l < EACH; l++) {
            int row = first_row + top + j, column = first_column + left + l;
            if (row < n && column < n)
                c[row * n + column] = c[row * n + column] * beta + sums[j][l] * alpha;
        }
    }
}

extern "C" __global__ void by_16_bytes(int m, int n, int k, float* a, float* b, float* c,
                                       float alpha, float beta) {
    const int SIDE = 128, K = 32, EACH = 8;
    __shared__ float tile_a[SIDE][K], tile_b[K][SIDE];
    float sums[EACH][EACH] = {0.0f};
    float down[EACH], across[EACH];
    int first_row = blockIdx.y * SIDE, first_column = blockIdx.x * SIDE;
    int top = threadIdx.x / (SIDE / EACH) * EACH, left = threadIdx.x % (SIDE / EACH) * EACH;
    for (int tile = 0; tile < k; tile += K) {
        for (int i = threadIdx.x; i < SIDE * K / 4; i += blockDim.x) {
            int r = i / (K / 4), s = i % (K / 4) * 4;
            *reinterpret_cast<float4*>(&tile_a[r][s]) =
                *reinterpret_cast<float4*>(&a[(first_row + r) * k + tile + s]);
        }
        for (int i = threadIdx.x; i < SIDE * K / 4; i += blockDim.x) {
            int r = i / (SIDE / 4), s = i % (SIDE / 4) * 4;
            *reinterpret_cast<float4*>(&tile_b[r][s]) =
                *reinterpret_cast<float4*>(&b[(tile + r) * n + first_column + s]);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < K; i++) {
#pragma unroll
            for (int j = 0; j < EACH; j++) down[j] = tile_a[top + j][i];
#pragma unroll
            for (int l = 0; l < EACH; l += 4)
                *reinterpret_cast<float4*>(&across[l]) =
                    *reinterpret_cast<float4*>(&tile_b[i][left + l]);
#pragma unroll
            for (int l = 0; l < EACH; l++) {
#pragma unroll
                for (int j = 0; j < EACH; j++) sums[j][l] += down[j] * across[l];
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < EACH; j++) {
        for (int l = 0; l < EACH; l += 4) {
            float4* place = reinterpret_cast<float4*>(
                &c[(first_row + top + j) * n + first_column + left + l]);
            float4 v = *place;
            v.x = alpha * sums[j][l] + beta * v.x;
            v.y = alpha * sums[j][l + 1] + beta * v.y;
            v.z = alpha * sums[j][l + 2] + beta * v.z;
            v.w = alpha * sums[j][l + 3] + beta * v.w;
            *place = v;
        }
    }
}
