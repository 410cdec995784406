#include <cstring>

#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::testing::register_suite;
using Sizes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

// Ragged, less than a warp, all of a warp's registers, a block's, and vectors that no warp holds.
const Sizes kSizes = {{"M", {5, 1, 8, 9}}, {"N", {37, 1, 4, 100, 1024, 1028, 2050}}};

// As many as a warp's registers hold, and as many as a block's.
const std::vector<ladder::Border> kBorders = {{.size = "N", .at = {1024, 8192}, .step = 4}};

// exp(x) of fp32 overflows above 88.7.
bool register_softmax(const char* name) {
  return register_suite(
      "softmax", name,
      {.sizes = kSizes, .options = {{"magnitude", {"1", "200"}}}, .borders = kBorders});
}
bool register_rms_norm(const char* name) {
  return register_suite(
      "rms_norm", name,
      {.sizes = kSizes, .options = {{"eps", {"1e-5", "0.5"}}}, .borders = kBorders});
}

const bool registered = register_softmax("softmax_warp") && register_softmax("softmax_rows") &&
                        register_rms_norm("rms_norm_warp") && register_rms_norm("rms_norm_rows");

// Each row contains one number so large that its exp alone is infinite, so a maximum without it
// leads to NaN. The rows have it in different columns, which together cover all lanes and all
// elements of a vector.
void expect_found(const char* name, std::int64_t M, std::int64_t N) {
  const ladder::Implementation i = ladder::find_implementation(name);
  const auto column = [=](std::int64_t m) { return (N / M * m + m % 4) % N; };
  std::vector<float> x(static_cast<std::size_t>(M * N));
  for (std::int64_t m = 0; m < M; ++m)
    x[m * N + column(m)] = 200;
  const auto problem = ladder::testing::case_of("softmax", {{"M", M}, {"N", N}}, {}, "fp32", {})
                           ->make()
                           ->with("x", x);
  const std::vector<unsigned char> bytes = ladder::testing::computed(i, *problem);
  ASSERT_EQ(bytes.size(), x.size() * sizeof(float));
  std::vector<float> y(x.size());
  std::memcpy(y.data(), bytes.data(), bytes.size());
  for (std::int64_t m = 0; m < M; ++m)
    ASSERT_EQ(y[m * N + column(m)], 1)
        << "WRONG RESULT in y: the largest of row " << m << " is in column " << column(m);
}

KERNEL_TEST(softmax_warp, Hole2FindsTheLargestInAnyColumn) {
  expect_found("softmax_warp", 300, 300);
}
KERNEL_TEST(softmax_rows, FindsTheLargestInAnyColumn) {
  expect_found("softmax_rows", 100, 100);
  expect_found("softmax_rows", 275, 1100);
}

using warmup::register_hole;

// RMSNorm needs the sum, too. A row of 100 elements is computed by a warp, one of 1100 by a block.
const bool holes[] = {
    register_hole("softmax_warp", "Hole1AddsUpALanesSums", "softmax", {{"M", 5}, {"N", 70}}),
    register_hole("softmax_warp", "Hole2DoesNotOverflow", "softmax", {{"M", 5}, {"N", 70}},
                  {{"magnitude", "200"}}),
    register_hole("rms_norm_warp", "Hole3IsRight", "rms_norm", {{"M", 5}, {"N", 70}},
                  {{"eps", "0.5"}}),
    register_hole("rms_norm_rows", "Hole4KeepsARow", "rms_norm", {{"M", 5}, {"N", 1100}}),
    register_hole("softmax_rows", "Hole5MakesSharesOfAWarpsRow", "softmax", {{"M", 5}, {"N", 100}}),
    register_hole("softmax_rows", "Hole5MakesSharesOfABlocksRow", "softmax",
                  {{"M", 2}, {"N", 1100}})};

}  // namespace
