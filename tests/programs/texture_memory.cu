// Reads of device memory through textures, right and wrong ones; the argument says which.
#include <cstdio>
#include <cstring>
#include <vector>

__global__ void line(cudaTextureObject_t t, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(t, i);
}

__global__ void plane(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 1.5f);
}

__global__ void fill(cudaSurfaceObject_t s) { surf2Dwrite(2.0f, s, threadIdx.x * 4, 1); }

static cudaTextureObject_t made(cudaResourceDesc* about, bool is_linear = false) {
    cudaTextureDesc view = {};
    view.filterMode = is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
    cudaTextureObject_t t;
    if (cudaCreateTextureObject(&t, about, &view, nullptr)) printf("no texture\n");
    return t;
}

static cudaTextureObject_t linear(float* memory, size_t bytes) {
    cudaResourceDesc about = {};
    about.resType = cudaResourceTypeLinear;
    about.res.linear.devPtr = memory;
    about.res.linear.desc = cudaCreateChannelDesc<float>();
    about.res.linear.sizeInBytes = bytes;
    return made(&about);
}

static cudaTextureObject_t pitched(float* memory, size_t pitch, int height, bool is_linear) {
    cudaResourceDesc about = {};
    about.resType = cudaResourceTypePitch2D;
    about.res.pitch2D.devPtr = memory;
    about.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    about.res.pitch2D.width = 64;
    about.res.pitch2D.height = height;
    about.res.pitch2D.pitchInBytes = pitch;
    return made(&about, is_linear);
}

int main(int, char** given) {
    const char* what = given[1];
    std::vector<float> ones(256, 1.0f);
    float *memory, *out;
    cudaMalloc(&memory, 64 * sizeof(float));
    cudaMalloc(&out, 256 * sizeof(float));
    cudaMemcpy(memory, ones.data(), 60 * sizeof(float), cudaMemcpyHostToDevice);
    if (!strcmp(what, "right")) {
        line<<<1, 64>>>(linear(memory, 256), out, 60);
        line<<<1, 128>>>(linear(memory, 60 * 4), out, 128);  // beside the texture there are zeroes
    }
    if (!strcmp(what, "unwritten")) line<<<1, 64>>>(linear(memory, 256), out, 64);
    if (!strcmp(what, "beyond")) line<<<1, 96>>>(linear(memory, 96 * 4), out, 96);
    if (!strcmp(what, "freed")) {
        auto t = linear(memory, 256);
        cudaFree(memory);
        line<<<1, 32>>>(t, out, 32);
    }
    if (!strncmp(what, "rows", 4)) {  // of the second row, and in one case one too many of them
        bool is_short = strstr(what, "short"), is_linear = strstr(what, "linear");
        float* rows;
        cudaMalloc(&rows, 3 * 256);
        cudaMemset2D(rows + 64, 256, 0, strstr(what, "half") ? 128 : 256, 1);
        plane<<<1, 64>>>(pitched(rows + (is_short ? 128 : 0), 256, 2, is_linear), out);
    }
    if (!strncmp(what, "array", 5)) {
        cudaChannelFormatDesc texel = cudaCreateChannelDesc<float>();
        cudaArray_t array;
        cudaMallocArray(&array, &texel, 64, 2, cudaArraySurfaceLoadStore);
        cudaResourceDesc about = {};
        about.resType = cudaResourceTypeArray;
        about.res.array.array = array;
        cudaSurfaceObject_t s;
        cudaCreateSurfaceObject(&s, &about);
        if (strcmp(what, "array")) fill<<<1, 64>>>(s);
        plane<<<1, 64>>>(made(&about), out);
    }
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
