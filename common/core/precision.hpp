// Storages as an enum, for operators that store all arrays alike, or all except one.
#pragma once

#include <string>
#include <vector>

#include "common/core/registry.hpp"

namespace ladder {

// The storage of tensors. Arithmetic and states are fp32.
enum class Precision {
  kFp32,
  kBf16,           // q, k, v, log_w, u, o, and their gradients except du
  kBf16Fp32Decay,  // the same, but log_w and its gradient in fp32
  kFp16,
};

// x rounded to the nearest number of this precision.
float rounded(float x, Precision precision);

// "fp32", "bf16", "bf16_fp32_decay", "fp16". read_option returns the words that are allowed.
std::string to_string(Precision precision);
std::string read_option(const std::string& text, Precision& precision);

inline Arithmetic arithmetic_of(const Implementation& implementation, Precision precision) {
  return arithmetic_of(implementation, to_string(precision));
}

// The precision called "bf16". Throws std::invalid_argument for any other text.
Precision precision_of(const std::string& storage);
std::vector<Precision> precisions_of(const std::vector<std::string>& storages);

// Parts of a case's name ("_bf16", "_huge", default empty) and a test's ("InFp32", "InBf16").
std::string precision_word(Precision precision);
const char* test_word(Precision precision);
std::string magnitude_word(float magnitude);

}  // namespace ladder
