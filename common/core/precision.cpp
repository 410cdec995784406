#include "common/core/precision.hpp"

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

std::string to_string(Precision precision) {
  return kWords[static_cast<std::size_t>(precision)];
}

std::string read_option(const std::string& text, Precision& precision) {
  auto number = static_cast<std::size_t>(precision);
  const std::string allowed = read_word(text, number, {std::begin(kWords), std::end(kWords)});
  precision = static_cast<Precision>(number);
  return allowed;
}

std::string magnitude_word(float magnitude) {
  return magnitude == 1.0f ? "" : magnitude > 1.0f ? "_huge" : "_tiny";
}

std::string precision_word(Precision precision) {
  return precision == Precision::kFp32 ? "" : std::string("_").append(to_string(precision));
}

Precision precision_of(const std::string& storage) {
  Precision precision{};
  const std::string allowed = read_option(storage, precision);
  require(allowed.empty(), "storage is '" + storage + "'; allowed: " + allowed);
  return precision;
}

std::vector<Precision> precisions_of(const std::vector<std::string>& storages) {
  std::vector<Precision> precisions;
  for (const std::string& storage : storages)
    precisions.push_back(precision_of(storage));
  return precisions;
}

const char* test_word(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "InFp32";
    case Precision::kBf16: return "InBf16";
    case Precision::kBf16Fp32Decay: return "InBf16WithFp32Decay";
    case Precision::kFp16: return "InFp16";
  }
  return "";
}

}  // namespace ladder
