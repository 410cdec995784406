// A problem of any operator on a device, the way tests and the ladder run it: outputs are poisoned, every array lies between guard
// zones, and inputs must come back unchanged.
//
// What is asked of an operator here (common/core/operator.hpp has the rest):
//
//     Problem, Outputs        what it computes from and to, on the host
//     Storages                Types<...>: the argument structs that its launchers may take
//     args(problem)           an argument struct whose inputs point at host arrays; its outputs need not point anywhere
//     case_of(problem)        the case that the problem was drawn for
//     wants(case, name)       whether the case has that array; without it all are there
//     store(problem, args, name, elements)   fills a stored array that the host's list does not have
//     kName
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/device.hpp"
#include "common/core/float16.hpp"
#include "common/core/guarded_array.hpp"
#include "common/core/lists.hpp"
#include "common/core/poison.hpp"
#include "common/core/registry.hpp"

namespace ladder {

template <typename... Each>
struct Types {};

template <typename Element>
concept Number = std::is_arithmetic_v<Element> || requires(Element x) {
  to_float(x);
};

// x as a `To`. Numbers are rounded to the nearest that is stored.
template <typename To, typename From>
requires(std::is_same_v<To, From> || (Number<To> && Number<From>)) To converted(const From& x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return to_bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, float16>) {
    return to_float16(static_cast<float>(x));
  } else if constexpr (std::is_arithmetic_v<From>) {
    return static_cast<To>(x);
  } else {
    return static_cast<To>(to_float(x));
  }
}

// What an output holds before anything is written to it: a NaN of its own, or a number that no result is by accident.
template <typename Element>
Element poison() {
  if constexpr (std::is_same_v<Element, float>) {
    return std::bit_cast<float>(kPoisonBits);
  } else if constexpr (std::is_same_v<Element, bfloat16>) {
    return {static_cast<std::uint16_t>(kPoisonBits >> 16)};
  } else if constexpr (std::is_same_v<Element, float16>) {
    return {kPoisonFloat16Bits};
  } else {
    Element element;
    std::memset(&element, std::is_integral_v<Element> ? 0x99 : 0xFF, sizeof element);
    return element;
  }
}

template <typename Op, typename Case>
bool wants(const Case& c, const std::string& array) {
  if constexpr (requires { Op::wants(c, array); }) {
    return Op::wants(c, array);
  } else {
    return true;
  }
}

// The operator whose launchers compute Op: Op itself, unless it names another one as its Key.
template <typename Op>
struct KeyOf {
  using type = Op;
};
template <typename Op>
requires requires {
  typename Op::Key;
}
struct KeyOf<Op> {
  using type = typename Op::Key;
};

namespace detail {

// Sets the array of that name. Outputs are a struct with a list of its vectors (`arrays`), one vector, or one for each output.
template <typename Outputs, typename Element>
void put(Outputs& outputs, const std::string& name, const std::vector<Element>& elements) {
  const auto fill = [&](auto& values) {
    using Value = typename std::remove_reference_t<decltype(values)>::value_type;
    values.reserve(elements.size());
    for (const Element& x : elements)
      values.push_back(converted<Value>(x));
  };
  if constexpr (requires { Outputs::arrays(outputs, [](const char*, auto&) {}); }) {
    Outputs::arrays(outputs, [&](const char* other, auto& values) {
      if (name == other) fill(values);
    });
  } else if constexpr (std::is_arithmetic_v<typename Outputs::value_type>) {
    fill(outputs);
  } else {
    fill(outputs.emplace_back());
  }
}

}  // namespace detail

template <typename Op, typename StoredArgs>
class OnDevice {
 public:
  using Args = StoredArgs;
  using Problem = typename Op::Problem;
  using Outputs = typename Op::Outputs;

  OnDevice(Device& device, const Problem& problem) {
    const auto host = Op::args(problem);
    copy_fields(host, args_);
    Args::arrays(args_, [&](const char* name, auto& pointer, const Axes& axes, auto...) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      using Element = Pointee<Pointer>;
      if (!wants<Op>(Op::case_of(problem), name)) return;
      std::vector<Element> elements(static_cast<std::size_t>(count(axes)), poison<Element>());
      if constexpr (kIsInput<Pointer>) {
        if (!fill(problem, host, name, elements)) return;
        const GuardedArray& array =
            inputs_.emplace_back(device, name, elements, GuardedArray::Role::kInput);
        pointer = static_cast<Pointer>(array.pointer());
      } else {
        GuardedArray& array =
            outputs_.emplace_back(device, name, elements, GuardedArray::Role::kOutput);
        pointer = static_cast<Pointer>(array.pointer());
        read_.push_back([&array, name, n = elements.size()](Outputs* outputs, Bytes* bytes) {
          array.check_guards();
          std::vector<Element> written(n);
          array.download(written.data());
          if (outputs != nullptr) detail::put(*outputs, name, written);
          const auto* first = reinterpret_cast<const unsigned char*>(written.data());
          if (bytes != nullptr) bytes->insert(bytes->end(), first, first + n * sizeof(Element));
        });
      }
    });
  }

  const Args& args() const { return args_; }

  // After the device has been synchronized. Throws WroteElsewhere.
  Outputs download() const {
    Outputs outputs;
    read_all(&outputs, nullptr);
    return outputs;
  }

  // The same as bytes, one array behind the other.
  std::vector<unsigned char> output_bytes() const {
    Bytes bytes;
    read_all(nullptr, &bytes);
    return bytes;
  }

  // Whether nothing was written, to any array.
  bool is_untouched() const {
    for (const auto* arrays : {&inputs_, &outputs_}) {
      for (const GuardedArray& array : *arrays) {
        if (!array.is_unchanged()) return false;
      }
    }
    return true;
  }

 private:
  using Bytes = std::vector<unsigned char>;

  void read_all(Outputs* outputs, Bytes* bytes) const {
    for (const GuardedArray& input : inputs_)
      input.check_unchanged();
    for (const auto& read : read_)
      read(outputs, bytes);
  }

  // False where the host has no such array.
  template <typename Host, typename Element>
  bool fill(const Problem& problem, const Host& host, const std::string& name,
            std::vector<Element>& elements) const {
    bool listed = false, there = false;
    Host::arrays(host, [&](const char* other, const auto& pointer, const Axes&, auto...) {
      using From = Pointee<decltype(pointer)>;
      if constexpr (requires(From x) { converted<Element>(x); }) {
        if (name != other) return;
        listed = true;
        there = pointer != nullptr;
        for (std::size_t i = 0; there && i < elements.size(); ++i)
          elements[i] = converted<Element>(pointer[i]);
      }
    });
    if (listed) return there;
    if constexpr (requires { Op::store(problem, args_, name, elements); }) {
      Op::store(problem, args_, name, elements);
      return true;
    }
    throw std::logic_error(std::string(Op::kName) + " has no array " + name +
                           " on the host, and no function `store` to make it");
  }

  Args args_;
  std::deque<GuardedArray> inputs_, outputs_;
  std::vector<std::function<void(Outputs*, Bytes*)>> read_;
};

// "fp32, bf16": what the operator's tensors may be stored as.
template <typename... Args>
std::string storages_text(Types<Args...>) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + std::string(Args::kStorage)), ...);
  return text;
}

// Calls work.template operator()<Args>() with the argument struct of that storage. std::invalid_argument lists what is allowed.
template <typename Op, typename Work>
auto with_storage(const std::string& storage, const Work& work) {
  return [&]<typename First, typename... Rest>(Types<First, Rest...>) {
    using Result = decltype(work.template operator()<First>());
    std::function<Result()> chosen;
    const auto try_one = [&]<typename Args>() {
      if (storage == Args::kStorage) chosen = [&] { return work.template operator()<Args>(); };
    };
    try_one.template operator()<First>();
    (try_one.template operator()<Rest>(), ...);
    require(chosen != nullptr, "--precision is " + storage + "; allowed for " + Op::kName + ": " +
                                   storages_text(typename Op::Storages{}));
    return chosen();
  }(typename Op::Storages{});
}

// What a case's tensors are stored as: "fp32", "bf16", ...
template <typename Case>
std::string storage_of(const Case& c) {
  if constexpr (requires { to_string(c.precision); }) {
    return to_string(c.precision);
  } else {
    return c.precision;
  }
}

// Runs the implementation once on fresh, poisoned outputs. Throws what it throws, or WroteElsewhere; std::invalid_argument where it
// has no launcher.
template <typename Op>
typename Op::Outputs run_as(const Implementation& implementation,
                            const typename Op::Problem& problem) {
  return with_storage<Op>(storage_of(Op::case_of(problem)), [&]<typename Args>() {
    const auto launch = launcher<typename KeyOf<Op>::type, Args>(implementation);
    require(launch != nullptr,
            implementation.name + " does not compute " + Op::kName +
                " in this precision; allowed: " + storages_text(typename Op::Storages{}) +
                ", as far as it has a launcher");
    Device& where = device(implementation.device);
    const OnDevice<Op, Args> on_device(where, problem);
    launch(on_device.args());
    where.synchronize();
    return on_device.download();
  });
}

}  // namespace ladder
