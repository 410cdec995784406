// A problem of any operator on a device, the way tests and the ladder run it: outputs are poisoned, every array lies between guard
// zones, and inputs must come back unchanged.
//
// What is asked of an operator here (common/judge/operator_of.hpp has the rest):
//
//     Problem, Outputs        what it computes from and to, on the host
//     Storages                Types<...>: the argument structs that its launchers may take
//     args(problem)           an argument struct whose inputs point at host arrays; its outputs need not point anywhere
//     case_of(problem)        the case that the problem was drawn for
//     wants(case, name)       whether the case has that array; without it all are there
//     store(problem, args, name, elements)   fills a stored array that the host's list does not have; its elements are poisoned
//     kName
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

// The arrays of an argument struct on a device.
class DeviceArrays {
 public:
  // Fills the elements of an input that the host has none of; false where nothing can.
  using Store = std::function<bool(const ListedArray& stored, void* elements)>;

  // Sets the pointers of `stored`. An input that is null on the host stays null.
  DeviceArrays(Device& device, const std::string& op, const std::vector<ListedArray>& stored,
               const std::vector<ListedArray>& host, const Store& store);

  struct Output {
    Output(Device& device, const ListedArray& stored, const void* elements);
    // Its elements as others.
    void download(const ElementType& as, void* values) const;

    std::string name;
    const ElementType* type;
    std::size_t count;
    GuardedArray array;
  };
  // In the list's order; their guard zones, and all inputs, have been checked. Throws WroteElsewhere.
  const std::deque<Output>& checked_outputs() const;
  std::vector<unsigned char> output_bytes() const;  // one array behind the other
  void set_output_bytes(const std::vector<unsigned char>& bytes) const;
  bool is_untouched() const;  // whether nothing was written, to any array

 private:
  std::deque<GuardedArray> inputs_;
  std::deque<Output> outputs_;
};

// Calls use(values) with the vector of that name. Outputs are a struct with a list of its vectors (`arrays`), one vector, or one for each
// output.
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

// After the device has been synchronized. Throws WroteElsewhere.
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

// Fills an array by the operator's `store`; false where it has none for it.
template <typename Op, typename Args>
bool store_by(const typename Op::Problem& problem, const Args& args, const ListedArray& stored,
              void* elements) {
  bool is_stored = false;
  // Of: clang before 16 looks up names of Op in the lambda whatever the condition says.
  Args::arrays(
      args, [&]<typename Of = Op>(const char* name, const auto& pointer, const Axes&, auto...) {
        using Element = Pointee<decltype(pointer)>;
        if constexpr (requires(std::vector<Element> x) { Of::store(problem, args, name, x); }) {
          if (stored.name != name) return;
          std::vector<Element> values(static_cast<std::size_t>(stored.elements()));
          const std::size_t bytes = values.size() * sizeof(Element);
          if (bytes > 0) std::memcpy(values.data(), elements, bytes);
          Of::store(problem, args, name, values);
          if (bytes > 0) std::memcpy(elements, values.data(), bytes);
          is_stored = true;
        }
      });
  return is_stored;
}

// The arrays of the list that the case has.
template <typename Op>
std::vector<ListedArray> those_wanted(const typename Op::Case& c, std::vector<ListedArray> arrays) {
  std::erase_if(arrays, [&](const ListedArray& array) { return !wants<Op>(c, array.name); });
  return arrays;
}

template <typename Op, typename StoredArgs>
class OnDevice {
 public:
  using Args = StoredArgs;
  using Problem = typename Op::Problem;
  using Outputs = typename Op::Outputs;

  OnDevice(Device& device, const Problem& problem)
      : OnDevice(device, problem, Op::args(problem), Args()) {}

  const Args& args() const { return args_; }

  // See `downloaded`.
  Outputs download() const { return downloaded<Outputs>(arrays_); }
  const DeviceArrays& arrays() const { return arrays_; }

 private:
  template <typename Host>
  OnDevice(Device& device, const Problem& problem, const Host& host, const Args& args)
      : args_(sized(host, args)),
        arrays_(device, Op::kName, those_wanted<Op>(Op::case_of(problem), arrays_of(args_)),
                arrays_of(host), [&](const ListedArray& stored, void* elements) {
                  return store_by<Op>(problem, args_, stored, elements);
                }) {}

  template <typename Host>
  static Args sized(const Host& host, Args args) {
    copy_fields(host, args);
    return args;
  }

  Args args_;
  DeviceArrays arrays_;
};

// "fp32", "bf16": what the operator's tensors may be stored as.
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

// Calls work.template operator()<Args>() with the argument struct of that storage. std::invalid_argument lists what is allowed.
template <typename Op, typename Work>
auto with_storage(const std::string& storage, const Work& work) {
  return detail::with_storage<Op>(typename Op::Storages(), storage, work);
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

// The list of a case's storage, and that of the host, with arrays that the case has not. They point nowhere.
template <typename Op>
std::vector<ListedArray> stored_list(const typename Op::Case& c) {
  return with_storage<Op>(storage_of(c), [&]<typename Args>() {
    Args args;
    copy_fields(Op::sizes(c), args);
    return unbound(arrays_of(args));
  });
}
template <typename Op>
std::vector<ListedArray> host_list(const typename Op::Case& c) {
  return unbound(arrays_of(Op::sizes(c)));
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
                " in this precision; allowed: " + joined(storages_of(typename Op::Storages())) +
                ", as far as it has a launcher");
    Device& where = device(implementation.device);
    const OnDevice<Op, Args> on_device(where, problem);
    launch(on_device.args());
    where.synchronize();
    return on_device.download();
  });
}

}  // namespace ladder
