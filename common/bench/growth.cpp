#include "common/bench/growth.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/core/device_problem.hpp"

namespace ladder::bench {

double fitted_exponent(const std::vector<std::int64_t>& T, const std::vector<double>& seconds) {
  double x_mean = 0, y_mean = 0, xy = 0, xx = 0;
  for (std::size_t i = 0; i < T.size(); ++i) {
    x_mean += std::log(T[i]) / T.size();
    y_mean += std::log(seconds[i]) / T.size();
  }
  for (std::size_t i = 0; i < T.size(); ++i) {
    const double x = std::log(T[i]) - x_mean;
    xy += x * (std::log(seconds[i]) - y_mean);
    xx += x * x;
  }
  return xy / xx;
}

std::vector<Growth> measure_growth(const Progress& progress) {
  std::vector<Growth> fits;
  Device& cpu = device(DeviceKind::kCpu);
  for (const Implementation& implementation : implementations()) {
    if (implementation.device != DeviceKind::kCpu || !implementation.linear_attention) continue;
    progress("growth of " + implementation.name);
    Growth growth;
    growth.implementation = implementation.name;
    for (std::int64_t T : {512, 1024, 2048, 4096}) {
      const LinearAttentionOnDevice data(
          cpu,
          make_problem(LinearAttentionCase{.B = 1, .T_q = T, .T_k = T, .H = 2, .K = 64, .V = 64}));
      growth.T.push_back(T);
      growth.seconds.push_back(measure(cpu, {[&] { implementation.linear_attention(data.args()); }},
                                       {.most_seconds = 0.5})
                                   .seconds);
    }
    growth.exponent = fitted_exponent(growth.T, growth.seconds);
    fits.push_back(growth);
  }
  progress("");
  return fits;
}

std::string to_table(const std::vector<Growth>& fits) {
  std::string table = "growth with T (causal linear attention, H=2, K=V=64): time ~ T^p\n\n";
  for (const Growth& fit : fits) {
    table += fmt::format("{:<28} p = {:.2f}   {:.3g} ms at T={} to {:.3g} ms at T={}\n",
                         fit.implementation, fit.exponent, fit.seconds.front() * 1e3, fit.T.front(),
                         fit.seconds.back() * 1e3, fit.T.back());
  }
  return table;
}

nlohmann::json to_json(const std::vector<Growth>& fits) {
  nlohmann::json json = nlohmann::json::array();
  for (const Growth& fit : fits) {
    json.push_back({{"implementation", fit.implementation},
                    {"T", fit.T},
                    {"seconds", fit.seconds},
                    {"exponent", fit.exponent}});
  }
  return json;
}

}  // namespace ladder::bench
