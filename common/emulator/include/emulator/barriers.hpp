// Barriers that only some of a block's threads take part in, and a warpgroup's registers, as Hopper (sm_90a) has them. Chapters
// reach them through common/cuda/hopper.hpp, whose words these functions use.
//
// Every wrong use that PTX calls undefined, or that waits for ever, is cudaErrorLaunchFailure with a sentence that names both
// parties. Source: PTX ISA, "Parallel Synchronization and Communication Instructions": "mbarrier", "bar, barrier"; "Miscellaneous
// Instructions": "setmaxnreg".
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/site.hpp"

namespace emulator {

// "mbarrier": 8 bytes in shared memory. Their contents are the emulator's own.
using Barrier = std::uint64_t;

void init(Barrier* barrier, int arrivals, Site where = Site::current());
void fence_barriers();
void arrive(Barrier* barrier, Site where = Site::current());
void arrive_expecting(Barrier* barrier, int bytes, Site where = Site::current());
void wait(Barrier* barrier, std::uint32_t parity, Site where = Site::current());

// "bar, barrier", with a name and a number of threads.
void sync_named(int name, int threads, Site where = Site::current());
void arrive_named(int name, int threads, Site where = Site::current());

// "setmaxnreg". A kernel begins with the most registers for a thread that its number of threads allows, multiples of 8.
void set_registers(int registers, bool more, Site where = Site::current());

template <int kRegisters>
void give_registers(Site where = Site::current()) {
  set_registers(kRegisters, false, where);
}
template <int kRegisters>
void take_registers(Site where = Site::current()) {
  set_registers(kRegisters, true, where);
}

}  // namespace emulator

// The address that instructions for shared memory take: bytes from the beginning of the block's window.
std::size_t __cvta_generic_to_shared(const void* pointer);
