#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "00_warmup/03_two_dimensions/matrix_add.hpp"
#include "common/core/guarded_array.hpp"
#include "common/core/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace chapter00 {

std::int64_t offset_of(std::int64_t row, std::int64_t col, Strides strides);
void matrix_add(const MatrixAddArgs& args);

namespace {

const std::vector<std::string> kViews = {"dense", "transposed", "padded_rows",
                                         "every_second_column"};
// The first shape has whole blocks in the direction of M.
const ladder::testing::SuiteSupport kSupport{
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

// Sizes that whole blocks cover: no thread has to be kept away.
TEST(matrix_add, Hole2IsRightInWholeBlocks) {
  const ladder::Implementation implementation = ladder::find_implementation("matrix_add");
  if (ladder::testing::device_is_missing(implementation)) return;
  for (const std::string& view : kViews) {
    const auto problem = ladder::find_operator("matrix_add")
                             .make_case({{"M", 24}, {"N", 64}}, {{"a_view", view}}, "fp32")
                             ->make();
    const auto placed = problem->place(ladder::device(implementation.device), implementation);
    placed->call();
    EXPECT_TRUE(ladder::testing::is_right(placed->judge(ladder::Arithmetic::kFp32, false))) << view;
  }
}

// One row of a stands for all rows, without a copy.
TEST(matrix_add, Hole3TakesAStrideOfZero) {
  using ladder::GuardedArray;
  if (ladder::testing::device_is_missing(ladder::find_implementation("matrix_add"))) return;
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  std::vector<float> c(15 * 31, -1.0f);
  const std::vector<float> row(31, 3.0f), b(c.size(), 4.0f);
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
  c_array.check_guards();  // threads without an element have written nothing
  c_array.download(c.data());
  EXPECT_EQ(c, std::vector<float>(c.size(), 7.0f)) << "WRONG RESULT with a row stride of 0";
}

TEST(matrix_add, RefusesStridesThatItCannotDo) {
  float element = 0;  // refused before it is touched
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
}  // namespace chapter00
