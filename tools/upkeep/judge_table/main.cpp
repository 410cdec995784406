// judge_table_BACKEND: the errors of every implementation, each as a share of its limit, by class (operator, output, storage, declared
// arithmetic), and how many of the planted faults are refused. JSON; to_markdown.py makes the table of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "common/core/device.hpp"
#include "common/core/errors.hpp"
#include "common/core/operator.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/operators/attention/reference.hpp"
#include "common/operators/judge.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/planted.hpp"
#include "common/operators/wkv/operator.hpp"
#include "tools/upkeep/judge_table/cases.hpp"

namespace ladder::judge_table {
namespace {

using nlohmann::json;
using reference::Judged;
using reference::Part;
using testing::planted_in;
using testing::stored;

// operator, output, storage, declared arithmetic
using Class = std::tuple<std::string, std::string, std::string, std::string>;

struct Worst {
  double share = -1;
  std::string name;

  void add(double other, const std::string& of) {
    if (!(other <= share)) share = other, name = of;
  }
};

struct Shares {
  int cases = 0, above = 0;
  Worst whole, row, element;
};

struct Refused {
  int cases = 0, refused = 0;
};

struct Table {
  std::map<Class, std::map<std::string, Shares>> shipped;
  std::map<Class, std::map<std::string, Refused>> planted;
};

double norm(const std::vector<double>& values) {
  double square = 0;
  for (const double x : values)
    square += x * x;
  return std::sqrt(square);
}

const char* word(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "fp32";
    case Precision::kBf16: return "bf16";
    case Precision::kFp16: return "fp16";
    default: return "bf16, log_w fp32";
  }
}

std::string operator_of(const WkvProblem& p) {
  return p.wkv_case.recurrence == Recurrence::kGla ? "gla" : "wkv";
}
std::string operator_of(const WkvGradProblem& p) {
  return operator_of(p.forward) + "_backward";
}
std::string operator_of(const LinearAttentionProblem&) {
  return "linear_attention";
}
std::string operator_of(const AttentionProblem&) {
  return "attention";
}
std::string operator_of(const AttentionGradProblem&) {
  return "attention_backward";
}

const WkvCase& case_of(const WkvProblem& p) {
  return p.wkv_case;
}
const LinearAttentionCase& case_of(const LinearAttentionProblem& p) {
  return p.attention_case;
}
const AttentionCase& case_of(const AttentionProblem& p) {
  return p.attention_case;
}
template <typename P>
const auto& case_of(const P& p) requires requires {
  p.forward;
}
{ return case_of(p.forward); }

template <typename P>
auto run_it(const Implementation& implementation, const P& problem) {
  if constexpr (requires { problem.forward; }) {
    return run_backward(implementation, problem);
  } else {
    return run(implementation, problem);
  }
}

// An lse of -inf is 0 from here on, in what is expected and in what is judged.
template <typename Outputs>
void make_finite(const std::vector<bool>& infinite, Outputs& outputs) {
  if constexpr (requires { outputs.lse; }) {
    for (std::size_t i = 0; i < infinite.size(); ++i) {
      if (infinite[i]) outputs.lse[i] = 0;
    }
  }
}

// A d_log_w that is a sum over all steps is a class of its own.
std::string output_of(const Part& part) {
  const bool sum = part.layout.array == "d_log_w" && part.layout.axes.size() == 2;
  return part.layout.array + (sum ? ", per head" : "");
}

template <typename P>
class Case {
 public:
  using Outputs = decltype(run_it(std::declval<Implementation>(), std::declval<P>()));

  Case(const P& problem, Arithmetic arithmetic, Table& table)
      : problem_(problem),
        arithmetic_(arithmetic),
        table_(table),
        name_(name_of(case_of(problem))),
        expected_(reference::expected(problem, arithmetic)) {
    if constexpr (std::is_same_v<P, AttentionProblem>) {
      for (const double lse : expected_.truth.lse)
        infinite_.push_back(std::isinf(lse));
      make_finite(infinite_, expected_.truth);
    }
  }

  void add(const Implementation& implementation, Outputs outputs) {
    make_finite(infinite_, outputs);
    for_parts(outputs, [&](const Part& part, const Judged& judged) {
      Shares& shares = table_.shipped[class_of(part)][implementation.name];
      ++shares.cases;
      shares.above += !judged.within_limit();
      shares.whole.add(judged.whole_share, name_);
      shares.row.add(judged.row_share, name_);
      shares.element.add(judged.element_share, name_);
    });
  }

  void plant() {
    const auto right = stored(problem_, expected_.truth);
    for (const auto& each : reference::misconceptions(problem_, expected_.truth, arithmetic_)) {
      const std::string& fault = each.slight;
      if (fault.empty()) continue;
      auto outputs = stored(problem_, each.answer());
      make_finite(infinite_, outputs);
      const auto before = reference::parts(problem_, expected_, right, arithmetic_);
      for_parts(outputs, [&](const Part& part, const Judged& judged) {
        // Where the fault changes nothing, or nothing is left of the terms, there is nothing to refuse.
        const auto same = std::find_if(before.begin(), before.end(), [&](const Part& other) {
          return other.layout.array == part.layout.array;
        });
        if (fault == "bf16 state" && part.roundings.stored > 0) return;  // what is stored hides it
        if (*part.result != *same->result && norm(*part.truth) >= 1e-6 * norm(*part.terms))
          count(part, fault, judged);
      });
    }
    for (const Part& whole : reference::parts(problem_, expected_, right, arithmetic_)) {
      if (whole.truth->empty()) continue;
      const bool fp32 = case_of(problem_).precision == Precision::kFp32 ||
                        whole.roundings.stored + whole.roundings.operands == 0;
      for (const auto& [fault, values] : planted_in(whole, fp32)) {
        Part part = whole;
        part.result = &values;
        count(part, fault, part.judged());
      }
    }
  }

 private:
  template <typename Visit>
  void for_parts(const Outputs& outputs, const Visit& visit) {
    const auto parts = reference::parts(problem_, expected_, outputs, arithmetic_);
    for (std::size_t n = 0; n < parts.size(); ++n) {
      if (parts[n].result->size() != parts[n].truth->size())
        throw std::logic_error(name_ + ": " + parts[n].layout.array + " has another size");
      if (!parts[n].truth->empty()) visit(parts[n], parts[n].judged());
    }
  }

  Class class_of(const Part& part) const {
    return {operator_of(problem_), output_of(part), word(case_of(problem_).precision),
            arithmetic_ == Arithmetic::kFp32 ? "fp32" : "operands"};
  }

  void count(const Part& part, const std::string& fault, const Judged& judged) {
    Refused& refused = table_.planted[class_of(part)][fault];
    ++refused.cases;
    refused.refused += !judged.within_limit();
  }

  const P& problem_;
  Arithmetic arithmetic_;
  Table& table_;
  std::string name_;
  decltype(reference::expected(std::declval<P>(), Arithmetic::kFp32)) expected_;
  std::vector<bool> infinite_;
};

template <typename P>
void add_problem(const P& problem, const std::string& only, bool plant, Table& table) {
  for (const Arithmetic arithmetic : {Arithmetic::kFp32, Arithmetic::kBf16Operands}) {
    std::optional<Case<P>> in_this_arithmetic;
    for (const Implementation& implementation : implementations()) {
      if (!implementation.name.starts_with(only) && !implementation.chapter.starts_with(only))
        continue;
      if (implementation.chapter.starts_with("best")) continue;  // one of the others
      const Precision precision = case_of(problem).precision;
      const bool able =
          find_operator(operator_of(problem)).computes(implementation, to_string(precision));
      if (!able || arithmetic_of(implementation, precision) != arithmetic) continue;
      if (!why_unavailable(implementation.device).empty()) continue;
      device(implementation.device).use_schedule(device(implementation.device).schedules()[0]);
      try {
        auto outputs = run_it(implementation, problem);
        if (!in_this_arithmetic) in_this_arithmetic.emplace(problem, arithmetic, table);
        in_this_arithmetic->add(implementation, std::move(outputs));
      } catch (const std::invalid_argument&) {
        // It refuses such cases.
      }
    }
    if (plant && in_this_arithmetic) in_this_arithmetic->plant();
  }
}

bool is_sharp(const Table& table) {
  std::int64_t results = 0, above = 0, faults = 0, refused = 0;
  for (const auto& [key, implementations] : table.shipped) {
    for (const auto& [name, shares] : implementations)
      results += shares.cases, above += shares.above;
  }
  for (const auto& [key, planted] : table.planted) {
    for (const auto& [fault, counts] : planted)
      faults += counts.cases, refused += counts.refused;
  }
  return results > 0 && faults > 0 && 1000 * above < results && 100 * refused > 99 * faults;
}

json to_json(const Worst& worst) {
  return {{"share", worst.share}, {"case", worst.name}};
}

json to_json(const Table& table) {
  json result = json::array();
  for (const auto& [key, implementations] : table.shipped) {
    const auto& [op, output, storage, arithmetic] = key;
    json entry = {
        {"operator", op}, {"output", output}, {"storage", storage}, {"arithmetic", arithmetic}};
    for (const auto& [name, s] : implementations) {
      entry["implementations"][name] = {{"cases", s.cases},
                                        {"above", s.above},
                                        {"whole", to_json(s.whole)},
                                        {"row", to_json(s.row)},
                                        {"element", to_json(s.element)}};
    }
    if (table.planted.count(key)) {
      for (const auto& [fault, r] : table.planted.at(key))
        entry["planted"][fault] = {{"cases", r.cases}, {"refused", r.refused}};
    }
    result.push_back(entry);
  }
  return result;
}

}  // namespace
}  // namespace ladder::judge_table

int main(int argc, char** argv) {
  using namespace ladder;
  using namespace ladder::judge_table;
  CLI::App app("Errors as shares of their limits, by class.", "judge_table");
  std::string only, operators;
  std::int64_t seeds = 0;
  bool long_too = false, check = false;
  app.add_option("--implementations", only, "Those whose name or chapter begins with this");
  app.add_option(
      "--operator", operators,
      "forward, backward, linear_attention, attention, attention_backward; default: all");
  app.add_option("--seeds", seeds, "Random small cases instead, so many of each kind")
      ->check(CLI::PositiveNumber);
  app.add_flag("--long", long_too, "Long sequences and large heads too");
  app.add_flag(
      "--check", check,
      "End with 1 where a result in a thousand is above its limit, or a planted fault in a "
      "hundred is not refused");
  CLI11_PARSE(app, argc, argv);
  const Cases cases = seeds > 0 ? random_cases(seeds) : all_cases(long_too);
  Table table;
  const auto wants = [&](const char* name) { return operators.empty() || operators == name; };
  if (wants("forward")) {
    for (const WkvCase& c : cases.forward)
      add_problem(make_problem(c), only, true, table);
  }
  if (wants("backward")) {
    for (const WkvCase& c : cases.backward)
      add_problem(make_grad_problem(c), only, true, table);
  }
  if (wants("linear_attention")) {
    for (const LinearAttentionCase& c : cases.linear_attention)
      add_problem(make_problem(c), only, true, table);
  }
  if (wants("attention")) {
    for (const AttentionCase& c : cases.attention)
      add_problem(make_problem(c), only, true, table);
  }
  if (wants("attention_backward")) {
    for (const AttentionCase& c : cases.attention)
      add_problem(reference::make_attention_grad_problem(make_problem(c)), only, true, table);
  }
  json result = {{"back_end", device(DeviceKind::kCuda).back_end()},
                 {"seeds", seeds},
                 {"long", long_too},
                 {"classes", to_json(table)}};
  std::printf("%s\n", result.dump(1).c_str());
  return check && !is_sharp(table) ? 1 : 0;
}
