// The lesson's kernel with each way to multiply floats, for tests that compare them.
#pragma once

#include "common/operators/linear_attention/linear_attention.hpp"

namespace chunkwise {

enum class Products {
  kOne,      // big big, with both factors rounded to tf32
  kNearest,  // three, with both parts of a factor rounded to nearest, by cvt.rna
  kCheap     // three, the big part rounded and the small one truncated, by integer instructions
};

// Throws std::invalid_argument for arguments that linear attention's launchers reject, and for all
// but the causal product with K = V = 64.
void causal_product(const ladder::LinearAttentionArgs& args, Products products);

}  // namespace chunkwise
