// What launches and runtime calls share: the last error, the device's limits, its allocations.
#pragma once

#include <cstddef>
#include <string>

#include "emulator/errors.hpp"

namespace emulator::detail {

// An H100's limits, and its compute capability, 9.0.
inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kMaxBlockZ = 64;
inline constexpr unsigned kMaxGridX = 0x7fffffff;
inline constexpr unsigned kMaxGridYZ = 65535;
inline constexpr std::size_t kMultiprocessors = 132;
inline constexpr int kThreadsPerMultiprocessor = 2048;
inline constexpr int kBlocksPerMultiprocessor = 32;
inline constexpr std::size_t kDefaultShared = 48 * 1024;
inline constexpr std::size_t kMaxShared = 227 * 1024;
inline constexpr std::size_t kSharedReservedPerBlock =
    1024;  // a multiprocessor has this much more than a block can ask for

inline constexpr unsigned char kPoison = 0xFF;
// As ladder::GuardedArray::kGuardByte (common/core/guarded_array.hpp), which cannot be included here: a large number in fp32 and bf16, a NaN in
// fp16, a large whole number.
inline constexpr unsigned char kGuard = 0x7F;

// Makes `error` the last error and `report` the text cudaGetErrorString gives for it. Returns
// `error`.
cudaError_t set_error(cudaError_t error, std::string report = {});

// What cudaGetErrorString says of `error` from now on, for a driver's function, which leaves no last error.
void set_report(cudaError_t error, std::string report);

// A launch's error is also what the next synchronising call returns.
void set_launch_error(cudaError_t error, std::string report);

// Bytes of shared memory that a block may have if its kernel asks: kMaxShared, or what
// EMULATOR_SHARED_MEMORY_KB says.
std::size_t max_shared();

// Bytes of dynamic shared memory the kernel at `address` may ask for.
std::size_t max_dynamic_shared(const void* address);

// Says which allocation's guard zone was overwritten, and mends it; empty if none was.
std::string check_allocation_guards();

// What is wrong with a kernel's read or write of [pointer, pointer + bytes), which no compiler's hook sees; empty if nothing.
std::string wrong_access(const void* pointer, std::size_t bytes, bool written);

// Whether launches are noted and not run.
bool notes_launches();

// Notes a copy or a fill of that stream (null: the default one), which is then not done; false where none are noted.
bool note_copy(const void* stream);

// What run_last_blocks() has set.
unsigned last_blocks();

void reset_schedule();

}  // namespace emulator::detail
