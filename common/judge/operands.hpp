// The operands of plain loops' products: as they are, or rounded to bf16.
#pragma once

#include <algorithm>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/registry.hpp"

namespace ladder {

inline float bf16(float x) {
  return to_float(to_bfloat16(x));
}

// What a product takes of its operands.
struct Exact {
  static float operand(float x) { return x; }
};

struct Bf16Operands {
  static float operand(float x) { return bf16(x); }
};

// Calls work.template operator()<Operands>().
template <typename Work>
auto with_operands(Arithmetic arithmetic, const Work& work) {
  return arithmetic == Arithmetic::kFp32 ? work.template operator()<Exact>()
                                         : work.template operator()<Bf16Operands>();
}

inline void store_in_bf16(std::vector<float>& values) {
  std::transform(values.begin(), values.end(), values.begin(), bf16);
}

}  // namespace ladder
