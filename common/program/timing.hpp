// Timing: warm-up, then samples until they agree; the median and the spread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/core/device.hpp"

namespace ladder::program {

double seconds_since(std::chrono::steady_clock::time_point begin);

struct Timing {
  double seconds = 0;  // median of the samples, per call
  double spread = 0;   // half the distance between the quartiles, as a fraction of the median
  int samples = 0;
};

struct TimingLimits {
  double enough_spread = 0.01;  // stop early when the spread is below this
  int least_samples = 5;
  int most_samples = 100;
  double most_seconds = 1.5;  // of measuring, once there are 3 samples
};

// In what state of load a time was taken. A GPU that has just rested runs at a higher clock than one that has worked for a
// tenth of a second.
enum class Regime {
  kPlain,      // one sample after the other, on a machine that is not told apart
  kBurst,      // each sample after a pause and one replay that is not timed
  kSustained,  // no pauses; the first part of the load is not timed
};
std::string to_string(Regime regime);

constexpr double kPauseSeconds = 0.12;       // in front of a burst
constexpr double kLeastBurstSeconds = 5e-3;  // of a burst's timed part
constexpr double kLoadSecondsBefore = 0.3;   // of a sustained load, before anything of it is timed
constexpr double kLoadSecondsTimed = 0.4;    // at least
constexpr double kSustainedSampleSeconds = 2e-2;

// Several calls, on different data, which are replayed one recording after the other: caches cannot help.
struct Rotation {
  std::vector<Recording> recordings;
  std::size_t calls = 0;  // in each recording
  double seconds = 0;     // about what a call takes
};

Timing measure(Device& device, const Rotation& rotation, Regime regime,
               const TimingLimits& limits = {});

// The same for calls that are not recorded: all of them are one sample.
Timing measure(Device& device, const std::vector<std::function<void()>>& calls,
               const TimingLimits& limits = {});

// From the call of a launcher until its result is there, on the host's clock: what a caller waits. After `measure`.
Timing measure_end_to_end(Device& device, const std::vector<std::function<void()>>& calls);

// Median and spread of per-call seconds; at least one sample.
Timing summarise(std::vector<double> samples);

}  // namespace ladder::program
