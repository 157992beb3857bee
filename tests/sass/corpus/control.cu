// Jump tables, function pointers, virtual calls, recursion, early exits.
__global__ void jump_table(int* p, int k) {
    int x = p[threadIdx.x];
    switch (k) {
        case 0: x += 3; break;
        case 1: x *= p[5]; break;
        case 2: x ^= p[7]; break;
        case 3: x = __popc(x); p[2] = x * x; break;
        case 4: x = p[x]; break;
        case 5: x = x / p[9]; break;
        case 6: x -= p[11] % x; break;
        case 7: x = atomicAdd(p, x); break;
        case 8: x = clock(); break;
        case 9: asm volatile("trap;"); break;
    }
    p[threadIdx.x] = x;
}

typedef int (*Function)(int, int*);
__device__ __noinline__ int first(int x, int* p) { return x + p[0]; }
__device__ __noinline__ int second(int x, int* p) { return x * p[1] + x / p[2]; }
__device__ Function table[4];
__global__ void fill_table() { table[0] = first; table[1] = second; }
__global__ void call_table(int* p, int k) { p[k] = table[k](k, p); }

struct Base { __device__ virtual int apply(int) = 0; };
struct Increment : Base { __device__ int apply(int x) override { return x + 1; } };
struct Scale : Base {
    int factor;
    __device__ Scale(int factor) : factor(factor) {}
    __device__ int apply(int x) override { return x * factor; }
};
__global__ void virtual_call(int* p, int k) {
    Base* base;
    if (k & 1) base = new Increment; else base = new Scale(k);
    p[k] = base->apply(p[k]);
    delete base;
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void __launch_bounds__(128) recursion(int* p) { p[threadIdx.x] = fibonacci(threadIdx.x); }
extern "C" __global__ void nothing() {}
