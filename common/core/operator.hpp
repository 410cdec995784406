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
//     examine(Problem, Outputs, Arithmetic, use)            what a diagnosis asks for: calls use(Examined)
//     plan(Support) -> Plan                                 its tests (common/judge/plan.hpp)
//
// common/judge/simple_operator.hpp has most of that: what is left are arguments, cases, truth, mistakes, edges. All else is optional: see
// OperatorOf.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
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

struct Examined;  // common/judge/mistakes.hpp
struct Mistakes;
struct Support;  // common/judge/plan.hpp
struct Plan;
class Random;  // common/judge/random.hpp

// Calls its argument with a result beside its truth, and what is known of wrong ones.
using Examine = std::function<void(const std::function<void(const Examined&)>&)>;

// To which head, and to which batch or packed sequence, an element belongs; -1: to all of them.
struct Belonging {
  std::int64_t head = -1, sequence = -1;
};

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
  virtual void examine(Arithmetic arithmetic,
                       const std::function<void(const Examined&)>& use) const = 0;
  // The outputs' bytes, one array behind the other. Throws WroteElsewhere.
  virtual std::vector<unsigned char> outputs() const = 0;
  virtual bool is_untouched() const = 0;  // nothing was written
  // Calls try_it(argument, call) for every bad input that the operator's lists tell, and those that it knows of besides; `call` hands it
  // to the launcher.
  using TryIt = std::function<void(const std::string&, const std::function<void()>&)>;
  virtual void for_each_bad_input(const Support& support, const TryIt& try_it) const = 0;
};

class AnyProblem {
 public:
  virtual ~AnyProblem() = default;
  virtual std::string name() const = 0;  // its case's
  virtual std::string storage() const = 0;
  // The inputs of real numbers that have elements, and how many.
  virtual std::vector<std::pair<std::string, std::int64_t>> inputs() const = 0;
  virtual std::unique_ptr<AnyProblem> with(const std::string& input, std::int64_t element,
                                           float value) const = 0;
  // Those that are known; none is looked for here.
  virtual void with_mistakes(const std::function<void(const Mistakes&)>& use) const = 0;
  // What is known of one element of an input or of an output.
  virtual Belonging belonging(const std::string& array, std::int64_t element) const = 0;
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
  virtual std::string storage() const = 0;
  // "B=2, T=37, K=64; decay=strong, reverse; bf16": its sizes, the options that are not as usual, and the storage.
  virtual std::string text() const = 0;

  // In what it differs from another case of its operator: all sizes that are others, "K=4"; each option and the storage, "reverse",
  // "stored in bf16". With each there is the other case changed so far, the sizes all at once.
  struct Difference {
    std::string words;
    bool is_size;
    std::shared_ptr<const AnyCase> changed;
  };
  virtual std::vector<Difference> differences(const AnyCase& other) const = 0;
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
  // That each size of the shape may be.
  virtual std::vector<std::int64_t> least() const = 0;
  virtual std::vector<std::int64_t> most() const = 0;
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
  // The tests of an implementation that supports so much.
  virtual std::shared_ptr<const Plan> plan(const Support& support) const = 0;
  // Cases on which the errors of right results are compared with their limits, and small ones drawn from a seed; none where the operator
  // has none in mind.
  using Cases = std::vector<std::shared_ptr<const AnyCase>>;
  virtual Cases table_cases(bool long_too) const = 0;
  virtual Cases random_cases(std::uint32_t seed) const = 0;
  // Any sizes, options and values that an implementation may get; null where the operator draws none.
  virtual bool draws_random_problems() const = 0;
  virtual std::unique_ptr<AnyProblem> fuzz(Random& random) const = 0;
  // The storages in which `./ladder run` climbs it when nothing is asked for (kClimbed), and the shapes that --shape knows by name.
  virtual std::vector<std::string> climbed() const = 0;
  virtual std::vector<std::pair<std::string, Shape>> named_shapes() const = 0;
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

  std::vector<std::int64_t> least() const override { return limits(0); }
  std::vector<std::int64_t> most() const override { return limits(1); }

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
  std::shared_ptr<const Plan> plan(const Support& support) const override {
    return Op::plan(support);
  }

  Cases table_cases(bool long_too) const override {
    if constexpr (requires { Op::table_cases(long_too); }) return any(Op::table_cases(long_too));
    return {};
  }
  Cases random_cases(std::uint32_t seed) const override {
    if constexpr (requires { Op::random_cases(seed); }) return any(Op::random_cases(seed));
    return {};
  }
  bool draws_random_problems() const override {
    return requires(Random & random) {
      Op::fuzz(random);
    };
  }
  std::unique_ptr<AnyProblem> fuzz([[maybe_unused]] Random& random) const override {
    if constexpr (requires { Op::fuzz(random); })
      return std::make_unique<ProblemOf>(Op::fuzz(random));
    return nullptr;
  }

  static Cases any(const std::vector<Case>& cases) {
    Cases result;
    for (const Case& c : cases)
      result.push_back(any(c));
    return result;
  }
  static std::shared_ptr<const AnyCase> any(const Case& c) {
    return std::make_shared<CaseOf>(c, shape_of(Sizes{}), Options{});
  }
  std::vector<std::string> climbed() const override {
    if constexpr (requires { Op::kClimbed; }) {
      return {std::begin(Op::kClimbed), std::end(Op::kClimbed)};
    } else {
      return {};
    }
  }
  std::vector<std::pair<std::string, Shape>> named_shapes() const override {
    if constexpr (requires { Op::named_shapes(); }) {
      return Op::named_shapes();
    } else {
      return {};
    }
  }

 private:
  using Key = typename KeyOf<Op>::type;

  template <typename... Args>
  static std::vector<std::string> names(Types<Args...>) {
    return {Args::kStorage...};
  }
  // The n-th number behind each size in the list; the largest that there is where it has none.
  static std::vector<std::int64_t> limits(std::size_t n) {
    std::vector<std::int64_t> result;
    Sizes sizes;
    Sizes::fields(sizes, [&](const char*, const auto&, auto... limits) {
      const std::vector<std::int64_t> all = {static_cast<std::int64_t>(limits)...};
      if (!all.empty())
        result.push_back(n < all.size() ? all[n] : std::numeric_limits<std::int64_t>::max());
    });
    return result;
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
    Placed(Device& device, DeviceKind where, const Problem& problem,
           std::function<void(const Args&)> launch)
        : problem_(problem), where_(where), data_(device, problem), launch_(std::move(launch)) {}
    void call() const override { launch_(data_.args()); }
    Verdict judge(Arithmetic arithmetic, bool for_report) const override {
      if constexpr (requires { Op::judge_for_report(problem_, data_.download(), arithmetic); }) {
        if (for_report) return Op::judge_for_report(problem_, data_.download(), arithmetic);
      }
      return Op::judge(problem_, data_.download(), arithmetic);
    }
    void examine(Arithmetic arithmetic,
                 const std::function<void(const Examined&)>& use) const override {
      Op::examine(problem_, data_.download(), arithmetic, use);
    }
    std::vector<unsigned char> outputs() const override { return data_.output_bytes(); }
    bool is_untouched() const override { return data_.is_untouched(); }
    void for_each_bad_input(const Support& support, const TryIt& try_it) const override {
      ladder::for_each_bad_input<Args>(data_.args(),
                                       [&](const std::string& argument, const Args& bad) {
                                         try_it(argument, [&] { launch_(bad); });
                                       });
      if constexpr (requires { Op::template bad_inputs<Args>(support, where_); }) {
        for (const auto& [argument, spoil] : Op::template bad_inputs<Args>(support, where_)) {
          Args bad = data_.args();
          spoil(bad);
          try_it(argument, [&] { launch_(bad); });
        }
      }
    }

   private:
    const Problem& problem_;
    DeviceKind where_;
    OnDevice<Op, Args> data_;
    std::function<void(const Args&)> launch_;
  };

  class ProblemOf : public AnyProblem {
   public:
    explicit ProblemOf(Problem problem) : problem_(std::move(problem)) {}
    std::string name() const override { return name_of(Op::case_of(problem_)); }
    std::string storage() const override { return storage_of(Op::case_of(problem_)); }
    std::vector<std::pair<std::string, std::int64_t>> inputs() const override {
      return problem_.inputs();
    }
    std::unique_ptr<AnyProblem> with(const std::string& input, std::int64_t element,
                                     float value) const override {
      Problem changed = problem_;
      changed[input].at(static_cast<std::size_t>(element)) = value;
      return std::make_unique<ProblemOf>(std::move(changed));
    }
    void with_mistakes(const std::function<void(const Mistakes&)>& use) const override {
      Op::with_mistakes(problem_, use);
    }
    Belonging belonging(const std::string& array, std::int64_t element) const override {
      return Op::belonging(problem_, array, element);
    }
    std::unique_ptr<AnyOnDevice> place(Device& device,
                                       const Implementation& implementation) const override {
      return with_storage<Op>(
          storage_of(Op::case_of(problem_)), [&]<typename Args>() -> std::unique_ptr<AnyOnDevice> {
            const auto launch = launcher<Key, Args>(implementation);
            if (launch == nullptr) return nullptr;
            return std::make_unique<Placed<Args>>(device, implementation.device, problem_, launch);
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
    std::unique_ptr<AnyProblem> make() const override {
      return std::make_unique<ProblemOf>(Op::make_problem(case_));
    }
    std::string storage() const override { return storage_of(case_); }
    std::string text() const override {
      std::string sizes, options;
      const Shape shape = shape_of(Op::sizes(case_));
      for (const Size& size : shape.sizes())
        sizes += (sizes.empty() ? "" : ", ") + size.name + "=" + std::to_string(size.value);
      for (const auto& [option, value] : options_of(case_, Op::make_case(Sizes{}))) {
        if (option != "seed") options += (options.empty() ? "" : ", ") + words_of(option, value);
      }
      return sizes + "; " + options + "; " + storage();
    }

    std::vector<AnyCase::Difference> differences(const AnyCase& other) const override {
      const Case& plain = dynamic_cast<const CaseOf&>(other).case_;
      std::vector<AnyCase::Difference> result;
      Case sized = case_;
      set_options(sized, options_of(plain, case_), Op::kName);
      sized.precision = plain.precision;
      const Shape mine = shape_of(Op::sizes(case_)), others = shape_of(Op::sizes(plain));
      for (const Size& size : mine.sizes()) {
        if (size.value != others[size.name])
          result.push_back({size.name + "=" + std::to_string(size.value), true, any(sized)});
      }
      for (const auto& [option, value] : options_of(case_, plain)) {
        if (option == "seed") continue;
        Case changed = plain;
        set_options(changed, {{option, value}}, Op::kName);
        result.push_back({words_of(option, value), false, any(changed)});
      }
      if (storage() != storage_of(plain)) {
        Case changed = plain;
        changed.precision = case_.precision;
        result.push_back({"stored in " + storage(), false, any(changed)});
      }
      return result;
    }

   private:
    // "reverse", "not causal", "scale=0.125"
    static std::string words_of(const std::string& option, const std::string& value) {
      return value == "true" ? option : value == "false" ? "not " + option : option + "=" + value;
    }

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
