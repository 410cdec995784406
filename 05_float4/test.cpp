#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

using ladder::device;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::WkvArgs;
using ladder::WkvCase;
using ladder::WkvProblem;
using ladder::testing::device_is_missing;

namespace {

const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_float4", {.refuses = {"states", "reverse", "packed sequences", "K != V"}});

// Heads of four key rows. Each row is one load, and the state has passed through it once.
KERNEL_TEST(wkv_float4, Hole1LoadsFourFloats) {
  ladder::testing::expect_right(find_implementation("wkv_float4"),
                                make_problem(WkvCase{.B = 2, .T = 2, .H = 3, .K = 4, .V = 4}));
}

KERNEL_TEST(wkv_float4, Hole2AddsAllSumsUp) {
  ladder::testing::expect_right(find_implementation("wkv_float4"),
                                make_problem(WkvCase{.B = 1, .T = 5, .H = 1, .K = 32, .V = 32}));
}

// One float further on is aligned for a float, but not for a load of 16 bytes.
TEST(wkv_float4, Hole3RefusesRowsThatAreAlignedToFloatsOnly) {
  const Implementation implementation = find_implementation("wkv_float4");
  if (device_is_missing(implementation)) return;
  const WkvProblem problem = make_problem(WkvCase{.B = 1, .T = 3, .H = 2, .K = 64, .V = 64});
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(device(implementation.device), problem);
  const std::vector<std::pair<std::string, const float* WkvArgs::*>> pointers = {
      {"q", &WkvArgs::q}, {"k", &WkvArgs::k}, {"log_w", &WkvArgs::log_w}, {"u", &WkvArgs::u}};
  for (const auto& [name, pointer] : pointers) {
    WkvArgs args = on_device.args();
    args.*pointer += 1;
    try {
      ladder::launch<ladder::Wkv>(implementation, args);
      ADD_FAILURE() << "WRONG RESULT: " << name << ", off by 4 bytes, was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), name + " is not aligned; allowed: a multiple of 16 bytes")
          << "WRONG RESULT: a refusal names the argument, and says what is allowed";
    }
  }
  const std::vector<float> o = on_device.download().o;
  EXPECT_TRUE(std::all_of(o.begin(), o.end(), [](float x) { return std::isnan(x); }))
      << "something was written";
}

// v and o are read and written four bytes at a time, so any address that is aligned for a float
// works.
KERNEL_TEST(wkv_float4, AllowsAnyFloatPointerForVAndO) {
  const Implementation implementation = find_implementation("wkv_float4");
  ladder::Device& where = device(implementation.device);
  const WkvProblem problem = make_problem(WkvCase{.B = 1, .T = 3, .H = 2, .K = 64, .V = 64});
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(where, problem);
  WkvArgs args = on_device.args();
  std::vector<float> shifted(problem["v"].size() + 1);
  std::copy(problem["v"].begin(), problem["v"].end(), shifted.begin() + 1);
  ladder::GuardedArray v(where, "v", shifted, ladder::GuardedArray::Role::kInput);
  ladder::GuardedArray o(where, "o", shifted, ladder::GuardedArray::Role::kOutput);
  args.v = static_cast<const float*>(v.pointer()) + 1;
  args.o = static_cast<float*>(o.pointer()) + 1;
  ladder::launch<ladder::Wkv>(implementation, args);
  where.synchronize();
  o.download(shifted.data());
  const ladder::WkvOutputs outputs{{shifted.begin() + 1, shifted.end()}, {}};
  EXPECT_TRUE(ladder::testing::is_right(problem, outputs));
}

}  // namespace
