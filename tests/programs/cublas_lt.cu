// cuBLASLt against loops: descriptors, epilogues, layouts, batches, bytes and 8-bit floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

// The library's header need not be installed: these are its declarations.
typedef void *Handle;
struct Algorithm { uint64_t data[8]; };
struct Result { Algorithm algorithm; size_t workspace; int state; float waves; int reserved[4]; };
extern "C" {
int cublasLtCreate(Handle *);
int cublasLtDestroy(Handle);
int cublasLtMatmulDescCreate(void **, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *, int, const void *, size_t);
int cublasLtMatmulDescGetAttribute(void *, int, void *, size_t, size_t *);
int cublasLtMatmulDescDestroy(void *);
int cublasLtMatrixLayoutCreate(void **, int type, uint64_t rows, uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *, int, const void *, size_t);
int cublasLtMatrixLayoutDestroy(void *);
int cublasLtMatrixTransformDescCreate(void **, int scale);
int cublasLtMatrixTransform(Handle, void *, const void *, const void *, void *, const void *,
                            const void *, void *, void *, void *, cudaStream_t);
int cublasLtMatmulPreferenceCreate(void **);
int cublasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t);
int cublasLtMatmulAlgoGetHeuristic(Handle, void *, void *, void *, void *, void *, void *, int,
                                   Result *, int *);
int cublasLtMatmul(Handle, void *, const void *, const void *, void *, const void *, void *,
                   const void *, const void *, void *, void *, void *, const Algorithm *, void *,
                   size_t, cudaStream_t);
const char *cublasLtGetStatusString(int);
}
enum { F32 = 0, F16 = 2, I8 = 3, I32 = 10, BF16 = 14, E4M3 = 28 };
enum { TRANS_A = 3, TRANS_B = 4, EPILOGUE = 7, BIAS = 8, AUX = 11, AUX_LD = 12, SCALE_A = 17 };
enum { ORDER = 1, BATCHES = 5, STRIDE = 6 };

#define OK(call)                                                                                \
    do {                                                                                        \
        int status = (call);                                                                    \
        if (status) return printf("%s: %s\n", #call, cublasLtGetStatusString(status)), 1;       \
    } while (0)

static Handle handle;
static const int m = 24, n = 20, k = 16;

template <class T> T *device(const std::vector<T> &x) {
    T *at;
    cudaMalloc(&at, x.size() * sizeof(T));
    cudaMemcpy(at, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}
template <class T> std::vector<T> host(const T *at, size_t count) {
    std::vector<T> x(count);
    cudaMemcpy(x.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost);
    return x;
}
template <class T> std::vector<T> numbers(int count, int seed, float scale = 0.125f) {
    std::vector<T> x(count);
    for (int i = 0; i < count; i++) x[i] = T(float((i * 37 + seed * 11) % 19 - 9) * scale);
    return x;
}
static void *layout(int type, int rows, int columns, int ld, int order = 0, int batches = 1,
                    int64_t stride = 0) {
    void *made;
    cublasLtMatrixLayoutCreate(&made, type, rows, columns, ld);
    cublasLtMatrixLayoutSetAttribute(made, ORDER, &order, sizeof order);
    cublasLtMatrixLayoutSetAttribute(made, BATCHES, &batches, sizeof batches);
    cublasLtMatrixLayoutSetAttribute(made, STRIDE, &stride, sizeof stride);
    return made;
}
template <class T> static void set(void *description, int attribute, T value) {
    if (cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value))
        printf("attribute %d is refused\n", attribute);
}
static int told(const char *name, double error, double limit) {
    printf("%s %s\n", name, error <= limit ? "right" : "WRONG");
    return error > limit;
}
static float gelu(float x) {
    return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}

// op(A) is m x k and op(B) k x n; `at` gives the element of a stored matrix.
template <class A, class B>
static double off(const std::vector<float> &found, const std::vector<A> &a,
                  const std::vector<B> &b, bool ta, bool tb, std::function<float(float, int)> then,
                  bool rows = false) {
    double most = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) {
                size_t p = rows ? i * k + l : ta ? l + i * k : i + l * m;
                size_t q = rows ? l * n + j : tb ? j + l * n : l + j * k;
                sum += float(a[p]) * float(b[q]);
            }
            most = fmax(most, fabs(then(sum, i) - found[rows ? i * n + j : i + j * m]));
        }
    return most;
}
template <class T> std::vector<float> floats(const std::vector<T> &x) {
    return std::vector<float>(x.begin(), x.end());
}

static int half_with_bias_and_gelu() {
    auto a = numbers<__half>(m * k, 1), b = numbers<__half>(n * k, 2), bias = numbers<__half>(m, 5);
    __half *A = device(a), *B = device(b), *C = device(std::vector<__half>(m * n)), *D = device(bias);
    void *what, *preference, *la = layout(F16, k, m, k), *lb = layout(F16, k, n, k);
    void *lc = layout(F16, m, n, m);
    OK(cublasLtMatmulDescCreate(&what, 68, F32));
    set(what, TRANS_A, 1);
    set(what, EPILOGUE, 32 | 4);
    set(what, BIAS, D);
    size_t workspace = 1 << 20, given = 0;
    OK(cublasLtMatmulPreferenceCreate(&preference));
    OK(cublasLtMatmulPreferenceSetAttribute(preference, 1, &workspace, sizeof workspace));
    Result results[4];
    int count = 0, transposed = 0;
    OK(cublasLtMatmulAlgoGetHeuristic(handle, what, la, lb, lc, lc, preference, 4, results, &count));
    OK(cublasLtMatmulDescGetAttribute(what, TRANS_A, &transposed, sizeof transposed, &given));
    if (count < 1 || results[0].state || transposed != 1 || given != 4) return told("heuristic", 1, 0);
    float alpha = 1.5f, beta = 0;
    OK(cublasLtMatmul(handle, what, &alpha, A, la, B, lb, &beta, C, lc, C, lc,
                      &results[0].algorithm, nullptr, 0, 0));
    auto then = [&](float x, int i) { return gelu(1.5f * x + float(bias[i])); };
    return told("half, bias, gelu", off(floats(host(C, m * n)), a, b, true, false, then), 2e-2);
}

static int rows_in_batches() {
    const int count = 3;
    auto a = numbers<float>(count * m * k, 1), b = numbers<float>(n * k, 2);
    float *A = device(a), *B = device(b), *C = device(std::vector<float>(count * m * n));
    void *what, *la = layout(F32, m, k, k, 1, count, m * k), *lb = layout(F32, k, n, n, 1, count, 0);
    void *lc = layout(F32, m, n, n, 1, count, m * n);
    OK(cublasLtMatmulDescCreate(&what, 68, F32));
    float alpha = 1, beta = 0;
    OK(cublasLtMatmul(handle, what, &alpha, A, la, B, lb, &beta, C, lc, C, lc, nullptr, nullptr, 0, 0));
    auto found = host(C, count * m * n);
    double most = 0;
    for (int i = 0; i < count; i++) {
        std::vector<float> one(found.begin() + i * m * n, found.begin() + (i + 1) * m * n);
        std::vector<float> left(a.begin() + i * m * k, a.begin() + (i + 1) * m * k);
        most = fmax(most, off(one, left, b, false, false, [](float x, int) { return x; }, true));
    }
    return told("rows in batches", most, 1e-5);
}

static int relu_and_back() {
    auto a = numbers<float>(m * k, 3), b = numbers<float>(n * k, 4);
    float *A = device(a), *B = device(b), *C = device(std::vector<float>(m * n));
    float *ones = device(std::vector<float>(m * n, 1.0f)), *sums = device(std::vector<float>(m));
    uint8_t *bits = device(std::vector<uint8_t>(128 / 8 * n));
    void *what, *la = layout(F32, m, k, m), *lb = layout(F32, n, k, n), *lc = layout(F32, m, n, m);
    OK(cublasLtMatmulDescCreate(&what, 68, F32));
    set(what, TRANS_B, 1);
    set(what, EPILOGUE, 2 | 128);
    set(what, AUX, bits);
    set(what, AUX_LD, int64_t(128));
    float alpha = 1, beta = 0;
    OK(cublasLtMatmul(handle, what, &alpha, A, la, B, lb, &beta, C, lc, C, lc, nullptr, nullptr, 0, 0));
    auto found = host(C, m * n);
    int bad = told("relu", off(found, a, b, false, true, [](float x, int) { return fmaxf(x, 0); }), 1e-5);
    // Behind it: a gradient of ones through the same mask, and its sum for each row.
    void *back, *li = layout(F32, m, m, m), *lo = layout(F32, m, n, m);
    std::vector<float> identity(m * m);
    for (int i = 0; i < m; i++) identity[i * m + i] = 1;
    OK(cublasLtMatmulDescCreate(&back, 68, F32));
    set(back, EPILOGUE, 8 | 128 | 16);
    set(back, AUX, bits);
    set(back, AUX_LD, int64_t(128));
    set(back, BIAS, sums);
    float *I = device(identity);
    OK(cublasLtMatmul(handle, back, &alpha, I, li, ones, lo, &beta, C, lc, C, lc, nullptr, nullptr, 0, 0));
    auto gradient = host(C, m * n), summed = host(sums, m);
    double most = 0;
    for (int i = 0; i < m; i++) {
        float sum = 0;
        for (int j = 0; j < n; j++) {
            float want = found[i + j * m] > 0;
            most = fmax(most, fabs(want - gradient[i + j * m])), sum += want;
        }
        most = fmax(most, fabs(sum - summed[i]));
    }
    return bad + told("and back", most, 0);
}

static int bytes() {
    auto a = numbers<int8_t>(m * k, 1, 7), b = numbers<int8_t>(n * k, 2, 5);
    int8_t *A = device(a), *B = device(b);
    int32_t *C = device(std::vector<int32_t>(m * n));
    void *what, *la = layout(I8, k, m, k), *lb = layout(I8, k, n, k), *lc = layout(I32, m, n, m);
    OK(cublasLtMatmulDescCreate(&what, 72, I32));
    set(what, TRANS_A, 1);
    int alpha = 1, beta = 0;
    OK(cublasLtMatmul(handle, what, &alpha, A, la, B, lb, &beta, C, lc, C, lc, nullptr, nullptr, 0, 0));
    return told("bytes", off(floats(host(C, m * n)), a, b, true, false, [](float x, int) { return x; }), 0);
}

static int eight_bits() {
    auto a = numbers<__nv_fp8_e4m3>(m * k, 1), b = numbers<__nv_fp8_e4m3>(n * k, 2);
    auto A = device(a), B = device(b);
    auto C = device(std::vector<__nv_bfloat16>(m * n));
    float *scale = device(std::vector<float>{0.5f});
    void *what, *la = layout(E4M3, k, m, k), *lb = layout(E4M3, k, n, k), *lc = layout(BF16, m, n, m);
    OK(cublasLtMatmulDescCreate(&what, 68, F32));
    set(what, TRANS_A, 1);
    set(what, SCALE_A, scale);
    float alpha = 1, beta = 0;
    OK(cublasLtMatmul(handle, what, &alpha, A, la, B, lb, &beta, C, lc, C, lc, nullptr, nullptr, 0, 0));
    auto then = [](float x, int) { return float(__nv_bfloat16(0.5f * x)); };
    return told("8-bit floats", off(floats(host(C, m * n)), a, b, true, false, then), 0);
}

static int turned() {
    auto a = numbers<float>(m * n, 1);
    float *A = device(a), *C = device(std::vector<float>(m * n)), alpha = 2;
    __nv_fp8_e4m3 *E = device(std::vector<__nv_fp8_e4m3>(m * n));
    void *what, *la = layout(F32, m, n, m), *lc = layout(F32, m, n, n, 1), *le = layout(E4M3, m, n, m);
    OK(cublasLtMatrixTransformDescCreate(&what, F32));
    OK(cublasLtMatrixTransform(handle, what, &alpha, A, la, nullptr, nullptr, nullptr, C, lc, 0));
    auto found = host(C, m * n);
    double most = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) most = fmax(most, fabs(2 * a[i + j * m] - found[i * n + j]));
    int bad = told("columns to rows", most, 0);
    std::vector<float> wide(m * n);
    for (int i = 0; i < m * n; i++) wide[i] = (i - 240) * 0.37f * (i % 7 ? 1 : 5);
    float *W = device(wide), one = 1;
    OK(cublasLtMatrixTransform(handle, what, &one, W, la, nullptr, nullptr, nullptr, E, le, 0));
    auto small = host(E, m * n);
    most = 0;
    for (int i = 0; i < m * n; i++) most = fmax(most, fabs(float(__nv_fp8_e4m3(wide[i])) - float(small[i])));
    return bad + told("rounded to 8 bits", most, 0);
}

int main() {
    OK(cublasLtCreate(&handle));
    int bad = half_with_bias_and_gelu() + rows_in_batches() + relu_and_back() + bytes() +
              eight_bits() + turned();
    void *what, *la = layout(F32, m, k, m), *lb = layout(F32, n, k, n), *lc = layout(F32, m, n, m);
    cublasLtMatmulDescCreate(&what, 68, F32);
    float x = 1, *A = device(std::vector<float>(m * n));
    printf("do not fit: %d\n", cublasLtMatmul(handle, what, &x, A, la, A, lb, &x, A, lc, A, lc,
                                              nullptr, nullptr, 0, 0));
    printf("half an attribute: %d\n", cublasLtMatmulDescSetAttribute(what, TRANS_A, &x, 2));
    OK(cublasLtDestroy(handle));
    return bad;
}
