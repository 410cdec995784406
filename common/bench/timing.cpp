#include "common/bench/timing.hpp"

#include <algorithm>
#include <chrono>

namespace ladder::bench {

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

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Timing measure_end_to_end(Device& device, const std::vector<std::function<void()>>& calls) {
  constexpr std::size_t kLeastSamples = 25;
  std::vector<double> samples;
  while (samples.size() < kLeastSamples) {
    for (const auto& call : calls) {
      const auto begin = std::chrono::steady_clock::now();
      call();
      device.synchronize();
      samples.push_back(seconds_since(begin));
    }
  }
  return summarise(samples);
}

Timing measure(Device& device, const std::vector<std::function<void()>>& calls,
               const TimingLimits& limits) {
  const auto all_calls = [&] {
    for (const auto& call : calls)
      call();
  };
  all_calls();
  device.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> samples;
  Timing timing;
  while (static_cast<int>(samples.size()) < limits.most_samples) {
    samples.push_back(device.time_without_host(all_calls) / calls.size());
    timing = summarise(samples);
    const double elapsed = seconds_since(begin);
    if (timing.samples >= limits.least_samples && timing.spread <= limits.enough_spread) break;
    if (timing.samples >= 3 && elapsed > limits.most_seconds) break;
  }
  return timing;
}

}  // namespace ladder::bench
