// expects 1: bounds.cu:5: error: out of bounds: load by thread \(64, 0, 0\) of block \(0, 0, 0\), 4 bytes of .* \[out-of-bounds\]
// The border is n, but the arrays have one element less.
__global__ void copy(float* to, const float* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

int main() {
  const int n = 65;
  float *to, *from;
  cudaMalloc(&to, n * sizeof(float));
  cudaMalloc(&from, (n - 1) * sizeof(float));
  cudaMemset(from, 0, (n - 1) * sizeof(float));
  copy<<<1, 128>>>(to, from, n);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}
