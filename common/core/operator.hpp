// The open operator: what the ladder, the X-ray and the suites see of any operator, without its types. Nothing here knows one.
//
// An operator is a struct that is registered in its own .cpp file, `const OperatorRegistration<Matmul> registration;`. Besides what
// common/core/on_device.hpp asks for, it has
//
//     Sizes                           a struct with a list `fields`: what --shape says; its values are the default
//     Case                            sizes, a member `precision`, and what its list `options` names (common/core/options.hpp)
//     make_case(Sizes) -> Case        make_problem(Case) -> Problem
//     sizes(Case)                     an argument struct with its fields set and no pointers
//     fma_count(args)                 multiply-adds, from the sizes alone
//     judge(Problem, Outputs, Arithmetic) -> Verdict
//
// common/judge/simple_operator.hpp has most of that for an operator that draws its arrays by its list. All else is optional: see
// OperatorOf.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/core/on_device.hpp"
#include "common/core/options.hpp"
#include "common/core/registry.hpp"
#include "common/core/shape.hpp"
#include "common/core/verdict.hpp"

namespace ladder {

// What an operator takes: multiply-adds, and bytes when every array moves once.
struct Cost {
  double fma_count = 0, bytes = 0;
};

// A problem on a device, with a launcher for it.
class AnyOnDevice {
 public:
  virtual ~AnyOnDevice() = default;
  virtual void call() const = 0;
  // The verdict on what the calls have written. For a report, of a problem whose check would take too long a part is judged, and a
  // plain loop's error is given too. Throws WroteElsewhere.
  virtual Verdict judge(Arithmetic arithmetic, bool for_report) const = 0;
  // The outputs' bytes, one array behind the other. Throws WroteElsewhere.
  virtual std::vector<unsigned char> outputs() const = 0;
  virtual bool is_untouched() const = 0;  // nothing was written
  // Calls try_it(argument, call) for every bad input that the operator's lists tell; `call` hands it to the launcher.
  using TryIt = std::function<void(const std::string&, const std::function<void()>&)>;
  virtual void for_each_bad_input(const TryIt& try_it) const = 0;
};

class AnyProblem {
 public:
  virtual ~AnyProblem() = default;
  // Null where the implementation has no launcher for it.
  virtual std::unique_ptr<AnyOnDevice> place(Device& device,
                                             const Implementation& implementation) const = 0;
};

// A shape with options and a storage.
class AnyCase {
 public:
  virtual ~AnyCase() = default;
  virtual Shape shape() const = 0;
  virtual Options options() const = 0;                  // those that are not as usual
  virtual Cost cost() const = 0;                        // from the sizes alone, as all that follows
  virtual double elements() const = 0;                  // of all arrays
  virtual double largest_array() const = 0;             // elements
  virtual std::vector<std::string> arrays() const = 0;  // those that a launcher gets
  virtual std::pair<std::string, double> first_output() const = 0;  // its name and elements
  virtual double judged_fma() const = 0;   // multiply-adds of the float64 truth
  virtual double truth_bytes() const = 0;  // what the truth takes besides its arrays
  virtual std::unique_ptr<AnyProblem> make() const = 0;
};

class AnyOperator {
 public:
  virtual ~AnyOperator() = default;
  virtual std::string name() const = 0;
  // What an absent implementation calls it: operators may share launchers.
  virtual std::string launchers_name() const = 0;
  virtual std::vector<std::string> storages() const = 0;  // "fp32", "bf16", ...
  virtual std::string options() const = 0;                // "reverse, scale"
  virtual bool computes(const Implementation& implementation, const std::string& storage) const = 0;
  virtual std::unique_ptr<AnyCase> make_case(const Shape& shape, const Options& options,
                                             const std::string& storage) const = 0;
  virtual Shape shape() const = 0;  // the default
  // A small one for the X-ray; with the channels of `like`, where they say what a kernel does.
  virtual Shape small_shape(const Shape& like) const = 0;
  virtual Shape small_shape() const = 0;
  virtual std::vector<std::int64_t> least() const = 0;  // that each size of the shape may be
  // Sets a size, or several that it stands for ("D"). False if there is none of that name.
  virtual bool set_size(Shape& shape, const std::string& name, std::int64_t value) const = 0;
  // A part of that shape that has at most so many multiply-adds, where that can be; and about four times a part.
  using Fma = std::function<double(const Shape&)>;
  virtual Shape part(const Shape& whole, const Fma& fma, double most) const = 0;
  virtual Shape larger(const Shape& part, const Shape& whole) const = 0;
  // Whether drawing a problem takes as much work as computing it.
  virtual bool draws_with_work() const = 0;
  // The size that a walk has as steps; empty if there is none. What a launch does grows with it.
  virtual std::string steps() const = 0;
};

// All of this program.
const std::vector<std::unique_ptr<AnyOperator>>& operators();
std::string operator_names();  // "wkv, gla, ..."
// std::invalid_argument lists the names there are.
const AnyOperator& find_operator(const std::string& name);
void add_operator(std::unique_ptr<AnyOperator> op, int place);

namespace detail {

// visit(name, elements, bytes of one, whether it is an output) for each array that is there in that case.
template <typename Op, typename Args, typename Visit>
void for_each_array(const typename Op::Case& c, const Args& args, const Visit& visit) {
  Args::arrays(args, [&](const char* name, const auto& pointer, const Axes& axes, auto...) {
    if (wants<Op>(c, name)) visit(name, count(axes), sizeof *pointer, !kIsInput<decltype(pointer)>);
  });
}

template <typename Op, typename Visit>
void for_each_stored_array(const typename Op::Case& c, const Visit& visit) {
  with_storage<Op>(storage_of(c), [&]<typename Args>() {
    Args args;
    copy_fields(Op::sizes(c), args);
    for_each_array<Op>(c, args, visit);
  });
}

}  // namespace detail

template <typename Op>
Cost cost_of(const typename Op::Case& c) {
  Cost cost{Op::fma_count(Op::sizes(c)), 0};
  detail::for_each_stored_array<Op>(c, [&](const char*, double elements, double element_bytes,
                                           bool) { cost.bytes += elements * element_bytes; });
  return cost;
}

template <typename Op>
class OperatorOf : public AnyOperator {
 public:
  using Case = typename Op::Case;
  using Sizes = typename Op::Sizes;
  using Problem = typename Op::Problem;
  using Storages = typename Op::Storages;

  std::string name() const override { return Op::kName; }
  std::string launchers_name() const override { return Key::kName; }
  std::vector<std::string> storages() const override { return names(Storages{}); }
  std::string options() const override { return option_names<Case>(); }
  Shape shape() const override { return shape_of(Sizes{}); }

  bool computes(const Implementation& implementation, const std::string& storage) const override {
    return with_storage<Op>(
        storage, [&]<typename Args>() { return launcher<Key, Args>(implementation) != nullptr; });
  }

  std::unique_ptr<AnyCase> make_case(const Shape& shape, const Options& options,
                                     const std::string& storage) const override {
    Sizes sizes;
    set_shape(sizes, shape, Op::kName);
    Case c = Op::make_case(sizes);
    set_options(c, options, Op::kName);
    with_storage<Op>(storage, []<typename Args>() {});
    set_precision(c, storage);
    Shape settled = shape_of(sizes);
    if constexpr (requires { Op::settle(c, settled); }) Op::settle(c, settled);
    return std::make_unique<CaseOf>(c, settled, options_of(c, Op::make_case(sizes)));
  }

  Shape small_shape(const Shape& like) const override {
    if constexpr (requires { Op::small_shape(like); }) {
      return Op::small_shape(like);
    } else {
      Shape small;
      for (const Size& size : like.sizes())
        small.set(size.name, std::min<std::int64_t>(size.value, 32));
      return small;
    }
  }
  Shape small_shape() const override {
    if constexpr (requires { Op::small_shape(); }) {
      return Op::small_shape();
    } else {
      return small_shape(shape());
    }
  }

  std::vector<std::int64_t> least() const override {
    std::vector<std::int64_t> result;
    Sizes sizes;
    Sizes::fields(sizes,
                  [&](const char*, const auto&, auto... least) { (result.push_back(least), ...); });
    return result;
  }

  bool set_size(Shape& shape, const std::string& name, std::int64_t value) const override {
    if constexpr (requires { Op::set_size(shape, name, value); }) {
      if (Op::set_size(shape, name, value)) return true;
    }
    if (!shape.has(name)) return false;
    shape.set(name, value);
    return true;
  }

  Shape part(const Shape& whole, const Fma& fma, double most) const override {
    if constexpr (requires { Op::part(whole, fma, most); }) {
      return Op::part(whole, fma, most);
    } else {
      Shape part = whole;
      while (fma(part) > most && largest(part).value > 1)
        part.set(largest(part).name, (largest(part).value + 1) / 2);
      return part;
    }
  }
  Shape larger(const Shape& part, const Shape& whole) const override {
    if constexpr (requires { Op::larger(part, whole); }) {
      return Op::larger(part, whole);
    } else {
      Shape result = part;
      int doubled = 0;
      for (const Size& size : whole.sizes()) {
        if (part[size.name] < size.value && doubled++ < 2)
          result.set(size.name, std::min(2 * part[size.name], size.value));
      }
      return result;
    }
  }
  bool draws_with_work() const override {
    return requires {
      Op::kDrawsWithWork;
    };
  }
  std::string steps() const override {
    if constexpr (requires { Op::kSteps; }) {
      return Op::kSteps;
    } else {
      return "";
    }
  }

 private:
  using Key = typename KeyOf<Op>::type;

  template <typename... Args>
  static std::vector<std::string> names(Types<Args...>) {
    return {Args::kStorage...};
  }
  static Size largest(const Shape& shape) {
    Size most;
    for (const Size& size : shape.sizes()) {
      if (size.value > most.value) most = size;
    }
    return most;
  }
  static void set_precision(Case& c, const std::string& storage) {
    const std::string allowed = read_option(storage, c.precision);
    require(allowed.empty(), "--precision is " + storage + "; allowed: " + allowed);
  }

  template <typename Args>
  class Placed : public AnyOnDevice {
   public:
    Placed(Device& device, const Problem& problem, std::function<void(const Args&)> launch)
        : problem_(problem), data_(device, problem), launch_(std::move(launch)) {}
    void call() const override { launch_(data_.args()); }
    Verdict judge(Arithmetic arithmetic, bool for_report) const override {
      if constexpr (requires { Op::judge_for_report(problem_, data_.download(), arithmetic); }) {
        if (for_report) return Op::judge_for_report(problem_, data_.download(), arithmetic);
      }
      return Op::judge(problem_, data_.download(), arithmetic);
    }
    std::vector<unsigned char> outputs() const override { return data_.output_bytes(); }
    bool is_untouched() const override { return data_.is_untouched(); }
    void for_each_bad_input(const TryIt& try_it) const override {
      ladder::for_each_bad_input<Args>(data_.args(),
                                       [&](const std::string& argument, const Args& bad) {
                                         try_it(argument, [&] { launch_(bad); });
                                       });
    }

   private:
    const Problem& problem_;
    OnDevice<Op, Args> data_;
    std::function<void(const Args&)> launch_;
  };

  class ProblemOf : public AnyProblem {
   public:
    explicit ProblemOf(const Case& c) : problem_(Op::make_problem(c)) {}
    std::unique_ptr<AnyOnDevice> place(Device& device,
                                       const Implementation& implementation) const override {
      return with_storage<Op>(storage_of(Op::case_of(problem_)),
                              [&]<typename Args>() -> std::unique_ptr<AnyOnDevice> {
                                const auto launch = launcher<Key, Args>(implementation);
                                if (launch == nullptr) return nullptr;
                                return std::make_unique<Placed<Args>>(device, problem_, launch);
                              });
    }

   private:
    Problem problem_;
  };

  class CaseOf : public AnyCase {
   public:
    CaseOf(const Case& c, const Shape& shape, const Options& options)
        : case_(c), shape_(shape), options_(options) {}
    Shape shape() const override { return shape_; }
    Options options() const override { return options_; }
    Cost cost() const override { return cost_of<Op>(case_); }
    double elements() const override {
      double sum = 0;
      detail::for_each_array<Op>(
          case_, Op::sizes(case_),
          [&](const char*, double elements, double, bool) { sum += elements; });
      return sum;
    }
    double largest_array() const override {
      double most = 0;
      detail::for_each_stored_array<Op>(case_, [&](const char*, double elements, double, bool) {
        most = std::fmax(most, elements);
      });
      return most;
    }
    std::vector<std::string> arrays() const override {
      std::vector<std::string> names;
      detail::for_each_stored_array<Op>(case_,
                                        [&](const char* name, double elements, double, bool) {
                                          if (elements > 0) names.push_back(name);
                                        });
      return names;
    }
    std::pair<std::string, double> first_output() const override {
      std::pair<std::string, double> first;
      detail::for_each_stored_array<Op>(
          case_, [&](const char* name, double elements, double, bool output) {
            if (output && first.first.empty()) first = {name, elements};
          });
      return first;
    }
    double judged_fma() const override {
      if constexpr (requires { Op::judged_fma(case_); }) {
        return Op::judged_fma(case_);
      } else {
        return cost().fma_count;
      }
    }
    double truth_bytes() const override {
      if constexpr (requires { Op::truth_bytes(case_); }) {
        return Op::truth_bytes(case_);
      } else {
        return 0;
      }
    }
    std::unique_ptr<AnyProblem> make() const override { return std::make_unique<ProblemOf>(case_); }

   private:
    Case case_;
    Shape shape_;
    Options options_;
  };
};

// `place`: where it stands in the list of operators; those with the same one are sorted by name.
template <typename Op>
struct OperatorRegistration {
  explicit OperatorRegistration(int place = 100) {
    add_operator(std::make_unique<OperatorOf<Op>>(), place);
  }
};

}  // namespace ladder
