// The current GPU, as the rules see it.
#pragma once

#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/shared_memory.hpp"
#include "library/best/shapes.hpp"

namespace ladder::best {

inline Card current_card() {
  return {cuda::multiprocessor_count(), static_cast<int>(cuda::most_shared_memory() / 1024)};
}

}  // namespace ladder::best
