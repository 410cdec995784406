// Addresses of descriptors and swizzles, and errors of maps. The tables are computed by hand from
// PTX ("Swizzling modes", "Matrix Descriptor Format", "Strides", "Canonical Layouts").
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/emulator/src/copies.hpp"
#include "common/emulator/src/products.hpp"
#include "cuda.h"
#include "emulator/emulator.hpp"

namespace {

using emulator::detail::Descriptor;
using emulator::detail::swizzled;

TEST(HopperArithmetic, SwizzlesAUnitByItsRow) {
  struct {
    unsigned width;
    std::uint32_t address, expected;
  } const table[] = {
      {128, 0x400, 0x400},
      {128, 0x400 + 48, 0x430},
      {128, 0x400 + 3 * 128 + 20, 0x5A4},
      {64, 0x552, 0x572},
      {128, 0x400 + 13 * 128 + 114, 0xAA2},
      {64, 0x400 + 127, 0x47F},
      {32, 0x4B2, 0x4A2},
      {32, 0x42C, 0x42C},
      {0, 0x5A4, 0x5A4},
  };
  for (const auto& [width, address, expected] : table)
    EXPECT_EQ(swizzled(address, width), expected) << width << ", " << std::hex << address;
}

TEST(HopperArithmetic, ReadsADescriptorsBits) {
  const Descriptor rows(0x4000004000011C40);
  EXPECT_EQ(rows.begin, 0x1C400u);
  EXPECT_EQ(rows.leading, 16u);
  EXPECT_EQ(rows.stride, 1024u);
  EXPECT_EQ(rows.base, 0u);
  EXPECT_EQ(rows.swizzle, 128u);
  EXPECT_EQ(Descriptor(0x4000004004001C40).leading, 16384u);
  EXPECT_EQ(Descriptor(0x4000004000011C42).begin, 0x1C420u);
  EXPECT_EQ(Descriptor(0x8000000000000000).swizzle, 64u);
  EXPECT_EQ(Descriptor(0xC00A000000000000).swizzle, 32u);
  EXPECT_EQ(Descriptor(0xC00A000000000000).base, 5u);
}

// The address of element (outer, term), computed from that of its group of eight.
std::uint32_t address_of(std::uint32_t begin, std::uint32_t leading, std::uint32_t stride,
                         unsigned width, bool by_outputs, unsigned outer, unsigned term) {
  const std::uint64_t mode = width == 128 ? 1 : width == 64 ? 2 : width == 32 ? 3 : 0;
  const Descriptor descriptor(std::uint64_t{begin >> 4} | std::uint64_t{leading >> 4} << 16 |
                              std::uint64_t{stride >> 4} << 32 | mode << 62);
  return by_outputs
             ? emulator::detail::unit_address(descriptor, true, outer / 8 * 8, term) + outer % 8 * 2
             : emulator::detail::unit_address(descriptor, false, outer, term / 8 * 8) +
                   term % 8 * 2;
}

TEST(HopperArithmetic, FindsElementsOfKMajorOperands) {
  EXPECT_EQ(address_of(0x400, 16, 1024, 128, false, 0, 0), 0x400u);
  EXPECT_EQ(address_of(0x400, 16, 1024, 128, false, 5, 9), 0x6C2u);
  EXPECT_EQ(address_of(0x420, 16, 1024, 128, false, 11, 3), 0x996u);
  EXPECT_EQ(address_of(0x400, 16, 512, 64, false, 5, 9), 0x572u);
  EXPECT_EQ(address_of(0x400, 16, 256, 32, false, 5, 9), 0x4A2u);
  EXPECT_EQ(address_of(0x400, 128, 256, 0, false, 11, 9), 0x5B2u);
}

TEST(HopperArithmetic, FindsElementsOfMNMajorOperands) {
  EXPECT_EQ(address_of(0x400, 16384, 1024, 128, true, 0, 1), 0x490u);
  EXPECT_EQ(address_of(0x400, 16384, 1024, 128, true, 21, 10), 0x90Au);
  EXPECT_EQ(address_of(0x400, 16384, 1024, 128, true, 70, 3), 0x45BCu);
  EXPECT_EQ(address_of(0x440, 16384, 1024, 128, true, 0, 1), 0x4D0u);  // begins inside a row
  EXPECT_EQ(address_of(0x400, 2048, 512, 64, true, 40, 3), 0xCC0u);
  // Without a swizzle the two strides are swapped.
  EXPECT_EQ(address_of(0x400, 512, 128, 0, true, 11, 9), 0x696u);
}

// A core matrix is eight rows of 16 bytes. Banks are grouped by 16 bytes into eight groups.
TEST(HopperArithmetic, RowsOfACoreMatrixLieInDifferentBanks) {
  for (const unsigned width : {0u, 32u, 64u, 128u}) {
    for (const bool by_outputs : {false, true}) {
      // Begins at each 16-byte vector of the pattern's first row.
      for (std::uint32_t begin = 0x400; begin < 0x400 + std::max(width, 16u); begin += 16) {
        for (unsigned matrix = 0; matrix < 64; matrix += 8) {
          unsigned groups = 0;
          for (unsigned row = 0; row < 8; ++row) {
            const unsigned outer = matrix + (by_outputs ? 0 : row), term = by_outputs ? row : 8;
            groups |= 1u << address_of(begin, 16384, 1024, width, by_outputs, outer, term) / 16 % 8;
          }
          EXPECT_EQ(groups, 0xffu) << width << ", " << by_outputs << ", " << matrix;
        }
      }
    }
  }
}

// ---- Maps ----

struct Arguments {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  cuuint32_t rank = 3;
  std::uintptr_t address = 0x1000;
  cuuint64_t sizes[5] = {96, 4, 100, 1, 1};
  cuuint64_t strides[4] = {192, 768, 76800, 76800};
  cuuint32_t box[5] = {64, 1, 64, 1, 1};
  cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;

  CUresult encode(CUtensorMap* map) const {
    return cuTensorMapEncodeTiled(map, type, rank, reinterpret_cast<void*>(address), sizes, strides,
                                  box, steps, interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
};

TEST(HopperMaps, TakeWhatTheDriverTakes) {
  CUtensorMap map;
  EXPECT_EQ(Arguments{}.encode(&map), CUDA_SUCCESS);
  EXPECT_EQ((Arguments{.rank = 1, .box = {8}}.encode(&map)), CUDA_SUCCESS);
  EXPECT_EQ((Arguments{.rank = 5}.encode(&map)), CUDA_SUCCESS);
  EXPECT_EQ((Arguments{.box = {64, 256, 256}}.encode(&map)), CUDA_SUCCESS);
  EXPECT_EQ((Arguments{.box = {256, 1, 1}, .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE}.encode(&map)),
            CUDA_SUCCESS);
  EXPECT_EQ((Arguments{.type = CU_TENSOR_MAP_DATA_TYPE_UINT8, .box = {128, 1, 1}}.encode(&map)),
            CUDA_SUCCESS);
}

TEST(HopperMaps, RefuseWhatTheDriverRefuses) {
  struct {
    Arguments arguments;
    CUresult result;
    const char* words;
  } const table[] = {
      {{.rank = 0}, CUDA_ERROR_INVALID_VALUE, "0 dimensions; allowed: 1 to 5"},
      {{.rank = 6}, CUDA_ERROR_INVALID_VALUE, "6 dimensions; allowed: 1 to 5"},
      {{.address = 0}, CUDA_ERROR_INVALID_VALUE, "a null pointer"},
      {{.address = 0x1008}, CUDA_ERROR_INVALID_VALUE, "the tensor is not aligned to 16 bytes"},
      {{.sizes = {96, 0, 100}}, CUDA_ERROR_INVALID_VALUE, "globalDim[1] is 0; allowed: 1 to"},
      {{.strides = {200, 768}}, CUDA_ERROR_INVALID_VALUE, "globalStrides[0] is 200; allowed: mul"},
      {{.strides = {192, 1ull << 40}},
       CUDA_ERROR_INVALID_VALUE,
       "globalStrides[1] is 1099511627776"},
      {{.box = {64, 1, 257}}, CUDA_ERROR_INVALID_VALUE, "boxDim[2] is 257; allowed: 1 to 256"},
      {{.box = {64, 0, 64}}, CUDA_ERROR_INVALID_VALUE, "boxDim[1] is 0; allowed: 1 to 256"},
      {{.box = {60, 1, 64}}, CUDA_ERROR_INVALID_VALUE, "has 120 bytes; allowed: multiples of 16"},
      {{.box = {72, 1, 64}},
       CUDA_ERROR_INVALID_VALUE,
       "144 bytes; allowed with this swizzle: up to 128"},
      {{.swizzle = CU_TENSOR_MAP_SWIZZLE_64B}, CUDA_ERROR_INVALID_VALUE, "this swizzle: up to 64"},
      {{.swizzle = CU_TENSOR_MAP_SWIZZLE_32B}, CUDA_ERROR_INVALID_VALUE, "this swizzle: up to 32"},
      {{.steps = {1, 9, 1}}, CUDA_ERROR_INVALID_VALUE, "elementStrides[1] is 9; emulated: 1"},
      {{.steps = {1, 2, 1}}, CUDA_ERROR_NOT_SUPPORTED, "elementStrides[1] is 2; emulated: 1"},
      {{.interleave = CU_TENSOR_MAP_INTERLEAVE_16B}, CUDA_ERROR_NOT_SUPPORTED, "not emulated"},
  };
  for (const auto& [arguments, result, words] : table) {
    CUtensorMap map;
    EXPECT_EQ(arguments.encode(&map), result) << words;
    EXPECT_NE(emulator::last_report().find(words), std::string::npos)
        << words << ": " << emulator::last_report();
    EXPECT_NE(std::string(cudaGetErrorString(static_cast<cudaError_t>(result))).find(words),
              std::string::npos);
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // the driver's functions set none
  emulator::reset();
}

}  // namespace
