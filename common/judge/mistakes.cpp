#include "common/judge/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"
#include "common/core/poison.hpp"

namespace ladder {

bool equals_answer(const std::vector<float>& result, const std::vector<double>& answer,
                   std::int64_t row, double rounding) {
  const auto is_nan = [](double x) { return std::isnan(x) && !is_unwritten(x); };
  const bool computes_none = std::any_of(answer.begin(), answer.end(), is_nan);
  const bool shows_none = std::any_of(result.begin(), result.end(), [](float x) {
    return !std::isfinite(x) && !is_never_written(x);
  });
  // Elements that were not written keep their old contents or are zero.
  for (std::size_t i = 0; i < result.size() && i < answer.size(); ++i) {
    if (is_unwritten(answer[i]) && !is_never_written(result[i]) && result[i] != 0) return false;
  }
  return (!computes_none || shows_none) && roughly_equal(result, answer, row, rounding);
}

bool equals_answer(const Part& part, const std::vector<double>& answer) {
  return equals_answer(*part.result, answer, part.layout.row(), part.coarseness());
}

void to_tf32(std::vector<float>& values) {
  for (float& x : values) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    bits = (bits + 0x1000u) & 0xffffe000u;
    std::memcpy(&x, &bits, sizeof(bits));
  }
}

double bf16(double x) {
  return to_float(to_bfloat16(static_cast<float>(x)));
}

double fp16(double x) {
  return to_float(to_float16(static_cast<float>(x)));
}

}  // namespace ladder
