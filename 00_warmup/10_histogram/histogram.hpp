// counts(bin) = the number of values equal to bin.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct Histogram;  // the operator, in histogram_operator.cpp

struct HistogramSizes {
  std::int64_t N = 1000000;  // values, 0 or more
  std::int64_t BINS = 256;   // 1 or more
  bool one_bin = false;      // test inputs with all values in bin 0

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0), visit("BINS", s.BINS, 1), visit("one_bin", s.one_bin);
  }
};

// Integers, although kStorage is the name of every operator's default.
struct HistogramArgs : HistogramSizes {
  static constexpr const char* kStorage = "fp32";
  const std::int32_t* values = nullptr;  // (N), from 0 to BINS - 1
  std::int32_t* counts = nullptr;        // (BINS)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("values", s.values, {{"n", s.N}});
    visit("counts", s.counts, {{"bin", s.BINS}});
  }
};

}  // namespace warmup
