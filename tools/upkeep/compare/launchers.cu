// Chapter 00's CUDA launchers for ours.py, and functions for its stopwatch. (The other chapters'
// launchers are in library/.) The interface is plain C with device pointers. A function returns
// null, or a sentence if something is rejected or fails, which is valid until the thread's next
// call. Sizes, shapes and units are those of the operators' arguments.
//
// Launchers work in the calling thread's default stream (cudaStreamPerThread), and do not wait.
#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "00_warmup/08_transpose/transpose.hpp"
#include "00_warmup/09_sum/sum.hpp"
#include "00_warmup/11_rows/rows.hpp"
#include "00_warmup/18_batched_matmul/batched_matmul.hpp"
#include "00_warmup/conv2d.hpp"
#include "00_warmup/low_bit.hpp"
#include "00_warmup/matmul.hpp"
#include "00_warmup/vector_add.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"

// A number for a field, or a device pointer for an array, by its name in the operator's lists.
struct LadderValue {
  const char* name;
  double number;
  void* array;
};

namespace {

using ladder::Implementation;

// Null, or the message that `work` threw.
template <typename Work>
const char* sentence_of(const Work& work) {
  thread_local std::string sentence;
  try {
    work();
    return nullptr;
  } catch (const std::exception& error) {
    sentence = error.what();
    return sentence.c_str();
  }
}

using Values = std::map<std::string, LadderValue>;

// A launch of one implementation with these values as arguments, by their names in the operator's
// lists.
template <typename Op, typename Args>
std::function<void()> prepared(const Implementation& implementation, const std::string& op,
                               Values values) {
  Args args;
  const auto take = [&](const char* name, const auto& use) {
    const auto found = values.find(name);
    if (found == values.end()) return;
    use(found->second);
    values.erase(found);
  };
  Args::fields(args, [&](const char* name, auto& field, auto...) {
    take(name, [&](const LadderValue& value) {
      field = static_cast<std::decay_t<decltype(field)>>(value.number);
    });
  });
  Args::arrays(args, [&](const char* name, auto& pointer, const ladder::Axes&, auto...) {
    take(name, [&](const LadderValue& value) {
      pointer = static_cast<std::decay_t<decltype(pointer)>>(value.array);
    });
  });
  if (!values.empty()) throw std::invalid_argument(op + " has no " + values.begin()->first);
  const auto launcher = ladder::launcher<Op, Args>(implementation);
  ladder::require(launcher != nullptr,
                  implementation.name + " has no " + op + " for " + Args::kStorage);
  return [launcher, args] { launcher(args); };
}

using Prepare = std::function<void()> (*)(const Implementation&, const std::string&, Values);

template <typename Op, typename... Args>
std::map<std::string, Prepare> by_precision() {
  return {{Args::kStorage, prepared<Op, Args>}...};
}

const std::map<std::string, std::map<std::string, Prepare>>& operators() {
  using namespace ladder;
  using namespace warmup;
  static const std::map<std::string, std::map<std::string, Prepare>> all = {
      {"vector_add", by_precision<VectorAdd, VectorAddArgs>()},
      {"transpose", by_precision<Transpose, TransposeArgs>()},
      {"sum", by_precision<Sum, SumArgs>()},
      {"softmax", by_precision<Softmax, SoftmaxArgs>()},
      {"rms_norm", by_precision<RmsNorm, RmsNormArgs>()},
      {"matmul", by_precision<Matmul, MatmulArgs, MatmulBf16Args>()},
      {"batched_matmul", by_precision<BatchedMatmul, BatchedMatmulArgs>()},
      {"conv2d", by_precision<Conv2d, Conv2dArgs>()},
      {"int8_matmul", by_precision<LowBit<8>, LowBitArgs<8>>()},
      {"int4_matmul", by_precision<LowBit<4>, LowBitArgs<4>>()}};
  return all;
}

// The map's entry of that name; otherwise std::invalid_argument lists the names.
template <typename Value>
const Value& chosen(const std::map<std::string, Value>& map, const std::string& what,
                    const std::string& name) {
  const auto found = map.find(name);
  if (found != map.end()) return found->second;
  std::string allowed;
  for (const auto& [each, value] : map)
    allowed += (allowed.empty() ? "" : ", ") + each;
  throw std::invalid_argument(what + " is '" + name + "'; allowed: " + allowed);
}

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    copy_kernel(const int4* from, int4* to, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = from[i];
}

// Each thread has four loads of 16 bytes in flight, and the next four are far away.
__global__ void __launch_bounds__(kThreads) read_kernel(const int4* data, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  int4 bits = {};
  const auto take = [&](const int4& x) {
    bits.x |= x.x, bits.y |= x.y, bits.z |= x.z, bits.w |= x.w;
  };
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    int4 x[4];
#pragma unroll
    for (int n = 0; n < 4; ++n)
      x[n] = data[i + n * stride];
#pragma unroll
    for (int n = 0; n < 4; ++n)
      take(x[n]);
  }
  for (; i < count; i += stride)
    take(data[i]);
  // Never true, but the compiler cannot know, so it must keep the loads.
  if (bits.x == 0x12345678 && bits.y == 0x12345678 && bits.z == 0 && bits.w == -1) __trap();
}

std::int64_t vectors_in(std::int64_t bytes) {
  constexpr std::int64_t vector = sizeof(int4), most = vector * kThreads * INT32_MAX;
  ladder::require(bytes > 0 && bytes % vector == 0 && bytes <= most,
                  "bytes is " + std::to_string(bytes) + "; allowed: multiples of 16 up to " +
                      std::to_string(most));
  return bytes / vector;
}

const std::map<std::string, Implementation>& all() {
  static const std::map<std::string, Implementation> by_name = [] {
    std::map<std::string, Implementation> result;
    for (const Implementation& implementation : ladder::implementations()) {
      if (implementation.device == ladder::DeviceKind::kCuda)
        result.emplace(implementation.name, implementation);
    }
    return result;
  }();
  return by_name;
}

}  // namespace

extern "C" {

// Names of all CUDA implementations in the library, each followed by a newline.
const char* ladder_implementations() {
  static const std::string names = [] {
    std::string lines;
    for (const auto& [name, implementation] : all())
      lines += name + "\n";
    return lines;
  }();
  return names.c_str();
}

// Sets *call to a call of one implementation, valid until the program ends. `precision` is the
// tensors' storage, fp32 or bf16. A missing value has its default, a missing array is null.
const char* ladder_prepare(const char* implementation, const char* op, const char* precision,
                           const LadderValue* values, int32_t count, const void** call) {
  static std::deque<std::function<void()>> calls;
  return sentence_of([&] {
    ladder::cuda::keep_freed_memory();
    const Prepare prepare = chosen(chosen(operators(), "op", op), "precision", precision);
    Values by_name;
    for (int32_t n = 0; n < count; ++n)
      by_name[values[n].name] = values[n];
    calls.push_back(prepare(chosen(all(), "implementation", implementation), op, by_name));
    *call = &calls.back();
  });
}

const char* ladder_call(const void* call) {
  return sentence_of([&] { (*static_cast<const std::function<void()>*>(call))(); });
}

// Ceilings for `bytes`, a multiple of 16: a copy, and a kernel that only reads.
const char* ladder_copy(const void* from, void* to, std::int64_t bytes) {
  return sentence_of([&] {
    const std::int64_t count = vectors_in(bytes);
    copy_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(
        static_cast<const int4*>(from), static_cast<int4*>(to), count);
    CUDA_CHECK(cudaGetLastError());
  });
}

const char* ladder_read(const void* data, std::int64_t bytes) {
  return sentence_of([&] {
    int device = 0, multiprocessors = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    read_kernel<<<8 * multiprocessors, kThreads>>>(static_cast<const int4*>(data),
                                                   vectors_in(bytes));
    CUDA_CHECK(cudaGetLastError());
  });
}

// Launches in this thread's default stream between begin and end become a graph; `end` sets *graph.
// A graph may be launched into any stream.
const char* ladder_record_begin() {
  return sentence_of([] {
    CUDA_CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
  });
}

const char* ladder_record_end(void** graph) {
  return sentence_of([&] {
    cudaGraph_t recorded = nullptr;
    const cudaError_t status = cudaStreamEndCapture(cudaStreamPerThread, &recorded);
    cudaGetLastError();  // a failed capture leaves an error
    CUDA_CHECK(status);
    cudaGraphExec_t replay = nullptr;
    const cudaError_t made = cudaGraphInstantiate(&replay, recorded);
    cudaGraphDestroy(recorded);
    CUDA_CHECK(made);
    *graph = replay;
  });
}

const char* ladder_graph_launch(void* graph, void* stream) {
  return sentence_of([&] {
    CUDA_CHECK(
        cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
  });
}

const char* ladder_graph_destroy(void* graph) {
  return sentence_of(
      [&] { CUDA_CHECK(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph))); });
}

}  // extern "C"
