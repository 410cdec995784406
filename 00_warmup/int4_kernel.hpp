// Lesson 20b's kernels, as lesson 21 calls them.
#pragma once

#include "00_warmup/low_bit.hpp"

namespace warmup {

void int4_row(const LowBitArgs<4>& args);
void int4_row_a_first(const LowBitArgs<4>& args);  // asks for A before W

}  // namespace warmup
