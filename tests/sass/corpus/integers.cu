// Bit tricks, byte permutes, wide multiplies, dot products, 64-bit shifts and divisions.
__global__ void bits(unsigned* a, long long* b, unsigned char* c, short* s) {
    int i = threadIdx.x;
    a[i] = __brev(a[i]) ^ (__clz(a[i + 1]) + __ffs(a[i + 2]) + __popc(a[i + 3]));
    a[i + 4] = __byte_perm(a[i], a[i + 1], 0x3210 + i) + __funnelshift_l(a[i], a[i + 4], 7);
    b[i] = b[i] * b[i + 1] + __mul64hi(b[i], b[i + 2]);
    b[i + 1] = b[i] >> i;
    b[i + 2] /= b[i + 3];
    if (b[i] < 0x123456789abcll) b[i] = 5;
    c[i] = c[i + 1] * 3;
    s[i] = s[i + 1] - c[i + 3];
    a[i + 8] = __dp4a(a[1], a[2], a[3]) + __sad(a[2], a[3], a[4]) + __vadd4(a[i], a[i + 1]);
    a[i + 9] = max(a[2], 3u) + min((int)a[3], -7) + abs((int)a[4]);
}
