// expects 1: race.cu:8: error: race: store .*s\[32\]: no __syncthreads\(\) orders them \[race\]
// A barrier is missing between the store of one warp and the load of another.
#include "reversed.cuh"

__global__ void reverse(int* d, int n) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = d[t];
  d[t] = s[mirrored(t, n)];
}

int main() {
  int a[64];
  for (int i = 0; i < 64; ++i)
    a[i] = i;
  int* d;
  cudaMalloc(&d, sizeof a);
  cudaMemcpy(d, a, sizeof a, cudaMemcpyHostToDevice);
  reverse<<<1, 64>>>(d, 64);
  cudaMemcpy(a, d, sizeof a, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
