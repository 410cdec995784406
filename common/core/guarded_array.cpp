#include "common/core/guarded_array.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/core/errors.hpp"

// Defined by AddressSanitizer, and null without it.
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* begin,
                                                       std::size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* begin,
                                                         std::size_t bytes);
}

namespace ladder {
namespace {

ShiftedArray* shifted_array = nullptr;

}  // namespace

ShiftedArray::ShiftedArray(std::string array, std::size_t bytes)
    : array_(std::move(array)), bytes_(bytes) {
  require(shifted_array == nullptr, "an array is shifted already; allowed: one at a time");
  shifted_array = this;
}

ShiftedArray::~ShiftedArray() {
  shifted_array = nullptr;
}

GuardedArray::GuardedArray(Device& device, std::string name, const void* elements,
                           std::size_t bytes, std::size_t element_bytes, Role role,
                           const Axes& axes)
    : device_(device), name_(std::move(name)) {
  if (bytes == 0) return;
  if (shifted_array != nullptr && shifted_array->array_ == name_) {
    front_ += std::max(element_bytes, shifted_array->bytes_);
    shifted_array->used_ = true;
  }
  uploaded_.assign(front_ + bytes + kGuardBytes, kGuardByte);
  std::memcpy(uploaded_.data() + front_, elements, bytes);
  base_ = static_cast<unsigned char*>(device_.allocate(uploaded_.size()));
  device_.upload(base_, uploaded_.data(), uploaded_.size());
  forbid_guards(true);
  device_.name_memory(pointer(), bytes, name_, element_bytes, role == Role::kInput, axes);
}

// With LADDER_POISON_GUARDS set, AddressSanitizer stops at a line that accesses a guard zone.
void GuardedArray::forbid_guards(bool forbidden) const {
  const auto change = forbidden ? __asan_poison_memory_region : __asan_unpoison_memory_region;
  if (base_ == nullptr || change == nullptr || std::getenv("LADDER_POISON_GUARDS") == nullptr ||
      device_.back_end() != "cpu")
    return;
  change(base_, front_);
  change(base_ + uploaded_.size() - kGuardBytes, kGuardBytes);
}

GuardedArray::~GuardedArray() {
  forbid_guards(false);
  if (base_ != nullptr) device_.release(base_);
}

void* GuardedArray::pointer() const {
  return base_ == nullptr ? nullptr : base_ + front_;
}

std::vector<unsigned char> GuardedArray::download_all() const {
  std::vector<unsigned char> now(uploaded_.size());
  forbid_guards(false);
  if (base_ != nullptr) device_.download(now.data(), base_, now.size());
  forbid_guards(true);
  return now;
}

void GuardedArray::download(void* to_host) const {
  if (base_ == nullptr) return;
  device_.download(to_host, base_ + front_, uploaded_.size() - front_ - kGuardBytes);
}

void GuardedArray::upload(const void* elements) const {
  if (base_ == nullptr) return;
  device_.upload(base_ + front_, elements, uploaded_.size() - front_ - kGuardBytes);
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

bool GuardedArray::is_unchanged() const {
  return download_all() == uploaded_;
}

void GuardedArray::check_unchanged() const {
  check_guards();
  if (!is_unchanged()) throw WroteElsewhere("the input " + name_ + " was overwritten");
}

}  // namespace ladder
