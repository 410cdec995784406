// judge_table_BACKEND prints the errors of every implementation, as shares of their limits, by
// class (operator, output, storage, declared arithmetic), and how many planted faults the judge
// rejects, as JSON. tools/upkeep/judge_table/to_markdown.py makes a table from it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>

#include "common/core/device.hpp"
#include "common/judge/mistakes.hpp"
#include "common/judge/operator.hpp"
#include "common/testing/planted.hpp"

namespace ladder::judge_table {
namespace {

using nlohmann::json;
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
  Worst whole, row, element, slope, leaning;
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

std::string word(const std::string& storage) {
  return storage == "bf16_fp32_decay" ? "bf16, log_w fp32" : storage;
}

// One case in one arithmetic.
struct Judging {
  std::string op, name, storage;
  Arithmetic arithmetic;
  Table& table;

  // A d_log_w that is a sum over all steps is a separate class.
  Class class_of(const Part& part) const {
    const bool sum = part.layout.array == "d_log_w" && part.layout.axes.size() == 2;
    return {op, part.layout.array + (sum ? ", per head" : ""), word(storage),
            arithmetic == Arithmetic::kFp32 ? "fp32" : "operands"};
  }

  void add(const Implementation& implementation, const Examined& examined) const {
    for (const Part& part : examined.parts) {
      if (part.truth->empty()) continue;
      const Judged judged = part.judged();
      Shares& shares = table.shipped[class_of(part)][implementation.name];
      ++shares.cases;
      shares.above += !judged.within_limit();
      shares.whole.add(judged.whole_share, name);
      shares.row.add(judged.row_share, name);
      shares.element.add(judged.element_share, name);
      shares.slope.add(judged.slope_share, name);
      shares.leaning.add(judged.leaning_share, name);
    }
  }

  void count(const Part& part, const std::string& fault) const {
    Refused& refused = table.planted[class_of(part)][fault];
    ++refused.cases;
    refused.refused += !part.judged().within_limit();
  }

  void plant(const Examined& examined) const {
    for (const Misconception& each : examined.mistakes.known) {
      const std::string& fault = each.slight;
      if (fault.empty()) continue;
      const Answer answer = each.answer();
      for (std::size_t n = 0; n < examined.parts.size(); ++n) {
        Part part = examined.parts[n];
        if (part.truth->empty()) continue;
        if (fault == "bf16 state" && part.roundings.stored > 0)
          continue;  // rounding to the storage hides it
        // If the fault changes nothing, or the terms vanish, there is nothing to reject.
        const std::vector<float> right = stored(part, *part.truth), wrong = stored(part, answer[n]);
        part.result = &wrong;
        if (wrong != right && norm(*part.truth) >= 1e-6 * norm(*part.terms)) count(part, fault);
      }
    }
    for (Part whole : examined.parts) {
      if (whole.truth->empty()) continue;
      const std::vector<float> right = stored(whole, *whole.truth);
      whole.result = &right;
      const FinitePart finite(whole);
      const Part& part = finite.part();
      const bool fp32 = storage == "fp32" || part.roundings.stored + part.roundings.operands == 0;
      for (const auto& [fault, values] : planted_in(part, fp32)) {
        Part wrong = part;
        wrong.result = &values;
        count(wrong, fault);
      }
    }
  }
};

void add_case(const Operator& op, const Case& c, const std::string& only, Table& table) {
  const auto problem = c.make();
  for (const Arithmetic arithmetic : {Arithmetic::kFp32, Arithmetic::kBf16Operands}) {
    const Judging judging{op.name, problem->name(), c.storage(), arithmetic, table};
    bool planted = false;
    for (const Implementation& implementation : implementations()) {
      if (!implementation.name.starts_with(only) && !implementation.chapter.starts_with(only))
        continue;
      if (implementation.chapter.starts_with("best")) continue;  // it runs one of the others
      if (!op.computes(implementation, c.storage()) ||
          arithmetic_of(implementation, c.storage()) != arithmetic ||
          !why_unavailable(implementation.device).empty())
        continue;
      Device& where = device(implementation.device);
      where.use_schedule(where.schedules()[0]);
      try {
        const auto placed = problem->place(where, implementation);
        placed->call();
        where.synchronize();
        placed->examine(arithmetic, [&](const Examined& examined) {
          judging.add(implementation, examined);
          if (!planted) judging.plant(examined);
          planted = true;
        });
      } catch (const std::invalid_argument&) {
        // The implementation rejects such cases.
      }
    }
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
                                        {"element", to_json(s.element)},
                                        {"slope", to_json(s.slope)},
                                        {"leaning", to_json(s.leaning)}};
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
  std::string only;
  std::uint32_t seeds = 0;
  bool long_too = false, check = false;
  app.add_option("--implementations", only, "Those whose name or chapter begins with this");
  app.add_option("--seeds", seeds, "Random small cases instead, so many of each kind")
      ->check(CLI::PositiveNumber);
  app.add_flag("--long", long_too, "Long sequences and large heads too");
  app.add_flag(
      "--check", check,
      "End with 1 where a result in a thousand is above its limit, or a planted fault in a "
      "hundred is not refused");
  CLI11_PARSE(app, argc, argv);
  Table table;
  for (const auto& op : operators()) {
    if (op->launchers != op->name) continue;  // another operator's case
    Operator::Cases cases = seeds > 0 ? Operator::Cases{} : op->table_cases(long_too);
    for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
      for (const auto& c : op->random_cases(seed))
        cases.push_back(c);
    }
    for (const auto& c : cases)
      add_case(*op, *c, only, table);
  }
  json result = {{"back_end", device(DeviceKind::kCuda).back_end()},
                 {"seeds", seeds},
                 {"long", long_too},
                 {"classes", to_json(table)}};
  std::printf("%s\n", result.dump(1).c_str());
  return check && !is_sharp(table) ? 1 : 0;
}
