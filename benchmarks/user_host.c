/* Plain C for benchmarks/beside.py: the shortest loop with the result of each kernel of
 * user_kernels.cu. Functions take the number of threads of the launch, then the kernel's arguments. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EACH for (long i = 0; i < threads; ++i)

void polynomial(long threads, const float* in, float* out, int n, int terms) {
    EACH {
        float x = in[i], y = 0.5f, z = 0.25f;
        for (int k = 0; k < terms; ++k) {
            y = fmaf(y, x, 0.3f);
            z = fmaf(z, y, 0.1f);
        }
        out[i] = y + z;
    }
}

static float normal(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

void blackscholes(long threads, const float* s, const float* k, float* call, int n) {
    EACH {
        float d = (logf(s[i] / k[i]) + 0.06f) / 0.2f, e = d - 0.2f;
        call[i] = s[i] * normal(d) - k[i] * expf(-0.02f) * normal(e);
    }
}

void xorshift(long threads, uint32_t* out, int rounds) {
    EACH {
        uint32_t x = (uint32_t)i * 2654435761u + 1u, sum = 0;
        for (int k = 0; k < rounds; ++k) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            sum += x >> 7;
        }
        out[i] = sum;
    }
}

void doubles(long threads, const double* in, double* out, int terms) {
    EACH {
        double x = in[i], y = 0.5;
        for (int k = 0; k < terms; ++k) y = fma(y, x, 0.3) * 0.999;
        out[i] = y;
    }
}

void halves(long threads, const _Float16* in, _Float16* out, int terms) {
    for (long i = 0; i < 2 * threads; ++i) {
        _Float16 x = in[i], y = x;
        for (int k = 0; k < terms; ++k) y = y * x + x * x;
        out[i] = y;
    }
}

void sgemm(long threads, const float* a, const float* b, float* c, int n) {
    for (long y = 0; y < n; ++y) {
        memset(c + y * n, 0, 4 * n);
        for (long k = 0; k < n; ++k)
            for (long x = 0; x < n; ++x) c[y * n + x] += a[y * n + k] * b[k * n + x];
    }
}

void naive_product(long threads, const float* a, const float* b, float* c, int n) {
    sgemm(threads, a, b, c, n);
}

void tensor_product(long threads, const _Float16* a, const _Float16* b, float* c, int n) {
    float* row = malloc(4 * n);
    for (long y = 0; y < n; ++y) {
        memset(row, 0, 4 * n);
        for (long k = 0; k < n; ++k)
            for (long x = 0; x < n; ++x) row[x] += (float)a[y * n + k] * (float)b[k * n + x];
        memcpy(c + y * n, row, 4 * n);
    }
    free(row);
}

void saxpy(long threads, const float* x, float* y, float a, int n) {
    for (long i = 0; i < n; ++i) y[i] = fmaf(a, x[i], y[i]);
}

void copy_wide(long threads, const float* in, float* out, int n) {
    for (long i = 0; i < 4L * n; ++i) out[i] = in[i];
}

void transpose(long threads, const float* in, float* out, int n) {
    for (long y = 0; y < n; y += 32)
        for (long x = 0; x < n; x += 32)
            for (long i = 0; i < 32; ++i)
                for (long j = 0; j < 32; ++j) out[(x + i) * n + y + j] = in[(y + j) * n + x + i];
}

void stencil(long threads, const float* in, float* out, int n) {
    long w = n + 2;
    for (long y = 1; y <= n; ++y)
        for (long x = 1; x <= n; ++x) {
            const float* p = in + y * w + x;
            out[y * w + x] = 0.2f * (p[0] + p[1] + p[-1] + p[w] + p[-w]);
        }
}

void gather(long threads, const float* in, const int* index, float* out, int n) {
    for (long i = 0; i < n; ++i) out[i] = in[index[i]];
}

void scatter(long threads, const float* in, const int* index, float* out, int n) {
    for (long i = 0; i < n; ++i) out[index[i]] = in[i];
}

void spmv(long threads, const int* start, const int* column, const float* value, const float* x,
          float* y, int rows) {
    for (long r = 0; r < rows; ++r) {
        float sum = 0.0f;
        for (int i = start[r]; i < start[r + 1]; ++i) sum = fmaf(value[i], x[column[i]], sum);
        y[r] = sum;
    }
}

void grey(long threads, const uint8_t* in, uint8_t* out, int n) {
    for (long i = 0; i < n; ++i)
        out[i] = (in[3 * i] * 77 + in[3 * i + 1] * 150 + in[3 * i + 2] * 29) >> 8;
}

void search(long threads, const char* text, const char* word, int length, int n, int* found) {
    for (long i = 0; i + length <= n; ++i) {
        int k = 0;
        while (k < length && text[i + k] == word[k]) ++k;
        *found += k == length;
    }
}

void samples(long threads, const int16_t* in, int16_t* out, int n) {
    for (long i = 1; i + 1 < n; ++i) out[i] = (in[i - 1] + 2 * in[i] + in[i + 1]) / 4;
}

void convolution(long threads, const float* in, float* out, int n) {
    static float filter[17];
    EACH {
        float sum = 0.0f;
        for (int k = 0; k < 17; ++k) sum = fmaf(filter[k], in[i + k], sum);
        out[i] = sum;
    }
}

void ladder(long threads, const int32_t* in, uint32_t* out, int n) {
    uint32_t sum = 0;
    for (long i = 0; i < n; ++i) sum += in[i];
    *out += sum;
}

void sequential(long threads, const int32_t* in, uint32_t* out, int n) {
    ladder(threads, in, out, n);
}

void scan(long threads, const int* in, int* out) {
    for (long b = 0; b < threads; b += 256) {
        int sum = 0;
        for (long i = b; i < b + 256; ++i) out[i] = sum += in[i];
    }
}

static int compare(const void* a, const void* b) {
    int p = *(const int*)a, q = *(const int*)b;
    return (p > q) - (p < q);
}

void bitonic(long threads, int* data) {
    for (long b = 0; b < 2 * threads; b += 512) qsort(data + b, 512, 4, compare);
}

void histogram(long threads, const uint8_t* in, uint32_t* bins, int n) {
    for (long i = 0; i < n; ++i) ++bins[in[i]];
}

void global_histogram(long threads, const uint32_t* in, uint32_t* bins, int n) {
    for (long i = 0; i < n; ++i) ++bins[in[i] & 4095];
}

void hashing(long threads, const uint32_t* keys, uint32_t* table, uint32_t mask, int n) {
    for (long i = 0; i < n; ++i) {
        uint32_t k = keys[i];
        k ^= k >> 16;
        k *= 0x85ebca6bu;
        k ^= k >> 13;
        k *= 0xc2b2ae35u;
        uint32_t slot = (k ^ (k >> 16)) & mask;
        while (table[slot] && table[slot] != keys[i]) slot = (slot + 1) & mask;
        table[slot] = keys[i];
    }
}

void compaction(long threads, const int* in, int* out, int* count, int n) {
    int k = 0;
    for (long i = 0; i < n; ++i) {
        out[k] = in[i];
        k += in[i] > 0;
    }
    *count += k;
}

void mandelbrot(long threads, uint16_t* out, int w, int h, int limit) {
    for (long py = 0; py < h; ++py)
        for (long px = 0; px < w; ++px) {
            float cx = -2.0f + 3.0f * (float)px / (float)w, cy = -1.2f + 2.4f * (float)py / (float)h;
            float x = 0.0f, y = 0.0f;
            int i = 0;
            while (i < limit && x * x + y * y <= 4.0f) {
                float t = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = t;
                ++i;
            }
            out[py * w + px] = i;
        }
}

void collatz(long threads, uint32_t* out) {
    EACH {
        uint32_t x = i + 1, steps = 0;
        while (x != 1) {
            x = x % 2 ? 3 * x + 1 : x / 2;
            ++steps;
        }
        out[i] = steps;
    }
}

void bisection(long threads, const int* sorted, const int* keys, int* out, int n) {
    EACH {
        int low = 0, high = n, key = keys[i];
        while (low < high) {
            int middle = (low + high) / 2;
            if (sorted[middle] < key) low = middle + 1;
            else high = middle;
        }
        out[i] = low;
    }
}
