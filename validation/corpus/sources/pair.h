// A type of two words, as users define them.
#pragma once
struct corpus_pair {
  float a;
  int b;
  corpus_pair() = default;
  __host__ __device__ explicit corpus_pair(int x) : a(float(x)), b(x) {}
  __host__ __device__ corpus_pair operator+(corpus_pair o) const { return make(a + o.a, b + o.b); }
  __host__ __device__ corpus_pair operator-(corpus_pair o) const { return make(a - o.a, b - o.b); }
  __host__ __device__ corpus_pair operator*(corpus_pair o) const { return make(a * o.a, b * o.b); }
  __host__ __device__ bool operator<(corpus_pair o) const { return a < o.a || (a == o.a && b < o.b); }
  __host__ __device__ bool operator==(corpus_pair o) const { return a == o.a && b == o.b; }
  __host__ __device__ bool operator!=(corpus_pair o) const { return !(*this == o); }
  __host__ __device__ static corpus_pair make(float x, int y) {
    corpus_pair p;
    p.a = x;
    p.b = y;
    return p;
  }
};
