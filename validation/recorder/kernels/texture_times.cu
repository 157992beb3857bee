// Walks over textures and surfaces. The n-th place of a walk lies at (n % across * dx, n / across *
// dy), `across` a power of two; lanes stand beside it, `lanes` of them in a row. Texels are zero, so
// that a sample can be added to the next one's coordinates. First coordinates of surfaces are bytes.
typedef cudaTextureObject_t Tex;
typedef cudaSurfaceObject_t Surf;

struct Walk {
    int log_across, dx, dy, log_lanes, lane_dx, lane_dy;
    __device__ int x(int n) const { return (n & ((1 << log_across) - 1)) * dx; }
    __device__ int y(int n) const { return (n >> log_across) * dy; }
    __device__ int lane_x() const { return (threadIdx.x & ((1 << log_lanes) - 1)) * lane_dx; }
    __device__ int lane_y() const { return (threadIdx.x % 32 >> log_lanes) * lane_dy; }
};
#define WALK int steps, int passes, int log_across, int dx, int dy, int log_lanes, int lane_dx,    \
             int lane_dy, float shift
#define GIVEN Walk{log_across, dx, dy, log_lanes, lane_dx, lane_dy}

// One warp (or the first of each block): each sample at what the last one gave; the last pass counts.
#define CHASE(name, OBJECT, NUMBER, V, read, next)                                                 \
    extern "C" __global__ void chase_##name(OBJECT t, unsigned* out, WALK) {                       \
        const Walk w = GIVEN;                                                                      \
        NUMBER ax = w.lane_x() + shift, ay = w.lane_y() + shift, u = 0, v = 0, more = 0;           \
        unsigned took = 0;                                                                         \
        for (int pass = 0; pass < passes; pass++) {                                                \
            unsigned start = clock();                                                              \
            _Pragma("unroll 8") for (int k = 0; k < steps; k++) {                                  \
                NUMBER x = ax + w.x(k) + u, y = ay + w.y(k) + v;                                   \
                V r = read;                                                                        \
                next;                                                                              \
            }                                                                                      \
            took = clock() - start + unsigned(u + v + more);                                       \
        }                                                                                          \
        out[blockIdx.x * blockDim.x + threadIdx.x] = took;                                         \
    }
#define TWO u = r.x; v = r.y
#define FOUR u = r.x; v = r.y; more += r.z + r.w
CHASE(1, Tex, float, float, tex2D<float>(t, x, y), u = r)
CHASE(2, Tex, float, float2, tex2D<float2>(t, x, y), TWO)
CHASE(4, Tex, float, float4, tex2D<float4>(t, x, y), FOUR)
CHASE(layered, Tex, float, float, tex2DLayered<float>(t, x, y, 1), u = r)
CHASE(3d, Tex, float, float, tex3D<float>(t, x, y, shift), u = r)
CHASE(fetch, Tex, int, int, tex1Dfetch<int>(t, x), u = r)
CHASE(b8, Surf, int, unsigned char, surf2Dread<unsigned char>(t, x, y), u = r)
CHASE(b32, Surf, int, int, surf2Dread<int>(t, x, y), u = r)
CHASE(b64, Surf, int, int2, surf2Dread<int2>(t, x, y), TWO)
CHASE(b128, Surf, int, int4, surf2Dread<int4>(t, x, y), FOUR)
CHASE(turns, Surf, int, int, surf2Dread<int>(t, x, y), surf2Dwrite(r + 1, t, x, y); u = r & 0)

// All warps: a block walks through places of its own, its warps beside each other, four at a time.
#define RATE(name, OBJECT, NUMBER, body)                                                           \
    extern "C" __global__ void rate_##name(OBJECT t, unsigned* out, WALK) {                        \
        const Walk w = GIVEN;                                                                      \
        int warps = blockDim.x / 32;                                                               \
        NUMBER ax = w.lane_x() + shift, ay = w.lane_y() + shift, total = 0;                        \
        unsigned start = clock();                                                                  \
        for (int pass = 0; pass < passes; pass++)                                                  \
            _Pragma("unroll 4") for (int k = 0; k < steps; k++) {                                  \
                int n = (blockIdx.x * steps + k) * warps + threadIdx.x / 32;                       \
                NUMBER x = ax + w.x(n), y = ay + w.y(n);                                           \
                body;                                                                              \
            }                                                                                      \
        out[blockIdx.x * blockDim.x + threadIdx.x] = clock() - start + unsigned(total);            \
    }
RATE(1, Tex, float, total += tex2D<float>(t, x, y))
RATE(2, Tex, float, float2 r = tex2D<float2>(t, x, y); total += r.x + r.y)
RATE(4, Tex, float, float4 r = tex2D<float4>(t, x, y); total += r.x + r.y + r.z + r.w)
RATE(layered, Tex, float, total += tex2DLayered<float>(t, x, y, 1))
RATE(3d, Tex, float, total += tex3D<float>(t, x, y, shift))
RATE(fetch, Tex, int, total += tex1Dfetch<int>(t, x))
RATE(read8, Surf, int, total += surf2Dread<unsigned char>(t, x, y))
RATE(read32, Surf, int, total += surf2Dread<int>(t, x, y))
RATE(read64, Surf, int, int2 r = surf2Dread<int2>(t, x, y); total += r.x + r.y)
RATE(read128, Surf, int, int4 r = surf2Dread<int4>(t, x, y); total += r.x + r.y + r.z + r.w)
RATE(write8, Surf, int, surf2Dwrite<unsigned char>(k, t, x, y))
RATE(write32, Surf, int, surf2Dwrite(k, t, x, y))
RATE(write64, Surf, int, surf2Dwrite(make_int2(k, n), t, x, y))
RATE(write128, Surf, int, surf2Dwrite(make_int4(k, n, k, n), t, x, y))
RATE(add32, Surf, int, asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;"
                                    :: "l"(t), "r"(x), "r"(y), "r"(k)))
RATE(most32, Surf, int, asm volatile("sured.b.max.2d.s32.trap [%0, {%1, %2}], %3;"
                                     :: "l"(t), "r"(x), "r"(y), "r"(k)))

// Fills L2 with lines that nothing else uses, by reading them.
extern "C" __global__ void pass_over(const uint4* from, unsigned* out, int count) {
    unsigned sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        sum += from[i].x;
    if (sum) out[0] = sum;
}
