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

// Inputs are drawn from numbers up to this: products of four of them are within fp32.
inline constexpr float kLargestMagnitude = 1e8f;

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
  using Outputs = ladder::Outputs;
  using Parts = std::vector<Part>;

  static Problem make_problem(const Case& c) { return Problem(c); }
  static const Case& case_of(const Problem& problem) { return problem.drawn_case(); }
  static Host args(const Problem& problem) { return problem.args(); }

  // For tests that have typed outputs.
  template <typename OpOutputs>
  static Verdict judge(const Problem& problem, const OpOutputs& outputs, Arithmetic arithmetic) {
    return operator_of<Op>().judge(as_problem<Op>(problem),
                                   outputs_at<Op>(case_of(problem), outputs), arithmetic);
  }
  template <typename OpOutputs>
  static Verdict judge_for_report(const Problem& problem, const OpOutputs& outputs,
                                  Arithmetic arithmetic, double most_judged_whole) {
    return operator_of<Op>().judge_for_report(as_problem<Op>(problem),
                                              outputs_at<Op>(case_of(problem), outputs), arithmetic,
                                              most_judged_whole);
  }
  template <typename OpOutputs>
  static void examine(const Problem& problem, const OpOutputs& outputs, Arithmetic arithmetic,
                      const std::function<void(const Examined&)>& use) {
    operator_of<Op>().examine(as_problem<Op>(problem), outputs_at<Op>(case_of(problem), outputs),
                              arithmetic, use);
  }
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
    return operator_of<Op>().parts(Struct(case_of(problem)),
                                   outputs_at<Op>(case_of(problem), outputs), truth, arithmetic);
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
