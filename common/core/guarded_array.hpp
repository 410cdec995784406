// An array on a device, between guard zones that reveal out-of-bounds writes.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/core/device.hpp"

namespace ladder {

// An implementation wrote into a guard zone or over an input. The message names the array.
struct WroteElsewhere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// While it lives, a GuardedArray of this name begins `bytes` bytes after an aligned address (at
// least one element), and is no better aligned than that.
class ShiftedArray {
 public:
  explicit ShiftedArray(std::string array, std::size_t bytes = 1);
  ~ShiftedArray();
  ShiftedArray(const ShiftedArray&) = delete;
  ShiftedArray& operator=(const ShiftedArray&) = delete;

  bool used() const { return used_; }  // whether such an array was created

 private:
  friend class GuardedArray;
  std::string array_;
  std::size_t bytes_;
  bool used_ = false;
};

// The bytes of one array on a device, between two guard zones of kGuardBytes.
class GuardedArray {
 public:
  static constexpr std::size_t kGuardBytes = 256;
  // A large number in fp32, bf16 and integers, and a NaN in fp16, so that results computed from it
  // are visibly wrong. The emulator has its own copy (emulator/src/state.hpp).
  static constexpr unsigned char kGuardByte = 0x7F;

  enum class Role { kInput, kOutput };

  // Copies the elements to the device. Without elements, pointer() is null.
  GuardedArray(Device& device, std::string name, const void* elements, std::size_t bytes,
               std::size_t element_bytes, Role role, const Axes& axes = {});
  template <typename Element>
  GuardedArray(Device& device, std::string name, const std::vector<Element>& elements, Role role)
      : GuardedArray(device, std::move(name), elements.data(), elements.size() * sizeof(Element),
                     sizeof(Element), role) {}
  ~GuardedArray();
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  void* pointer() const;
  void download(void* to_host) const;
  void upload(const void* elements) const;
  void check_guards() const;     // throws WroteElsewhere
  bool is_unchanged() const;     // guards included
  void check_unchanged() const;  // of guards and contents; throws WroteElsewhere

 private:
  std::vector<unsigned char> download_all() const;
  void forbid_guards(bool forbidden) const;

  Device& device_;
  std::string name_;
  std::vector<unsigned char> uploaded_;  // guards included
  unsigned char* base_ = nullptr;
  std::size_t front_ = kGuardBytes;  // bytes before the first element
};

}  // namespace ladder
