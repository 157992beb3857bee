// Lanes that leave some at a time, each of them with or without a byte that it stores before.
typedef unsigned u32;

#define LEAVE(N, STORE)                                                         \
    asm volatile("{.reg .pred p; setp.eq.u32 p, %0, " #N "; " STORE " @p exit;}" \
                 :: "r"(turn), "l"(at), "r"(turn + 1) : "memory");
#define NINE(STORE)                                                             \
    LEAVE(0, STORE) LEAVE(1, STORE) LEAVE(2, STORE) LEAVE(3, STORE) LEAVE(4, STORE) \
    LEAVE(5, STORE) LEAVE(6, STORE) LEAVE(7, STORE) LEAVE(8, STORE)

// `each` lanes leave at a time, of every `of` threads of a block (a power of two)
#define KERNEL(NAME, STORE)                                                     \
    extern "C" __global__ void NAME(unsigned char *out, int each, int of) {     \
        u32 turn = (threadIdx.x & (u32)(of - 1)) / (u32)each;                   \
        unsigned char *at = out + blockIdx.x * blockDim.x + threadIdx.x;        \
        NINE(STORE)                                                             \
        *at = 99;                                                               \
    }
KERNEL(store_and_leave, "@p st.global.u8 [%1], %2;")
KERNEL(leave, "")
