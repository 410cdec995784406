#include <gtest/gtest.h>

#include <stdexcept>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_restrict", {.refuses = {"states", "reverse", "packed sequences", "K != V"}});

// The promise that the kernel makes in its caller's name.
TEST(wkv_restrict, RefusesAnOutputThatIsAnInput) {
  const ladder::Implementation implementation = ladder::find_implementation("wkv_restrict");
  if (ladder::testing::device_is_missing(implementation)) return;
  const auto problem = make_problem(ladder::WkvCase{.B = 1, .T = 3, .H = 2, .K = 64, .V = 64});
  ladder::OnDevice<ladder::Wkv, ladder::WkvArgs> on_device(ladder::device(implementation.device),
                                                           problem);
  for (const float* ladder::WkvArgs::*input :
       {&ladder::WkvArgs::q, &ladder::WkvArgs::k, &ladder::WkvArgs::v, &ladder::WkvArgs::log_w,
        &ladder::WkvArgs::u}) {
    ladder::WkvArgs args = on_device.args();
    args.*input = args.o;
    EXPECT_THROW(ladder::launch<ladder::Wkv>(implementation, args), std::invalid_argument);
  }
}

}  // namespace
