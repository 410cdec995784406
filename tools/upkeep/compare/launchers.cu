#include "tools/upkeep/compare/launchers.h"

#include <cuda_runtime.h>

#include <cstdint>

#include <map>
#include <stdexcept>
#include <string>

#include "00_warmup/08_transpose/transpose.hpp"
#include "00_warmup/09_sum/sum.hpp"
#include "00_warmup/11_rows/rows.hpp"
#include "00_warmup/matmul.hpp"
#include "00_warmup/vector_add.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::bfloat16;
using ladder::float16;
using ladder::Implementation;

// Null, or what `work` threw.
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

template <typename Op, typename Args>
void launch(const Args& args, const Implementation& implementation, const std::string& op,
            const std::string& precision) {
  const auto launcher = ladder::launcher<Op, Args>(implementation);
  ladder::require(launcher != nullptr, implementation.name + " has no " + op + " for " + precision);
  launcher(args);
}

const Implementation& checked(const void* implementation) {
  ladder::require(implementation != nullptr,
                  "implementation is a null pointer; allowed: what ladder_find returned");
  return *static_cast<const Implementation*>(implementation);
}

template <typename Element, typename LogW>
void run_wkv(const Implementation& implementation, const std::string& op,
             const std::string& precision, const LadderWkv& c) {
  ladder::BasicWkvArgs<Element, LogW> args;
  args.B = c.B;
  args.T = c.T;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.q = static_cast<const Element*>(c.q);
  args.k = static_cast<const Element*>(c.k);
  args.v = static_cast<const Element*>(c.v);
  args.log_w = static_cast<const LogW*>(c.log_w);
  args.u = static_cast<const Element*>(c.u);
  args.initial_state = c.initial_state;
  args.o = static_cast<Element*>(c.o);
  args.final_state = c.final_state;
  args.log_w_stride_B = c.T * c.H * c.K;
  args.log_w_stride_T = c.H * c.K;
  args.scale = c.scale;
  const bool backward = op == "wkv_backward" || op == "gla_backward";
  ladder::require(backward || op == "wkv" || op == "gla",
                  "op is '" + op + "'; allowed: wkv, gla, wkv_backward, gla_backward");
  const bool gla = op[0] == 'g';
  if (!backward) {
    if (gla) return launch<ladder::Gla>(args, implementation, op, precision);
    return launch<ladder::Wkv>(args, implementation, op, precision);
  }
  ladder::BasicWkvGradArgs<Element, LogW> gradients;
  gradients.forward = args;
  gradients.d_o = static_cast<const Element*>(c.d_o);
  gradients.d_final_state = c.d_final_state;
  gradients.dq = static_cast<Element*>(c.dq);
  gradients.dk = static_cast<Element*>(c.dk);
  gradients.dv = static_cast<Element*>(c.dv);
  gradients.d_log_w = static_cast<LogW*>(c.d_log_w);
  gradients.du = c.du;
  gradients.d_initial_state = c.d_initial_state;
  if (gla) return launch<ladder::GlaBackward>(gradients, implementation, op, precision);
  launch<ladder::WkvBackward>(gradients, implementation, op, precision);
}

template <typename Element>
void run_linear_attention(const Implementation& implementation, const std::string& precision,
                          const LadderLinearAttention& c) {
  ladder::BasicLinearAttentionArgs<Element> args;
  args.B = c.B;
  args.T_q = c.T_q;
  args.T_k = c.T_k;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.q = static_cast<const Element*>(c.q);
  args.k = static_cast<const Element*>(c.k);
  args.v = static_cast<const Element*>(c.v);
  args.o = static_cast<Element*>(c.o);
  args.causal = c.causal != 0;
  args.feature_map =
      c.elu_plus_one != 0 ? ladder::FeatureMap::kEluPlusOne : ladder::FeatureMap::kIdentity;
  args.normalize = c.normalize != 0;
  args.eps = c.eps;
  launch<ladder::LinearAttention>(args, implementation, "linear_attention", precision);
}

template <typename Element>
void run_attention(const Implementation& implementation, const std::string& op,
                   const std::string& precision, const LadderAttention& c) {
  ladder::BasicAttentionArgs<Element> args;
  args.B = c.B;
  args.T_q = c.T_q;
  args.T_k = c.T_k;
  args.H_q = c.H_q;
  args.H_kv = c.H_kv;
  args.D = c.D;
  args.q = static_cast<const Element*>(c.q);
  args.k = static_cast<const Element*>(c.k);
  args.v = static_cast<const Element*>(c.v);
  args.o = static_cast<Element*>(c.o);
  args.lse = c.lse;
  args.causal = c.causal != 0;
  args.scale = c.scale;
  if (op == "attention") {
    launch<ladder::Attention>(args, implementation, op, precision);
    return;
  }
  ladder::require(op == "attention_backward",
                  "op is '" + op + "'; allowed: attention, attention_backward");
  ladder::BasicAttentionGradArgs<Element> gradients;
  gradients.forward = args;
  gradients.d_o = static_cast<const Element*>(c.d_o);
  gradients.dq = static_cast<Element*>(c.dq);
  gradients.dk = static_cast<Element*>(c.dk);
  gradients.dv = static_cast<Element*>(c.dv);
  launch<ladder::AttentionBackward>(gradients, implementation, op, precision);
}

template <typename Op, typename Args>
void run_warmup(const Implementation& implementation, const std::string& op,
                const std::int64_t* sizes, void* const* arrays) {
  Args args;
  Args::fields(args, [&](const char*, auto& value, auto... least) {
    if constexpr (sizeof...(least) > 0) value = *sizes++;
  });
  Args::arrays(args, [&](const char*, auto& pointer, const ladder::Axes&, auto...) {
    pointer = static_cast<std::decay_t<decltype(pointer)>>(*arrays++);
  });
  launch<Op>(args, implementation, op, "fp32");
}

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    copy_kernel(const int4* from, int4* to, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = from[i];
}

// Four loads of 16 bytes in flight in each thread, the next four far away.
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
  // Never so, and the compiler does not know it: it must keep the loads.
  if (bits.x == 0x12345678 && bits.y == 0x12345678 && bits.z == 0 && bits.w == -1) __trap();
}

std::int64_t vectors_in(std::int64_t bytes) {
  constexpr std::int64_t vector = sizeof(int4), most = vector * kThreads * INT32_MAX;
  ladder::require(bytes > 0 && bytes % vector == 0 && bytes <= most,
                  "bytes is " + std::to_string(bytes) + "; allowed: multiples of 16 up to " +
                      std::to_string(most));
  return bytes / vector;
}

[[noreturn]] void refuse_precision(const std::string& precision, const char* allowed) {
  throw std::invalid_argument("precision is '" + precision + "'; allowed: " + allowed);
}

// What every implementation is found by, made once: a call must not pay for a search.
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

const char* ladder_implementations() {
  static const std::string names = [] {
    std::string lines;
    for (const auto& [name, implementation] : all())
      lines += name + "\n";
    return lines;
  }();
  return names.c_str();
}

const void* ladder_find(const char* name) {
  const auto found = all().find(name);
  return found == all().end() ? nullptr : &found->second;
}

const char* ladder_wkv(const void* implementation, const char* op, const char* precision,
                       const LadderWkv* args) {
  return sentence_of([&] {
    const std::string p = precision;
    if (p == "fp32") return run_wkv<float, float>(checked(implementation), op, p, *args);
    if (p == "bf16") return run_wkv<bfloat16, bfloat16>(checked(implementation), op, p, *args);
    if (p == "bf16_fp32_decay")
      return run_wkv<bfloat16, float>(checked(implementation), op, p, *args);
    refuse_precision(p, "fp32, bf16, bf16_fp32_decay");
  });
}

const char* ladder_linear_attention(const void* implementation, const char* precision,
                                    const LadderLinearAttention* args) {
  return sentence_of([&] {
    const std::string p = precision;
    if (p == "fp32") return run_linear_attention<float>(checked(implementation), p, *args);
    if (p == "bf16") return run_linear_attention<bfloat16>(checked(implementation), p, *args);
    refuse_precision(p, "fp32, bf16");
  });
}

const char* ladder_attention(const void* implementation, const char* op, const char* precision,
                             const LadderAttention* args) {
  return sentence_of([&] {
    const std::string p = precision;
    if (p == "fp32") return run_attention<float>(checked(implementation), op, p, *args);
    if (p == "bf16") return run_attention<bfloat16>(checked(implementation), op, p, *args);
    if (p == "fp16") return run_attention<float16>(checked(implementation), op, p, *args);
    refuse_precision(p, "fp32, bf16, fp16");
  });
}

const char* ladder_warmup(const void* implementation, const char* op, const std::int64_t* sizes,
                          void* const* arrays) {
  using namespace warmup;
  return sentence_of([&] {
    using Run =
        void (*)(const Implementation&, const std::string&, const std::int64_t*, void* const*);
    static const std::map<std::string, Run> runs = {
        {"vector_add", run_warmup<VectorAdd, VectorAddArgs>},
        {"transpose", run_warmup<Transpose, TransposeArgs>},
        {"sum", run_warmup<Sum, SumArgs>},
        {"softmax", run_warmup<Softmax, SoftmaxArgs>},
        {"rms_norm", run_warmup<RmsNorm, RmsNormArgs>},
        {"matmul", run_warmup<Matmul, MatmulArgs>}};
    const auto run = runs.find(op);
    ladder::require(run != runs.end(),
                    "op is '" + std::string(op) +
                        "'; allowed: vector_add, transpose, sum, softmax, rms_norm, matmul");
    run->second(checked(implementation), op, sizes, arrays);
  });
}

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

const char* ladder_record_begin() {
  return sentence_of([] {
    CUDA_CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
  });
}

const char* ladder_record_end(void** graph) {
  return sentence_of([&] {
    cudaGraph_t recorded = nullptr;
    const cudaError_t status = cudaStreamEndCapture(cudaStreamPerThread, &recorded);
    cudaGetLastError();  // what cannot be recorded leaves an error behind
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
