// Lesson 20c's kernels, for lesson 21.
#pragma once

#include "00_warmup/low_bit.hpp"

namespace warmup {

void int4_split_atomic(const LowBitArgs<4>& args);
void int4_split_second_pass(const LowBitArgs<4>& args);

}  // namespace warmup
