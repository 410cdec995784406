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
#include "common/judge/plan.hpp"

namespace ladder {

// The outputs that a case has, in the list's order.
template <typename Op>
std::vector<ListedArray> outputs_of(const typename Op::Case& c) {
  std::vector<ListedArray> outputs = those_wanted<Op>(c, host_list<Op>(c));
  std::erase_if(outputs, [](const ListedArray& array) { return array.is_input; });
  return outputs;
}

// The n-th output that the case has, which has that name.
template <typename OpOutputs>
const std::vector<float>& output_of(const OpOutputs& outputs, const std::string& name,
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

// The outputs of a struct with a list of its vectors, of one vector, or of one for each, where they are and as values.
template <typename Op, typename OpOutputs>
OutputsAt outputs_at(const typename Op::Case& c, const OpOutputs& outputs) {
  OutputsAt result;
  for (const ListedArray& listed : outputs_of<Op>(c))
    result.push_back(&output_of(outputs, listed.name, result.size()));
  return result;
}
template <typename Op, typename OpOutputs>
Outputs untyped(const typename Op::Case& c, const OpOutputs& outputs) {
  Outputs result;
  for (const std::vector<float>* values : outputs_at<Op>(c, outputs))
    result.push_back(*values);
  return result;
}

// And back.
template <typename Op>
typename Op::Outputs typed(const typename Op::Case& c, const OutputsAt& outputs) {
  typename Op::Outputs result;
  std::size_t n = 0;
  for (const ListedArray& listed : outputs_of<Op>(c))
    use_output(result, listed.name, [&](std::vector<float>& values) { values = *outputs.at(n++); });
  return result;
}

// The outputs' bytes as they are stored, one array behind the other.
template <typename Op, typename OpOutputs>
std::vector<unsigned char> output_bytes(const typename Op::Case& c, const OpOutputs& outputs) {
  std::vector<unsigned char> bytes;
  std::size_t n = 0;
  for (const ListedArray& listed : those_wanted<Op>(c, stored_list<Op>(c))) {
    if (listed.is_input) continue;
    const std::vector<float>& values = output_of(outputs, listed.name, n++);
    const std::size_t first = bytes.size();
    bytes.resize(first + values.size() * listed.type->size);
    convert(kElementType<float>, values.data(), values.size(), *listed.type, bytes.data() + first);
  }
  return bytes;
}

namespace detail {

template <typename Op, typename... Args>
std::vector<Operator::Stored> stored_of(Types<Args...>) {
  return {{Args::kStorage, Struct(Args()), [](const Implementation& implementation) -> Launch {
             const auto launch = launcher<typename KeyOf<Op>::type, Args>(implementation);
             if (launch == nullptr) return nullptr;
             return [launch](const Struct& args) { launch(args.as<Args>()); };
           }}...};
}

template <typename Op>
using HostOf = std::decay_t<decltype(Op::sizes(typename Op::Case()))>;

// The functions that every struct has.
template <typename Op>
Operator required_of() {
  using OpCase = typename Op::Case;
  using OpProblem = typename Op::Problem;
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
      .args = [](const Problem& problem) { return Struct(Op::args(problem.as<OpProblem>())); },
      .round_to_storage =
          [](std::any& problem) { std::any_cast<OpProblem&>(problem).round_to_storage(); },
      .fma_count = [](const Struct& host) { return Op::fma_count(host.as<HostOf<Op>>()); },
      .store =
          [](const Problem& problem, const Struct& args, const ListedArray& stored,
             void* elements) {
            return ladder::with_storage<Op>(problem.storage(), [&]<typename Args>() {
              return store_by<Op>(problem.as<OpProblem>(), args.as<Args>(), stored, elements);
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

// Its known mistakes and its plain loop, where it has them.
template <typename Op>
void add_known(Operator& op) {
  using OpProblem = typename Op::Problem;
  if constexpr (requires(OpProblem problem) { Op::plain(problem, Arithmetic::kFp32); }) {
    op.plain = [](const Problem& problem, Arithmetic arithmetic) {
      const OpProblem& of = problem.as<OpProblem>();
      return untyped<Op>(Op::case_of(of), Op::plain(of, arithmetic));
    };
  }
  if constexpr (requires(OpProblem problem, std::vector<Truth> truth) {
                  Op::mistakes(problem, truth, Arithmetic::kFp32);
                }) {
    op.mistakes = [](const Problem& problem, const std::vector<Truth>& truth,
                     Arithmetic arithmetic) {
      return Op::mistakes(problem.as<OpProblem>(), truth, arithmetic);
    };
  }
}

// How its results are judged, and what wrong ones are called.
template <typename Op>
void add_judgement(Operator& op) {
  using OpProblem = typename Op::Problem;
  using OpOutputs = typename Op::Outputs;
  using Result = std::optional<std::pair<OpProblem, OpOutputs>>;
  if constexpr (requires(OpProblem problem) { Op::truth(problem, Arithmetic::kFp32); }) {
    op.truth = [](const Problem& problem, Arithmetic arithmetic) {
      return Op::truth(problem.as<OpProblem>(), arithmetic);
    };
  } else if constexpr (requires(OpProblem problem) { Op::truth(problem); }) {
    op.truth = [](const Problem& problem, Arithmetic) {
      return Op::truth(problem.as<OpProblem>());
    };
  }
  if constexpr (requires(HostOf<Op> host) { Op::additions(host); })
    op.additions = [](const Struct& host) { return Op::additions(host.as<HostOf<Op>>()); };
  if constexpr (requires { Op::kJudgesItself; }) {
    op.own_judge = [](const Problem& problem, const DeviceArrays& arrays, Arithmetic arithmetic) {
      return Op::judge(problem.as<OpProblem>(), downloaded<OpOutputs>(arrays), arithmetic);
    };
  }
  if constexpr (requires(OpProblem problem, OpOutputs outputs) {
                  Op::to_judge(problem, outputs);
                }) {
    op.to_judge = [](const Problem& problem, const OutputsAt& outputs) {
      const OpProblem& of = problem.as<OpProblem>();
      return untyped<Op>(Op::case_of(of), Op::to_judge(of, typed<Op>(Op::case_of(of), outputs)));
    };
  }
  if constexpr (requires(OpProblem problem, OpOutputs outputs) {
                  Op::sample(problem, outputs, 1.0);
                }) {
    op.sample = [](const Problem& problem, const OutputsAt& outputs,
                   double most) -> std::optional<Operator::Sample> {
      const OpProblem& of = problem.as<OpProblem>();
      const Result part = Op::sample(of, typed<Op>(Op::case_of(of), outputs), most);
      if (!part) return std::nullopt;
      return Operator::Sample{as_problem<Op>(part->first),
                              untyped<Op>(Op::case_of(part->first), part->second)};
    };
  }
  if constexpr (requires(std::string output) { Op::may_be_infinite(output); })
    op.may_be_infinite = Op::may_be_infinite;
  op.reports_first = requires {
    Op::kReportsFirst;
  };
  if constexpr (!requires { Op::kKnownApart; }) add_known<Op>(op);
  if constexpr (requires(OpProblem problem, std::vector<Part> parts) {
                  Op::explain(problem, parts);
                })
    op.explain = [](const Problem& problem, const std::vector<Part>& parts) {
      return Op::explain(problem.as<OpProblem>(), parts);
    };
  if constexpr (requires(OpProblem problem, std::string name, Belonging belonging) {
                  Op::settle_belonging(problem, name, name, 0, belonging);
                }) {
    op.settle_belonging = [](const Problem& problem, const std::string& array,
                             const std::string& axis, std::int64_t index, Belonging& belonging) {
      Op::settle_belonging(problem.as<OpProblem>(), array, axis, index, belonging);
    };
  }
}

template <typename Op>
Operator::Cases as_cases(const std::vector<typename Op::Case>& cases) {
  Operator::Cases result;
  for (const typename Op::Case& c : cases)
    result.push_back(as_case<Op>(c));
  return result;
}

template <typename Op, typename First, typename... Rest>
constexpr bool takes_bad_inputs(Types<First, Rest...>) {
  return requires(Support support) {
    Op::template bad_inputs<First>(support, DeviceKind::kCpu);
  };
}

// What tests ask of it.
template <typename Op>
void add_trials(Operator& op) {
  if constexpr (requires(Support support) { Op::own_plan(support); })
    op.own_plan = [](const Support& support) { return Op::own_plan(support); };
  if constexpr (requires { Op::support_words(); })
    op.own_support_words = [] { return Op::support_words(); };
  if constexpr (requires { Op::table_cases(true); })
    op.table_cases = [](bool long_too) { return as_cases<Op>(Op::table_cases(long_too)); };
  if constexpr (requires { Op::random_cases(1u); })
    op.random_cases = [](std::uint32_t seed) { return as_cases<Op>(Op::random_cases(seed)); };
  if constexpr (requires(Random & random) { Op::fuzz(random); }) {
    op.fuzz = [](Random& random) {
      return std::make_unique<Problem>(as_problem<Op>(Op::fuzz(random)));
    };
  }
  if constexpr (takes_bad_inputs<Op>(typename Op::Storages())) {
    op.bad_inputs = [](const std::string& storage, const Support& support, DeviceKind where,
                       Struct& args, const std::function<void(const std::string&)>& try_it) {
      ladder::with_storage<Op>(storage, [&]<typename Args>() {
        Args& bad = args.as<Args>();
        const Args good = bad;
        for (const auto& [argument, spoil] : Op::template bad_inputs<Args>(support, where)) {
          spoil(bad);
          try_it(argument);
          bad = good;
        }
      });
    };
  }
}

}  // namespace detail

template <typename Op>
Operator& operator_of() {
  static Operator op = [] {
    Operator made = detail::required_of<Op>();
    detail::add_optional<Op>(made);
    detail::add_judgement<Op>(made);
    return made;
  }();
  return op;
}

// Where Op::kTriedApart, what tests ask of it is linked with them, and not with other programs: this stands in its source.
template <typename Op>
struct TrialsRegistration {
  TrialsRegistration() { detail::add_trials<Op>(operator_of<Op>()); }
};

// Where Op::kKnownApart, the same of its mistakes and its plain loop: they are linked with what names a mistake.
template <typename Op>
struct KnownRegistration {
  KnownRegistration() { detail::add_known<Op>(operator_of<Op>()); }
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
