// Timing: warm-up, then samples until they agree, and their median and spread.
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
  double spread = 0;   // half the distance between the quartiles, relative to the median
  int samples = 0;
};

struct TimingLimits {
  double enough_spread = 0.01;  // stop early below this spread
  int least_samples = 5;
  int most_samples = 100;
  double most_seconds = 1.5;  // of measuring, from 3 samples on
};

// The load during a timing. A rested GPU has a higher clock than after 0.1 s of work.
enum class Regime {
  kPlain,      // one sample after another, without pauses or load
  kBurst,      // each sample follows a pause and one untimed replay
  kSustained,  // no pauses, and the first part of the load is not timed
};
std::string to_string(Regime regime);

constexpr double kPauseSeconds = 0.12;       // before a burst
constexpr double kLeastBurstSeconds = 5e-3;  // of a burst's timed part
constexpr double kLoadSecondsBefore = 0.3;   // of a sustained load, before timing starts
constexpr double kLoadSecondsTimed = 0.4;    // at least
constexpr double kSustainedSampleSeconds = 2e-2;

// Calls on different data, replayed in turn, so that caches cannot help.
struct Rotation {
  std::vector<Recording> recordings;
  std::size_t calls = 0;  // in each recording
  double seconds = 0;     // approximate time of a call
};

Timing measure(Device& device, const Rotation& rotation, Regime regime,
               const TimingLimits& limits = {});

// The same for calls that are not recorded. Together they are one sample.
Timing measure(Device& device, const std::vector<std::function<void()>>& calls,
               const TimingLimits& limits = {});

// From a launcher's call to its result, on the host's clock. Call after `measure`.
Timing measure_end_to_end(Device& device, const std::vector<std::function<void()>>& calls);

// Median and spread of per-call seconds of at least one sample.
Timing summarise(std::vector<double> samples);

}  // namespace ladder::program
