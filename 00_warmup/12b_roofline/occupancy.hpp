// The number of a kernel's blocks that one SM of an H200 (compute capability 9.0) holds at once.
#pragma once

namespace warmup {

// The resources of an SM, and how it allocates them.
struct Multiprocessor {
  int blocks = 32, warps = 64, lanes = 32;  // at most, and the lanes per warp
  int parts = 4,
      registers_of_a_part = 16384;   // of 32 bits, and a warp uses those of one part
  int registers_at_a_time = 256;     // a warp gets a multiple of these
  int shared_bytes = 233472;         // 228 KB
  int shared_bytes_at_a_time = 128;  // a block gets a multiple of these
  int shared_bytes_reserved = 1024;  // used by each block besides its own
  // A block that needs more cannot run.
  int most_threads_of_block = 1024, most_registers_of_thread = 255;
  int most_shared_bytes_of_block = 232448;  // 227 KB
};

// Returns 0 if such a block cannot run. `threads` is at least 1, the others at least 0.
int blocks_per_multiprocessor(int threads, int registers_per_thread, int shared_bytes);

// This lesson's kernel on the current device, by CUDA's own count. Registers are 0 in the emulator.
struct OccupancyByCuda {
  int threads = 0, registers_per_thread = 0, shared_bytes = 0, blocks = 0;
  bool compute_capability_9 = false;  // an H100 or an H200, for which the numbers above hold
};
OccupancyByCuda occupancy_by_cuda();

}  // namespace warmup
