// 00.07b time and profile: a launch's mean time by two events, and two streams in parallel.
// Change: rewrite. Lesson 01's sum in eight parts, of which one is copied while another is added.
// Why:    copies need more time than the sum, but no SM, so no kernel has to wait for all the data.
// Needs:  any N and CUDA GPU. Copies overlap if the host's arrays come from cudaMallocHost.
// Costs:  device memory for two parts of a, b and c, two streams, four events. See README.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "00_warmup/07b_time_and_profile/pieces.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256;
constexpr int kBuffers = 2;  // one is filled while a kernel reads the other

// Both are destroyed at the end of their scope.
struct Stream {
  cudaStream_t stream{};
  Stream() { CUDA_CHECK(cudaStreamCreate(&stream)); }
  ~Stream() { cudaStreamDestroy(stream); }
};
struct Event {
  cudaEvent_t event{};
  Event() { CUDA_CHECK(cudaEventCreate(&event)); }
  ~Event() { cudaEventDestroy(event); }
};

std::unique_ptr<float, decltype(&cudaFree)> device_memory(std::int64_t elements) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, static_cast<std::size_t>(elements) * sizeof(float)));
  return {static_cast<float*>(memory), cudaFree};
}

// Enqueues a copy. The runtime infers from the pointers which memory they are in.
void copy(float* to, const float* from, std::int64_t elements, cudaStream_t stream) {
  CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(elements) * sizeof(float),
                             cudaMemcpyDefault, stream));
}

__global__ void __launch_bounds__(kThreads)
    add_piece_kernel(const float* a, const float* b, float* c, std::int64_t N) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < N) c[i] = a[i] + b[i];
}

}  // namespace

void launch_add_piece(const float* a, const float* b, float* c, std::int64_t N,
                      cudaStream_t stream) {
  const std::int64_t blocks = (N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 8 * 256 * (2^31 - 1)");
  add_piece_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(a, b, c, N);
  CUDA_CHECK(cudaGetLastError());
}

float mean_milliseconds(const std::function<void(cudaStream_t)>& launch, int warm_up,
                        int launches) {
  ladder::require(warm_up >= 0, "warm_up is " + std::to_string(warm_up) + "; allowed: 0 or more");
  ladder::require(launches > 0, "launches is " + std::to_string(launches) + "; allowed: 1 or more");
  const Stream own;
  const Event begin, end;
  float milliseconds = 0;
  // TODO(1): roughly 8 lines; warm up, then compute the mean time of the other launches; enqueue
  // TODO(1): all of them in own.stream;
  // TODO(1): budget: warm_up + launches calls of launch, one division
  return milliseconds;
}

void add_in_pieces(const VectorAddArgs& args) {
  ladder::validate_lists(args);
  if (args.N == 0) return;
  const std::int64_t piece = (args.N + kPieces - 1) / kPieces;
  const auto memory = device_memory(3 * kBuffers * piece);
  const Stream copies, kernels;
  const Event full[kBuffers], empty[kBuffers];
  for (std::int64_t first = 0; first < args.N; first += piece) {
    const std::int64_t elements = std::min(piece, args.N - first);
    const auto buffer = static_cast<int>(first / piece % kBuffers);
    float* const a = memory.get() + 3 * buffer * piece;
    float *const b = a + piece, *const c = b + piece;
    // TODO(2): roughly 1 line; let the copies wait until this buffer is empty; budget: they wait
    // TODO(2): only for the kernel two pieces before
    copy(a, args.a + first, elements, copies.stream);
    copy(b, args.b + first, elements, copies.stream);
    // TODO(3): roughly 2 lines; let the kernels wait until this buffer is full; budget: your lines
    // TODO(3): make no copy wait for a kernel
    launch_add_piece(a, b, c, elements, kernels.stream);
    // TODO(2): roughly 1 line; record that this buffer is empty again; budget: one event
    copy(args.c + first, c, elements, kernels.stream);
  }
  CUDA_CHECK(cudaStreamSynchronize(kernels.stream));
}

namespace {

const ladder::Registration vector_add_in_pieces_registration{
    {.name = "vector_add_in_pieces",
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<VectorAdd>(add_in_pieces)}};

}  // namespace
}  // namespace warmup
