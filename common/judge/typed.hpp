// The parts of an operator that depend on the types of its arguments. Its own .cpp file makes it:
//
//     const OperatorRegistration registration(with_types<Scale, ScaleSizes, ScaleArgs, ScaleArgs>({
//         .name = "scale",
//         .fma_count = [](const Struct& host) { return double(host.as<ScaleArgs>().N); },
//         .truth = truth,
//     }));
//
// with_types<Key, Sizes, Host, Stored...> takes the type that finds its launchers, the sizes of
// --shape, the arguments on the host, and the launchers' arguments for each storage. Host derives
// from Sizes. Fields of Sizes that are no sizes are options. An operator with its own type of case
// uses with_case<Key, Sizes, Case, Host, Stored...> and gives case_with, host and name_of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/on_device.hpp"
#include "common/core/text.hpp"
#include "common/judge/design.hpp"
#include "common/judge/operator.hpp"
#include "common/judge/plan.hpp"

namespace ladder {

using Parts = std::vector<Part>;

// Inputs are drawn from numbers up to this, because products of four of them are within fp32.
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

template <typename Key, typename Sizes, typename OpCase, typename Host, typename... Stored>
Operator with_case(Operator op) {
  op.default_sizes = Struct(Sizes());
  op.stored = {
      {Stored::kStorage, Struct(Stored()), [](const Implementation& implementation) -> Launch {
         const auto launch = launcher<Key, Stored>(implementation);
         if (launch == nullptr) return nullptr;
         return [launch](const Struct& args) { launch(args.as<Stored>()); };
       }}...};
  op.storage_of = [](const Struct& c) { return ladder::storage_of(c.as<OpCase>()); };
  op.read_storage = [](const std::string& storage, Struct& c) {
    return read_option(storage, c.as<OpCase>().precision);
  };
  if constexpr (std::is_base_of_v<SizedCase<Sizes>, OpCase>) {
    op.name_of = [](const Struct& c) {
      const SizedCase<Sizes>& mine = c.as<OpCase>();
      const Sizes& sizes = mine;
      return case_name(shape_of(sizes), options_of(mine, SizedCase<Sizes>{sizes}), mine.precision);
    };
  }
  if (op.launchers.empty()) op.launchers = op.name;
  return op;
}

template <typename Key, typename Sizes, typename Host, typename... Stored>
Operator with_types(Operator op) {
  using OpCase = SizedCase<Sizes>;
  if (!op.case_with)
    op.case_with = [](const Struct& sizes) { return Struct(OpCase{sizes.as<Sizes>()}); };
  if constexpr (std::is_base_of_v<Sizes, Host>) {
    if (!op.host) {
      op.host = [](const Struct& c) {
        Host args;
        static_cast<Sizes&>(args) = c.as<OpCase>();
        return Struct(std::move(args));
      };
    }
  }
  return with_case<Key, Sizes, OpCase, Host, Stored...>(std::move(op));
}

// The operator of type Op, for an operator whose functions are in several files.
template <typename Op>
Operator& operator_of();
template <typename Op>
std::shared_ptr<const Case> as_case(const typename Op::Case& c) {
  return find_operator(Op::kName).case_from(Struct(c));
}

// A problem with known types. Inputs has Case, Host, and of(case), which gives the operator.
template <typename Inputs>
class ProblemOf : public Problem {
 public:
  using Op = typename Inputs::Op;
  using Case = typename Inputs::Case;
  using Host = typename Inputs::Host;

  explicit ProblemOf(const Case& c) : Problem(Inputs::of(c).drawn(Struct(c))) {}
  explicit ProblemOf(Problem problem) : Problem(std::move(problem)) {}
  static ProblemOf without_inputs(const Case& c) {
    return ProblemOf(Problem(Inputs::of(c), Struct(c)));
  }

  const Case& drawn_case() const { return Problem::drawn_case().template as<Case>(); }
  Case& drawn_case() { return own_case().template as<Case>(); }
  Host args() const { return Problem::args().template as<Host>(); }
};

// Wraps a function of a typed problem.
template <typename Result, typename Typed, typename... More>
auto of_any(Result (*function)(const Typed&, More...)) {
  return [function](const Problem& problem, More... more) {
    return function(Typed(problem), more...);
  };
}

// Wrap functions of the host's typed arguments, and of a typed case.
template <typename Result, typename Host>
auto of_host(Result (*function)(const Host&)) {
  return [function](const Struct& host) { return function(host.as<Host>()); };
}
template <typename Result, typename OpCase, typename... More>
auto of_case(Result (*function)(const OpCase&, More...)) {
  return [function](const Struct& c, More... more) { return function(c.as<OpCase>(), more...); };
}

// Operator::own_judge from a function of typed outputs.
template <typename Typed>
auto judge_by(Verdict (*function)(const Problem&, const Typed&, Arithmetic)) {
  return [function](const Problem& problem, const DeviceArrays& arrays, Arithmetic arithmetic) {
    return function(problem, downloaded<Typed>(arrays), arithmetic);
  };
}

// Operator::mistakes. Keeps alive what the answers refer to.
template <typename Typed>
auto mistakes_by(Mistakes (*function)(const Typed&, const std::vector<Truth>&, Arithmetic)) {
  return
      [function](const Problem& problem, const std::vector<Truth>& truth, Arithmetic arithmetic) {
        const auto kept = std::make_shared<const Typed>(problem);
        Mistakes mistakes = function(*kept, truth, arithmetic);
        mistakes.kept = kept;
        return mistakes;
      };
}

// Adds the mistake of fp32 operands rounded to TF32. `answer_to(problem)` is the right answer.
template <typename Typed, typename AnswerTo>
void add_tf32(Mistakes& mistakes, const Typed& problem, const AnswerTo& answer_to) {
  if (problem.storage() != "fp32") return;
  const auto answer = [&problem, answer_to] {
    Typed changed = problem;
    for (const char* array : {"q", "k", "v", "d_o"})
      to_tf32(changed[array]);
    return answer_to(changed);
  };
  mistakes.known.push_back(
      {mistakes.variants.equals + "of operands rounded to TF32", answer, 0, "tf32"});
}

// ---- Outputs as a struct with a list of vectors, as one vector, or as one per output ----

// The n-th output of the case, which has that name.
template <typename Typed>
const std::vector<float>& output_of(const Typed& outputs, const std::string& name, std::size_t n) {
  if constexpr (requires { Typed::arrays(outputs, [](const char*, const auto&) {}); }) {
    const std::vector<float>* found = nullptr;
    Typed::arrays(outputs, [&](const char* other, const std::vector<float>& values) {
      if (name == other) found = &values;
    });
    return *found;
  } else if constexpr (std::is_same_v<Typed, std::vector<float>>) {
    return outputs;
  } else {
    return outputs.at(n);
  }
}

template <typename Typed>
OutputsAt outputs_at(const Problem& problem, const Typed& outputs) {
  OutputsAt result;
  for (const ListedArray& listed : problem.outputs())
    result.push_back(&output_of(outputs, listed.name, result.size()));
  return result;
}
template <typename Typed>
Outputs untyped(const Problem& problem, const Typed& outputs) {
  Outputs result;
  for (const std::vector<float>* values : outputs_at(problem, outputs))
    result.push_back(*values);
  return result;
}
template <typename Typed>
Typed typed(const Problem& problem, const OutputsAt& outputs) {
  Typed result;
  std::size_t n = 0;
  for (const ListedArray& listed : problem.outputs())
    use_output(result, listed.name, [&](std::vector<float>& values) { values = *outputs.at(n++); });
  return result;
}
template <typename Typed>
Typed typed(const Problem& problem, const Outputs& outputs) {
  return typed<Typed>(problem, at(outputs));
}

// Calls visit(name, values, n) for the n-th output of the case, in a struct with a list.
template <typename Result, typename Visit>
void for_each_in_order(const Problem& problem, const Result& result, const Visit& visit) {
  const std::vector<ListedArray> outputs = problem.outputs();
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    Result::arrays(result, [&](const char* name, const auto& values) {
      if (outputs[n].name == name) visit(outputs[n].name, values, n);
    });
  }
}

// The outputs of the case, from a struct with a list.
template <typename Result>
Answer answer_of(const Problem& problem, const Result& result) {
  Answer answer;
  for_each_in_order(problem, result, [&](const std::string&, const auto& values, std::size_t) {
    answer.emplace_back(values.begin(), values.end());
  });
  return answer;
}

// The verdict on typed outputs, for tests.
template <typename Typed>
Verdict judge(const Problem& problem, const Typed& outputs, Arithmetic arithmetic) {
  if (problem.op().own_judge)
    return problem.holding(problem.bytes_of(outputs_at(problem, outputs)), "")
        ->judge(arithmetic, false);
  return problem.op().judge(problem, outputs_at(problem, outputs), arithmetic);
}

// ---- On a device ----

// A problem's arrays on a device, and the launchers' arguments.
template <typename Op, typename Args>
class OnDevice {
 public:
  OnDevice(Device& device, const Problem& problem)
      : placed_(device, problem, {}, problem.op().stored_as(Args::kStorage), nullptr) {}

  const Args& args() const { return placed_.args().template as<Args>(); }
  const DeviceArrays& arrays() const { return placed_.arrays(); }
  typename Op::Outputs download() const {
    return downloaded<typename Op::Outputs>(placed_.arrays());
  }

 private:
  Placed placed_;
};

// Runs the implementation once on poisoned outputs. Throws its exceptions, WroteElsewhere, and
// std::invalid_argument if it has no launcher.
template <typename Op>
typename Op::Outputs run_as(const Implementation& implementation, const Problem& problem) {
  Device& where = device(implementation.device);
  const auto placed = problem.place(where, implementation);
  require(placed != nullptr, implementation.name + " does not compute " + problem.op().name +
                                 " in this precision; allowed: " + joined(problem.op().storages()) +
                                 ", as far as it has a launcher");
  placed->call();
  where.synchronize();
  return downloaded<typename Op::Outputs>(placed->arrays());
}

// ---- Tests of an operator with known types ----

template <typename Op>
std::vector<typename Op::Case> found_cases(const std::vector<FoundCase>& found) {
  std::vector<typename Op::Case> cases;
  for (const FoundCase& each : found)
    cases.push_back(operator_of<Op>()
                        .made(each.shape, each.options, each.storage)
                        .template as<typename Op::Case>());
  return cases;
}

// A case of a plan. `levels` describe it.
template <typename Op>
PlannedCase planned(const typename Op::Case& c, const std::vector<std::string>& levels = {}) {
  return {name_of(c), as_case<Op>(c), levels};
}

// Adds the cases of a design to a plan.
template <typename Op>
void plan_cases(Plan& plan, const Design<typename Op::Case>& design,
                const std::vector<typename Op::Case>& cases) {
  const auto levels = design.levels_of(cases);
  for (std::size_t n = 0; n < cases.size(); ++n)
    plan.cases.push_back(planned<Op>(cases[n], levels[n]));
  plan.has_pairs = true;
  plan.missing_pairs = design.missing_pairs(cases);
}

template <typename Op>
Operator::Cases as_cases(const std::vector<typename Op::Case>& cases) {
  Operator::Cases result;
  for (const typename Op::Case& c : cases)
    result.push_back(as_case<Op>(c));
  return result;
}

// One bad change to good arguments, and the name that the error must contain.
template <typename Args>
struct BadInput {
  std::string argument;
  std::function<void(Args&)> spoil;
};

template <typename Pointer>
void misalign(Pointer& pointer) {
  pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
}

// Operator::bad_inputs from the list `bad.template operator()<Args>(support, where)`.
template <typename Op, typename Bad>
auto each_bad_input(const Bad& bad) {
  return [bad](const std::string& storage, const Support& support, DeviceKind where, Struct& args,
               const std::function<void(const std::string&)>& try_it) {
    with_storage<Op>(storage, [&]<typename Args>() {
      Args& spoilt = args.as<Args>();
      const Args good = spoilt;
      for (const auto& [argument, spoil] : bad.template operator()<Args>(support, where)) {
        spoil(spoilt);
        try_it(argument);
        spoilt = good;
      }
    });
  };
}

// Reports a wrong result.
template <typename Typed>
void expect_right(Report& report, const Problem& problem, const Typed& outputs,
                  Arithmetic arithmetic) {
  const Verdict verdict = judge(problem, outputs, arithmetic);
  if (verdict.right) return;
  report.wrong(verdict, *problem.holding(problem.bytes_of(outputs_at(problem, outputs)), ""),
               arithmetic);
}

}  // namespace ladder
