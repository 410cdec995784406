// expects 1: uninitialised.cu:4: error: uninitialised read: load by .* \[uninitialised\]
// The sum begins with what cudaMalloc returned. The program aborts after that.
__global__ void add(float* sum, const float* x) {
  sum[0] += x[0];
}

int main() {
  float *sum, *x;
  cudaMallocManaged(&x, sizeof(float));
  *x = 1;
  cudaMalloc(&sum, sizeof(float));
  add<<<1, 1>>>(sum, x);
  cudaDeviceSynchronize();
  abort();
}
