#include "common/operators/precision.hpp"

#include "common/core/bfloat16.hpp"
#include "common/core/errors.hpp"
#include "common/core/float16.hpp"
#include "common/core/options.hpp"

namespace ladder {
namespace {

constexpr const char* kWords[] = {"fp32", "bf16", "bf16_fp32_decay", "fp16"};

}  // namespace

float rounded(float x, Precision precision) {
  switch (precision) {
    case Precision::kFp32: return x;
    case Precision::kFp16: return to_float(to_float16(x));
    default: return to_float(to_bfloat16(x));
  }
}

void refuse_fp16(Precision precision) {
  require(precision != Precision::kFp16, "precision is fp16; allowed for softmax attention only");
}

std::string to_string(Precision precision) {
  return kWords[static_cast<std::size_t>(precision)];
}

std::string read_option(const std::string& text, Precision& precision) {
  return read_word(text, precision, kWords);
}

void round_to(Precision precision, Tensor<float>& tensor) {
  for (float& element : tensor.data)
    element = rounded(element, precision);
}

std::string magnitude_word(float magnitude) {
  return magnitude == 1.0f ? "" : magnitude > 1.0f ? "_huge" : "_tiny";
}

std::string precision_word(Precision precision) {
  return precision == Precision::kFp32 ? "" : std::string("_").append(to_string(precision));
}

}  // namespace ladder
