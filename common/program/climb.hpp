// The ladder. Every implementation of one operator on one shape is first checked, then timed. In
// the emulator they are only checked, because its clock does not show a GPU's time.
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

// A time from records/ for the same shape, and the GPU that it was measured on.
struct Recorded {
  double seconds = 0;  // 0 for none
  std::string device;
  bool old = false;          // of another, or an unknown, version of the kernel
  double bound_seconds = 0;  // of that run, or 0 if not recorded or for unknown units
};

// The layout of a timing's data, and its calls.
struct Layout {
  std::size_t copies = 1;     // of the data, used in turn
  std::size_t calls = 1;      // recorded together as a sample, equal for all quick calls
  bool passes_caches = true;  // the copies are more than three times the last-level cache
};

// The conditions of a timing's calls.
struct Conditions {
  Regime regime = Regime::kPlain;  // of Row::timing
  bool without_host = false;       // the calls of a sample are a graph
  Layout layout = {};
};

struct Row {
  std::string chapter, implementation, device, back_end;
  std::string source;  // "03_cuda_baseline/kernel.cu"
  bool right = false;
  std::string message;  // why it is wrong, or did not run
  bool ran = false;
  double error = 0;             // relative, against float64
  double limit = 0;             // of that error
  double plain_loop_error = 0;  // of a plain loop on the same problem, for information
  // If the whole shape would take too long, the part that was checked, and the estimate.
  std::optional<Shape> checked_shape;
  double estimated_seconds = 0;
  Timing timing;     // without samples in the emulator
  Timing sustained;  // on a GPU, without pauses
  Conditions conditions;
  Timing end_to_end;         // from launch to result on the host's clock, only on a GPU
  std::string units;         // the units of its products, whose ceiling applies
  double bound_seconds = 0;  // the larger of operations and bytes over the ceilings, or 0 for none
  bool bound_by_bytes = false;
  Recorded recorded;   // for rows without a GPU in this run
  std::string slower;  // why it may be slower than the previous row, from its page
};

struct Climb {
  Selection options;
  double fma_count = 0, bytes = 0;
  bool cost_is_a_limit = false;  // both are upper bounds, so there is no bound and no rate
  std::vector<std::pair<std::string, Ceilings>> ceilings;  // by device name
  std::vector<Row> rows;
  std::optional<std::string> recorded_on;  // the device of recorded times, if searched
  bool all_right() const;
  bool any_ran() const;
};

// Whether something ran, and everything that ran is right.
bool passed(const std::vector<Climb>& climbs);

using Progress = std::function<void(const std::string&)>;

// The estimated time that an implementation may take in the emulator or on a CPU. Above it only a
// part of the shape is checked, and nothing is timed.
constexpr double kPatienceSeconds = 60;

// Throws std::invalid_argument for an unknown operator or chapter, or a shape without room, before
// anything runs. Exceptions of an implementation go into its row.
Climb climb(const Selection& options, const Progress& progress,
            double patience_seconds = kPatienceSeconds);

// For calls of `once` seconds that touch `bytes` bytes.
Layout layout_of(double once, double bytes, const Device& device);

// The time of `units` for so many FMAs of tensors in that precision, or 0 if not measured.
double seconds_of(double fma_count, Units units, const std::string& precision,
                  const Ceilings& ceilings);
std::string to_string(Units units, const std::string& precision);

// Adds times from `folder`, for the same operator, precision and shape, to rows without a GPU. All
// are from the device that has times of most rows. If the folder has a kernels.json (hashes of the
// present kernels), times of changed kernels are marked as old.
void add_recorded(Climb& climb, const std::string& folder);

// Why a kernel may be slower than the previous one, from `<!-- slower: WORDS -->` on the page next
// to its source, at most six words. Empty if there is none.
std::string slower_because(const std::string& source, const std::string& root);

// Lines of at most 100 characters, the ladders one after another, then the notes about all of them.
std::string to_table(const std::vector<Climb>& climbs);

nlohmann::json to_json(const Shape& shape);
inline constexpr const char* kRuns = "kernel-ladder/runs/1";  // the schema of a file of runs
// One row per line. Each element of a list of objects or lists has its own line, and nothing else.
std::string as_rows(const nlohmann::json& json);
// A run. records/README.md explains the fields.
nlohmann::json to_json(const Climb& climb);

}  // namespace ladder::program
