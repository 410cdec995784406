// The program of ./ladder xray, which builds and calls it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "common/diagnosis/second_start.hpp"
#include "common/program/climb.hpp"
#include "common/program/command_line.hpp"
#include "common/xray/run.hpp"

using namespace ladder::program;
using emulator::xray::grouped;
using ladder::Shape;
using ladder::XrayRun;

namespace {

Shape small_shape_of(const Selection& selection) {
  return ladder::find_operator(selection.op).small_shape(selection.shape);
}

// Each element of each array is accessed at least once.
void refuse_what_cannot_be_traced(const Selection& selection) {
  const double elements = case_of(selection)->elements();
  ladder::require(
      elements <= static_cast<double>(ladder::kMostAccesses),
      fmt::format(
          "--shape is {}: its arrays alone have {} elements; allowed: shapes that make up to {} "
          "accesses, such as {}",
          to_string(selection.shape), grouped(static_cast<std::uint64_t>(elements)),
          grouped(ladder::kMostAccesses), to_string(small_shape_of(selection))));
}

[[noreturn]] void refuse(const ladder::Implementation& implementation, const Selection& selection,
                         const std::string& count) {
  throw std::invalid_argument(fmt::format(
      "--shape is {}: {} makes {} accesses and basic blocks of threads on it; allowed: up to {} "
      "(more would take minutes), such as {}",
      to_string(selection.shape), implementation.name, count, grouped(ladder::kMostAccesses),
      to_string(small_shape_of(selection))));
}

XrayRun xray(const ladder::Implementation& implementation, const Selection& selection) {
  return ladder::xray(implementation, *case_of(selection)->make(), ladder::named);
}

// Estimates accesses and basic blocks of the largest launch, from runs of one and two steps. Never
// too high if each further step costs at least as much as the second. 0 if unknown.
std::uint64_t estimated_accesses(const ladder::Implementation& implementation,
                                 const Selection& selection) {
  const std::string steps_name = ladder::find_operator(selection.op).steps;
  const auto steps = static_cast<std::uint64_t>(selection.shape[steps_name]);
  const bool packed = !selection.options.empty();  // options may determine sizes
  if (steps < 2 || packed) return 0;
  const auto largest_launch = [&](std::int64_t count) {
    Selection brief = selection;
    brief.shape.set(steps_name, count);
    std::uint64_t most = 0;
    for (const auto& subject : xray(implementation, brief).subjects)
      most = std::max(most, subject.kernel.largest_launch);
    return most;
  };
  try {
    // Most shapes are far below the limit, and some launches exceed it at once.
    const std::uint64_t one = largest_launch(1);
    if (one > ladder::kMostAccesses || one * steps <= ladder::kMostAccesses) return one * steps;
    const std::uint64_t two = std::max(one, largest_launch(2));
    return one + (two - one) * (steps - 1);
  } catch (const std::invalid_argument&) {  // one step is rejected
    return 0;
  }
}

// For `./ladder run`, a line per kernel, with counts per 32 elements of the first output.
std::string to_brief_table(const std::vector<emulator::xray::Subject>& subjects,
                           const Selection& selection) {
  using namespace emulator::xray;
  const auto [output, elements] = case_of(selection)->first_output();
  const double warps = elements / kWarpSize;
  const std::string options = ladder::options_text(case_of(selection)->options());
  const std::string what = to_string(selection.shape) + (options.empty() ? "" : "; " + options);
  std::string table = fmt::format(
      "X-ray of {} in {} at {}\nfor 32 elements of {}; more: ./ladder xray\n"
      "{:<18} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
      selection.op, selection.precision, what, output, "chapter", "implementation", "loads",
      "sectors", "stores", "atomics", "shared", "barriers");
  for (const Subject& each : subjects) {
    const auto count = [&](std::initializer_list<Counter> counters) {
      double sum = 0;
      for (const Counter counter : counters)
        sum += static_cast<double>(each.kernel[counter]);
      return fmt::format("{:.4g}", sum / warps);
    };
    table +=
        fmt::format("{:<18} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", place_of(each),
                    each.implementation, count({kGlobalLoadRequests}), count({kGlobalLoadSectors}),
                    count({kGlobalStoreRequests}), count({kAtomicRequests}),
                    count({kSharedLoadRequests, kSharedStoreRequests}), count({kBarriers}));
  }
  return table;
}

// The emulated kernels of a run, on a small shape with its channels. Runs with the same small shape
// are traced once.
void trace(const nlohmann::json& run, std::vector<std::string>& traced) {
  Selection selection;
  selection.op = run.at("operator");
  selection.precision = run.at("precision");
  selection.causal = run.value("causal", false);
  selection.states = run.value("states", false);
  for (const auto& [name, value] : run.at("options").items())
    selection.options.emplace_back(name, value);
  selection.shape = ladder::find_operator(selection.op).shape();
  for (const auto& [name, size] : run.at("shape").items())  // in alphabetical order
    selection.shape.set(name, size);
  selection.shape = small_shape_of(selection);
  std::vector<emulator::xray::Subject> subjects;
  std::string what = selection.op + selection.precision + to_string(selection.shape) +
                     ladder::options_text(case_of(selection)->options());
  for (const auto& row : run.at("rows")) {
    if (row.at("back_end") == "emulator") what += " " + row.at("implementation").get<std::string>();
  }
  if (std::find(traced.begin(), traced.end(), what) != traced.end()) return;
  traced.push_back(what);
  for (const auto& row : run.at("rows")) {
    if (row.at("back_end") != "emulator" || !row.at("right").get<bool>()) continue;
    XrayRun each = xray(ladder::find_implementation(row.at("implementation")), selection);
    if (each.too_large) continue;  // because of options, as packed sequences keep their lengths
    std::move(each.subjects.begin(), each.subjects.end(), std::back_inserter(subjects));
  }
  if (!subjects.empty()) fmt::print("\n{}", to_brief_table(subjects, selection));
}

int trace_run(const std::string& json_path) {
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(json_path));
  std::vector<std::string> traced;
  for (const nlohmann::json& run : json.contains("runs") ? json.at("runs") : nlohmann::json{json})
    trace(run, traced);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ladder::second_start(argc, argv);
  CLI::App app(
      "The kernel X-ray: what each kernel asks of memory, counted in the emulator. Your own beside "
      "ours: ./ladder xray my/03_cuda_baseline",
      "./ladder xray");
  const SelectionOptions options(app, SelectionOptions::Shapes::kSmall);
  std::string json_path, page_path;
  const CLI::Option *json = app.add_option("--json", json_path, "Write the counts there"),
                    *html =
                        app.add_option("--html", page_path, "Write the page that draws them there");
  std::string run_path;
  app.add_option("--run", run_path, "One line per emulated kernel of that run")->group("");

  return run_program(app, argc, argv, [&] {
    if (!run_path.empty()) return trace_run(run_path);
    Selection selection = options.selection();
    selection.cuda_only = true;
    const auto implementations = chosen(selection);
    refuse_what_cannot_be_traced(selection);
    require_writable(*json);
    require_writable(*html);

    ladder::let_copies_come_late();
    std::vector<emulator::xray::Subject> subjects;
    std::string wrong;
    for (const ladder::Implementation& implementation : implementations) {
      show_progress("tracing " + implementation.name);
      const std::uint64_t estimate = estimated_accesses(implementation, selection);
      if (estimate > ladder::kMostAccesses)
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
    report["precision"] = selection.precision;
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
