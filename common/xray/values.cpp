#include "values.hpp"

#include <algorithm>
#include <cstring>

namespace emulator::xray {

void ValueLog::launch_starts(const ValueLaunch& launch) {
  values.launches.push_back(launch);
}

void ValueLog::block_starts() {
  read_.clear();
}

void ValueLog::keep(const ValueTouch& touch) {
  values.complete = values.touches.size() < kMostValues;
  if (values.complete) values.touches.push_back(touch);
}

void ValueLog::settle() {
  for (auto& [touch, address] : pending_) {
    std::memcpy(&touch.bits, address, values.arrays[touch.array].word());
    keep(touch);
  }
  pending_.clear();
}

void ValueLog::taken(LaneTake take) {
  values.all_takes = values.takes.size() < kMostValues;
  if (!values.all_takes) return;
  take.launch = static_cast<std::uint32_t>(values.launches.size()) - 1;
  take.after = values.touches.size();
  values.takes.push_back(take);
}

void ValueLog::ended(ThreadEnd end) {
  end.launch = static_cast<std::uint32_t>(values.launches.size()) - 1;
  if (values.ends.size() < kMostValues) values.ends.push_back(end);
}

void ValueLog::touched(const ValueTouch& touch, const Values::Array& array, std::uintptr_t from,
                       std::uintptr_t address, unsigned bytes) {
  const auto [found, is_new] =
      index_.try_emplace(array.name, static_cast<std::uint32_t>(values.arrays.size()));
  if (is_new) values.arrays.push_back(array);
  ValueTouch each = touch;
  each.launch = static_cast<std::uint32_t>(values.launches.size()) - 1;
  each.array = found->second;
  const std::size_t size = array.word();
  const std::uint64_t last = (address - from + bytes - 1) / size;
  for (each.element = (address - from) / size; each.element <= last; ++each.element) {
    if (each.operation != Operation::kLoad) {
      pending_.emplace_back(each, reinterpret_cast<const void*>(from + each.element * size));
    } else if (read_.insert(std::uint64_t{each.array} << 40 | each.element).second) {
      std::memcpy(&each.bits, reinterpret_cast<const void*>(from + each.element * size), size);
      keep(each);
    }
  }
}

}  // namespace emulator::xray
