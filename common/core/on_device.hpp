// The arrays of a problem on a device, as tests and the ladder run it. Outputs are poisoned, every
// array is between guard zones, and inputs must not change.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/device.hpp"
#include "common/core/guarded_array.hpp"
#include "common/core/listed.hpp"
#include "common/core/registry.hpp"
#include "common/core/text.hpp"

namespace ladder {

template <typename... Each>
struct Types {};

// The arrays of an argument struct on a device.
class DeviceArrays {
 public:
  // Fills an input that the host does not have. Returns false if it cannot.
  using Store = std::function<bool(const ListedArray& stored, void* elements)>;

  // Sets the pointers of `stored`. An input that is null on the host stays null.
  DeviceArrays(Device& device, const std::string& op, const std::vector<ListedArray>& stored,
               const std::vector<ListedArray>& host, const Store& store);

  struct Output {
    Output(Device& device, const ListedArray& stored, const void* elements);
    // Downloads the elements, converted to type `as`.
    void download(const ElementType& as, void* values) const;

    std::string name;
    const ElementType* type;
    std::size_t count;
    GuardedArray array;
  };
  // In list order, after a check of guard zones and inputs. Throws WroteElsewhere.
  const std::deque<Output>& checked_outputs() const;
  std::vector<unsigned char> output_bytes() const;  // the arrays in sequence
  void set_output_bytes(const std::vector<unsigned char>& bytes) const;
  bool is_untouched() const;  // whether no array was written

 private:
  std::deque<GuardedArray> inputs_;
  std::deque<Output> outputs_;
};

// Calls use(values) with the vector of that name. Outputs is a struct with a list of its vectors
// (`arrays`), a single vector, or a vector per output.
template <typename Outputs, typename Use>
void use_output(Outputs& outputs, const std::string& name, const Use& use) {
  if constexpr (requires { Outputs::arrays(outputs, [](const char*, auto&) {}); }) {
    Outputs::arrays(outputs, [&](const char* other, auto& values) {
      if (name == other) use(values);
    });
  } else if constexpr (std::is_arithmetic_v<typename Outputs::value_type>) {
    use(outputs);
  } else {
    use(outputs.emplace_back());
  }
}

// Call after the device has been synchronized. Throws WroteElsewhere.
template <typename Outputs>
Outputs downloaded(const DeviceArrays& arrays) {
  Outputs outputs;
  for (const DeviceArrays::Output& output : arrays.checked_outputs()) {
    use_output(outputs, output.name, [&]<typename Value>(std::vector<Value>& values) {
      values.resize(output.count);
      output.download(kElementType<Value>, values.data());
    });
  }
  return outputs;
}

// The storages that the operator supports, such as "fp32" and "bf16".
template <typename... Args>
std::vector<std::string> storages_of(Types<Args...>) {
  return {Args::kStorage...};
}

namespace detail {

template <typename Op, typename First, typename... Rest, typename Work>
auto with_storage(Types<First, Rest...>, const std::string& storage, const Work& work) {
  if (storage == First::kStorage) return work.template operator()<First>();
  if constexpr (sizeof...(Rest) > 0) {
    return with_storage<Op>(Types<Rest...>(), storage, work);
  } else {
    throw std::invalid_argument("--precision is " + storage + "; allowed for " + Op::kName + ": " +
                                joined(storages_of(typename Op::Storages())));
  }
}

}  // namespace detail

// Calls work.template operator()<Args>() with the argument struct of that storage. Throws
// std::invalid_argument with the allowed storages.
template <typename Op, typename Work>
auto with_storage(const std::string& storage, const Work& work) {
  return detail::with_storage<Op>(typename Op::Storages(), storage, work);
}

// The storage of a case's tensors ("fp32", "bf16", ...).
template <typename Case>
std::string storage_of(const Case& c) {
  if constexpr (requires { to_string(c.precision); }) {
    return to_string(c.precision);
  } else {
    return c.precision;
  }
}

}  // namespace ladder
