// Hopper's bulk copies and stores, called through common/cuda/hopper.hpp. A copy completes, and its
// mbarrier counts the bytes, at once or as late as allowed, when no thread can continue without it.
// A store reads and writes its bytes likewise. The schedule decides: at once in forward order, late
// in reverse, each by the seed in a shuffle.
// Source: PTX ISA, "Tensors" ("Tensor Dimension, size and format", "Tiled Mode", "Swizzling
// modes"), "cp.async.bulk", "cp.async.bulk.tensor", "cp.async.bulk.commit_group",
// "cp.async.bulk.wait_group"; CUDA driver API, cuTensorMapEncodeTiled.
#pragma once

#include <cstdint>

#include "cuda.h"
#include "emulator/barriers.hpp"
#include "emulator/site.hpp"

namespace emulator {

// One thread copies the box that begins at `first`: one coordinate per dimension, innermost first.
void copy_box(void* to_smem, const CUtensorMap* map, Barrier* barrier, const int* first,
              unsigned dimensions, Site where = Site::current());

inline void tma_load(void* panel_smem, const CUtensorMap* map, Barrier* barrier, int column,
                     int head, int row, Site where = Site::current()) {
  const int first[] = {column, head, row};
  copy_box(panel_smem, map, barrier, first, 3, where);
}

// One thread copies contiguous bytes.
void bulk_copy(void* to_smem, const void* from, int bytes, Barrier* barrier,
               Site where = Site::current());

// One thread stores a box or contiguous bytes. Only this thread can wait for them, by groups.
void store_box(const CUtensorMap* map, const void* from_smem, const int* first, unsigned dimensions,
               Site where = Site::current());

inline void tma_store(const CUtensorMap* map, const void* panel_smem, int column, int head, int row,
                      Site where = Site::current()) {
  const int first[] = {column, head, row};
  store_box(map, panel_smem, first, 3, where);
}

void store_bytes(void* to, const void* from_smem, int bytes, Site where = Site::current());

void tma_store_commit();
void tma_store_wait(unsigned pending, bool only_read, Site where);

template <int kPending>
void tma_store_wait(Site where = Site::current()) {
  tma_store_wait(static_cast<unsigned>(kPending), false, where);
}
template <int kPending>
void tma_store_wait_read(Site where = Site::current()) {
  tma_store_wait(static_cast<unsigned>(kPending), true, where);
}

// "fence.proxy.async" for shared and global memory. No effect here, but the X-ray checks for it.
void fence_proxy_async();
void fence_proxy_async_global();

}  // namespace emulator
