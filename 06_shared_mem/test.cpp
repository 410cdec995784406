#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "common/core/device_problem.hpp"
#include "common/testing/suite.hpp"

using ladder::device;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::WkvArgs;
using ladder::WkvCase;
using ladder::WkvProblem;
using ladder::testing::device_is_missing;

namespace {

const bool registered = ladder::testing::register_wkv_suite(
    "wkv_shared_mem",
    {.square_heads_only = false, .states = true, .reverse = true, .repeatable = true});

// One block holds a head: more than 256 rows or columns do not fit.
TEST(wkv_shared_mem, RefusesHeadsThatAreTooLarge) {
  const Implementation implementation = find_implementation("wkv_shared_mem");
  if (device_is_missing(implementation)) return;
  for (const bool large_V : {false, true}) {
    const WkvProblem problem = make_problem(
        WkvCase{.B = 1, .T = 2, .H = 1, .K = large_V ? 4 : 257, .V = large_V ? 257 : 4});
    ladder::WkvOnDevice on_device(device(implementation.device), problem);
    try {
      implementation.wkv(on_device.args());
      ADD_FAILURE() << (large_V ? "V" : "K") << " = 257 was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("is 257"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
