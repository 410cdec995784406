// The tester is tested: wrong answers that must be refused, with the right diagnosis.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "common/core/errors.hpp"
#include "common/operators/wkv/decay.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

const WkvCase kCase{.B = 2,
                    .T = 37,
                    .H = 3,
                    .K = 16,
                    .V = 16,
                    .initial_state = true,
                    .final_state = true,
                    .scale = 0.5f};

WkvOutputs rounded(const WkvResult& result) {
  return {{result.o.begin(), result.o.end()},
          {result.final_state.begin(), result.final_state.end()}};
}

WkvOutputs right_answer(const WkvProblem& problem) {
  return rounded(wkv_recurrence(problem.args()));
}

std::string verdict(const WkvProblem& problem, const WkvOutputs& outputs) {
  const auto result = is_right(problem, outputs);
  return result ? "right" : result.message();
}

void expect_refused(const std::string& words, const std::function<void(WkvOutputs&)>& spoil) {
  const WkvProblem problem = make_problem(kCase);
  WkvOutputs outputs = right_answer(problem);
  spoil(outputs);
  EXPECT_NE(verdict(problem, outputs).find(words), std::string::npos) << verdict(problem, outputs);
}

// `change` makes the problem somebody with the misconception solves; its right answer is their wrong one.
void expect_diagnosis(const std::string& words, const std::function<void(WkvProblem&)>& change) {
  const WkvProblem problem = make_problem(kCase);
  WkvProblem changed = problem;
  change(changed);
  WkvOutputs outputs = right_answer(changed);
  const std::string message = verdict(problem, outputs);
  EXPECT_NE(message.find("WRONG RESULT"), std::string::npos) << message;
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(Judge, AllowsTheRoundingOfBf16AndNoMore) {
  WkvCase c = kCase;
  c.precision = Precision::kBf16;
  const WkvProblem problem = make_problem(c);
  for (float x : problem["log_w"])
    ASSERT_EQ(x, to_float(to_bfloat16(x)));
  WkvOutputs outputs = right_answer(problem);
  for (float& x : outputs.o)
    x = to_float(to_bfloat16(x));
  EXPECT_TRUE(is_right(problem, outputs));
  for (float& x : outputs.o)
    x = to_float(bfloat16{static_cast<std::uint16_t>(to_bfloat16(x).bits & 0xfffcu)});
  EXPECT_FALSE(is_right(problem, outputs));
  // The state is fp32 all the same.
  outputs = right_answer(problem);
  for (float& x : outputs.final_state)
    x = to_float(to_bfloat16(x));
  EXPECT_FALSE(is_right(problem, outputs));
}

TEST(Judge, RecognisesAMisconceptionThroughTheRoundingOfBf16) {
  WkvCase c = kCase;
  c.precision = Precision::kBf16Fp32Decay;
  const WkvProblem problem = make_problem(c);
  WkvProblem without_bonus = problem;
  std::fill(without_bonus["u"].begin(), without_bonus["u"].end(), 0.0f);
  WkvOutputs outputs = right_answer(without_bonus);
  for (float& x : outputs.o)
    x = to_float(to_bfloat16(x));
  EXPECT_NE(verdict(problem, outputs).find("bonus forgotten"), std::string::npos);
}

TEST(IsRight, AcceptsTheRightAnswer) {
  for (const WkvCase& c : wkv_cases({})) {
    const WkvProblem problem = make_problem(c);
    EXPECT_EQ(verdict(problem, right_answer(problem)), "right") << name_of(c);
  }
}

TEST(IsRight, RefusesNan) {
  expect_refused("is NaN: 1 of 3552 elements\nbatch 0, step 2, head 0, column 4: yours NaN, right ",
                 [](WkvOutputs& x) { x.o[100] = kNan; });
}

TEST(IsRight, SaysOnePlaceAndThenTheNumbers) {
  const WkvProblem problem = make_problem(kCase);
  WkvOutputs outputs = right_answer(problem);
  for (std::size_t i = 0; i < outputs.o.size(); i += 4)
    outputs.o[i] = 0.5f;
  const std::string message = verdict(problem, outputs);
  std::istringstream lines(message);
  std::string line;
  const char* expected[] = {"WRONG RESULT in o",
                            "batch 0, step 0, head 0, column 0: yours 0.5, right -0.628",
                            "right (.) and wrong (x), columns 0 to 15:", "x...x...x...x..."};
  for (const char* each : expected) {
    std::getline(lines, line);
    EXPECT_EQ(line, each) << message;
  }
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("relative error ")) << message;
}

TEST(IsRight, RefusesInfinity) {
  expect_refused("WRONG RESULT",
                 [](WkvOutputs& x) { x.o[7] = std::numeric_limits<float>::infinity(); });
}

TEST(IsRight, RefusesUnwrittenOutput) {
  const float unwritten = poison<float>();
  expect_refused("nothing was written.\nnever written: 3552 of 3552 elements\n",
                 [=](WkvOutputs& x) { x.o.assign(x.o.size(), unwritten); });
  expect_refused(
      "never written: 1 of 3552 elements\nbatch 0, step 2, head 0, column 4: never written",
      [=](WkvOutputs& x) { x.o[100] = unwritten; });
  // An atomic adds to what nobody has cleared.
  expect_refused("added to what was never written: 3552 of 3552 elements\n", [=](WkvOutputs& x) {
    for (float& value : x.o)
      value += unwritten;
  });
}

TEST(IsRight, RefusesZeros) {
  expect_refused("first bad element: o(b=0, t=0, h=0, i=0)",
                 [](WkvOutputs& x) { x.o.assign(x.o.size(), 0.0f); });
}

TEST(IsRight, NamesAnOutputOfZeros) {
  expect_refused("every element is zero", [](WkvOutputs& x) { x.o.assign(x.o.size(), 0.0f); });
}

TEST(IsRight, RefusesOneRowOfZeros) {
  expect_refused("at o(b=0, t=1, h=2, i=0)",
                 [](WkvOutputs& x) { std::fill_n(x.o.begin() + 5 * 16, 16, 0.0f); });
}

TEST(IsRight, RefusesOneElementThatIsOffByAThousandth) {
  expect_refused("WRONG RESULT", [](WkvOutputs& x) { x.o[100] *= 1.001f; });
}

TEST(IsRight, RefusesAWrongFinalState) {
  expect_refused("final_state", [](WkvOutputs& x) { x.final_state[3] += 1.0f; });
}

TEST(IsRight, RefusesAWrongSize) {
  expect_refused("elements", [](WkvOutputs& x) { x.o.pop_back(); });
}

TEST(IsRight, RefusesLowPrecision) {
  expect_refused("WRONG RESULT", [](WkvOutputs& x) {
    for (float& value : x.o)
      value = std::nearbyint(value * 4096.0f) / 4096.0f;
  });
}

TEST(IsRight, NamesTheLastColumns) {
  expect_refused("the last columns are wrong: columns 12 to 15", [](WkvOutputs& x) {
    for (std::size_t n = 0; n < x.o.size(); ++n) {
      if (n % 16 >= 12) x.o[n] = 0.0f;
    }
  });
}

TEST(Diagnosis, BonusForgotten) {
  expect_diagnosis("the bonus forgotten",
                   [](WkvProblem& p) { std::fill(p["u"].begin(), p["u"].end(), 0.0f); });
}

TEST(Diagnosis, DecaysOneStepLateInChunks) {
  expect_diagnosis("each decay one step late, in chunks of 16.\n", [](WkvProblem& p) {
    const std::vector<float> log_w = p["log_w"];
    const std::int64_t step = kCase.H * kCase.K;
    for (std::int64_t i = 0; i < std::ssize(p["log_w"]); ++i)
      p["log_w"][i] = i / step % kCase.T % 16 == 0 ? 0.0f : log_w[i - step];
  });
}

TEST(Diagnosis, DecayOnceTooOftenAtTheChunksEdge) {
  expect_diagnosis("once too often where chunks of 32 begin.\n", [](WkvProblem& p) {
    const std::int64_t step = kCase.H * kCase.K;
    for (std::int64_t i = 0; i < std::ssize(p["log_w"]); ++i) {
      if (i / step % kCase.T == 32) p["log_w"][i] *= 2;
    }
  });
}

TEST(Diagnosis, KAndVSwapped) {
  expect_diagnosis("k and v swapped", [](WkvProblem& p) { std::swap(p["k"], p["v"]); });
}

TEST(Diagnosis, InitialStateIgnored) {
  expect_diagnosis("the initial state ignored", [](WkvProblem& p) {
    std::fill(p["initial_state"].begin(), p["initial_state"].end(), 0.0f);
  });
}

TEST(Diagnosis, TimeReversed) {
  expect_diagnosis("time running the other way",
                   [](WkvProblem& p) { p.drawn_case().reverse = true; });
}

TEST(Diagnosis, ScaleForgotten) {
  expect_diagnosis("the scale forgotten", [](WkvProblem& p) { p.drawn_case().scale = 1.0f; });
}

TEST(Diagnosis, QAndKSwapped) {
  expect_diagnosis("q and k swapped", [](WkvProblem& p) { std::swap(p["q"], p["k"]); });
}

// `arrives` says which key rows' part the output holds.
void keep_rows(WkvProblem& problem, const std::function<bool(std::int64_t)>& arrives) {
  std::vector<float>& q = problem["q"];
  for (std::int64_t i = 0; i < std::ssize(q); ++i) {
    if (!arrives(i % problem.drawn_case().K)) q[i] = 0.0f;
  }
}

TEST(Diagnosis, KeyRowsMissing) {
  const auto expect = [](const std::string& words, const std::function<bool(std::int64_t)>& rows) {
    expect_diagnosis(words, [&](WkvProblem& p) { keep_rows(p, rows); });
  };
  expect("without the last key row.\n", [](std::int64_t j) { return j < 15; });
  expect("without the last 4 key rows", [](std::int64_t j) { return j < 12; });
  expect("the last key row alone", [](std::int64_t j) { return j == 15; });
  expect("every fourth key row alone: 1, 5", [](std::int64_t j) { return j % 4 == 1; });
}

TEST(Diagnosis, OneOfFourForAllFour) {
  const auto spread = [](std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = values[i / 4 * 4];
  };
  expect_diagnosis("the first of every four q used", [&](WkvProblem& p) { spread(p["q"]); });
  expect_diagnosis("the first of every four k used", [&](WkvProblem& p) { spread(p["k"]); });
  expect_diagnosis("the first of every four log_w used",
                   [&](WkvProblem& p) { spread(p["log_w"]); });
  expect_diagnosis("the first of every four u used", [&](WkvProblem& p) { spread(p["u"]); });
}

TEST(Diagnosis, SumNotReset) {
  for (const bool reverse : {false, true}) {
    WkvCase c = kCase;
    c.reverse = reverse;
    const WkvProblem problem = make_problem(c);
    WkvOutputs outputs = right_answer(problem);
    const std::int64_t step = c.H * c.V;
    for (std::int64_t b = 0; b < c.B; ++b) {
      std::vector<float> sum(step, 0.0f);
      for (std::int64_t n = 0; n < c.T; ++n) {
        const std::int64_t t = reverse ? c.T - 1 - n : n;
        for (std::int64_t i = 0; i < step; ++i)
          outputs.o[(b * c.T + t) * step + i] = sum[i] += outputs.o[(b * c.T + t) * step + i];
      }
    }
    EXPECT_NE(verdict(problem, outputs).find("the sum over all steps so far"), std::string::npos)
        << verdict(problem, outputs);
  }
}

TEST(Diagnosis, DecayBeforeRead) {
  const WkvProblem problem = make_problem(kCase);
  // o_t = scale * q_t (w_t S_{t-1} + u k_t v_t), written out
  const WkvCase& c = problem.drawn_case();
  const WkvArgs args = problem.args();
  WkvOutputs outputs = right_answer(problem);
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (std::int64_t h = 0; h < c.H; ++h) {
      for (std::int64_t i = 0; i < c.V; ++i) {
        for (std::int64_t t = 0; t < c.T; ++t)
          outputs.o[((b * c.T + t) * c.H + h) * c.V + i] = 0;
        for (std::int64_t j = 0; j < c.K; ++j) {
          double state = args.initial_state[((b * c.H + h) * c.K + j) * c.V + i];
          for (std::int64_t t = 0; t < c.T; ++t) {
            const std::int64_t token = (b * c.T + t) * c.H + h;
            const double kv = double(args.k[token * c.K + j]) * args.v[token * c.V + i];
            state *= std::exp(args.log_w[token * c.K + j]);
            outputs.o[token * c.V + i] += static_cast<float>(c.scale * args.q[token * c.K + j] *
                                                             (state + args.u[h * c.K + j] * kv));
            state += kv;
          }
        }
      }
    }
  }
  EXPECT_NE(verdict(problem, outputs).find("the decay applied before the read"), std::string::npos)
      << verdict(problem, outputs);
}

TEST(Diagnosis, LogarithmAsFactor) {
  for (const bool reverse : {false, true}) {
    WkvCase c = kCase;
    c.reverse = reverse;
    const WkvProblem problem = make_problem(c);
    const WkvArgs args = problem.args();
    WkvOutputs outputs = right_answer(problem);
    for (std::int64_t element = 0; element < c.B * c.H * c.V; ++element) {
      const std::int64_t b = element / (c.H * c.V), h = element / c.V % c.H, i = element % c.V;
      std::vector<double> state(c.K);
      for (std::int64_t j = 0; j < c.K; ++j)
        state[j] = args.initial_state[((b * c.H + h) * c.K + j) * c.V + i];
      for (std::int64_t n = 0; n < c.T; ++n) {
        const std::int64_t token = (b * c.T + (reverse ? c.T - 1 - n : n)) * c.H + h;
        double sum = 0;
        for (std::int64_t j = 0; j < c.K; ++j) {
          const double kv = double(args.k[token * c.K + j]) * args.v[token * c.V + i];
          sum += args.q[token * c.K + j] * (state[j] + args.u[h * c.K + j] * kv);
          state[j] = args.log_w[token * c.K + j] * state[j] + kv;
        }
        outputs.o[token * c.V + i] = static_cast<float>(c.scale * sum);
      }
    }
    EXPECT_NE(verdict(problem, outputs).find("log_w itself as the decay factor"), std::string::npos)
        << verdict(problem, outputs);
  }
}

TEST(Diagnosis, OneStepLate) {
  const WkvProblem problem = make_problem(kCase);
  WkvOutputs outputs = right_answer(problem);
  const std::size_t step = kCase.H * kCase.V;
  outputs.o.insert(outputs.o.begin(), step, 0.0f);
  for (std::int64_t b = 0; b < kCase.B; ++b) {
    std::fill_n(outputs.o.begin() + b * kCase.T * step, step, 0.0f);
  }
  outputs.o.resize(kCase.B * kCase.T * step);
  EXPECT_NE(verdict(problem, outputs).find("one step late"), std::string::npos)
      << verdict(problem, outputs);
}

TEST(OnDevice, NoticesWritesOutsideTheOutput) {
  const WkvProblem problem = make_problem(kCase);
  Implementation behind{.name = "behind", .launchers = launchers<Wkv>([](const WkvArgs& a) {
                                            a.o[a.B * a.T * a.H * a.V] = 0.0f;
                                          })};
  Implementation before{.name = "before",
                        .launchers = launchers<Wkv>([](const WkvArgs& a) { a.o[-1] = 0.0f; })};
  Implementation over{.name = "over", .launchers = launchers<Wkv>([](const WkvArgs& a) {
                                        const_cast<float*>(a.q)[0] = 3.0f;
                                      })};
  EXPECT_THROW(run(behind, problem), WroteElsewhere);
  EXPECT_THROW(run(before, problem), WroteElsewhere);
  EXPECT_THROW(run(over, problem), WroteElsewhere);
}

TEST(OnDevice, PoisonsOutputs) {
  const Implementation lazy{.name = "lazy", .launchers = launchers<Wkv>([](const WkvArgs&) {})};
  for (float value : run(lazy, make_problem(kCase)).o)
    EXPECT_TRUE(std::isnan(value));
}

// A suite that changes its cases after they were combined may take a pair back.
TEST(Design, MissesPairsThatAChangeTakesBack) {
  Design<WkvCase> design;
  design.factor("T", std::vector<std::int64_t>{1, 17, 130}, &WkvCase::T);
  design.factor("scale", std::vector<float>{1.0f, 0.125f}, &WkvCase::scale);
  design.factor("reverse", std::vector<bool>{false, true}, &WkvCase::reverse);
  const auto nothing = [](WkvCase&) {};
  EXPECT_EQ(design.missing_pairs(design.cases({}, nothing, std::nullopt)),
            std::vector<std::string>{});
  const auto unscaled_where_long = [](WkvCase& c) {
    if (c.T > 100) c.scale = 1.0f;
  };
  EXPECT_EQ(design.missing_pairs(design.cases({}, unscaled_where_long, std::nullopt)),
            std::vector<std::string>{"T=130 with scale=0.125"});
  design.exclude("T", std::int64_t{130}, "scale", 0.125f, "for this test");
  EXPECT_EQ(design.missing_pairs(design.cases({}, unscaled_where_long, std::nullopt)),
            std::vector<std::string>{});
}

TEST(OnDevice, PlacesAnArrayOneElementOff) {
  const WkvProblem problem = make_problem(kCase);
  const auto offset = [&](const char* array) {
    const ShiftedArray shifted(array);
    const OnDevice<Wkv, WkvArgs> on_device(device(DeviceKind::kCpu), problem);
    on_device.download();  // guards and inputs are as they were
    EXPECT_EQ(shifted.used(), std::string(array) == "v");
    return reinterpret_cast<std::uintptr_t>(on_device.args().v) % 16;
  };
  EXPECT_EQ(offset("v"), (offset("no_array") + sizeof(float)) % 16);
}

TEST(Input, PositiveLogDecayIsRefused) {
  const float good[] = {0.0f, -1.0f, -std::numeric_limits<float>::infinity()};
  EXPECT_NO_THROW(check_log_w(good, 3));
  for (float bad : {1e-7f, kNan}) {
    const float values[] = {0.0f, bad};
    try {
      check_log_w(values, 2);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("log_w[1]"), std::string::npos) << error.what();
    }
  }
}

TEST(Input, DecayParametrisations) {
  EXPECT_FLOAT_EQ(log_decay_from_rwkv(0.0f), -1.0f);
  EXPECT_FLOAT_EQ(log_decay_from_gla_gate(0.0f), std::log(0.5f) / 16.0f);
  EXPECT_FLOAT_EQ(log_decay_from_gla_gate(-200.0f), -200.0f / 16.0f);
  EXPECT_LE(log_decay_from_gla_gate(200.0f), 0.0f);
  EXPECT_TRUE(std::isfinite(log_decay_from_gla_gate(-3e38f)));
}

TEST(Fp16, IsNoStorageOfWkv) {
  EXPECT_THROW(make_problem(WkvCase{.precision = Precision::kFp16}), std::invalid_argument);
  EXPECT_THROW(with_storage<Wkv>("fp16", []<typename>() {}), std::invalid_argument);
}

}  // namespace
}  // namespace ladder::testing
