// 00.10 histogram: how many of N integers fall into each bin.
// Change: rewrite. Each block counts in its own shared-memory bins, then adds them to all bins.
// Why:    shared-memory atomics wait for no other block. Global memory gets one per block and bin.
// Needs:  values from 0 to BINS - 1, 16-byte aligned, and 1 to 12,288 bins (48 KB) for step 2.
// Costs:  each value is read once. N global atomics, then at most BINS per block. See README.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "00_warmup/10_histogram/histogram.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256;
constexpr int kVec = 4;                      // integers in 16 bytes
constexpr int kBlocksPerMultiprocessor = 8;  // 8 x 256 threads are the most that an SM holds
constexpr std::int64_t kMostBins = 48 * 1024 / sizeof(std::int32_t);

// ---- Step 1: all threads of the grid count in one array ----

__global__ void __launch_bounds__(kThreads) histogram_global_kernel(HistogramArgs args) {
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  // TODO(1): roughly 1 line; value n, if there is one, adds 1 to its bin of args.counts;
  // TODO(1): budget: one atomic per value.
}

// ---- Step 2: each block has bins of its own ----

__global__ void __launch_bounds__(kThreads) histogram_private_kernel(HistogramArgs args) {
  extern __shared__ std::int32_t bins_smem[];
  const int bins = static_cast<int>(args.BINS), tid = threadIdx.x;
  // TODO(2): roughly 3 lines; set all bins of bins_smem to 0, also when there are more bins than
  // TODO(2): threads; budget: one barrier.

  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + tid;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t vectors = args.N / kVec;
  for (std::int64_t v = thread; v < vectors; v += threads) {
    const int4 four = reinterpret_cast<const int4*>(args.values)[v];
    // TODO(2): roughly 4 lines; each of the four values adds 1 to the block's own bin; budget: no
    // TODO(2): global atomic.
  }
  const std::int64_t last = vectors * kVec + thread;
  // TODO(2): roughly 5 lines; count value `last`, if there is one; when all of the block's values
  // TODO(2): are counted, add its bins that are not 0 to args.counts; budget: one global atomic per
  // TODO(2): block and bin that is not 0.
}

// ---- Launchers ----

void histogram_global(const HistogramArgs& args) {
  ladder::validate_lists(args);
  const std::int64_t blocks = (args.N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^39 - 256");
  CUDA_CHECK(cudaMemsetAsync(args.counts, 0, args.BINS * sizeof(std::int32_t)));
  if (args.N == 0) return;
  histogram_global_kernel<<<static_cast<unsigned>(blocks), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void histogram_private(const HistogramArgs& args) {
  ladder::validate_lists(args);
  ladder::require(args.BINS <= kMostBins, "BINS is " + std::to_string(args.BINS) +
                                              "; histogram_private allows 1 to " +
                                              std::to_string(kMostBins));
  if (args.N > 0) ladder::require_pointer("values", args.values, sizeof(int4));
  CUDA_CHECK(cudaMemsetAsync(args.counts, 0, args.BINS * sizeof(std::int32_t)));
  if (args.N == 0) return;
  const std::int64_t most =
      std::int64_t{kBlocksPerMultiprocessor} * ladder::cuda::multiprocessor_count();
  const std::int64_t wanted = (args.N + kThreads * kVec - 1) / (kThreads * kVec);
  const std::size_t bytes = static_cast<std::size_t>(args.BINS) * sizeof(std::int32_t);
  histogram_private_kernel<<<static_cast<unsigned>(std::min(most, wanted)), kThreads, bytes>>>(
      args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration histogram_global_registration{
    {.name = "histogram_global",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Histogram>(histogram_global)}};

const ladder::Registration histogram_private_registration{
    {.name = "histogram_private",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Histogram>(histogram_private)}};

}  // namespace
}  // namespace warmup
