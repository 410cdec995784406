#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "00_warmup/12b_roofline/multiply_adds.hpp"
#include "00_warmup/12b_roofline/occupancy.hpp"
#include "00_warmup/12b_roofline/roofline.hpp"
#include "common/testing/suite.hpp"
#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#endif

using warmup::blocks_per_multiprocessor;

namespace {

const bool registered = ladder::testing::register_suite(
    "multiply_adds", "multiply_adds",
    {.sizes = {{"N", {37, 1, 256, 257, 1000}}, {"rounds", {1, 0, 2, 30}}},
     .options = {{"factor", {"0.5", "-0.5"}}}});

struct Block {
  int threads, registers, shared, blocks;
};

// By hand, from the rules in the README.
const std::vector<Block> kBlocks = {
    {256, 0, 0, 8},    // 64 warps
    {32, 16, 0, 32},   // 32 blocks
    {1024, 32, 0, 2},  // 64 warps
    {33, 16, 0, 32},   // 2 warps each
    {65, 16, 0, 21},   // 3 warps each
    {16, 16, 0, 32},   // a warp, though half of it is not there
    {96, 32, 0, 21},   // 64 / 3
    {96, 129, 0, 4},   // 3 warps in each part make 12, where all registers together would hold 15
    {256, 128, 0, 2},  // 4 warps in each part
    {256, 129, 0, 1},  // 136 * 32 registers a warp, 3 warps in each part
    {256, 40, 0, 6},   // 12 warps in each part
    {256, 33, 0, 6},   // as with 40
    {384, 160, 0, 1},  // 3 warps in each part
    {416, 160, 0, 0},  // 13 warps, and there is space for 12
    {1024, 65, 0, 0},  // 32 warps, and there is space for 28
    {128, 32, 16384, 13},  // 17 KB each
    {128, 32, 6272, 16},   // 16 by warps and 32 by shared memory
    {64, 32, 6272, 32},    // 7296 bytes each
    {64, 32, 6273, 31},    // 7424 bytes each
    {64, 32, 6476, 30},    // 7552 bytes each, and 7500, not rounded up, would give 31
    {32, 255, 0, 8},       // 2 warps in each part
    {128, 32, 232448, 1},  // all that a block may have
    {128, 32, 232449, 0}, {1025, 16, 0, 0}, {128, 256, 0, 0},
};

int rounded_up(int number, int to) {
  return (number + to - 1) / to * to;
}

// The result if one rule is forgotten.
struct Misconception {
  std::string words;
  std::function<int(int warps, int registers, int shared)> blocks;
};
int of_registers(int warps, int per_warp) {
  return per_warp == 0 ? 64 : 16384 / per_warp * 4 / warps;
}
const std::vector<Misconception> kMisconceptions = {
    {"the number of blocks without rounding: a warp gets registers by 256",
     [](int warps, int registers, int shared) {
       const int by_registers = registers == 0 ? 64 : 65536 / (registers * 32 * warps);
       return std::min({32, 64 / warps, by_registers, 233472 / rounded_up(shared + 1024, 128)});
     }},
    {"the number of blocks without rounding: a block gets shared memory by 128 bytes",
     [](int warps, int registers, int shared) {
       return std::min({32, 64 / warps, of_registers(warps, rounded_up(registers * 32, 256)),
                        233472 / (shared + 1024)});
     }},
    {"the number of blocks without the 1,024 bytes that each block takes besides its own",
     [](int warps, int registers, int shared) {
       const int by_shared = shared == 0 ? 64 : 233472 / rounded_up(shared, 128);
       return std::min(
           {32, 64 / warps, of_registers(warps, rounded_up(registers * 32, 256)), by_shared});
     }},
    {"the number of blocks by the loosest limit, not the tightest",
     [](int warps, int registers, int shared) {
       return std::max({32, 64 / warps, of_registers(warps, rounded_up(registers * 32, 256)),
                        233472 / rounded_up(shared + 1024, 128)});
     }},
    {"the number of blocks with the registers of all four parts in one pot",
     [](int warps, int registers, int shared) {
       const int per_warp = rounded_up(registers * 32, 256);
       const int by_registers = registers == 0 ? 64 : 65536 / per_warp / warps;
       return std::min({32, 64 / warps, by_registers, 233472 / rounded_up(shared + 1024, 128)});
     }},
    {"the number of blocks without the limit by registers",
     [](int warps, int, int shared) {
       return std::min({32, 64 / warps, 233472 / rounded_up(shared + 1024, 128)});
     }},
};

bool allowed(const Block& b) {
  return b.threads <= 1024 && b.registers <= 255 && b.shared <= 232448;
}

std::string explain() {
  for (const Misconception& m : kMisconceptions) {
    const auto agrees = [&](const Block& b) {
      return !allowed(b) || blocks_per_multiprocessor(b.threads, b.registers, b.shared) ==
                                m.blocks(rounded_up(b.threads, 32) / 32, b.registers, b.shared);
    };
    if (std::all_of(kBlocks.begin(), kBlocks.end(), agrees)) return "equals " + m.words + "\n";
  }
  return "";
}

TEST(multiply_adds, Hole1CountsTheBlocksOfAMultiprocessor) {
  for (const Block& b : kBlocks) {
    EXPECT_EQ(blocks_per_multiprocessor(b.threads, b.registers, b.shared), b.blocks)
        << b.threads << " threads, " << b.registers << " registers a thread, " << b.shared
        << " bytes of shared memory";
  }
  if (HasFailure()) ADD_FAILURE() << "WRONG RESULT\n" << explain();
}

#if __has_include(<cuda_occupancy.h>)
TEST(multiply_adds, CountsBlocksAsNvidiasHeaderDoes) {
  cudaOccDeviceProp device;
  device.computeMajor = 9;
  device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = 2048;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32, device.numSms = 132;
  device.sharedMemPerBlock = 48 * 1024, device.sharedMemPerMultiprocessor = 228 * 1024;
  device.sharedMemPerBlockOptin = 227 * 1024, device.reservedSharedMemPerBlock = 1024;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  for (int threads = 1; threads <= 1024; threads += 31) {
    for (int registers = 1; registers <= 255; registers += 2) {
      for (int shared = 0; shared <= 227 * 1024; shared += 5001) {
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024, kernel.numRegs = registers;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = 227 * 1024, kernel.numBlockBarriers = 1;
        cudaOccResult result;
        ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
                                                          threads, shared),
                  CUDA_OCC_SUCCESS);
        ASSERT_EQ(blocks_per_multiprocessor(threads, registers, shared),
                  result.activeBlocksPerMultiprocessor)
            << threads << " threads, " << registers << " registers a thread, " << shared
            << " bytes of shared memory";
      }
    }
  }
}
#endif

TEST(multiply_adds, Hole2PlacesAKernelUnderTheRoof) {
  const warmup::Machine machine{.bytes_per_second = 4e12, .operations_per_second = 60e12};
  struct {
    warmup::Work work;
    double intensity, seconds;
    bool memory_bound;
  } const cases[] = {
      {{.bytes = 8e12, .operations = 1e12}, 0.125, 2, true},
      {{.bytes = 1e12, .operations = 120e12}, 120, 2, false},
      {{.bytes = 4e12, .operations = 60e12}, 15, 1, false},      // at the ridge
      {{.bytes = 4e12, .operations = 30e12}, 7.5, 1, true},      // computing alone is half a second
      {{.bytes = 4e12, .operations = 90e12}, 22.5, 1.5, false},  // moving alone is a second
  };
  for (const auto& each : cases) {
    const warmup::Place is = place(each.work, machine);
    const std::string of = "WRONG RESULT for " + std::to_string(each.work.bytes / 1e12) +
                           " TB and " + std::to_string(each.work.operations / 1e12) +
                           " T operations at 4 TB/s and 60 TFLOP/s: ";
    const double moving = each.work.bytes / 4e12, computing = each.work.operations / 60e12;
    EXPECT_NEAR(is.intensity, each.intensity, 1e-9 * each.intensity)
        << of << "the intensity is in operations for each byte";
    if (std::abs(is.seconds - (moving + computing)) < 1e-9) {
      ADD_FAILURE() << of << "the sum of both times; they pass at the same time";
    } else {
      EXPECT_NEAR(is.seconds, each.seconds, 1e-9) << of << "the larger of the two times";
    }
    EXPECT_EQ(is.memory_bound, each.memory_bound) << of << "what takes longer?";
  }
}

TEST(multiply_adds, Hole3CountsThreeKernels) {
  const char* const names[] = {"y = factor * x", "the mean of 9", "the tiled product"};
  for (const double n : {64.0, 1024.0}) {
    const std::array<warmup::Work, 3> is = warmup::three_kernels(n);
    const warmup::Work right[] = {{.bytes = 8 * n, .operations = n},
                                  {.bytes = 8 * n, .operations = 9 * n},
                                  {.bytes = n * n * n / 4, .operations = 2 * n * n * n}};
    for (int i = 0; i < 3; ++i) {
      const std::string of =
          "WRONG RESULT for n = " + std::to_string(static_cast<int>(n)) + ", " + names[i] + ": ";
      std::string hint;
      if (i < 2 && is[i].bytes == 4 * n) hint = "; what is written counts, too";
      if (i == 1 && is[i].bytes == 40 * n)
        hint = "; each number is moved once, though nine threads use it";
      if (i == 2 && is[i].operations == n * n * n) hint = "; a multiply-add is two operations";
      if (i == 2 && is[i].bytes == 8 * n * n * n)
        hint = "; a tile's number is loaded once for 32 results";
      EXPECT_EQ(is[i].bytes, right[i].bytes) << of << "bytes" << hint;
      EXPECT_EQ(is[i].operations, right[i].operations) << of << "operations" << hint;
    }
  }
}

TEST(BlocksPerMultiprocessor, AreThoseThatCudaCountsOnThisDevice) {
  const warmup::OccupancyByCuda cuda = warmup::occupancy_by_cuda();
  if (!cuda.compute_capability_9) return;
  EXPECT_EQ(
      warmup::blocks_per_multiprocessor(cuda.threads, cuda.registers_per_thread, cuda.shared_bytes),
      cuda.blocks);
}

}  // namespace
