// Adds two vectors on the GPU, as a whole program.
// Change: none, this is the first kernel.
// Why:    it shows thread, block, grid, launch and the two memories, each once.
// Needs:  any CUDA GPU. nvcc -std=c++17 -o first 00_warmup/01_first_kernel/kernel.cu && ./first
// Costs:  each number is copied to or from the GPU once, and the kernel accesses it once.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kThreads = 64;  // per block, a multiple of 32 and at most 1024

// ---- On the device, where each thread runs this function once ----

__global__ void add_first_kernel(const float* a, const float* b, float* c, std::int64_t N) {
  // TODO(1): roughly 2 lines; compute this thread's element of c, if there is one: its index, the
  // TODO(1): guard, the sum; budget: one read of a, one of b, one store of c
}

// ---- On the host ----

// Calls of the CUDA runtime report success or failure by their result.
static void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

// Starts the kernel and does not wait for it. The arrays are in device memory.
void launch_add(const float* a, const float* b, float* c, std::int64_t N) {
  // TODO(2): roughly 3 lines; count the blocks for N elements, launch the kernel, check the launch;
  // TODO(2): budget: no block without an element
}

// c = a + b. The arrays are in host memory and have N elements.
void add_on_gpu(const float* a, const float* b, float* c, std::int64_t N) {
  if (N == 0) return;  // a grid needs at least one block
  const std::size_t bytes = static_cast<std::size_t>(N) * sizeof(float);
  float *device_a = nullptr, *device_b = nullptr, *device_c = nullptr;
  // TODO(3): roughly 10 lines; allocate, copy a and b, launch, copy c back, free; check each call;
  // TODO(3): budget: three arrays on the device, three copies, nothing left allocated
}

int main() {
  const std::int64_t N = 10'000;
  std::vector<float> a, b, c(N);
  for (std::int64_t i = 0; i < N; ++i) {
    a.push_back(static_cast<float>(i));
    b.push_back(0.5f);
  }
  try {
    add_on_gpu(a.data(), b.data(), c.data(), N);
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < N; ++i)
    right += c[i] == a[i] + b[i];
  std::printf("%lld of %lld sums are right\n", static_cast<long long>(right),
              static_cast<long long>(N));
  return right == N ? 0 : 1;
}
