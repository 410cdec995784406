// A problem on a device, the way tests and the ladder run it: outputs are poisoned with NaN, every array stands between
// guard zones, and inputs must come back unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/core/device.hpp"
#include "common/core/problem.hpp"
#include "common/core/registry.hpp"

namespace ladder {

// An implementation wrote where it must not: into a guard zone or over an input. The message names the array.
struct WroteElsewhere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// While it lives, a GuardedArray of this name begins one element behind an aligned address: it is no better aligned than an element.
class ShiftedArray {
 public:
  explicit ShiftedArray(std::string array);
  ~ShiftedArray();
  ShiftedArray(const ShiftedArray&) = delete;
  ShiftedArray& operator=(const ShiftedArray&) = delete;

  bool used() const { return used_; }  // whether there was such an array

 private:
  friend class GuardedArray;
  std::string array_;
  bool used_ = false;
};

// The bytes of one array on a device, between two guard zones of kGuardBytes.
class GuardedArray {
 public:
  static constexpr std::size_t kGuardBytes = 256;

  enum class Role { kInput, kOutput };

  // Holds a copy of the elements; a null pointer where there are none.
  template <typename Element>
  GuardedArray(Device& device, std::string name, const std::vector<Element>& elements, Role role)
      : GuardedArray(device, std::move(name), elements.data(), elements.size() * sizeof(Element),
                     sizeof(Element)) {
    if (base_ == nullptr) return;
    device_.name_memory(pointer(), elements.size() * sizeof(Element), name_, sizeof(Element),
                        role == Role::kInput);
  }
  ~GuardedArray();
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  void* pointer() const;
  void download(void* to_host) const;
  void check_guards() const;     // throws WroteElsewhere
  void check_unchanged() const;  // guards, and that the contents are what was uploaded

 private:
  GuardedArray(Device& device, std::string name, const void* host, std::size_t bytes,
               std::size_t element_bytes);
  std::vector<unsigned char> download_all() const;

  Device& device_;
  std::string name_;
  std::vector<unsigned char> uploaded_;  // guards included
  unsigned char* base_ = nullptr;
  std::size_t front_ = kGuardBytes;  // bytes before the first element
};

struct WkvOutputs {
  std::vector<float> o;            // (B, T, H, V)
  std::vector<float> final_state;  // (sequences, H, K, V); empty where the case does not ask for it
};

struct AttentionOutputs {
  std::vector<float> o;    // (B, T_q, H_q, D)
  std::vector<float> lse;  // (B, H_q, T_q)

  bool operator==(const AttentionOutputs&) const = default;
};

// What the forward pass reads, stored as these types.
template <typename Element, typename LogW>
class WkvInputsOnDevice {
 public:
  WkvInputsOnDevice(Device& device, const WkvProblem& problem);
  BasicWkvArgs<Element, LogW> args() const;  // o and final_state are null
  void check_unchanged() const;              // throws WroteElsewhere

 private:
  GuardedArray q_, k_, v_, log_w_, u_, initial_state_, cu_seqlens_;
  BasicWkvArgs<Element, LogW> sizes_;
};

// A WKV or GLA problem whose tensors are stored as these types.
template <typename Element, typename LogW = Element>
class BasicWkvOnDevice {
 public:
  using Args = BasicWkvArgs<Element, LogW>;

  BasicWkvOnDevice(Device& device, const WkvProblem& problem);
  const Args& args() const { return args_; }
  WkvOutputs download() const;  // throws WroteElsewhere

 private:
  WkvInputsOnDevice<Element, LogW> inputs_;
  WkvOutputs outputs_;
  GuardedArray o_, final_state_;
  Args args_;
};

// The same for its gradients.
template <typename Element, typename LogW = Element>
class BasicWkvGradOnDevice {
 public:
  using Args = BasicWkvGradArgs<Element, LogW>;

  BasicWkvGradOnDevice(Device& device, const WkvGradProblem& problem);
  const Args& args() const { return args_; }
  WkvGradients download() const;  // throws WroteElsewhere

 private:
  WkvInputsOnDevice<Element, LogW> inputs_;
  GuardedArray d_o_, d_final_state_;
  WkvGradients outputs_;
  GuardedArray dq_, dk_, dv_, d_log_w_, du_, d_initial_state_;
  Args args_;
};

using WkvOnDevice = BasicWkvOnDevice<float>;

// Calls work.template operator()<Element, LogW>() with the types that precision stands for. std::invalid_argument for fp16, as in
// with_element.
template <typename Work>
auto with_types(Precision precision, const Work& work) {
  refuse_fp16(precision);
  switch (precision) {
    case Precision::kBf16: return work.template operator()<bfloat16, bfloat16>();
    case Precision::kBf16Fp32Decay: return work.template operator()<bfloat16, float>();
    default: return work.template operator()<float, float>();
  }
}

// The same for linear attention: work.template operator()<Element>().
template <typename Work>
auto with_element(Precision precision, const Work& work) {
  refuse_fp16(precision);
  if (precision == Precision::kFp32) return work.template operator()<float>();
  return work.template operator()<bfloat16>();
}

// The same for softmax attention, which has fp16 and no decay.
template <typename Work>
auto with_attention_element(Precision precision, const Work& work) {
  switch (precision) {
    case Precision::kFp16: return work.template operator()<float16>();
    case Precision::kBf16: return work.template operator()<bfloat16>();
    default: return work.template operator()<float>();
  }
}

template <typename Element>
class BasicLinearAttentionOnDevice {
 public:
  using Args = BasicLinearAttentionArgs<Element>;

  BasicLinearAttentionOnDevice(Device& device, const LinearAttentionProblem& problem);
  const Args& args() const { return args_; }
  std::vector<float> download() const;  // (B, T_q, H, V); throws WroteElsewhere

 private:
  GuardedArray q_, k_, v_, key_lengths_;
  std::vector<float> output_;
  GuardedArray o_;
  Args args_;
};

using LinearAttentionOnDevice = BasicLinearAttentionOnDevice<float>;

// What the forward pass of softmax attention reads.
template <typename Element>
class AttentionInputsOnDevice {
 public:
  AttentionInputsOnDevice(Device& device, const AttentionProblem& problem);
  BasicAttentionArgs<Element> args() const;  // o and lse are null
  void check_unchanged() const;              // throws WroteElsewhere

 private:
  GuardedArray q_, k_, v_, key_lengths_, cu_seqlens_q_, cu_seqlens_k_;
  BasicAttentionArgs<Element> sizes_;
};

template <typename Element>
class BasicAttentionOnDevice {
 public:
  using Args = BasicAttentionArgs<Element>;

  BasicAttentionOnDevice(Device& device, const AttentionProblem& problem);
  const Args& args() const { return args_; }
  AttentionOutputs download() const;  // throws WroteElsewhere

 private:
  AttentionInputsOnDevice<Element> inputs_;
  AttentionOutputs outputs_;
  GuardedArray o_, lse_;
  Args args_;
};

template <typename Element>
class BasicAttentionGradOnDevice {
 public:
  using Args = BasicAttentionGradArgs<Element>;

  BasicAttentionGradOnDevice(Device& device, const AttentionGradProblem& problem);
  const Args& args() const { return args_; }
  AttentionGradients download() const;  // throws WroteElsewhere

 private:
  AttentionInputsOnDevice<Element> inputs_;
  GuardedArray o_, lse_, d_o_;
  AttentionGradients outputs_;
  GuardedArray dq_, dk_, dv_;
  Args args_;
};

// Calls work.template operator()<OnDevice>(launch) with the type that holds the problem on a device, and the implementation's
// launcher for it: null if it has none.
template <typename Work>
auto with_launcher(const Implementation& implementation, const WkvProblem& problem,
                   const Work& work) {
  const WkvCase& c = problem.wkv_case;
  return with_types(c.precision, [&]<typename Element, typename LogW>() {
    return work.template operator()<BasicWkvOnDevice<Element, LogW>>(
        wkv_launcher<Element, LogW>(implementation, c.recurrence));
  });
}
template <typename Work>
auto with_launcher(const Implementation& implementation, const WkvGradProblem& problem,
                   const Work& work) {
  const WkvCase& c = problem.forward.wkv_case;
  return with_types(c.precision, [&]<typename Element, typename LogW>() {
    return work.template operator()<BasicWkvGradOnDevice<Element, LogW>>(
        wkv_backward_launcher<Element, LogW>(implementation, c.recurrence));
  });
}
template <typename Work>
auto with_launcher(const Implementation& implementation, const LinearAttentionProblem& problem,
                   const Work& work) {
  return with_element(problem.attention_case.precision, [&]<typename Element>() {
    return work.template operator()<BasicLinearAttentionOnDevice<Element>>(
        linear_attention_launcher<Element>(implementation));
  });
}

template <typename Work>
auto with_launcher(const Implementation& implementation, const AttentionProblem& problem,
                   const Work& work) {
  return with_attention_element(problem.attention_case.precision, [&]<typename Element>() {
    return work.template operator()<BasicAttentionOnDevice<Element>>(
        attention_launcher<Element>(implementation));
  });
}
template <typename Work>
auto with_launcher(const Implementation& implementation, const AttentionGradProblem& problem,
                   const Work& work) {
  return with_attention_element(problem.forward.attention_case.precision, [&]<typename Element>() {
    return work.template operator()<BasicAttentionGradOnDevice<Element>>(
        attention_backward_launcher<Element>(implementation));
  });
}

// What the implementation says its products are made of in this precision.
Arithmetic arithmetic_of(const Implementation& implementation, Precision precision);

// Each runs once on fresh, poisoned outputs. Throws what the implementation throws, or WroteElsewhere.
WkvOutputs run(const Implementation& implementation, const WkvProblem& problem);
WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem);
std::vector<float> run(const Implementation& implementation, const LinearAttentionProblem& problem);
AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem);
AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem);

}  // namespace ladder
