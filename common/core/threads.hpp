#pragma once

namespace ladder {

// For fewer FMAs, starting threads takes longer than the work.
inline bool worth_threads(double multiply_adds) {
  return multiply_adds > 1e6;
}

}  // namespace ladder
