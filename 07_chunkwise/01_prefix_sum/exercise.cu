// 07 chunkwise, prefix sums: work for all chunks at once, and the carry from one to the next.
// Change: rewrite. The sum over everything became a short sum in every chunk, a sum over chunks,
//         and one addition each.
// Why:    a running sum is a chain of dependent additions, but the chains of different chunks are
//         independent.
// Needs:  any length and any chunk length.
// Costs:  every element is added to twice and written twice.
//         See README. The state of linear attention needs the same three steps.
#include "07_chunkwise/01_prefix_sum/prefix_sum.hpp"

#include <cuda_runtime.h>

#include <string>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace chunkwise::prefix_sums {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMost = std::int64_t{1} << 31;  // elements, and elements per chunk

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

std::int64_t chunks_of(const PrefixSumArgs& args) {
  return (args.length + args.chunk - 1) / args.chunk;
}

__device__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

// One thread per chunk.
__global__ void local_sums_kernel(const PrefixSumArgs args, std::int64_t chunks) {
  const std::int64_t chunk = global_thread();
  if (chunk >= chunks) return;
  const std::int64_t first = chunk * args.chunk;
  std::int32_t sum = 0;
  for (std::int64_t i = first; i < first + args.chunk && i < args.length; ++i) {
    sum += args.x[i];
    args.sums[i] = sum;
  }
}

// One thread, because this part remains a chain over the chunks.
__global__ void carry_kernel(const PrefixSumArgs args, std::int64_t chunks) {
  // TODO(1): roughly 5 lines; store each chunk's carry, for which you add up the last local sum of
  // TODO(1): each earlier chunk; budget: one read and one write for each chunk.
}

// One thread per element.
__global__ void adjust_kernel(const PrefixSumArgs args) {
  // TODO(2): roughly 2 lines; add the carry of its chunk to this thread's local sum, if it has one;
  // TODO(2): budget: two reads, one write for each element.
}

}  // namespace

void local_sums(const PrefixSumArgs& args) {
  const std::int64_t chunks = chunks_of(args);
  local_sums_kernel<<<blocks_for(chunks), kThreads>>>(args, chunks);
  CUDA_CHECK(cudaGetLastError());
}

void carry(const PrefixSumArgs& args) {
  carry_kernel<<<1, 1>>>(args, chunks_of(args));
  CUDA_CHECK(cudaGetLastError());
}

void adjust(const PrefixSumArgs& args) {
  adjust_kernel<<<blocks_for(args.length), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void prefix_sum(const PrefixSumArgs& args) {
  ladder::validate_lists(args);
  ladder::require(args.length <= kMost,
                  "length is " + std::to_string(args.length) + "; allowed: up to 2^31");
  ladder::require(args.chunk <= kMost,
                  "chunk is " + std::to_string(args.chunk) + "; allowed: up to 2^31");
  if (args.length == 0) return;
  local_sums(args);
  carry(args);
  adjust(args);
}

const ladder::Registration registration{{.name = "prefix_sum_in_chunks",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<PrefixSum>(prefix_sum)}};

}  // namespace chunkwise::prefix_sums
