// Hopper's mbarriers, named barriers and register reallocation. Kernels call them through
// common/cuda/hopper.hpp, which has the same names. A use that PTX calls undefined, or a wait that
// never ends, is cudaErrorLaunchFailure, with a report that names both parties.
// Source: PTX ISA, "Parallel Synchronization and Communication Instructions": "mbarrier", "bar,
// barrier"; "Miscellaneous Instructions": "setmaxnreg".
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/site.hpp"

namespace emulator {

// An mbarrier, 8 bytes in shared memory. Their contents differ from a GPU's.
using Barrier = std::uint64_t;

void init(Barrier* barrier, int arrivals, Site where = Site::current());
void fence_barrier_init();
void arrive(Barrier* barrier, Site where = Site::current());
void arrive_expect_tx(Barrier* barrier, int bytes, Site where = Site::current());
void wait(Barrier* barrier, std::uint32_t parity, Site where = Site::current());

// "bar, barrier", with a name and a number of threads.
void named_barrier_sync(int name, int threads, Site where = Site::current());
void named_barrier_arrive(int name, int threads, Site where = Site::current());

// "setmaxnreg". Threads start with the largest multiple of 8 registers that the block size allows.
void set_registers(int registers, bool more, Site where = Site::current());

template <int kRegisters>
void setmaxnreg_dec(Site where = Site::current()) {
  set_registers(kRegisters, false, where);
}
template <int kRegisters>
void setmaxnreg_inc(Site where = Site::current()) {
  set_registers(kRegisters, true, where);
}

}  // namespace emulator

// A shared-memory address as instructions use it, an offset in bytes from the block's window.
std::size_t __cvta_generic_to_shared(const void* pointer);
