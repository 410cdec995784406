#include "07_chunkwise/06_gla_layer/gla_layer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "07_chunkwise/06_gla_layer/gla_layer_operator.hpp"
#include "common/core/registry.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::GlaLayerArgs;
using ladder::GlaLayerCase;
using ladder::GlaLayerProblem;

ladder::Device& device() {
  return ladder::device(ladder::DeviceKind::kCuda);
}

using OnDevice = ladder::OnDevice<ladder::GlaLayer, GlaLayerArgs>;

GlaLayerCase small(std::int64_t B, std::int64_t T) {
  return {{.B = B, .T = T, .d_model = 64, .H = 2, .K = 16, .V = 32}};
}

std::vector<float> downloaded(const OnDevice& on_device) {
  device().synchronize();
  return on_device.download();
}

// Every GLA kernel that is linked in.
std::vector<ladder::Implementation> gla_kernels() {
  std::vector<ladder::Implementation> kernels;
  for (const ladder::Implementation& implementation : ladder::implementations()) {
    if (ladder::launcher<ladder::Gla, ladder::WkvArgs>(implementation) != nullptr &&
        implementation.device == ladder::DeviceKind::kCuda)
      kernels.push_back(implementation);
  }
  return kernels;
}

KERNEL_TEST(gla_layer, MatchesReferenceAroundEveryGlaKernel) {
  ASSERT_FALSE(gla_kernels().empty());
  for (const GlaLayerCase& c :
       {GlaLayerCase{{.B = 2, .T = 37, .d_model = 64, .H = 2, .K = 16, .V = 32, .rank = 16}},
        GlaLayerCase{{.B = 1, .T = 70, .d_model = 37, .H = 3, .K = 20, .V = 35, .rank = 5}},
        GlaLayerCase{{.B = 3, .T = 1, .d_model = 5, .H = 1, .K = 4, .V = 4, .rank = 1}},
        small(2, 0), small(0, 3)}) {
    const GlaLayerProblem problem(c);
    for (const ladder::Implementation& kernel : gla_kernels()) {
      SCOPED_TRACE(kernel.name + ", T = " + std::to_string(c.T));
      const OnDevice on_device(device(), problem);
      chunkwise::gla_layer(on_device.args(),
                           ladder::launcher<ladder::Gla, ladder::WkvArgs>(kernel));
      const std::vector<float> y = downloaded(on_device);
      EXPECT_TRUE(ladder::testing::is_right(problem, y));
    }
  }
}

// Far below 0 a logit equals its log-sigmoid, and a sixteenth of it is the decay. exp(-z) alone is
// infinite from -89 on.
KERNEL_TEST(gla_layer, TakesGatesThatAreNearlyShutAndNearlyOpen) {
  GlaLayerProblem problem(small(1, 5));
  std::vector<float>& b = problem["b"];
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = i % 2 == 0 ? -100.0f : 100.0f;
  const OnDevice on_device(device(), problem);
  chunkwise::gla_layer(on_device.args(),
                       ladder::launcher<ladder::Gla, ladder::WkvArgs>(gla_kernels().front()));
  EXPECT_TRUE(ladder::testing::is_right(problem, downloaded(on_device)));
}

const bool registered = ladder::testing::register_suite("gla_layer", "gla_layer_chunkwise",
                                                        {.sizes = {{"B", {2, 1}},
                                                                   {"T", {37, 1, 70}},
                                                                   {"d_model", {37, 64}},
                                                                   {"H", {3, 1}},
                                                                   {"K", {20, 16}},
                                                                   {"V", {35, 32}},
                                                                   {"rank", {5, 1, 16}}}});

// 0 is allowed, and a large eps makes the norm divide by its root.
KERNEL_TEST(gla_layer, DividesByTheRootOfEps) {
  const GlaLayerProblem problem(small(1, 3));
  const auto y_with = [&](float eps) {
    const OnDevice on_device(device(), problem);
    GlaLayerArgs args = on_device.args();
    args.eps = eps;
    chunkwise::gla_layer(args,
                         ladder::launcher<ladder::Gla, ladder::WkvArgs>(gla_kernels().front()));
    return downloaded(on_device);
  };
  const std::vector<float> none = y_with(0.0f), large = y_with(1e12f), larger = y_with(4e12f);
  for (std::size_t i = 0; i < none.size(); ++i) {
    EXPECT_TRUE(std::isfinite(none[i])) << "with eps = 0 a result is not finite";
    EXPECT_LT(std::abs(large[i]), 1e-3f * std::abs(none[i]) + 1e-6f);
    EXPECT_NEAR(large[i], 2 * larger[i], 1e-4f * std::abs(large[i]) + 1e-12f);
  }
}

TEST(gla_layer, RefusesBadInput) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const OnDevice on_device(device(), GlaLayerProblem(small(1, 3)));
  const auto no_gla = [](const ladder::WkvArgs&) { ADD_FAILURE() << "something was launched"; };
  const auto refuses = [&](const std::string& argument, auto spoil) {
    GlaLayerArgs args = on_device.args();
    spoil(args);
    try {
      chunkwise::gla_layer(args, no_gla);
      ADD_FAILURE() << "a bad " << argument << " was accepted";
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(argument), std::string::npos) << message;
      EXPECT_NE(message.find("allow"), std::string::npos) << message;
    }
  };
  refuses("eps", [](GlaLayerArgs& a) { a.eps = -1.0f; });
  refuses("H * K", [](GlaLayerArgs& a) { a.K = std::int64_t{1} << 40; });
  EXPECT_THROW(chunkwise::gla_layer(on_device.args(), nullptr), std::invalid_argument);
  for (const float y : downloaded(on_device))
    EXPECT_TRUE(std::isnan(y)) << "something was written";
}

}  // namespace
