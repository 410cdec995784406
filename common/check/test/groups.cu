// expects 0: check: nothing found in 2 kernels, 4 launches, 2 schedules
// Cooperative groups, dynamic shared memory, a type in front of __shared__, attributes, a pitch.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sums_of_tiles(const int* x, int* sums) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const int sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<int>());
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = sum;
}

template <typename T>
__global__ void shifted(T* x, int n) {
  extern T __shared__ all[];
  T __shared__ last;
  all[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == n - 1) last = x[n - 1];
  __syncthreads();
  x[threadIdx.x] = threadIdx.x == 0 ? last : all[threadIdx.x - 1];
}

int main() {
  int x[64], sums[4], value = 0;
  for (int i = 0; i < 64; ++i)
    x[i] = i;
  int *on_device, *of_tiles;
  size_t pitch;
  cudaMalloc(&on_device, sizeof x);
  cudaMallocPitch(&of_tiles, &pitch, sizeof sums, 1);
  cudaMemcpy(on_device, x, sizeof x, cudaMemcpyHostToDevice);
  sums_of_tiles<<<1, 64>>>(on_device, of_tiles);
  cudaMemcpy2D(sums, sizeof sums, of_tiles, pitch, sizeof sums, 1, cudaMemcpyDeviceToHost);
  shifted<<<1, 64, sizeof x>>>(on_device, 64);
  cudaMemcpy(x, on_device, sizeof x, cudaMemcpyDeviceToHost);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  cudaDeviceGetAttribute(&value, cudaDevAttrManagedMemory, 0);
  const bool right = sums[3] == 48 * 16 + 120 && x[0] == 63 && x[63] == 62;
  return right && value == properties.managedMemory ? 0 : 1;
}
