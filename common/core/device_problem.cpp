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

}  // namespace

GuardedArray::GuardedArray(Device& device, std::string name, const void* host, std::size_t bytes)
    : device_(device), name_(std::move(name)) {
  if (bytes == 0) return;
  uploaded_.assign(bytes + 2 * kGuardBytes, kGuardByte);
  std::memcpy(uploaded_.data() + kGuardBytes, host, bytes);
  base_ = static_cast<unsigned char*>(device_.allocate(uploaded_.size()));
  device_.upload(base_, uploaded_.data(), uploaded_.size());
}

GuardedArray::~GuardedArray() {
  if (base_ != nullptr) device_.release(base_);
}

void* GuardedArray::pointer() const {
  return base_ == nullptr ? nullptr : base_ + kGuardBytes;
}

std::vector<unsigned char> GuardedArray::download_all() const {
  std::vector<unsigned char> now(uploaded_.size());
  if (base_ != nullptr) device_.download(now.data(), base_, now.size());
  return now;
}

void GuardedArray::download(void* to_host) const {
  if (base_ == nullptr) return;
  device_.download(to_host, base_ + kGuardBytes, uploaded_.size() - 2 * kGuardBytes);
}

void GuardedArray::check_guards() const {
  const std::vector<unsigned char> now = download_all();
  const auto is_guard = [](unsigned char byte) { return byte == kGuardByte; };
  if (now.empty()) return;
  if (!std::all_of(now.begin(), now.begin() + kGuardBytes, is_guard)) {
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
    std::transform(values.begin(), values.end(), stored.begin(), to_bfloat16);
    return stored;
  }
}

}  // namespace

template <typename Element, typename LogW>
BasicWkvOnDevice<Element, LogW>::BasicWkvOnDevice(Device& device, const WkvProblem& p)
    : q_(device, "q", stored_as<Element>(p.q.data), Role::kInput),
      k_(device, "k", stored_as<Element>(p.k.data), Role::kInput),
      v_(device, "v", stored_as<Element>(p.v.data), Role::kInput),
      log_w_(device, "log_w", stored_as<LogW>(p.log_w.data), Role::kInput),
      u_(device, "u", stored_as<Element>(p.u.data), Role::kInput),
      initial_state_(device, "initial_state", p.initial_state.data, Role::kInput),
      outputs_{std::vector<float>(p.v.data.size(), kNan),
               std::vector<float>(p.wkv_case.final_state
                                      ? p.wkv_case.B * p.wkv_case.H * p.wkv_case.K * p.wkv_case.V
                                      : 0,
                                  kNan)},
      o_(device, "o", stored_as<Element>(outputs_.o), Role::kOutput),
      final_state_(device, "final_state", outputs_.final_state, Role::kOutput),
      args_(p.sizes<Element, LogW>()) {
  args_.q = static_cast<const Element*>(q_.pointer());
  args_.k = static_cast<const Element*>(k_.pointer());
  args_.v = static_cast<const Element*>(v_.pointer());
  args_.log_w = static_cast<const LogW*>(log_w_.pointer());
  args_.u = static_cast<const Element*>(u_.pointer());
  args_.initial_state = static_cast<const float*>(initial_state_.pointer());
  args_.o = static_cast<Element*>(o_.pointer());
  args_.final_state = static_cast<float*>(final_state_.pointer());
}

template <typename Element, typename LogW>
WkvOutputs BasicWkvOnDevice<Element, LogW>::download() const {
  for (const GuardedArray* input : {&q_, &k_, &v_, &log_w_, &u_, &initial_state_}) {
    input->check_unchanged();
  }
  o_.check_guards();
  final_state_.check_guards();
  WkvOutputs outputs = outputs_;
  std::vector<Element> o(outputs.o.size());
  o_.download(o.data());
  std::transform(o.begin(), o.end(), outputs.o.begin(), [](Element x) { return to_float(x); });
  final_state_.download(outputs.final_state.data());
  return outputs;
}

template class BasicWkvOnDevice<float>;
template class BasicWkvOnDevice<bfloat16>;
template class BasicWkvOnDevice<bfloat16, float>;

LinearAttentionOnDevice::LinearAttentionOnDevice(Device& device, const LinearAttentionProblem& p)
    : q_(device, "q", p.q.data, Role::kInput),
      k_(device, "k", p.k.data, Role::kInput),
      v_(device, "v", p.v.data, Role::kInput),
      key_lengths_(device, "key_lengths", p.key_lengths.data, Role::kInput),
      output_(p.attention_case.B * p.attention_case.T_q * p.attention_case.H * p.attention_case.V,
              kNan),
      o_(device, "o", output_, Role::kOutput),
      args_(p.args()) {
  args_.q = static_cast<const float*>(q_.pointer());
  args_.k = static_cast<const float*>(k_.pointer());
  args_.v = static_cast<const float*>(v_.pointer());
  args_.key_lengths = static_cast<const std::int64_t*>(key_lengths_.pointer());
  args_.o = static_cast<float*>(o_.pointer());
}

std::vector<float> LinearAttentionOnDevice::download() const {
  for (const GuardedArray* input : {&q_, &k_, &v_, &key_lengths_})
    input->check_unchanged();
  o_.check_guards();
  std::vector<float> output = output_;
  o_.download(output.data());
  return output;
}

WkvOutputs run(const Implementation& implementation, const WkvProblem& problem) {
  return with_types(problem.wkv_case.precision, [&]<typename Element, typename LogW>() {
    const auto& launch = wkv_launcher<Element, LogW>(implementation);
    require(launch != nullptr, implementation.name + " does not compute WKV in this precision");
    Device& where = device(implementation.device);
    const BasicWkvOnDevice<Element, LogW> on_device(where, problem);
    launch(on_device.args());
    where.synchronize();
    return on_device.download();
  });
}

std::vector<float> run(const Implementation& implementation,
                       const LinearAttentionProblem& problem) {
  require(implementation.linear_attention != nullptr,
          implementation.name + " does not compute linear attention");
  Device& where = device(implementation.device);
  const LinearAttentionOnDevice on_device(where, problem);
  implementation.linear_attention(on_device.args());
  where.synchronize();
  return on_device.download();
}

}  // namespace ladder
