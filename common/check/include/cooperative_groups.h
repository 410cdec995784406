// Cooperative groups: the block, tiles of a warp, and the lanes that are together. A grid's sync()
// needs blocks that wait for each other, which is not emulated.
#pragma once

#include <bit>

#include "cuda_runtime.h"

namespace cooperative_groups {

using emulator::Site;

inline unsigned long long rank_in_block() {
  return threadIdx.x +
         blockDim.x * (threadIdx.y + static_cast<unsigned long long>(blockDim.y) * threadIdx.z);
}

class thread_block {
 public:
  void sync(Site where = Site::current()) const { __syncthreads(where); }
  static unsigned thread_rank() { return static_cast<unsigned>(rank_in_block()); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static dim3 group_dim() { return {blockDim.x, blockDim.y, blockDim.z}; }
  static dim3 dim_threads() { return group_dim(); }
};
inline thread_block this_thread_block() {
  return {};
}

// Lanes of a warp by mask. Ranks count the mask's lanes.
class lanes {
 public:
  explicit lanes(unsigned mask) : mask_(mask) {}
  void sync(Site where = Site::current()) const { __syncwarp(mask_, where); }
  unsigned size() const { return static_cast<unsigned>(std::popcount(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(std::popcount(mask_ & ((1u << own()) - 1)));
  }
  int any(int predicate, Site where = Site::current()) const {
    return __any_sync(mask_, predicate, where);
  }
  int all(int predicate, Site where = Site::current()) const {
    return __all_sync(mask_, predicate, where);
  }
  unsigned ballot(int predicate, Site where = Site::current()) const {
    const unsigned ballot = __ballot_sync(mask_, predicate, where);
    unsigned packed = 0;
    for (unsigned lane = 0, rank = 0; lane < 32; ++lane) {
      if (mask_ >> lane & 1) packed |= (ballot >> lane & 1) << rank++;
    }
    return packed;
  }
  template <typename Value>
  Value shfl(Value value, unsigned rank, Site where = Site::current()) const {
    return __shfl_sync(mask_, value, static_cast<int>(lane_of(rank)), 32, where);
  }
  template <typename Value>
  Value shfl_down(Value value, unsigned delta, Site where = Site::current()) const {
    const unsigned rank = thread_rank();
    return shfl(value, rank + delta < size() ? rank + delta : rank, where);
  }
  template <typename Value>
  Value shfl_up(Value value, unsigned delta, Site where = Site::current()) const {
    const unsigned rank = thread_rank();
    return shfl(value, rank >= delta ? rank - delta : rank, where);
  }
  template <typename Value>
  Value shfl_xor(Value value, unsigned with, Site where = Site::current()) const {
    return shfl(value, thread_rank() ^ with, where);
  }

 private:
  static unsigned own() { return static_cast<unsigned>(rank_in_block() % 32); }
  unsigned lane_of(unsigned rank) const {
    unsigned mask = mask_;
    for (; rank > 0; --rank)
      mask &= mask - 1;
    return static_cast<unsigned>(std::countr_zero(mask));
  }

  unsigned mask_;
};

template <unsigned kSize, typename Parent = thread_block>
class thread_block_tile : public lanes {
 public:
  static_assert(std::has_single_bit(kSize) && kSize <= 32,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");
  thread_block_tile() : lanes(mask()) {}
  static constexpr unsigned size() { return kSize; }
  static constexpr unsigned num_threads() { return kSize; }
  static unsigned thread_rank() { return static_cast<unsigned>(rank_in_block() % kSize); }
  static unsigned meta_group_rank() { return static_cast<unsigned>(rank_in_block() / kSize); }
  static unsigned meta_group_size() { return (thread_block::size() + kSize - 1) / kSize; }

 private:
  static unsigned mask() {
    const auto first = static_cast<unsigned>(rank_in_block() % 32) / kSize * kSize;
    return (kSize == 32 ? 0xffffffffu : (1u << kSize % 32) - 1) << first;
  }
};

template <unsigned kSize, typename Parent>
thread_block_tile<kSize, Parent> tiled_partition(const Parent&) {
  return {};
}

// A group whose kind is known at run time: the block, or lanes of a warp.
class thread_group {
 public:
  thread_group(const thread_block&) {}
  thread_group(const lanes& of_warp) : lanes_(of_warp), is_block_(false) {}
  void sync(Site where = Site::current()) const {
    is_block_ ? __syncthreads(where) : lanes_.sync(where);
  }
  unsigned size() const { return is_block_ ? thread_block::size() : lanes_.size(); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return is_block_ ? thread_block::thread_rank() : lanes_.thread_rank();
  }

 private:
  lanes lanes_{0xffffffffu};
  bool is_block_ = true;
};

// A tile whose size is known at run time.
inline thread_group tiled_partition(const thread_group&, unsigned size) {
  const auto first = static_cast<unsigned>(rank_in_block() % 32) / size * size;
  return lanes((size == 32 ? 0xffffffffu : (1u << size % 32) - 1) << first);
}

// Memory for tiles larger than a warp, which are not emulated.
template <unsigned kThreads>
struct block_tile_memory {};
template <unsigned kThreads>
thread_block this_thread_block(block_tile_memory<kThreads>&) {
  return {};
}

using coalesced_group = lanes;
// Only the calling thread is certain to be here, because lanes need not be converged.
inline coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

template <typename Group>
void sync(const Group& group, Site where = Site::current()) {
  group.sync(where);
}

// ---- Reductions of a tile ----

template <typename Value>
struct plus {
  Value operator()(Value a, Value b) const { return a + b; }
};
template <typename Value>
struct less {
  Value operator()(Value a, Value b) const { return b < a ? b : a; }
};
template <typename Value>
struct greater {
  Value operator()(Value a, Value b) const { return a < b ? b : a; }
};
template <typename Value>
struct bit_and {
  Value operator()(Value a, Value b) const { return a & b; }
};
template <typename Value>
struct bit_or {
  Value operator()(Value a, Value b) const { return a | b; }
};
template <typename Value>
struct bit_xor {
  Value operator()(Value a, Value b) const { return a ^ b; }
};

// Every thread of the group gets the result.
template <typename Group, typename Value, typename Operation>
Value reduce(const Group& group, Value value, Operation operation, Site where = Site::current()) {
  for (unsigned with = group.size() / 2; with > 0; with /= 2)
    value = operation(value, group.shfl_xor(value, with, where));
  return value;
}

// ---- The grid ----

class grid_group {
 public:
  static unsigned long long thread_rank() {
    const unsigned long long block =
        blockIdx.x +
        gridDim.x * (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
    return block * thread_block::size() + rank_in_block();
  }
  static unsigned long long size() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z *
           thread_block::size();
  }
  static bool is_valid() { return false; }
  void sync(Site where = Site::current()) const {
    emulator::fail_in_kernel("grid.sync() is not emulated: blocks do not wait for each other",
                             where);
  }
};
inline grid_group this_grid() {
  return {};
}

}  // namespace cooperative_groups
