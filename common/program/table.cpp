// A climb as a table and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/program/climb.hpp"
#include "common/program/estimate.hpp"

namespace ladder::program {
nlohmann::json to_json(const Shape& shape) {
  nlohmann::json json = nlohmann::json::object();
  for (const Size& size : shape.sizes()) {
    if (size.value != 0) json[size.name] = size.value;
  }
  return json;
}

std::string as_rows(const nlohmann::json& json) {
  const bool list = json.is_array() && std::any_of(json.begin(), json.end(), [](const auto& each) {
                      return each.is_structured();
                    });
  if (!list && !json.is_object()) return json.dump();
  std::vector<std::string> texts;
  for (const auto& [key, value] : json.items())
    texts.push_back(list ? as_rows(value) : nlohmann::json(key).dump() + ":" + as_rows(value));
  return list ? fmt::format("[\n{}\n]", fmt::join(texts, ",\n"))
              : fmt::format("{{{}}}", fmt::join(texts, ","));
}

nlohmann::json to_json(const Climb& climb) {
  nlohmann::json json = {
      {"operator", climb.options.op},          {"precision", climb.options.precision},
      {"shape", to_json(climb.options.shape)}, {"causal", climb.options.causal},
      {"states", climb.options.states},        {"options", nlohmann::json::object()},
      {"fma_count", climb.fma_count},          {"bytes", climb.bytes},
      {"ceilings", nlohmann::json::array()},   {"rows", nlohmann::json::array()},
  };
  for (const auto& [name, value] : climb.options.options)
    json["options"][name] = value;
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
    if (row.right) {
      entry["error"] = row.error;
      entry["limit"] = row.limit;
      if (row.plain_loop_error > 0) entry["plain_loop_error"] = row.plain_loop_error;
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
      const Layout& layout = row.conditions.layout;
      entry[row.conditions.without_host ? "calls_per_graph" : "calls_per_sample"] = layout.calls;
      entry["copies"] = layout.copies;
      entry["copies_pass_caches"] = layout.passes_caches;
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
      if (row.recorded.bound_seconds > 0)
        entry["recorded_bound_seconds"] = row.recorded.bound_seconds;
    }
    json["rows"].push_back(entry);
  }
  return json;
}

namespace {

// For tables and notes in a terminal.
constexpr std::size_t kWidth = 100;

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string times(double factor) {
  return factor >= 100 ? fmt::format("{:.0f}x", factor) : fmt::format("{:.3g}x", factor);
}

// Bytes per second, or operations per second if the shape is dominated by them.
std::string rate_of(const Climb& climb, double seconds) {
  constexpr double kFmaPerByte = 50;  // FMAs of a GPU's tensor cores per byte, roughly
  if (climb.fma_count > kFmaPerByte * climb.bytes)
    return fmt::format("{:.3g} TF/s", 1e-12 * (2 * climb.fma_count) / seconds);
  const double rate = climb.bytes / seconds;
  return fmt::format(fmt::runtime(rate < 1e12 ? "{:.3g} GB/s" : "{:.0f} GB/s"), 1e-9 * rate);
}

// "06 wkv_shared_mem", "06.07 wkv_time_tiles". Folders outside the chapters have no number.
std::string name_of(const Row& row) {
  const auto number_of = [](const std::string& folder) {
    return folder.substr(0, folder.find('_'));
  };
  std::string number = number_of(row.chapter);
  if (number == row.chapter) return "   " + row.implementation;
  const std::string lesson = lesson_of(row.source);
  if (!lesson.empty()) number += "." + number_of(lesson);
  return number + " " + row.implementation;
}

bool is_timed_here(const Row& row) {
  return row.right && row.back_end != "emulator" && row.timing.samples > 0;
}

// A row's time, its own on real hardware, the recorded one if it was emulated or is absent.
double counted_seconds(const Row& row) {
  return is_timed_here(row) ? row.timing.seconds : row.recorded.seconds;
}

// The device of that time. Times of different devices are never compared.
const std::string& counted_device(const Row& row) {
  return is_timed_here(row) ? row.device : row.recorded.device;
}

// The cells of a row with a time or a verdict.
struct Cells {
  std::string name, back_end, time, recorded, load, call, vs_last, vs_first, of_bound, rate, error;
};

struct Column {
  const char* header;
  std::string Cells::*cell;
  const char* meaning;  // none if the header explains it
};

constexpr Column kName = {"chapter, implementation", &Cells::name, nullptr};
constexpr Column kRate = {"rate", &Cells::rate, nullptr};
constexpr Column kColumns[] = {
    kName,
    {"back end", &Cells::back_end, nullptr},
    {"time", &Cells::time, nullptr},
    {"recorded", &Cells::recorded, nullptr},
    {"load", &Cells::load, "time: in a burst, load: without pauses"},
    {"call", &Cells::call, "call: until the host has the result"},
    {"vs last", &Cells::vs_last, "vs: times as fast, on one device"},
    {"vs first", &Cells::vs_first, nullptr},
    {"of bound", &Cells::of_bound, "of bound: least time / time"},
    kRate,
    {"error", &Cells::error, "error: against float64"},
};

Cells cells_of(const Climb& climb, const Row& row, double first, double last) {
  const double seconds = counted_seconds(row);
  Cells cells;
  cells.name = name_of(row);
  cells.back_end = row.back_end;
  if (row.right) cells.error = fmt::format("{:.1e}{}", row.error, row.checked_shape ? "+" : "");
  if (seconds > 0) {
    (is_timed_here(row) ? cells.time : cells.recorded) = duration(seconds);
    if (last > 0) cells.vs_last = times(last / seconds);
    if (first > 0) cells.vs_first = times(first / seconds);
    if (!climb.cost_is_a_limit) cells.rate = rate_of(climb, seconds);
    const double bound = is_timed_here(row) ? row.bound_seconds : row.recorded.bound_seconds;
    if (bound > 0) cells.of_bound = fmt::format("{:.1f}%", 100 * bound / seconds);
  }
  if (is_timed_here(row)) {
    if (row.sustained.samples > 0) cells.load = duration(row.sustained.seconds);
    if (row.end_to_end.samples > 0) cells.call = duration(row.end_to_end.seconds);
  } else if (seconds == 0 && climb.recorded_on && row.back_end != "cpu" && row.back_end != "cuda") {
    cells.recorded = "not measured yet";
  }
  return cells;
}

// A line of a ladder: cells, or a name and a sentence (no name if cells precede it).
struct Line {
  Cells cells;
  std::string sentence;
};

std::size_t width_of(const std::vector<Line>& lines, const Column& column) {
  std::size_t width = 0;
  for (const Line& line : lines)
    width = std::max(width, (line.cells.*column.cell).size());
  return width == 0 ? 0 : std::max(width, std::string(column.header).size());
}

// The columns with contents, the rate only if there is room.
std::vector<Column> columns_of(const std::vector<Line>& lines) {
  std::vector<Column> columns;
  std::size_t total = 0;
  for (const Column& column : kColumns) {
    const std::size_t width = width_of(lines, column);
    if (width == 0) continue;
    columns.push_back(column);
    total += width + 1;
  }
  if (total > kWidth + 1)
    std::erase_if(columns, [](const Column& column) { return column.cell == kRate.cell; });
  return columns;
}

// Wraps at kWidth. The first line keeps the text's indentation, the others have `indent`.
std::string wrapped(const std::string& text, std::size_t indent = 2) {
  std::string result, line(text.find_first_not_of(' '), ' ');
  std::istringstream words(text);
  bool begun = false;  // the line has a word
  for (std::string word; words >> word; begun = true) {
    if (begun && line.size() + 1 + word.size() > kWidth) {
      result += line + "\n";
      line = std::string(indent, ' ');
      begun = false;
    }
    line += (begun ? " " : "") + word;
  }
  return result + line + "\n";
}

std::string to_text(const std::vector<Line>& lines) {
  const std::vector<Column> columns = columns_of(lines);
  const auto row = [&](const auto& text_of) {
    std::string text;
    for (const Column& column : columns) {
      const bool words = column.cell == &Cells::name || column.cell == &Cells::back_end;
      const std::size_t width = width_of(lines, column);
      text += fmt::format(fmt::runtime(words ? "{}{:<{}}" : "{}{:>{}}"), text.empty() ? "" : " ",
                          text_of(column), width);
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = row([](const Column& column) { return std::string(column.header); });
  for (const Line& line : lines) {
    if (line.sentence.empty()) {
      text += row([&](const Column& column) {
        const std::string& cell = line.cells.*column.cell;
        return cell.empty() ? "-" : cell;
      });
    } else {
      const std::string& name = line.cells.name;
      text += wrapped((name.empty() ? "  " : name) + " " + line.sentence, 6);
    }
  }
  return text;
}

// The time to compare with: ours of that name for a learner's kernel, else the previous row.
double seconds_before(const Climb& climb, const Row& row, double last) {
  constexpr std::string_view kLearners = " (yours)";
  if (!row.implementation.ends_with(kLearners)) return last;
  const auto ours = std::find_if(climb.rows.begin(), climb.rows.end(), [&](const Row& each) {
    return each.implementation + std::string(kLearners) == row.implementation &&
           counted_device(each) == counted_device(row);
  });
  return ours == climb.rows.end() || !ours->right ? 0 : counted_seconds(*ours);
}

std::vector<Line> lines_of(const Climb& climb) {
  std::vector<Line> lines;
  double first = 0, last = 0, before = 0;
  std::string last_device;
  const Row* fastest = nullptr;
  for (const Row& row : climb.rows) {
    // Without a message it was not meant to run, and is shown for its recorded time.
    const bool only_recorded = !row.ran && (row.recorded.seconds > 0 || row.message.empty());
    const double seconds = row.right || only_recorded ? counted_seconds(row) : 0;
    if (seconds > 0 && counted_device(row) != last_device) {
      first = last = 0;
      fastest = nullptr;
      last_device = counted_device(row);
    }
    if (row.right || only_recorded)
      lines.push_back({cells_of(climb, row, first, seconds_before(climb, row, last)), ""});
    if (!row.right && !row.message.empty()) {
      const bool failed = row.ran && row.message.rfind("FAILED", 0) == 0;
      const char* what = failed ? "" : row.ran ? "WRONG: " : "not run: ";
      Cells name;
      if (!only_recorded) name.name = name_of(row);
      lines.push_back({name, what + row.message});
    }
    if (seconds > 0) {
      if (before > 0 && seconds > before && !row.slower.empty())
        lines.push_back({{}, "slower: " + row.slower});
      if (first == 0) first = seconds;
      if (fastest == nullptr || seconds < counted_seconds(*fastest)) fastest = &row;
      last = before = seconds;
    }
  }
  // A ladder ends with its fastest kernel.
  if (fastest != nullptr && counted_seconds(*fastest) < last)
    lines.push_back(
        {{}, "fastest: " + name_of(*fastest) + ", " + duration(counted_seconds(*fastest))});
  return lines;
}

// The meanings of the columns that are shown.
std::string legend_of(const std::vector<Climb>& climbs) {
  std::string text;
  for (const Column& column : kColumns) {
    const bool shown = std::any_of(climbs.begin(), climbs.end(), [&](const Climb& climb) {
      return width_of(lines_of(climb), column) > 0;
    });
    if (shown && column.meaning != nullptr)
      text += fmt::format("{}{}", text.empty() ? "" : "; ", column.meaning);
  }
  return text.empty() ? "" : wrapped(text + ".");
}

std::string cache_note(const Climb& climb) {
  const bool any = std::any_of(climb.rows.begin(), climb.rows.end(), [](const Row& row) {
    return is_timed_here(row) && !row.conditions.layout.passes_caches;
  });
  return any ? wrapped(
                   "The copies of the data are not three times as large as the last cache (no "
                   "memory for more, or too many): times have help from it.")
             : "";
}

// Kernels whose recorded time is from an earlier version.
std::string recorded_notes(const Climb& climb) {
  std::vector<std::string> names;
  for (const Row& row : climb.rows) {
    if (!is_timed_here(row) && row.recorded.seconds > 0 && row.recorded.old &&
        std::find(names.begin(), names.end(), row.implementation) == names.end())
      names.push_back(row.implementation);
  }
  return names.empty() ? ""
                       : wrapped(fmt::format("recorded with an earlier version of the kernel: {}.",
                                             fmt::join(names, ", ")));
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
    text += wrapped(
        "emulator: the kernel ran here and was checked. It is not timed: the emulator's clock says "
        "nothing about a GPU.");
  if (!parts.empty())
    text += wrapped(fmt::format(
        "+ checked on {} only. The whole shape would take {} here (--patience SECONDS allows "
        "more).",
        fmt::join(parts, "; "), fmt::join(waits, ", ")));
  return text;
}

std::string ceiling_notes(const Climb& climb) {
  std::string text;
  for (const auto& [name, ceiling] : climb.ceilings) {
    if (ceiling.fma_per_second == 0) continue;
    const auto rate = [](double fma, const char* what) {
      return fma > 0 ? fmt::format(", {:.3g} {}", 2e-12 * fma, what) : std::string();
    };
    text += wrapped(
        fmt::format("ceilings of {}: {:.4g} GB/s copy; TFLOP/s: {:.3g} fp32 multiply-adds{}{}{}",
                    name, 1e-9 * ceiling.bytes_per_second, 2e-12 * ceiling.fma_per_second,
                    rate(ceiling.tf32_fma_per_second, "TF32 products of warps"),
                    rate(ceiling.tensor_fma_per_second, "bf16 products of warps"),
                    rate(ceiling.warpgroup_fma_per_second, "bf16 products of warpgroups")));
  }
  return text;
}

}  // namespace

std::string to_table(const std::vector<Climb>& climbs) {
  std::string table;
  Climb all;  // for the notes
  for (const Climb& climb : climbs) {
    const std::string& gpu = climb.recorded_on.value_or("");
    table += fmt::format(
        "{}{}{} in {} on {}{}{}\n{}\n{}\n", climb.options.title,
        climb.options.causal ? "causal " : "", climb.options.op, climb.options.precision,
        to_string(climb.options.shape), climb.options.states ? ", state in and out" : "",
        climb.options.options.empty() ? "" : ", " + options_text(climb.options.options),
        gpu.empty() ? "" : fmt::format("recorded: on {}, at this shape (records/)\n", gpu),
        to_text(lines_of(climb)));
    all.rows.insert(all.rows.end(), climb.rows.begin(), climb.rows.end());
    for (const auto& ceiling : climb.ceilings) {
      const auto same = [&](const auto& each) { return each.first == ceiling.first; };
      if (std::none_of(all.ceilings.begin(), all.ceilings.end(), same))
        all.ceilings.push_back(ceiling);
    }
  }
  return table + legend_of(climbs) + cache_note(all) + recorded_notes(all) + emulator_notes(all) +
         ceiling_notes(all);
}

}  // namespace ladder::program
