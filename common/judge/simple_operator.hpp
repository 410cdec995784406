// Most of an operator, for one whose arrays are drawn and judged by its lists. What is left to say:
//
//     struct Matmul : SimpleOperator<Matmul, MatmulSizes, MatmulArgs<float>, MatmulArgs<float>, MatmulArgs<bfloat16>> {
//       static constexpr const char* kName = "matmul";
//       static double fma_count(const MatmulArgs<float>& args);
//       static std::vector<Truth> truth(const Drawn<Matmul>& problem);  one for each output, in the list's order
//       static double additions(const MatmulArgs<float>& args);         that an element is made with: what its limit is counted from
//     };
//
// The sizes are a base of the arguments; the first arguments are the host's, the others what launchers take. Optional:
//
//     draw(case, name, values, generator)      fills an input; without it reals are drawn from -magnitude to magnitude
//     explain(problem, outputs)                the misconception that a wrong result is recognised by; "" if none. outputs[0].equals(values)
//     wants(case, name)                        whether the case has that array: what is optional must be absent with some option
//     store(problem, args, name, elements)     fills a stored array that the host's list does not have
//
// An input is null in truth() if its pointer is not to const, or is left out of the list.
//
// An operator with a Case of its own derives from JudgedOperator, and may say more:
//
//     draw(problem)                            all inputs, in the place of one after the other
//     truth(problem, arithmetic)               where the terms depend on what products are made of
//     mistakes(problem, truth, arithmetic)     Mistakes (common/judge/mistakes.hpp), in the place of explain
//     kKnownApart                              mistakes and plain are linked with what names a mistake, and not with other programs:
//                                              a KnownRegistration stands in their source
//     axis_word(array, axis)                   what an axis is called in a sentence: "step"
//     plain(problem, arithmetic)               the outputs of a plain fp32 loop, whose error is shown beside a kernel's
//     sample(problem, outputs, most_judged_whole)   a part of a problem whose check would take more multiply-adds, with the outputs that
//                                              belong to it
//     to_judge(problem, outputs)               the outputs as the truth has them, where what is stored is more
//     may_be_infinite(name)                    of an output of a sampled problem
//     kReportsFirst                            a right verdict is about the first output, not about the one nearest to its limit
//     own_plan(support), support_words()       its tests, and what of a Support they look at
//     table_cases(long_too), random_cases(seed), fuzz(random)      see Operator
//     settle_belonging(problem, array, axis, index, belonging)     where the axes do not tell all
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <istream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/generator.hpp"
#include "common/core/on_device.hpp"
#include "common/core/parcel.hpp"
#include "common/judge/design.hpp"
#include "common/judge/drawn.hpp"
#include "common/judge/judging.hpp"
#include "common/judge/mistakes.hpp"
#include "common/judge/operator_of.hpp"
#include "common/judge/plan.hpp"

namespace ladder {

// A problem with more multiply-adds than this is judged in part, where its operator can take one.
inline constexpr double kMostJudgedWhole = 4e9;

// Inputs are drawn from numbers up to this: products of four of them are within fp32.
inline constexpr float kLargestMagnitude = 1e8f;

// An output's true values, and for each the root of the sum of its squared terms. Without terms a value is its only one.
struct Truth {
  std::vector<double> values, terms = {};
  std::optional<Roundings> roundings =
      {};  // otherwise they are counted from the operator's additions
  Exact exact = {};
};

// Of an operator that says kKnownApart; null where they are not linked.
template <typename Op>
struct Known {
  using Problem = typename Op::Problem;
  static inline Mistakes (*mistakes)(const Problem&, const std::vector<Truth>&,
                                     Arithmetic) = nullptr;
  static inline typename Op::Outputs (*plain)(const Problem&, Arithmetic) = nullptr;
};

template <typename Op>
struct KnownRegistration {
  KnownRegistration() {
    Known<Op>::mistakes = &Op::mistakes;
    Known<Op>::plain = &Op::plain;
  }
};

template <typename Sizes>
struct SizedCase : Sizes {
  std::string precision = "fp32";
  float magnitude = 1.0f;
  std::uint32_t seed = 1;

  // Fields that are no sizes are options.
  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    Sizes::fields(s, [&](const char* name, auto& value, auto... limits) {
      constexpr bool whole = std::is_integral_v<std::remove_cvref_t<decltype(value)>>;
      if constexpr (!whole || sizeof...(limits) == 0) visit(name, value, limits...);
    });
    visit("magnitude", s.magnitude, 0, kLargestMagnitude), visit("seed", s.seed);
  }
};

template <typename Sizes>
std::string name_of(const SizedCase<Sizes>& c) {
  const Sizes& sizes = c;
  return case_name(shape_of(sizes), options_of(c, SizedCase<Sizes>{sizes}), c.precision);
}

// A case with its inputs, by the names of the list. `Inputs` is the operator, or what several operators with the same inputs share: Case,
// Host, Storages, sizes(case), wants, draw.
template <typename Inputs>
class Drawn : public DrawnArrays {
 public:
  using Case = typename Inputs::Case;
  using Host = typename Inputs::Host;

  explicit Drawn(const Case& c) : case_(c) {
    if constexpr (requires(Drawn & d) { Inputs::draw(d); }) {
      Inputs::draw(*this);
    } else {
      draw_each();
    }
    round_to_storage();
  }
  // With no inputs yet.
  Drawn() = default;

  // Of that case, with what `write` has written.
  Drawn(const Case& c, std::istream& in) : case_(c) {
    Host args = Inputs::sizes(case_);
    for (std::string name = take(in); !name.empty(); name = take(in)) {
      const std::string elements = take(in);
      Host::arrays(args, [&](const char* listed, auto& pointer, const Axes&, auto...) {
        if (name != listed) return;
        using Element = Pointee<decltype(pointer)>;
        std::vector<Element>& values = array<Element>(name);
        values.resize(elements.size() / sizeof(Element));
        std::memcpy(values.data(), elements.data(), elements.size());
      });
    }
  }

  const Case& drawn_case() const { return case_; }
  Case& drawn_case() { return case_; }

  // The inputs; outputs are null.
  Host args() const {
    Host args = Inputs::sizes(case_);
    set_pointers(arrays_of(args));
    return args;
  }

  // Only values that the arrays can hold where they are stored.
  void round_to_storage() { round(stored_list<Inputs>(case_)); }

 private:
  void draw_each() {
    Generator generator(case_.seed);
    Host args = Inputs::sizes(case_);
    Host::arrays(args, [&](const char* name, auto& pointer, const Axes& axes, auto...) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      using Element = Pointee<Pointer>;
      if constexpr (kIsInput<Pointer>) {
        if (!wants<Inputs>(case_, name)) return;
        std::vector<Element>& values = array<Element>(name);
        values.resize(static_cast<std::size_t>(count(axes)));
        if constexpr (requires { Inputs::draw(case_, name, values, generator); }) {
          Inputs::draw(case_, name, values, generator);
        } else {
          for (Element& x : values)
            x = static_cast<Element>(generator.uniform(-case_.magnitude, case_.magnitude));
        }
      }
    });
  }

  Case case_;
};

// The outputs that a case has, in the list's order.
template <typename Op>
std::vector<ListedArray> outputs_of(const typename Op::Case& c) {
  std::vector<ListedArray> outputs = those_wanted<Op>(c, host_list<Op>(c));
  std::erase_if(outputs, [](const ListedArray& array) { return array.is_input; });
  return outputs;
}

template <typename Op>
std::vector<typename Op::Case> found_cases(const std::vector<FoundCase>& found) {
  std::vector<typename Op::Case> cases;
  for (const FoundCase& each : found)
    cases.push_back(operator_of<Op>()
                        .made(each.shape, each.options, each.storage)
                        .template as<typename Op::Case>());
  return cases;
}

// The plan's case; `levels` say what it is made of.
template <typename Op>
PlannedCase planned(const typename Op::Case& c, const std::vector<std::string>& levels = {}) {
  return {name_of(c), as_case<Op>(c), levels};
}

// The cases of a design, as a plan has them.
template <typename Op>
void plan_cases(Plan& plan, const Design<typename Op::Case>& design,
                const std::vector<typename Op::Case>& cases) {
  const auto levels = design.levels_of(cases);
  for (std::size_t n = 0; n < cases.size(); ++n)
    plan.cases.push_back(planned<Op>(cases[n], levels[n]));
  plan.has_pairs = true;
  plan.missing_pairs = design.missing_pairs(cases);
}

// Calls visit(name, values, n) for the n-th output that the case has, of a struct with a list of its vectors.
template <typename Op, typename Result, typename Visit>
void for_each_in_order(const typename Op::Case& c, const Result& result, const Visit& visit) {
  const std::vector<ListedArray> outputs = outputs_of<Op>(c);
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    Result::arrays(result, [&](const char* name, const auto& values) {
      if (outputs[n].name == name) visit(outputs[n].name, values, n);
    });
  }
}

// The outputs that the case has, of such a struct.
template <typename Op, typename Result>
Answer answer_of(const typename Op::Case& c, const Result& result) {
  Answer answer;
  for_each_in_order<Op>(c, result, [&](const std::string&, const auto& values, std::size_t) {
    answer.emplace_back(values.begin(), values.end());
  });
  return answer;
}

template <typename Op, typename OpSizes, typename OpCase, typename OpInputs, typename HostArgs,
          typename... StoredArgs>
struct JudgedOperator {
  using Operator = Op;  // where it draws its inputs itself
  using Sizes = OpSizes;
  using Host = HostArgs;
  using Storages = Types<StoredArgs...>;
  using Case = OpCase;
  using Problem = Drawn<OpInputs>;
  using Outputs = std::vector<std::vector<float>>;
  using Parts = std::vector<Part>;

  static Problem make_problem(const Case& c) { return Problem(c); }
  static const Case& case_of(const Problem& problem) { return problem.drawn_case(); }
  static Host args(const Problem& problem) { return problem.args(); }

  template <typename OpOutputs>
  static Verdict judge(const Problem& problem, const OpOutputs& outputs, Arithmetic arithmetic) {
    const std::vector<Truth> truth = truth_of(problem, arithmetic);
    const auto& judged = to_judge(problem, outputs);
    return verdict_on(parts(problem, judged, truth, arithmetic));
  }

  // With a plain loop's error; a part of a problem whose check would take too long.
  template <typename OpOutputs>
  static Verdict judge_for_report(const Problem& problem, const OpOutputs& outputs,
                                  Arithmetic arithmetic,
                                  double most_judged_whole = kMostJudgedWhole) {
    if constexpr (requires { Op::sample(problem, outputs, most_judged_whole); }) {
      if (const auto sample = Op::sample(problem, outputs, most_judged_whole)) {
        Verdict whole = all_finite(problem, outputs);
        return whole.right ? with_plain_loop(sample->first, sample->second, arithmetic) : whole;
      }
    }
    const Verdict verdict = [&] {
      if constexpr (requires { Op::kKnownApart; }) {
        return with_plain_loop(problem, outputs, arithmetic);
      } else if constexpr (requires { Op::plain(problem, arithmetic); }) {
        return with_plain_loop(problem, outputs, arithmetic);
      } else {
        return Op::judge(problem, outputs, arithmetic);
      }
    }();
    if constexpr (
        requires { Op::truth(problem); } || requires { Op::truth(problem, arithmetic); }) {
      if (!verdict.right) require_storable_truth(problem, outputs, arithmetic);
    }
    return verdict;
  }

  template <typename OpOutputs, typename Use>
  static void examine(const Problem& problem, const OpOutputs& outputs, Arithmetic arithmetic,
                      const Use& use) {
    const std::vector<Truth> truth = truth_of(problem, arithmetic);
    const auto& judged = to_judge(problem, outputs);
    Examined examined{parts(problem, judged, truth, arithmetic), 0, {}};
    while (examined.wrong < examined.parts.size() &&
           judge_part(examined.parts[examined.wrong]).right)
      ++examined.wrong;
    if constexpr (requires { Op::kKnownApart; }) {
      if (Known<Op>::mistakes != nullptr)
        examined.mistakes = Known<Op>::mistakes(problem, truth, arithmetic);
    } else if constexpr (requires { Op::mistakes(problem, truth, arithmetic); }) {
      examined.mistakes = Op::mistakes(problem, truth, arithmetic);
    } else if constexpr (requires { Op::explain(problem, examined.parts); }) {
      examined.mistakes.own = [&](const std::vector<Part>& parts) {
        return Op::explain(problem, parts);
      };
    }
    use(examined);
  }

  template <typename Use>
  static void with_mistakes(const Problem& problem, const Use& use) {
    if constexpr (requires { Op::kKnownApart; }) {
      const std::vector<Truth> truth = truth_of(problem, Arithmetic::kFp32);
      if (Known<Op>::mistakes != nullptr)
        use(Known<Op>::mistakes(problem, truth, Arithmetic::kFp32));
    } else if constexpr (requires(std::vector<Truth> t) {
                           Op::mistakes(problem, t, Arithmetic{});
                         }) {
      const std::vector<Truth> truth = truth_of(problem, Arithmetic::kFp32);
      use(Op::mistakes(problem, truth, Arithmetic::kFp32));
    }
  }

  // By the axes of the array: "h" is a head, "b" a batch, "sequence" a packed sequence.
  static Belonging belonging(const Problem& problem, const std::string& array,
                             std::int64_t element) {
    Belonging result;
    const Host args = problem.args();
    for (const ListedArray& listed : arrays_of(args)) {
      if (listed.name != array) continue;
      const Layout layout = layout_of(listed);
      const std::vector<std::int64_t> at = layout.index(element);
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        if (layout.axes[axis] == "h") result.head = at[axis];
        if (layout.axes[axis] == "b" || layout.axes[axis] == "sequence") result.sequence = at[axis];
        if constexpr (requires { Op::settle_belonging(problem, array, "t", at[axis], result); })
          Op::settle_belonging(problem, array, layout.axes[axis], at[axis], result);
      }
    }
    return result;
  }

  // What must be true of each output that the case has.
  static std::vector<Truth> truth_of(const Problem& problem, Arithmetic arithmetic) {
    if constexpr (requires { Op::truth(problem, arithmetic); }) {
      return Op::truth(problem, arithmetic);
    } else {
      return Op::truth(problem);
    }
  }

  // They point at the outputs and at the truth.
  template <typename OpOutputs>
  static std::vector<Part> parts(const Problem& problem, const OpOutputs& outputs,
                                 const std::vector<Truth>& truth, Arithmetic arithmetic) {
    const std::vector<ListedArray> stored = stored_list<Op>(case_of(problem));
    std::vector<Part> result;
    for (const ListedArray& listed : outputs_of<Op>(case_of(problem))) {
      Layout layout = layout_of(listed);
      if constexpr (requires { Op::axis_word(listed.name, layout.axes.back()); }) {
        for (const std::string& axis : layout.axes)
          layout.words.push_back(Op::axis_word(listed.name, axis));
      }
      const std::size_t n = result.size();
      require(n < truth.size(), std::string(Op::kName) + "'s truth() has " +
                                    std::to_string(truth.size()) +
                                    " outputs; allowed: one for each that its list has");
      const Truth& right = truth[n];
      result.push_back(
          {layout, &output(outputs, listed.name, n), &right.values,
           right.terms.empty() ? &right.values : &right.terms,
           right.roundings ? *right.roundings : roundings(problem, stored, listed.name, arithmetic),
           right.exact.elements.empty() ? nullptr : &right.exact,
           rounding_of(precision_of(listed.name, stored))});
    }
    return result;
  }

  // The n-th output that the case has, which has that name.
  template <typename OpOutputs>
  static const std::vector<float>& output(const OpOutputs& outputs, const std::string& name,
                                          std::size_t n) {
    if constexpr (requires { OpOutputs::arrays(outputs, [](const char*, const auto&) {}); }) {
      const std::vector<float>* found = nullptr;
      OpOutputs::arrays(outputs, [&](const char* other, const std::vector<float>& values) {
        if (name == other) found = &values;
      });
      return *found;
    } else if constexpr (std::is_same_v<OpOutputs, std::vector<float>>) {
      return outputs;
    } else {
      return outputs.at(n);
    }
  }

  // As they are stored, one array behind the other.
  template <typename OpOutputs>
  static std::vector<unsigned char> output_bytes(const Problem& problem, const OpOutputs& outputs) {
    std::vector<unsigned char> bytes;
    std::size_t n = 0;
    for (const ListedArray& listed :
         those_wanted<Op>(case_of(problem), stored_list<Op>(case_of(problem)))) {
      if (listed.is_input) continue;
      const std::vector<float>& values = output(outputs, listed.name, n++);
      const std::size_t first = bytes.size();
      bytes.resize(first + values.size() * listed.type->size);
      convert(kElementType<float>, values.data(), values.size(), *listed.type,
              bytes.data() + first);
    }
    return bytes;
  }

  // Sizes above the most that is supported.
  template <typename Args>
  static std::vector<BadInput<Args>> bad_inputs(const Support& support, DeviceKind) {
    std::vector<BadInput<Args>> bad;
    for (const auto& [size, most] : support.most) {
      bad.push_back({size, [size = size, most = most](Args& a) {
                       Args::fields(a, [&](const char* name, auto& value, auto...) {
                         using Value = std::decay_t<decltype(value)>;
                         if constexpr (std::is_same_v<Value, std::int64_t>) {
                           if (name == size) value = most + 1;
                         }
                       });
                     }});
    }
    return bad;
  }

  static std::shared_ptr<const Plan> plan(const Support& support) {
    Op::support_words().check(Op::kName, support);
    if constexpr (requires { Op::own_plan(support); }) {
      return Op::own_plan(support);
    } else {
      return std::make_shared<Plan>(
          plan_by_lists(find_operator(Op::kName), tried_options(), support));
    }
  }

  static SupportWords support_words() {
    SupportWords words;
    const Shape shape = shape_of(Sizes());
    for (const Size& size : shape.sizes())
      words.sizes.push_back(size.name);
    words.most = words.sizes;
    const Case usual = Op::make_case(Sizes());
    for (const ListedOption& option : options_in(usual))
      words.options.push_back(option.name);
    return words;
  }

  // All flags and words, and of numbers those that a kernel gets.
  static std::vector<TriedOption> tried_options() {
    std::vector<TriedOption> options;
    const Sizes sizes;
    const Case usual = Op::make_case(sizes);
    const std::vector<ListedField> fields = fields_of(sizes);
    for (const ListedOption& option : options_in(usual)) {
      TriedOption tried{option.name, {option.words.begin(), option.words.end()}};
      const std::string value = option.text(option);
      if (value == "true" || value == "false")
        tried.levels = {value, value == "true" ? "false" : "true"};
      const bool is_field =
          std::any_of(fields.begin(), fields.end(),
                      [&](const ListedField& field) { return field.name == option.name; });
      if (is_field || !tried.levels.empty()) options.push_back(tried);
    }
    return options;
  }

 private:
  template <typename OpOutputs>
  static decltype(auto) to_judge(const Problem& problem, const OpOutputs& outputs) {
    if constexpr (requires { Op::to_judge(problem, outputs); }) {
      return Op::to_judge(problem, outputs);
    } else {
      return (outputs);
    }
  }

  static Verdict verdict_on(const std::vector<Part>& parts) {
    Verdict verdict;
    verdict.right = true;
    for (std::size_t n = 0; n < parts.size(); ++n) {
      const Verdict of_part = judge_part(parts[n]);
      if (!of_part.right) return of_part;
      constexpr bool first = requires {
        Op::kReportsFirst;
      };
      if (n == 0 || (!first && of_part.share > verdict.share)) verdict = of_part;
    }
    return verdict;
  }

  template <typename OpOutputs>
  static Verdict with_plain_loop(const Problem& problem, const OpOutputs& outputs,
                                 Arithmetic arithmetic) {
    const std::vector<Truth> truth = truth_of(problem, arithmetic);
    Verdict verdict = verdict_on(parts(problem, outputs, truth, arithmetic));
    if (!verdict.right) return verdict;
    const auto add = [&](const auto& plain) {
      add_plain_loop(verdict, parts(problem, plain, truth, arithmetic));
    };
    if constexpr (requires { Op::kKnownApart; }) {
      if (Known<Op>::plain != nullptr) add(Known<Op>::plain(problem, arithmetic));
    } else {
      add(Op::plain(problem, arithmetic));
    }
    return verdict;
  }

  template <typename OpOutputs>
  static void require_storable_truth(const Problem& problem, const OpOutputs& outputs,
                                     Arithmetic arithmetic) {
    const std::vector<Truth> truth = truth_of(problem, arithmetic);
    const auto& judged = to_judge(problem, outputs);
    for (const Part& part : parts(problem, judged, truth, arithmetic))
      require_storable(part);
  }

  // Whether all outputs are finite, for a problem that is judged in part.
  template <typename OpOutputs>
  static Verdict all_finite(const Problem& problem, const OpOutputs& outputs) {
    Verdict verdict;
    verdict.right = true;
    std::size_t n = 0;
    for (const ListedArray& listed : outputs_of<Op>(case_of(problem))) {
      const std::vector<float>& values = output(outputs, listed.name, n++);
      if constexpr (requires { Op::may_be_infinite(listed.name); }) {
        if (Op::may_be_infinite(listed.name)) continue;
      }
      if (std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
        continue;
      verdict.right = false;
      verdict.message =
          "WRONG RESULT: " + listed.name + " has elements that are not finite, or not written";
      break;
    }
    return verdict;
  }

  // Counted from the operator's additions.
  static Roundings roundings([[maybe_unused]] const Problem& problem,
                             [[maybe_unused]] const std::vector<ListedArray>& stored,
                             [[maybe_unused]] const std::string& output,
                             [[maybe_unused]] Arithmetic arithmetic) {
    if constexpr (requires { Op::additions(problem.args()); }) {
      return counted_roundings(stored, output, Op::additions(problem.args()), arithmetic);
    } else {
      throw std::logic_error(std::string(Op::kName) +
                             " says neither how often it adds nor what is rounded");
    }
  }
};

template <typename Op, typename OpSizes, typename HostArgs, typename... StoredArgs>
struct SimpleOperator
    : JudgedOperator<Op, OpSizes, SizedCase<OpSizes>, Op, HostArgs, StoredArgs...> {
  static SizedCase<OpSizes> make_case(const OpSizes& sizes) { return {sizes}; }
  static HostArgs sizes(const SizedCase<OpSizes>& c) {
    HostArgs args;
    static_cast<OpSizes&>(args) = c;
    return args;
  }
};

}  // namespace ladder
