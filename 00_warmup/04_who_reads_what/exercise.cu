// 00.04 who reads what: y = x in five kernels, each with another pattern of reads.
// Change: rewrite. Kernels differ in the elements that a warp's 32 lanes read in one request.
// Why:    memory moves in sectors of 32 bytes, and the pattern decides how many a request needs.
// Needs:  any N. copy_vector needs x and y aligned to 16 bytes.
// Costs:  1 to 32 sectors for a request of 32 floats. See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/04_who_reads_what/warp_copy.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {

int predicted_sectors(ReadPattern pattern) {
  // TODO(1): roughly 5 lines; return for each pattern how many sectors of 32 bytes a request of 32
  // TODO(1): lanes moves; budget: no kernel is run for it, only paper is used.
  return 0;
}

namespace {

constexpr int kWarpSize = 32;
constexpr int kThreads = 256;  // per block, eight warps
constexpr int kEach = 8;       // elements per thread if it copies several, one sector
constexpr int kVec = 4;        // floats in the widest access of a thread, 16 bytes

__device__ std::int64_t this_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

// All lanes read each of their warp's 32 elements in turn, and each keeps its own.
__global__ void __launch_bounds__(kThreads) copy_broadcast_kernel(const WarpCopyArgs args) {
  const std::int64_t i = this_thread();
  if (i >= args.N) return;
  const int lane = threadIdx.x % kWarpSize;
  const std::int64_t first = i - lane;
  unsigned own = 0;
  for (int from = 0; from < kWarpSize && first + from < args.N; ++from) {
    const unsigned is_own = from == lane ? 1 : 0;
    own += is_own * __float_as_uint(args.x[first + from]);  // "if (is_own)" would skip the read
  }
  args.y[i] = __uint_as_float(own);
}

// A thread copies kEach adjacent elements, as a loop on a CPU would.
__global__ void __launch_bounds__(kThreads) copy_strided_kernel(const WarpCopyArgs args) {
  const std::int64_t first = this_thread() * kEach;
  for (int j = 0; j < kEach; ++j) {
    const std::int64_t i = first + j;
    if (i < args.N) args.y[i] = args.x[i];
  }
}

// A thread copies the element after its own, and the last thread copies the first element.
__global__ void __launch_bounds__(kThreads) copy_misaligned_kernel(const WarpCopyArgs args) {
  const std::int64_t thread = this_thread();
  if (thread >= args.N) return;
  const std::int64_t i = thread + 1 < args.N ? thread + 1 : 0;
  args.y[i] = args.x[i];
}

// A thread copies kEach elements, kThreads apart, so the lanes of a warp read adjacent elements.
__global__ void __launch_bounds__(kThreads) copy_coalesced_kernel(const WarpCopyArgs args) {
  // TODO(2): roughly 5 lines; the block copies kThreads * kEach elements, a thread kEach of them,
  // TODO(2): kThreads apart; budget: 4 sectors per load request, one load and one store per
  // TODO(2): element.
}

// A thread copies kVec elements at once, and the last thread copies the rest, one by one.
__global__ void __launch_bounds__(kThreads) copy_vector_kernel(const WarpCopyArgs args) {
  const std::int64_t first = this_thread() * kVec;
  if (first + kVec <= args.N) {
    // TODO(3): roughly 2 lines; copy kVec floats from `first` on; budget: one load and one store of
    // TODO(3): 16 bytes.
  } else {
    for (std::int64_t i = first; i < args.N; ++i)
      args.y[i] = args.x[i];
  }
}

// Checks the arguments. Returns the number of blocks if each thread copies `each` elements.
unsigned copy_blocks(const WarpCopyArgs& args, std::int64_t each) {
  ladder::validate_lists(args);
  const std::int64_t blocks = (args.N + kThreads * each - 1) / (kThreads * each);
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^39 - 256");
  return static_cast<unsigned>(blocks);
}

void copy_broadcast(const WarpCopyArgs& args) {
  const unsigned blocks = copy_blocks(args, 1);
  if (blocks == 0) return;
  copy_broadcast_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void copy_strided(const WarpCopyArgs& args) {
  const unsigned blocks = copy_blocks(args, kEach);
  if (blocks == 0) return;
  copy_strided_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void copy_misaligned(const WarpCopyArgs& args) {
  const unsigned blocks = copy_blocks(args, 1);
  if (blocks == 0) return;
  copy_misaligned_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void copy_coalesced(const WarpCopyArgs& args) {
  const unsigned blocks = copy_blocks(args, kEach);
  if (blocks == 0) return;
  copy_coalesced_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void copy_vector(const WarpCopyArgs& args) {
  const unsigned blocks = copy_blocks(args, kVec);
  if (blocks == 0) return;
  ladder::require_pointer("x", args.x, sizeof(float4));
  ladder::require_pointer("y", args.y, sizeof(float4));
  copy_vector_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration copy_broadcast_registration{
    {.name = "copy_broadcast",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<WarpCopy>(copy_broadcast)}};
const ladder::Registration copy_strided_registration{
    {.name = "copy_strided",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<WarpCopy>(copy_strided)}};
const ladder::Registration copy_misaligned_registration{
    {.name = "copy_misaligned",
     .step = 3,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<WarpCopy>(copy_misaligned)}};
const ladder::Registration copy_coalesced_registration{
    {.name = "copy_coalesced",
     .step = 4,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<WarpCopy>(copy_coalesced)}};
const ladder::Registration copy_vector_registration{
    {.name = "copy_vector",
     .step = 5,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<WarpCopy>(copy_vector)}};

}  // namespace
}  // namespace warmup
