#include "common/core/device_problem.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "common/core/errors.hpp"

namespace ladder {
namespace {

constexpr unsigned char kGuardByte = 0xA5;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Role = GuardedArray::Role;

ShiftedArray* shifted_array = nullptr;

}  // namespace

ShiftedArray::ShiftedArray(std::string array) : array_(std::move(array)) {
  require(shifted_array == nullptr, "an array is shifted already; allowed: one at a time");
  shifted_array = this;
}

ShiftedArray::~ShiftedArray() {
  shifted_array = nullptr;
}

GuardedArray::GuardedArray(Device& device, std::string name, const void* host, std::size_t bytes,
                           std::size_t element_bytes)
    : device_(device), name_(std::move(name)) {
  if (bytes == 0) return;
  if (shifted_array != nullptr && shifted_array->array_ == name_) {
    front_ += element_bytes;
    shifted_array->used_ = true;
  }
  uploaded_.assign(front_ + bytes + kGuardBytes, kGuardByte);
  std::memcpy(uploaded_.data() + front_, host, bytes);
  base_ = static_cast<unsigned char*>(device_.allocate(uploaded_.size()));
  device_.upload(base_, uploaded_.data(), uploaded_.size());
}

GuardedArray::~GuardedArray() {
  if (base_ != nullptr) device_.release(base_);
}

void* GuardedArray::pointer() const {
  return base_ == nullptr ? nullptr : base_ + front_;
}

std::vector<unsigned char> GuardedArray::download_all() const {
  std::vector<unsigned char> now(uploaded_.size());
  if (base_ != nullptr) device_.download(now.data(), base_, now.size());
  return now;
}

void GuardedArray::download(void* to_host) const {
  if (base_ == nullptr) return;
  device_.download(to_host, base_ + front_, uploaded_.size() - front_ - kGuardBytes);
}

void GuardedArray::check_guards() const {
  const std::vector<unsigned char> now = download_all();
  const auto is_guard = [](unsigned char byte) { return byte == kGuardByte; };
  if (now.empty()) return;
  if (!std::all_of(now.begin(), now.begin() + front_, is_guard)) {
    throw WroteElsewhere("memory in front of " + name_ + " was overwritten");
  }
  if (!std::all_of(now.end() - kGuardBytes, now.end(), is_guard)) {
    throw WroteElsewhere("memory behind " + name_ + " was overwritten");
  }
}

void GuardedArray::check_unchanged() const {
  check_guards();
  if (download_all() != uploaded_) throw WroteElsewhere("the input " + name_ + " was overwritten");
}

namespace {

template <typename Element>
std::vector<Element> stored_as(const std::vector<float>& values) {
  if constexpr (std::is_same_v<Element, float>) {
    return values;
  } else {
    std::vector<Element> stored(values.size());
    std::transform(values.begin(), values.end(), stored.begin(), [](float x) {
      if constexpr (std::is_same_v<Element, bfloat16>) return to_bfloat16(x);
      if constexpr (std::is_same_v<Element, float16>) return to_float16(x);
    });
    return stored;
  }
}

std::vector<float> poisoned(std::size_t count) {
  return std::vector<float>(count, kNan);
}

// The elements of an array with intact guards.
template <typename Element>
std::vector<float> downloaded(const GuardedArray& array, std::size_t count) {
  array.check_guards();
  std::vector<Element> stored(count);
  array.download(stored.data());
  std::vector<float> values(count);
  std::transform(stored.begin(), stored.end(), values.begin(),
                 [](Element x) { return to_float(x); });
  return values;
}

std::size_t state_elements(const WkvCase& c) {
  return static_cast<std::size_t>(c.sequences() * c.H * c.K * c.V);
}

}  // namespace

template <typename Element, typename LogW>
WkvInputsOnDevice<Element, LogW>::WkvInputsOnDevice(Device& device, const WkvProblem& p)
    : q_(device, "q", stored_as<Element>(p.q.data), Role::kInput),
      k_(device, "k", stored_as<Element>(p.k.data), Role::kInput),
      v_(device, "v", stored_as<Element>(p.v.data), Role::kInput),
      log_w_(device, "log_w", stored_as<LogW>(p.log_w.data), Role::kInput),
      u_(device, "u", stored_as<Element>(p.u.data), Role::kInput),
      initial_state_(device, "initial_state", p.initial_state.data, Role::kInput),
      cu_seqlens_(device, "cu_seqlens", p.cu_seqlens.data, Role::kInput),
      sizes_(p.sizes<Element, LogW>()) {}

template <typename Element, typename LogW>
BasicWkvArgs<Element, LogW> WkvInputsOnDevice<Element, LogW>::args() const {
  BasicWkvArgs<Element, LogW> args = sizes_;
  args.q = static_cast<const Element*>(q_.pointer());
  args.k = static_cast<const Element*>(k_.pointer());
  args.v = static_cast<const Element*>(v_.pointer());
  args.log_w = static_cast<const LogW*>(log_w_.pointer());
  args.u = static_cast<const Element*>(u_.pointer());
  args.initial_state = static_cast<const float*>(initial_state_.pointer());
  args.cu_seqlens = static_cast<const std::int64_t*>(cu_seqlens_.pointer());
  return args;
}

template <typename Element, typename LogW>
void WkvInputsOnDevice<Element, LogW>::check_unchanged() const {
  for (const GuardedArray* input : {&q_, &k_, &v_, &log_w_, &u_, &initial_state_, &cu_seqlens_})
    input->check_unchanged();
}

template <typename Element, typename LogW>
BasicWkvOnDevice<Element, LogW>::BasicWkvOnDevice(Device& device, const WkvProblem& p)
    : inputs_(device, p),
      outputs_{poisoned(p.v.data.size()),
               poisoned(p.wkv_case.final_state ? state_elements(p.wkv_case) : 0)},
      o_(device, "o", stored_as<Element>(outputs_.o), Role::kOutput),
      final_state_(device, "final_state", outputs_.final_state, Role::kOutput),
      args_(inputs_.args()) {
  args_.o = static_cast<Element*>(o_.pointer());
  args_.final_state = static_cast<float*>(final_state_.pointer());
}

template <typename Element, typename LogW>
WkvOutputs BasicWkvOnDevice<Element, LogW>::download() const {
  inputs_.check_unchanged();
  return {downloaded<Element>(o_, outputs_.o.size()),
          downloaded<float>(final_state_, outputs_.final_state.size())};
}

template class WkvInputsOnDevice<float, float>;
template class WkvInputsOnDevice<bfloat16, bfloat16>;
template class WkvInputsOnDevice<bfloat16, float>;
template class BasicWkvOnDevice<float>;
template class BasicWkvOnDevice<bfloat16>;
template class BasicWkvOnDevice<bfloat16, float>;

template <typename Element, typename LogW>
BasicWkvGradOnDevice<Element, LogW>::BasicWkvGradOnDevice(Device& device, const WkvGradProblem& p)
    : inputs_(device, p.forward),
      d_o_(device, "d_o", stored_as<Element>(p.d_o.data), Role::kInput),
      d_final_state_(device, "d_final_state", p.d_final_state.data, Role::kInput),
      outputs_{poisoned(p.forward.q.data.size()), poisoned(p.forward.k.data.size()),
               poisoned(p.forward.v.data.size()), poisoned(p.forward.log_w.data.size()),
               poisoned(p.forward.u.data.size()), poisoned(p.forward.initial_state.data.size())},
      dq_(device, "dq", stored_as<Element>(outputs_.dq), Role::kOutput),
      dk_(device, "dk", stored_as<Element>(outputs_.dk), Role::kOutput),
      dv_(device, "dv", stored_as<Element>(outputs_.dv), Role::kOutput),
      d_log_w_(device, "d_log_w", stored_as<LogW>(outputs_.d_log_w), Role::kOutput),
      du_(device, "du", outputs_.du, Role::kOutput),
      d_initial_state_(device, "d_initial_state", outputs_.d_initial_state, Role::kOutput) {
  args_.forward = inputs_.args();
  args_.d_o = static_cast<const Element*>(d_o_.pointer());
  args_.d_final_state = static_cast<const float*>(d_final_state_.pointer());
  args_.dq = static_cast<Element*>(dq_.pointer());
  args_.dk = static_cast<Element*>(dk_.pointer());
  args_.dv = static_cast<Element*>(dv_.pointer());
  args_.d_log_w = static_cast<LogW*>(d_log_w_.pointer());
  args_.du = static_cast<float*>(du_.pointer());
  args_.d_initial_state = static_cast<float*>(d_initial_state_.pointer());
}

template <typename Element, typename LogW>
WkvGradients BasicWkvGradOnDevice<Element, LogW>::download() const {
  inputs_.check_unchanged();
  d_o_.check_unchanged();
  d_final_state_.check_unchanged();
  return {downloaded<Element>(dq_, outputs_.dq.size()),
          downloaded<Element>(dk_, outputs_.dk.size()),
          downloaded<Element>(dv_, outputs_.dv.size()),
          downloaded<LogW>(d_log_w_, outputs_.d_log_w.size()),
          downloaded<float>(du_, outputs_.du.size()),
          downloaded<float>(d_initial_state_, outputs_.d_initial_state.size())};
}

template class BasicWkvGradOnDevice<float>;
template class BasicWkvGradOnDevice<bfloat16>;
template class BasicWkvGradOnDevice<bfloat16, float>;

template <typename Element>
BasicLinearAttentionOnDevice<Element>::BasicLinearAttentionOnDevice(Device& device,
                                                                    const LinearAttentionProblem& p)
    : q_(device, "q", stored_as<Element>(p.q.data), Role::kInput),
      k_(device, "k", stored_as<Element>(p.k.data), Role::kInput),
      v_(device, "v", stored_as<Element>(p.v.data), Role::kInput),
      key_lengths_(device, "key_lengths", p.key_lengths.data, Role::kInput),
      output_(poisoned(p.attention_case.B * p.attention_case.T_q * p.attention_case.H *
                       p.attention_case.V)),
      o_(device, "o", stored_as<Element>(output_), Role::kOutput),
      args_(p.sizes<Element>()) {
  args_.q = static_cast<const Element*>(q_.pointer());
  args_.k = static_cast<const Element*>(k_.pointer());
  args_.v = static_cast<const Element*>(v_.pointer());
  args_.key_lengths = static_cast<const std::int64_t*>(key_lengths_.pointer());
  args_.o = static_cast<Element*>(o_.pointer());
}

template <typename Element>
std::vector<float> BasicLinearAttentionOnDevice<Element>::download() const {
  for (const GuardedArray* input : {&q_, &k_, &v_, &key_lengths_})
    input->check_unchanged();
  return downloaded<Element>(o_, output_.size());
}

template class BasicLinearAttentionOnDevice<float>;
template class BasicLinearAttentionOnDevice<bfloat16>;

template <typename Element>
AttentionInputsOnDevice<Element>::AttentionInputsOnDevice(Device& device, const AttentionProblem& p)
    : q_(device, "q", stored_as<Element>(p.q.data), Role::kInput),
      k_(device, "k", stored_as<Element>(p.k.data), Role::kInput),
      v_(device, "v", stored_as<Element>(p.v.data), Role::kInput),
      key_lengths_(device, "key_lengths", p.key_lengths.data, Role::kInput),
      cu_seqlens_q_(device, "cu_seqlens_q", p.cu_seqlens_q.data, Role::kInput),
      cu_seqlens_k_(device, "cu_seqlens_k", p.cu_seqlens_k.data, Role::kInput),
      sizes_(p.sizes<Element>()) {}

template <typename Element>
BasicAttentionArgs<Element> AttentionInputsOnDevice<Element>::args() const {
  BasicAttentionArgs<Element> args = sizes_;
  args.q = static_cast<const Element*>(q_.pointer());
  args.k = static_cast<const Element*>(k_.pointer());
  args.v = static_cast<const Element*>(v_.pointer());
  args.key_lengths = static_cast<const std::int64_t*>(key_lengths_.pointer());
  args.cu_seqlens_q = static_cast<const std::int64_t*>(cu_seqlens_q_.pointer());
  args.cu_seqlens_k = static_cast<const std::int64_t*>(cu_seqlens_k_.pointer());
  return args;
}

template <typename Element>
void AttentionInputsOnDevice<Element>::check_unchanged() const {
  for (const GuardedArray* input : {&q_, &k_, &v_, &key_lengths_, &cu_seqlens_q_, &cu_seqlens_k_})
    input->check_unchanged();
}

template <typename Element>
BasicAttentionOnDevice<Element>::BasicAttentionOnDevice(Device& device, const AttentionProblem& p)
    : inputs_(device, p),
      outputs_{poisoned(p.q.data.size()),
               poisoned(p.attention_case.B * p.attention_case.H_q * p.attention_case.T_q)},
      o_(device, "o", stored_as<Element>(outputs_.o), Role::kOutput),
      lse_(device, "lse", outputs_.lse, Role::kOutput),
      args_(inputs_.args()) {
  args_.o = static_cast<Element*>(o_.pointer());
  args_.lse = static_cast<float*>(lse_.pointer());
}

template <typename Element>
AttentionOutputs BasicAttentionOnDevice<Element>::download() const {
  inputs_.check_unchanged();
  return {downloaded<Element>(o_, outputs_.o.size()), downloaded<float>(lse_, outputs_.lse.size())};
}

template <typename Element>
BasicAttentionGradOnDevice<Element>::BasicAttentionGradOnDevice(Device& device,
                                                                const AttentionGradProblem& p)
    : inputs_(device, p.forward),
      o_(device, "o", stored_as<Element>(p.o.data), Role::kInput),
      lse_(device, "lse", p.lse.data, Role::kInput),
      d_o_(device, "d_o", stored_as<Element>(p.d_o.data), Role::kInput),
      outputs_{poisoned(p.forward.q.data.size()), poisoned(p.forward.k.data.size()),
               poisoned(p.forward.v.data.size())},
      dq_(device, "dq", stored_as<Element>(outputs_.dq), Role::kOutput),
      dk_(device, "dk", stored_as<Element>(outputs_.dk), Role::kOutput),
      dv_(device, "dv", stored_as<Element>(outputs_.dv), Role::kOutput) {
  args_.forward = inputs_.args();
  args_.forward.o = static_cast<Element*>(o_.pointer());
  args_.forward.lse = static_cast<float*>(lse_.pointer());
  args_.d_o = static_cast<const Element*>(d_o_.pointer());
  args_.dq = static_cast<Element*>(dq_.pointer());
  args_.dk = static_cast<Element*>(dk_.pointer());
  args_.dv = static_cast<Element*>(dv_.pointer());
}

template <typename Element>
AttentionGradients BasicAttentionGradOnDevice<Element>::download() const {
  inputs_.check_unchanged();
  for (const GuardedArray* input : {&o_, &lse_, &d_o_})
    input->check_unchanged();
  return {downloaded<Element>(dq_, outputs_.dq.size()),
          downloaded<Element>(dk_, outputs_.dk.size()),
          downloaded<Element>(dv_, outputs_.dv.size())};
}

template class AttentionInputsOnDevice<float>;
template class AttentionInputsOnDevice<bfloat16>;
template class AttentionInputsOnDevice<float16>;
template class BasicAttentionOnDevice<float>;
template class BasicAttentionOnDevice<bfloat16>;
template class BasicAttentionOnDevice<float16>;
template class BasicAttentionGradOnDevice<float>;
template class BasicAttentionGradOnDevice<bfloat16>;
template class BasicAttentionGradOnDevice<float16>;

Arithmetic arithmetic_of(const Implementation& implementation, Precision precision) {
  return precision == Precision::kFp32 ? Arithmetic::kFp32 : implementation.bf16_arithmetic;
}

namespace {

template <typename Problem>
auto run_once(const Implementation& implementation, const char* op, const Problem& problem) {
  return with_launcher(implementation, problem, [&]<typename OnDevice>(const auto& launch) {
    require(launch != nullptr,
            implementation.name + " does not compute " + op + " in this precision");
    Device& where = device(implementation.device);
    const OnDevice on_device(where, problem);
    launch(on_device.args());
    where.synchronize();
    return on_device.download();
  });
}

bool is_gla(const WkvProblem& problem) {
  return problem.wkv_case.recurrence == Recurrence::kGla;
}

}  // namespace

WkvOutputs run(const Implementation& implementation, const WkvProblem& problem) {
  return run_once(implementation, is_gla(problem) ? "GLA" : "WKV", problem);
}

WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem) {
  return run_once(implementation,
                  is_gla(problem.forward) ? "the gradients of GLA" : "the gradients of WKV",
                  problem);
}

std::vector<float> run(const Implementation& implementation,
                       const LinearAttentionProblem& problem) {
  return run_once(implementation, "linear attention", problem);
}

AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem) {
  return run_once(implementation, "softmax attention", problem);
}

AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem) {
  return run_once(implementation, "the gradients of softmax attention", problem);
}

}  // namespace ladder
