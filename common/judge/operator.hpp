// The open operator as a value, all that the ladder, the X-ray and the suites use of any operator.
// It has lists and functions, and those with a default are optional. common/judge/typed.hpp fills
// in the functions that depend on the types of its arguments.
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

// Calls its argument with a result, its truth, and the known mistakes.
using Examine = std::function<void(const std::function<void(const Examined&)>&)>;

// The head, and the batch or packed sequence, that an element belongs to, or -1 for all.
struct Belonging {
  std::int64_t head = -1, sequence = -1;
};

// The cost of an operator, FMAs and bytes if every array moves once.
struct Cost {
  double fma_count = 0, bytes = 0;
  bool is_a_limit = false;  // an upper bound, because key_lengths may leave fewer
};

// The outputs of a case in list order, and pointers to them.
using Outputs = std::vector<std::vector<float>>;
using OutputsAt = std::vector<const std::vector<float>*>;
OutputsAt at(const Outputs& outputs);

// A non-empty input of real numbers.
struct RealInput {
  ListedArray array;
  std::vector<std::string> words;  // names of its axes in a sentence, empty for the list's
  std::vector<float> values;
  bool linear = false;  // the outputs are linear in it (Operator::linear_in)
};

// A struct with lists, without its type. It contains what its lists point at.
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

// Launches a kernel with arguments of some type.
using Launch = std::function<void(const Struct& args)>;

// A shape with options and a storage.
class Case {
 public:
  // `shape` and `options` are the requested ones.
  Case(const Operator& op, Struct typed, Shape shape, Options options)
      : op_(op), typed_(std::move(typed)), shape_(std::move(shape)), options_(std::move(options)) {}

  Shape shape() const { return shape_; }
  Options options() const { return options_; }  // those that are not the default
  std::string storage() const;
  Shape sizes() const;  // of the arguments
  // The arrays of the case in list order, for a launcher and on the host. Their pointers are null.
  std::vector<ListedArray> stored_arrays() const;
  std::vector<ListedArray> host_arrays() const;
  std::vector<std::string> array_names() const;         // of the launcher's arrays
  std::pair<std::string, double> first_output() const;  // its name and number of elements
  // Computed from the sizes alone.
  double fma_count() const;
  double judged_fma() const;   // FMAs of the float64 truth
  double truth_bytes() const;  // memory of the truth besides its arrays
  Cost cost() const;
  double elements() const;       // of all arrays of the host
  double largest_array() const;  // in elements
  // Sizes, options and storage, as "B=2, T=37, K=64; decay=strong, reverse; bf16".
  std::string text() const;

  std::unique_ptr<Problem> make() const;
  // Calls the implementation's launcher with uninitialised arrays from `place(bytes)`, to find out
  // what it launches. Returns false if it has no launcher for this case.
  using Place = std::function<void*(std::size_t bytes)>;
  bool launch(const Implementation& implementation, const Place& place) const;
  // Writes the part of a problem that precedes its inputs.
  void write(std::ostream& out) const;

  // How this case differs from `other`: all different sizes together ("K=4"), then each option
  // ("reverse") and the storage ("stored in bf16"). `changed`: `other` with these so far.
  struct Difference {
    std::string words;
    bool is_size;
    std::shared_ptr<const Case> changed;
  };
  std::vector<Difference> differences(const Case& other) const;
  // This case, but with the options and storage named by `words` as in `other`.
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

// A case with its inputs, by their names in the host's list.
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
  // The same case and inputs for another operator.
  Problem as_of(const Operator& op) const;
  // The host's arguments, whose inputs point into this problem.
  Struct args() const;
  template <typename Args>
  Args args() const {
    return args().template as<Args>();
  }
  std::string name() const;  // of its case
  std::string storage() const;
  // The inputs of real numbers that are not derived from others.
  std::vector<RealInput> real_inputs() const;
  // A copy with one element, or all elements, of an input replaced.
  std::unique_ptr<Problem> with(const std::string& input, std::int64_t element, float value) const;
  std::unique_ptr<Problem> with(const std::string& input, const std::vector<float>& values) const;
  // Rounds the inputs to values that the storage can hold.
  void round_to_storage();
  // The outputs of the case, in list order.
  std::vector<ListedArray> outputs() const;
  // An answer rounded to its storage, and the bytes of stored outputs, array after array.
  Outputs stored(const Answer& answer) const;
  std::vector<unsigned char> bytes_of(const OutputsAt& outputs) const;
  // Passes the known mistakes, without comparing any.
  void with_mistakes(const std::function<void(const Mistakes&)>& use) const;
  // The head and sequence of an element of an input or output.
  Belonging belonging(const std::string& array, std::int64_t element) const;
  // Null if the implementation has no launcher for it.
  std::unique_ptr<Placed> place(Device& device, const Implementation& implementation) const;
  // A problem on the CPU with these outputs of the implementation, and no launcher.
  std::unique_ptr<Placed> holding(const std::vector<unsigned char>& outputs,
                                  const std::string& implementation) const;
  // The case and all inputs, for read_problem.
  void write(std::ostream& out) const;
  // Throws std::invalid_argument for given input values that no implementation may get.
  void check_values() const;

 protected:
  Struct& own_case() { return case_; }

 private:
  const Operator* op_;
  Struct case_;
};

std::unique_ptr<Problem> read_problem(std::istream& in);

// A problem with more FMAs is judged in part, if its operator can select one.
inline constexpr double kMostJudgedWhole = 4e9;

struct Operator {
  // Arguments of one storage, and how to get a launcher for them.
  struct Stored {
    std::string storage;  // "fp32"
    Struct args;
    std::function<Launch(const Implementation&)> launcher;  // null if there is none
  };
  using Cases = std::vector<std::shared_ptr<const Case>>;
  using Fma = std::function<double(const Shape&)>;

  std::string name = {};
  // Its name (`name` if empty) in an absent implementation, as operators may share launchers.
  std::string launchers = {};

  // Filled in by common/judge/typed.hpp unless given.
  Struct default_sizes = {};  // for --shape
  std::vector<Stored> stored = {};
  std::function<Struct(const Struct& sizes)> case_with = {};
  std::function<Struct(const Struct& c)> host = {};  // the arguments, with sizes but no pointers
  std::function<std::string(const Struct&c)> name_of = {}, storage_of = {};
  // Sets the storage of a case. Returns the allowed storages on failure, otherwise nothing.
  std::function<std::string(const std::string& storage, Struct& c)> read_storage = {};

  // The computation: FMAs, from the sizes alone, and the truth in float64.
  std::function<double(const Struct& host)> fma_count = {};
  std::function<std::vector<Truth>(const Problem&, Arithmetic)> truth = {};  // null for own_judge
  // Additions per element, from which its limit is counted unless the truth has `roundings`.
  std::function<double(const Struct& host)> additions = {};

  // Draws all inputs. If null, draw_input draws each, in list order, with the seed of the case.
  std::function<void(Problem&)> draw = {};
  // Fills an input, initially 0. Returns false to get real numbers up to the case's magnitude.
  std::function<bool(Problem&, const std::string& input, Generator&)> draw_input =
      [](Problem&, const std::string&, Generator&) { return false; };

  // From here on everything is optional.
  std::function<bool(const Struct& c, const std::string& array)> wants =
      [](const Struct&, const std::string&) { return true; };  // whether the case has that array
  // Fills a stored array that the host's list lacks. Returns false if there is none of that name.
  std::function<bool(const Problem&, const Struct& args, const ListedArray&, void* elements)>
      store = [](const Problem&, const Struct&, const ListedArray&, void*) { return false; };
  // Throws for given options that have no effect on the case.
  std::function<void(const Struct& c, const Options& given)> check_options = [](const Struct&,
                                                                                const Options&) {};
  std::function<void(const Problem&)> check_values = [](const Problem&) {};
  // Sets the members of a case and its shape that follow from the others.
  std::function<void(Struct& c, Shape& shape)> settle = [](Struct&, Shape&) {};
  // Inputs of which the outputs are a linear (or affine) function if all others are fixed.
  std::vector<std::string> linear_in = {};
  // Inputs that are computed from the others, and the function that does so.
  std::vector<std::string> derived = {};
  std::function<void(Problem&)> derive = [](Problem&) {};
  // The name of an axis in a sentence, such as "step". If null, as in the list.
  std::function<std::string(const std::string& array, const std::string& axis)> axis_word = {};
  std::function<double(const Struct& c)> judged_fma = {};  // null for fma_count
  std::function<double(const Struct& c)> truth_bytes = [](const Struct&) { return 0.0; };
  bool draws_with_work = false;  // drawing a problem is as much work as computing it
  // The size that counts the steps of a walk, if there is one. The work of a launch grows with it.
  std::string steps = {};
  // The storages that `./ladder run` climbs by default, and the named shapes of --shape.
  std::vector<std::string> climbed = {};
  std::vector<std::pair<std::string, Shape>> named_shapes = {};
  // Sets sizes that have a common name ("D"). Returns false if there is no such name.
  std::function<bool(Shape& shape, const std::string& name, std::int64_t value)> set_other_size =
      [](Shape&, const std::string&, std::int64_t) { return false; };
  // A small shape for the X-ray, perhaps with the channels of `like`. If null, all sizes up to 32.
  std::function<Shape()> own_small_shape = {};
  std::function<Shape(const Shape& like)> own_small_shape_like = {};
  // See `part` and `larger`. Null: the largest sizes are halved, and two of them doubled.
  std::function<Shape(const Shape& whole, const Fma& fma, double most)> own_part = {};
  std::function<Shape(const Shape& part, const Shape& whole)> own_larger = {};

  // The verdict, if a comparison with the truth is not enough.
  std::function<Verdict(const Problem&, const DeviceArrays&, Arithmetic)> own_judge = {};
  // The outputs to compare with the truth, if the stored outputs contain more.
  std::function<Outputs(const Problem&, const OutputsAt&)> to_judge = {};
  // Selects a part of a problem whose check would need too many FMAs, with its outputs. The other
  // function gives the outputs of a part that may have infinite elements.
  using Sample = std::pair<Problem, Outputs>;
  std::function<std::optional<Sample>(const Problem&, const OutputsAt&, double most_judged_whole)>
      sample = {};
  std::function<bool(const std::string& output)> may_be_infinite = [](const std::string&) {
    return false;
  };
  // The verdict on a right result describes the first output, not the one nearest to its limit.
  bool reports_first = false;
  // The outputs of a plain fp32 loop, whose error is shown next to a kernel's.
  std::function<Outputs(const Problem&, Arithmetic)> plain = {};
  // The known mistakes, and a recognised one, or "" if there is none.
  std::function<Mistakes(const Problem&, const std::vector<Truth>&, Arithmetic)> mistakes = {};
  std::function<std::string(const Problem&, const std::vector<Part>&)> explain = {};
  // The head and sequence of an element, if the axes do not determine them.
  std::function<void(const Problem&, const std::string& array, const std::string& axis,
                     std::int64_t index, Belonging&)>
      settle_belonging =
          [](const Problem&, const std::string&, const std::string&, std::int64_t, Belonging&) {};

  // For tests. Programs without tests may be linked without these.
  std::function<std::shared_ptr<const Plan>(const Support&)> own_plan = {};  // null for the lists
  std::function<SupportWords()> own_support_words = {};  // the parts that own_plan uses
  // Cases that compare errors of right results with their limits, and small cases from a seed.
  std::function<Cases(bool long_too)> table_cases = [](bool) { return Cases(); };
  std::function<Cases(std::uint32_t seed)> random_cases = [](std::uint32_t) { return Cases(); };
  // Draws any sizes, options and values that an implementation may get, if not null.
  std::function<std::unique_ptr<Problem>(Random& random)> fuzz = {};
  // Calls try_it(argument) for each invalid change to the arguments of that storage, and undoes it.
  // If null, tries sizes above the largest supported ones.
  std::function<void(const std::string& storage, const Support& support, DeviceKind where,
                     Struct& args, const std::function<void(const std::string&)>& try_it)>
      bad_inputs = {};

  std::vector<std::string> storages() const;
  std::string options() const;  // "reverse, scale"
  // For this storage. Throws std::invalid_argument with the allowed ones.
  const Stored& stored_as(const std::string& storage) const;
  bool computes(const Implementation& implementation, const std::string& storage) const;
  std::unique_ptr<Case> make_case(const Shape& shape, const Options& options,
                                  const std::string& storage) const;
  // The case with this value.
  std::shared_ptr<const Case> case_from(Struct c) const;
  // The case of given arrays. Sizes that no axis determines are taken from `shape`. See `fit`.
  std::shared_ptr<const Case> case_for(const std::vector<GivenArray>& inputs, const Shape& shape,
                                       const Options& options, const std::string& storage) const;
  // The value of a case, before `settle`.
  Struct made(const Shape& shape, const Options& options, const std::string& storage) const;
  Problem drawn(Struct c) const;
  Struct usual_case() const { return case_with(default_sizes); }
  void set_storage(Struct& c, const std::string& storage) const;

  Shape shape() const;  // the default
  Shape small_shape(const Shape& like) const;
  Shape small_shape() const;
  // The limits of each size of the shape.
  std::vector<std::int64_t> least() const;
  std::vector<std::int64_t> most() const;
  // The outputs of a case, in list order.
  std::vector<ListedArray> outputs_of(const Struct& c) const;
  // Each output with its truth, by pointers to both.
  std::vector<Part> parts(const Struct& c, const OutputsAt& outputs,
                          const std::vector<Truth>& truth, Arithmetic arithmetic) const;
  Verdict judge(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic) const;
  // With a plain loop's error, and only a part of a problem that would take too long.
  Verdict judge_for_report(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic,
                           double most_judged_whole = kMostJudgedWhole) const;
  void examine(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic,
               const std::function<void(const Examined&)>& use) const;

  std::shared_ptr<const Plan> plan(const Support& support) const;
  SupportWords support_words() const;
  // All flags and words, and the numbers that are passed to kernels.
  std::vector<TriedOption> tried_options() const;

  // Sets one or several sizes by name. Returns false if there is no such name.
  bool set_size(Shape& shape, const std::string& name, std::int64_t value) const;
  // A part with at most `most` FMAs, if possible, and a part with about four times the work.
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
  const std::string& implementation() const { return implementation_; }  // "" if it has no launcher
  void call() const { launch_(args_); }
  // The verdict on the outputs of the calls. A report includes a plain loop's error, and judges a
  // part of a problem that would take too long. Throws WroteElsewhere.
  Verdict judge(Arithmetic arithmetic, bool for_report) const;
  void examine(Arithmetic arithmetic, const std::function<void(const Examined&)>& use) const;
  // The bytes of the outputs, array after array. Throws WroteElsewhere.
  std::vector<unsigned char> outputs() const { return arrays_.output_bytes(); }
  void set_outputs(const std::vector<unsigned char>& bytes) const {
    arrays_.set_output_bytes(bytes);
  }
  bool is_untouched() const { return arrays_.is_untouched(); }
  const Struct& args() const { return args_; }
  const DeviceArrays& arrays() const { return arrays_; }
  // Calls try_it(argument, call) for each bad input from the operator's lists or its bad_inputs,
  // where `call` passes it to the launcher.
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

// All operators of this program.
const std::vector<const Operator*>& operators();
std::string operator_names();  // "wkv, gla, ..."
// Throws std::invalid_argument with the existing names.
const Operator& find_operator(const std::string& name);
// `op` must live as long as the program. The list is sorted by `place`, then by name.
void add_operator(const Operator& op, int place);

// Belongs in the operator's own .cpp file.
struct OperatorRegistration {
  explicit OperatorRegistration(const Operator& op, int place = 100) { add_operator(op, place); }
  explicit OperatorRegistration(Operator&& op, int place = 100);  // keeps the operator
};

}  // namespace ladder
