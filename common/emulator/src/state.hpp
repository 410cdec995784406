// The state of launches and runtime calls: the last error, the device's limits, its allocations.
#pragma once

#include <cstddef>
#include <string>

#include "emulator/errors.hpp"

namespace emulator::detail {

// Limits of an H100, compute capability 9.0.
inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kMaxBlockZ = 64;
inline constexpr unsigned kMaxGridX = 0x7fffffff;
inline constexpr unsigned kMaxGridYZ = 65535;
inline constexpr std::size_t kMultiprocessors = 132;
inline constexpr std::size_t kL2CacheKb = 50 * 1024;
inline constexpr int kThreadsPerMultiprocessor = 2048;
inline constexpr int kBlocksPerMultiprocessor = 32;
inline constexpr std::size_t kDefaultShared = 48 * 1024;
inline constexpr std::size_t kMaxShared = 227 * 1024;
inline constexpr std::size_t kSharedReservedPerBlock =
    1024;  // an SM has this much more than one block may use

inline constexpr unsigned char kPoison = 0xFF;
// ladder::GuardedArray::kGuardByte, whose header (common/core/guarded_array.hpp) cannot be included
// here: large in fp32, bf16 and as an integer, NaN in fp16.
inline constexpr unsigned char kGuard = 0x7F;

// Makes `error` the last error, with `report` as cudaGetErrorString's text. Returns `error`.
cudaError_t set_error(cudaError_t error, std::string report = {});

// Sets cudaGetErrorString's text for the error of a driver function, which is no last error.
void set_report(cudaError_t error, std::string report);

// The next synchronising call returns a launch's error, too.
void set_launch_error(cudaError_t error, std::string report);

// The maximum bytes of shared memory per block: kMaxShared, or EMULATOR_SHARED_MEMORY_KB.
std::size_t max_shared();

// The maximum bytes of dynamic shared memory for the kernel at `address`.
std::size_t max_dynamic_shared(const void* address);

// Names the allocation whose guard zone was overwritten, and restores it. Empty if all are intact.
std::string check_allocation_guards();

// The error in a kernel's access that no compiler's hook sees, or empty.
std::string wrong_access(const void* pointer, std::size_t bytes, bool written);

// Whether launches are noted instead of run.
bool notes_launches();

// Notes a copy or a fill in that stream (null: the default one); false if launches are not noted.
bool note_copy(const void* stream);

// As set by run_last_blocks().
unsigned last_blocks();

void reset_schedule();

}  // namespace emulator::detail
