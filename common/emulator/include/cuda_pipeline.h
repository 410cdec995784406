// Stands in for the CUDA Toolkit's header: asynchronous copies from global to shared memory, the primitives only.
//
// The bytes are read when the copy is issued. They arrive when the thread that issued it waits for its group; until then the
// destination keeps what it had. Other threads see them after a barrier behind that wait. What a thread has not waited for
// arrives when it returns; no kernel may rely on that.
#pragma once

#include <cstddef>

#include "emulator/site.hpp"

namespace emulator::detail {

void copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros, Site where);
void commit_copies();
void wait_for_copies(std::size_t newest_left_out, Site where);

}  // namespace emulator::detail

// Copies size_and_align (4, 8 or 16) bytes, of which the last zfill are zeros and are not read. Both pointers are aligned to
// size_and_align; anything else is cudaErrorLaunchFailure.
inline void __pipeline_memcpy_async(void* dst_shared, const void* src_global,
                                    std::size_t size_and_align, std::size_t zfill = 0,
                                    emulator::Site where = emulator::Site::current()) {
  emulator::detail::copy_async(dst_shared, src_global, size_and_align, zfill, where);
}

// The calling thread's copies since its last commit become a group, which may be empty.
inline void __pipeline_commit() {
  emulator::detail::commit_copies();
}

// Waits for all groups of the calling thread but the `prior` newest. Copies that are not committed are in none.
inline void __pipeline_wait_prior(std::size_t prior,
                                  emulator::Site where = emulator::Site::current()) {
  emulator::detail::wait_for_copies(prior, where);
}
