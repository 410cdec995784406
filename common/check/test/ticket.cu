// expects 0: check: 0 errors, \d notes? in 1 kernel, 2 launches, 2 schedules
// The last block adds up all sums. Its fence and its ticket order the blocks.
__device__ unsigned tickets = 0;

__global__ void total(int* sums, int* all) {
  if (threadIdx.x > 0) return;
  sums[blockIdx.x] = blockIdx.x;
  __threadfence();
  if (atomicInc(&tickets, gridDim.x - 1) != gridDim.x - 1) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i)
    sum += sums[i];
  *all = sum;
}

int main() {
  int *sums, *all, result;
  cudaMalloc(&sums, 8 * sizeof(int));
  cudaMalloc(&all, sizeof(int));
  total<<<8, 32>>>(sums, all);
  cudaMemcpy(&result, all, sizeof result, cudaMemcpyDeviceToHost);
  return result == 28 ? 0 : 1;
}
