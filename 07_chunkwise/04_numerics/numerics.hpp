// Chunkwise WKV in five forms that differ only in how the decay between two tokens of a chunk is
// split between the two operands of a matrix product. In exact arithmetic all five are equal.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/core/error_metrics.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::numerics {

inline constexpr std::int64_t kChunk = 64;
inline constexpr std::int64_t kSubChunk = 16;
// The largest exponent allowed by "centre + clamp", whose exp is below the largest float.
inline constexpr float kLargestExponent = 80.0f;

enum class Form {
  kNaive,          // q B and k / B, where B is the decay since the start of the chunk
  kNaiveFp16,      // the same, operands of both products rounded to fp16
  kSubChunks,      // decays since t's sub-chunk of 16 began; inside it pair by pair; exponents <= 0
  kCentre,         // decays since the chunk's centre
  kCentreClamped,  // the same, exponents clamped to kLargestExponent
};
inline constexpr Form kForms[] = {Form::kNaive, Form::kNaiveFp16, Form::kSubChunks, Form::kCentre,
                                  Form::kCentreClamped};
const char* name_of(Form form);

// One head without states: q, k and log_w are (T, K), v is (T, V), u is (K).
struct Problem {
  std::int64_t T, K, V;
  std::vector<float> q, k, v, u, log_w;

  ladder::WkvArgs args() const;
};

// Two chunks. log_w is up to a quarter above and below its mean, by channel, and a tenth more by
// token.
Problem make_problem(double mean_log_decay);

// Log-decays below `floor` are replaced by `floor`.
std::vector<double> recurrence(const Problem& problem);
std::vector<float> chunkwise(const Problem& problem, Form form,
                             float floor = -std::numeric_limits<float>::infinity());

// Its exp is 0 in a float. A lower log-decay forgets no more, but the later sums lose digits.
inline constexpr float kFloor = -104.0f;

// The error of the chunkwise form against the recurrence in float64.
ladder::RelativeError error_of(Form form, double mean_log_decay);

}  // namespace chunkwise::numerics
