#include "07_chunkwise/01_prefix_sum/prefix_sum_operator.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using chunkwise::prefix_sums::PrefixSum;
using chunkwise::prefix_sums::PrefixSumArgs;
using chunkwise::prefix_sums::PrefixSumOutputs;
using Integers = std::vector<std::int32_t>;

ladder::Problem problem_of(const Integers& x, std::int64_t chunk) {
  const ladder::Shape shape = {{"length", static_cast<std::int64_t>(x.size())}, {"chunk", chunk}};
  ladder::Problem problem =
      *ladder::find_operator("prefix_sum").make_case(shape, {}, PrefixSumArgs::kStorage)->make();
  problem.array<std::int32_t>("x") = x;
  return problem;
}

// A problem with these numbers on the device.
class OnDevice {
 public:
  OnDevice(const Integers& x, std::int64_t chunk) : on_device_(device(), problem_of(x, chunk)) {}

  const PrefixSumArgs& args() const { return on_device_.args(); }
  Integers sums() const { return downloaded().sums; }
  Integers carry() const { return downloaded().carry; }

 private:
  static ladder::Device& device() { return ladder::device(ladder::DeviceKind::kCuda); }
  PrefixSumOutputs downloaded() const {
    device().synchronize();
    return on_device_.download();
  }

  ladder::OnDevice<PrefixSum, PrefixSumArgs> on_device_;
};

Integers numbers(std::int32_t count) {
  Integers x(count);
  std::iota(x.begin(), x.end(), 0);
  return x;
}

// "0 1 3 6 | 4 9 15 22 | ..."
std::string line(const std::string& name, const Integers& values, std::size_t per_chunk) {
  std::string text = name;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string number = std::to_string(values[i]);
    text +=
        (i > 0 && i % per_chunk == 0 ? " |" : "") + std::string(4 - number.size(), ' ') + number;
  }
  return text + "\n";
}

testing::AssertionResult equals(const char* name, const Integers& is, const Integers& should) {
  for (std::size_t i = 0; i < should.size(); ++i) {
    if (is[i] != should[i])
      return testing::AssertionFailure()
             << "WRONG RESULT in " << name << "\nfirst bad element: " << name << "(" << i << ") is "
             << is[i] << ", should be " << should[i] << "\n";
  }
  return testing::AssertionSuccess();
}

// The last chunk is partial, with two elements. Hole 2's part is skipped.
KERNEL_TEST(prefix_sum, Hole1CarriesAllChunksBefore) {
  const Integers x{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  const OnDevice problem(x, 3);
  chunkwise::prefix_sums::local_sums(problem.args());
  const Integers before = problem.sums();
  chunkwise::prefix_sums::carry(problem.args());
  EXPECT_TRUE(equals("carry", problem.carry(), {0, 8, 23, 36}));
  EXPECT_TRUE(equals("the local sums, which are not to change yet", problem.sums(), before));
}

const bool hole =
    ladder::testing::register_hole("prefix_sum_in_chunks", "Hole2AddsTheCarry", "prefix_sum",
                                   {{"length", 37}, {"chunk", 7}}, {}, {}, "int32");

// The README shows this text. It is printed once, because the next test runs all orders of threads.
TEST(prefix_sum, PrintsTheExample) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const Integers x = numbers(12);
  const OnDevice problem(x, 4);
  std::string text = line("x          ", x, 4);
  chunkwise::prefix_sums::local_sums(problem.args());
  text += line("local sums ", problem.sums(), 4);
  chunkwise::prefix_sums::carry(problem.args());
  text += line("carry      ", problem.carry(), 1);
  chunkwise::prefix_sums::adjust(problem.args());
  text += line("adjusted   ", problem.sums(), 4);
  std::cout << text;
  EXPECT_EQ(text,
            "x             0   1   2   3 |   4   5   6   7 |   8   9  10  11\n"
            "local sums    0   1   3   6 |   4   9  15  22 |   8  17  27  38\n"
            "carry         0 |   6 |  28\n"
            "adjusted      0   1   3   6 |  10  15  21  28 |  36  45  55  66\n");
}

// With a carry of 0 in chunk 0, adding that chunk's carry has no effect.
TEST(prefix_sum, NamesLocalSumsByWordsThatAreTrueOfACarryOfZeroToo) {
  const ladder::Problem problem = problem_of({1, 2, 3, 4, 5, 6}, 3);
  const ladder::Verdict verdict = chunkwise::prefix_sums::judge_prefix_sum(
      problem, {.sums = {1, 3, 6, 4, 9, 15}, .carry = {0, 6}}, ladder::Arithmetic::kFp32);
  EXPECT_NE(verdict.message.find("no carry is added, or one that is 0"), std::string::npos)
      << verdict.message;
}

KERNEL_TEST(prefix_sum, IsTheSameForEveryLengthAndChunk) {
  for (const std::int32_t length : {0, 1, 3, 4, 5, 63, 64, 65, 130, 1000}) {
    Integers x = numbers(length);
    for (std::int32_t& value : x)
      value = (value * 37 + 11) % 101 - 50;
    Integers expected(x.size());
    std::partial_sum(x.begin(), x.end(), expected.begin());
    for (const std::int64_t chunk : {1, 2, 4, 7, 64, 1000, 5000}) {
      const OnDevice problem(x, chunk);
      chunkwise::prefix_sums::prefix_sum(problem.args());
      EXPECT_EQ(problem.sums(), expected) << "length " << length << ", chunks of " << chunk;
    }
  }
}

const bool registered = ladder::testing::register_suite(
    "prefix_sum", "prefix_sum_in_chunks",
    {.storages = {"int32"},
     .sizes = {{"length", {37, 1, 5, 63, 64, 65, 130, 1000}}, {"chunk", {7, 1, 4, 64, 5000}}}});

}  // namespace
