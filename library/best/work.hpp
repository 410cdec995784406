// What each kernel does for a shape: its blocks, and the steps or chunks of each. costs.inc has the
// microseconds of these, which fit.py fits to the recorded times.
#pragma once

#include <array>
#include <cstddef>

#include "library/best/kernels.hpp"
#include "library/best/shapes.hpp"

namespace ladder::best {

enum class Data { kFp32, kBf16, kPlain, kGeneral, kAny };
constexpr std::size_t kTerms = 14;

struct Work {
  Kernel kernel = {};
  // The row of costs.inc: the data, K up to `rows`, and what the launcher chooses.
  Data data = {};
  int rows = 0, variant = 0;
  int kilobytes = 0;  // of shared memory per block, or 48 for what every GPU allows
  std::array<double, kTerms> terms = {};
};

// For the kernels to choose from that can run on this GPU. There are none if a rule alone decides.
struct Works {
  std::array<Work, 5> all = {};
  std::size_t count = 0;
};
Works works_of(const RecurrenceShape& shape, const Card& card);
Works works_of(const LinearAttentionShape& shape, const Card& card);
// Kilobytes of chapter 07's chunks.
int chunk_kilobytes(const RecurrenceShape& shape);

}  // namespace ladder::best
