#include "07_chunkwise/05_gla_steps/gla_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "07_chunkwise/05_gla_steps/gla_steps_operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

// Each step alone, and all five together.
namespace {

using namespace chunkwise::gla_steps;
using ladder::Decay;
using ladder::GuardedArray;
using ladder::WkvArgs;
using ladder::WkvCase;
using ladder::WkvProblem;
using Floats = std::vector<float>;

ladder::Device& device() {
  return ladder::device(ladder::DeviceKind::kCuda);
}

const bool registered = ladder::testing::register_suite(
    "gla", "gla_five_steps",
    {.sizes = {{"T", {0, 1, 16, 17, 18, 20, 64, 65, 130, 200}},
               {"K", {4, 64, 100, 256}},
               {"V", {4, 1, 64, 100}}},
     .refuses = {"packed sequences"},
     .plain_steps = 34,
     .also = {{{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 100}, {"V", 64}},
               {{"decay", "total"},
                {"decay_per_head", "true"},
                {"initial_state", "true"},
                {"final_state", "true"},
                {"scale", "0.125"},
                {"magnitude", "1e-8"},
                {"seed", "509"}}},
              {{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}},
               {{"decay", "total"},
                {"decay_per_head", "true"},
                {"reverse", "true"},
                {"magnitude", "1e8"},
                {"seed", "169"}}},
              {{{"B", 2}, {"T", 17}, {"H", 3}, {"K", 256}, {"V", 4}},
               {{"decay", "none"},
                {"decay_per_head", "true"},
                {"initial_state", "true"},
                {"final_state", "true"},
                {"seed", "23"}}},
              {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 100}, {"V", 4}},
               {{"decay", "none"}, {"decay_per_head", "true"}, {"reverse", "true"}, {"seed", "2"}}},
              {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 64}, {"V", 4}},
               {{"decay_per_head", "true"},
                {"reverse", "true"},
                {"magnitude", "1e8"},
                {"seed", "554"}}},
              {{{"B", 2}, {"T", 64}, {"H", 3}, {"K", 256}, {"V", 100}},
               {{"decay", "total"},
                {"initial_state", "true"},
                {"final_state", "true"},
                {"magnitude", "1e8"},
                {"seed", "233"}}},
              {{{"B", 2}, {"T", 64}, {"H", 3}, {"K", 256}, {"V", 4}},
               {{"decay", "total"},
                {"decay_per_head", "true"},
                {"reverse", "true"},
                {"magnitude", "1e8"},
                {"seed", "346"}}},
              {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 256}, {"V", 100}},
               {{"decay", "strong"},
                {"initial_state", "true"},
                {"final_state", "true"},
                {"scale", "0.125"},
                {"seed", "217"}}},
              {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 256}, {"V", 100}},
               {{"decay", "total"},
                {"decay_per_head", "true"},
                {"initial_state", "true"},
                {"final_state", "true"},
                {"scale", "0.125"},
                {"seed", "573"}}}},
     .borders = {{.size = "T", .at = {16, 64, 128}},
                 {.size = "K", .at = {32, 64}},
                 {.size = "V", .at = {32, 64}}}});

bool register_step(const std::string& name) {
  return ladder::testing::register_suite(name, name,
                                         {.sizes = {{"B", {2, 1}},
                                                    {"T", {37, 1, 16, 65}},
                                                    {"H", {3, 1}},
                                                    {"K", {36, 4, 64}},
                                                    {"V", {35, 1, 64}},
                                                    {"chunk", {32, 16, 48}}},
                                          .options = {{"decay", {"0.1", "0", "16"}}},
                                          .most = {{"K", 256}, {"V", 2097120}},
                                          .nan_tile = 48});
}

const bool steps_registered =
    register_step("gla_decay_cumsum") && register_step("gla_prepare_qg_kg") &&
    register_step("gla_inter_chunk") && register_step("gla_intra_chunk_scores") &&
    register_step("gla_combine");

// A test's own arrays, instead of the ones in a step's problem on the device.
class Given {
 public:
  template <typename Element>
  Element* operator()(const std::vector<Element>& elements) {
    return static_cast<Element*>(
        arrays_.emplace_back(device(), "given", elements, GuardedArray::Role::kInput).pointer());
  }

 private:
  std::deque<GuardedArray> arrays_;
};

// One head and one chunk, so a step's problem consists only of its arrays.
template <typename Op, typename Args>
typename Op::Outputs run_with(const StepCase& c, void (*step)(const Steps&), const Floats& q,
                              const Floats& k, const std::vector<LogSum>& log_decay) {
  const ladder::OnDevice<Op, Args> on_device(device(), *ladder::as_case<Op>(c)->make());
  Given given;
  Args args = on_device.args();
  args.args.q = given(q);
  args.args.k = given(k);
  args.log_decay = given(log_decay);
  step(args);
  device().synchronize();
  return on_device.download();
}

// A scan that uses another order of additions for every step may round a later sum above an earlier
// one. Even then, no decay may exceed 1.
KERNEL_TEST(gla_five_steps, NoRoundingMakesADecayGrow) {
  const StepCase c{{.B = 1, .T = 32, .H = 1, .K = 1, .V = 1, .chunk = 32}};
  const Floats ones(32, 1.0f);
  std::vector<LogSum> sums;
  for (int step = 0; step < 32; ++step)
    sums.push_back({-1e6f + 0.0625f * (step % 3), 0});  // up by a rounding, and down again
  const auto expect_decays = [](const std::string& array, const Floats& values) {
    const auto wrong =
        std::find_if_not(values.begin(), values.end(), [](float decay) { return decay <= 1.0f; });
    EXPECT_TRUE(wrong == values.end())
        << "WRONG RESULT in " << array << "\nelement " << wrong - values.begin() << " is " << *wrong
        << ". Here q and k are 1, so it is a decay, and a decay is never above 1. The sums of this "
           "test differ by a rounding, which may go up.";
  };
  const auto prepared = run_with<PrepareQgKg, PrepareQgKgArgs>(c, prepare_qg_kg, ones, ones, sums);
  expect_decays("qg", prepared[0]);
  expect_decays("kg", prepared[1]);
  expect_decays("scores", run_with<IntraChunkScores, IntraChunkScoresArgs>(c, intra_chunk_scores,
                                                                           ones, ones, sums)[0]);
}

// When the sums have grown, a step's decay is a small difference of large sums. 64 steps of about
// -8 add up to -500, and a float near 500 is right to 3e-5. `low` corrects this.
KERNEL_TEST(gla_five_steps, KeepsWhatRoundingTakes) {
  const StepCase c{{.B = 1, .T = 64, .H = 1, .K = 64, .V = 1, .chunk = 64, .decay = 16}};
  const auto problem = ladder::as_case<IntraChunkScores>(c)->make();
  const Steps& steps = problem->args<IntraChunkScoresArgs>();
  const Floats q(steps.args.q, steps.args.q + 64 * 64), k(steps.args.k, steps.args.k + 64 * 64);
  std::vector<LogSum> sums(steps.log_decay, steps.log_decay + 64 * 64);
  const std::vector<double> truth =
      problem->op().truth(*problem, ladder::Arithmetic::kFp32)[0].values;
  // Relative error of all scores except those of a step with itself.
  const auto error = [&] {
    const Floats scores =
        run_with<IntraChunkScores, IntraChunkScoresArgs>(c, intra_chunk_scores, q, k, sums)[0];
    double difference = 0, size = 0;
    for (std::int64_t query = 0; query < 64; ++query) {
      for (std::int64_t key = 0; key < query; ++key) {
        const double score = truth[query * 64 + key];
        difference += std::pow(scores[query * 64 + key] - score, 2);
        size += score * score;
      }
    }
    return std::sqrt(difference / size);
  };
  const double with_low = error();
  for (LogSum& sum : sums)
    sum.low = 0;
  const double without_low = error();
  std::cout << "error with low " << with_low << ", without " << without_low << "\n";
  EXPECT_LT(with_low, 5e-7) << "WRONG RESULT in scores: their relative error";
  EXPECT_GT(without_low, 5e-6);
}

TEST(gla_decay_cumsum, IsJudged) {
  const StepCase c{{.B = 1, .T = 20, .H = 2, .K = 3, .V = 1, .chunk = 16}};
  const auto problem = ladder::as_case<DecayCumsum>(c)->make();
  DecayCumsum::Outputs outputs;
  for (std::int64_t i = 0; i < 2 * 32 * 3; ++i)
    outputs.log_decay.push_back({0, 0});
  const std::string message = judge_cumsum(*problem, outputs, ladder::Arithmetic::kFp32).message;
  EXPECT_NE(message.find("WRONG RESULT in log_decay"), std::string::npos) << message;
}

KERNEL_TEST(gla_five_steps, MatchesReferenceForEveryChunkLength) {
  for (const Decay decay : {Decay::kMild, Decay::kStrong, Decay::kStrongToken}) {
    // Partial tiles in every size, and a partial last chunk.
    WkvCase c{.recurrence = ladder::Recurrence::kGla,
              .B = 2,
              .T = 70,
              .H = 3,
              .K = 36,
              .V = 35,
              .decay = decay};
    c.initial_state = c.final_state = true;
    const WkvProblem problem = make_problem(c);
    for (const std::int64_t chunk : {16, 32, 48, 64, 128}) {
      const ladder::OnDevice<ladder::Gla, WkvArgs> on_device(device(), problem);
      chunkwise::gla_steps::gla(on_device.args(), chunk);
      device().synchronize();
      EXPECT_TRUE(ladder::testing::is_right(problem, on_device.download()))
          << name_of(c) << ", chunks of " << chunk;
    }
  }
}

TEST(gla_five_steps, RefusesOddChunksAndMoreThan256Rows) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const auto refuses = [](const std::string& what, std::int64_t K, std::int64_t chunk) {
    const WkvProblem problem = make_problem(
        WkvCase{.recurrence = ladder::Recurrence::kGla, .B = 1, .T = 2, .H = 1, .K = K, .V = 4});
    const ladder::OnDevice<ladder::Gla, WkvArgs> on_device(device(), problem);
    try {
      chunkwise::gla_steps::gla(on_device.args(), chunk);
      ADD_FAILURE() << what << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  refuses("K is 257", 257, 64);
  refuses("chunk is 0", 4, 0);
  refuses("chunk is 40", 4, 40);
}

}  // namespace
