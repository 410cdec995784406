// Timing: warm-up, then samples until they agree; the median and the spread.
#pragma once

#include <functional>
#include <vector>

#include "common/core/device.hpp"

namespace ladder::bench {

struct Timing {
  double seconds = 0;  // median of the samples, per call
  double spread = 0;   // half the distance between the quartiles, as a fraction of the median
  int samples = 0;
};

struct TimingLimits {
  double enough_spread = 0.01;  // stop early when the spread is below this
  int least_samples = 5;
  int most_samples = 100;
  double most_seconds = 3.0;  // of measuring, once there are 3 samples
};

// `calls` are run one after the other in each sample; several, on different data, keep caches from helping.
Timing measure(Device& device, const std::vector<std::function<void()>>& calls,
               const TimingLimits& limits = {});

// From the call of a launcher until its result is there, on the host's clock: what a caller waits. After `measure`.
Timing measure_end_to_end(Device& device, const std::vector<std::function<void()>>& calls);

// Median and spread of per-call seconds; at least one sample.
Timing summarise(std::vector<double> samples);

}  // namespace ladder::bench
