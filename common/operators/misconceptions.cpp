#include "common/operators/misconceptions.hpp"

#include <cstring>

namespace ladder::reference {

void to_tf32(std::initializer_list<Tensor<float>*> tensors) {
  for (Tensor<float>* tensor : tensors) {
    for (float& x : tensor->data) {
      std::uint32_t bits;
      std::memcpy(&bits, &x, sizeof(bits));
      bits = (bits + 0x1000u) & 0xffffe000u;
      std::memcpy(&x, &bits, sizeof(bits));
    }
  }
}

double bf16(double x) {
  return to_float(to_bfloat16(static_cast<float>(x)));
}

}  // namespace ladder::reference
