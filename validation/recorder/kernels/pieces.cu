// Bandwidth of DRAM for pieces of rows: a block moves 4 KiB, or 16, of which each piece lies in
// another row of a matrix. How many blocks later its neighbour in the row comes is given.
typedef unsigned u32;
typedef unsigned long long u64;

struct Shape {
    u32 pitch, rows, piece;  // bytes, rows, bytes
    u32 apart;  // blocks from one piece of a row to the next; 0: scattered
};

// Byte offset of quad `i` of the tile of a block. All sizes are powers of two.
__device__ __forceinline__ u64 offset(Shape s, u32 tile_quads, u32 block, u32 i) {
    u32 quads = s.piece / 16, pieces = tile_quads / quads;
    u32 across = s.pitch / s.piece, down = s.rows / pieces;
    if (!s.apart) block = block * 2654435761u % (across * down);
    u32 apart = s.apart ? s.apart : 1, band = block / (apart * across);
    u32 column = block / apart % across, row = band * apart + block % apart;
    return (u64)(row * pieces + i / quads) * s.pitch + (u64)column * s.piece + i % quads * 16;
}

template <bool READ, bool WRITE, int EACH>
__device__ void move(const char *in, char *out, Shape from, Shape to, u32 *never) {
    uint4 v[EACH];
    u32 tile = blockDim.x * EACH;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        u32 i = k * blockDim.x + threadIdx.x;
        v[k] = make_uint4(i, i, i, i);
        if (READ) v[k] = *(const uint4 *)(in + offset(from, tile, blockIdx.x, i));
    }
    if (READ && WRITE) __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        u32 i = k * blockDim.x + threadIdx.x;
        if (WRITE) *(uint4 *)(out + offset(to, tile, blockIdx.x, i)) = v[k];
        else if (v[k].x == 0x12345678) *never = 1;
    }
}

#define KERNEL(NAME, READ, WRITE, EACH)                                                       \
    extern "C" __global__ void NAME(const char *in, char *out, u32 pitch, u32 rows, u32 piece, \
                                    u32 from_apart, u32 to_apart, u32 *never) {                \
        Shape from = {pitch, rows, piece, from_apart}, to = {pitch, rows, piece, to_apart};    \
        move<READ, WRITE, EACH>(in, out, from, to, never);                                     \
    }

KERNEL(pieces_read_1, true, false, 1)
KERNEL(pieces_read_4, true, false, 4)
KERNEL(pieces_write_1, false, true, 1)
KERNEL(pieces_write_4, false, true, 4)
KERNEL(pieces_copy_1, true, true, 1)
KERNEL(pieces_copy_4, true, true, 4)
