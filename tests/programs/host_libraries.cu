// Host libraries: declared here, since their headers come with packages of half a gigabyte.
// What they give is compared with loops, or put together again.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

typedef void *Handle;
typedef std::complex<float> C;
extern "C" {
int cublasCreate_v2(Handle *);
int cublasDestroy_v2(Handle);
int cublasSetPointerMode_v2(Handle, int);
int cublasSetStream_v2(Handle, cudaStream_t);
int cublasSgemm_v2(Handle, int, int, int, int, int, const float *, const float *, int,
                   const float *, int, const float *, float *, int);
int cublasDgemmStridedBatched(Handle, int, int, int, int, int, const double *, const double *, int,
                              long long, const double *, int, long long, const double *, double *,
                              int, long long, int);
int cublasGemmEx(Handle, int, int, int, int, int, const void *, const void *, int, int,
                 const void *, int, int, const void *, void *, int, int, int, int);
int cublasSgemv_v2(Handle, int, int, int, const float *, const float *, int, const float *, int,
                   const float *, float *, int);
int cublasDdot_v2(Handle, int, const double *, int, const double *, int, double *);
int cublasScnrm2_v2(Handle, int, const C *, int, float *);
int cublasIsamax_v2(Handle, int, const float *, int, int *);
int cublasDtrsm_v2(Handle, int, int, int, int, int, int, const double *, const double *, int,
                   double *, int);
int cublasSetMatrix(int, int, int, const void *, int, void *, int);
int cublasGetMatrix(int, int, int, const void *, int, void *, int);
int cufftPlan2d(int *, int, int, int);
int cufftPlanMany(int *, int, int *, int *, int, int, int *, int, int, int, int);
int cufftExecC2C(int, C *, C *, int);
int cufftExecR2C(int, float *, C *);
int cufftExecC2R(int, C *, float *);
int cufftPlan1d(int *, int, int, int);
int cufftDestroy(int);
int cusparseCreate(Handle *);
int cusparseCreateCsr(Handle *, long, long, long, void *, void *, void *, int, int, int, int);
int cusparseCreateDnVec(Handle *, long, void *, int);
int cusparseSpMV_bufferSize(Handle, int, const void *, Handle, Handle, const void *, Handle, int,
                            int, size_t *);
int cusparseSpMV(Handle, int, const void *, Handle, Handle, const void *, Handle, int, int, void *);
int cusolverDnCreate(Handle *);
int cusolverDnDgetrf_bufferSize(Handle, int, int, double *, int, int *);
int cusolverDnDgetrf(Handle, int, int, double *, int, double *, int *, int *);
int cusolverDnDgetrs(Handle, int, int, int, const double *, int, const int *, double *, int, int *);
int cusolverDnDpotrf(Handle, int, int, double *, int, double *, int, int *);
int cusolverDnDsyevd(Handle, int, int, int, double *, int, double *, double *, int, int *);
int cusolverDnDgesvd(Handle, signed char, signed char, int, int, double *, int, double *, double *,
                     int, double *, int, double *, int, double *, int *);
int curandCreateGenerator(Handle *, int);
int curandSetPseudoRandomGeneratorSeed(Handle, unsigned long long);
int curandGenerate(Handle, unsigned *, size_t);
int curandGenerateUniform(Handle, float *, size_t);
int curandGenerateNormal(Handle, float *, size_t, float, float);
}

#define OK(call)                                                                                \
    do {                                                                                        \
        int status = (call);                                                                    \
        if (status) return printf("%s: %d\n", #call, status), 1;                                \
    } while (0)

template <class T> struct Device {
    T *at;
    size_t n;
    Device(const std::vector<T> &x) : n(x.size()) {
        cudaMalloc(&at, n * sizeof(T));
        cudaMemcpy(at, x.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    }
    ~Device() { cudaFree(at); }
    std::vector<T> host() const {
        std::vector<T> x(n);
        cudaMemcpy(x.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost);
        return x;
    }
};
template <class T> std::vector<T> numbers(int n, int seed) {
    std::vector<T> x(n);
    for (int i = 0; i < n; i++) x[i] = T((i * 37 + seed * 11) % 19 - 9);
    return x;
}
template <class T> double apart(const std::vector<T> &a, const std::vector<T> &b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); i++) most = fmax(most, std::abs(a[i] - b[i]));
    return most;
}
static bool told(const char *name, double error, double limit) {
    printf("%s %s\n", name, error <= limit ? "right" : "WRONG");
    return error > limit;
}

static int blas() {
    Handle h;
    OK(cublasCreate_v2(&h));
    const int m = 5, n = 4, k = 7;
    auto a = numbers<float>(m * k, 1), b = numbers<float>(n * k, 2), c = numbers<float>(m * n, 3);
    Device<float> A(a), B(b), X(c);
    float alpha = 2, beta = -1;
    OK(cublasSgemm_v2(h, 0, 1, m, n, k, &alpha, A.at, m, B.at, n, &beta, X.at, m));
    std::vector<float> want(c);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += a[i + l * m] * b[j + l * n];
            want[i + j * m] = alpha * sum + beta * c[i + j * m];
        }
    told("gemm", apart(X.host(), want), 0);
    Device<float> scalars({2, -1}), X2(c);
    OK(cublasSetPointerMode_v2(h, 1));
    OK(cublasSgemm_v2(h, 0, 1, m, n, k, scalars.at, A.at, m, B.at, n, scalars.at + 1, X2.at, m));
    OK(cublasSetPointerMode_v2(h, 0));
    told("gemm, scalars on the device", apart(X2.host(), want), 0);
    const int s = 8; // bytes must come in fours
    auto p8 = numbers<signed char>(s * s, 4), q8 = numbers<signed char>(s * s, 5);
    Device<signed char> P8(p8), Q8(q8);
    Device<int> X8{std::vector<int>(s * s)};
    int one = 1, zero = 0;
    OK(cublasGemmEx(h, 1, 0, s, s, s, &one, P8.at, 3, s, Q8.at, 3, s, &zero, X8.at, 10, s, 72, -1));
    std::vector<int> wanted8(s * s);
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++)
            for (int l = 0; l < s; l++) wanted8[i + j * s] += p8[l + i * s] * q8[l + j * s];
    told("gemm of bytes", X8.host() != wanted8, 0);

    auto d = numbers<double>(3 * m * k, 4), e = numbers<double>(3 * k * n, 5);
    Device<double> D(d), E(e), F{std::vector<double>(3 * m * n)};
    double unit = 1, none = 0;
    OK(cublasDgemmStridedBatched(h, 0, 0, m, n, k, &unit, D.at, m, m * k, E.at, k, k * n, &none,
                                 F.at, m, m * n, 3));
    std::vector<double> wanted(3 * m * n);
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                for (int l = 0; l < k; l++)
                    wanted[p * m * n + i + j * m] += d[p * m * k + i + l * m] * e[p * k * n + l + j * k];
    told("batches", apart(F.host(), wanted), 0);

    double product, sum = 0;
    OK(cublasDdot_v2(h, 10, D.at, 2, E.at + 27, -3, &product));
    for (int i = 0; i < 10; i++) sum += d[2 * i] * e[27 + 27 - 3 * i];
    told("dot with steps", fabs(product - sum), 0);
    std::vector<C> z = {{3, 4}, {0, 12}, {84, 0}};
    Device<C> Z(z);
    float norm;
    int largest;
    OK(cublasScnrm2_v2(h, 3, Z.at, 1, &norm));
    Device<float> G({1, -8, 3, 8});
    OK(cublasIsamax_v2(h, 4, G.at, 1, &largest));
    told("norm and largest", fabs(norm - sqrt(25.f + 144 + 7056)) > 1e-4 || largest != 2, 0);

    double lower[] = {2, 1, 3, 0, 4, 5, 0, 0, 8};
    Device<double> L{std::vector<double>(lower, lower + 9)}, R({2, 9, 30});
    OK(cublasDtrsm_v2(h, 0, 0, 0, 0, 3, 1, &unit, L.at, 3, R.at, 3));
    auto r = R.host(); // 2 x = 2; x + 4 y = 9; 3 x + 5 y + 8 z = 30
    told("triangular solve", fabs(r[0] - 1) + fabs(r[1] - 2) + fabs(r[2] - 2.125), 1e-12);
    printf("bad stream: %d, bad handle: %d\n", cublasSetStream_v2(h, (cudaStream_t)0x1234) != 0,
           cublasDestroy_v2((Handle)&norm));
    return cublasDestroy_v2(h);
}

static int fft() {
    const int nx = 6, ny = 10;
    std::vector<C> x(nx * ny), want(nx * ny);
    for (int i = 0; i < nx * ny; i++) x[i] = C(i % 7 - 3, i % 4);
    for (int u = 0; u < nx; u++)
        for (int v = 0; v < ny; v++)
            for (int i = 0; i < nx; i++)
                for (int j = 0; j < ny; j++)
                    want[u * ny + v] += C(std::complex<double>(x[i * ny + j]) *
                        std::polar(1.0, -2 * M_PI * (double(u * i) / nx + double(v * j) / ny)));
    int plan;
    Device<C> X(x), Y(x);
    OK(cufftPlan2d(&plan, nx, ny, 0x29));
    OK(cufftExecC2C(plan, X.at, Y.at, -1));
    told("transform in two dimensions", apart(Y.host(), want), 1e-3);
    OK(cufftExecC2C(plan, Y.at, Y.at, 1));
    auto back = Y.host();
    for (auto &one : back) one /= nx * ny;
    told("and back", apart(back, x), 1e-5);
    OK(cufftDestroy(plan));

    // Three real rows in place: each has room for its half of the transform.
    const int n = 8, padded = 2 * (n / 2 + 1);
    std::vector<float> rows(3 * padded), first;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < n; j++) rows[i * padded + j] = (i + 1) * j;
    first = rows;
    Device<float> R(rows);
    int forward, backward;
    OK(cufftPlan1d(&forward, n, 0x2a, 3));
    OK(cufftPlan1d(&backward, n, 0x2c, 3));
    OK(cufftExecR2C(forward, R.at, (C *)R.at));
    auto half = R.host();
    told("sum of each row", fabs(half[0] - 28) + fabs(half[padded] - 56) + fabs(half[2 * padded] - 84),
         1e-4);
    OK(cufftExecC2R(backward, (C *)R.at, R.at));
    rows = R.host();
    double error = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < n; j++)
            error = fmax(error, fabs(rows[i * padded + j] / n - first[i * padded + j]));
    told("real rows and back", error, 1e-5);

    // Columns of a matrix: a step of 4, one column after another.
    std::vector<C> grid(n * 4);
    for (int i = 0; i < n * 4; i++) grid[i] = C(i % 4 == 1 && i / 4 == 1, 0);
    Device<C> G(grid);
    int size = n, columns;
    OK(cufftPlanMany(&columns, 1, &size, &size, 4, 1, &size, 4, 1, 0x29, 4));
    OK(cufftExecC2C(columns, G.at, G.at, -1));
    grid = G.host();
    error = 0;
    for (int i = 0; i < n; i++) {
        error = fmax(error, std::abs(grid[4 * i + 1] - std::polar(1.f, float(-2 * M_PI * i / n))));
        error = fmax(error, std::abs(grid[4 * i]));
    }
    told("columns", error, 1e-6);
    printf("no plan: %d\n", cufftExecC2C(12345, G.at, G.at, -1));
    return 0;
}

static int sparse() {
    Handle h, matrix, x, y;
    OK(cusparseCreate(&h));
    std::vector<int> offsets = {0, 2, 2, 5}, columns = {0, 3, 1, 2, 3};
    std::vector<float> values = {1, 2, 3, 4, 5};
    Device<int> O(offsets), N(columns);
    Device<float> V(values), X({1, 10, 100, 1000}), Y({7, 7, 7});
    OK(cusparseCreateCsr(&matrix, 3, 4, 5, O.at, N.at, V.at, 2, 2, 0, 0));
    OK(cusparseCreateDnVec(&x, 4, X.at, 0));
    OK(cusparseCreateDnVec(&y, 3, Y.at, 0));
    float alpha = 2, beta = 1;
    size_t room = 0;
    void *buffer;
    OK(cusparseSpMV_bufferSize(h, 0, &alpha, matrix, x, &beta, y, 0, 0, &room));
    cudaMalloc(&buffer, room);
    OK(cusparseSpMV(h, 0, &alpha, matrix, x, &beta, y, 0, 0, buffer));
    told("sparse product", apart(Y.host(), std::vector<float>{4009, 7, 10867}), 0);
    return 0;
}

static int solver() {
    Handle h;
    OK(cusolverDnCreate(&h));
    const int n = 4;
    auto a = numbers<double>(n * n, 6), b = numbers<double>(n, 7);
    Device<double> A(a), B(b), W{std::vector<double>(64)}, values{std::vector<double>(n)};
    Device<int> pivots{std::vector<int>(n)}, info{std::vector<int>(1, 9)};
    int room;
    OK(cusolverDnDgetrf_bufferSize(h, n, n, A.at, n, &room));
    OK(cusolverDnDgetrf(h, n, n, A.at, n, W.at, pivots.at, info.at));
    OK(cusolverDnDgetrs(h, 0, n, 1, A.at, n, pivots.at, B.at, n, info.at));
    auto x = B.host();
    double error = info.host()[0];
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += a[i + j * n] * x[j];
        error = fmax(error, fabs(sum - b[i]));
    }
    told("solve by LU", error, 1e-10);

    std::vector<double> s(n * n); // symmetric, positive
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < n; l++) s[i + j * n] += a[l + i * n] * a[l + j * n] + (i == j);
    Device<double> S(s), T(s), U(a), P{std::vector<double>(n * n)}, Q{std::vector<double>(n * n)};
    OK(cusolverDnDpotrf(h, 0, n, S.at, n, W.at, 64, info.at));
    auto l = S.host();
    error = info.host()[0];
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int p = 0; p <= j; p++) sum += l[i + p * n] * l[j + p * n];
            error = fmax(error, fabs(sum - s[i + j * n]));
        }
    told("Cholesky", error, 1e-9);
    OK(cusolverDnDsyevd(h, 1, 0, n, T.at, n, values.at, W.at, 64, info.at));
    auto v = T.host(), w = values.host();
    error = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < n; p++) sum += s[i + p * n] * v[p + j * n];
            error = fmax(error, fabs(sum - w[j] * v[i + j * n]) + (j && w[j] < w[j - 1]));
        }
    told("eigenvalues", error, 1e-9);
    OK(cusolverDnDgesvd(h, 'A', 'A', n, n, U.at, n, values.at, P.at, n, Q.at, n, W.at, 64, nullptr,
                        info.at));
    auto p = P.host(), q = Q.host();
    w = values.host();
    error = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int o = 0; o < n; o++) sum += p[i + o * n] * w[o] * q[o + j * n];
            error = fmax(error, fabs(sum - a[i + j * n]));
        }
    told("singular values", error, 1e-9);
    return 0;
}

static int random_numbers() {
    Handle g;
    OK(curandCreateGenerator(&g, 100));
    OK(curandSetPseudoRandomGeneratorSeed(g, 1234));
    Device<unsigned> X{std::vector<unsigned>(8200)};
    OK(curandGenerate(g, X.at, 8200));
    auto x = X.host();
    for (int i : {0, 1, 4095, 4096, 4097, 8192, 8199}) printf("%u ", x[i]);
    Device<float> U{std::vector<float>(100000)};
    OK(curandGenerateUniform(g, U.at, 100000));
    auto u = U.host();
    double sum = 0;
    int outside = 0;
    for (float one : u) sum += one, outside += !(one > 0 && one <= 1);
    OK(curandGenerateNormal(g, U.at, 100000, 3, 2));
    double mean = 0, squares = 0;
    for (float one : U.host()) mean += one / 1e5, squares += one * one / 1e5;
    printf("\n%d %d %d %d\n", outside, fabs(sum / 1e5 - 0.5) < 0.01, fabs(mean - 3) < 0.03,
           fabs(squares - mean * mean - 4) < 0.1);
    return 0;
}

int main() { return blas() || fft() || sparse() || solver() || random_numbers(); }
