#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "07_chunkwise/19_gradient_products/gradient_products.hpp"
#include "common/core/error_metrics.hpp"
#include "common/core/on_device.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using chunkwise::DLogW;
using ladder::Decay;
using ladder::WkvBackward;
using ladder::WkvCase;
using ladder::WkvGradients;
using ladder::WkvGradProblem;

constexpr std::int64_t kChunk = 16, kChannels = 64;
// The largest error allowed for the difference, relative to its sums, is 16 roundings of fp32.
constexpr double kOfSums = 0x1p-20;
enum Output { kDq, kDk, kDv, kDLogW };  // in the operator's order

using ladder::testing::register_hole;

// One case for each stage of scratch.cu. Stage 4 also computes the difference, which no suite runs,
// so it has its own test, Stage4TakesTheDifference.
const bool stages =
    register_hole("wkv_gradient_products", "Stage1WalksToTheBorders", "wkv_backward",
                  {{"B", 1}, {"T", 33}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_gradient_products", "Stage2ScoresThePairs", "wkv_backward",
                  {{"B", 1}, {"T", 9}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_gradient_products", "Stage3MultipliesByTheStates", "wkv_backward",
                  {{"B", 1}, {"T", 35}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_gradient_products", "Stage4VisitsTheKeys", "wkv_backward",
                  {{"B", 1}, {"T", 17}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_gradient_products", "Stage5StoresTheGradients", "wkv_backward",
                  {{"B", 2}, {"T", 20}, {"H", 2}, {"K", 64}, {"V", 64}});

// Chunks of 16 steps.
const bool registered = ladder::testing::register_suite(
    "wkv_backward", "wkv_gradient_products",
    {.sizes = {{"T", {0, 1, 16, 35}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .borders = {{.size = "T", .at = {16, 32}, .others = {{"K", 64}, {"V", 64}}}}});

WkvGradProblem problem_of(Decay decay, std::int64_t T, float fixed_log_w = 0) {
  WkvCase c{.B = 1, .T = T, .H = 1, .K = kChannels, .V = kChannels, .decay = decay};
  c.fixed_log_w = fixed_log_w;
  return ladder::make_grad_problem(c);
}

WkvGradients run(const WkvGradProblem& problem, DLogW way) {
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  const ladder::OnDevice<WkvBackward, ladder::WkvGradArgs> on_device(device, problem);
  chunkwise::gradients(on_device.args(), way);
  device.synchronize();
  return on_device.download();
}

// The sums of the difference for one head, in double.
class Sums {
 public:
  explicit Sums(const WkvGradProblem& problem)
      : truth_(problem.op().truth(problem, ladder::Arithmetic::kFp32)) {
    const auto& k = problem["k"];
    const auto& q = problem["q"];
    for (std::int64_t i = 0; i < std::ssize(q); ++i) {
      const std::int64_t t = i / kChannels, n = i % kChannels;
      double own = 0;  // the gradient of the step's own score
      for (std::int64_t iv = 0; iv < kChannels; ++iv)
        own += static_cast<double>(problem["d_o"][t * kChannels + iv]) *
               problem["v"][t * kChannels + iv];
      const double bonus = own * problem["u"][n] * q[i] * k[i];
      q_dq_.push_back(q[i] * truth_[kDq].values[i] - bonus);
      k_dk_.push_back(k[i] * truth_[kDk].values[i] - bonus);
      bonus_.push_back(bonus);
      sizes_.push_back(std::abs(q[i]) * truth_[kDq].terms[i] +
                       std::abs(k[i]) * truth_[kDk].terms[i]);
    }
  }

  const std::vector<double>& d_log_w() const { return truth_[kDLogW].values; }
  std::int64_t steps() const { return std::ssize(q_dq_) / kChannels; }

  // The size of the chunk's sums at an element, to which their roundings are relative.
  double size(std::int64_t element) const {
    double size = 0;
    for (std::int64_t t = element / kChannels / kChunk * kChunk; t < end_of(element); ++t)
      size += sizes_[t * kChannels + element % kChannels];
    return size;
  }

  // The parts of an element. `beyond` is from pairs whose query is after the chunk, and the others
  // are q dq and k dk of the chunk's later steps, earlier steps, and of the element itself.
  struct Parts {
    double beyond = 0, q_behind = 0, k_behind = 0, q_before = 0, k_before = 0, q = 0, k = 0;
  };
  std::vector<double> made_of(const std::function<double(const Parts&)>& sum) const {
    std::vector<double> values;
    for (std::int64_t i = 0; i < std::ssize(q_dq_); ++i) {
      const std::int64_t n = i % kChannels, t = i / kChannels, end = end_of(i);
      const std::int64_t last = (end - 1) * kChannels + n;
      Parts parts{.beyond = d_log_w()[last] + k_dk_[last]};
      parts.q = q_dq_[i], parts.k = k_dk_[i];
      for (std::int64_t s = t / kChunk * kChunk; s < end; ++s) {
        if (s == t) continue;
        (s > t ? parts.q_behind : parts.q_before) += q_dq_[s * kChannels + n];
        (s > t ? parts.k_behind : parts.k_before) += k_dk_[s * kChannels + n];
      }
      values.push_back(sum(parts));
    }
    return values;
  }
  const std::vector<double>& bonus() const { return bonus_; }  // of q dq, and of k dk

 private:
  std::int64_t end_of(std::int64_t element) const {
    return std::min((element / kChannels / kChunk + 1) * kChunk, steps());
  }

  std::vector<ladder::Truth> truth_;
  std::vector<double> q_dq_, k_dk_, bonus_, sizes_;
};

// Names the sum that equals a wrong difference, to two digits.
std::string equals(const std::vector<float>& yours, const Sums& sums) {
  using Parts = Sums::Parts;
  const auto is = [&](const std::function<double(const Parts&)>& sum) {
    const std::vector<double> values = sums.made_of(sum);
    return ladder::relative_error(yours, values, kChannels).whole < 0.01;
  };
  if (is([](const Parts& p) { return p.beyond - p.q_behind + p.k_behind + p.k; }))
    return "the sums with their signs exchanged: of k dk minus q dq";
  if (is([](const Parts& p) { return p.beyond + p.q_before - p.k_before - p.k; }))
    return "the sums over the steps before, begun at the chunk's first step";
  if (is([](const Parts& p) { return p.beyond + p.q_behind - p.k_behind; }))
    return "the sums without the step's own key";
  if (is([](const Parts& p) { return p.beyond + p.q_behind + p.q - p.k_behind - p.k; }))
    return "the sums with the step's own query";
  if (is([](const Parts& p) { return p.q_behind - p.k_behind - p.k; }))
    return "the sums without the pairs whose query is behind the chunk";
  return "nothing that is known here";
}

// The errors of the difference are roundings of its sums. They are small compared with those sums,
// but need not be small compared with the difference.
void expect_right_beside_its_sums(Decay decay, std::int64_t T) {
  const WkvGradProblem problem = problem_of(decay, T);
  WkvGradients yours = run(problem, DLogW::kDifference);
  const Sums sums(problem);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < std::ssize(yours.d_log_w); ++i)
    wrong += !(std::abs(yours.d_log_w[i] - sums.d_log_w()[i]) <= kOfSums * sums.size(i));
  if (wrong > 0) {
    ADD_FAILURE() << "WRONG RESULT in d_log_w by the difference: it equals "
                  << equals(yours.d_log_w, sums) << "\n"
                  << wrong << " of the " << yours.d_log_w.size() << " elements of " << T
                  << " steps are wrong, with "
                  << "decay=" << ladder::kDecayWords[static_cast<std::size_t>(decay)];
  }
  // The other gradients are right by the operator's own limits.
  yours.d_log_w.assign(sums.d_log_w().begin(), sums.d_log_w().end());
  const ladder::Verdict verdict = judge(problem, yours, ladder::Arithmetic::kFp32);
  EXPECT_TRUE(verdict.right) << verdict.message;
}

// 35 steps are three chunks, of which the last has three steps.
KERNEL_TEST(wkv_gradient_products, DifferenceIsRightBesideItsSums) {
  for (const Decay decay : {Decay::kMild, Decay::kStrong, Decay::kStrongToken})
    expect_right_beside_its_sums(decay, 35);
}

double error_of(const std::vector<float>& d_log_w, const Sums& sums) {
  return ladder::relative_error(d_log_w, sums.d_log_w(), kChannels).whole;
}

// The difference over the whole sequence, in fp32, from a kernel's dq and dk.
std::vector<float> over_all_steps(const WkvGradProblem& problem, const WkvGradients& gradients,
                                  const Sums& sums) {
  std::vector<float> d_log_w(gradients.dq.size());
  float sum[kChannels] = {};
  for (std::int64_t i = std::ssize(d_log_w) - 1; i >= 0; --i) {
    const auto bonus = static_cast<float>(sums.bonus()[i]);
    sum[i % kChannels] -= problem["k"][i] * gradients.dk[i] - bonus;
    d_log_w[i] = sum[i % kChannels];
    sum[i % kChannels] += problem["q"][i] * gradients.dq[i] - bonus;
  }
  return d_log_w;
}

bool has_no_gpu() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

TEST(wkv_gradient_products, Stage4TakesTheDifference) {
  if (has_no_gpu()) return;
  expect_right_beside_its_sums(Decay::kMild, 20);
}

// The numbers of the page, for one head with the same decay everywhere. On a GPU, whose tensor
// cores truncate, errors may be larger.
TEST(wkv_gradient_products, DifferenceLosesDigitsWhereDecaysAreStrong) {
  if (has_no_gpu()) return;
  struct Row {
    std::int64_t T;
    float log_w;
    double chunk, sequence;  // errors of the difference
    double times;            // at least this many times lesson 18's error
  };
  const bool is_emulated = ladder::device(ladder::DeviceKind::kCuda).back_end() == "emulator";
  const double factor = is_emulated ? 3 : 10;  // another order of the same sums has twice the error
  const auto expect_about = [&](double error, double on_page) {
    EXPECT_GT(error, on_page / factor);
    EXPECT_LT(error, on_page * factor);
  };
  for (const Row& row : {Row{64, 0, 2.0e-7, 3.5e-7, 0}, Row{64, -1, 4.8e-7, 1.3e-6, 2},
                         Row{64, -4, 8.3e-6, 3.0e-5, 20}, Row{64, -8, 5.0e-4, 1.4e-3, 1e3},
                         Row{64, -16, 1.2, 5.1, 1e6}, Row{256, -8, 5.3e-4, 3.3e-3, 1e3}}) {
    const WkvGradProblem problem = problem_of(Decay::kFixed, row.T, row.log_w);
    const Sums sums(problem);
    const WkvGradients right = run(problem, DLogW::kChainRule),
                       yours = run(problem, DLogW::kDifference);
    SCOPED_TRACE(row.log_w);
    const double rule = error_of(right.d_log_w, sums), chunk = error_of(yours.d_log_w, sums);
    EXPECT_LT(rule, is_emulated ? 1.8e-7 : 8e-7);
    EXPECT_GT(chunk, row.times * rule);
    expect_about(chunk, row.chunk);
    expect_about(error_of(over_all_steps(problem, yours, sums), sums), row.sequence);
  }
}

// The gradient through a state is exactly 0 after a decay of 0, but a difference of roundings is
// not.
TEST(wkv_gradient_products, DifferenceGivesAGradientToATotalDecay) {
  if (has_no_gpu()) return;
  const WkvGradProblem problem = problem_of(Decay::kTotal, 35);
  const auto is_zero = [](float x) { return x == 0; };
  const std::vector<float> right = run(problem, DLogW::kChainRule).d_log_w,
                           yours = run(problem, DLogW::kDifference).d_log_w;
  EXPECT_TRUE(std::all_of(right.begin(), right.end(), is_zero));
  EXPECT_GT(std::count_if(yours.begin(), yours.end(), std::not_fn(is_zero)), std::ssize(yours) / 2);
}

// The difference is not registered, because the judge rejects it with any decay. In the first steps
// of a sequence there are hardly any keys, and d_log_w is small, however mild the decay is.
TEST(wkv_gradient_products, JudgeRefusesTheDifference) {
  if (has_no_gpu()) return;
  for (const Decay decay : {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kTotal}) {
    const WkvGradProblem problem = problem_of(decay, 64);
    const auto verdict_on = [&](DLogW way) {
      return judge(problem, run(problem, way), ladder::Arithmetic::kFp32);
    };
    EXPECT_TRUE(verdict_on(DLogW::kChainRule).right);
    const ladder::Verdict verdict = verdict_on(DLogW::kDifference);
    EXPECT_FALSE(verdict.right);
    EXPECT_NE(verdict.message.find("d_log_w"), std::string::npos) << verdict.message;
  }
}

}  // namespace
