// Makes an Operator (common/judge/operator.hpp) of a struct of functions that know the types of its arguments, and registers it in the
// operator's own .cpp file: `const OperatorRegistration<Matmul> registration;`. The struct has
//
//     kName
//     Sizes                           a struct with a list `fields`: what --shape says; its values are the default
//     Case                            a member `precision`, all else in a list `fields` or in a list `options` (common/core/options.hpp)
//     Problem, Outputs                what it computes from and to, on the host
//     Storages                        Types<...>: the argument structs that its launchers may take
//     make_case(Sizes) -> Case        make_problem(Case) -> Problem         case_of(Problem) -> Case
//     sizes(Case)                     an argument struct with its fields set and no pointers
//     args(Problem)                   an argument struct whose inputs point at host arrays; its outputs need not point anywhere
//     fma_count(args)                 multiply-adds, from the sizes alone
//     judge(Problem, Outputs, Arithmetic) -> Verdict
//     examine(Problem, Outputs, Arithmetic, use)            what a diagnosis asks for: calls use(Examined)
//     plan(Support) -> Plan                                 its tests (common/judge/plan.hpp)
//
// and may have every other member that is looked for below. common/judge/simple_operator.hpp has most of that: what is left are arguments,
// cases, truth, mistakes, edges.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/operator.hpp"

namespace ladder {

namespace detail {

template <typename Op, typename... Args>
std::vector<Operator::Stored> stored_of(Types<Args...>) {
  return {{Args::kStorage, Struct(Args()), [](const Implementation& implementation) -> Launch {
             const auto launch = launcher<typename KeyOf<Op>::type, Args>(implementation);
             if (launch == nullptr) return nullptr;
             return [launch](const Struct& args) { launch(args.as<Args>()); };
           }}...};
}

// The functions that every struct has.
template <typename Op>
Operator required_of() {
  using OpCase = typename Op::Case;
  using OpProblem = typename Op::Problem;
  using Outputs = typename Op::Outputs;
  const auto typed = [](const Problem& problem) -> const OpProblem& {
    return problem.as<OpProblem>();
  };
  return {
      .name = Op::kName,
      .launchers = KeyOf<Op>::type::kName,
      .default_sizes = Struct(typename Op::Sizes()),
      .stored = stored_of<Op>(typename Op::Storages()),
      .case_with =
          [](const Struct& sizes) {
            return Struct(OpCase(Op::make_case(sizes.as<typename Op::Sizes>())));
          },
      .name_of = [](const Struct& c) { return name_of(c.as<OpCase>()); },
      .storage_of = [](const Struct& c) { return ladder::storage_of(c.as<OpCase>()); },
      .read_storage = [](const std::string& storage,
                         Struct& c) { return read_option(storage, c.as<OpCase>().precision); },
      .host = [](const Struct& c) { return Struct(Op::sizes(c.as<OpCase>())); },
      .draw = [](const Struct& c) -> std::any { return Op::make_problem(c.as<OpCase>()); },
      .read = [](const Struct& c, std::istream& in) -> std::any {
        return OpProblem(c.as<OpCase>(), in);
      },
      .case_of =
          [](const std::any& problem) {
            return Struct(OpCase(Op::case_of(std::any_cast<const OpProblem&>(problem))));
          },
      .arrays = [](std::any& problem) -> DrawnArrays& {
        return std::any_cast<OpProblem&>(problem);
      },
      .args = [=](const Problem& problem) { return Struct(Op::args(typed(problem))); },
      .round_to_storage =
          [](std::any& problem) { std::any_cast<OpProblem&>(problem).round_to_storage(); },
      .fma_count =
          [](const Struct& host) {
            return Op::fma_count(host.as<std::decay_t<decltype(Op::sizes(OpCase()))>>());
          },
      .judge =
          [=](const Problem& problem, const DeviceArrays& arrays, Arithmetic arithmetic,
              bool for_report) {
            const Outputs outputs = downloaded<Outputs>(arrays);
            if constexpr (requires { Op::judge_for_report(typed(problem), outputs, arithmetic); }) {
              if (for_report) return Op::judge_for_report(typed(problem), outputs, arithmetic);
            }
            return Op::judge(typed(problem), outputs, arithmetic);
          },
      .examine =
          [=](const Problem& problem, const DeviceArrays& arrays, Arithmetic arithmetic,
              const std::function<void(const Examined&)>& use) {
            Op::examine(typed(problem), downloaded<Outputs>(arrays), arithmetic, use);
          },
      .with_mistakes =
          [=](const Problem& problem, const std::function<void(const Mistakes&)>& use) {
            Op::with_mistakes(typed(problem), use);
          },
      .belonging =
          [=](const Problem& problem, const std::string& array, std::int64_t element) {
            return Op::belonging(typed(problem), array, element);
          },
      .store =
          [=](const Problem& problem, const Struct& args, const ListedArray& stored,
              void* elements) {
            return ladder::with_storage<Op>(problem.storage(), [&]<typename Args>() {
              return store_by<Op>(typed(problem), args.as<Args>(), stored, elements);
            });
          },
  };
}

template <typename Names>
std::vector<std::string> strings(const Names& names) {
  return {std::begin(names), std::end(names)};
}

// What is asked of a problem, and what of its shapes, may be left out.
template <typename Op>
void add_optional(Operator& op) {
  using OpCase = typename Op::Case;
  using OpProblem = typename Op::Problem;
  if constexpr (requires(OpCase c, std::string array) { Op::wants(c, array); }) {
    op.wants = [](const Struct& c, const std::string& array) {
      return Op::wants(c.as<OpCase>(), array);
    };
  }
  if constexpr (requires(OpCase c, Options given) { Op::check_options(c, given); }) {
    op.check_options = [](const Struct& c, const Options& given) {
      Op::check_options(c.as<OpCase>(), given);
    };
  }
  if constexpr (requires(OpProblem problem) { Op::check_values(problem); })
    op.check_values = [](const Problem& problem) { Op::check_values(problem.as<OpProblem>()); };
  if constexpr (requires(OpCase c, Shape shape) { Op::settle(c, shape); })
    op.settle = [](Struct& c, Shape& shape) { Op::settle(c.as<OpCase>(), shape); };
  if constexpr (requires { Op::kLinearIn; }) op.linear_in = strings(Op::kLinearIn);
  if constexpr (requires { Op::kDerived; }) op.derived = strings(Op::kDerived);
  if constexpr (requires(OpProblem problem) { Op::derive(problem); })
    op.derive = [](std::any& problem) { Op::derive(std::any_cast<OpProblem&>(problem)); };
  if constexpr (requires(std::string name) { Op::axis_word(name, name); })
    op.axis_word = Op::axis_word;
  if constexpr (requires(OpCase c) { Op::judged_fma(c); })
    op.judged_fma = [](const Struct& c) { return Op::judged_fma(c.as<OpCase>()); };
  if constexpr (requires(OpCase c) { Op::truth_bytes(c); })
    op.truth_bytes = [](const Struct& c) { return Op::truth_bytes(c.as<OpCase>()); };
  op.draws_with_work = requires {
    Op::kDrawsWithWork;
  };
  if constexpr (requires { Op::kSteps; }) op.steps = Op::kSteps;
  if constexpr (requires { Op::kClimbed; }) op.climbed = strings(Op::kClimbed);
  if constexpr (requires { Op::named_shapes(); }) op.named_shapes = Op::named_shapes();
  if constexpr (requires(Shape shape, std::string name) { Op::set_size(shape, name, 1); })
    op.set_other_size = Op::set_size;
  if constexpr (requires { Op::small_shape(); })
    op.own_small_shape = [] { return Op::small_shape(); };
  if constexpr (requires(Shape like) { Op::small_shape(like); })
    op.own_small_shape_like = [](const Shape& like) { return Op::small_shape(like); };
  if constexpr (requires(Shape whole, Operator::Fma fma) { Op::part(whole, fma, 1.0); })
    op.own_part = Op::part;
  if constexpr (requires(Shape part) { Op::larger(part, part); }) op.own_larger = Op::larger;
}

template <typename Op>
Operator::Cases as_cases(const std::vector<typename Op::Case>& cases) {
  Operator::Cases result;
  for (const typename Op::Case& c : cases)
    result.push_back(as_case<Op>(c));
  return result;
}

// What tests ask of it.
template <typename Op>
void add_trials(Operator& op) {
  op.plan = [](const Support& support) { return Op::plan(support); };
  if constexpr (requires { Op::table_cases(true); })
    op.table_cases = [](bool long_too) { return as_cases<Op>(Op::table_cases(long_too)); };
  if constexpr (requires { Op::random_cases(1u); })
    op.random_cases = [](std::uint32_t seed) { return as_cases<Op>(Op::random_cases(seed)); };
  if constexpr (requires(Random & random) { Op::fuzz(random); }) {
    op.fuzz = [](Random& random) {
      return std::make_unique<Problem>(as_problem<Op>(Op::fuzz(random)));
    };
  }
  op.for_each_bad_input =
      [](const std::string& storage, [[maybe_unused]] const Support& support,
         [[maybe_unused]] DeviceKind where, [[maybe_unused]] Struct& args,
         [[maybe_unused]] const std::function<void(const std::string&)>& try_it) {
        ladder::with_storage<Op>(storage, [&]<typename Args>() {
          if constexpr (requires { Op::template bad_inputs<Args>(support, where); }) {
            Args& bad = args.as<Args>();
            const Args good = bad;
            for (const auto& [argument, spoil] : Op::template bad_inputs<Args>(support, where)) {
              spoil(bad);
              try_it(argument);
              bad = good;
            }
          }
        });
      };
}

}  // namespace detail

template <typename Op>
Operator& operator_of() {
  static Operator op = [] {
    Operator made = detail::required_of<Op>();
    detail::add_optional<Op>(made);
    return made;
  }();
  return op;
}

// Where Op::kTriedApart, what tests ask of it is linked with them, and not with other programs: this stands in its source.
template <typename Op>
struct TrialsRegistration {
  TrialsRegistration() { detail::add_trials<Op>(operator_of<Op>()); }
};

// `place`: where it stands in the list of operators; those with the same one are sorted by name.
template <typename Op>
struct OperatorRegistration {
  explicit OperatorRegistration(int place = 100) {
    add_operator(operator_of<Op>(), place);
    if constexpr (!requires { Op::kTriedApart; }) TrialsRegistration<Op>();
  }
};

}  // namespace ladder
