// Control flow: divergence, switches, recursion, function pointers, virtual calls and lane locks.

extern "C" __global__ void collatz(const unsigned* in, int* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = in[i];
    int count = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v >> 1;
        ++count;
    }
    steps[i] = count;
}

// An interpreter: a dense switch that becomes a jump table.
extern "C" __global__ void switch_table(const unsigned char* code, const int* in, int* out,
                                        int length, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = in[i], b = i;
    for (int pc = 0; pc < length; ++pc) {
        switch (code[(i % 7) * length + pc]) {
        case 0: a += b; break;
        case 1: a -= 3 * b; break;
        case 2: a ^= b << 5; break;
        case 3: b = a >> 3; break;
        case 4: a *= 2654435761u; break;
        case 5: b += 17; // falls through
        case 6: a = ~a; break;
        case 7: if (a & 1) pc++; break;
        case 8: { unsigned t = a; a = b; b = t; } break;
        case 9: a = __popc(a) + b; break;
        case 10: b |= a; break;
        case 11: a = a % 1000 + b; break;
        default: out[i] = a ^ 0xdead; return;
        }
    }
    out[i] = a + b;
}

extern "C" __global__ void nested_exits(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i], count = 0;
    for (int a = 0; a < 20; ++a) {
        for (int b = 0; b < v % 9; ++b) {
            if ((a + b + v) % 13 == 0) continue;
            if (a * b > v) goto out_of_both;
            if ((a ^ b) == v % 17) break;
            ++count;
        }
        if (count > 60) {
            out[i] = -count;
            return;
        }
    }
out_of_both:
    out[i] = count;
}

__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion_fibonacci(int* out) {
    out[threadIdx.x] = fibonacci(threadIdx.x % 13);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursion_ackermann(unsigned* out) {
    out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x / 9);
}

__device__ void quick_sort(int* a, int low, int high) {
    while (low < high) {
        int pivot = a[(low + high) / 2], i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (a[j] > pivot) --j;
            if (i <= j) {
                int t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        if (j - low < high - i) {
            quick_sort(a, low, j);
            low = i;
        } else {
            quick_sort(a, i, high);
            high = j;
        }
    }
}
extern "C" __global__ void recursion_quick_sort(int* data, int n) {
    quick_sort(data + threadIdx.x * n, 0, n - 1);
}

typedef unsigned (*Function)(unsigned, unsigned);
__device__ unsigned f_add(unsigned a, unsigned b) { return a + b; }
__device__ unsigned f_mix(unsigned a, unsigned b) { return (a ^ b) * 2654435761u; }
__device__ unsigned f_loop(unsigned a, unsigned b) {
    for (unsigned i = 0; i < (b & 7); ++i) a = a * 5 + i;
    return a;
}
__device__ Function table[3] = {f_add, f_mix, f_loop};
extern "C" __global__ void function_pointers(const int* which, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[which[i]](i * 77u, out[i]);
}

struct Shape {
    __device__ virtual int area() const = 0;
};
struct Square : Shape {
    int a;
    __device__ Square(int a) : a(a) {}
    __device__ int area() const override { return a * a; }
};
struct Box : Shape {
    int a, b;
    __device__ Box(int a, int b) : a(a), b(b) {}
    __device__ int area() const override { return a * b; }
};
extern "C" __global__ void virtual_calls(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Square square(i);
    Box box(i, 3);
    const Shape* shape = i % 3 ? (const Shape*)&square : (const Shape*)&box;
    out[i] = shape->area();
}

// Every lane takes the same lock in turn: it ends only if lanes make progress on their own.
extern "C" __global__ void lane_lock(int* lock, int* counter, int* order) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            int c = *(volatile int*)counter;
            *(volatile int*)counter = c + 1;
            order[c] = blockIdx.x * blockDim.x + threadIdx.x;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// The naive form, with the critical section after the spin loop.
extern "C" __global__ void lane_lock_naive(int* lock, int* counter) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *(volatile int*)counter = *(volatile int*)counter + 3;
    __threadfence();
    atomicExch(lock, 0);
}

// Lanes of one warp hand a token on: lane n waits for lane n - 1.
extern "C" __global__ void lane_chain(volatile int* token, int* out) {
    int t = threadIdx.x;
    while (*token != t) {}
    out[t] = t * t;
    __threadfence();
    *token = t + 1;
}

extern "C" __global__ void ticket_lock(unsigned* next, volatile unsigned* serving, double* value) {
    unsigned mine = atomicAdd(next, 1u);
    while (*serving != mine) {}
    *(volatile double*)value = *(volatile double*)value * 1.0001 + 1.0;
    __threadfence();
    *serving = mine + 1;
}

extern "C" __global__ void short_circuit(const int* p, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i;
    while (v >= 0 && v < n && p[v] != i && p[v] >= 0) v = p[v] + (v & 1);
    if (i < n) out[i] = v;
}

extern "C" __global__ void sieve(unsigned char* composite, int n) {
    int p = 2 + blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n) return;
    for (int d = 2; d * d <= p; ++d)
        if (p % d == 0) {
            composite[p] = 1;
            break;
        }
}

// N queens by backtracking with an explicit stack in local memory.
extern "C" __global__ void queens(unsigned long long* solutions, int n) {
    int first = threadIdx.x;
    if (first >= n) return;
    unsigned columns[16], left[16], right[16], free[16];
    unsigned all = (1u << n) - 1, count = 0;
    int row = 1;
    columns[1] = 1u << first;
    left[1] = 1u << first << 1;
    right[1] = 1u << first >> 1;
    free[1] = all & ~(columns[1] | left[1] | right[1]);
    while (row > 0) {
        if (free[row] == 0) {
            --row;
            continue;
        }
        unsigned bit = free[row] & -free[row];
        free[row] ^= bit;
        if (row == n - 1) {
            ++count;
            continue;
        }
        columns[row + 1] = columns[row] | bit;
        left[row + 1] = (left[row] | bit) << 1;
        right[row + 1] = (right[row] | bit) >> 1;
        ++row;
        free[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    atomicAdd(solutions, (unsigned long long)count);
}
