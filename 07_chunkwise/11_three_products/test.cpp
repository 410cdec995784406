#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_chunkwise/11_three_products/three_products.hpp"
#include "common/core/on_device.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using chunkwise::Products;

// Sub-chunks of 16 tokens, stages of 32.
bool registered(const char* name) {
  return ladder::testing::register_suite(
      "linear_attention", name,
      {.sizes = {{"T", {0, 1, 16, 33, 70}}, {"K", {64}}, {"V", {64}}},
       .refuses = {"all but the causal product"},
       .most = {{"K", 64}, {"V", 64}},
       .multiple = 64,
       .plain_steps = 70,
       .nan_tile = 16,
       .borders = {{.size = "T", .at = {16, 32, 64}, .others = {{"K", 64}, {"V", 64}}}}});
}
const bool both_registered = registered("linear_attention_three_products") &&
                             registered("linear_attention_three_products_rna");

ladder::LinearAttentionProblem usual_problem() {
  return ladder::LinearAttentionProblem(
      ladder::CausalDotProduct::make_case({.B = 1, .T = 256, .H = 1, .K = 64, .V = 64}));
}

// The error of the whole result, relative to it.
double error_of(const std::vector<float>& o, const ladder::LinearAttentionProblem& problem) {
  const std::vector<double> truth =
      problem.op().truth(problem, ladder::Arithmetic::kFp32).front().values;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    difference += (o[i] - truth[i]) * (o[i] - truth[i]);
    size += truth[i] * truth[i];
  }
  return std::sqrt(difference / size);
}
double error_of(Products products) {
  const ladder::LinearAttentionProblem problem = usual_problem();
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  const ladder::OnDevice<ladder::LinearAttention, ladder::LinearAttentionArgs> on_device(device,
                                                                                         problem);
  chunkwise::causal_product(on_device.args(), products);
  device.synchronize();
  return error_of(on_device.download(), problem);
}

bool has_no_gpu() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

KERNEL_TEST(linear_attention_three_products, KeepsNearlyAllBitsOfAFloat) {
  const double error = error_of(Products::kCheap);
  EXPECT_LT(error, 4e-7)
      << (error < 1e-5 ? "WRONG RESULT, by a last bit of 24: is the big part rounded to nearest, "
                         "and not cut off?"
          : error < 1e-2
              ? "WRONG RESULT: about 11 bits are right, as of one product of tf32: the small "
                "part of a factor, or a product with it, is missing"
              : "WRONG RESULT, by more than a part of a product: A and B must take the "
                "same k in the same place");
}

// The numbers of the page.
TEST(linear_attention_three_products, HasTheErrorsThatThePageSays) {
  if (has_no_gpu()) return;
  const double one = error_of(Products::kOne), nearest = error_of(Products::kNearest),
               cheap = error_of(Products::kCheap);
  const ladder::LinearAttentionProblem problem = usual_problem();
  const double loop =
      error_of(problem.op().plain(problem, ladder::Arithmetic::kFp32).front(), problem);
  EXPECT_NEAR(loop, 2.8e-7, 0.4e-7);
  EXPECT_NEAR(one, 3.8e-4, 0.4e-4);
  const bool is_emulated = ladder::device(ladder::DeviceKind::kCuda).back_end() == "emulator";
  // On a GPU, whose tensor cores truncate, up to twice as much.
  for (const double three : {nearest, cheap}) {
    EXPECT_GT(three, 1.4e-7);
    EXPECT_LT(three, is_emulated ? 1.6e-7 : 3e-7)
        << "WRONG RESULT, by a last bit of 24\nthe error of o with three products, relative to o, "
           "is larger than the page says: in which order are they added? The small ones first, "
           "the largest last";
  }
}

// For all floats from 1 to 2, on the CPU, the remainder of each after its parts are subtracted.
TEST(linear_attention_three_products, LosesOfAFloatWhatThePageSays) {
  const auto kept = [](float x, std::uint32_t added) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + added) & 0xffffe000u);
  };
  constexpr std::uint32_t kHalf = 0x1000, kFloats = 1 << 23;
  double worst_nearest = 0, worst_cheap = 0, worst_one = 0;
  std::uint32_t exact_nearest = 0, exact_cheap = 0;
  for (std::uint32_t i = 0; i < kFloats; ++i) {
    const float x = std::bit_cast<float>(0x3f800000u + i), big = kept(x, kHalf), rest = x - big;
    const double nearest = std::abs(rest - kept(rest, kHalf)),
                 cheap = std::abs(rest - kept(rest, 0));
    worst_one = std::fmax(worst_one, std::abs(rest));
    worst_nearest = std::fmax(worst_nearest, nearest), exact_nearest += nearest == 0;
    worst_cheap = std::fmax(worst_cheap, cheap), exact_cheap += cheap == 0;
  }
  EXPECT_EQ(worst_one, 0x1p-11);
  EXPECT_EQ(worst_nearest, 0x1p-23);
  EXPECT_EQ(worst_cheap, 0x1p-23);
  EXPECT_EQ(exact_nearest, kFloats / 4 * 3);
  EXPECT_EQ(exact_cheap, kFloats / 4 * 3);
}

}  // namespace
