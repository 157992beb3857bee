// Rates of stores that write sectors in part. The lanes of a warp write rows of a matrix, `pitch`
// bytes apart; a row is written WIDTH bytes at a time, by COLUMNS stores of a warp one after another
// and then by the next warp, one `apart` bytes from the last: WIDTH to fill the row, more to leave
// gaps in it.
typedef unsigned u32;
typedef unsigned long long u64;

template <typename T, int COLUMNS>
__device__ void store(char *to, u32 pitch, u32 apart, u64 bytes) {
    u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    u32 across = pitch / apart;
    T value = {};
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        u32 column = warp * COLUMNS + j, band = column / across;
        u64 at = (u64)band * 32 * pitch % bytes;
        *(T *)(to + at + lane * pitch + column % across * apart) = value;
    }
}

#define STORE(NAME, T, COLUMNS)                                                          \
    extern "C" __global__ void NAME(char *to, u32 pitch, u32 apart, u64 bytes) {         \
        store<T, COLUMNS>(to, pitch, apart, bytes);                                      \
    }

STORE(store_4_1, u32, 1)
STORE(store_4_4, u32, 4)
STORE(store_8_1, uint2, 1)
STORE(store_8_4, uint2, 4)
STORE(store_16_1, uint4, 1)
STORE(store_16_4, uint4, 4)
