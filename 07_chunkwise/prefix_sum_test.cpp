#include "07_chunkwise/prefix_sum.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/core/device_problem.hpp"
#include "common/testing/suite.hpp"

namespace {

using chapter07::prefix_sums::PrefixSumArgs;
using ladder::GuardedArray;
using Role = ladder::GuardedArray::Role;
using Integers = std::vector<std::int32_t>;

constexpr std::int32_t kUnwritten = -1'000'000;

// Arguments whose arrays are on the device.
class OnDevice {
 public:
  OnDevice(const Integers& x, std::int64_t chunk)
      : length_(x.size()),
        chunks_((x.size() + chunk - 1) / chunk),
        x_(device(), "x", x, Role::kInput),
        sums_(device(), "sums", Integers(length_, kUnwritten), Role::kOutput),
        carry_(device(), "carry", Integers(chunks_, kUnwritten), Role::kOutput),
        args_{.length = static_cast<std::int64_t>(length_),
              .chunk = chunk,
              .x = static_cast<const std::int32_t*>(x_.pointer()),
              .sums = static_cast<std::int32_t*>(sums_.pointer()),
              .carry = static_cast<std::int32_t*>(carry_.pointer())} {}

  const PrefixSumArgs& args() const { return args_; }
  Integers sums() const { return download(sums_, length_); }
  Integers carry() const { return download(carry_, chunks_); }

 private:
  static ladder::Device& device() { return ladder::device(ladder::DeviceKind::kCuda); }
  Integers download(const GuardedArray& array, std::size_t count) const {
    device().synchronize();
    x_.check_unchanged();
    array.check_guards();
    Integers result(count);
    array.download(result.data());
    return result;
  }

  std::size_t length_, chunks_;
  GuardedArray x_, sums_, carry_;
  PrefixSumArgs args_;
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

bool device_is_missing() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

// The README shows this text.
TEST(prefix_sum, PrintsTheExample) {
  if (device_is_missing()) return;
  const Integers x = numbers(12);
  const OnDevice problem(x, 4);
  std::string text = line("x          ", x, 4);
  chapter07::prefix_sums::local_sums(problem.args());
  text += line("local sums ", problem.sums(), 4);
  chapter07::prefix_sums::carry(problem.args());
  text += line("carry      ", problem.carry(), 1);
  chapter07::prefix_sums::adjust(problem.args());
  text += line("adjusted   ", problem.sums(), 4);
  std::cout << text;
  EXPECT_EQ(text,
            "x             0   1   2   3 |   4   5   6   7 |   8   9  10  11\n"
            "local sums    0   1   3   6 |   4   9  15  22 |   8  17  27  38\n"
            "carry         0 |   6 |  28\n"
            "adjusted      0   1   3   6 |  10  15  21  28 |  36  45  55  66\n");
}

TEST(prefix_sum, IsTheSameForEveryLengthAndChunk) {
  if (device_is_missing()) return;
  for (const std::int32_t length : {0, 1, 3, 4, 5, 63, 64, 65, 130, 1000}) {
    Integers x = numbers(length);
    for (std::int32_t& value : x)
      value = (value * 37 + 11) % 101 - 50;
    Integers expected(x.size());
    std::partial_sum(x.begin(), x.end(), expected.begin());
    for (const std::int64_t chunk : {1, 2, 4, 7, 64, 1000, 5000}) {
      const OnDevice problem(x, chunk);
      chapter07::prefix_sums::prefix_sum(problem.args());
      EXPECT_EQ(problem.sums(), expected) << "length " << length << ", chunks of " << chunk;
    }
  }
}

TEST(prefix_sum, RefusesBadInput) {
  if (device_is_missing()) return;
  const OnDevice problem(numbers(12), 4);
  const auto refuses = [&](const std::string& argument, auto spoil) {
    PrefixSumArgs args = problem.args();
    spoil(args);
    try {
      chapter07::prefix_sums::prefix_sum(args);
      ADD_FAILURE() << "a bad " << argument << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(argument), std::string::npos) << error.what();
    }
  };
  refuses("length", [](PrefixSumArgs& a) { a.length = -1; });
  refuses("chunk", [](PrefixSumArgs& a) { a.chunk = 0; });
  refuses("x", [](PrefixSumArgs& a) { a.x = nullptr; });
  refuses("sums", [](PrefixSumArgs& a) { a.sums = nullptr; });
  refuses("carry", [](PrefixSumArgs& a) { a.carry = nullptr; });
  EXPECT_EQ(problem.sums(), Integers(12, kUnwritten)) << "something was written";
}

}  // namespace
