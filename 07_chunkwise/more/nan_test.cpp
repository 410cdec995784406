// A NaN stays in its batch, its head and its packed sequence, and all elements that depend on it by
// the formula are NaN. If a kernel multiplies blocks of 16 steps by blocks whose masked elements
// are 0, NaN also reaches steps of its own 16 that do not depend on it, because 0 times NaN is NaN.
// Everything else must keep every bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/linear_attention/truth.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::find_implementation;
using ladder::Implementation;
using ladder::LinearAttentionCase;
using ladder::LinearAttentionProblem;
using ladder::Precision;
using ladder::Recurrence;
using ladder::WkvCase;
using ladder::WkvGradProblem;
using ladder::WkvProblem;
using Floats = std::vector<float>;

constexpr std::int64_t kUnit = 16;

// The position of the NaN, one channel of one step of one head. Steps are counted over all batches,
// or over all packed sequences.
struct Place {
  std::int64_t step, h, channel;
  std::int64_t sequence_begin;  // of the step's sequence
};

// An array (steps, H, width).
void poison(Floats& values, std::int64_t steps, std::int64_t H, const Place& place) {
  const std::int64_t width = std::ssize(values) / (steps * H);
  values[(place.step * H + place.h) * width + place.channel] = NAN;
}

// An output array (steps, H, width), from a clean run and from the one with NaN.
struct Array {
  const char* name;
  const Floats& clean;
  const Floats& poisoned;
  const std::vector<double>& truth;  // of the poisoned problem
  std::int64_t H, width;
};

enum class Reaches { kFormula, kOwnUnit };

void expect_isolated(const Array& array, const Place& place, Reaches reaches) {
  ASSERT_EQ(array.poisoned.size(), array.truth.size()) << array.name;
  int lost = 0, leaked = 0;
  for (std::size_t i = 0; i < array.truth.size(); ++i) {
    if (std::isnan(array.truth[i])) {
      lost += !std::isnan(array.poisoned[i]);
      continue;
    }
    const std::int64_t row = static_cast<std::int64_t>(i) / array.width, step = row / array.H;
    const std::int64_t from_begin = step - place.sequence_begin;
    const bool own_unit = row % array.H == place.h && from_begin >= 0 &&
                          from_begin / kUnit == (place.step - place.sequence_begin) / kUnit;
    if (reaches == Reaches::kOwnUnit && own_unit) continue;
    leaked += array.poisoned[i] != array.clean[i];
  }
  EXPECT_EQ(lost, 0) << array.name << ": NaNs became numbers";
  EXPECT_EQ(leaked, 0) << array.name << ": elements that a NaN must not reach";
}

// Arrays without steps, (sequences, H, ...) or (H, ...).
void expect_isolated(const char* name, const Floats& clean, const Floats& poisoned,
                     const std::vector<double>& truth) {
  expect_isolated({name, clean, poisoned, truth, 1, 1}, {-1, 0, 0, 0}, Reaches::kFormula);
}

constexpr std::int64_t kSteps = 70;

WkvCase two_batches(Recurrence recurrence, Precision precision) {
  WkvCase c{.recurrence = recurrence, .B = 2, .T = kSteps, .H = 2, .K = 20, .V = 20};
  c.initial_state = c.final_state = true;
  c.precision = precision;
  return c;
}

// Step 21 of the second batch, whose sub-chunk is steps 16 to 31. In the packed case it is the
// sixth step of the second sequence.
constexpr Place kInBatch{.step = kSteps + 21, .h = 1, .channel = 3, .sequence_begin = kSteps};
constexpr Place kInSequence{.step = 25, .h = 1, .channel = 3, .sequence_begin = 20};

void expect_forward_isolation(const std::string& name, const WkvCase& c, const Place& place,
                              Reaches values_reach) {
  const Implementation implementation = find_implementation(name);
  const WkvProblem problem = make_problem(c);
  const ladder::WkvOutputs clean = run(implementation, problem);
  for (const std::string what : {"q", "k", "v", "log_w"}) {
    SCOPED_TRACE(name + " " + name_of(c) + ": NaN in " + what);
    WkvProblem bad = problem;
    poison(bad[what], c.B * c.T, c.H, place);
    const auto truth = ladder::wkv_recurrence(bad.args());
    const ladder::WkvOutputs outputs = run(implementation, bad);
    const bool values = what == "v";
    expect_isolated({"o", clean.o, outputs.o, truth.o, c.H, c.V}, place,
                    values ? values_reach : Reaches::kFormula);
    expect_isolated("final_state", clean.final_state, outputs.final_state, truth.final_state);
    if (!values || values_reach == Reaches::kFormula) continue;
    // The README and the kernel's head state this. If it changes, they must change too.
    const std::int64_t first = place.step - (place.step - place.sequence_begin) % kUnit;
    for (std::int64_t step = first; step < place.step; ++step)
      EXPECT_TRUE(std::isnan(outputs.o[(step * c.H + place.h) * c.V + place.channel]))
          << "step " << step << " is in the unit of the NaN, and is not NaN";
  }
}

KERNEL_TEST(wkv_chunkwise, KeepsNanInItsBatchHeadAndSequence) {
  for (const char* name : {"wkv_chunkwise_fused", "wkv_chunkwise_time_parallel"}) {
    expect_forward_isolation(name, two_batches(Recurrence::kWkv, Precision::kBf16), kInBatch,
                             Reaches::kOwnUnit);
    expect_forward_isolation(name, two_batches(Recurrence::kGla, Precision::kFp32), kInBatch,
                             Reaches::kOwnUnit);
    expect_forward_isolation(name,
                             packed(two_batches(Recurrence::kWkv, Precision::kBf16), {20, 30, 20}),
                             kInSequence, Reaches::kOwnUnit);
  }
}

// The only kernels of the chapter that read no masked score.
KERNEL_TEST(gla_five_steps, LetsNanReachNoEarlierStep) {
  expect_forward_isolation("gla_five_steps", two_batches(Recurrence::kGla, Precision::kFp32),
                           kInBatch, Reaches::kFormula);
}

// log_w is clamped if it is too small, but not if it is NaN.
KERNEL_TEST(gla_five_steps, KeepsANanGate) {
  const Implementation implementation = find_implementation("gla_five_steps");
  for (const bool per_head : {false, true}) {
    WkvCase c = two_batches(Recurrence::kGla, Precision::kFp32);
    c.decay_per_head = per_head;
    WkvProblem problem = make_problem(c);
    std::fill(problem["log_w"].begin(), problem["log_w"].end(), NAN);
    const ladder::WkvOutputs outputs = run(implementation, problem);
    for (const Floats* array : {&outputs.o, &outputs.final_state})
      for (const float x : *array)
        ASSERT_TRUE(std::isnan(x)) << "every log_w is NaN, and a result is " << x;
  }
}

KERNEL_TEST(linear_attention_chunkwise, KeepsNanInItsBatchAndHead) {
  for (const char* name : {"linear_attention_chunkwise", "linear_attention_chunk_walk",
                           "linear_attention_chunk_states"}) {
    const Implementation implementation = find_implementation(name);
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      if (precision == Precision::kBf16 &&
          ladder::launcher<ladder::LinearAttention, ladder::LinearAttentionBf16Args>(
              implementation) == nullptr)
        continue;
      for (const bool normalize : {false, true}) {
        LinearAttentionCase c{.B = 2, .T_q = kSteps, .T_k = kSteps, .H = 2, .K = 20, .V = 20};
        c.normalize = normalize;
        c.precision = precision;
        const LinearAttentionProblem problem = make_problem(c);
        const Floats clean = run(implementation, problem);
        for (const std::string what : {"q", "k", "v"}) {
          SCOPED_TRACE(std::string(name) + " " + name_of(c) + ": NaN in " + what);
          LinearAttentionProblem bad = problem;
          poison(bad[what], c.B * kSteps, c.H, kInBatch);
          expect_isolated({"o", clean, run(implementation, bad),
                           ladder::linear_attention_recurrence(bad), c.H, c.V},
                          kInBatch, what == "v" ? Reaches::kOwnUnit : Reaches::kFormula);
        }
      }
    }
  }
}

// The gradients need more products, so a NaN of any input may reach all gradients of its own 16
// steps.
KERNEL_TEST(chunkwise_backward, KeepsNanInItsBatchAndHead) {
  for (const auto& [name, recurrence] : {std::pair{"wkv_chunkwise_backward", Recurrence::kWkv},
                                         {"gla_chunkwise_backward", Recurrence::kGla}}) {
    const Implementation implementation = find_implementation(name);
    const Precision precision =
        recurrence == Recurrence::kGla ? Precision::kBf16 : Precision::kFp32;
    const WkvCase c = two_batches(recurrence, precision);
    const WkvGradProblem problem = make_grad_problem(c);
    const ladder::WkvGradients clean = run_backward(implementation, problem);
    for (const std::string what : {"q", "k", "v", "log_w", "d_o"}) {
      SCOPED_TRACE(name_of(c) + ": NaN in " + what);
      WkvGradProblem bad = problem;
      poison(bad[what], c.B * c.T, c.H, kInBatch);
      const auto truth = ladder::wkv_gradients(bad.args());
      const ladder::WkvGradients out = run_backward(implementation, bad);
      const auto check = [&](const char* array, const Floats& before, const Floats& after,
                             const std::vector<double>& right, std::int64_t width) {
        expect_isolated({array, before, after, right, c.H, width}, kInBatch, Reaches::kOwnUnit);
      };
      check("dq", clean.dq, out.dq, truth.dq, c.K);
      check("dk", clean.dk, out.dk, truth.dk, c.K);
      check("dv", clean.dv, out.dv, truth.dv, c.V);
      check("d_log_w", clean.d_log_w, out.d_log_w, truth.d_log_w, c.K);
      expect_isolated("du", clean.du, out.du, truth.du);
      expect_isolated("d_initial_state", clean.d_initial_state, out.d_initial_state,
                      truth.d_initial_state);
    }
  }
}

}  // namespace
