// How time grows with the sequence length: the exponent p of seconds ~ T^p, fitted, for every linear-attention
// implementation on the CPU.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/bench/climb.hpp"

namespace ladder::bench {

struct Growth {
  std::string implementation;
  std::vector<std::int64_t> T;
  std::vector<double> seconds;
  double exponent = 0;
};

std::vector<Growth> measure_growth(const Progress& progress);

// Least squares in log-log: the slope. At least two points, all positive.
double fitted_exponent(const std::vector<std::int64_t>& T, const std::vector<double>& seconds);

std::string to_table(const std::vector<Growth>& fits);
nlohmann::json to_json(const std::vector<Growth>& fits);

}  // namespace ladder::bench
