// Storages as an enum, for operators whose arrays are all stored alike, or all but one.
#pragma once

#include <string>
#include <vector>

#include "common/core/registry.hpp"

namespace ladder {

// What tensors are stored as. Arithmetic and states are fp32.
enum class Precision {
  kFp32,
  kBf16,           // q, k, v, log_w, u, o, and their gradients but du
  kBf16Fp32Decay,  // the same; log_w and its gradient in fp32
  kFp16,
};

// x as a tensor of this precision holds it: rounded to the nearest such number.
float rounded(float x, Precision precision);

// "fp32", "bf16", "bf16_fp32_decay", "fp16"; and back: what is allowed where the text is none of them.
std::string to_string(Precision precision);
std::string read_option(const std::string& text, Precision& precision);

inline Arithmetic arithmetic_of(const Implementation& implementation, Precision precision) {
  return arithmetic_of(implementation, to_string(precision));
}

// The precision called "bf16"; std::invalid_argument where the text is none of them.
Precision precision_of(const std::string& storage);
std::vector<Precision> precisions_of(const std::vector<std::string>& storages);

// Parts of the names of cases: "_bf16", "_huge"; nothing for what is usual. Of tests: "InFp32", "InBf16".
std::string precision_word(Precision precision);
const char* test_word(Precision precision);
std::string magnitude_word(float magnitude);

}  // namespace ladder
