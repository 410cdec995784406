#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

constexpr const char* kOneKernel = "attention_backward";
constexpr const char* kTwoKernels = "attention_backward_two_kernels";
constexpr const char* kScalar = "attention_backward_scalar";

std::vector<Kernel> kernels_of(const std::string& name, std::int64_t T, std::int64_t D) {
  return xrays_of<ladder::AttentionBackward>(
      name, {.T_q = T, .T_k = T, .D = D, .precision = ladder::Precision::kBf16});
}

std::uint64_t sum_of(const std::vector<Kernel>& kernels, Counter counter) {
  std::uint64_t sum = 0;
  for (const Kernel& kernel : kernels)
    sum += kernel[counter];
  return sum;
}

const bool bounds = ladder::testing::register_bounds(
    kOneKernel, "attention_backward",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}}, {}, {"bf16"});

// Tiles of 64, three of keys of one head, and two of queries of each of two heads, so that four are
// streamed past three tiles of keys. Vectors hold eight elements. For a tile of queries 128
// numbers, lse and delta, and its sums of dq are kept.
constexpr double kElements = 2 * 70 * 128, kUnits = kElements / 8, kKeyUnits = 140 * 128 / 8;
constexpr double kTileSums = 4 * 64 * 128;

// The loads are d_o and o once for delta, and lse by the eight lanes of a row, then k and v once, q
// and d_o for three tiles, the numbers four at once, and the sums of dq four at once. Stores write
// two elements of dk and dv at once, and eight of dq. Each pair of tiles needs two barriers and
// five products of 64 x 64 x 128.
const bool registered = ladder::testing::register_budget(
    kOneKernel, "attention_backward",
    {.loads = (2 * kUnits + 2 * 70 * 8 + 2 * kKeyUnits + 3 * 2 * kUnits + 3 * 4 * 128 / 4 +
               kTileSums / 4) /
              kElements,
     .stores = (2 * 140 * 128 / 2 + kUnits + 4 * 128) / kElements,
     .atomics = 3 * kTileSums / kElements,
     .host_bytes = kTileSums * sizeof(float) / kElements,
     .counts = {{kBarriers, 2 * 3 * 4, "launch", 1},
                {kTensorOperations, 3 * 4 * 5 * 256, "launch", 1}}},
    {{"B", 1}, {"T", 140}, {"H", 2}, {"K", 128}, {"V", 128}, {"T_q", 70}, {"H_kv", 1}}, {}, {},
    "bf16");

const bool bounds_with_options = ladder::testing::register_bounds(
    kTwoKernels, "attention_backward",
    {{"B", 1}, {"T", 150}, {"H", 2}, {"K", 40}, {"V", 40}, {"T_q", 131}, {"H_kv", 1}},
    {{"causal", "true"}, {"window", "20"}, {"softcap", "3"}}, {"fp16"});

// 128 keys are two tiles.
TEST(AttentionBackward, AddsToDqOncePerTileOfKeys) {
  EXPECT_EQ(sum_of(kernels_of(kOneKernel, 128, 128), kAtomics), 2u * 128 * 128);
}

TEST(AttentionBackward, NeedsNoAtomicsWithAKernelForDq) {
  EXPECT_EQ(sum_of(kernels_of(kTwoKernels, 128, 128), kAtomics), 0u);
  EXPECT_EQ(sum_of(kernels_of(kScalar, 32, 32), kAtomics), 0u);
}

TEST(AttentionBackward, TakesFiveProductsInOneKernelAndSevenInTwo) {
  const std::uint64_t product = 128 * 128 * 128;
  EXPECT_EQ(sum_of(kernels_of(kOneKernel, 128, 128), kTensorMultiplyAdds), 5 * product);
  EXPECT_EQ(sum_of(kernels_of(kTwoKernels, 128, 128), kTensorMultiplyAdds), 7 * product);
}

// Only the pairs of tiles, 64 keys and 64 queries each, that overlap a window. If queries are kept,
// a tile has 128 of them, and no pair is computed in vain there either.
TEST(AttentionBackward, TakesTheTilesThatTheWindowMeets) {
  const auto products = [](const char* name, std::int64_t window) {
    ladder::AttentionCase c{.T_q = 192, .T_k = 192, .D = 96, .causal = true, .window = window};
    c.precision = ladder::Precision::kBf16;
    const std::uint64_t sum =
        sum_of(xrays_of<ladder::AttentionBackward>(name, c), kTensorMultiplyAdds);
    EXPECT_EQ(sum % (64 * 64 * 96), 0u);
    return sum / (64 * 64 * 96);
  };
  EXPECT_EQ(products(kOneKernel, 0), 5u * (3 + 2 + 1));
  EXPECT_EQ(products(kOneKernel, 66), 5u * (3 + 2 + 1));
  EXPECT_EQ(products(kOneKernel, 65), 5u * (2 + 2 + 1));
  EXPECT_EQ(products(kOneKernel, 1), 5u * 3);
  EXPECT_EQ(products(kTwoKernels, 0), 4u * (3 + 2 + 1) + 3 * 2 * (2 + 3));
  EXPECT_EQ(products(kTwoKernels, 65), 4u * (2 + 2 + 1) + 3 * 2 * (2 + 2));
  EXPECT_EQ(products(kTwoKernels, 1), 4u * 3 + 3 * 2 * (2 + 1));
}

// Smaller tiles, two of each kind. With 256 columns P and dS use the same buffer, and barriers
// separate them.
TEST(AttentionBackward, KeepsPAndDsApartWhereThereIsLittleSharedMemory) {
  const emulator::SmallerDevice limit(emulator::SmallerDevice::kSharedMemoryKb, "99");
  for (const char* name : {kOneKernel, kTwoKernels}) {
    for (const std::int64_t D : {64, 128, 256}) {
      for (const Kernel& kernel : kernels_of(name, 40, D)) {
        for (const Access& access : kernel.accesses)
          EXPECT_EQ(access.bank_conflicts, 0u) << name << " D=" << D << " " << access.code;
      }
    }
  }
}

// 30 sequences, most of them empty, of 74 queries of two heads and 80 keys of one. The grid is a
// block per slot, and each sequence gets one slot more than its rows fill whole tiles. If queries
// are kept, tiles have 128 rows, and all others 64.
TEST(AttentionBackward, LaunchesABlockForEachSlotOfPackedSequences) {
  ladder::AttentionCase c{.H_q = 2, .H_kv = 1, .D = 128, .causal = true};
  c.precision = ladder::Precision::kBf16;
  std::vector<ladder::AttentionCase::Lengths> lengths(30);
  lengths[3] = {70, 70}, lengths[4] = {1, 1}, lengths[28] = {3, 9};
  const unsigned queries = 2 * (74 / 64 + 30), keys = 80 / 64 + 30;
  const auto blocks_of = [&](const char* name) {
    std::vector<unsigned> blocks;
    for (const Kernel& kernel : xrays_of<ladder::AttentionBackward>(name, packed(c, lengths)))
      blocks.push_back(kernel.grid.x * kernel.grid.y * kernel.grid.z);
    return blocks;
  };
  EXPECT_EQ(blocks_of(kOneKernel), (std::vector{queries, keys, queries}));
  EXPECT_EQ(blocks_of(kTwoKernels), (std::vector{queries, keys, 2 * (74u / 128 + 30)}));
}

// All widths' tiles, with rows of 64 to 512 bytes. With all options, some rows are whole groups of
// banks and some are not.
TEST(AttentionBackward, ConflictsInNoBank) {
  for (const char* name : {kOneKernel, kTwoKernels}) {
    for (const std::int64_t D : {32, 64, 96, 128, 256, 40, 72}) {
      for (const Kernel& kernel : kernels_of(name, 64, D)) {
        for (const Access& access : kernel.accesses)
          EXPECT_EQ(access.bank_conflicts, 0u) << name << " D=" << D << " " << access.code;
      }
    }
  }
}

// No buffer holds every score.
TEST(AttentionBackward, NeedsMemoryThatGrowsWithT) {
  for (const char* name : {kOneKernel, kTwoKernels}) {
    const std::vector<Kernel> kernels = kernels_of(name, 256, 32);
    for (const Kernel& kernel : kernels) {
      for (const Buffer& buffer : kernel.buffers)
        EXPECT_LT(buffer.elements, 256u * 256 / 2) << name << " " << buffer.name;
    }
    EXPECT_EQ(sum_of(kernels, kGlobalStoreBytesAsked),
              2 * sum_of(kernels_of(name, 128, 32), kGlobalStoreBytesAsked))
        << name;
  }
}

TEST(AttentionBackward, StoresEachGradientOnce) {
  for (const char* name : {kOneKernel, kTwoKernels}) {
    int gradients = 0;
    for (const Kernel& kernel : kernels_of(name, 64, 64)) {
      for (const Buffer& buffer : kernel.buffers) {
        if (buffer.name != "dq" && buffer.name != "dk" && buffer.name != "dv") continue;
        ++gradients;
        EXPECT_EQ(buffer.stores().accesses_per_element.most, 1u) << name << " " << buffer.name;
      }
    }
    EXPECT_EQ(gradients, 3) << name;
  }
}

}  // namespace
