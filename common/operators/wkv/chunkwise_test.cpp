// Tests of the judge for chunkwise kernels, GLA and gradients. It must refuse wrong answers with
// the right diagnosis, and allow the rounding of tensor cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "common/core/bfloat16.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

constexpr std::int64_t kChunk = 16;

WkvCase case_of(Recurrence recurrence) {
  WkvCase c{.recurrence = recurrence, .B = 2, .T = 37, .H = 3, .K = 16, .V = 16};
  c.initial_state = c.final_state = true;
  c.scale = 0.5f;
  return c;
}

TEST(Gla, AcceptsTheRightAnswer) {
  for (const WkvCase& c : wkv_cases({.sizes = {{"T", {0, 1, 17, 65}}}}, Recurrence::kGla)) {
    expect_right_truth(make_problem(c));
  }
}

TEST(Gla, NamesTheMomentOfTheRead) {
  WkvProblem problem = make_problem(case_of(Recurrence::kGla)), other = problem;
  other.drawn_case().recurrence = Recurrence::kWkv;
  other["u"].assign(other.drawn_case().H * other.drawn_case().K, 0.0f);
  expect_wrong("equals the result with the state read before the update", problem,
               right_answer(other));

  problem = other = make_problem(case_of(Recurrence::kWkv));
  other.drawn_case().recurrence = Recurrence::kGla;
  other["u"].clear();
  expect_wrong("equals the result with the state read after the update.", problem,
               right_answer(other));
}

TEST(Gla, KnowsTheMisconceptionsOfWkv) {
  const WkvProblem problem = make_problem(case_of(Recurrence::kGla));
  const auto expect = [&](const std::string& words, void (*change)(WkvProblem&)) {
    expect_words(words, said_of_kernel(problem, [&](WkvProblem other) {
                   change(other);
                   return right_answer(other);
                 }));
  };
  expect("the scale forgotten", [](auto& p) { p.drawn_case().scale = 1.0f; });
  expect("o does not change with initial_state", [](auto& p) { p["initial_state"].clear(); });
  expect("k and v swapped", [](auto& p) { std::swap(p["k"], p["v"]); });
}

// Overwrites the last partial chunk in the direction of time.
void drop_last_chunk(const WkvCase& c, std::vector<float>& o, float left_behind) {
  const std::int64_t step = c.H * c.V, dropped = c.T % kChunk;
  for (std::int64_t b = 0; b < c.B; ++b) {
    const std::int64_t first = c.reverse ? 0 : c.T - dropped;
    std::fill_n(o.begin() + (b * c.T + first) * step, dropped * step, left_behind);
  }
}

TEST(Chunks, TheLastPartialOneMustNotBeMissing) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const bool reverse : {false, true}) {
      for (const float left_behind : {0.0f, poison<float>()}) {
        WkvCase c = case_of(recurrence);
        c.reverse = reverse;
        const WkvProblem problem = make_problem(c);
        WkvOutputs outputs = right_answer(problem);
        drop_last_chunk(c, outputs.o, left_behind);
        expect_wrong("the last partial chunk of 16 or 32 missing", problem, outputs);
      }
    }
  }
}

// Steps of NaN were computed, so they are not missing.
TEST(Chunks, OneOfNanIsNotMissing) {
  const WkvProblem problem = make_problem(case_of(Recurrence::kWkv));
  WkvOutputs outputs = right_answer(problem);
  drop_last_chunk(problem.drawn_case(), outputs.o, kNan);
  const std::string message = verdict(problem, outputs);
  expect_words("is NaN", message);
  EXPECT_EQ(message.find("missing"), std::string::npos) << message;
}

TEST(Chunks, TheLastPartialOneMustNotBeMissingFromTheState) {
  const WkvProblem problem = make_problem(case_of(Recurrence::kGla));
  const WkvCase& c = problem.drawn_case();
  WkvProblem without = problem;
  const std::int64_t step = c.H * c.K;
  for (const char* array : {"k", "log_w"}) {
    for (std::int64_t b = 0; b < c.B; ++b)
      std::fill_n(without[array].begin() + (b * c.T + 32) * step, 5 * step, 0.0f);
  }
  WkvOutputs outputs = right_answer(problem);
  outputs.final_state = right_answer(without).final_state;
  const std::string message = verdict(problem, outputs);
  expect_words("WRONG RESULT in final_state", message);
  expect_words("equals the result with the last partial chunk of 16 or 32 missing", message);
}

TEST(PackedSequences, MustNotRunIntoEachOther) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    const WkvProblem problem = make_problem(packed(case_of(recurrence), {5, 0, 17, 15}));
    EXPECT_EQ(verdict(problem, right_answer(problem)), "right");
    WkvProblem one = problem;
    one.drawn_case().lengths = {};
    one.array<std::int64_t>("cu_seqlens").clear();
    WkvOutputs outputs = right_answer(problem);
    outputs.o = right_answer(one).o;
    expect_wrong("the sequences running into each other", problem, outputs);
  }
}

TEST(PackedSequences, StatesAreNamedBySequence) {
  const WkvProblem problem = make_problem(packed(case_of(Recurrence::kGla), {5, 0, 17, 15}));
  WkvOutputs outputs = right_answer(problem);
  outputs.final_state[3 * 3 * 16 * 16] += 1.0f;
  expect_wrong("final_state(sequence=3, h=0, j=0, i=0)", problem, outputs);
}

TEST(PackedSequences, MustMatchTheSizes) {
  WkvCase c = packed(case_of(Recurrence::kGla), {5, 17});
  c.B = 2;
  EXPECT_THROW(make_problem(c), std::invalid_argument);
}

float bf16(double x) {
  return to_float(to_bfloat16(static_cast<float>(x)));
}

// A chunkwise kernel with bf16 operands (decayed q and k, states, scores) and an fp32 state.
WkvOutputs in_chunks_of_bf16(const WkvProblem& problem) {
  const WkvCase& c = problem.drawn_case();
  const WkvArgs args = problem.args();
  const bool gla = c.recurrence == Recurrence::kGla;
  WkvOutputs outputs = right_answer(problem);
  std::vector<double> o(outputs.o.size());
  for (std::int64_t bh = 0; bh < c.B * c.H; ++bh) {
    const std::int64_t h = bh % c.H;
    std::vector<double> state(args.initial_state + bh * c.K * c.V,
                              args.initial_state + (bh + 1) * c.K * c.V);
    const auto row = [&](std::int64_t t) { return (bh / c.H * c.T + t) * c.H + h; };
    for (std::int64_t first = 0; first < c.T; first += kChunk) {
      const std::int64_t end = std::min(first + kChunk, c.T);
      // The decay of key row j over steps a to b - 1.
      const auto decay = [&](std::int64_t a, std::int64_t b, std::int64_t j) {
        double sum = 0;
        for (std::int64_t t = a; t < b; ++t)
          sum += args.log_w[row(t) * c.K + j];
        return std::exp(sum);
      };
      for (std::int64_t t = first; t < end; ++t) {
        const std::int64_t reads = gla ? t + 1 : t;  // o reads the state after this many steps
        const float* q = args.q + row(t) * c.K;
        for (std::int64_t j = 0; j < c.K; ++j) {
          const float decayed = bf16(q[j] * decay(first, reads, j));
          for (std::int64_t i = 0; i < c.V; ++i)
            o[row(t) * c.V + i] += c.scale * decayed * bf16(state[j * c.V + i]);
        }
        for (std::int64_t s = first; s <= t; ++s) {
          double score = 0;
          for (std::int64_t j = 0; j < c.K; ++j) {
            const float k = args.k[row(s) * c.K + j];
            const double between = decay(s + 1, reads, j);
            score += !gla && s == t
                         ? q[j] * args.u[h * c.K + j] * k
                         : bf16(q[j] * std::sqrt(between)) * bf16(k * std::sqrt(between));
          }
          for (std::int64_t i = 0; i < c.V; ++i)
            o[row(t) * c.V + i] += c.scale * bf16(score) * args.v[row(s) * c.V + i];
        }
      }
      for (std::int64_t e = 0; e < c.K * c.V; ++e) {
        const std::int64_t j = e / c.V;
        state[e] *= decay(first, end, j);
        for (std::int64_t s = first; s < end; ++s) {
          state[e] += bf16(args.k[row(s) * c.K + j] * decay(s + 1, end, j)) *
                      args.v[row(s) * c.V + e % c.V];
        }
      }
    }
    std::copy(state.begin(), state.end(), outputs.final_state.begin() + bh * c.K * c.V);
  }
  std::transform(o.begin(), o.end(), outputs.o.begin(), bf16);
  return outputs;
}

TEST(Bf16Operands, AreAllowedWhereTheyAreSaid) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const Decay decay : {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kStrongToken}) {
      for (const std::int64_t T : {1, 5, 37, 130}) {
        WkvCase c = case_of(recurrence);
        c.T = T;
        c.decay = decay;
        c.precision = Precision::kBf16;
        const WkvProblem problem = make_problem(c);
        const WkvOutputs outputs = in_chunks_of_bf16(problem);
        EXPECT_EQ(verdict(problem, outputs, Arithmetic::kBf16Operands), "right") << name_of(c);
        if (T == 37 && decay == Decay::kMild) expect_wrong("", problem, outputs);
      }
    }
  }
}

TEST(Bf16Operands, AreNoExcuseForAWrongResult) {
  WkvCase c = case_of(Recurrence::kGla);
  c.precision = Precision::kBf16;
  const WkvProblem problem = make_problem(c);
  const auto refused = [&](const std::string& words,
                           const std::function<void(WkvOutputs&)>& spoil) {
    WkvOutputs outputs = in_chunks_of_bf16(problem);
    spoil(outputs);
    expect_wrong(words, problem, outputs, Arithmetic::kBf16Operands);
  };
  refused("o(b=0, t=2,", [](WkvOutputs& x) { x.o[100] *= 1.2f; });
  refused("", [](WkvOutputs& x) {  // two bits fewer
    for (float& value : x.o)
      value = to_float(bfloat16{static_cast<std::uint16_t>(to_bfloat16(value).bits & 0xfffcu)});
  });
  refused("last partial chunk", [&](WkvOutputs& x) { drop_last_chunk(c, x.o, 0.0f); });
  refused("final_state", [](WkvOutputs& x) { x.final_state[7] += 0.1f; });
}

TEST(Gradients, AcceptsTheRightAnswer) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const WkvCase& c : wkv_cases({.storages = {"fp32", "bf16", "bf16_fp32_decay"},
                            .sizes = {{"T", {0, 1, 17, 40}}, {"K", {4, 20}}, {"V", {8, 33}}}},
                                      recurrence)) {
      expect_right_truth(make_grad_problem(c));
    }
  }
}

// kBf16Operands has wider limits.
TEST(Gradients, AllowBf16OperandsWhereTheyAreSaid) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    WkvCase c = case_of(recurrence);
    c.precision = Precision::kBf16;
    const WkvGradProblem problem = make_grad_problem(c);
    const Outputs result = problem.op().plain(problem, Arithmetic::kBf16Operands);
    EXPECT_EQ(verdict(problem, result, Arithmetic::kBf16Operands), "right");
    WkvGradients rounded = right_answer(problem);
    for (float& x : rounded.d_initial_state)
      x = to_float(to_bfloat16(x));
    EXPECT_EQ(verdict(problem, rounded, Arithmetic::kBf16Operands), "right");
    expect_wrong("d_initial_state", problem, rounded);
  }
}

TEST(Gradients, RefusesOneNanInAnyOfThem) {
  const WkvGradProblem problem = make_grad_problem(case_of(Recurrence::kWkv));
  const WkvGradients right = right_answer(problem);
  WkvGradients::arrays(right, [&](const std::string& name, const std::vector<float>&) {
    const auto expect = [&](const std::string& words, void (*spoil)(std::vector<float>&)) {
      WkvGradients wrong = right;
      WkvGradients::arrays(wrong, [&](const char* other, std::vector<float>& values) {
        if (name == other) spoil(values);
      });
      expect_wrong(words, problem, wrong);
    };
    expect("WRONG RESULT in " + name + "\nis NaN: 1 of ", [](auto& x) { x[17] = kNan; });
    expect("WRONG RESULT in " + name, [](auto& x) { std::fill_n(x.begin() + 16, 16, 0.0f); });
    expect(name + " has", [](auto& x) { x.pop_back(); });
  });
}

TEST(Gradients, NamesWhatIsMissing) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    const WkvGradProblem problem = make_grad_problem(case_of(recurrence));
    const auto expect = [&](const std::string& words, std::vector<float> WkvGradients::*array,
                            const std::function<void(WkvGradProblem&)>& change) {
      expect_words(words, said_of_kernel(problem, [&](const WkvGradProblem& given) {
                     WkvGradProblem changed = given;
                     change(changed);
                     WkvGradients gradients = right_answer(given);
                     gradients.*array = right_answer(changed).*array;
                     return gradients;
                   }));
    };
    using G = WkvGradients;
    expect("dk does not change with d_final_state", &G::dk,
           [](auto& p) { p["d_final_state"].clear(); });
    expect("d_log_w does not change with initial_state", &G::d_log_w,
           [](auto& p) { p["initial_state"].clear(); });
    expect("the scale forgotten", &G::dq, [](auto& p) { p.drawn_case().scale = 1.0f; });
    expect("time running the other way", &G::dv, [](auto& p) { p.drawn_case().reverse = true; });
    if (recurrence == Recurrence::kGla) {
      expect("o read before the update", &G::d_log_w, [](auto& p) {
        p.drawn_case().recurrence = Recurrence::kWkv;
        p["u"].assign(3 * 16, 0.0f);
      });
    } else {
      expect("the bonus forgotten", &G::dv, [](auto& p) { p["u"].assign(3 * 16, 0.0f); });
    }
  }
}

TEST(Gradients, NamesOneOfTheFactorInsteadOfItsLogarithm) {
  const WkvGradProblem problem = make_grad_problem(case_of(Recurrence::kGla));
  WkvGradients gradients = right_answer(problem);
  for (std::size_t i = 0; i < gradients.d_log_w.size(); ++i)
    gradients.d_log_w[i] /= std::exp(problem["log_w"][i]);
  expect_wrong("of the decay factor, not of its logarithm", problem, gradients);
}

TEST(Gradients, NamesAMissingLastChunk) {
  const WkvGradProblem problem = make_grad_problem(case_of(Recurrence::kWkv));
  WkvGradients gradients = right_answer(problem);
  drop_last_chunk(problem.drawn_case(), gradients.dk, poison<float>());  // K = V
  expect_wrong("the last partial chunk of 16 or 32 missing", problem, gradients);
}

TEST(Gradients, MustAllBeWritten) {
  const WkvGradProblem problem = make_grad_problem(case_of(Recurrence::kWkv));
  const Implementation lazy{.name = "lazy",
                            .launchers = launchers<WkvBackward>([](const WkvGradArgs&) {})};
  const WkvGradients gradients = run_backward(lazy, problem);
  WkvGradients::arrays(gradients, [](const char* name, const auto& values) {
    EXPECT_FALSE(values.empty()) << name;
    for (const float x : values)
      EXPECT_TRUE(std::isnan(x)) << name;
  });
}

TEST(Gradients, NoticesWritesElsewhere) {
  const WkvGradProblem problem = make_grad_problem(case_of(Recurrence::kWkv));
  const auto expect_thrown = [&](void (*launch)(const WkvGradArgs&)) {
    const Implementation elsewhere{.name = "elsewhere",
                                   .launchers = launchers<WkvBackward>(launch)};
    EXPECT_THROW(run_backward(elsewhere, problem), WroteElsewhere);
  };
  expect_thrown([](const WkvGradArgs& a) { a.du[a.forward.H * a.forward.K] = 0; });
  expect_thrown([](const WkvGradArgs& a) { a.d_log_w[-1] = 0; });
  expect_thrown([](const WkvGradArgs& a) { const_cast<float*>(a.d_o)[0] = 7; });
  expect_thrown([](const WkvGradArgs& a) { const_cast<float*>(a.forward.u)[0] = 7; });
}

}  // namespace
}  // namespace ladder::testing
