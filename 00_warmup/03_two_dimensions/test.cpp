#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "00_warmup/03_two_dimensions/matrix_add.hpp"
#include "common/core/guarded_array.hpp"
#include "common/judge/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace warmup {

// From kernel.cu. No header can declare device functions for all compilers.
std::int64_t offset_of(std::int64_t row, std::int64_t col, Strides strides);
void matrix_add_kernel(const MatrixAddArgs args);

namespace {

void matrix_add(const MatrixAddArgs& args) {
  ladder::launch<MatrixAdd>(ladder::find_implementation("matrix_add"), args);
}

const std::vector<std::string> kViews = {"dense", "transposed", "padded_rows",
                                         "every_second_column"};
// The first shape consists of whole blocks along M.
const ladder::Support kSupport{
    .sizes = {{"M", {40, 1, 7, 8, 33, 64}}, {"N", {50, 1, 31, 32, 33, 96}}},
    .options = {{"a_view", kViews}, {"b_view", kViews}, {"c_view", kViews}}};
const bool registered[] = {
    ladder::testing::register_suite("matrix_add", "matrix_add", kSupport),
    ladder::testing::register_suite("matrix_add", "matrix_add_x_is_row", kSupport)};

TEST(matrix_add, Hole1OffsetIsWhereTheStridesSay) {
  EXPECT_EQ(offset_of(0, 0, {96, 1}), 0);
  EXPECT_EQ(offset_of(2, 5, {96, 1}), 2 * 96 + 5) << "WRONG RESULT for a dense matrix";
  EXPECT_EQ(offset_of(2, 5, {1, 64}), 2 + 5 * 64) << "WRONG RESULT for a transposed one";
  EXPECT_EQ(offset_of(2, 5, {99, 1}), 2 * 99 + 5) << "WRONG RESULT for padded rows";
  EXPECT_EQ(offset_of(2, 5, {192, 2}), 2 * 192 + 5 * 2) << "WRONG RESULT for every second column";
  EXPECT_EQ(offset_of(2, 5, {0, 1}), 5) << "WRONG RESULT for one row that stands for all";
  EXPECT_EQ(offset_of(70'000, 1, {70'000, 1}), 4'900'000'001) << "WRONG RESULT: 64 bits are needed";
}

// Writing a wrong row or column harms nothing here. The memory holds every element that a thread of
// this grid can compute, and M and N are as large as that memory.
constexpr std::int64_t kSide = 128;
constexpr std::int64_t kRows = 8, kColumns = 32, kBlocksDown = 3, kBlocksAcross = 2;

// A mistake in my_place(), and the elements that its threads then write.
struct WrongPlace {
  const char* name;
  std::function<bool(std::int64_t row, std::int64_t col)> writes;
};
const std::vector<WrongPlace> kWrongPlaces = {
    {"no element was written: do all threads leave?", [](auto, auto) { return false; }},
    {"only the first element was written: all threads have the same row and column",
     [](auto row, auto col) { return row == 0 && col == 0; }},
    {"x and y are exchanged", [](auto row, auto col) { return row < 64 && col < 24; }},
    {"x and y are exchanged",  // but kRows and kColumns are not
     [](auto row, auto col) { return row < 40 && col < 72 && col % 32 < 8; }},
    {"blockIdx.x and blockIdx.y are exchanged",
     [](auto row, auto col) { return row < 16 && col < 96; }},
    {"threadIdx.x and threadIdx.y are exchanged",
     [](auto row, auto col) { return row < 48 && col < 64 && col % 32 < 8; }},
    {"kRows and kColumns are exchanged",
     [](auto row, auto col) { return row < 72 && row % 32 < 8 && col < 40; }},
    {"blockIdx is missing: only the first block's elements were written",
     [](auto row, auto col) { return row < 8 && col < 32; }},
    {"blockIdx.x is missing: only the columns of the first block were written",
     [](auto row, auto col) { return row < 24 && col < 32; }},
    {"blockIdx.y is missing: only the rows of the first block were written",
     [](auto row, auto col) { return row < 8 && col < 64; }},
    {"blockIdx is not multiplied by the rows and columns of a block",
     [](auto row, auto col) { return row < 10 && col < 33; }},
    {"threadIdx is missing: only the first element of each block was written",
     [](auto row, auto col) { return row < 24 && row % 8 == 0 && col < 64 && col % 32 == 0; }},
    {"threadIdx.x is missing: only the first column of each block was written",
     [](auto row, auto col) { return row < 24 && col < 64 && col % 32 == 0; }},
    {"threadIdx.y is missing: only the first row of each block was written",
     [](auto row, auto col) { return row < 24 && row % 8 == 0 && col < 64; }},
    {"all threads have the row 0", [](auto row, auto col) { return row == 0 && col < 64; }},
    {"all threads have the column 0", [](auto row, auto col) { return row < 24 && col == 0; }}};

// The test launches 3 x 2 blocks itself. Each block is whole, so no thread needs a bounds check.
TEST(matrix_add, Hole2IsRightInWholeBlocks) {
  using ladder::GuardedArray;
  if (ladder::testing::device_is_missing(ladder::find_implementation("matrix_add"))) return;
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  std::vector<float> a(kSide * kSide), c(a.size(), -1.0f);
  const std::vector<float> b(a.size(), 0.5f);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i);
  const GuardedArray a_array(device, "a", a, GuardedArray::Role::kInput);
  const GuardedArray b_array(device, "b", b, GuardedArray::Role::kInput);
  const GuardedArray c_array(device, "c", c, GuardedArray::Role::kOutput);
  MatrixAddArgs args;
  args.M = args.N = kSide;
  args.a = static_cast<const float*>(a_array.pointer());
  args.b = static_cast<const float*>(b_array.pointer());
  args.c = static_cast<float*>(c_array.pointer());
  args.a_strides = {1, kSide};  // transposed
  args.b_strides = args.c_strides = {kSide, 1};
  const dim3 grid(kBlocksAcross, kBlocksDown), block(kColumns, kRows);
#ifdef EMULATOR_LAUNCH
  EMULATOR_LAUNCH(matrix_add_kernel)(grid, block)(args);
#else
  void* arguments[] = {&args};
  ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(matrix_add_kernel), grid, block,
                             arguments, 0, nullptr),
            cudaSuccess);
#endif
  device.synchronize();
  c_array.download(c.data());
  const auto are_written = [&](const auto& those) {
    for (std::int64_t i = 0; i < kSide * kSide; ++i) {
      if ((c[i] != -1.0f) != those(i / kSide, i % kSide)) return false;
    }
    return true;
  };
  for (const WrongPlace& wrong : kWrongPlaces) {
    if (are_written(wrong.writes)) FAIL() << "WRONG RESULT: " << wrong.name;
  }
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t col = 0; col < kSide; ++col) {
      const bool has_thread = row < kBlocksDown * kRows && col < kBlocksAcross * kColumns;
      ASSERT_EQ(c[row * kSide + col],
                has_thread ? a[row + col * kSide] + b[row * kSide + col] : -1.0f)
          << "WRONG RESULT: c(" << row << ", " << col << ")"
          << (has_thread ? "" : " was written, but has no thread in this grid; -1 is unwritten");
    }
  }
}

// One row of a is used as all rows, without a copy. Threads without an element find memory after
// the arrays.
TEST(matrix_add, Hole3TakesAStrideOfZero) {
  using ladder::GuardedArray;
  if (ladder::testing::device_is_missing(ladder::find_implementation("matrix_add"))) return;
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  std::vector<float> c(kSide * kSide, -1.0f);
  const std::vector<float> row(kSide, 3.0f), b(c.size(), 4.0f);
  const GuardedArray a_array(device, "a", row, GuardedArray::Role::kInput);
  const GuardedArray b_array(device, "b", b, GuardedArray::Role::kInput);
  const GuardedArray c_array(device, "c", c, GuardedArray::Role::kOutput);
  MatrixAddArgs args;
  args.M = 15, args.N = 31;
  args.a = static_cast<const float*>(a_array.pointer());
  args.b = static_cast<const float*>(b_array.pointer());
  args.c = static_cast<float*>(c_array.pointer());
  args.a_strides = {0, 1};
  args.b_strides = args.c_strides = {31, 1};
  matrix_add(args);
  device.synchronize();
  c_array.download(c.data());
  std::int64_t written = 0, with_sizes_exchanged = 0;
  for (std::int64_t i = 0; i < kSide * kSide; ++i) {
    written += c[i] != -1.0f;
    with_sizes_exchanged += (c[i] != -1.0f) == (i / 31 < 16 && i % 31 < 15);
  }
  ASSERT_NE(written, 0) << "WRONG RESULT: no element was written: do all threads leave?";
  ASSERT_NE(with_sizes_exchanged, kSide * kSide)
      << "WRONG RESULT: only columns below M were written: M and N are exchanged";
  for (std::int64_t i = 0; i < kSide * kSide; ++i) {
    if (i < 15 * 31) {
      ASSERT_EQ(c[i], 7.0f) << "WRONG RESULT with a row stride of 0: c(" << i / 31 << ", " << i % 31
                            << ") of 15 rows and 31 columns; -1 is unwritten";
    } else {
      ASSERT_EQ(c[i], -1.0f) << "WRONG RESULT: memory behind c was written: threads without an "
                                "element have not left";
    }
  }
}

TEST(matrix_add, RefusesStridesThatItCannotDo) {
  float element = 0;  // rejected before any access
  MatrixAddArgs args;
  args.M = args.N = 1;
  args.a = args.b = args.c = &element;
  args.a_strides = args.b_strides = {1, 1};
  args.c_strides = {0, 1};
  ladder::testing::expect_refused("c_strides.row", [&] { matrix_add(args); });
  args.c_strides = {1, 0};
  ladder::testing::expect_refused("c_strides.col", [&] { matrix_add(args); });
  args.c_strides = {1, 1};
  args.a_strides.col = -1;
  ladder::testing::expect_refused("a stride of a or b", [&] { matrix_add(args); });
}

}  // namespace
}  // namespace warmup
