// Boxes with other dimensions, elements and swizzles than hopper.hpp's maps. Indices by hand.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cuda.h"
#include "device_vector.hpp"
#include "emulator/emulator.hpp"
#include "emulator/tensor_copies.hpp"

namespace {

constexpr int kWords = 1024;

struct First {
  int at[5];
};

// Copies a box of `bytes` and writes its shared memory as 4-byte words.
__global__ void copy(const __grid_constant__ CUtensorMap map, First first, unsigned dimensions,
                     int bytes, std::uint32_t* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  auto* const words_smem = reinterpret_cast<std::uint32_t*>(bytes_smem);
  auto* const here = reinterpret_cast<emulator::Barrier*>(words_smem + kWords);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kWords; ++i)
      words_smem[i] = 7;
    emulator::init(here, 1);
    emulator::fence_barrier_init();
    emulator::copy_box(words_smem, &map, here, first.at, dimensions);
    emulator::arrive_expect_tx(here, bytes);  // the count was negative until now
  }
  __syncthreads();
  emulator::wait(here, 0);
  emulator::wait(here, 0);  // a second wait for the same phase
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x)
    out[i] = words_smem[i];
}

struct Tensor {
  CUtensorMapDataType type;
  unsigned rank;
  std::vector<cuuint64_t> sizes, strides;
  std::vector<cuuint32_t> box;
  CUtensorMapSwizzle swizzle;
};

std::vector<std::uint32_t> box_of(const DeviceVector<std::uint32_t>& in, const Tensor& tensor,
                                  const First& first, int bytes) {
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  CUtensorMap map;
  EXPECT_EQ(cuTensorMapEncodeTiled(
                &map, tensor.type, tensor.rank, in.data(), tensor.sizes.data(),
                tensor.strides.data(), tensor.box.data(), steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                tensor.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS)
      << emulator::last_report();
  const DeviceVector<std::uint32_t> out(kWords);
  copy<<<1, 32, kWords * 4 + 8>>>(map, first, tensor.rank, bytes, out.data());
  const cudaError_t error = cudaGetLastError();
  EXPECT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
  return out.host();
}

class TensorCopies : public testing::TestWithParam<emulator::Schedule::Order> {
 protected:
  void SetUp() override {
    emulator::reset();
    emulator::set_schedule({GetParam(), 1});
  }
  void TearDown() override { emulator::reset(); }

  static std::vector<std::uint32_t> numbers() {
    std::vector<std::uint32_t> values(4096);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::uint32_t>(i) + 1000;
    return values;
  }
  const DeviceVector<std::uint32_t> in{numbers()};  // element i is 1000 + i
};

TEST_P(TensorCopies, OfOneDimensionHaveNoStrides) {
  const auto box =
      box_of(in, {CU_TENSOR_MAP_DATA_TYPE_UINT32, 1, {10}, {}, {8}, CU_TENSOR_MAP_SWIZZLE_NONE},
             {{4}}, 32);
  EXPECT_EQ(box[0], 1004u);
  EXPECT_EQ(box[5], 1009u);
  EXPECT_EQ(box[6], 0u);  // past the 10 elements
  EXPECT_EQ(box[7], 0u);
  EXPECT_EQ(box[8], 7u);  // after the box
}

// Sizes 8, 3, 2, 2, 2, rows of 8 elements in 32 bytes; the box has 4 x 2 x 2 x 1 x 2.
TEST_P(TensorCopies, OfFiveDimensionsLieBoxRowByBoxRow) {
  const auto box = box_of(in,
                          {CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                           5,
                           {8, 3, 2, 2, 2},
                           {32, 96, 192, 384},
                           {4, 2, 2, 1, 2},
                           CU_TENSOR_MAP_SWIZZLE_NONE},
                          {{4, 2, 0, 1, 0}}, 128);
  const auto at = [](int x, int y, int z, int u, int v) {
    return 1000u + static_cast<unsigned>(x + 8 * y + 24 * z + 48 * u + 96 * v);
  };
  EXPECT_EQ(box[0], at(4, 2, 0, 1, 0));
  EXPECT_EQ(box[3], at(7, 2, 0, 1, 0));
  EXPECT_EQ(box[4], 0u);  // y = 3 is out of bounds
  EXPECT_EQ(box[8], at(4, 2, 1, 1, 0));
  EXPECT_EQ(box[16], at(4, 2, 0, 1, 1));
  EXPECT_EQ(box[27], at(7, 2, 1, 1, 1));
  EXPECT_EQ(box[31], 0u);
}

// Rows of 64 bytes. Vector u of row r is at index u ^ (r / 2 % 4), by the address bits 7 and 8.
TEST_P(TensorCopies, Swizzle64BytesByTwoRows) {
  const auto box = box_of(
      in, {CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, {16, 64}, {64}, {16, 32}, CU_TENSOR_MAP_SWIZZLE_64B},
      {{0, 0}}, 2048);
  EXPECT_EQ(box[0], 1000u);
  EXPECT_EQ(box[16], 1016u);              // row 1 like row 0
  EXPECT_EQ(box[2 * 16 + 4], 1032u);      // row 2: vector 0 at index 1
  EXPECT_EQ(box[2 * 16], 1032u + 4);      // and vector 1 at index 0
  EXPECT_EQ(box[7 * 16 + 12], 1112u);     // row 7: vector 0 at index 3
  EXPECT_EQ(box[9 * 16 + 5], 1144u + 5);  // row 9 like row 1
}

// Rows of 32 bytes, two vectors, which are swapped in every second group of four rows.
TEST_P(TensorCopies, Swizzle32BytesByFourRows) {
  const auto box = box_of(
      in, {CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, {8, 64}, {32}, {8, 32}, CU_TENSOR_MAP_SWIZZLE_32B},
      {{0, 0}}, 1024);
  EXPECT_EQ(box[3 * 8], 1024u);
  EXPECT_EQ(box[4 * 8 + 4], 1032u);
  EXPECT_EQ(box[4 * 8], 1036u);
  EXPECT_EQ(box[8 * 8 + 1], 1065u);
}

INSTANTIATE_TEST_SUITE_P(EachSchedule, TensorCopies,
                         testing::Values(emulator::Schedule::forward, emulator::Schedule::reverse,
                                         emulator::Schedule::shuffle));

}  // namespace
