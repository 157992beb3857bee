// A cube map and a texture with mipmap levels, through CUDA's runtime.
#include <cstdio>
#include <vector>

__global__ void faces(cudaTextureObject_t t, float* out) {
    const float d[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    int i = threadIdx.x;
    out[i] = texCubemap<float>(t, d[i][0], d[i][1], d[i][2]);
}
__global__ void levels(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, threadIdx.x * 0.25f);
}
static void check(cudaError_t e) {
    if (e != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(e));
        exit(1);
    }
}
int main() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    float *out, host[9];
    check(cudaMalloc(&out, sizeof host));
    cudaTextureDesc how = {};
    how.normalizedCoords = 1;
    how.filterMode = how.mipmapFilterMode = cudaFilterModeLinear;
    how.maxMipmapLevelClamp = 9;
    for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;

    std::vector<float> texels(6 * 4 * 4);
    for (size_t i = 0; i < texels.size(); i++) texels[i] = 10.0f * (i / 16 + 1);
    cudaArray_t cube;
    cudaExtent size = make_cudaExtent(4, 4, 6);
    check(cudaMalloc3DArray(&cube, &format, size, cudaArrayCubemap));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels.data(), 4 * sizeof(float), 4, 4);
    copy.dstArray = cube;
    copy.extent = size;
    copy.kind = cudaMemcpyHostToDevice;
    check(cudaMemcpy3D(&copy));
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = cube;
    cudaTextureObject_t texture;
    check(cudaCreateTextureObject(&texture, &what, &how, nullptr));
    faces<<<1, 6>>>(texture, out);
    check(cudaMemcpy(host, out, 6 * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++) printf("%g ", host[i]);

    cudaMipmappedArray_t stack;
    check(cudaMallocMipmappedArray(&stack, &format, make_cudaExtent(4, 4, 0), 3));
    for (int k = 0; k < 3; k++) {
        std::vector<float> level(16 >> 2 * k, 100.0f * (k + 1));
        cudaArray_t array;
        check(cudaGetMipmappedArrayLevel(&array, stack, k));
        size_t row = (4 >> k) * sizeof(float);
        check(cudaMemcpy2DToArray(array, 0, 0, level.data(), row, row, 4 >> k,
                                  cudaMemcpyHostToDevice));
    }
    what.resType = cudaResourceTypeMipmappedArray;
    what.res.mipmap.mipmap = stack;
    check(cudaCreateTextureObject(&texture, &what, &how, nullptr));
    levels<<<1, 9>>>(texture, out);
    check(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (float value : host) printf("%g ", value);
    printf("\n");
    return 0;
}
