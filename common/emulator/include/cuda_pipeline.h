// Replaces the CUDA Toolkit's header, for the primitives of asynchronous copies to shared memory.
// The bytes are read when the copy is issued and written when the issuing thread waits for its
// group. Other threads see them after a barrier that follows this wait. Copies that are never
// waited for are written when the thread returns, but no kernel may rely on that.
#pragma once

#include <cstddef>

#include "emulator/site.hpp"

namespace emulator::detail {

void copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros, Site where);
void commit_copies();
void wait_for_copies(std::size_t newest_left_out, Site where);

}  // namespace emulator::detail

// Copies size_and_align bytes (4, 8 or 16). The last zfill are not read and become zeros. Pointers
// that are not aligned to size_and_align give cudaErrorLaunchFailure.
inline void __pipeline_memcpy_async(void* dst_shared, const void* src_global,
                                    std::size_t size_and_align, std::size_t zfill = 0,
                                    emulator::Site where = emulator::Site::current()) {
  emulator::detail::copy_async(dst_shared, src_global, size_and_align, zfill, where);
}

// Makes the calling thread's copies since its last commit a group, which may be empty.
inline void __pipeline_commit() {
  emulator::detail::commit_copies();
}

// Waits for all committed groups of the calling thread but the `prior` newest.
inline void __pipeline_wait_prior(std::size_t prior,
                                  emulator::Site where = emulator::Site::current()) {
  emulator::detail::wait_for_copies(prior, where);
}
