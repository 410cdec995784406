#include "common/program/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace ladder::program {

Timing summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto quantile = [&](double q) {
    return samples[static_cast<std::size_t>(q * (samples.size() - 1) + 0.5)];
  };
  Timing timing;
  timing.seconds = quantile(0.5);
  timing.spread = (quantile(0.75) - quantile(0.25)) / 2 / timing.seconds;
  timing.samples = static_cast<int>(samples.size());
  return timing;
}

std::string to_string(Regime regime) {
  constexpr const char* names[] = {"plain", "burst", "sustained"};
  return names[static_cast<std::size_t>(regime)];
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

namespace {

Timing sampled(const TimingLimits& limits, const std::function<double()>& sample,
               double least_seconds = 0) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> samples;
  Timing timing;
  while (static_cast<int>(samples.size()) < limits.most_samples) {
    samples.push_back(sample());
    timing = summarise(samples);
    const double elapsed = seconds_since(begin);
    if (elapsed < least_seconds) continue;
    if (timing.samples >= limits.least_samples && timing.spread <= limits.enough_spread) break;
    if (timing.samples >= 3 && elapsed > limits.most_seconds) break;
  }
  return timing;
}

}  // namespace

Timing measure_end_to_end(Device& device, const std::vector<std::function<void()>>& calls) {
  constexpr std::size_t kSamples = 25;
  std::vector<double> samples;
  for (std::size_t n = 0; n < kSamples; ++n) {
    const auto begin = std::chrono::steady_clock::now();
    calls[n % calls.size()]();
    device.synchronize();
    samples.push_back(seconds_since(begin));
  }
  return summarise(samples);
}

Timing measure(Device& device, const Rotation& rotation, Regime regime,
               const TimingLimits& limits) {
  std::size_t next = 0;  // recordings are replayed in turn, across samples
  const auto replay = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      rotation.recordings[next++ % rotation.recordings.size()].replay();
  };
  const auto seconds_of_a_call = [&](std::size_t count) {
    return device.time([&] { replay(count); }) / (static_cast<double>(count) * rotation.calls);
  };
  // The number of replays in that time, at least one.
  const auto replays_in = [&](double seconds) {
    const double each = std::max(rotation.seconds * rotation.calls, 1e-9);
    return static_cast<std::size_t>(std::max(1.0, std::ceil(seconds / each)));
  };
  if (regime == Regime::kSustained) {
    const std::size_t count = replays_in(kSustainedSampleSeconds);
    const auto begin = std::chrono::steady_clock::now();
    while (seconds_since(begin) < kLoadSecondsBefore)
      seconds_of_a_call(count);
    return sampled(
        limits, [&] { return seconds_of_a_call(count); }, kLoadSecondsTimed);
  }
  if (regime == Regime::kBurst) {
    const std::size_t count = replays_in(kLeastBurstSeconds);
    return sampled(limits, [&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(kPauseSeconds));
      replay(1);
      return seconds_of_a_call(count);
    });
  }
  replay(1);
  device.synchronize();
  return sampled(limits, [&] { return seconds_of_a_call(1); });
}

Timing measure(Device& device, const std::vector<std::function<void()>>& calls,
               const TimingLimits& limits) {
  const auto all_calls = [&] {
    for (const auto& call : calls)
      call();
  };
  return measure(device, {{{all_calls, false}}, calls.size(), 0}, Regime::kPlain, limits);
}

}  // namespace ladder::program
