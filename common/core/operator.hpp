// The open operator: what the ladder, the X-ray and the suites see of any operator, without its types. Nothing here knows one.
//
// An operator is a struct that is registered in its own .cpp file, `const OperatorRegistration<Matmul> registration;`. Besides what
// common/core/on_device.hpp asks for, it has
//
//     Sizes                           a struct with a list `fields`: what --shape says; its values are the default
//     Case                            a member `precision`, all else in a list `fields` or in a list `options` (common/core/options.hpp)
//     make_case(Sizes) -> Case        make_problem(Case) -> Problem
//     sizes(Case)                     an argument struct with its fields set and no pointers
//     fma_count(args)                 multiply-adds, from the sizes alone
//     judge(Problem, Outputs, Arithmetic) -> Verdict
//     examine(Problem, Outputs, Arithmetic, use)            what a diagnosis asks for: calls use(Examined)
//     plan(Support) -> Plan                                 its tests (common/judge/plan.hpp)
//     kLinearIn                                             optional: names of inputs; with all others fixed the outputs are a linear
//                                                           function of each of these, or one and a constant
//     kDerived, derive(Problem&)                            optional: names of inputs that follow from the others; sets them
//     check_options(Case, Options)                          optional: refuses those that are given and change nothing of the case
//     check_values(Problem)                                 optional: refuses values of inputs that somebody else made and no
//                                                           implementation may get (std::invalid_argument)
//
// common/judge/simple_operator.hpp has most of that: what is left are arguments, cases, truth, mistakes, edges. All else is optional: see
// OperatorOf, and TrialsOf for what tests ask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <iterator>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/core/given.hpp"
#include "common/core/on_device.hpp"
#include "common/core/options.hpp"
#include "common/core/parcel.hpp"
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
  bool is_a_limit =
      false;  // as many at most: numbers of keys, which nobody looks at here, may leave fewer
};

// An input of real numbers that has elements.
struct RealInput {
  ListedArray array;
  std::vector<std::string> words;  // what its axes are called in a sentence; empty: by their names
  std::vector<float> values;
  bool linear = false;  // it is one of kLinearIn
};

class AnyProblem;

// A problem on a device, with a launcher for it.
class AnyOnDevice {
 public:
  virtual ~AnyOnDevice() = default;
  virtual const AnyProblem& problem() const = 0;
  virtual const std::string& implementation() const = 0;  // its name; "" where nothing is called
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
  // Those of them that do not follow from others; and the problem with other elements in one of them.
  virtual std::vector<RealInput> real_inputs() const = 0;
  virtual std::unique_ptr<AnyProblem> with(const std::string& input,
                                           const std::vector<float>& values) const = 0;
  // Those that are known; none is looked for here.
  virtual void with_mistakes(const std::function<void(const Mistakes&)>& use) const = 0;
  // What is known of one element of an input or of an output.
  virtual Belonging belonging(const std::string& array, std::int64_t element) const = 0;
  // Null where the implementation has no launcher for it.
  virtual std::unique_ptr<AnyOnDevice> place(Device& device,
                                             const Implementation& implementation) const = 0;
  // On the CPU, with these outputs, and with no launcher: what the implementation of that name has computed.
  virtual std::unique_ptr<AnyOnDevice> holding(const std::vector<unsigned char>& outputs,
                                               const std::string& implementation) const = 0;
  // For read_problem: what the case writes, and all inputs as they are.
  virtual void write(std::ostream& out) const = 0;
  // For inputs that were not drawn: see check_values above.
  virtual void check_values() const = 0;
};

std::unique_ptr<AnyProblem> read_problem(std::istream& in);

// The case's lists and its storage, of a case behind the other; what is read is put where the lists point, but for the storage.
void write_case(std::ostream& out, const std::vector<ListedField>& fields,
                const std::vector<ListedOption>& options, const std::string& storage);
std::string read_case(std::istream& in, const std::vector<ListedField>& fields,
                      const std::vector<ListedOption>& options);

// A shape with options and a storage.
class AnyCase {
 public:
  virtual ~AnyCase() = default;
  virtual Shape shape() const = 0;
  virtual Options options() const = 0;  // those that are not as usual
  virtual std::string storage() const = 0;
  // The arrays that it has, in the list's order: what a launcher gets, and what the host has. They point nowhere.
  virtual std::vector<ListedArray> stored_arrays() const = 0;
  virtual std::vector<ListedArray> host_arrays() const = 0;
  virtual double fma_count() const = 0;
  virtual double judged_fma() const = 0;   // multiply-adds of the float64 truth
  virtual double truth_bytes() const = 0;  // what the truth takes besides its arrays
  virtual std::unique_ptr<AnyProblem> make() const = 0;
  // Calls the implementation's launcher with arrays that lie where `place(bytes)` says and hold nothing: for whoever only wants to know
  // what it launches. False where it has no launcher for this.
  using Place = std::function<void*(std::size_t bytes)>;
  virtual bool launch(const Implementation& implementation, const Place& place) const = 0;
  // What a problem writes before its inputs.
  virtual void write(std::ostream& out) const = 0;

  // From the sizes alone.
  Cost cost() const;
  double elements() const;                              // of all arrays of the host
  double largest_array() const;                         // elements
  std::vector<std::string> array_names() const;         // those that a launcher gets
  std::pair<std::string, double> first_output() const;  // its name and elements
  // "B=2, T=37, K=64; decay=strong, reverse; bf16": its sizes, the options that are not as usual, and the storage.
  std::string text() const;

  // In what it differs from another case of its operator: all sizes that are others, "K=4"; each option and the storage, "reverse",
  // "stored in bf16". With each there is the other case changed so far, the sizes all at once.
  struct Difference {
    std::string words;
    bool is_size;
    std::shared_ptr<const AnyCase> changed;
  };
  std::vector<Difference> differences(const AnyCase& other) const;
  // It, but that the options and the storage which these words of differences(other) name are as in the other one.
  std::shared_ptr<const AnyCase> without(const std::vector<std::string>& words,
                                         const AnyCase& other) const;

  virtual Shape sizes() const = 0;  // of the arguments

 protected:
  // Those in which it differs from another one; from what its operator's default has.
  virtual Options options_unlike(const AnyCase& other) const = 0;
  virtual Options unusual_options() const = 0;
  // It with these options and this storage.
  virtual std::shared_ptr<const AnyCase> with(const Options& options,
                                              const std::string& storage) const = 0;
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
  // That of arrays that somebody has: sizes that no axis tells are those of `shape`. See `fit`.
  virtual std::shared_ptr<const AnyCase> case_for(const std::vector<GivenArray>& inputs,
                                                  const Shape& shape, const Options& options,
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
  // See read_problem; behind the name.
  virtual std::unique_ptr<AnyProblem> read(std::istream& in) const = 0;
  // The storages in which `./ladder run` climbs it when nothing is asked for (kClimbed), and the shapes that --shape knows by name.
  virtual std::vector<std::string> climbed() const = 0;
  virtual std::vector<std::pair<std::string, Shape>> named_shapes() const = 0;
};

// What an operator has for tests: see AnyOperator.
class AnyTrials {
 public:
  using Cases = AnyOperator::Cases;
  virtual ~AnyTrials() = default;
  virtual std::shared_ptr<const Plan> plan(const Support& support) const = 0;
  virtual Cases table_cases(bool long_too) const = 0;
  virtual Cases random_cases(std::uint32_t seed) const = 0;
  virtual std::unique_ptr<AnyProblem> fuzz(Random& random) const = 0;
  // Calls try_it(argument) with each bad change made to `args`, the arguments of that storage, and undoes it behind each.
  virtual void for_each_bad_input(const std::string& storage, const Support& support,
                                  DeviceKind where, void* args,
                                  const std::function<void(const std::string&)>& try_it) const = 0;
};

// All of this program.
const std::vector<std::unique_ptr<AnyOperator>>& operators();
std::string operator_names();  // "wkv, gla, ..."
// std::invalid_argument lists the names there are.
const AnyOperator& find_operator(const std::string& name);
void add_operator(std::unique_ptr<AnyOperator> op, int place);

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

// The array of that name; its struct must outlive it.
template <typename Args>
ListedArray listed(const Args& args, const std::string& name) {
  for (const ListedArray& array : arrays_of(args)) {
    if (array.name == name) return array;
  }
  throw std::logic_error("no array is called " + name);
}

template <typename Op>
std::vector<RealInput> inputs_of(const typename Op::Problem& problem) {
  const auto is_one_of = [](const auto& names, const std::string& name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  std::vector<RealInput> inputs;
  const auto host = Op::sizes(Op::case_of(problem));
  for (const auto& input_and_count : problem.inputs()) {
    // No structured binding, here and in make_case: clang before 16 refuses it in `requires`.
    const std::string& name = input_and_count.first;
    if constexpr (requires { Op::kDerived; }) {
      if (is_one_of(Op::kDerived, name)) continue;
    }
    RealInput input{listed(host, name), {}, problem[name]};
    input.array.pointer_at = nullptr;
    if constexpr (requires { Op::axis_word(name, name); }) {
      for (const Axis& axis : input.array.axes)
        input.words.push_back(Op::axis_word(name, axis.name));
    }
    if constexpr (requires { Op::kLinearIn; }) input.linear = is_one_of(Op::kLinearIn, name);
    inputs.push_back(std::move(input));
  }
  return inputs;
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
  std::vector<std::string> storages() const override { return storages_of(Storages()); }
  std::string options() const override { return option_names(options_in(Case())); }
  Shape shape() const override { return shape_of(Sizes{}); }

  bool computes(const Implementation& implementation, const std::string& storage) const override {
    return with_storage<Op>(
        storage, [&]<typename Args>() { return launcher<Key, Args>(implementation) != nullptr; });
  }

  std::unique_ptr<AnyCase> make_case(const Shape& shape, const Options& options,
                                     const std::string& storage) const override {
    const auto case_and_sizes = made(shape, options, storage);
    Case c = case_and_sizes.first;
    const Sizes& sizes = case_and_sizes.second;
    Shape settled = shape_of(sizes);
    if constexpr (requires { Op::settle(c, settled); }) Op::settle(c, settled);
    return std::make_unique<CaseOf>(c, settled, options_of(c, Op::make_case(sizes)));
  }
  static Case case_of(const Shape& shape, const Options& options, const std::string& storage) {
    return made(shape, options, storage).first;
  }
  std::shared_ptr<const AnyCase> case_for(const std::vector<GivenArray>& inputs, const Shape& shape,
                                          const Options& options,
                                          const std::string& storage) const override {
    Case c = case_of(shape, options, storage);
    const Case usual = case_of(shape, {}, storage);
    const auto arrays = [&](const CaseToFit::Change& change) {
      auto host = Op::sizes(c);
      change(fields_of(host));
      return those_wanted<Op>(c, unbound(arrays_of(host)));
    };
    fit({fields_of(c), options_in(c), options_in(usual), arrays}, inputs, options);
    return any(c);
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

  std::vector<std::int64_t> least() const override { return limits(&ListedField::least); }
  std::vector<std::int64_t> most() const override { return limits(&ListedField::most); }

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
    return trials().plan(support);
  }
  Cases table_cases(bool long_too) const override { return trials().table_cases(long_too); }
  Cases random_cases(std::uint32_t seed) const override { return trials().random_cases(seed); }
  bool draws_random_problems() const override {
    return requires(Random & random) {
      Op::fuzz(random);
    };
  }
  std::unique_ptr<AnyProblem> fuzz(Random& random) const override { return trials().fuzz(random); }
  std::unique_ptr<AnyProblem> read(std::istream& in) const override {
    Case c = Op::make_case(Sizes());
    set_precision(c, read_case(in, fields_of(c), options_in(c)));
    return any_problem(Problem(c, in));
  }

  // What tests ask of it. Where Op::kTriedApart, they are linked with it, and other programs are not.
  static void try_by(const AnyTrials& trials) { trials_ = &trials; }

  static std::unique_ptr<AnyProblem> any_problem(const Problem& problem) {
    return std::make_unique<ProblemOf>(problem);
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

  static std::pair<Case, Sizes> made(const Shape& shape, const Options& options,
                                     const std::string& storage) {
    Sizes sizes;
    set_shape(sizes, shape, Op::kName);
    Case c = Op::make_case(sizes);
    set_options(c, options, Op::kName);
    if constexpr (requires { Op::check_options(c, options); }) Op::check_options(c, options);
    with_storage<Op>(storage, []<typename Args>() {});
    set_precision(c, storage);
    return {c, sizes};
  }
  // Of each size in the list.
  template <typename Limit>
  static std::vector<std::int64_t> limits(const Limit& limit) {
    const Sizes sizes;
    std::vector<std::int64_t> result;
    for (const ListedField& field : fields_of(sizes)) {
      if (field.is_size()) result.push_back((field.*limit)());
    }
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

  static const AnyTrials& trials() {
    if (trials_ == nullptr)
      throw std::logic_error(std::string(Op::kName) + " is linked without its trials");
    return *trials_;
  }
  static inline const AnyTrials* trials_ = nullptr;

  template <typename Args>
  class Placed : public AnyOnDevice {
   public:
    Placed(Device& device, const Implementation& implementation, const AnyProblem& any,
           const Problem& problem, std::function<void(const Args&)> launch)
        : any_(any),
          problem_(problem),
          implementation_(implementation.name),
          where_(implementation.device),
          data_(device, problem),
          launch_(std::move(launch)) {}
    const AnyProblem& problem() const override { return any_; }
    const std::string& implementation() const override { return implementation_; }
    void call() const override { launch_(data_.args()); }
    void hold(const std::vector<unsigned char>& outputs) const {
      data_.arrays().set_output_bytes(outputs);
    }
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
    std::vector<unsigned char> outputs() const override { return data_.arrays().output_bytes(); }
    bool is_untouched() const override { return data_.arrays().is_untouched(); }
    void for_each_bad_input(const Support& support, const TryIt& try_it) const override {
      Args bad = data_.args();
      const auto call = [&] { launch_(bad); };
      ladder::for_each_bad_input(fields_of(bad), arrays_of(bad),
                                 [&](const std::string& argument) { try_it(argument, call); });
      trials().for_each_bad_input(Args::kStorage, support, where_, &bad,
                                  [&](const std::string& argument) { try_it(argument, call); });
    }

   private:
    const AnyProblem& any_;
    const Problem& problem_;
    std::string implementation_;
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
    std::vector<RealInput> real_inputs() const override { return inputs_of<Op>(problem_); }
    std::unique_ptr<AnyProblem> with(const std::string& input,
                                     const std::vector<float>& values) const override {
      Problem changed = problem_;
      changed[input] = values;
      if constexpr (requires { Op::derive(changed); }) Op::derive(changed);
      changed.round_to_storage();
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
            return std::make_unique<Placed<Args>>(device, implementation, *this, problem_, launch);
          });
    }
    std::unique_ptr<AnyOnDevice> holding(const std::vector<unsigned char>& outputs,
                                         const std::string& implementation) const override {
      return with_storage<Op>(
          storage_of(Op::case_of(problem_)), [&]<typename Args>() -> std::unique_ptr<AnyOnDevice> {
            auto held = std::make_unique<Placed<Args>>(device(DeviceKind::kCpu),
                                                       Implementation{.name = implementation},
                                                       *this, problem_, nullptr);
            held->hold(outputs);
            return held;
          });
    }
    void write(std::ostream& out) const override {
      any(Op::case_of(problem_))->write(out);
      problem_.write(out);
    }
    void check_values() const override {
      if constexpr (requires { Op::check_values(problem_); }) Op::check_values(problem_);
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
    std::string storage() const override { return storage_of(case_); }
    std::vector<ListedArray> stored_arrays() const override {
      return those_wanted<Op>(case_, stored_list<Op>(case_));
    }
    std::vector<ListedArray> host_arrays() const override {
      return those_wanted<Op>(case_, host_list<Op>(case_));
    }
    double fma_count() const override { return Op::fma_count(Op::sizes(case_)); }
    double judged_fma() const override {
      if constexpr (requires { Op::judged_fma(case_); }) {
        return Op::judged_fma(case_);
      } else {
        return fma_count();
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
    bool launch(const Implementation& implementation, const Place& place) const override {
      return with_storage<Op>(storage(), [&]<typename Args>() {
        const auto launch = launcher<Key, Args>(implementation);
        if (launch == nullptr) return false;
        Args args;
        copy_fields(Op::sizes(case_), args);
        for (const ListedArray& array : those_wanted<Op>(case_, arrays_of(args))) {
          if (array.elements() > 0) array.point_at(place(static_cast<std::size_t>(array.bytes())));
        }
        launch(args);
        return true;
      });
    }
    void write(std::ostream& out) const override {
      put(out, Op::kName);
      write_case(out, fields_of(case_), options_in(case_), storage_of(case_));
    }

    Shape sizes() const override { return shape_of(Op::sizes(case_)); }

   protected:
    Options options_unlike(const AnyCase& other) const override {
      return options_of(case_, dynamic_cast<const CaseOf&>(other).case_);
    }
    Options unusual_options() const override { return options_of(case_, Op::make_case(Sizes())); }
    std::shared_ptr<const AnyCase> with(const Options& options,
                                        const std::string& storage) const override {
      Case changed = case_;
      set_options(changed, options, Op::kName);
      set_precision(changed, storage);
      return any(changed);
    }

   private:
    Case case_;
    Shape shape_;
    Options options_;
  };
};

template <typename Op>
class TrialsOf : public AnyTrials {
 public:
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
  std::unique_ptr<AnyProblem> fuzz([[maybe_unused]] Random& random) const override {
    if constexpr (requires { Op::fuzz(random); })
      return OperatorOf<Op>::any_problem(Op::fuzz(random));
    return nullptr;
  }
  void for_each_bad_input(const std::string& storage, const Support& support, DeviceKind where,
                          void* args,
                          const std::function<void(const std::string&)>& try_it) const override {
    with_storage<Op>(storage, [&]<typename Args>() {
      if constexpr (requires { Op::template bad_inputs<Args>(support, where); }) {
        Args& bad = *static_cast<Args*>(args);
        const Args good = bad;
        for (const auto& [argument, spoil] : Op::template bad_inputs<Args>(support, where)) {
          spoil(bad);
          try_it(argument);
          bad = good;
        }
      }
    });
  }

 private:
  static Cases any(const std::vector<typename Op::Case>& cases) {
    Cases result;
    for (const typename Op::Case& c : cases)
      result.push_back(OperatorOf<Op>::any(c));
    return result;
  }
};

// Of an operator that says kTriedApart, in the source of its trials.
template <typename Op>
struct TrialsRegistration {
  TrialsRegistration() {
    static const TrialsOf<Op> trials;
    OperatorOf<Op>::try_by(trials);
  }
};

// `place`: where it stands in the list of operators; those with the same one are sorted by name.
template <typename Op>
struct OperatorRegistration {
  explicit OperatorRegistration(int place = 100) {
    add_operator(std::make_unique<OperatorOf<Op>>(), place);
    if constexpr (!requires { Op::kTriedApart; }) TrialsRegistration<Op>();
  }
};

}  // namespace ladder
