// fuzz_BACKEND --seed S --first I --step N --cases M runs random problems on every implementation
// of every operator that draws some: sizes at and around every tile's border, options, values from
// 1e-22 to 1e18, one bad value. Each case is a line of JSON. Lines before it announce the case, its
// problem and each implementation before it runs, so that the reader knows what ended the program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/judge/mistakes.hpp"
#include "common/judge/operator.hpp"
#include "common/judge/random.hpp"

namespace {

using namespace ladder;
using nlohmann::json;

constexpr std::size_t kMostImplementations = 3;
// Relative errors of whole arrays above which a kernel is wrong, whatever its limits are.
constexpr double kWideFp32 = 2e-5, kWide16Bit = 3e-2;

// One element that is NaN or infinite. Results of other heads, batches or sequences must not
// change.
struct BadValue {
  std::string array;
  std::int64_t element;
  float value;
};

std::optional<BadValue> bad_value(Random& random, const Problem& problem) {
  // States are read by one head of one sequence only, but log_w may not be infinite.
  std::vector<std::pair<std::string, std::int64_t>> inputs = problem.inputs();
  std::erase_if(inputs, [](const auto& input) {
    return input.first.find("state") != std::string::npos || input.first == "lse";
  });
  if (inputs.empty()) return std::nullopt;
  const auto& [array, elements] = inputs[random.below(inputs.size())];
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float values[] = {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  const auto element = static_cast<std::int64_t>(random.below(elements));
  return BadValue{array, element, array == "log_w" ? values[0] : random.one_of(values)};
}

// What the bad value has changed in another head or sequence, or "". Kernels that add in any order
// may differ by a rounding.
std::string spread(const Problem& problem, const Examined& clean, const Examined& dirty,
                   const Belonging& bad, double tolerance) {
  for (std::size_t n = 0; n < clean.parts.size(); ++n) {
    const std::vector<float>&before = *clean.parts[n].result, &after = *dirty.parts[n].result;
    const std::string& array = clean.parts[n].layout.array;
    float largest = 0;
    for (const float x : before) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Belonging of = problem.belonging(array, static_cast<std::int64_t>(i));
      const bool same_sequence =
          of.sequence == -1 || bad.sequence == -1 || of.sequence == bad.sequence;
      if (same_sequence && of.head == bad.head) continue;
      if (before[i] == after[i]) continue;  // lse may be infinite, too
      if (!(std::abs(before[i] - after[i]) <= tolerance * largest)) {
        return array + " element " + std::to_string(i) + " was " + std::to_string(before[i]) +
               " and is " + std::to_string(after[i]);
      }
    }
  }
  return "";
}

// Whether a sentence names an argument of the operator and the allowed values.
bool is_clear(const Operator& op, const Problem& problem, const std::string& message) {
  std::vector<std::string> names;
  const Shape shape = op.shape();  // its sizes count as arguments
  for (const Size& size : shape.sizes())
    names.push_back(size.name);
  for (const auto& [array, elements] : problem.inputs())
    names.push_back(array);
  for (const char* each :
       {"D", "D_v", "T_k", "H_q", "sequences", "cu_seqlens\\w*", "key_lengths", "causal",
        "feature_map", "normalize", "eps", "scale", "window", "softcap", "reverse", "\\w*state"})
    names.push_back(each);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) {
                       return std::regex_search(message, std::regex("\\b" + name + "\\b"));
                     }) &&
         message.find("allow") != std::string::npos;
}

// Outcomes:
//   right      within the judge's limits; with a bad value: it stayed where it belongs
//   refused    by a sentence that names the argument and what is allowed
//   complaint  beyond the judge's limits, but not far from the truth: kWide
//   wrong      far from the truth, or not written
//   spread     the bad value reached another head, batch or sequence
//   failed     any other exception, an unclear refusal, or memory written that is not its own
json tried(const Operator& op, const Implementation& implementation, const Problem& problem,
           const std::optional<BadValue>& bad) {
  const Arithmetic arithmetic = arithmetic_of(implementation, problem.storage());
  const double wide = problem.storage() == "fp32" ? kWideFp32 : kWide16Bit;
  Device& where = device(implementation.device);
  const auto placed = [&](const Problem& of) {
    auto result = of.place(where, implementation);
    result->call();
    where.synchronize();
    return result;
  };
  json run;
  try {
    const auto clean = placed(problem);
    std::string message, outcome;
    if (bad) {
      const auto with_bad = problem.with(bad->array, bad->element, bad->value);
      const auto dirty = placed(*with_bad);
      clean->examine(arithmetic, [&](const Examined& before) {
        dirty->examine(arithmetic, [&](const Examined& after) {
          message =
              spread(problem, before, after, problem.belonging(bad->array, bad->element), wide);
        });
      });
      outcome = message.empty() ? "right" : "spread";
    } else {
      const Verdict verdict = clean->judge(arithmetic, false);
      message = verdict.message;
      const bool near =
          verdict.error.finite && verdict.error.whole <= std::max(wide, 2 * verdict.limit.whole);
      outcome = verdict.right ? "right" : near ? "complaint" : "wrong";
      run["error"] = verdict.error.whole;
      run["limit"] = verdict.limit.whole;
      run["share"] = verdict.share;
    }
    run["outcome"] = outcome;
    if (!message.empty()) run["message"] = message;
  } catch (const std::invalid_argument& error) {
    run["message"] = error.what();
    run["outcome"] = is_clear(op, problem, error.what()) ? "refused" : "failed";
  } catch (const std::exception& error) {
    run["message"] = error.what();
    run["outcome"] = "failed";
  }
  return run;
}

void print_line(const json& line) {
  fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
  std::fflush(stdout);
}

// Runs the case `index` of the run `seed`.
void try_case(std::uint64_t seed, std::uint64_t index, const std::string& only) {
  print_line({{"begins", index}});
  const auto begin = std::chrono::steady_clock::now();
  Random random(seed, index);
  std::vector<const Operator*> able;
  for (const auto& op : operators()) {
    if (op->fuzz != nullptr && op->launchers == op->name) able.push_back(op);
  }
  const Operator& op = *able[random.below(able.size())];
  const bool spoil = random.one_in(8);
  const std::unique_ptr<Problem> problem = op.fuzz(random);
  const std::optional<BadValue> bad = spoil ? bad_value(random, *problem) : std::nullopt;
  json result = {{"operator", op.name}, {"name", problem->name()}};
  if (bad) {
    result["bad"] = fmt::format("{} element {} is {}", bad->array, bad->element, bad->value);
  }
  print_line(result);
  result["case"] = index;
  result["runs"] = json::array();
  Random choice(~seed, index);
  std::vector<Implementation> chosen;
  for (const Implementation& implementation : implementations()) {
    if (op.computes(implementation, problem->storage())) chosen.push_back(implementation);
  }
  while (only.empty() && chosen.size() > kMostImplementations)
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(choice.below(chosen.size())));
  for (const Implementation& implementation : chosen) {
    Device& where = device(implementation.device);
    const std::vector<std::string> schedules = where.schedules();
    const std::string schedule = schedules[choice.below(schedules.size())];
    if (!only.empty() && implementation.name != only) continue;
    where.use_schedule(schedule);
    const json announced = {{"implementation", implementation.name}, {"schedule", schedule}};
    print_line(announced);
    json run = tried(op, implementation, *problem, bad);
    run.update(announced);
    result["runs"].push_back(run);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  result["seconds"] = seconds.count();
  print_line(result);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Random problems for every implementation. tools/upkeep/fuzz.py starts it.", "fuzz");
  std::uint64_t seed = 1, first = 0, step = 1, cases = 1;
  std::string only;
  app.add_option("--seed", seed, "Which run");
  app.add_option("--first", first, "Its first case");
  app.add_option("--step", step, "To the next case")->check(CLI::PositiveNumber);
  app.add_option("--cases", cases, "How many");
  app.add_option("--implementation", only, "No other");
  CLI11_PARSE(app, argc, argv);
  for (std::uint64_t n = 0; n < cases; ++n)
    try_case(seed, first + n * step, only);
}
