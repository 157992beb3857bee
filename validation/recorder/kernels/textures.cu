// Samples at coordinates of a table, one thread each; results are the four words as they come.
// Coordinates stand one after the other: all first ones, all second ones, and so on.
typedef cudaTextureObject_t Tex;
typedef cudaSurfaceObject_t Surf;

#define KERNEL(name, read)                                                                         \
    extern "C" __global__ void name(Tex t, const float* c, uint4* out, int n) {                    \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n) out[i] = (read);                                                                \
    }
#define C(k) c[i + (k) * n]
#define L(k) int(c[i + (k) * n])

KERNEL(fetch1, tex1Dfetch<uint4>(t, L(0)))
KERNEL(tex1, tex1D<uint4>(t, C(0)))
KERNEL(tex1_layered, tex1DLayered<uint4>(t, C(0), L(1)))
KERNEL(tex1_lod, tex1DLod<uint4>(t, C(0), C(1)))
KERNEL(tex1_grad, tex1DGrad<uint4>(t, C(0), C(1), C(2)))
KERNEL(tex2, tex2D<uint4>(t, C(0), C(1)))
KERNEL(tex2_layered, tex2DLayered<uint4>(t, C(0), C(1), L(2)))
KERNEL(tex2_lod, tex2DLod<uint4>(t, C(0), C(1), C(2)))
KERNEL(tex2_layered_lod, tex2DLayeredLod<uint4>(t, C(0), C(1), L(2), C(3)))
KERNEL(tex2_grad, tex2DGrad<uint4>(t, C(0), C(1), make_float2(C(2), C(3)), make_float2(C(4), C(5))))
KERNEL(gather0, tex2Dgather<uint4>(t, C(0), C(1), 0))
KERNEL(gather1, tex2Dgather<uint4>(t, C(0), C(1), 1))
KERNEL(gather3, tex2Dgather<uint4>(t, C(0), C(1), 3))
KERNEL(tex3, tex3D<uint4>(t, C(0), C(1), C(2)))
KERNEL(tex3_lod, tex3DLod<uint4>(t, C(0), C(1), C(2), C(3)))
KERNEL(cube, texCubemap<uint4>(t, C(0), C(1), C(2)))
KERNEL(cube_lod, texCubemapLod<uint4>(t, C(0), C(1), C(2), C(3)))
KERNEL(cube_layered, texCubemapLayered<uint4>(t, C(0), C(1), C(2), L(3)))

__device__ uint4 texel2(Tex t, int x, int y) {
    uint4 v;
    asm volatile("tex.2d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(t), "r"(x), "r"(y));
    return v;
}
__device__ uint4 texel3(Tex t, int x, int y, int z) {
    uint4 v;
    asm volatile("tex.3d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(t), "r"(x), "r"(y), "r"(z));
    return v;
}
__device__ uint4 sizes(Tex t) {
    uint4 v;
    asm volatile("txq.width.b32 %0, [%1];" : "=r"(v.x) : "l"(t));
    asm volatile("txq.height.b32 %0, [%1];" : "=r"(v.y) : "l"(t));
    asm volatile("txq.depth.b32 %0, [%1];" : "=r"(v.z) : "l"(t));
    v.w = 0;
    return v;
}
KERNEL(texel2d, texel2(t, L(0), L(1)))
KERNEL(texel3d, texel3(t, L(0), L(1), L(2)))
KERNEL(query, sizes(t))

__device__ uint4 words(unsigned char v) { return make_uint4(v, 0, 0, 0); }
__device__ uint4 words(unsigned short v) { return make_uint4(v, 0, 0, 0); }
__device__ uint4 words(unsigned v) { return make_uint4(v, 0, 0, 0); }
__device__ uint4 words(uint2 v) { return make_uint4(v.x, v.y, 0, 0); }
__device__ uint4 words(uint4 v) { return v; }
template <class V> __device__ V value(int i);
template <> __device__ unsigned char value<unsigned char>(int i) { return i * 37 + 1; }
template <> __device__ unsigned short value<unsigned short>(int i) { return i * 3701 + 1; }
template <> __device__ unsigned value<unsigned>(int i) { return i * 2654435761u + 1; }
template <> __device__ uint2 value<uint2>(int i) { return make_uint2(i * 2654435761u + 1, i); }
template <> __device__ uint4 value<uint4>(int i) { return make_uint4(i * 2654435761u + 1, i, ~i, 7); }

// Surfaces: the first coordinate in bytes. Writes leave the array's bytes to be copied back.
#define SURFACE(name, V, read, write)                                                              \
    extern "C" __global__ void read_##name(Surf t, const float* c, uint4* out, int n) {            \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n) out[i] = words(read);                                                           \
    }                                                                                              \
    extern "C" __global__ void write_##name(Surf t, const float* c, uint4* out, int n) {           \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n) { V v = value<V>(i); write; }                                                   \
    }
#define MODES(name, V)                                                                             \
    SURFACE(1d_zero_##name, V, surf1Dread<V>(t, L(0), cudaBoundaryModeZero),                       \
            surf1Dwrite(v, t, L(0), cudaBoundaryModeZero))                                         \
    SURFACE(1d_clamp_##name, V, surf1Dread<V>(t, L(0), cudaBoundaryModeClamp),                     \
            surf1Dwrite(v, t, L(0), cudaBoundaryModeClamp))                                        \
    SURFACE(2d_zero_##name, V, surf2Dread<V>(t, L(0), L(1), cudaBoundaryModeZero),                 \
            surf2Dwrite(v, t, L(0), L(1), cudaBoundaryModeZero))                                   \
    SURFACE(2d_clamp_##name, V, surf2Dread<V>(t, L(0), L(1), cudaBoundaryModeClamp),               \
            surf2Dwrite(v, t, L(0), L(1), cudaBoundaryModeClamp))                                  \
    SURFACE(2d_trap_##name, V, surf2Dread<V>(t, L(0), L(1)), surf2Dwrite(v, t, L(0), L(1)))        \
    SURFACE(3d_zero_##name, V, surf3Dread<V>(t, L(0), L(1), L(2), cudaBoundaryModeZero),           \
            surf3Dwrite(v, t, L(0), L(1), L(2), cudaBoundaryModeZero))                             \
    SURFACE(3d_clamp_##name, V, surf3Dread<V>(t, L(0), L(1), L(2), cudaBoundaryModeClamp),         \
            surf3Dwrite(v, t, L(0), L(1), L(2), cudaBoundaryModeClamp))                            \
    SURFACE(2dl_zero_##name, V, surf2DLayeredread<V>(t, L(0), L(1), L(2), cudaBoundaryModeZero),   \
            surf2DLayeredwrite(v, t, L(0), L(1), L(2), cudaBoundaryModeZero))                      \
    SURFACE(2dl_clamp_##name, V, surf2DLayeredread<V>(t, L(0), L(1), L(2), cudaBoundaryModeClamp), \
            surf2DLayeredwrite(v, t, L(0), L(1), L(2), cudaBoundaryModeClamp))
MODES(b8, unsigned char)
MODES(b16, unsigned short)
MODES(b32, unsigned)
MODES(b64, uint2)
MODES(b128, uint4)

__device__ uint4 add2(Surf s, int x, int y, int v) {
    asm volatile("sured.b.add.2d.u32.zero [%0, {%1, %2}], %3;" :: "l"(s), "r"(x), "r"(y), "r"(v));
    return make_uint4(0, 0, 0, 0);
}
KERNEL(add_2d, add2(t, L(0), L(1), i))
__device__ uint4 most2(Surf s, int x, int y, int v) {
    asm volatile("sured.b.max.2d.s32.zero [%0, {%1, %2}], %3;" :: "l"(s), "r"(x), "r"(y), "r"(v));
    return make_uint4(0, 0, 0, 0);
}
KERNEL(most_2d, most2(t, L(0), L(1), 3 * i - 700))
__device__ uint4 put2(Surf s, int x, int y, uint4 v) {
    asm volatile("sust.p.2d.v4.b32.zero [%0, {%1, %2}], {%3, %4, %5, %6};"
                 :: "l"(s), "r"(x), "r"(y), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
    return v;
}
KERNEL(formatted_2d, put2(t, L(0), L(1), make_uint4(__float_as_uint(C(2)), __float_as_uint(C(3)),
                                                    __float_as_uint(C(4)), __float_as_uint(C(5)))))

// Clocks of a chain of dependent samples by one warp, and of many independent ones.
extern "C" __global__ void chain(Tex t, const float* c, uint4* out, int n) {
    float x = c[threadIdx.x];
    for (int k = 0; k < 16; k++) x = tex2D<float>(t, x, x) + c[32];
    long long start = clock64();
    for (int k = 0; k < 64; k++) x = tex2D<float>(t, x, x);
    long long end = clock64();
    out[threadIdx.x] = make_uint4(unsigned(end - start), __float_as_uint(x), 0, 0);
}
extern "C" __global__ void chain_fetch(Tex t, const float* c, uint4* out, int n) {
    int x = int(c[threadIdx.x]);
    for (int k = 0; k < 16; k++) x = tex1Dfetch<int>(t, x);
    long long start = clock64();
    for (int k = 0; k < 64; k++) x = tex1Dfetch<int>(t, x);
    long long end = clock64();
    out[threadIdx.x] = make_uint4(unsigned(end - start), x, 0, 0);
}
#define RATE(name, V, sum)                                                                         \
    extern "C" __global__ void name(Tex t, const float* c, uint4* out, int n) {                    \
        float x = c[threadIdx.x & 31], y = c[32 + (threadIdx.x & 31)], total = 0;                  \
        __syncthreads();                                                                           \
        long long start = clock64();                                                               \
        _Pragma("unroll 16") for (int k = 0; k < 256; k++) {                                       \
            V v = tex2D<V>(t, x, y + (k & 15));                                                    \
            total += sum;                                                                          \
        }                                                                                          \
        __syncthreads();                                                                           \
        long long end = clock64();                                                                 \
        out[blockIdx.x * blockDim.x + threadIdx.x] =                                               \
            make_uint4(unsigned(end - start), __float_as_uint(total), 0, 0);                       \
    }
RATE(rate1, float, v)
RATE(rate2, float2, v.x + v.y)
RATE(rate4, float4, v.x + v.y + v.z + v.w)
