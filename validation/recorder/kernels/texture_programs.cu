// Small whole kernels with textures and surfaces, one thread a pixel: what they take is compared with
// predictions, and nothing is fitted to them.
typedef cudaTextureObject_t Tex;
typedef cudaSurfaceObject_t Surf;
#define PROGRAM(name)                                                                              \
    extern "C" __global__ void name(Tex t, Surf s, const int* given, float* out, int width,        \
                                    int height)
#define PIXEL                                                                                      \
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;      \
    if (x >= width || y >= height) return

PROGRAM(box3) {
    PIXEL;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += tex2D<float>(t, x + dx + 0.5f, y + dy + 0.5f);
    out[y * width + x] = sum / 9;
}

PROGRAM(box9) {
    PIXEL;
    float sum = 0;
    for (int dy = -4; dy <= 4; dy++)
        for (int dx = -4; dx <= 4; dx++) sum += tex2D<float>(t, x + dx + 0.5f, y + dy + 0.5f);
    out[y * width + x] = sum / 81;
}

PROGRAM(rotate) {  // normalised coordinates, bilinear, by 30 degrees
    PIXEL;
    float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / height - 0.5f;
    out[y * width + x] = tex2D<float>(t, 0.8660254f * u - 0.5f * v + 0.5f,
                                      0.5f * u + 0.8660254f * v + 0.5f);
}

PROGRAM(slice) {  // a slanted plane through a volume
    PIXEL;
    float u = (x + 0.5f) / width, v = (y + 0.5f) / height;
    out[y * width + x] = tex3D<float>(t, u, v, 0.3f * u + 0.6f * v);
}

PROGRAM(march) {  // the largest of 32 samples along a ray
    PIXEL;
    float u = (x + 0.5f) / width, v = (y + 0.5f) / height, most = 0;
    for (int k = 0; k < 32; k++)
        most = fmaxf(most, tex3D<float>(t, u + k * 0.002f, v, (k + 0.5f) / 32));
    out[y * width + x] = most;
}

__device__ float w0(float a) { return (1.0f / 6.0f) * (a * (a * (-a + 3.0f) - 3.0f) + 1.0f); }
__device__ float w1(float a) { return (1.0f / 6.0f) * (a * a * (3.0f * a - 6.0f) + 4.0f); }
__device__ float w2(float a) { return (1.0f / 6.0f) * (a * (a * (-3 * a + 3) + 3) + 1.0f); }
__device__ float w3(float a) { return (1.0f / 6.0f) * (a * a * a); }
PROGRAM(bicubic) {  // a cubic B-spline by four bilinear samples
    PIXEL;
    float u = x * 0.6f, v = y * 0.6f, px = floorf(u), py = floorf(v), fx = u - px, fy = v - py;
    float gx0 = w0(fx) + w1(fx), gx1 = w2(fx) + w3(fx), gy0 = w0(fy) + w1(fy);
    float hx0 = px - 0.5f + w1(fx) / gx0, hx1 = px + 1.5f + w3(fx) / gx1;
    float hy0 = py - 0.5f + w1(fy) / gy0, hy1 = py + 1.5f + w3(fy) / (w2(fy) + w3(fy));
    out[y * width + x] =
        gy0 * (gx0 * tex2D<float>(t, hx0, hy0) + gx1 * tex2D<float>(t, hx1, hy0)) +
        (w2(fy) + w3(fy)) * (gx0 * tex2D<float>(t, hx0, hy1) + gx1 * tex2D<float>(t, hx1, hy1));
}

PROGRAM(sobel) {
    PIXEL;
    float cx = x + 0.5f, cy = y + 0.5f;
    float a = tex2D<float>(t, cx - 1, cy - 1), b = tex2D<float>(t, cx, cy - 1);
    float c = tex2D<float>(t, cx + 1, cy - 1), d = tex2D<float>(t, cx - 1, cy);
    float e = tex2D<float>(t, cx + 1, cy), f = tex2D<float>(t, cx - 1, cy + 1);
    float g = tex2D<float>(t, cx, cy + 1), h = tex2D<float>(t, cx + 1, cy + 1);
    float across = c + 2 * e + h - a - 2 * d - f, down = a + 2 * b + c - f - 2 * g - h;
    out[y * width + x] = fabsf(across) + fabsf(down);
}

PROGRAM(copy4) {
    PIXEL;
    ((float4*)out)[y * width + x] = tex2D<float4>(t, x + 0.5f, y + 0.5f);
}

PROGRAM(gather) {
    PIXEL;
    out[y * width + x] = tex1Dfetch<float>(t, given[y * width + x]);
}

PROGRAM(layers) {
    PIXEL;
    float sum = 0;
    for (int k = 0; k < 4; k++) sum = 0.5f * sum + tex2DLayered<float>(t, x + 0.5f, y + 0.5f, k);
    out[y * width + x] = sum;
}

PROGRAM(diffuse) {  // from a texture to a surface
    PIXEL;
    float cx = x + 0.5f, cy = y + 0.5f, c = tex2D<float>(t, cx, cy);
    float around = tex2D<float>(t, cx - 1, cy) + tex2D<float>(t, cx + 1, cy) +
                   tex2D<float>(t, cx, cy - 1) + tex2D<float>(t, cx, cy + 1);
    surf2Dwrite(c + 0.2f * (around - 4 * c), s, 4 * x, y);
}

PROGRAM(invert) {  // read, modified and written in place
    PIXEL;
    uchar4 c = surf2Dread<uchar4>(s, 4 * x, y);
    surf2Dwrite(make_uchar4(255 - c.x, 255 - c.y, 255 - c.z, c.w), s, 4 * x, y);
}

PROGRAM(turn) {  // a quarter turn of the left half into the right one
    PIXEL;
    surf2Dwrite(surf2Dread<int>(s, 4 * x, y), s, 4 * (width + y), width - 1 - x);
}

PROGRAM(histogram) {
    PIXEL;
    int bin = given[y * width + x] & 255;
    asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;"
                 :: "l"(s), "r"(4 * (bin & 15)), "r"(bin >> 4), "r"(1));
}

PROGRAM(scale4) {  // four floats of a surface, to another place of it
    PIXEL;
    float4 c = surf2Dread<float4>(s, 16 * x, y);
    surf2Dwrite(make_float4(2 * c.x, 2 * c.y, 2 * c.z, c.w), s, 16 * x, height + y);
}
