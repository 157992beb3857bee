// Brute-force dedispersion: every output sums one sample of each channel, delayed by dispersion
// measure and channel. Shape and order are macros: BLOCK_X, BLOCK_Y threads; TILE_X, TILE_Y outputs
// a thread, a block (STRIDE 1) or one (STRIDE 0) apart; UNROLL of the channels, 0: as the compiler
// likes.
#define SAMPLES 25000
#define MEASURES 2048
#define CHANNELS 1536
#define WINDOW 25650
#define FIRST 0.0f
#define STEP 0.02f

#if STRIDE_X
#define NEXT_X BLOCK_X
#define OWN_X 1
#else
#define NEXT_X 1
#define OWN_X TILE_X
#endif
#if STRIDE_Y
#define NEXT_Y BLOCK_Y
#define OWN_Y 1
#else
#define NEXT_Y 1
#define OWN_Y TILE_Y
#endif

extern "C" __global__ void dedisperse(const unsigned char* in, float* out, const float* delays) {
    int x = blockIdx.x * BLOCK_X * TILE_X + threadIdx.x * OWN_X;
    int y = blockIdx.y * BLOCK_Y * TILE_Y + threadIdx.y * OWN_Y;
    for (int i = 0; i < TILE_X; i++) {
        int sample = x + i * NEXT_X;
        if (sample >= SAMPLES) continue;
        for (int j = 0; j < TILE_Y; j++) {
            int measure = y + j * NEXT_Y;
            if (measure >= MEASURES) continue;
            float sum = 0.0f;
#if UNROLL
#pragma unroll UNROLL
#endif
            for (int channel = 0; channel < CHANNELS; channel++) {
                unsigned delay = (FIRST + measure * STEP) * delays[channel];
                sum += in[channel * WINDOW + sample + delay];
            }
            out[measure * SAMPLES + sample] = sum;
        }
    }
}
