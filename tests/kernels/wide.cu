// 128-bit integers, which the compiler turns into calls of its own division.

extern "C" __global__ void modular_power(const unsigned long long* base, unsigned long long* out,
                                         unsigned exponent, unsigned long long modulus, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 result = 1, b = base[i] % modulus;
    for (unsigned e = exponent; e; e >>= 1) {
        if (e & 1) result = (unsigned long long)((result * b) % modulus);
        b = (unsigned long long)((b * b) % modulus);
    }
    out[i] = (unsigned long long)result;
}
