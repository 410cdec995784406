// Hopper's bulk copies between global and shared memory, as common/cuda/hopper.hpp calls them. A copy's bytes are there, and its
// mbarrier hears of them, at once or as late as the model allows: when no thread can go on without it. A store reads its bytes, and
// writes them, at once or as late, too. The schedule says which: at once where threads run in order, late in reverse, each by the seed
// in a shuffle.
//
// Source: PTX ISA, "Tensors" ("Tensor Dimension, size and format", "Tiled Mode", "Swizzling modes"), "cp.async.bulk",
// "cp.async.bulk.tensor", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group"; CUDA driver API, cuTensorMapEncodeTiled.
#pragma once

#include <cstdint>

#include "cuda.h"
#include "emulator/barriers.hpp"
#include "emulator/site.hpp"

namespace emulator {

// One thread copies the box that begins at `first`, a coordinate for each of the map's dimensions, the innermost first.
void copy_box(void* to_smem, const CUtensorMap* map, Barrier* barrier, const int* first,
              unsigned dimensions, Site where = Site::current());

inline void copy_panel(void* panel_smem, const CUtensorMap* map, Barrier* barrier, int column,
                       int head, int row, Site where = Site::current()) {
  const int first[] = {column, head, row};
  copy_box(panel_smem, map, barrier, first, 3, where);
}

// One thread copies bytes that lie one behind the other.
void copy_bytes(void* to_smem, const void* from, int bytes, Barrier* barrier,
                Site where = Site::current());

// One thread stores a box, or bytes, the other way. It alone can wait for them: by groups, as it commits them.
void store_box(const CUtensorMap* map, const void* from_smem, const int* first, unsigned dimensions,
               Site where = Site::current());

inline void store_panel(const CUtensorMap* map, const void* panel_smem, int column, int head,
                        int row, Site where = Site::current()) {
  const int first[] = {column, head, row};
  store_box(map, panel_smem, first, 3, where);
}

void store_bytes(void* to, const void* from_smem, int bytes, Site where = Site::current());

void commit_stores();
void wait_stores(unsigned pending, bool only_read, Site where);

template <int kPending>
void wait_stores(Site where = Site::current()) {
  wait_stores(static_cast<unsigned>(kPending), false, where);
}
template <int kPending>
void wait_stores_read(Site where = Site::current()) {
  wait_stores(static_cast<unsigned>(kPending), true, where);
}

// "fence.proxy.async.shared::cta", "fence.proxy.async.global". Everything is visible to everybody here; the X-ray finds where one is
// missing.
void fence_shared();
void fence_global();

}  // namespace emulator
