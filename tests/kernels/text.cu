// Bytes and bits: string search, CRC, base64, run lengths, SHA-256, a pseudo-random cipher.

extern "C" __global__ void string_search(const char* text, int n, const char* word, int m,
                                         int* hits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + m > n) return;
    for (int k = 0; k < m; ++k)
        if (text[i + k] != word[k]) return;
    hits[i] = 1;
}

extern "C" __global__ void count_words(const char* text, int n, int* words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool letter = i < n && text[i] != ' ';
    bool first = letter && (i == 0 || text[i - 1] == ' ');
    int count = __syncthreads_count(first);
    if (threadIdx.x == 0) atomicAdd(words, count);
}

__constant__ unsigned char alphabet[65] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

extern "C" __global__ void base64_encode(const unsigned char* in, unsigned char* out, int triples) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= triples) return;
    unsigned v = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
    for (int k = 0; k < 4; ++k) out[4 * i + k] = alphabet[v >> (18 - 6 * k) & 63];
}

extern "C" __global__ void crc32_rows(const unsigned char* in, unsigned* out, int length, int rows) {
    __shared__ unsigned table[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        unsigned c = b;
        for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[b] = c;
    }
    __syncthreads();
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    unsigned c = ~0u;
    for (int i = 0; i < length; ++i) c = table[(c ^ in[r * length + i]) & 255] ^ c >> 8;
    out[r] = ~c;
}

__constant__ unsigned round_keys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned turn(unsigned x, int n) { return x >> n | x << (32 - n); }

// One padded 64-byte message per thread.
extern "C" __global__ void sha256_blocks(const unsigned char* in, unsigned* out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    unsigned w[64];
    const unsigned* words = (const unsigned*)(in + 64 * t);
    for (int i = 0; i < 16; ++i) w[i] = __byte_perm(words[i], 0, 0x0123);
    for (int i = 16; i < 64; ++i) {
        unsigned a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned s[8];
    for (int i = 0; i < 8; ++i) s[i] = h[i];
#pragma unroll 4
    for (int i = 0; i < 64; ++i) {
        unsigned e = s[4], a = s[0];
        unsigned t1 = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                      round_keys[i] + w[i];
        unsigned t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k > 0; --k) s[k] = s[k - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) out[t * 8 + i] = __byte_perm(s[i] + h[i], 0, 0x0123);
}

extern "C" __global__ void run_lengths(const unsigned char* in, int* length, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i > 0 && in[i - 1] == in[i]) return;
    int k = i + 1;
    while (k < n && in[k] == in[i]) ++k;
    length[i] = k - i;
}

// Edit distance of two words per thread, rows of the table in local memory.
extern "C" __global__ void edit_distance(const char* words, int* distance, int m, int pairs) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs) return;
    const char *a = words + 2 * p * m, *b = a + m;
    unsigned char row[33];
    for (int j = 0; j <= m; ++j) row[j] = j;
    for (int i = 1; i <= m; ++i) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; ++j) {
            int best = min(min(row[j], row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = row[j];
            row[j] = best;
        }
    }
    distance[p] = row[m];
}
