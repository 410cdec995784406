#include "07_chunkwise/gla_layer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/core/device_problem.hpp"
#include "common/core/error_metrics.hpp"
#include "common/core/registry.hpp"
#include "common/reference/gla_layer.hpp"
#include "common/reference/judge.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::GlaLayerArgs;
using ladder::GuardedArray;
using ladder::reference::GlaLayerCase;
using ladder::reference::GlaLayerProblem;
using Role = ladder::GuardedArray::Role;

bool device_is_missing() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

ladder::Device& device() {
  return ladder::device(ladder::DeviceKind::kCuda);
}

class OnDevice {
 public:
  explicit OnDevice(const GlaLayerProblem& problem)
      : y_(problem.x.data.size(), NAN),
        y_device_(device(), "y", y_, Role::kOutput),
        args_(problem.args()) {
    args_.x = upload("x", problem.x);
    args_.w_q = upload("w_q", problem.w_q);
    args_.w_k = upload("w_k", problem.w_k);
    args_.w_v = upload("w_v", problem.w_v);
    args_.w_1 = upload("w_1", problem.w_1);
    args_.w_2 = upload("w_2", problem.w_2);
    args_.b = upload("b", problem.b);
    args_.norm = upload("norm", problem.norm);
    args_.w_g = upload("w_g", problem.w_g);
    args_.w_o = upload("w_o", problem.w_o);
    args_.y = static_cast<float*>(y_device_.pointer());
  }
  const GlaLayerArgs& args() const { return args_; }
  std::vector<float> download() const {
    device().synchronize();
    for (const GuardedArray& input : inputs_)
      input.check_unchanged();
    y_device_.check_guards();
    std::vector<float> y = y_;
    y_device_.download(y.data());
    return y;
  }

 private:
  const float* upload(const char* name, const ladder::Tensor<float>& tensor) {
    inputs_.emplace_back(device(), name, tensor.data, Role::kInput);
    return static_cast<const float*>(inputs_.back().pointer());
  }

  std::vector<float> y_;
  std::deque<GuardedArray> inputs_;
  GuardedArray y_device_;
  GlaLayerArgs args_;
};

// Every GLA kernel that is linked in.
std::vector<ladder::Implementation> gla_kernels() {
  std::vector<ladder::Implementation> kernels;
  for (const ladder::Implementation& implementation : ladder::implementations()) {
    if (implementation.gla != nullptr && implementation.device == ladder::DeviceKind::kCuda)
      kernels.push_back(implementation);
  }
  return kernels;
}

TEST(gla_layer, MatchesReferenceAroundEveryGlaKernel) {
  if (device_is_missing()) return;
  ASSERT_FALSE(gla_kernels().empty());
  for (const GlaLayerCase& c :
       {GlaLayerCase{.B = 2, .T = 37, .d_model = 64, .H = 2, .K = 16, .V = 32, .rank = 16},
        GlaLayerCase{.B = 1, .T = 70, .d_model = 37, .H = 3, .K = 20, .V = 35, .rank = 5},
        GlaLayerCase{.B = 3, .T = 1, .d_model = 5, .H = 1, .K = 4, .V = 4, .rank = 1},
        GlaLayerCase{.B = 2, .T = 0}, GlaLayerCase{.B = 0, .T = 3}}) {
    const GlaLayerProblem problem = make_problem(c);
    const auto truth = ladder::reference::gla_layer(problem);
    const auto plain = ladder::reference::gla_layer_plain_fp32(problem);
    for (const ladder::Implementation& kernel : gla_kernels()) {
      for (const std::string& schedule : device().schedules()) {
        SCOPED_TRACE(kernel.name + ", T = " + std::to_string(c.T) + ", schedule: " + schedule);
        device().use_schedule(schedule);
        const OnDevice on_device(problem);
        chapter07::gla_layer(on_device.args(), kernel.gla);
        const std::vector<float> y = on_device.download();
        if (truth.empty()) {
          EXPECT_TRUE(y.empty());
          continue;
        }
        const auto error = ladder::relative_error(y, truth, c.d_model);
        const auto yardstick = ladder::relative_error(plain, truth, c.d_model);
        constexpr double kFewUlp = ladder::reference::kFewUlp;
        EXPECT_TRUE(error.finite);
        EXPECT_LE(error.whole, 2 * yardstick.whole + kFewUlp);
        EXPECT_LE(error.worst_row, 2 * yardstick.worst_row + kFewUlp);
      }
    }
  }
}

// 0 is allowed, and a large eps makes the norm divide by its root.
TEST(gla_layer, DividesByTheRootOfEps) {
  if (device_is_missing()) return;
  const GlaLayerProblem problem = make_problem(GlaLayerCase{.B = 1, .T = 3});
  const auto y_with = [&](float eps) {
    const OnDevice on_device(problem);
    GlaLayerArgs args = on_device.args();
    args.eps = eps;
    chapter07::gla_layer(args, gla_kernels().front().gla);
    return on_device.download();
  };
  const std::vector<float> none = y_with(0.0f), large = y_with(1e12f), larger = y_with(4e12f);
  for (std::size_t i = 0; i < none.size(); ++i) {
    EXPECT_TRUE(std::isfinite(none[i]));
    EXPECT_LT(std::abs(large[i]), 1e-3f * std::abs(none[i]) + 1e-6f);
    EXPECT_NEAR(large[i], 2 * larger[i], 1e-4f * std::abs(large[i]) + 1e-12f);
  }
}

TEST(gla_layer, RefusesBadInput) {
  if (device_is_missing()) return;
  const OnDevice on_device(make_problem(GlaLayerCase{.B = 1, .T = 3}));
  const auto no_gla = [](const ladder::WkvArgs&) { ADD_FAILURE() << "something was launched"; };
  const auto refuses = [&](const std::string& argument, auto spoil) {
    GlaLayerArgs args = on_device.args();
    spoil(args);
    try {
      chapter07::gla_layer(args, no_gla);
      ADD_FAILURE() << "a bad " << argument << " was accepted";
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(argument), std::string::npos) << message;
      EXPECT_NE(message.find("allow"), std::string::npos) << message;
    }
  };
  refuses("T", [](GlaLayerArgs& a) { a.T = -1; });
  refuses("d_model", [](GlaLayerArgs& a) { a.d_model = 0; });
  refuses("rank", [](GlaLayerArgs& a) { a.rank = 0; });
  refuses("eps", [](GlaLayerArgs& a) { a.eps = -1.0f; });
  refuses("H * K", [](GlaLayerArgs& a) { a.K = std::int64_t{1} << 40; });
  refuses("w_2", [](GlaLayerArgs& a) { a.w_2 = nullptr; });
  refuses("norm", [](GlaLayerArgs& a) { a.norm = nullptr; });
  refuses("y", [](GlaLayerArgs& a) { a.y = nullptr; });
  EXPECT_THROW(chapter07::gla_layer(on_device.args(), nullptr), std::invalid_argument);
  for (const float y : on_device.download())
    EXPECT_TRUE(std::isnan(y)) << "something was written";
}

}  // namespace
