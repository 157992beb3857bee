// One step of a blocked Floyd-Warshall with minimum and maximum in place of sum and minimum.
typedef unsigned u32;

template <u32 S>
__global__ void independent(u32 n, u32 k, u32* graph) {
    u32 const j = blockIdx.x, i = blockIdx.y, x = threadIdx.x, y = threadIdx.y;
    if (i == k && j == k) return;
    alignas(16) __shared__ u32 a[S][S];
    alignas(16) __shared__ u32 b[S][S];
    alignas(16) __shared__ u32 c[S][S];
    c[y][x] = graph[i * S * n + j * S + y * n + x];
    a[y][x] = graph[i * S * n + k * S + y * n + x];
    b[y][x] = graph[k * S * n + j * S + y * n + x];
    __syncthreads();
    u32& mine = c[y][x];
    if (i == j) {
#pragma unroll S
        for (u32 l = 0; l < S; l++) {
            u32 least = umin(a[y][l], b[l][x]);
            u32 outside = ((i * S + y) != (j * S + x)) & ((i * S + y) != (k * S + l)) &
                          ((k * S + l) != (j * S + x));
            mine = __funnelshift_lc(mine, least, (outside & u32(least > mine)) - 1);
        }
    } else {
#pragma unroll S
        for (u32 l = 0; l < S; l++) mine = umax(mine, umin(a[y][l], b[l][x]));
    }
    graph[i * S * n + j * S + y * n + x] = c[y][x];
}
