// Tests of WKV's judge, which must refuse wrong answers with the right diagnosis.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "common/core/errors.hpp"
#include "common/operators/wkv/decay.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

const WkvCase kCase = [] {
  WkvCase c{.B = 2, .T = 37, .H = 3, .K = 16, .V = 16, .scale = 0.5f};
  c.initial_state = c.final_state = true;
  return c;
}();

void round_to_bf16(std::vector<float>& values) {
  for (float& x : values)
    x = to_float(to_bfloat16(x));
}

TEST(Judge, AllowsTheRoundingOfBf16AndNoMore) {
  WkvCase c = kCase;
  c.precision = Precision::kBf16;
  const WkvProblem problem = make_problem(c);
  for (float x : problem["log_w"])
    ASSERT_EQ(x, to_float(to_bfloat16(x)));
  WkvOutputs outputs = right_answer(problem);
  EXPECT_TRUE(is_right(problem, outputs));
  for (float& x : outputs.o)
    x = to_float(bfloat16{static_cast<std::uint16_t>(to_bfloat16(x).bits & 0xfffcu)});
  EXPECT_FALSE(is_right(problem, outputs));
  // The state is fp32 in any storage.
  outputs = right_answer(problem);
  round_to_bf16(outputs.final_state);
  EXPECT_FALSE(is_right(problem, outputs));
}

TEST(Judge, RecognisesAMisconceptionThroughTheRoundingOfBf16) {
  WkvCase c = kCase;
  c.precision = Precision::kBf16Fp32Decay;
  const WkvProblem problem = make_problem(c);
  WkvProblem without_bonus = problem;
  std::fill(without_bonus["u"].begin(), without_bonus["u"].end(), 0.0f);
  expect_wrong("bonus forgotten", problem, right_answer(without_bonus));
}

TEST(IsRight, AcceptsTheRightAnswer) {
  for (const WkvCase& c : wkv_cases({})) {
    expect_right_truth(make_problem(c));
  }
}

TEST(IsRight, SaysWhatIsWrong) {
  const WkvProblem problem = make_problem(kCase);
  const auto expect = [&](const std::string& words, const std::function<void(WkvOutputs&)>& spoil) {
    WkvOutputs outputs = right_answer(problem);
    spoil(outputs);
    expect_words(words, verdict(problem, outputs));
  };
  expect("is NaN: 1 of 3552 elements\nbatch 0, step 2, head 0, column 4: yours NaN, right ",
         [](auto& x) { x.o[100] = kNan; });
  expect("WRONG RESULT", [](auto& x) { x.o[7] = std::numeric_limits<float>::infinity(); });
  const float unwritten = poison<float>();
  expect("nothing was written.\nnever written: 3552 of 3552 elements\n",
         [=](auto& x) { x.o.assign(x.o.size(), unwritten); });
  expect("never written: 1 of 3552 elements\nbatch 0, step 2, head 0, column 4: never written",
         [=](auto& x) { x.o[100] = unwritten; });
  // As from atomicAdd to an output that was not cleared.
  expect("made of what was never written: 3552 of 3552 elements\n", [=](auto& x) {
    for (float& value : x.o)
      value += unwritten;
  });
  expect("first bad element: o(b=0, t=0, h=0, i=0)", [](auto& x) { x.o.assign(3552, 0.0f); });
  expect("every element is zero", [](auto& x) { x.o.assign(3552, 0.0f); });
  expect("at o(b=0, t=1, h=2, i=0)", [](auto& x) { std::fill_n(x.o.begin() + 5 * 16, 16, 0.0f); });
  expect("WRONG RESULT", [](auto& x) { x.o[100] *= 1.001f; });
  expect("final_state", [](auto& x) { x.final_state[3] += 1.0f; });
  expect("elements", [](auto& x) { x.o.pop_back(); });
  expect("WRONG RESULT", [](auto& x) {  // too little precision
    for (float& value : x.o)
      value = std::nearbyint(value * 4096.0f) / 4096.0f;
  });
  expect("the last columns are wrong: columns 12 to 15", [](auto& x) {
    for (std::size_t n = 0; n < x.o.size(); ++n)
      x.o[n] *= n % 16 >= 12 ? 0.0f : 1.0f;
  });
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

// The answer of a misconception is the right answer to another problem.
TEST(Diagnosis, NamesTheAnswerToAnotherProblem) {
  const WkvProblem problem = make_problem(kCase);
  const auto expect = [&](const std::string& words,
                          const std::function<void(WkvProblem&)>& change) {
    expect_words(words, said_of_kernel(problem, [&](WkvProblem changed) {
                   change(changed);
                   return right_answer(changed);
                 }));
  };
  expect("the bonus forgotten", [](auto& p) { std::fill(p["u"].begin(), p["u"].end(), 0.0f); });
  const std::int64_t step = kCase.H * kCase.K;
  expect("each decay one step late, in chunks of 16.\n", [=](auto& p) {
    const std::vector<float> log_w = p["log_w"];
    for (std::int64_t i = 0; i < std::ssize(log_w); ++i)
      p["log_w"][i] = i / step % kCase.T % 16 == 0 ? 0.0f : log_w[i - step];
  });
  expect("once too often where chunks of 32 begin.\n", [=](auto& p) {
    for (std::int64_t i = 0; i < std::ssize(p["log_w"]); ++i)
      p["log_w"][i] *= i / step % kCase.T == 32 ? 2.0f : 1.0f;
  });
  expect("k and v swapped", [](auto& p) { std::swap(p["k"], p["v"]); });
  expect("q and k swapped", [](auto& p) { std::swap(p["q"], p["k"]); });
  expect("o does not change with initial_state", [](auto& p) { p["initial_state"].clear(); });
  expect("time running the other way", [](auto& p) { p.drawn_case().reverse = true; });
  expect("the scale forgotten", [](auto& p) { p.drawn_case().scale = 1.0f; });
  for (const char* array : {"q", "k", "log_w", "u"}) {
    expect(std::string("A change of ") + array + "(", [=](auto& p) {
      for (std::size_t i = 0; i < p[array].size(); ++i)
        p[array][i] = p[array][i / 4 * 4];
    });
  }
}

TEST(Diagnosis, NamesNoMistakeThatIsExcluded) {
  const auto ignores = [](WkvProblem given) {
    std::fill(given["u"].begin(), given["u"].end(), 1.0f);
    return right_answer(given);
  };
  with_kernel(make_problem(kCase), ignores,
              [](const Problem& problem, const Implementation& kernel) {
                const auto placed = problem.place(device(DeviceKind::kCpu), kernel);
                placed->call();
                const Verdict verdict = placed->judge(Arithmetic::kFp32, false);
                const std::string name = "equals the result with u forgotten: the bonus is q k v";
                expect_words(name, explained(verdict, *placed, &kernel, Arithmetic::kFp32));
                expect_words("o does not change with u",
                             explained(verdict, *placed, &kernel, Arithmetic::kFp32, {name}));
              });
}

// In one step that forgets everything, an unread state looks like one that decays too early.
TEST(Diagnosis, NamesNoMistakeInUniformDecaysThatOthersDisprove) {
  WkvCase c = kCase;
  c.T = 1;
  c.decay = Decay::kTotal;
  c.final_state = false;
  expect_words("o does not change with initial_state",
               said_of_kernel(make_problem(c), [](WkvProblem given) {
                 given["initial_state"].clear();
                 return right_answer(given);
               }));
}

// If u is 0, a bonus of q k (u + 1) v looks like one without u. Another u distinguishes them.
TEST(Diagnosis, NamesAMistakeInAnArrayOfZerosOnlyIfOtherValuesShowItToo) {
  WkvProblem problem = make_problem(kCase);
  std::fill(problem["u"].begin(), problem["u"].end(), 0.0f);
  const auto with_u = [](WkvProblem given, float factor) {
    for (float& u : given["u"])
      u = factor * u + 1;
    return right_answer(given);
  };
  const std::string name = "equals the result with u forgotten";
  const std::string said =
      said_of_kernel(problem, [&](const WkvProblem& given) { return with_u(given, 1); });
  EXPECT_EQ(said.find(name), std::string::npos) << said;
  expect_words(name,
               said_of_kernel(problem, [&](const WkvProblem& given) { return with_u(given, 0); }));
}

TEST(Diagnosis, KeyRowsMissing) {
  const WkvProblem problem = make_problem(kCase);
  const auto expect = [&](const std::string& words, bool (*arrives)(std::int64_t j)) {
    expect_words("o takes nothing from q, " + words + "; from all others it takes what it should",
                 said_of_kernel(problem, [&](WkvProblem changed) {
                   for (std::int64_t i = 0; i < std::ssize(changed["q"]); ++i)
                     changed["q"][i] *= arrives(i % kCase.K) ? 1.0f : 0.0f;
                   return right_answer(changed);
                 }));
  };
  const std::string all = "k, u, log_w, initial_state of ";
  expect(all + "key row 15", [](std::int64_t j) { return j < 15; });
  expect(all + "key rows 12 to 15", [](std::int64_t j) { return j < 12; });
  expect(all + "key rows 0 to 14", [](std::int64_t j) { return j == 15; });
  expect(all + "key rows 0 to 15 without 1, 5, 9 and 13",
         [](std::int64_t j) { return j % 4 == 1; });
}

TEST(Diagnosis, SumNotReset) {
  for (const bool reverse : {false, true}) {
    WkvCase c = kCase;
    c.reverse = reverse;
    const WkvProblem problem = make_problem(c);
    const std::string said = said_of_kernel(problem, [&](const WkvProblem& given) {
      WkvOutputs outputs = right_answer(given);
      const std::int64_t step = c.H * c.V;
      for (std::int64_t b = 0; b < c.B; ++b) {
        std::vector<float> sum(step, 0.0f);
        for (std::int64_t n = 0; n < c.T; ++n) {
          const std::int64_t t = reverse ? c.T - 1 - n : n;
          for (std::int64_t i = 0; i < step; ++i)
            outputs.o[(b * c.T + t) * step + i] = sum[i] += outputs.o[(b * c.T + t) * step + i];
        }
      }
      return outputs;
    });
    expect_words(reverse
                     ? "A change of q(b=1, t=18, h=1, j=8) alone changes o of steps 0 to 18; it "
                       "should change o of step 18.\n"
                     : "A change of q(b=1, t=18, h=1, j=8) alone changes o of steps 18 to 36; "
                       "it should change o of step 18.\n",
                 said);
  }
}

// In 16 bits every element may be off by its rounding, but not all in the same direction.
TEST(Judge, RefusesABiasIn16Bits) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const Precision precision : {Precision::kBf16, Precision::kBf16Fp32Decay}) {
      WkvCase c = kCase;
      c.recurrence = recurrence;
      c.precision = precision;
      expect_bias_refused(make_problem(c), Arithmetic::kFp32);
      expect_bias_refused(WkvGradProblem(c), Arithmetic::kFp32);
      c.T = 600;
      expect_bias_refused(make_problem(c), Arithmetic::kBf16Operands);
      expect_bias_refused(WkvGradProblem(c), Arithmetic::kBf16Operands);
    }
  }
}

TEST(Judge, RefusesOneHeadAndOneRowIn16Bits) {
  WkvCase c{.B = 2, .T = 40, .H = 3, .K = 32, .V = 32};
  c.precision = Precision::kBf16;
  expect_one_head_refused(make_problem(c), Arithmetic::kFp32);
  EXPECT_EQ(shifted_rows_refused(make_problem(c), Arithmetic::kFp32), 1);
  expect_one_head_refused(make_problem(c), Arithmetic::kBf16Operands);
  c.T = 300;
  expect_one_head_refused(WkvGradProblem(c), Arithmetic::kBf16Operands);
  c.T = 40, c.K = c.V = 128;
  EXPECT_GT(shifted_rows_refused(make_problem(c), Arithmetic::kBf16Operands), 0.8);
}

// Small mistakes that are not in the bonus.
TEST(Diagnosis, BlamesTheBonusForNothingElse) {
  const WkvProblem problem = make_problem(kCase);
  const auto expect_unsaid = [&](const WkvOutputs& outputs) {
    const std::string said = verdict(problem, outputs);
    expect_words("WRONG RESULT", said);
    for (const char* words : {"alone is wrong", "all else is", "count once", "Each element is 1 "})
      EXPECT_EQ(said.find(words), std::string::npos) << said;
  };
  const auto change = [&](const std::function<void(WkvProblem&)>& changing) {
    WkvProblem changed = problem;
    changing(changed);
    expect_unsaid(right_answer(changed));
  };
  const auto scaled = [&](const char* array, float factor) {
    change([=](WkvProblem& p) {
      for (float& x : p[array])
        x *= factor;
    });
  };
  for (const double off : {1e-5, 1e-4, 1e-3, -1e-4}) {
    scaled("log_w", static_cast<float>(1 + off));
    for (const char* array : {"q", "k", "v"}) {
      for (const std::size_t at : {0u, 700u, 1770u})
        change([=](WkvProblem& p) { p[array][at] += static_cast<float>(10 * off); });
    }
    for (const std::size_t at : {3u, 1000u, 3551u}) {
      WkvOutputs outputs = right_answer(problem);
      outputs.o[at] += static_cast<float>(10 * off);
      expect_unsaid(outputs);
    }
  }
  for (const float scale : {0.50001f, 0.5005f}) {
    WkvProblem changed = problem;
    changed.drawn_case().scale = scale;
    const std::string said = verdict(problem, right_answer(changed));
    expect_words("WRONG RESULT", said);
    EXPECT_EQ(said.find("bonus"), std::string::npos) << said;
  }
}

TEST(Diagnosis, KnowsThatUIsNotRead) {
  expect_words("o does not change with u: it is not read, or what is made of it is lost.\n",
               said_of_kernel(make_problem(kCase), [](WkvProblem changed) {
                 for (std::size_t i = 0; i < changed["u"].size(); ++i)
                   changed["u"][i] = std::sin(static_cast<float>(i));
                 return right_answer(changed);
               }));
}

TEST(Diagnosis, SpeaksOfEmptySizesToo) {
  for (const std::int64_t T : {0, 1}) {
    for (const std::int64_t V : {1, 16}) {
      WkvCase c = kCase;
      c.T = T, c.V = V;
      expect_words_for_empty(make_problem(c));
      expect_words_for_empty(WkvGradProblem(c));
    }
  }
  expect_words_for_empty(make_problem(packed(kCase, {0, 0})));
}

// WKV as a scalar loop, one state element after another.
struct WrittenOut {
  std::function<double(double)> factor = [](double log_w) { return std::exp(log_w); };
  bool decays_first = false;  // decays the state before o reads it
  // Changes the state at the end of each chunk of 16.
  std::function<double(double state, double w)> at_edge = [](double state, double) {
    return state;
  };
};

WkvOutputs written_out(const WkvProblem& problem, const WrittenOut& how) {
  const WkvCase& c = problem.drawn_case();
  const WkvArgs args = problem.args();
  std::vector<double> o(c.B * c.T * c.H * c.V), final_state(c.B * c.H * c.K * c.V);
  for (std::int64_t at = 0; at < std::ssize(final_state); ++at) {
    const std::int64_t i = at % c.V, j = at / c.V % c.K, h = at / c.V / c.K % c.H;
    double state = args.initial_state[at];
    for (std::int64_t n = 0; n < c.T; ++n) {
      const std::int64_t t = c.reverse ? c.T - 1 - n : n;
      const std::int64_t row = (at / (c.H * c.K * c.V) * c.T + t) * c.H + h;
      const double kv = double(args.k[row * c.K + j]) * args.v[row * c.V + i];
      const double w = how.factor(args.log_w[row * c.K + j]);
      const double read = (how.decays_first ? w * state : state) + args.u[h * c.K + j] * kv;
      o[row * c.V + i] += c.scale * args.q[row * c.K + j] * read;
      state = w * state + kv;
      if ((n + 1) % 16 == 0) state = how.at_edge(state, w);
    }
    final_state[at] = state;
  }
  return {{o.begin(), o.end()}, {final_state.begin(), final_state.end()}};
}

TEST(Diagnosis, DecayBeforeRead) {
  const WkvProblem problem = make_problem(kCase);
  expect_wrong("the decay applied before the read", problem,
               written_out(problem, {.decays_first = true}));
}

TEST(Diagnosis, LogarithmAsFactor) {
  for (const bool reverse : {false, true}) {
    WkvCase c = kCase;
    c.reverse = reverse;
    const WkvProblem problem = make_problem(c);
    expect_wrong("log_w itself as the decay factor", problem,
                 written_out(problem, {.factor = [](double log_w) { return log_w; }}));
  }
}

TEST(Chunks, DecayAtTheirEdgesMustNotBeDoneTwiceOrForgotten) {
  const WkvProblem problem = make_problem(kCase);
  EXPECT_EQ(verdict(problem, written_out(problem, {})), "right");
  const auto expect = [&](double (*at_edge)(double state, double w)) {
    expect_wrong("right at first, then wrong: steps 16 to 36", problem,
                 written_out(problem, {.at_edge = at_edge}));
  };
  expect([](double state, double w) { return w * state; });
  expect([](double state, double w) { return state / w; });
  expect([](double, double) { return 0.0; });
}

TEST(Diagnosis, OneStepLate) {
  const WkvProblem problem = make_problem(kCase);
  expect_words(
      "A change of q(b=1, t=18, h=1, j=8) alone changes o of step 19; it should change o of "
      "step 18.\n",
      said_of_kernel(problem, [](const WkvProblem& given) {
        WkvOutputs outputs = right_answer(given);
        const std::size_t step = kCase.H * kCase.V;
        outputs.o.insert(outputs.o.begin(), step, 0.0f);
        for (std::int64_t b = 0; b < kCase.B; ++b)
          std::fill_n(outputs.o.begin() + b * kCase.T * step, step, 0.0f);
        outputs.o.resize(kCase.B * kCase.T * step);
        return outputs;
      }));
}

TEST(OnDevice, NoticesWritesOutsideTheOutput) {
  const WkvProblem problem = make_problem(kCase);
  const auto expect_thrown = [&](void (*launch)(const WkvArgs&)) {
    EXPECT_THROW(run({.name = "elsewhere", .launchers = launchers<Wkv>(launch)}, problem),
                 WroteElsewhere);
  };
  expect_thrown([](const WkvArgs& a) { a.o[a.B * a.T * a.H * a.V] = 0.0f; });
  expect_thrown([](const WkvArgs& a) { a.o[-1] = 0.0f; });
  expect_thrown([](const WkvArgs& a) { const_cast<float*>(a.q)[0] = 3.0f; });
}

TEST(OnDevice, PoisonsOutputs) {
  const Implementation lazy{.name = "lazy", .launchers = launchers<Wkv>([](const WkvArgs&) {})};
  for (float value : run(lazy, make_problem(kCase)).o)
    EXPECT_TRUE(std::isnan(value));
}

TEST(OnDevice, PlacesAnArrayOneElementOff) {
  const WkvProblem problem = make_problem(kCase);
  const auto offset = [&](const char* array) {
    const ShiftedArray shifted(array);
    const OnDevice<Wkv, WkvArgs> on_device(device(DeviceKind::kCpu), problem);
    on_device.download();  // checks that guards and inputs are unchanged
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
    expect_refused("log_w[1]", [&] { check_log_w(values, 2); });
  }
}

TEST(Input, DecayParametrisations) {
  EXPECT_FLOAT_EQ(log_decay_from_rwkv(0.0f), -1.0f);
  EXPECT_FLOAT_EQ(log_decay_from_gla_gate(0.0f), std::log(0.5f) / 16.0f);
  EXPECT_FLOAT_EQ(log_decay_from_gla_gate(-200.0f), -200.0f / 16.0f);
  EXPECT_LE(log_decay_from_gla_gate(200.0f), 0.0f);
  EXPECT_TRUE(std::isfinite(log_decay_from_gla_gate(-3e38f)));
}

// A key that decays below 2^-14 is off by at most 2^-25 as an fp16 factor. Values are at most 1/64.
TEST(Fp16, AStateMayLackWhatADecayedKeyLosesAndNoMore) {
  WkvCase c{.B = 1, .T = 8, .H = 1, .K = 16, .V = 16, .precision = Precision::kFp16};
  c.decay = Decay::kStrong;
  c.magnitude = 0x1p-6f;
  c.final_state = true;
  WkvProblem problem = make_problem(c);
  for (std::int64_t t = 0; t < c.T; ++t)
    problem["k"][t * c.K + 3] = 0;  // makes a row of the state 0
  WkvOutputs outputs = right_answer(problem);
  outputs.final_state[3 * c.V] = 0x1p-31f;
  EXPECT_TRUE(is_right(problem, outputs, Arithmetic::kBf16Operands));
  EXPECT_FALSE(is_right(problem, outputs, Arithmetic::kFp32));
  outputs.final_state[3 * c.V] = 0x1p-27f;
  EXPECT_FALSE(is_right(problem, outputs, Arithmetic::kBf16Operands));
}

TEST(Fp16, IsNoStorageOfTheGradientsOfWkv) {
  const WkvCase c{.precision = Precision::kFp16};
  EXPECT_EQ(storage_of(make_problem(c).drawn_case()), "fp16");
  EXPECT_THROW(make_grad_problem(c), std::invalid_argument);
  EXPECT_THROW(with_storage<WkvBackward>("fp16", []<typename>() {}), std::invalid_argument);
}

}  // namespace
}  // namespace ladder::testing
