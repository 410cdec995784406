// The open operator, as a value: what the ladder, the X-ray and the suites see of any operator. Nothing here knows one.
//
// An Operator has lists and functions. Functions with a default need not be given. common/judge/typed.hpp fills in what depends on the
// types of its arguments.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "common/core/given.hpp"
#include "common/core/on_device.hpp"
#include "common/core/options.hpp"
#include "common/core/registry.hpp"
#include "common/core/shape.hpp"
#include "common/core/verdict.hpp"
#include "common/judge/mistakes.hpp"
#include "common/judge/named_arrays.hpp"

namespace ladder {

struct Operator;
struct Plan;  // common/judge/plan.hpp
struct Support;
class Problem;
struct SupportWords;
struct TriedOption;
class Random;     // common/judge/random.hpp
class Generator;  // common/core/generator.hpp

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

// The outputs that a case has, in the list's order; and where they are.
using Outputs = std::vector<std::vector<float>>;
using OutputsAt = std::vector<const std::vector<float>*>;
OutputsAt at(const Outputs& outputs);

// An input of real numbers that has elements.
struct RealInput {
  ListedArray array;
  std::vector<std::string> words;  // what its axes are called in a sentence; empty: by their names
  std::vector<float> values;
  bool linear = false;  // the outputs are a linear function of it: see Operator::linear_in
};

// A struct with lists, without its type. What its lists point at is in it.
class Struct {
 public:
  Struct() = default;
  template <typename T>
  explicit Struct(T value)
      : value_(std::move(value)),
        fields_([](const std::any& any) { return fields_of(std::any_cast<const T&>(any)); }),
        arrays_([](const std::any& any) { return arrays_in(std::any_cast<const T&>(any)); }),
        options_([](const std::any& any) { return options_in(std::any_cast<const T&>(any)); }) {}

  template <typename T>
  const T& as() const {
    return std::any_cast<const T&>(value_);
  }
  template <typename T>
  T& as() {
    return std::any_cast<T&>(value_);
  }
  std::vector<ListedField> fields() const { return fields_(value_); }
  std::vector<ListedArray> arrays() const { return arrays_(value_); }
  std::vector<ListedOption> options() const { return options_(value_); }

 private:
  template <typename T>
  static std::vector<ListedArray> arrays_in(const T& value) {
    if constexpr (requires { T::arrays(value, [](const char*, auto&&...) {}); })
      return arrays_of(value);
    else
      return {};
  }

  std::any value_;
  std::vector<ListedField> (*fields_)(const std::any&) = nullptr;
  std::vector<ListedArray> (*arrays_)(const std::any&) = nullptr;
  std::vector<ListedOption> (*options_)(const std::any&) = nullptr;
};

// A launcher of arguments of some type.
using Launch = std::function<void(const Struct& args)>;

// A shape with options and a storage.
class Case {
 public:
  // `shape` and `options` are those that somebody has asked for.
  Case(const Operator& op, Struct typed, Shape shape, Options options)
      : op_(op), typed_(std::move(typed)), shape_(std::move(shape)), options_(std::move(options)) {}

  Shape shape() const { return shape_; }
  Options options() const { return options_; }  // those that are not as usual
  std::string storage() const;
  Shape sizes() const;  // of the arguments
  // The arrays that it has, in the list's order: what a launcher gets, and what the host has. They point nowhere.
  std::vector<ListedArray> stored_arrays() const;
  std::vector<ListedArray> host_arrays() const;
  std::vector<std::string> array_names() const;         // those that a launcher gets
  std::pair<std::string, double> first_output() const;  // its name and elements
  // From the sizes alone.
  double fma_count() const;
  double judged_fma() const;   // multiply-adds of the float64 truth
  double truth_bytes() const;  // what the truth takes besides its arrays
  Cost cost() const;
  double elements() const;       // of all arrays of the host
  double largest_array() const;  // elements
  // "B=2, T=37, K=64; decay=strong, reverse; bf16": its sizes, the options that are not as usual, and the storage.
  std::string text() const;

  std::unique_ptr<Problem> make() const;
  // Calls the implementation's launcher with arrays that lie where `place(bytes)` says and hold nothing: for whoever only wants to know
  // what it launches. False where it has no launcher for this.
  using Place = std::function<void*(std::size_t bytes)>;
  bool launch(const Implementation& implementation, const Place& place) const;
  // What a problem writes before its inputs.
  void write(std::ostream& out) const;

  // In what it differs from another case of its operator: all sizes that are others, "K=4"; each option and the storage, "reverse",
  // "stored in bf16". With each there is the other case changed so far, the sizes all at once.
  struct Difference {
    std::string words;
    bool is_size;
    std::shared_ptr<const Case> changed;
  };
  std::vector<Difference> differences(const Case& other) const;
  // It, but that the options and the storage which these words of differences(other) name are as in the other one.
  std::shared_ptr<const Case> without(const std::vector<std::string>& words,
                                      const Case& other) const;

 private:
  Options options_unlike(const Case& other) const;
  std::shared_ptr<const Case> with(const Options& options, const std::string& storage) const;

  const Operator& op_;
  Struct typed_;
  Shape shape_;
  Options options_;
};

class Placed;

// A case with its inputs, by the names of the host's list.
class Problem : public NamedArrays {
 public:
  // It has no inputs yet.
  Problem(const Operator& op, Struct c) : op_(&op), case_(std::move(c)) {}

  const Operator& op() const { return *op_; }
  const Struct& drawn_case() const { return case_; }
  template <typename OpCase>
  const OpCase& as() const {
    return case_.as<OpCase>();
  }
  // Another operator's, with the same case and inputs.
  Problem as_of(const Operator& op) const;
  // The host's arguments, whose inputs point into this problem.
  Struct args() const;
  template <typename Args>
  Args args() const {
    return args().template as<Args>();
  }
  std::string name() const;  // its case's
  std::string storage() const;
  // The inputs of real numbers that do not follow from others.
  std::vector<RealInput> real_inputs() const;
  // It with one element changed, and with other elements in one input.
  std::unique_ptr<Problem> with(const std::string& input, std::int64_t element, float value) const;
  std::unique_ptr<Problem> with(const std::string& input, const std::vector<float>& values) const;
  // Only values that the arrays can hold where they are stored.
  void round_to_storage();
  // The outputs that its case has, in the list's order.
  std::vector<ListedArray> outputs() const;
  // What an answer is when it is stored; and the bytes of outputs as they are stored, one array behind the other.
  Outputs stored(const Answer& answer) const;
  std::vector<unsigned char> bytes_of(const OutputsAt& outputs) const;
  // Those that are known; none is looked for here.
  void with_mistakes(const std::function<void(const Mistakes&)>& use) const;
  // What is known of one element of an input or of an output.
  Belonging belonging(const std::string& array, std::int64_t element) const;
  // Null where the implementation has no launcher for it.
  std::unique_ptr<Placed> place(Device& device, const Implementation& implementation) const;
  // On the CPU, with these outputs, and with no launcher: what the implementation of that name has computed.
  std::unique_ptr<Placed> holding(const std::vector<unsigned char>& outputs,
                                  const std::string& implementation) const;
  // For read_problem: what the case writes, and all inputs as they are.
  void write(std::ostream& out) const;
  // Refuses values of inputs that were not drawn and that no implementation may get (std::invalid_argument).
  void check_values() const;

 protected:
  Struct& own_case() { return case_; }

 private:
  const Operator* op_;
  Struct case_;
};

std::unique_ptr<Problem> read_problem(std::istream& in);

// A problem with more multiply-adds than this is judged in part, where its operator can take one.
inline constexpr double kMostJudgedWhole = 4e9;

struct Operator {
  // Arguments of one storage, and how their launchers are called.
  struct Stored {
    std::string storage;  // "fp32"
    Struct args;
    std::function<Launch(const Implementation&)> launcher;  // null where there is none
  };
  using Cases = std::vector<std::shared_ptr<const Case>>;
  using Fma = std::function<double(const Shape&)>;

  std::string name = {};
  // What an absent implementation calls it: operators may share launchers. Empty: its name.
  std::string launchers = {};

  // What common/judge/typed.hpp fills in, unless it is given.
  Struct default_sizes = {};  // what --shape says
  std::vector<Stored> stored = {};
  std::function<Struct(const Struct& sizes)> case_with = {};
  std::function<Struct(const Struct& c)> host = {};  // the arguments, with sizes and no pointers
  std::function<std::string(const Struct&c)> name_of = {}, storage_of = {};
  // Sets a case's storage, and returns what is allowed instead, or nothing.
  std::function<std::string(const std::string& storage, Struct& c)> read_storage = {};

  // What it computes: multiply-adds, from the sizes alone, and the truth in float64.
  std::function<double(const Struct& host)> fma_count = {};
  std::function<std::vector<Truth>(const Problem&, Arithmetic)> truth = {};  // null: own_judge
  // That an element is made with: what its limit is counted from, where the truth says no roundings.
  std::function<double(const Struct& host)> additions = {};

  // The inputs of a problem that has none yet. Null: each by draw_input, in the list's order, from a Generator with the case's seed.
  std::function<void(Problem&)> draw = {};
  // Fills an input, all 0, that the problem has by that name. False: real numbers are drawn up to the case's magnitude.
  std::function<bool(Problem&, const std::string& input, Generator&)> draw_input =
      [](Problem&, const std::string&, Generator&) { return false; };

  // What may be left out.
  std::function<bool(const Struct& c, const std::string& array)> wants =
      [](const Struct&, const std::string&) { return true; };  // whether the case has that array
  // Fills a stored array that the host's list does not have; false where it has none of that name.
  std::function<bool(const Problem&, const Struct& args, const ListedArray&, void* elements)>
      store = [](const Problem&, const Struct&, const ListedArray&, void*) { return false; };
  // Refuses options that are given and change nothing of the case.
  std::function<void(const Struct& c, const Options& given)> check_options = [](const Struct&,
                                                                                const Options&) {};
  std::function<void(const Problem&)> check_values = [](const Problem&) {};
  // Sets what of a case and its shape follows from the rest.
  std::function<void(Struct& c, Shape& shape)> settle = [](Struct&, Shape&) {};
  // Names of inputs; with all others fixed the outputs are a linear function of each of these, or one and a constant.
  std::vector<std::string> linear_in = {};
  // Names of inputs that follow from the others, and what sets them.
  std::vector<std::string> derived = {};
  std::function<void(Problem&)> derive = [](Problem&) {};
  // What an axis is called in a sentence: "step". Null: by its name.
  std::function<std::string(const std::string& array, const std::string& axis)> axis_word = {};
  std::function<double(const Struct& c)> judged_fma = {};  // null: fma_count
  std::function<double(const Struct& c)> truth_bytes = [](const Struct&) { return 0.0; };
  bool draws_with_work = false;  // drawing a problem takes as much work as computing it
  // The size that a walk has as steps; empty if there is none. What a launch does grows with it.
  std::string steps = {};
  // The storages in which `./ladder run` climbs it when nothing is asked for, and the shapes that --shape knows by name.
  std::vector<std::string> climbed = {};
  std::vector<std::pair<std::string, Shape>> named_shapes = {};
  // Sets a size that several stand for ("D"). False if there is none of that name.
  std::function<bool(Shape& shape, const std::string& name, std::int64_t value)> set_other_size =
      [](Shape&, const std::string&, std::int64_t) { return false; };
  // A small shape for the X-ray; with the channels of `like`, where they say what a kernel does. Null: all sizes up to 32.
  std::function<Shape()> own_small_shape = {};
  std::function<Shape(const Shape& like)> own_small_shape_like = {};
  // See `part` and `larger`. Null: the largest sizes are halved, and two of them doubled.
  std::function<Shape(const Shape& whole, const Fma& fma, double most)> own_part = {};
  std::function<Shape(const Shape& part, const Shape& whole)> own_larger = {};

  // The verdict, where the truth is not all that there is to it.
  std::function<Verdict(const Problem&, const DeviceArrays&, Arithmetic)> own_judge = {};
  // The outputs as the truth has them, where what is stored is more.
  std::function<Outputs(const Problem&, const OutputsAt&)> to_judge = {};
  // A part of a problem whose check would take more multiply-adds, with the outputs that belong to it; and which outputs of it may have
  // infinite elements.
  using Sample = std::pair<Problem, Outputs>;
  std::function<std::optional<Sample>(const Problem&, const OutputsAt&, double most_judged_whole)>
      sample = {};
  std::function<bool(const std::string& output)> may_be_infinite = [](const std::string&) {
    return false;
  };
  // A right verdict is about the first output, not about the one nearest to its limit.
  bool reports_first = false;
  // The outputs of a plain fp32 loop, whose error is shown beside a kernel's.
  std::function<Outputs(const Problem&, Arithmetic)> plain = {};
  // What wrong results are called: known mistakes, or the one that is recognised; "" if none is.
  std::function<Mistakes(const Problem&, const std::vector<Truth>&, Arithmetic)> mistakes = {};
  std::function<std::string(const Problem&, const std::vector<Part>&)> explain = {};
  // To what an element belongs, where the axes do not tell all.
  std::function<void(const Problem&, const std::string& array, const std::string& axis,
                     std::int64_t index, Belonging&)>
      settle_belonging =
          [](const Problem&, const std::string&, const std::string&, std::int64_t, Belonging&) {};

  // What tests ask of it. Programs without tests may be linked without these.
  std::function<std::shared_ptr<const Plan>(const Support&)> own_plan = {};  // null: by its lists
  std::function<SupportWords()> own_support_words = {};  // what of a Support its own plan looks at
  // Cases on which the errors of right results are compared with their limits, and small ones drawn from a seed.
  std::function<Cases(bool long_too)> table_cases = [](bool) { return Cases(); };
  std::function<Cases(std::uint32_t seed)> random_cases = [](std::uint32_t) { return Cases(); };
  // Any sizes, options and values that an implementation may get. Null where the operator draws none.
  std::function<std::unique_ptr<Problem>(Random& random)> fuzz = {};
  // Calls try_it(argument) with each bad change made to the arguments of that storage, and undoes it behind each. Null: sizes above the
  // most that is supported.
  std::function<void(const std::string& storage, const Support& support, DeviceKind where,
                     Struct& args, const std::function<void(const std::string&)>& try_it)>
      bad_inputs = {};

  std::vector<std::string> storages() const;
  std::string options() const;  // "reverse, scale"
  // That of this storage. std::invalid_argument lists what is allowed.
  const Stored& stored_as(const std::string& storage) const;
  bool computes(const Implementation& implementation, const std::string& storage) const;
  std::unique_ptr<Case> make_case(const Shape& shape, const Options& options,
                                  const std::string& storage) const;
  // A case of that value, whoever made it.
  std::shared_ptr<const Case> case_from(Struct c) const;
  // That of arrays that somebody has: sizes that no axis tells are those of `shape`. See `fit`.
  std::shared_ptr<const Case> case_for(const std::vector<GivenArray>& inputs, const Shape& shape,
                                       const Options& options, const std::string& storage) const;
  // A case's value, before it is settled.
  Struct made(const Shape& shape, const Options& options, const std::string& storage) const;
  Problem drawn(Struct c) const;
  Struct usual_case() const { return case_with(default_sizes); }
  void set_storage(Struct& c, const std::string& storage) const;

  Shape shape() const;  // the default
  Shape small_shape(const Shape& like) const;
  Shape small_shape() const;
  // That each size of the shape may be.
  std::vector<std::int64_t> least() const;
  std::vector<std::int64_t> most() const;
  // The outputs that a case has, in the list's order.
  std::vector<ListedArray> outputs_of(const Struct& c) const;
  // Each output beside its truth. They point at both.
  std::vector<Part> parts(const Struct& c, const OutputsAt& outputs,
                          const std::vector<Truth>& truth, Arithmetic arithmetic) const;
  Verdict judge(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic) const;
  // With a plain loop's error; a part of a problem whose check would take too long.
  Verdict judge_for_report(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic,
                           double most_judged_whole = kMostJudgedWhole) const;
  void examine(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic,
               const std::function<void(const Examined&)>& use) const;

  std::shared_ptr<const Plan> plan(const Support& support) const;
  SupportWords support_words() const;
  // All flags and words, and of numbers those that a kernel gets.
  std::vector<TriedOption> tried_options() const;

  // Sets a size, or several that it stands for. False if there is none of that name.
  bool set_size(Shape& shape, const std::string& name, std::int64_t value) const;
  // A part of that shape that has at most so many multiply-adds, where that can be; and about four times a part.
  Shape part(const Shape& whole, const Fma& fma, double most) const;
  Shape larger(const Shape& part, const Shape& whole) const;
};

// A problem on a device, with a launcher for it.
class Placed {
 public:
  Placed(Device& device, const Problem& problem, const Implementation& implementation,
         const Operator::Stored& stored, Launch launch);
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  const Problem& problem() const { return problem_; }
  const std::string& implementation() const {
    return implementation_;
  }  // "" where nothing is called
  void call() const { launch_(args_); }
  // The verdict on what the calls have written. For a report, of a problem whose check would take too long a part is judged, and a
  // plain loop's error is given too. Throws WroteElsewhere.
  Verdict judge(Arithmetic arithmetic, bool for_report) const;
  void examine(Arithmetic arithmetic, const std::function<void(const Examined&)>& use) const;
  // The outputs' bytes, one array behind the other. Throws WroteElsewhere.
  std::vector<unsigned char> outputs() const { return arrays_.output_bytes(); }
  void set_outputs(const std::vector<unsigned char>& bytes) const {
    arrays_.set_output_bytes(bytes);
  }
  bool is_untouched() const { return arrays_.is_untouched(); }  // nothing was written
  const Struct& args() const { return args_; }
  const DeviceArrays& arrays() const { return arrays_; }
  // Calls try_it(argument, call) for every bad input that the operator's lists tell, and those that it knows of besides; `call` hands it
  // to the launcher.
  using TryIt = std::function<void(const std::string&, const std::function<void()>&)>;
  void for_each_bad_input(const Support& support, const TryIt& try_it) const;

 private:
  Placed(Device& device, const Problem& problem, const Implementation& implementation,
         const Operator::Stored& stored, const Struct& host, Launch launch);

  const Problem& problem_;
  std::string implementation_;
  DeviceKind where_;
  Struct args_;
  DeviceArrays arrays_;
  Launch launch_;
};

// All of this program.
const std::vector<const Operator*>& operators();
std::string operator_names();  // "wkv, gla, ..."
// std::invalid_argument lists the names there are.
const Operator& find_operator(const std::string& name);
// It must live as long as the program. `place`: where it stands in the list; those with the same one are sorted by name.
void add_operator(const Operator& op, int place);

// It stands in the operator's own .cpp file.
struct OperatorRegistration {
  explicit OperatorRegistration(const Operator& op, int place = 100) { add_operator(op, place); }
  explicit OperatorRegistration(Operator&& op, int place = 100);  // it is kept
};

}  // namespace ladder
