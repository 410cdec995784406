#include "common/operators/roundings.hpp"

namespace ladder::reference {

double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return kUnitRoundoff<float>;
    case Precision::kFp16: return kUnitRoundoff<float16>;
    default: return kUnitRoundoff<bfloat16>;
  }
}

Roundings stored_in(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return {};
    case Precision::kFp16: return stored_as<float16>();
    default: return stored_as<bfloat16>();
  }
}

}  // namespace ladder::reference
