#include "best/rules.hpp"

namespace ladder::best {
namespace {

// Key rows that chapter 07's kernels hold, and chapter 06's for GLA and linear attention.
constexpr std::int64_t kMostRows = 256;

}  // namespace

RecurrenceKernel choose(const RecurrenceShape& s, int multiprocessors) {
  using enum RecurrenceKernel;
  if (s.packed) return kChunkwise;  // the only one that takes it
  if (s.K > kMostRows) return s.gla ? kChunkwise : kRecurrent;
  if (s.T < 64) return kRecurrent;
  if (s.bf16) return kChunkwise;
  return s.heads > multiprocessors ? kRecurrent : kChunkwise;
}

LinearAttentionKernel choose(const LinearAttentionShape& s, int multiprocessors) {
  using enum LinearAttentionKernel;
  if (s.K > kMostRows) return s.plain && !s.bf16 ? kStrips : kChunkwise;
  if (s.bf16 || !s.whole_words) return kChunkwise;
  return s.T_q < 64 || s.heads > 4 * multiprocessors ? kRecurrent : kChunkwise;
}

}  // namespace ladder::best
