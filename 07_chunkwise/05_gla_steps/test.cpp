#include "07_chunkwise/05_gla_steps/gla_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/operators/compare.hpp"
#include "common/operators/suite.hpp"
#include "common/operators/wkv/operator.hpp"

// Each step alone: the kernel gets what a plain statement on the CPU makes of the steps before it, and must give what one makes of
// its own. Then all five together.
namespace {

using chapter07::gla_steps::LogSum;
using chapter07::gla_steps::Steps;
using ladder::Decay;
using ladder::GuardedArray;
using ladder::WkvArgs;
using ladder::WkvCase;
using ladder::WkvProblem;
using Role = ladder::GuardedArray::Role;
using Floats = std::vector<float>;

constexpr double kForgetsAll = -150;  // stronger decays count as this one

ladder::Device& device() {
  return ladder::device(ladder::DeviceKind::kCuda);
}

// A sum in float64, with the size of what was added: fp32 may be off by a rounding of that per term, and exp of x by |x| of them.
class Sum {
 public:
  void add(double factor, double exponent = 0) {
    const double term = factor * std::exp(exponent);
    value_ += term;
    if (term != 0) size_ += std::abs(term) * (1 + std::abs(exponent));
    ++terms_;
  }
  ::testing::AssertionResult is(float result) const {
    constexpr double kRounding = 1.0 / (1 << 24), kDenormal = 1e-37;
    const double limit = (terms_ + 8) * (kRounding * size_ + kDenormal);
    if (std::abs(result - value_) <= limit) return ::testing::AssertionSuccess();
    const std::string is = std::isnan(result) ? "not a number" : std::to_string(result);
    return ::testing::AssertionFailure()
           << "WRONG RESULT: " << is << ", should be " << value_ << " +- " << limit;
  }

 private:
  double value_ = 0, size_ = 0;
  int terms_ = 0;
};

// The statements, each as its formula stands. Steps run in the order of time; head is b * H + h.
struct Plain {
  WkvProblem problem;
  std::int64_t chunk;
  WkvArgs args;
  std::int64_t T_p;

  Plain(const WkvProblem& p, std::int64_t c) : problem(p), chunk(c), args(problem.args()) {
    args.u = nullptr;
    T_p = (args.T + chunk - 1) / chunk * chunk;
  }
  Plain(const Plain&) = delete;

  std::int64_t heads() const { return args.B * args.H; }
  std::int64_t first(std::int64_t step) const { return step / chunk * chunk; }
  std::int64_t last(std::int64_t step) const { return first(step) + chunk - 1; }
  std::int64_t t(std::int64_t step) const { return args.reverse ? args.T - 1 - step : step; }
  std::int64_t token(std::int64_t head, std::int64_t step) const {
    return (head / args.H * args.T + t(step)) * args.H + head % args.H;
  }
  double q(std::int64_t head, std::int64_t step, std::int64_t j) const {
    return step < args.T ? args.q[token(head, step) * args.K + j] : 0;
  }
  double k(std::int64_t head, std::int64_t step, std::int64_t j) const {
    return step < args.T ? args.k[token(head, step) * args.K + j] : 0;
  }
  double v(std::int64_t head, std::int64_t step, std::int64_t i) const {
    return step < args.T ? args.v[token(head, step) * args.V + i] : 0;
  }
  double log_w(std::int64_t head, std::int64_t step, std::int64_t j) const {
    if (step >= args.T) return 0;
    const double value = args.log_w[head / args.H * args.log_w_stride_B +
                                    t(step) * args.log_w_stride_T + head % args.H * args.K + j];
    return std::max(value, kForgetsAll);
  }
  // Of all steps after `from`, up to and including `to`.
  double log_decay(std::int64_t head, std::int64_t from, std::int64_t to, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t step = from + 1; step <= to; ++step)
      sum += log_w(head, step, j);
    return sum;
  }
  double since_chunk_began(std::int64_t head, std::int64_t step, std::int64_t j) const {
    return log_decay(head, first(step) - 1, step, j);
  }
};

// What goes from step to step, on the device; every array is unwritten (NaN) unless it was given.
class StepsOnDevice {
 public:
  explicit StepsOnDevice(const Plain& plain)
      : on_device_(device(), plain.problem),
        rows_(plain.heads() * plain.T_p),
        log_decay_count_(rows_ * plain.args.K) {
    steps_.args = on_device_.args();
    steps_.args.u = nullptr;
    steps_.chunk = plain.chunk;
    steps_.T_p = plain.T_p;
    steps_.log_decay = give(log_decay_, std::vector<LogSum>(log_decay_count_, {NAN, NAN}));
    steps_.qg = give(qg_, Floats(log_decay_count_, NAN));
    steps_.kg = give(kg_, Floats(log_decay_count_, NAN));
    steps_.o_inter = give(o_inter_, Floats(rows_ * plain.args.V, NAN));
    steps_.scores = give(scores_, Floats(rows_ * plain.chunk, NAN));
  }

  Steps& steps() { return steps_; }

  void give_log_decay(const std::vector<LogSum>& sums) {
    steps_.log_decay = give(log_decay_, sums);
  }
  void give_qg_kg(const Floats& qg, const Floats& kg) {
    steps_.qg = give(qg_, qg);
    steps_.kg = give(kg_, kg);
  }
  void give_o_inter_and_scores(const Floats& o_inter, const Floats& scores) {
    steps_.o_inter = give(o_inter_, o_inter);
    steps_.scores = give(scores_, scores);
  }

  std::vector<LogSum> log_decay() const { return fetch<LogSum>(*log_decay_, log_decay_count_); }
  Floats qg() const { return fetch<float>(*qg_, log_decay_count_); }
  Floats kg() const { return fetch<float>(*kg_, log_decay_count_); }
  Floats o_inter() const { return fetch<float>(*o_inter_, rows_ * steps_.args.V); }
  Floats scores() const { return fetch<float>(*scores_, rows_ * steps_.chunk); }
  ladder::WkvOutputs outputs() const {
    device().synchronize();
    return on_device_.download();
  }

 private:
  template <typename Element>
  Element* give(std::unique_ptr<GuardedArray>& array, const std::vector<Element>& elements) {
    array = std::make_unique<GuardedArray>(device(), "between steps", elements, Role::kInput);
    return static_cast<Element*>(array->pointer());
  }
  template <typename Element>
  std::vector<Element> fetch(const GuardedArray& array, std::size_t count) const {
    device().synchronize();
    array.check_guards();
    std::vector<Element> elements(count);
    array.download(elements.data());
    return elements;
  }

  ladder::OnDevice<ladder::Gla, WkvArgs> on_device_;
  std::size_t rows_, log_decay_count_;
  std::unique_ptr<GuardedArray> log_decay_, qg_, kg_, o_inter_, scores_;
  Steps steps_;
};

std::vector<LogSum> plain_log_decay(const Plain& plain) {
  std::vector<LogSum> sums;
  for (std::int64_t head = 0; head < plain.heads(); ++head) {
    for (std::int64_t step = 0; step < plain.T_p; ++step) {
      for (std::int64_t j = 0; j < plain.args.K; ++j) {
        const double sum = plain.since_chunk_began(head, step, j);
        const float high = static_cast<float>(sum);
        sums.push_back({high, static_cast<float>(sum - high)});
      }
    }
  }
  return sums;
}

Floats random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  Floats values(count);
  for (float& value : values)
    value = static_cast<float>(engine() / 2147483648.0 - 1);
  return values;
}

// Ragged in every size, with a last chunk of five steps.
WkvCase ragged(Decay decay) {
  WkvCase c{.B = 2, .T = 37, .H = 3, .K = 36, .V = 35, .decay = decay};
  c.initial_state = c.final_state = true;
  return c;
}

std::vector<WkvCase> step_cases() {
  std::vector<WkvCase> cases;
  for (const Decay decay :
       {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kTotal, Decay::kStrongToken}) {
    cases.push_back(ragged(decay));
    cases.back().reverse = decay == Decay::kStrong;
    cases.back().decay_per_head = decay == Decay::kNone;
  }
  return cases;
}

constexpr std::int64_t kShortChunk = 32;

// Runs `body` on every case under every schedule of the device.
template <typename Body>
void for_each_case(const Body& body) {
  for (const WkvCase& c : step_cases()) {
    const WkvProblem problem = make_problem(c);
    const Plain plain(problem, kShortChunk);
    for (const std::string& schedule : device().schedules()) {
      SCOPED_TRACE(name_of(c) + ", schedule: " + schedule);
      device().use_schedule(schedule);
      StepsOnDevice on_device(plain);
      body(plain, on_device);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

bool device_is_missing() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

const bool registered = ladder::testing::register_gla_suite(
    "gla_five_steps",
    {.lengths = {0, 1, 16, 17, 18, 20, 64, 65, 130, 200},
     .K_sizes = {4, 64, 100, 256},
     .V_sizes = {4, 1, 64, 100},
     .also = {{"gla_B1_T130_H2_K100_V64_total_per_head_from_state_to_state_scaled_tiny", 509},
              {"gla_B1_T130_H2_K64_V64_total_per_head_reverse_huge", 169},
              {"gla_B2_T17_H3_K256_V4_no_decay_per_head_from_state_to_state", 23},
              {"gla_B2_T1_H3_K100_V4_no_decay_per_head_reverse", 2},
              {"gla_B2_T1_H3_K64_V4_mild_per_head_reverse_huge", 554},
              {"gla_B2_T64_H3_K256_V100_total_from_state_to_state_huge", 233},
              {"gla_B2_T64_H3_K256_V4_total_per_head_reverse_huge", 346},
              {"gla_B2_T65_H3_K256_V100_strong_from_state_to_state_scaled", 217},
              {"gla_B2_T65_H3_K256_V100_total_per_head_from_state_to_state_scaled", 573}}});

TEST(gla_five_steps, DecayCumsumAlone) {
  if (device_is_missing()) return;
  for_each_case([](const Plain& plain, StepsOnDevice& on_device) {
    decay_cumsum(on_device.steps());
    const auto sums = on_device.log_decay();
    std::size_t i = 0;
    for (std::int64_t head = 0; head < plain.heads(); ++head) {
      for (std::int64_t step = 0; step < plain.T_p; ++step) {
        for (std::int64_t j = 0; j < plain.args.K; ++j, ++i) {
          const double expected = plain.since_chunk_began(head, step, j);
          const double sum = static_cast<double>(sums[i].high) + sums[i].low;
          ASSERT_LE(std::abs(sum - expected), 1e-12 * std::abs(expected)) << "step " << step;
        }
      }
    }
  });
}

TEST(gla_five_steps, PrepareQgKgAlone) {
  if (device_is_missing()) return;
  for_each_case([](const Plain& plain, StepsOnDevice& on_device) {
    on_device.give_log_decay(plain_log_decay(plain));
    prepare_qg_kg(on_device.steps());
    const Floats qg = on_device.qg(), kg = on_device.kg();
    std::size_t i = 0;
    for (std::int64_t head = 0; head < plain.heads(); ++head) {
      for (std::int64_t step = 0; step < plain.T_p; ++step) {
        for (std::int64_t j = 0; j < plain.args.K; ++j, ++i) {
          Sum q, k;
          q.add(plain.q(head, step, j), plain.since_chunk_began(head, step, j));
          k.add(plain.k(head, step, j), plain.log_decay(head, step, plain.last(step), j));
          ASSERT_TRUE(q.is(qg[i])) << "qg, step " << step;
          ASSERT_TRUE(k.is(kg[i])) << "kg, step " << step;
        }
      }
    }
  });
}

TEST(gla_five_steps, InterChunkAlone) {
  if (device_is_missing()) return;
  for_each_case([](const Plain& plain, StepsOnDevice& on_device) {
    const WkvArgs& args = plain.args;
    const std::int64_t K = args.K, V = args.V;
    const Floats qg = random_floats(plain.heads() * plain.T_p * K, 1);
    const Floats kg = random_floats(plain.heads() * plain.T_p * K, 2);
    on_device.give_log_decay(plain_log_decay(plain));
    on_device.give_qg_kg(qg, kg);
    inter_chunk(on_device.steps());
    const Floats o_inter = on_device.o_inter();
    const Floats final_state = on_device.outputs().final_state;
    for (std::int64_t head = 0; head < plain.heads(); ++head) {
      // Terms of the state: the initial one, and a step's k v; with the decay of the chunks since.
      const auto add_state = [&](Sum& sum, double factor, std::int64_t chunks, std::int64_t j,
                                 std::int64_t i) {
        double exponent = 0;
        for (std::int64_t chunk = chunks - 1; chunk >= 0; --chunk) {
          const std::int64_t begin = chunk * plain.chunk;
          for (std::int64_t step = begin; step < begin + plain.chunk; ++step) {
            sum.add(factor * kg[(head * plain.T_p + step) * K + j] * plain.v(head, step, i),
                    exponent);
          }
          exponent += plain.since_chunk_began(head, begin + plain.chunk - 1, j);
        }
        sum.add(factor * args.initial_state[(head * K + j) * V + i], exponent);
      };
      for (std::int64_t i = 0; i < V; ++i) {
        for (std::int64_t step : {std::int64_t{0}, plain.chunk - 1, plain.chunk, args.T - 1}) {
          Sum o;
          for (std::int64_t j = 0; j < K; ++j) {
            add_state(o, qg[(head * plain.T_p + step) * K + j], step / plain.chunk, j, i);
          }
          ASSERT_TRUE(o.is(o_inter[(head * plain.T_p + step) * V + i])) << "step " << step;
        }
        for (std::int64_t j = 0; j < K; ++j) {
          Sum state;
          add_state(state, 1, plain.T_p / plain.chunk, j, i);
          ASSERT_TRUE(state.is(final_state[(head * K + j) * V + i])) << "final_state";
        }
      }
    }
  });
}

TEST(gla_five_steps, IntraChunkScoresAlone) {
  if (device_is_missing()) return;
  for_each_case([](const Plain& plain, StepsOnDevice& on_device) {
    on_device.give_log_decay(plain_log_decay(plain));
    intra_chunk_scores(on_device.steps());
    const Floats scores = on_device.scores();
    std::size_t i = 0;
    for (std::int64_t head = 0; head < plain.heads(); ++head) {
      for (std::int64_t query = 0; query < plain.T_p; ++query) {
        for (std::int64_t key = plain.first(query); key <= plain.last(query); ++key, ++i) {
          Sum score;
          for (std::int64_t j = 0; j < plain.args.K && key <= query; ++j) {
            score.add(plain.q(head, query, j) * plain.k(head, key, j),
                      plain.log_decay(head, key, query, j));
          }
          ASSERT_TRUE(score.is(scores[i])) << "query " << query << ", key " << key;
        }
      }
    }
  });
}

TEST(gla_five_steps, CombineAlone) {
  if (device_is_missing()) return;
  for_each_case([](const Plain& plain, StepsOnDevice& on_device) {
    const WkvArgs& args = plain.args;
    const Floats o_inter = random_floats(plain.heads() * plain.T_p * args.V, 3);
    Floats scores = random_floats(plain.heads() * plain.T_p * plain.chunk, 4);
    on_device.give_o_inter_and_scores(o_inter, scores);
    combine(on_device.steps());
    const Floats o = on_device.outputs().o;
    for (std::int64_t head = 0; head < plain.heads(); ++head) {
      for (std::int64_t step = 0; step < args.T; ++step) {
        const std::int64_t row = head * plain.T_p + step;
        for (std::int64_t i = 0; i < args.V; ++i) {
          Sum sum;
          sum.add(o_inter[row * args.V + i]);
          for (std::int64_t key = plain.first(step); key <= step; ++key) {
            sum.add(scores[row * plain.chunk + key % plain.chunk] * plain.v(head, key, i));
          }
          ASSERT_TRUE(sum.is(o[plain.token(head, step) * args.V + i])) << "step " << step;
        }
      }
    }
  });
}

// A scan that adds in another order for every step may round a later sum above an earlier one. No decay is above 1 for that.
TEST(gla_five_steps, NoRoundingMakesADecayGrow) {
  if (device_is_missing()) return;
  WkvCase c{.B = 1, .T = 32, .H = 1, .K = 1, .V = 1, .decay = Decay::kNone};
  WkvProblem problem = make_problem(c);
  std::fill(problem.q.data.begin(), problem.q.data.end(), 1.0f);
  std::fill(problem.k.data.begin(), problem.k.data.end(), 1.0f);
  const Plain plain(problem, 32);
  StepsOnDevice on_device(plain);
  std::vector<LogSum> sums;
  for (int step = 0; step < c.T; ++step)
    sums.push_back({-1e6f + 0.0625f * (step % 3), 0});  // up by a rounding, and down again
  on_device.give_log_decay(sums);
  prepare_qg_kg(on_device.steps());
  intra_chunk_scores(on_device.steps());
  for (const Floats& decays : {on_device.qg(), on_device.kg(), on_device.scores()}) {
    for (const float decay : decays)
      EXPECT_LE(decay, 1.0f);
  }
}

// A step's decay is a small difference of large sums once the sums have grown: 64 steps of about -8 come to -500, and a float near 500
// is right to 3e-5. That is what `low` is for.
TEST(gla_five_steps, KeepsWhatRoundingTakes) {
  if (device_is_missing()) return;
  const WkvProblem problem =
      make_problem(WkvCase{.B = 1, .T = 64, .H = 1, .K = 64, .V = 1, .decay = Decay::kStrong});
  const Plain plain(problem, 64);
  // Relative error of all scores but those of a step with itself.
  const auto error = [&](const std::vector<LogSum>& sums) {
    StepsOnDevice on_device(plain);
    on_device.give_log_decay(sums);
    intra_chunk_scores(on_device.steps());
    const Floats scores = on_device.scores();
    double difference = 0, size = 0;
    for (std::int64_t query = 0; query < 64; ++query) {
      for (std::int64_t key = 0; key < query; ++key) {
        double score = 0;
        for (std::int64_t j = 0; j < 64; ++j) {
          score += plain.q(0, query, j) * plain.k(0, key, j) *
                   std::exp(plain.log_decay(0, key, query, j));
        }
        difference += std::pow(scores[query * 64 + key] - score, 2);
        size += score * score;
      }
    }
    return std::sqrt(difference / size);
  };
  std::vector<LogSum> sums = plain_log_decay(plain);
  const double with_low = error(sums);
  for (LogSum& sum : sums)
    sum.low = 0;
  const double without_low = error(sums);
  std::cout << "error with low " << with_low << ", without " << without_low << "\n";
  EXPECT_LT(with_low, 5e-7);
  EXPECT_GT(without_low, 5e-6);
}

TEST(gla_five_steps, MatchesReferenceForEveryChunkLength) {
  if (device_is_missing()) return;
  for (const Decay decay : {Decay::kMild, Decay::kStrong, Decay::kStrongToken}) {
    WkvCase c = ragged(decay);
    c.recurrence = ladder::Recurrence::kGla;
    c.T = 70;
    const WkvProblem problem = make_problem(c);
    for (const std::int64_t chunk : {16, 32, 48, 64, 128}) {
      const ladder::OnDevice<ladder::Gla, WkvArgs> on_device(device(), problem);
      chapter07::gla_steps::gla(on_device.args(), chunk);
      device().synchronize();
      EXPECT_TRUE(ladder::testing::is_right(problem, on_device.download()))
          << name_of(c) << ", chunks of " << chunk;
    }
  }
}

TEST(gla_five_steps, RefusesOddChunksAndMoreThan256Rows) {
  if (device_is_missing()) return;
  const auto refuses = [](const std::string& what, std::int64_t K, std::int64_t chunk) {
    const WkvProblem problem = make_problem(
        WkvCase{.recurrence = ladder::Recurrence::kGla, .B = 1, .T = 2, .H = 1, .K = K, .V = 4});
    const ladder::OnDevice<ladder::Gla, WkvArgs> on_device(device(), problem);
    try {
      chapter07::gla_steps::gla(on_device.args(), chunk);
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
