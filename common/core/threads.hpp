#pragma once

namespace ladder {

// Below so many multiply-adds, waking threads takes longer than the work.
inline bool worth_threads(double multiply_adds) {
  return multiply_adds > 1e6;
}

}  // namespace ladder
