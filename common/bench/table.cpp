// A climb as a table and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "common/bench/climb.hpp"
#include "common/bench/estimate.hpp"
#include "common/bench/memory.hpp"

namespace ladder::bench {

nlohmann::json to_json(const Climb& climb, const std::string& kernels_folder) {
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
                                {"tensor_fma_per_second", ceiling.tensor_fma_per_second},
                                {"tf32_fma_per_second", ceiling.tf32_fma_per_second},
                                {"warpgroup_fma_per_second", ceiling.warpgroup_fma_per_second}});
  }
  for (const Row& row : climb.rows) {
    nlohmann::json entry = {{"chapter", row.chapter}, {"implementation", row.implementation},
                            {"device", row.device},   {"back_end", row.back_end},
                            {"ran", row.ran},         {"right", row.right},
                            {"message", row.message}, {"source", row.source}};
    if (row.back_end == "cuda" && !kernels_folder.empty()) {
      const std::string hash = kernel_hash(kernels_folder, row.source);
      if (!hash.empty()) entry["ptx"] = hash;
    }
    if (row.right) {
      entry["error"] = row.error;
      entry["yardstick_error"] = row.yardstick_error;
    }
    if (row.checked_shape) {
      entry["checked_shape"] = to_json(*row.checked_shape);
      entry["estimated_seconds"] = row.estimated_seconds;
    }
    if (row.right && row.timing.samples > 0) {
      entry["seconds"] = row.timing.seconds;
      entry["spread"] = row.timing.spread;
      entry["samples"] = row.timing.samples;
      entry["regime"] = to_string(row.conditions.regime);
      entry[row.conditions.without_host ? "calls_per_graph" : "calls_per_sample"] =
          row.conditions.calls;
      entry["copies"] = row.conditions.copies;
      entry["copies_pass_caches"] = row.conditions.copies_pass_caches;
      if (row.sustained.samples > 0) {
        entry["sustained_seconds"] = row.sustained.seconds;
        entry["sustained_spread"] = row.sustained.spread;
      }
      if (row.end_to_end.samples > 0) entry["end_to_end_seconds"] = row.end_to_end.seconds;
      entry["units"] = row.units;
      entry["bound_seconds"] = row.bound_seconds;
      entry["bound_by"] = row.bound_by_bytes ? "bytes" : "operations";
    }
    if (row.recorded.seconds > 0) {
      entry["recorded_seconds"] = row.recorded.seconds;
      entry["recorded_device"] = row.recorded.device;
      entry["recorded_old"] = row.recorded.old;
    }
    json["rows"].push_back(entry);
  }
  return json;
}

namespace {

constexpr const char* kFormat =
    "{:<33} {:<8} {:>9} {:>5} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>7}\n";

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string times(double factor) {
  return factor >= 100 ? fmt::format("{:.0f}x", factor) : fmt::format("{:.3g}x", factor);
}

std::string bytes_per_second(double rate) {
  return rate < 1e12 ? fmt::format("{:.3g} GB/s", 1e-9 * rate)
                     : fmt::format("{:.0f} GB/s", 1e-9 * rate);
}

// In what the shape is rich of: bytes that must move, or operations.
std::string rate_of(const Climb& climb, double seconds) {
  constexpr double kFmaPerByte = 50;  // about what a GPU's tensor cores do in the time of a byte
  const double operations = 2 * climb.fma_count;
  return climb.fma_count > kFmaPerByte * climb.bytes
             ? fmt::format("{:.3g} TF/s", 1e-12 * operations / seconds)
             : bytes_per_second(climb.bytes / seconds);
}

std::string name_of(const Row& row) {
  const std::string number = row.chapter.substr(0, row.chapter.find('_'));
  return fmt::format("{:2} {}", number == row.chapter ? "" : number, row.implementation);
}

bool is_timed_here(const Row& row) {
  return row.right && row.back_end != "emulator" && row.timing.samples > 0;
}

// The seconds a row counts with: its own on real hardware, the recorded ones where it was emulated or is absent.
double counted_seconds(const Row& row) {
  return is_timed_here(row) ? row.timing.seconds : row.recorded.seconds;
}

// Where they were taken. Times of two machines are never divided by each other.
const std::string& counted_device(const Row& row) {
  return is_timed_here(row) ? row.device : row.recorded.device;
}

// The chapter's number, back end and columns of a row that has a time or a verdict.
std::string line_of(const Climb& climb, const Row& row, double first, double last) {
  const double seconds = counted_seconds(row);
  std::string time = "-", spread = "-", load = "-", call = "-", vs_last = "-", vs_first = "-",
              rate = "-", of_bound = "-", error = "-";
  if (row.right) error = fmt::format("{:.1e}{}", row.error, row.checked_shape ? "+" : "");
  if (seconds > 0) {
    time = duration(seconds);
    if (last > 0) vs_last = times(last / seconds);
    if (first > 0) vs_first = times(first / seconds);
    rate = rate_of(climb, seconds);
  }
  if (is_timed_here(row)) {
    spread = fmt::format("{:.1f}%", 100 * row.timing.spread);
    if (row.sustained.samples > 0) load = duration(row.sustained.seconds);
    if (row.end_to_end.samples > 0) call = duration(row.end_to_end.seconds);
    if (row.bound_seconds > 0) of_bound = fmt::format("{:.1f}%", 100 * row.bound_seconds / seconds);
  } else if (seconds > 0) {
    time += row.recorded.old ? "?" : "*";
  }
  return fmt::format(fmt::runtime(kFormat), name_of(row), row.back_end.empty() ? "-" : row.back_end,
                     time, spread, load, call, vs_last, vs_first, rate, of_bound, error);
}

// What the columns mean, for those that are there.
std::string legend_of(const Climb& climb) {
  const auto any = [&](const auto& has) {
    return std::any_of(climb.rows.begin(), climb.rows.end(), has);
  };
  std::string text;
  if (any([](const Row& row) { return row.right; }))
    text += "error: against float64; what is wrong has no time.\n";
  if (any([](const Row& row) { return row.sustained.samples > 0; }))
    text +=
        "time: on the device, in a burst after a pause; load: under half a second of it without "
        "pauses.\n";
  if (any([](const Row& row) { return row.end_to_end.samples > 0; }))
    text += "call: from the host's call until the result is there.\n";
  if (any([](const Row& row) { return counted_seconds(row) > 0; }))
    text += "vs last, vs first: how many times as fast, on the same device.\n";
  if (any([](const Row& row) { return is_timed_here(row) && row.bound_seconds > 0; }))
    text +=
        "of bound: the least time, in which the bytes move once at copy speed or the row's own "
        "units do its operations, as a share of its time.\n";
  if (any([](const Row& row) { return is_timed_here(row) && !row.conditions.copies_pass_caches; }))
    text +=
        "The copies of the data are not three times as large as the last cache (no memory for "
        "more, or too many): times have help from it.\n";
  return text;
}

std::string recorded_notes(const Climb& climb) {
  std::set<std::string> notes;
  for (const Row& row : climb.rows) {
    if (is_timed_here(row) || row.recorded.seconds == 0) continue;
    notes.insert(row.recorded.old ? "? recorded on " + row.recorded.device +
                                        " (docs/results), an old number: the kernel has changed "
                                        "since, or the record does "
                                        "not say which one it was.\n"
                                  : "* recorded on " + row.recorded.device +
                                        " (docs/results), not measured here.\n");
  }
  return fmt::format("{}", fmt::join(notes, ""));
}

std::string emulator_notes(const Climb& climb) {
  std::set<std::string> parts;
  std::vector<std::string> waits;
  bool emulated = false;
  for (const Row& row : climb.rows) {
    emulated = emulated || (row.right && row.back_end == "emulator");
    if (!row.checked_shape || !row.right) continue;
    parts.insert(to_string(*row.checked_shape));
    waits.push_back(
        fmt::format("{} about {}", row.implementation, time_text(row.estimated_seconds)));
  }
  std::string text;
  if (emulated)
    text +=
        "emulator: the kernel really ran here and was checked. It is not timed: the emulator's "
        "clock says nothing about a GPU.\n";
  if (!parts.empty())
    text += fmt::format(
        "+ checked on {} only. The whole shape would take {} here (--patience SECONDS allows "
        "more).\n",
        fmt::join(parts, "; "), fmt::join(waits, ", "));
  return text;
}

std::string ceiling_notes(const Climb& climb) {
  std::string text;
  for (const auto& [name, ceiling] : climb.ceilings) {
    if (ceiling.fma_per_second == 0) continue;
    const auto rate = [](double fma, const char* what) {
      return fma > 0 ? fmt::format(", {:.3g} {}", 2e-12 * fma, what) : std::string();
    };
    text +=
        fmt::format("ceilings of {}: {:.4g} GB/s copy; TFLOP/s: {:.3g} fp32 multiply-adds{}{}{}\n",
                    name, 1e-9 * ceiling.bytes_per_second, 2e-12 * ceiling.fma_per_second,
                    rate(ceiling.tf32_fma_per_second, "TF32 products of warps"),
                    rate(ceiling.tensor_fma_per_second, "bf16 products of warps"),
                    rate(ceiling.warpgroup_fma_per_second, "bf16 products of warpgroups"));
  }
  return text;
}

}  // namespace

std::string to_table(const Climb& climb) {
  std::string table =
      fmt::format("{}{} in {} on {}{}\n\n", climb.options.causal ? "causal " : "", climb.options.op,
                  to_string(climb.options.precision), to_string(climb.options.shape),
                  climb.options.states ? ", state in and out" : "");
  table += fmt::format(fmt::runtime(kFormat), "chapter, implementation", "back end", "time", "+-",
                       "load", "call", "vs last", "vs first", "rate", "of bound", "error");
  double first = 0, last = 0;
  std::string last_device;
  for (const Row& row : climb.rows) {
    const bool only_recorded = !row.ran && row.recorded.seconds > 0;
    const double seconds = row.right || only_recorded ? counted_seconds(row) : 0;
    if (seconds > 0 && counted_device(row) != last_device) {
      first = last = 0;
      last_device = counted_device(row);
    }
    if (row.right || only_recorded) table += line_of(climb, row, first, last);
    if (!row.right) {
      const bool failed = row.ran && row.message.rfind("FAILED", 0) == 0;
      table += fmt::format("{:<33} {}{}\n", only_recorded ? "" : name_of(row),
                           failed    ? ""
                           : row.ran ? "WRONG: "
                                     : "not run: ",
                           row.message);
    }
    if (seconds > 0) {
      if (first == 0) first = seconds;
      last = seconds;
    }
  }
  return table + "\n" + legend_of(climb) + recorded_notes(climb) + emulator_notes(climb) +
         ceiling_notes(climb);
}

}  // namespace ladder::bench
