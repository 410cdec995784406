#include "common/operators/suite.hpp"

namespace ladder::testing {

const char* test_word(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "InFp32";
    case Precision::kBf16: return "InBf16";
    case Precision::kBf16Fp32Decay: return "InBf16WithFp32Decay";
    case Precision::kFp16: return "InFp16";
  }
  return "";
}

}  // namespace ladder::testing
