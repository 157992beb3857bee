// Row-major C = A B: one thread an element, shared tiles, several elements a thread, warp tiles,
// 16-byte accesses.

extern "C" __global__ void plain(const float* a, const float* b, float* c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
    const int S = 32, x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.y * S, left = blockIdx.x * S;
    __shared__ float tile_a[S][S], tile_b[S][S];
    a += top * k;
    b += left;
    c += top * n + left;
    float sum = 0.0f;
    for (int step = 0; step < k; step += S) {
        tile_a[y][x] = y < (m - top) && x < (k - step) ? a[y * k + x] : 0.0f;
        tile_b[y][x] = y < (k - step) && x < (n - left) ? b[y * n + x] : 0.0f;
        __syncthreads();
        for (int i = 0; i < S; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
        a += S;
        b += S * n;
    }
    if (y < (m - top) && x < (n - left)) c[y * n + x] = sum;
}

template <int THREADS, int ROWS, int COLUMNS>
__device__ void load(const float* in, int ld, int rows, int columns, float tile[ROWS][COLUMNS],
                     int t) {
    for (int i = t; i < ROWS * COLUMNS; i += THREADS) {
        const int r = i / COLUMNS, s = i % COLUMNS;
        tile[r][s] = r < rows && s < columns ? in[r * ld + s] : 0.0f;
    }
}

// Elements of the tile go round the threads.
template <int THREADS, int M, int N, int K>
__global__ void coarse(const float* a, const float* b, float* c, int m, int n, int k) {
    const int t = threadIdx.x, across = (n + N - 1) / N;
    const int top = blockIdx.x / across * M, left = blockIdx.x % across * N;
    __shared__ float tile_a[M][K], tile_b[K][N];
    a += top * k;
    b += left;
    c += top * n + left;
    float sums[M * N / THREADS] = {0.0f};
    for (int step = 0; step < k; step += K) {
        load<THREADS, M, K>(a, k, m - top, k - step, tile_a, t);
        load<THREADS, K, N>(b, n, k - step, n - left, tile_b, t);
        __syncthreads();
        for (int i = t; i < M * N; i += THREADS) {
            const int mine = i / THREADS, s = i % N, r = i / N;
            for (int j = 0; j < K; j++) sums[mine] += tile_a[r][j] * tile_b[j][s];
        }
        __syncthreads();
        a += K;
        b += K * n;
    }
    for (int i = t; i < M * N; i += THREADS) {
        const int mine = i / THREADS, r = i / N, s = i % N;
        if (r < (m - top) && s < (n - left)) c[r * n + s] = sums[mine];
    }
}

template <int THREADS, int ROWS, int COLUMNS, bool TURNED>
__device__ void load_wide(const float* in, int ld, float* tile, int t) {
    for (int offset = 0; offset < ROWS * COLUMNS; offset += THREADS * 4) {
        const int i = offset + t * 4, r = i / COLUMNS, s = i % COLUMNS;
        float4 v = reinterpret_cast<const float4*>(&in[r * ld + s])[0];
        if (TURNED) {
            tile[s * ROWS + r] = v.x;
            tile[(s + 1) * ROWS + r] = v.y;
            tile[(s + 2) * ROWS + r] = v.z;
            tile[(s + 3) * ROWS + r] = v.w;
        } else {
            reinterpret_cast<float4*>(&tile[r * COLUMNS + s])[0] = v;
        }
    }
}

// A block's M x N tile is cut into warp tiles, these into UM x UN units, one TM x TN piece of which
// belongs to each lane. WIDE: no guards, 16-byte accesses; TURNED: A's tile by columns.
template <int M, int N, int K, int WM, int WN, int UM, int UN, int TM, int TN, int LANES, bool WIDE,
          bool TURNED>
__global__ void units(const float* a, const float* b, float* c, int m, int n, int k) {
    constexpr int THREADS = M * N / (WM * WN) * LANES, DOWN = WM / UM, ACROSS = WN / UN;
    const int t = threadIdx.x, blocks_across = (n + N - 1) / N;
    const int top = blockIdx.x / blocks_across * M, left = blockIdx.x % blocks_across * N;
    const int warp = t / LANES, lane = t % LANES;
    const int row = warp / (N / WN) * WM + lane / (UN / TN) * TM;
    const int column = warp % (N / WN) * WN + lane % (UN / TN) * TN;
    a += top * k;
    b += left;
    __shared__ __align__(16) float tile_a[M * K];
    __shared__ __align__(16) float tile_b[K * N];
    float sums[DOWN][ACROSS][TM][TN] = {0.0f};
    const float* my_a = tile_a + row * (TURNED ? 1 : K);
    const float* my_b = tile_b + column;
    for (int step = 0; step < k; step += K) {
        if (WIDE) {
            load_wide<THREADS, M, K, TURNED>(a, k, tile_a, t);
            load_wide<THREADS, K, N, false>(b, n, tile_b, t);
        } else {
            load<THREADS, M, K>(a, k, m - top, k - step, reinterpret_cast<float(*)[K]>(tile_a), t);
            load<THREADS, K, N>(b, n, k - step, n - left, reinterpret_cast<float(*)[N]>(tile_b), t);
        }
        __syncthreads();
        for (int i = 0; i < K; i++) {
            float down[DOWN][TM], across[ACROSS][TN];
            for (int u = 0; u < DOWN; u++) {
                if (TURNED) {
                    for (int j = 0; j < TM; j += 4)
                        reinterpret_cast<float4*>(&down[u][j])[0] =
                            reinterpret_cast<const float4*>(&my_a[i * M + u * UM + j])[0];
                } else {
                    for (int j = 0; j < TM; j++) down[u][j] = my_a[(u * UM + j) * K + i];
                }
            }
            for (int u = 0; u < ACROSS; u++) {
                if (WIDE) {
                    for (int l = 0; l < TN; l += 4)
                        reinterpret_cast<float4*>(&across[u][l])[0] =
                            reinterpret_cast<const float4*>(&my_b[i * N + u * UN + l])[0];
                } else {
                    for (int l = 0; l < TN; l++) across[u][l] = my_b[i * N + u * UN + l];
                }
            }
            for (int u = 0; u < DOWN; u++)
                for (int v = 0; v < ACROSS; v++)
                    for (int j = 0; j < TM; j++)
                        for (int l = 0; l < TN; l++) sums[u][v][j][l] += down[u][j] * across[v][l];
        }
        __syncthreads();
        a += K;
        b += K * n;
    }
    const int c_row = top + row, c_column = left + column;
    c += c_row * n + c_column;
    for (int u = 0; u < DOWN; u++)
        for (int v = 0; v < ACROSS; v++)
            for (int j = 0; j < TM; j++)
                for (int l = 0; l < TN; l += WIDE ? 4 : 1) {
                    if (WIDE)
                        reinterpret_cast<float4*>(&c[(u * UM + j) * n + v * UN + l])[0] =
                            reinterpret_cast<const float4*>(&sums[u][v][j][l])[0];
                    else if (c_row + u * UM + j < m && c_column + v * UN + l < n)
                        c[(u * UM + j) * n + v * UN + l] = sums[u][v][j][l];
                }
}
