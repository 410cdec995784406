// What the tensors of the operators in this folder may be stored as.
#pragma once

#include <string>

#include "common/core/registry.hpp"
#include "common/core/tensor.hpp"

namespace ladder {

// What tensors are stored as. Arithmetic and states are fp32.
enum class Precision {
  kFp32,
  kBf16,           // q, k, v, log_w, u, o, and their gradients but du
  kBf16Fp32Decay,  // the same; log_w and its gradient in fp32
  kFp16,           // softmax attention only
};

// x as a tensor of this precision holds it: rounded to the nearest such number.
float rounded(float x, Precision precision);

// "fp32", "bf16", "bf16_fp32_decay", "fp16"; and back: what is allowed where the text is none of them.
std::string to_string(Precision precision);
std::string read_option(const std::string& text, Precision& precision);

inline Arithmetic arithmetic_of(const Implementation& implementation, Precision precision) {
  return arithmetic_of(implementation, to_string(precision));
}

// std::invalid_argument; for the operators that are not softmax attention.
void refuse_fp16(Precision precision);

// Each element, likewise.
void round_to(Precision precision, Tensor<float>& tensor);

// Parts of the names of cases: "_bf16", "_huge"; nothing for what is usual.
std::string precision_word(Precision precision);
std::string magnitude_word(float magnitude);

}  // namespace ladder
