// The X-ray program. The script `ladder` builds and calls it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "common/bench/command_line.hpp"
#include "common/bench/xray_run.hpp"

using namespace ladder::bench;
using emulator::xray::grouped;

namespace {

// Each element of each tensor is touched at least once.
void refuse_what_cannot_be_traced(const Selection& selection) {
  const Shape& s = selection.shape;
  const double elements = static_cast<double>(s.B) * s.T * s.H * (3.0 * s.K + 2.0 * s.V);
  if (elements <= static_cast<double>(kMostAccesses)) return;
  throw std::invalid_argument(fmt::format(
      "--shape is {}: its arrays alone have {} elements; allowed: shapes that make up to {} "
      "accesses, such as T=16,H=2,K={},V={}",
      to_string(s), grouped(static_cast<std::uint64_t>(elements)), grouped(kMostAccesses), s.K,
      s.V));
}

[[noreturn]] void refuse(const ladder::Implementation& implementation, const Selection& selection,
                         const std::string& count) {
  const Shape& s = selection.shape;
  throw std::invalid_argument(fmt::format(
      "--shape is {}: {} makes {} accesses and basic blocks of threads on it; allowed: up to {} "
      "(more would take minutes), such as B=1,T=16,H=2,K={},V={}",
      to_string(s), implementation.name, count, grouped(kMostAccesses), s.K, s.V));
}

// For `./ladder run`: one line per kernel, for each warp of outputs (32 elements of o).
std::string to_brief_table(const std::vector<emulator::xray::Subject>& subjects, const Shape& s) {
  using namespace emulator::xray;
  const double warps = static_cast<double>(s.B * s.T * s.H * s.V) / kWarpSize;
  std::string table = fmt::format(
      "X-ray: what the kernels ask of memory for 32 elements of o ({}; more: ./ladder "
      "xray)\n{:<18} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
      to_string(s), "chapter", "implementation", "loads", "sectors", "stores", "atomics", "shared",
      "barriers");
  for (const Subject& each : subjects) {
    const auto count = [&](std::initializer_list<Counter> counters) {
      double sum = 0;
      for (const Counter counter : counters)
        sum += static_cast<double>(each.kernel[counter]);
      return fmt::format("{:.4g}", sum / warps);
    };
    table +=
        fmt::format("{:<18} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", each.chapter,
                    each.implementation, count({kGlobalLoadRequests}), count({kGlobalLoadSectors}),
                    count({kGlobalStoreRequests}), count({kAtomicRequests}),
                    count({kSharedLoadRequests, kSharedStoreRequests}), count({kBarriers}));
  }
  return table;
}

// The emulated kernels of a run, on a small shape with its K and V.
int trace_run(const std::string& json_path) {
  const nlohmann::json run = nlohmann::json::parse(std::ifstream(json_path));
  Selection selection;
  selection.op = run.at("operator");
  selection.precision = parse_precision(run.at("precision"));
  selection.causal = run.value("causal", false);
  selection.shape = {.B = 1,
                     .T = 16,
                     .H = 2,
                     .K = run.at("shape").at("K").get<std::int64_t>(),
                     .V = run.at("shape").at("V").get<std::int64_t>()};
  std::vector<emulator::xray::Subject> subjects;
  for (const auto& row : run.at("rows")) {
    if (row.at("back_end") != "emulator" || !row.at("right").get<bool>()) continue;
    XrayRun traced = xray(ladder::find_implementation(row.at("implementation")), selection);
    std::move(traced.subjects.begin(), traced.subjects.end(), std::back_inserter(subjects));
  }
  if (!subjects.empty()) fmt::print("\n{}", to_brief_table(subjects, selection.shape));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The kernel X-ray: what each kernel asks of memory, counted in the emulator.",
               "./ladder xray");
  const SelectionOptions options(app, "B=1,T=16,H=2,K=64,V=64", "B=1,T=16,H=2,K=64,V=64");
  std::string json_path, page_path;
  app.add_option("--json", json_path, "Write the counts there");
  app.add_option("--html", page_path, "Write the page that draws them there");
  std::string run_path;
  app.add_option("--run", run_path, "One line per emulated kernel of that run")->group("");

  return run_program(app, argc, argv, [&] {
    if (!run_path.empty()) return trace_run(run_path);
    Selection selection = options.selection();
    selection.cuda_only = true;
    const auto implementations = chosen(selection);
    refuse_what_cannot_be_traced(selection);
    require_writable("--json", json_path);
    require_writable("--html", page_path);

    std::vector<emulator::xray::Subject> subjects;
    std::string wrong;
    for (const ladder::Implementation& implementation : implementations) {
      show_progress("tracing " + implementation.name);
      const std::uint64_t estimate = estimated_accesses(implementation, selection);
      if (estimate > kMostAccesses)
        refuse(implementation, selection, fmt::format("about {}", grouped(estimate)));
      XrayRun run = xray(implementation, selection);
      if (run.too_large) refuse(implementation, selection, "more");
      if (!run.right) wrong += fmt::format("\n{}: {}\n", implementation.name, run.message);
      std::move(run.subjects.begin(), run.subjects.end(), std::back_inserter(subjects));
    }
    show_progress("");
    fmt::print("X-ray of {} on {}\n\n{}{}", selection.op, to_string(selection.shape),
               emulator::xray::to_table(subjects), wrong);

    nlohmann::json report = emulator::xray::to_json(subjects);
    report["operator"] = selection.op;
    report["precision"] = to_string(selection.precision);
    report["shape"] = to_json(selection.shape);
    report["causal"] = selection.causal;
    report["conditions"] = options.conditions();
    report["conditions"]["date"] = today();
    if (!json_path.empty()) write_file(json_path, report.dump(2) + "\n");
    if (!page_path.empty()) write_file(page_path, emulator::xray::to_page(report));

    const bool clean = std::all_of(subjects.begin(), subjects.end(),
                                   [](const auto& each) { return each.kernel.errors.empty(); });
    return clean && wrong.empty() ? 0 : kWrongResult;
  });
}
