#include "common/bench/climb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <variant>

#include "common/core/device_problem.hpp"
#include "common/reference/sample.hpp"

namespace ladder::bench {
namespace {

// Rotating over more copies than this only costs memory.
constexpr std::size_t kMostCopies = 32;

// A sample of short calls needs this many to drown what its beginning and end cost.
constexpr std::size_t kLeastCalls = 24;
constexpr double kShortSeconds = 1e-4;

// A sample that takes this long, in seconds, has walked through the caches often enough.
constexpr double kMostSampleSeconds = 0.3;

// How far past the cache the rotated data must reach.
constexpr double kCacheMultiple = 3.0;

// Checks once, then times over rotating copies of the data. `launch` runs one launcher on one problem.
template <typename OnDevice, typename Problem, typename Launch>
void check_and_time(Row& row, Device& device, const Problem& problem, Arithmetic arithmetic,
                    double bytes, const Launch& launch) {
  std::vector<std::unique_ptr<OnDevice>> data;
  data.push_back(std::make_unique<OnDevice>(device, problem));
  const auto call = [&] { launch(data[0]->args()); };
  double once = device.time(call);
  if (device.back_end() == "cuda")
    once = device.time(call);  // the first call loads the kernel, too
  device.synchronize();
  const reference::Verdict verdict =
      reference::judge_sample(problem, data[0]->download(), arithmetic);
  row.right = verdict.right;
  row.message = verdict.message;
  row.error = verdict.error.whole;
  row.yardstick_error = verdict.yardstick.whole;
  if (!verdict.right) return;
  const double wanted =
      std::min(kCacheMultiple * device.cache_bytes() / bytes, kMostSampleSeconds / once);
  const std::size_t copies =
      std::clamp<std::size_t>(static_cast<std::size_t>(wanted) + 1, 1, kMostCopies);
  while (data.size() < copies)
    data.push_back(std::make_unique<OnDevice>(device, problem));
  std::vector<std::function<void()>> calls;
  for (const auto& each : data)
    calls.push_back([&] { launch(each->args()); });
  const auto one_round = calls;
  while (once < kShortSeconds && calls.size() < kLeastCalls)
    calls.insert(calls.end(), one_round.begin(), one_round.end());
  row.timing = measure(device, calls);
  if (device.back_end() == "cuda") row.end_to_end = measure_end_to_end(device, calls);
}

}  // namespace

bool Climb::all_right() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.right || !row.ran; });
}

Climb climb(const Selection& options, const Progress& progress) {
  const std::vector<Implementation> rungs = chosen(options);
  Climb result;
  result.options = options;
  const Problem problem = problem_of(options);
  const Cost cost = cost_of(options);
  result.fma_count = cost.fma_count;
  result.bytes = cost.bytes;

  std::map<DeviceKind, Ceilings> ceilings;
  for (const Implementation& implementation : rungs) {
    Row row;
    row.chapter = implementation.chapter;
    row.implementation = implementation.name;
    const std::string why = why_unavailable(implementation.device);
    if (!why.empty()) {
      row.message = why;
      result.rows.push_back(row);
      continue;
    }
    Device& where = device(implementation.device);
    row.device = where.name();
    row.back_end = where.back_end();
    if (ceilings.count(implementation.device) == 0) {
      progress("measuring the ceilings of " + where.name());
      ceilings[implementation.device] = where.measure_ceilings();
      result.ceilings.emplace_back(where.name(), ceilings[implementation.device]);
    }
    const Ceilings& ceiling = ceilings[implementation.device];
    const Arithmetic arithmetic = arithmetic_of(implementation, options.precision);
    if (ceiling.fma_per_second > 0) {
      const double fma_per_second =
          arithmetic == Arithmetic::kFp32 ? ceiling.fma_per_second : ceiling.tensor_fma_per_second;
      row.bound_seconds =
          std::max(result.fma_count / fma_per_second, result.bytes / ceiling.bytes_per_second);
    }
    progress("checking and timing " + implementation.name);
    row.ran = true;
    try {
      std::visit(
          [&](const auto& p) {
            with_launcher(implementation, p, [&]<typename OnDevice>(const auto& launch) {
              check_and_time<OnDevice>(row, where, p, arithmetic, result.bytes, launch);
            });
          },
          problem);
    } catch (const std::invalid_argument& refusal) {
      row.ran = false;
      row.message = refusal.what();
    }
    result.rows.push_back(row);
  }
  progress("");
  return result;
}

nlohmann::json to_json(const Climb& climb) {
  nlohmann::json json = {
      {"schema", "kernel-ladder/run/1"},
      {"operator", climb.options.op},
      {"precision", to_string(climb.options.precision)},
      {"shape", to_json(climb.options.shape)},
      {"causal", climb.options.causal},
      {"states", climb.options.states},
      {"fma_count", climb.fma_count},
      {"bytes", climb.bytes},
      {"ceilings", nlohmann::json::array()},
      {"rows", nlohmann::json::array()},
  };
  for (const auto& [name, ceiling] : climb.ceilings) {
    json["ceilings"].push_back({{"device", name},
                                {"fma_per_second", ceiling.fma_per_second},
                                {"bytes_per_second", ceiling.bytes_per_second},
                                {"tensor_fma_per_second", ceiling.tensor_fma_per_second}});
  }
  for (const Row& row : climb.rows) {
    nlohmann::json entry = {{"chapter", row.chapter}, {"implementation", row.implementation},
                            {"device", row.device},   {"back_end", row.back_end},
                            {"ran", row.ran},         {"right", row.right},
                            {"message", row.message}};
    if (row.right) {
      entry["error"] = row.error;
      entry["yardstick_error"] = row.yardstick_error;
      entry["seconds"] = row.timing.seconds;
      entry["spread"] = row.timing.spread;
      entry["samples"] = row.timing.samples;
      if (row.end_to_end.samples > 0) entry["end_to_end_seconds"] = row.end_to_end.seconds;
      entry["bound_seconds"] = row.bound_seconds;
    }
    if (row.recorded_seconds > 0) {
      entry["recorded_seconds"] = row.recorded_seconds;
      entry["recorded_device"] = row.recorded_device;
    }
    json["rows"].push_back(entry);
  }
  return json;
}

void add_recorded(Climb& climb, const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) return;
  const nlohmann::json mine = to_json(climb);
  const auto text = [](const nlohmann::json& json, const char* key) {
    return json.value(key, std::string());
  };
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const nlohmann::json run = nlohmann::json::parse(std::ifstream(file), nullptr, false);
    if (!run.is_object() || text(run, "schema") != text(mine, "schema") ||
        text(run, "operator") != text(mine, "operator") ||
        run.value("precision", "fp32") != text(mine, "precision") ||
        run.value("states", false) != climb.options.states ||
        run.value("causal", false) != climb.options.causal ||
        run.at("shape").dump() != mine.at("shape").dump()) {
      continue;
    }
    for (Row& row : climb.rows) {
      if (row.back_end != "emulator") continue;
      for (const auto& recorded : run.at("rows")) {
        if (text(recorded, "implementation") == row.implementation &&
            text(recorded, "back_end") == "cuda" && recorded.value("right", false)) {
          row.recorded_seconds = recorded.at("seconds").get<double>();
          row.recorded_device = text(recorded, "device");
        }
      }
    }
  }
}

namespace {

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string times(double factor) {
  return factor >= 100 ? fmt::format("{:.0f}x", factor) : fmt::format("{:.3g}x", factor);
}

// In what the shape is rich of: bytes that must move, or operations.
std::string rate_of(const Climb& climb, double seconds) {
  constexpr double kFmaPerByte = 50;  // about what a GPU's tensor cores do in the time of a byte
  const double operations = 2 * climb.fma_count;
  return climb.fma_count > kFmaPerByte * climb.bytes
             ? fmt::format("{:.3g} TF/s", 1e-12 * operations / seconds)
             : fmt::format("{:.4g} GB/s", 1e-9 * climb.bytes / seconds);
}

// The seconds a row counts with: its own on real hardware, the recorded ones where it was emulated.
double counted_seconds(const Row& row) {
  return row.back_end == "emulator" ? row.recorded_seconds : row.timing.seconds;
}

}  // namespace

std::string to_table(const Climb& climb) {
  const std::string format =
      "{:<18} {:<29} {:<10} {:>9} {:>6} {:>9} {:>9} {:>9} {:>10} {:>9} {:>9}\n";
  std::string table =
      fmt::format("{}{} in {} on {}{}\n\n", climb.options.causal ? "causal " : "", climb.options.op,
                  to_string(climb.options.precision), to_string(climb.options.shape),
                  climb.options.states ? ", state in and out" : "");
  table += fmt::format(fmt::runtime(format), "chapter", "implementation", "back end", "time", "+-",
                       "call", "vs last", "vs first", "rate", "of bound", "error");
  double first = 0, last = 0;
  std::vector<std::string> notes;  // by chapter
  std::set<std::string> recorded;
  for (const Row& row : climb.rows) {
    if (!row.right) {
      table += fmt::format("{:<18} {:<29} {}: {}\n", row.chapter, row.implementation,
                           row.ran ? "WRONG" : "not run", row.message);
      continue;
    }
    const double seconds = counted_seconds(row);
    const bool emulated = row.back_end == "emulator";
    std::string time = "-", spread = "-", call = "-", vs_last = "-", vs_first = "-", rate = "-",
                of_bound = "-";
    if (seconds > 0) {
      time = duration(seconds) + (emulated ? "*" : "");
      if (!emulated) spread = fmt::format("{:.1f}%", 100 * row.timing.spread);
      if (row.end_to_end.samples > 0) call = duration(row.end_to_end.seconds);
      if (last > 0) vs_last = times(last / seconds);
      if (first > 0) vs_first = times(first / seconds);
      rate = rate_of(climb, seconds);
      if (!emulated && row.bound_seconds > 0) {
        of_bound = fmt::format("{:.1f}%", 100 * row.bound_seconds / seconds);
      }
      if (first == 0) first = seconds;
      last = seconds;
    }
    if (emulated) {
      notes.push_back(
          fmt::format("  {} really ran here, in the emulator ({}; the emulator's clock says "
                      "nothing about a GPU).",
                      row.implementation, duration(row.timing.seconds)));
      if (row.recorded_seconds > 0) {
        recorded.insert("* recorded on " + row.recorded_device +
                        " (docs/results), not measured here.");
      }
    }
    table += fmt::format(fmt::runtime(format), row.chapter, row.implementation, row.back_end, time,
                         spread, call, vs_last, vs_first, rate, of_bound,
                         fmt::format("{:.1e}", row.error));
  }
  if (first > 0)
    table += "\nEvery time stands behind a result that was first checked against float64.\n";
  const auto timed_whole = [](const Row& row) { return row.end_to_end.samples > 0; };
  if (std::any_of(climb.rows.begin(), climb.rows.end(), timed_whole))
    table += "time: on the device; call: from the host's call until the result is there.\n";
  for (const auto& [name, ceiling] : climb.ceilings) {
    if (ceiling.fma_per_second == 0) continue;
    table += fmt::format(
        "ceiling of {}: {:.3g} TFLOP/s fp32 FMA, {}{:.4g} GB/s copy; bound of this shape without "
        "tensor cores {}\n",
        name, 2e-12 * ceiling.fma_per_second,
        ceiling.tensor_fma_per_second > 0 ? fmt::format("{:.3g} TFLOP/s bf16 products of warps, ",
                                                        2e-12 * ceiling.tensor_fma_per_second)
                                          : "",
        1e-9 * ceiling.bytes_per_second,
        duration(std::max(climb.fma_count / ceiling.fma_per_second,
                          climb.bytes / ceiling.bytes_per_second)));
  }
  for (const std::string& note : recorded)
    table += note + "\n";
  for (const std::string& note : notes)
    table += note + "\n";
  return table;
}

}  // namespace ladder::bench
