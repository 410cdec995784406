// The registry of implementations: a chapter puts its launchers in, tests and the ladder find them here.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/core/attention.hpp"
#include "common/core/linear_attention.hpp"
#include "common/core/wkv.hpp"

namespace ladder {

// Where an implementation runs, and so where its pointers must point.
enum class DeviceKind { kCpu, kCuda };

// What products are made of. Sums and states are fp32 in either.
enum class Arithmetic {
  kFp32,
  kBf16Operands,  // rounded to bf16 at each use, as tensor cores take them: decayed q and k, v, states, scores. What is stored
                  // in fp16 is rounded to fp16 instead.
};

// What an implementation's products run on: the ceiling that is its own.
enum class Units {
  kCores,        // fp32 multiply-adds of a CPU or of a GPU's CUDA cores
  kTensorCores,  // products that a warp issues (mma.sync); of fp32 tensors each as three TF32 products
  kWarpgroups,  // products that a Hopper GPU's warpgroup issues (WGMMA)
};

// One idea of one chapter, for one operator: the launchers it has, one per precision. Each throws std::invalid_argument for bad
// arguments before anything is written.
struct Implementation {
  std::string name = {};     // "wkv_atomic": unique, the idea in a word
  std::string chapter = {};  // "03_cuda_baseline"
  int step = 0;              // its place in the chapter, for those with the same operator
  DeviceKind device = DeviceKind::kCpu;
  // On the ladder `./ladder run` climbs; the others are variants, shown by `--all`.
  bool rung = false;
  // Of the launchers for bf16 and fp16; what is stored in fp32 is computed in fp32.
  Arithmetic bf16_arithmetic = Arithmetic::kFp32;
  Units units = Units::kCores;
  // The multiply-adds that it cannot do without, as a share of those that the operator's cost counts: a recurrence's cost
  // counts three for each element of the state and step, and there is algebra that needs fewer.
  double fma_share = 1.0;
  std::function<void(const WkvArgs&)> wkv = nullptr;
  std::function<void(const WkvBf16Args&)> wkv_bf16 = nullptr;
  std::function<void(const WkvBf16Fp32DecayArgs&)> wkv_bf16_fp32_decay = nullptr;
  std::function<void(const WkvArgs&)> gla = nullptr;
  std::function<void(const WkvBf16Args&)> gla_bf16 = nullptr;
  std::function<void(const WkvBf16Fp32DecayArgs&)> gla_bf16_fp32_decay = nullptr;
  std::function<void(const WkvGradArgs&)> wkv_backward = nullptr;
  std::function<void(const WkvGradBf16Args&)> wkv_backward_bf16 = nullptr;
  std::function<void(const WkvGradBf16Fp32DecayArgs&)> wkv_backward_bf16_fp32_decay = nullptr;
  std::function<void(const WkvGradArgs&)> gla_backward = nullptr;
  std::function<void(const WkvGradBf16Args&)> gla_backward_bf16 = nullptr;
  std::function<void(const WkvGradBf16Fp32DecayArgs&)> gla_backward_bf16_fp32_decay = nullptr;
  std::function<void(const LinearAttentionArgs&)> linear_attention = nullptr;
  std::function<void(const LinearAttentionBf16Args&)> linear_attention_bf16 = nullptr;
  std::function<void(const AttentionArgs&)> attention = nullptr;
  std::function<void(const AttentionBf16Args&)> attention_bf16 = nullptr;
  std::function<void(const AttentionFp16Args&)> attention_fp16 = nullptr;
  std::function<void(const AttentionGradArgs&)> attention_backward = nullptr;
  std::function<void(const AttentionGradBf16Args&)> attention_backward_bf16 = nullptr;
  std::function<void(const AttentionGradFp16Args&)> attention_backward_fp16 = nullptr;
  std::string source =
      {};  // the file that registers it, "03_cuda_baseline/kernel.cu": set by Registration
};

// An implementation that this program was built without.
struct AbsentImplementation {
  std::string name = {}, chapter = {}, source = {};
  int step = 0;
  bool rung = false;
  std::string needs = {};                   // "a Hopper GPU (sm_90a) and nvcc"
  std::vector<std::string> launchers = {};  // as Implementation calls them: "attention_bf16"
};

// The one of three launchers that is for these types: float, or bfloat16 with either log_w.
template <typename Element, typename LogW, typename Fp32, typename Bf16, typename Bf16Fp32Decay>
const auto& for_types(const Fp32& fp32, const Bf16& bf16, const Bf16Fp32Decay& bf16_fp32_decay) {
  static_assert(!std::is_same_v<Element, float16>);
  if constexpr (std::is_same_v<Element, float>) {
    return fp32;
  } else if constexpr (std::is_same_v<LogW, float>) {
    return bf16_fp32_decay;
  } else {
    return bf16;
  }
}

// The implementation's launcher for these types; null if it has none.
template <typename Element, typename LogW>
const std::function<void(const BasicWkvArgs<Element, LogW>&)>& wkv_launcher(
    const Implementation& i, Recurrence recurrence = Recurrence::kWkv) {
  return recurrence == Recurrence::kGla
             ? for_types<Element, LogW>(i.gla, i.gla_bf16, i.gla_bf16_fp32_decay)
             : for_types<Element, LogW>(i.wkv, i.wkv_bf16, i.wkv_bf16_fp32_decay);
}

template <typename Element, typename LogW>
const std::function<void(const BasicWkvGradArgs<Element, LogW>&)>& wkv_backward_launcher(
    const Implementation& i, Recurrence recurrence = Recurrence::kWkv) {
  return recurrence == Recurrence::kGla
             ? for_types<Element, LogW>(i.gla_backward, i.gla_backward_bf16,
                                        i.gla_backward_bf16_fp32_decay)
             : for_types<Element, LogW>(i.wkv_backward, i.wkv_backward_bf16,
                                        i.wkv_backward_bf16_fp32_decay);
}

template <typename Element>
const std::function<void(const BasicLinearAttentionArgs<Element>&)>& linear_attention_launcher(
    const Implementation& i) {
  return for_types<Element, Element>(i.linear_attention, i.linear_attention_bf16,
                                     i.linear_attention_bf16);
}

template <typename Element, typename Fp32, typename Bf16, typename Fp16>
const auto& for_element(const Fp32& fp32, const Bf16& bf16, const Fp16& fp16) {
  if constexpr (std::is_same_v<Element, float>) {
    return fp32;
  } else if constexpr (std::is_same_v<Element, bfloat16>) {
    return bf16;
  } else {
    return fp16;
  }
}

template <typename Element>
const std::function<void(const BasicAttentionArgs<Element>&)>& attention_launcher(
    const Implementation& i) {
  return for_element<Element>(i.attention, i.attention_bf16, i.attention_fp16);
}

template <typename Element>
const std::function<void(const BasicAttentionGradArgs<Element>&)>& attention_backward_launcher(
    const Implementation& i) {
  return for_element<Element>(i.attention_backward, i.attention_backward_bf16,
                              i.attention_backward_fp16);
}

// All registered implementations, by chapter and step, and then in order of registration.
std::vector<Implementation> implementations();

// What was left out of this program, in the same order.
std::vector<AbsentImplementation> absent_implementations();

// The one with that name; std::invalid_argument lists the names there are, or says what an absent one needs.
Implementation find_implementation(const std::string& name);

// A chapter registers with a namespace-scope object: `const Registration registration{{...}};`
struct Registration {
  // __builtin_FILE: std::source_location is not known to every nvcc that can compile the chapters.
  explicit Registration(Implementation implementation, const char* file = __builtin_FILE());
};

// The build registers what it leaves out.
struct AbsentRegistration {
  explicit AbsentRegistration(AbsentImplementation implementation);
};

}  // namespace ladder
