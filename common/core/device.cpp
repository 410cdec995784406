#include "common/core/device.hpp"

#include <map>
#include <stdexcept>
#include <utility>

namespace ladder {

std::unique_ptr<Device> make_cpu_device();  // cpu_device.cpp

namespace {

struct Slot {
  std::function<std::unique_ptr<Device>()> make;
  std::unique_ptr<Device> device;
  std::string why_unavailable;
};

std::map<DeviceKind, Slot>& slots() {
  static std::map<DeviceKind, Slot> map = [] {
    std::map<DeviceKind, Slot> initial;
    initial[DeviceKind::kCpu].make = make_cpu_device;
    return initial;
  }();
  return map;
}

Slot& opened(DeviceKind kind) {
  Slot& slot = slots()[kind];
  if (slot.device != nullptr || !slot.why_unavailable.empty()) return slot;
  if (!slot.make) {
    slot.why_unavailable = "this program is built without a back end for it";
    return slot;
  }
  try {
    slot.device = slot.make();
  } catch (const std::runtime_error& error) {
    slot.why_unavailable = error.what();
  }
  return slot;
}

}  // namespace

std::string why_unavailable(DeviceKind kind) {
  return opened(kind).why_unavailable;
}

Device& device(DeviceKind kind) {
  Slot& slot = opened(kind);
  if (slot.device == nullptr) throw std::runtime_error(slot.why_unavailable);
  return *slot.device;
}

DeviceRegistration::DeviceRegistration(DeviceKind kind,
                                       std::function<std::unique_ptr<Device>()> make) {
  slots()[kind].make = std::move(make);
}

}  // namespace ladder
