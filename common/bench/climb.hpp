// The ladder itself: every implementation of one operator on one shape, first checked, then timed.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/bench/selection.hpp"
#include "common/bench/timing.hpp"
#include "common/core/device.hpp"
#include "common/core/registry.hpp"

namespace ladder::bench {

struct Row {
  std::string chapter, implementation, device, back_end;
  bool right = false;
  std::string message;  // why not, or why it was not run
  bool ran = false;
  double error = 0;            // relative, against float64
  double yardstick_error = 0;  // of a plain fp32 loop on the same problem
  Timing timing;
  Timing
      end_to_end;  // launch to result on the host's clock; no samples where the host is the device
  double bound_seconds = 0;  // the larger of operations and bytes over the ceilings; 0: no ceilings
  // Where this run had no GPU: a time kept in docs/results for the same shape, and the GPU it was measured on.
  double recorded_seconds = 0;
  std::string recorded_device;
};

struct Climb {
  Selection options;
  double fma_count = 0, bytes = 0;
  std::vector<std::pair<std::string, Ceilings>> ceilings;  // by device name
  std::vector<Row> rows;
  bool all_right() const;
};

using Progress = std::function<void(const std::string&)>;

// std::invalid_argument for an unknown operator or chapter, before anything runs.
Climb climb(const Selection& options, const Progress& progress);

// Fills recorded_seconds of emulated rows from the ladder's own JSON files (*.json) in `folder`.
void add_recorded(Climb& climb, const std::string& folder);

std::string to_table(const Climb& climb);
nlohmann::json to_json(const Climb& climb);

}  // namespace ladder::bench
