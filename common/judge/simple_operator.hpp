// Most of an operator, for one whose arrays are drawn by its list and judged by theirs. What is left to say:
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
//     explain(problem, outputs, truth)         the misconception that a wrong result is recognised by; "" if none
//     wants(case, name)                        whether the case has that array; without it no optional array is ever null
//     store(problem, args, name, elements)     fills a stored array that the host's list does not have
//
// An input is null in truth() if its pointer is not to const, or is left out of the list.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "common/core/generator.hpp"
#include "common/core/on_device.hpp"
#include "common/judge/judging.hpp"

namespace ladder {

// An output's true values, and for each the root of the sum of its squared terms. Without terms a value is its only one.
struct Truth {
  std::vector<double> values, terms = {};
};

template <typename Sizes>
struct SizedCase : Sizes {
  std::string precision = "fp32";
  float magnitude = 1.0f;
  std::uint32_t seed = 1;

  // Fields that are no sizes are options.
  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    Sizes::fields(s, [&](const char* name, auto& value, auto... least) {
      if constexpr (sizeof...(least) == 0) visit(name, value);
    });
    visit("magnitude", s.magnitude), visit("seed", s.seed);
  }
};

// A case with its inputs. Copies share them.
template <typename Op>
class Drawn {
 public:
  explicit Drawn(const typename Op::Case& c) : case_(c), args_(Op::sizes(c)) {
    Generator generator(c.seed);
    Op::Host::arrays(args_, [&](const char* name, auto& pointer, const Axes& axes, auto...) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      using Element = Pointee<Pointer>;
      if constexpr (kIsInput<Pointer>) {
        if (!wants<Op>(case_, name)) return;
        const auto values =
            std::make_shared<std::vector<Element>>(static_cast<std::size_t>(count(axes)));
        draw(name, *values, generator);
        if (!values->empty()) pointer = values->data();
        arrays_.push_back(values);
      }
    });
  }

  const typename Op::Case& drawn_case() const { return case_; }
  const typename Op::Host& args() const { return args_; }  // outputs are null

 private:
  template <typename Element>
  void draw(const std::string& name, std::vector<Element>& values, Generator& generator) const {
    if constexpr (requires { Op::draw(case_, name, values, generator); }) {
      Op::draw(case_, name, values, generator);
    } else {
      for (Element& x : values)
        x = static_cast<Element>(generator.uniform(-case_.magnitude, case_.magnitude));
    }
    // Only values that the array can hold where it is stored.
    with_storage<Op>(case_.precision, [&]<typename Args>() {
      Args stored;
      Args::arrays(stored, [&](const char* other, auto& pointer, const Axes&, auto...) {
        using Stored = Pointee<decltype(pointer)>;
        if constexpr (std::is_same_v<Element, float> &&
                      (std::is_same_v<Stored, bfloat16> || std::is_same_v<Stored, float16>)) {
          if (name != other) return;
          for (float& x : values)
            x = to_float(converted<Stored>(x));
        }
      });
    });
  }

  typename Op::Case case_;
  typename Op::Host args_;
  std::vector<std::shared_ptr<void>> arrays_;
};

template <typename Op, typename OpSizes, typename HostArgs, typename... StoredArgs>
struct SimpleOperator {
  using Sizes = OpSizes;
  using Host = HostArgs;
  using Storages = Types<StoredArgs...>;
  using Case = SizedCase<Sizes>;
  using Problem = Drawn<Op>;
  using Outputs = std::vector<std::vector<float>>;

  static Case make_case(const Sizes& sizes) { return {sizes}; }
  static Problem make_problem(const Case& c) { return Problem(c); }
  static const Case& case_of(const Problem& problem) { return problem.drawn_case(); }
  static const Host& args(const Problem& problem) { return problem.args(); }
  static Host sizes(const Case& c) {
    Host args;
    static_cast<Sizes&>(args) = c;
    return args;
  }

  static Verdict judge(const Problem& problem, const Outputs& outputs, Arithmetic arithmetic) {
    const std::vector<Truth> truth = Op::truth(problem);
    require(truth.size() >= outputs.size(),
            std::string(Op::kName) + "'s truth() has " + std::to_string(truth.size()) +
                " outputs; allowed: " + std::to_string(outputs.size()) + " or more");
    const auto explain = [&]() -> std::string {
      if constexpr (requires { Op::explain(problem, outputs, truth); })
        return Op::explain(problem, outputs, truth);
      return "";
    };
    Verdict verdict;
    verdict.right = true;
    std::size_t n = 0;
    Host::arrays(problem.args(),
                 [&](const char* name, const auto& pointer, const Axes& axes, auto...) {
                   if constexpr (!kIsInput<decltype(pointer)>) {
                     if (!wants<Op>(case_of(problem), name)) return;
                     reference::Layout layout{name, {}, {}};
                     for (const Axis& axis : axes) {
                       layout.axes.push_back(axis.name);
                       layout.sizes.push_back(axis.size);
                     }
                     const Truth& right = truth.at(n);
                     const reference::Part part{layout, &outputs.at(n), &right.values,
                                                right.terms.empty() ? &right.values : &right.terms,
                                                roundings(problem, name, arithmetic)};
                     if (verdict.right) {
                       const Verdict of_part = reference::judge_part(part, explain);
                       if (n == 0 || !of_part.right || of_part.share > verdict.share)
                         verdict = of_part;
                     }
                     ++n;
                   }
                 });
    return verdict;
  }

 private:
  // See common/judge/limits.hpp. Products have two operands.
  static reference::Roundings roundings(const Problem& problem, const std::string& output,
                                        Arithmetic arithmetic) {
    reference::Roundings result;
    double operands = 0;
    with_storage<Op>(case_of(problem).precision, [&]<typename Args>() {
      Args stored;
      Args::arrays(stored, [&](const char* name, auto& pointer, const Axes&, auto...) {
        using Stored = Pointee<decltype(pointer)>;
        if constexpr (std::is_same_v<Stored, bfloat16> || std::is_same_v<Stored, float16>) {
          if (name == output) result = reference::stored_as<Stored>();
          if (arithmetic == Arithmetic::kBf16Operands)
            operands = std::max(operands, reference::kUnitRoundoff<Stored> * std::sqrt(2.0));
        }
      });
    });
    result.operands = operands;
    result.sums = reference::kFp32Roundoff *
                  std::sqrt(Op::additions(problem.args()) + reference::kFewRoundings);
    return result;
  }
};

}  // namespace ladder
