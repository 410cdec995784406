// The CUDA device for tests and the ladder: the GPU if compiled by nvcc, otherwise the emulator.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/core/device.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/warpgroup_ceiling.hpp"
#ifndef __CUDACC__
#include "emulator/emulator.hpp"
#endif

namespace ladder {

namespace cuda {
WarpgroupCeiling warpgroup_ceiling = nullptr;
}

namespace {

constexpr int kCeilingThreads = 256;
constexpr int kRepeats = 7;

#ifdef __CUDACC__  // the emulator's clock measures no ceilings
// Independent chains per thread, enough to hide an FMA's latency of 4 cycles at full occupancy.
constexpr int kChains = 8;

__global__ void fma_ceiling(float* sink, int steps) {
  float chain[kChains];
  const float factor = 0.999f;
  const float term = 0.1f;
  for (int i = 0; i < kChains; ++i)
    chain[i] = static_cast<float>(threadIdx.x + i);
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < kChains; ++i)
      chain[i] = chain[i] * factor + term;
  }
  float sum = 0.0f;
  for (int i = 0; i < kChains; ++i)
    sum += chain[i];
  sink[static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

// Independent products per warp, enough to hide one's latency: multiply(sums, a, b) of operands
// that hold `element` everywhere.
template <typename Multiply>
__device__ void product_ceiling(float* sink, int steps, std::uint32_t element, Multiply multiply) {
  float sums[kChains][4] = {};
  const std::uint32_t a[4] = {element, element, element, element}, b[2] = {element, element};
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < kChains; ++i)
      multiply(sums[i], a, b);
  }
  float sum = 0.0f;
  for (int i = 0; i < kChains; ++i)
    sum += sums[i][0];
  sink[static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

__global__ void tensor_ceiling(float* sink, int steps) {
  const std::uint32_t pair = cuda::pack_bf16(1e-3f * static_cast<float>(threadIdx.x), 1.0f);
  product_ceiling(sink, steps, pair, [](auto& d, auto& a, auto& b) { cuda::mma_bf16(d, a, b); });
}

__global__ void tf32_ceiling(float* sink, int steps) {
  const std::uint32_t one = cuda::to_tf32(1e-3f * static_cast<float>(threadIdx.x));
  product_ceiling(sink, steps, one, [](auto& d, auto& a, auto& b) { cuda::mma_tf32(d, a, b); });
}
#endif

// One 16-byte element per thread: the hardware's scheduler keeps more loads in flight than a loop.
__global__ void copy_ceiling(float4* to, const float4* from) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

struct EventPair {
  cudaEvent_t begin{}, end{};
  EventPair() {
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));
  }
  ~EventPair() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
};

class CudaDevice : public Device {
 public:
  CudaDevice() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
      throw std::runtime_error(std::string("no usable GPU (cudaGetDeviceCount: ") +
                               cudaGetErrorString(status) + ")");
    }
    if (count == 0) throw std::runtime_error("no GPU");
    CUDA_CHECK(cudaGetDeviceProperties(&properties_, 0));
    cuda::keep_freed_memory();
  }

  std::string name() const override { return properties_.name; }
  void* allocate(std::size_t bytes) override {
    void* pointer = nullptr;
    CUDA_CHECK(cudaMalloc(&pointer, bytes));
    CUDA_CHECK(cudaMemset(pointer, 0xFF, bytes));
    return pointer;
  }
  void release(void* pointer) override { cudaFree(pointer); }
  void upload(void* to, const void* from_host, std::size_t bytes) override {
    CUDA_CHECK(cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice));
  }
  void download(void* to_host, const void* from, std::size_t bytes) override {
    CUDA_CHECK(cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost));
  }
  void synchronize() override { CUDA_CHECK(cudaDeviceSynchronize()); }

  double time(const std::function<void()>& work) override {
    const EventPair events;
    CUDA_CHECK(cudaEventRecord(events.begin));
    work();
    CUDA_CHECK(cudaEventRecord(events.end));
    CUDA_CHECK(cudaEventSynchronize(events.end));
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events.begin, events.end));
    return milliseconds * 1e-3;
  }

#ifdef __CUDACC__
  std::string back_end() const override {
    return "cuda";
  }

  Recording record(const std::function<void()>& work) override {
    const cudaStream_t stream = cudaStreamPerThread;  // the default stream of this whole program
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    std::exception_ptr failure;
    bool recorded = true;
    try {
      work();
    } catch (const CudaError&) {  // some calls cannot be recorded
      recorded = false;
    } catch (...) {
      failure = std::current_exception();
    }
    recorded = cudaStreamEndCapture(stream, &graph) == cudaSuccess && recorded;
    cudaGetLastError();  // failed recordings leave an error that must be cleared
    const std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)> owned(graph, cudaGraphDestroy);
    if (failure) std::rethrow_exception(failure);
    if (!recorded) return {work, false};
    cudaGraphExec_t instance = nullptr;
    CUDA_CHECK(cudaGraphInstantiate(&instance, graph));
    const std::shared_ptr<CUgraphExec_st> replay(instance, cudaGraphExecDestroy);
    CUDA_CHECK(cudaGraphUpload(instance, stream));
    return {[replay, stream] { CUDA_CHECK(cudaGraphLaunch(replay.get(), stream)); }, true};
  }

  std::size_t free_bytes() const override {
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return free;
  }
  std::size_t cache_bytes() const override {
    return static_cast<std::size_t>(properties_.l2CacheSize);
  }

  Ceilings measure_ceilings() override {
    Ceilings ceilings;
    ceilings.fma_per_second = measured_per_second(fma_ceiling, kChains);
    ceilings.bytes_per_second = measured_bytes_per_second();
    // m16n8k16 and m16n8k8, by 32 lanes.
    ceilings.tensor_fma_per_second =
        measured_per_second(tensor_ceiling, kChains * 16 * 8 * 16 / 32.0);
    ceilings.tf32_fma_per_second = measured_per_second(tf32_ceiling, kChains * 16 * 8 * 8 / 32.0);
    ceilings.warpgroup_fma_per_second = measured_warpgroup_fma_per_second();
    return ceilings;
  }
#else
  std::string back_end() const override {
    return "emulator";
  }
  std::size_t cache_bytes() const override {
    return 0;
  }
  // The emulator's speed is not a GPU's, so it has no ceilings.
  Ceilings measure_ceilings() override {
    return {};
  }
  void name_memory(const void* pointer, std::size_t bytes, const std::string& name,
                   std::size_t element_bytes, bool written, const Axes& axes) override {
    std::string text;
    for (const Axis& axis : axes)
      text += (text.empty() ? "" : ", ") + std::string(axis.name) + "=" + std::to_string(axis.size);
    emulator::name_memory({pointer, bytes, name, element_bytes, written, text});
  }
  Launches launches_of(const std::function<void()>& work) override {
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreate(&stream));
    std::vector<const void*> streams;  // of copies and fills, then of kernels
    std::vector<emulator::NotedLaunch> noted;
    {
      struct OnStream {
        explicit OnStream(cudaStream_t stream) { cuda::call.stream = stream; }
        ~OnStream() { cuda::call.stream = nullptr; }
      } const on_stream(stream);
      // No kernel runs, so arrays need no memory, and scratch may exceed the host's.
      emulator::allow_host_memory(true), emulator::run_last_blocks(1);
      noted = emulator::launches_of(work, &streams);
      emulator::allow_host_memory(false), emulator::run_last_blocks(0);
      cudaGetLastError();  // clears the error of a rejected call
    }
    cudaStreamDestroy(stream);
    for (const emulator::NotedLaunch& launch : noted)
      streams.push_back(launch.stream);
    return {static_cast<int>(streams.size()),
            static_cast<int>(std::count(streams.begin(), streams.end(), stream))};
  }
  void print_running_thread() const override {
    emulator::ThreadIdentity running;
    if (!emulator::current_thread(&running)) return;
    const uint3 &block = running.block, &thread = running.thread;
    std::printf(" in block (%u, %u, %u), thread (%u, %u, %u)", block.x, block.y, block.z, thread.x,
                thread.y, thread.z);
  }
  std::vector<std::string> schedules() const override {
    return {"forward", "reverse", "shuffle"};
  }
  std::string schedule() const override {
    return schedules()[emulator::schedule().order];
  }
  void use_schedule(const std::string& name) override {
    using emulator::Schedule;
    emulator::set_schedule({name == "reverse"   ? Schedule::reverse
                            : name == "shuffle" ? Schedule::shuffle
                                                : Schedule::forward,
                            /*seed=*/1});
  }
#endif

 private:
  // Work that keeps every SM full: the best of a few repeats, after a warm-up.
  template <typename Work>
  double best_seconds(const Work& work) {
    work();
    synchronize();
    double best = time(work);
    for (int repeat = 1; repeat < kRepeats; ++repeat)
      best = std::min(best, time(work));
    CUDA_CHECK(cudaGetLastError());
    return best;
  }

  // The work of all threads together per second, if each does `each` in a step.
  template <typename Kernel>
  double measured_per_second(const Kernel& kernel, double each) {
    constexpr int kSteps = 4096;
    const int blocks = 64 * properties_.multiProcessorCount;
    const double threads = static_cast<double>(blocks) * kCeilingThreads;
    float* sink = static_cast<float*>(allocate(static_cast<std::size_t>(threads) * sizeof(float)));
    const double seconds = best_seconds([&] { kernel<<<blocks, kCeilingThreads>>>(sink, kSteps); });
    release(sink);
    return threads * kSteps * each / seconds;
  }

  double measured_warpgroup_fma_per_second() {
    if (cuda::warpgroup_ceiling == nullptr || properties_.major != 9) return 0;
    const int blocks = properties_.multiProcessorCount;
    float* keep = static_cast<float*>(allocate(blocks * sizeof(float)));
    double count = 0;
    const double seconds = best_seconds([&] { count = cuda::warpgroup_ceiling(blocks, keep); });
    release(keep);
    return count / seconds;
  }

  double measured_bytes_per_second() {
    constexpr std::size_t kMostBytes = std::size_t{1} << 31, kBlockBytes = 256 * sizeof(float4);
    static_assert(kCeilingThreads == 256);
    const std::size_t blocks = std::min(kMostBytes, free_bytes() / 3) / kBlockBytes;
    const std::size_t bytes = blocks * kBlockBytes;
    float4* from = static_cast<float4*>(allocate(bytes));
    float4* to = static_cast<float4*>(allocate(bytes));
    const double seconds =
        best_seconds([&] { copy_ceiling<<<blocks, kCeilingThreads>>>(to, from); });
    release(from);
    release(to);
    return 2.0 * bytes / seconds;
  }

  cudaDeviceProp properties_{};
};

const DeviceRegistration registration(DeviceKind::kCuda,
                                      [] { return std::make_unique<CudaDevice>(); });

}  // namespace
}  // namespace ladder
