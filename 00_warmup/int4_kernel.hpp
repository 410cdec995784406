// Lesson 20b's kernel, for lesson 21.
#pragma once

#include "00_warmup/low_bit.hpp"

namespace warmup {

void int4_row(const LowBitArgs<4>& args);

}  // namespace warmup
