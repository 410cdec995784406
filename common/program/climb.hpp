// The ladder itself: every implementation of one operator on one shape, first checked, then timed. What the emulator runs is
// checked only: its clock says nothing about a GPU.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/core/device.hpp"
#include "common/core/registry.hpp"
#include "common/program/selection.hpp"
#include "common/program/timing.hpp"

namespace ladder::program {

// A time kept in records/ for the same shape, and the GPU it was measured on.
struct Recorded {
  double seconds = 0;  // 0: none
  std::string device;
  bool old = false;  // measured with another version of the kernel, or nobody knows with which
  double bound_seconds = 0;  // of that run; 0: it says none, or not of which units
};

// How the data of a timing lies, and the calls on it.
struct Layout {
  std::size_t copies = 1;     // of the data, used in turn
  std::size_t calls = 1;      // recorded together, a sample; the same number for all that are quick
  bool passes_caches = true;  // the copies are more than three times as large as the last cache
};

// What stood still and what changed between the calls of a timing.
struct Conditions {
  Regime regime = Regime::kPlain;  // of Row::timing
  bool without_host = false;       // the calls of a sample are a graph
  Layout layout = {};
};

struct Row {
  std::string chapter, implementation, device, back_end;
  std::string source;  // "03_cuda_baseline/kernel.cu"
  bool right = false;
  std::string message;  // why not, or why it was not run
  bool ran = false;
  double error = 0;             // relative, against float64
  double limit = 0;             // of that error
  double plain_loop_error = 0;  // of a plain loop on the same problem, for information
  // A part of the asked shape, where the whole would have taken so long that only a part was checked; and how long.
  std::optional<Shape> checked_shape;
  double estimated_seconds = 0;
  Timing timing;     // no samples in the emulator
  Timing sustained;  // on a GPU: the same without pauses
  Conditions conditions;
  Timing
      end_to_end;  // launch to result on the host's clock; no samples where the host is the device
  std::string units;         // what its products run on: the ceiling that it is measured against
  double bound_seconds = 0;  // the larger of operations and bytes over the ceilings; 0: no ceilings
  bool bound_by_bytes = false;
  Recorded recorded;   // where this run has no GPU for it
  std::string slower;  // why it may be slower than the row before, as its lesson's page says
};

struct Climb {
  Selection options;
  double fma_count = 0, bytes = 0;
  bool cost_is_a_limit = false;  // both as many at most: then there is no bound and no rate
  std::vector<std::pair<std::string, Ceilings>> ceilings;  // by device name
  std::vector<Row> rows;
  std::optional<std::string>
      recorded_on;  // the one device of all recorded times; none: nobody has looked
  bool all_right() const;
  bool any_ran() const;
};

// Whether anything ran, and nothing that ran is wrong.
bool passed(const std::vector<Climb>& climbs);

using Progress = std::function<void(const std::string&)>;

// What one implementation may take in the emulator or on a CPU, by estimate. Beyond it a part of the shape is checked, and nothing timed.
constexpr double kPatienceSeconds = 60;

// std::invalid_argument for an unknown operator or chapter and for a shape without room, before anything runs. What one
// implementation throws becomes its row.
Climb climb(const Selection& options, const Progress& progress,
            double patience_seconds = kPatienceSeconds);

// For calls of `once` seconds that touch so many bytes.
Layout layout_of(double once, double bytes, const Device& device);

// The time that `units` need for so many multiply-adds of tensors in that precision; 0 where they were not measured.
double seconds_of(double fma_count, Units units, const std::string& precision,
                  const Ceilings& ceilings);
std::string to_string(Units units, const std::string& precision);

// Adds what `folder` holds of the same operator, precision and shape to the rows that have no GPU here: of the device that most of them have a
// time of. With a kernels.json in it (the hashes of what is launched now) a time whose kernel has changed since is marked as old.
void add_recorded(Climb& climb, const std::string& folder);

// What the page beside a source says, for whoever sees its kernel take longer than the one before: `<!-- slower: WORDS -->`, at most six. Empty
// where it says nothing.
std::string slower_because(const std::string& source, const std::string& root);

// At most 100 characters a line. One ladder after the other, and what is said of all of them once, at the end.
std::string to_table(const std::vector<Climb>& climbs);

nlohmann::json to_json(const Shape& shape);
inline constexpr const char* kRuns = "kernel-ladder/runs/1";  // the schema of a file of runs
// With one row a line: a list of objects or of lists has a line for each, and nothing else has lines of its own.
std::string as_rows(const nlohmann::json& json);
// A run. records/README.md says what the fields mean.
nlohmann::json to_json(const Climb& climb);

}  // namespace ladder::program
