#include "common/operators/suite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "common/operators/compare.hpp"
#include "common/operators/named_words.hpp"
#include "common/operators/plain_case.hpp"
#include "common/operators/sequence_suite.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/operators/wkv/reference.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

// Tests' names start with what tells their operator from WKV.
template <typename Op>
constexpr const char* kPrefix = "";
template <>
constexpr const char* kPrefix<Gla> = "Gla";
template <>
constexpr const char* kPrefix<WkvBackward> = "Backward";
template <>
constexpr const char* kPrefix<GlaBackward> = "GlaBackward";

template <typename Op>
constexpr bool kIsGla = std::is_same_v<Op, Gla> || std::is_same_v<Op, GlaBackward>;
template <typename Op>
constexpr Recurrence kRecurrence = kIsGla<Op> ? Recurrence::kGla : Recurrence::kWkv;

// What the lists do not tell, of the forward pass's arguments.
template <typename Args>
std::vector<BadInput<Args>> bad_wkv_inputs(const WkvSupport& support, Recurrence recurrence) {
  static const std::int64_t cu_seqlens[] = {0, 3};
  static const Pointee<decltype(Args::u)> some_u{};
  static float some_state = 0;
  std::vector<BadInput<Args>> bad = {{"log_w", [](Args& a) { a.log_w_stride_T = 1; }}};
  if (recurrence == Recurrence::kGla) {
    bad.push_back({"u", [](Args& a) { a.u = &some_u; }});
  } else {
    bad.push_back({"u", [](Args& a) { a.u = nullptr; }});
  }
  if (support.square_heads_only) {
    bad.push_back({"K", [](Args& a) {
                     a.K = a.V = 65;
                     a.log_w_stride_B = a.log_w_stride_T = 0;
                   }});
    bad.push_back({"V", [](Args& a) { a.V = 32; }});
  }
  // One more than the most; a decay per head, whose strides do not depend on sizes.
  const auto beyond = [&](const char* argument, std::int64_t Args::*size, std::int64_t most) {
    if (most == 0) return;
    bad.push_back({argument, [=](Args& a) {
                     a.*size = most + 1;
                     a.log_w_stride_B = a.log_w_stride_T = 0;
                   }});
  };
  beyond("K", &Args::K, support.most_K);
  beyond("V", &Args::V, support.most_V);
  beyond("T", &Args::T, support.most_T);
  if (support.most_batch_heads != 0) {
    bad.push_back({"H", [=](Args& a) {
                     a.B = 1;
                     a.H = support.most_batch_heads + 1;
                     a.log_w_stride_B = a.log_w_stride_T = 0;
                   }});
  }
  if (support.states) {
    bad.push_back({"initial_state", [](Args& a) {
                     a.initial_state = reinterpret_cast<const float*>(a.q);
                     misalign(a.initial_state);
                   }});
  } else {
    bad.push_back({"initial_state", [](Args& a) { a.initial_state = &some_state; }});
    bad.push_back({"final_state", [](Args& a) { a.final_state = &some_state; }});
  }
  if (!support.reverse) bad.push_back({"reverse", [](Args& a) { a.reverse = true; }});
  if (support.packed) {
    const auto pack = [](Args& a) {
      a.cu_seqlens = cu_seqlens;
      a.sequences = 1;
    };
    bad.push_back({"B", [=](Args& a) {
                     pack(a);
                     a.B = 2;
                   }});
    bad.push_back({"sequences", [=](Args& a) {
                     pack(a);
                     a.sequences = -1;
                   }});
    bad.push_back({"cu_seqlens", [=](Args& a) {
                     pack(a);
                     misalign(a.cu_seqlens);
                   }});
  } else {
    bad.push_back({"cu_seqlens", [](Args& a) { a.cu_seqlens = cu_seqlens; }});
  }
  return bad;
}

template <typename Args>
std::vector<BadInput<Args>> bad_gradient_inputs(const WkvSupport& support, Recurrence recurrence) {
  std::vector<BadInput<Args>> bad;
  if (recurrence == Recurrence::kWkv) bad.push_back({"du", [](Args& a) { a.du = nullptr; }});
  for (const auto& [argument, spoil] : bad_wkv_inputs<decltype(Args::forward)>(support, recurrence))
    bad.push_back({argument, [spoil = spoil](Args& a) { spoil(a.forward); }});
  return bad;
}

// Those of the house's first case, as far as they are supported: sizes that are unlike each other and no powers of two.
WkvCase ragged_case(const WkvSupport& support, Recurrence recurrence) {
  WkvCase c{.recurrence = recurrence, .B = 2, .T = 37, .H = 3};
  c.K = preferred(support.K_sizes, 64);
  c.V = support.square_heads_only ? c.K : preferred(support.V_sizes, 100);
  c.precision = support.fp32 ? Precision::kFp32 : Precision::kBf16;
  return c;
}

std::vector<Precision> precisions(const WkvSupport& support) {
  std::vector<Precision> result;
  if (support.fp32) result.push_back(Precision::kFp32);
  if (support.bf16) {
    result.push_back(Precision::kBf16);
    result.push_back(Precision::kBf16Fp32Decay);
  }
  return result;
}

// (B, T, H, width) without the steps outside of begin..end - 1.
void cut_in_time(Tensor<float>& tensor, std::int64_t begin, std::int64_t end) {
  if (tensor.shape.size() != 4) return;
  const std::int64_t B = tensor.shape[0], T = tensor.shape[1];
  const std::int64_t row = tensor.shape[2] * tensor.shape[3], length = end - begin;
  Tensor<float> result({B, length, tensor.shape[2], tensor.shape[3]});
  for (std::int64_t b = 0; b < B; ++b) {
    std::copy_n(tensor.data.begin() + (b * T + begin) * row, length * row,
                result.data.begin() + b * length * row);
  }
  tensor = std::move(result);
}

// A part of a problem in time. The initial state is the whole's.
WkvProblem slice_in_time(const WkvProblem& whole, std::int64_t begin, std::int64_t end) {
  WkvProblem part = whole;
  part.wkv_case.T = end - begin;
  part.wkv_case.final_state = true;
  for (Tensor<float>* tensor : {&part.q, &part.k, &part.v, &part.log_w})
    cut_in_time(*tensor, begin, end);
  return part;
}

// Two parts one behind the other, for each of B batches.
std::vector<float> joined_in_time(const std::vector<float>& early, const std::vector<float>& late,
                                  std::int64_t B) {
  std::vector<float> joined;
  for (std::int64_t b = 0; b < B; ++b) {
    for (const std::vector<float>* part : {&early, &late}) {
      const std::int64_t size = static_cast<std::int64_t>(part->size()) / B;
      joined.insert(joined.end(), part->begin() + b * size, part->begin() + (b + 1) * size);
    }
  }
  return joined;
}

constexpr std::int64_t kCut = 17;

// The state goes from the first half in time to the second.
void split_and_resume(const Implementation& implementation, WkvCase c, bool reverse) {
  c.initial_state = c.final_state = true;
  c.reverse = reverse;
  const WkvProblem whole = make_problem(c);
  WkvProblem first = slice_in_time(whole, 0, kCut), second = slice_in_time(whole, kCut, c.T);
  if (reverse) std::swap(first, second);
  const WkvOutputs first_out = run(implementation, first);
  second.initial_state.data = first_out.final_state;
  const WkvOutputs second_out = run(implementation, second);
  const WkvOutputs& early = reverse ? second_out : first_out;
  const WkvOutputs& late = reverse ? first_out : second_out;
  const WkvOutputs joined{joined_in_time(early.o, late.o, c.B), second_out.final_state};
  EXPECT_TRUE(is_right(whole, joined, arithmetic_of(implementation, c.precision)));
}

// The state's gradient goes from the second half in time to the first.
void split_and_resume_backward(const Implementation& implementation, WkvCase c, bool reverse) {
  c.initial_state = c.final_state = true;
  c.reverse = reverse;
  const WkvGradProblem whole = make_grad_problem(c);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    WkvGradProblem result = whole;
    result.forward = slice_in_time(whole.forward, begin, end);
    cut_in_time(result.d_o, begin, end);
    return result;
  };
  WkvGradProblem first = part(0, kCut), second = part(kCut, c.T);
  if (reverse) std::swap(first, second);
  const auto between = reference::wkv_recurrence(first.forward).final_state;
  second.forward.initial_state.data.assign(between.begin(), between.end());
  const WkvGradients second_out = run_backward(implementation, second);
  first.d_final_state.data = second_out.d_initial_state;
  const WkvGradients first_out = run_backward(implementation, first);
  const WkvGradients& early = reverse ? second_out : first_out;
  const WkvGradients& late = reverse ? first_out : second_out;
  WkvGradients joined{joined_in_time(early.dq, late.dq, c.B),
                      joined_in_time(early.dk, late.dk, c.B),
                      joined_in_time(early.dv, late.dv, c.B),
                      joined_in_time(early.d_log_w, late.d_log_w, c.B),
                      first_out.du,
                      first_out.d_initial_state};
  std::transform(joined.du.begin(), joined.du.end(), second_out.du.begin(), joined.du.begin(),
                 std::plus<>());
  EXPECT_TRUE(is_right(whole, joined, arithmetic_of(implementation, c.precision)));
}

Design<WkvCase> wkv_design(const WkvSupport& support) {
  Design<WkvCase> design;
  design.factor("T", support.lengths, &WkvCase::T);
  design.factor("K", support.K_sizes, &WkvCase::K);
  if (!support.square_heads_only) design.factor("V", support.V_sizes, &WkvCase::V);
  design.factor("decay",
                std::vector<Decay>{Decay::kMild, Decay::kNone, Decay::kStrong, Decay::kTotal,
                                   Decay::kStrongToken},
                &WkvCase::decay);
  const std::vector<bool> both = {false, true};
  design.factor("decay_per_head", both, &WkvCase::decay_per_head);
  design.factor(
      "states", support.states ? both : std::vector<bool>{false},
      [](WkvCase& c, bool states) { c.initial_state = c.final_state = states; },
      [](const WkvCase& c) { return c.initial_state && c.final_state; });
  design.factor("reverse", support.reverse ? both : std::vector<bool>{false}, &WkvCase::reverse);
  design.factor("scale", std::vector<float>{1.0f, 0.125f}, &WkvCase::scale);
  design.factor("magnitude", std::vector<float>{1.0f, 1e8f, 1e-8f}, &WkvCase::magnitude);
  design.factor("precision", precisions(support), &WkvCase::precision);
  design.exclude("decay", Decay::kStrongToken, "decay_per_head", true,
                 "a decay per head is the same for all tokens");
  return design;
}

// Rows of whole 16-byte words, where a kernel may read words.
WkvCase aligned_case(const WkvSupport& support, Recurrence recurrence) {
  WkvCase c = ragged_case(support, recurrence);
  c.B = 1;
  c.H = 2;
  c.K = preferred(support.K_sizes, 64);
  c.V = support.square_heads_only ? c.K : preferred(support.V_sizes, 64);
  c.initial_state = c.final_state = support.states;
  return c;
}

// What the forward pass and the gradients have in common.
template <typename Op>
void register_common_tests(const std::string& implementation, const WkvSupport& support) {
  const std::string prefix = kPrefix<Op>;
  const auto expect = [](const Implementation& i, const WkvCase& c) {
    expect_right<Op>(i, Op::make_problem(c));
  };
  add_plain_case<Op>(implementation, prefix, plain_wkv_case(support, kRecurrence<Op>));
  const std::vector<WkvCase> cases = wkv_cases(support, kRecurrence<Op>);
  add_cases(implementation, prefix, wkv_design(support), cases, expect);
  const WkvCase ragged = ragged_case(support, kRecurrence<Op>);
  if (!support.square_heads_only) {
    add(
        implementation, prefix + "MatchesReferenceInNarrowRows",
        [=](const Implementation& i) {
          for (const Precision precision : precisions(support)) {
            for (const std::int64_t V : kNarrow) {
              for (const Decay decay : {Decay::kMild, Decay::kStrong, Decay::kTotal}) {
                WkvCase c = ragged;
                c.B = 1;
                c.H = 2;
                c.T = 18;
                c.V = V;
                c.decay = decay;
                c.precision = precision;
                c.initial_state = c.final_state = support.states && V % 2 == 0;
                expect(i, c);
              }
            }
          }
        },
        0);
  }
  add(implementation, prefix + "TakesAnEmptyBatch", [=](const Implementation& i) {
    WkvCase c = ragged;
    c.B = 0;
    expect(i, c);
  });
  add(
      implementation, prefix + "SurvivesEveryDecay",
      [=](const Implementation& i) {
        WkvCase c = ragged;
        c.B = c.H = 1;  // nine runs: they must be short
        c.T = 66;
        c.initial_state = c.final_state = support.states;
        c.decay = Decay::kFixed;
        for (const float log_w :
             {0.0f, -1e-3f, -0.1f, -0.6f, -1.3f, -5.0f, -16.0f, -1e4f, -INFINITY}) {
          c.fixed_log_w = log_w;
          expect(i, c);
        }
      },
      1);
  const std::vector<Precision> stored_as = precisions(support);
  for (std::size_t n = 0; n < stored_as.size(); ++n) {
    WkvCase c = aligned_case(support, kRecurrence<Op>);
    c.precision = stored_as[n];
    add(
        implementation, prefix + "TakesOrRefusesAnyAlignment" + test_word(c.precision),
        [=](const Implementation& i) {
          for (const std::int64_t T : {1, 17}) {
            WkvCase each = c;
            each.T = T;
            expect_right_or_refused_when_shifted(arrays_of<Op>(each), [&] { expect(i, each); });
          }
        },
        n);
  }
  if (!support.packed) return;
  for (const bool reverse : {false, true}) {
    if (reverse && !support.reverse) continue;
    add(implementation, prefix + "TakesPackedSequences" + (reverse ? "InReverse" : ""),
        [=](const Implementation& i) {
          WkvCase c = packed(ragged, {0, 5, 0, 17, 1, 150, 0});
          c.H = 2;
          c.initial_state = c.final_state = support.states;
          c.reverse = reverse;
          expect(i, c);
        });
  }
}

// Where a case's number that is none stands: the row of q, k and v of one step, in one head of the second sequence.
struct Place {
  std::int64_t sequence, step, h;
};

// What the place reaches of a (B, T, H, width) array: its own sequence and head, from the first step of its tile on.
Reach reach_of_token(const WkvProblem& problem, const Place& at, std::int64_t tile,
                     std::int64_t must_from, std::int64_t element, std::int64_t width) {
  const WkvCase& c = problem.wkv_case;
  const std::int64_t row = element / width, h = row % c.H, token = row / c.H;
  const WkvProblem::Sequence s = problem.sequence(at.sequence);
  if (h != at.h || token < s.first || token >= s.first + s.length) return Reach::kMustNot;
  const std::int64_t step = token - s.first;
  if (step >= must_from) return Reach::kMust;
  return step >= at.step / tile * tile ? Reach::kMay : Reach::kMustNot;
}

void spoil(WkvProblem& problem, const Place& at, float value) {
  const WkvCase& c = problem.wkv_case;
  const std::int64_t row = (problem.sequence(at.sequence).first + at.step) * c.H + at.h;
  std::fill_n(problem.q.data.begin() + row * c.K, c.K, value);
  std::fill_n(problem.k.data.begin() + row * c.K, c.K, value);
  std::fill_n(problem.v.data.begin() + row * c.V, c.V, value);
}

// A case whose second sequence is long enough for several tiles.
WkvCase isolation_case(const WkvSupport& support, Recurrence recurrence, bool packed_sequences) {
  const auto preferred = [](const std::vector<std::int64_t>& sizes, std::int64_t size) {
    return std::count(sizes.begin(), sizes.end(), size) > 0 ? size : sizes.front();
  };
  WkvCase c = ragged_case(support, recurrence);
  c.H = 2;
  c.T = 122;
  c.K = preferred(support.K_sizes, 32);
  c.V = support.square_heads_only ? c.K : preferred(support.V_sizes, 32);
  c.initial_state = c.final_state = support.states;
  return packed_sequences ? packed(c, {20, 122, 15}) : c;
}

constexpr Place kSpoilt{1, 119, 1};  // in tiles of 4, 16, 32 and 64 the first steps differ

void expect_isolation(const Implementation& i, const WkvSupport& support, const WkvCase& c) {
  const WkvProblem clean = make_problem(c);
  const WkvOutputs before = run(i, clean);
  const std::int64_t state = c.K * c.V, at_state = kSpoilt.sequence * c.H + kSpoilt.h;
  const auto expect_outputs = [&](const WkvProblem& problem, std::int64_t must_from) {
    const WkvOutputs after = run(i, problem);
    expect_reach("o", before.o, after.o, support.repeatable, [&](std::int64_t element) {
      return reach_of_token(clean, kSpoilt, support.nan_tile, must_from, element, c.V);
    });
    expect_reach("final_state", before.final_state, after.final_state, support.repeatable,
                 [&](std::int64_t element) {
                   return element / state == at_state ? Reach::kMust : Reach::kMustNot;
                 });
  };
  for (const float value : {kNan, INFINITY}) {
    SCOPED_TRACE(value);
    WkvProblem spoilt = clean;
    spoil(spoilt, kSpoilt, value);
    expect_outputs(spoilt, kSpoilt.step);
  }
  SCOPED_TRACE("log_w");
  WkvProblem spoilt = clean;
  const std::int64_t row =
      (clean.sequence(kSpoilt.sequence).first + kSpoilt.step) * c.H + kSpoilt.h;
  std::fill_n(spoilt.log_w.data.begin() + row * c.K, c.K, kNan);
  // WKV reads the state before it decays.
  expect_outputs(spoilt, kSpoilt.step + (c.recurrence == Recurrence::kWkv ? 1 : 0));
}

// A gradient may be reached from every step of its sequence and head.
void expect_isolated_gradients(const Implementation& i, const WkvSupport& support,
                               const WkvCase& c) {
  const WkvGradProblem clean = make_grad_problem(c);
  const WkvGradients before = run_backward(i, clean);
  const std::int64_t state = c.K * c.V, at_state = kSpoilt.sequence * c.H + kSpoilt.h;
  for (const float value : {kNan, INFINITY}) {
    SCOPED_TRACE(value);
    WkvGradProblem spoilt = clean;
    spoil(spoilt.forward, kSpoilt, value);
    const std::int64_t row =
        (clean.forward.sequence(kSpoilt.sequence).first + kSpoilt.step) * c.H + kSpoilt.h;
    std::fill_n(spoilt.d_o.data.begin() + row * c.V, c.V, value);
    const WkvGradients after = run_backward(i, spoilt);
    const auto expect_token = [&](const char* name, const std::vector<float>& was,
                                  const std::vector<float>& is, std::int64_t width) {
      expect_reach(name, was, is, support.repeatable, [&](std::int64_t element) {
        return reach_of_token(clean.forward, kSpoilt, c.T, c.T, element, width);
      });
    };
    expect_token("dq", before.dq, after.dq, c.K);
    expect_token("dk", before.dk, after.dk, c.K);
    expect_token("dv", before.dv, after.dv, c.V);
    expect_token("d_log_w", before.d_log_w, after.d_log_w, c.K);
    expect_reach("du", before.du, after.du, support.repeatable, [&](std::int64_t element) {
      return element / c.K == kSpoilt.h ? Reach::kMust : Reach::kMustNot;
    });
    expect_reach("d_initial_state", before.d_initial_state, after.d_initial_state,
                 support.repeatable, [&](std::int64_t element) {
                   return element / state == at_state ? Reach::kMust : Reach::kMustNot;
                 });
  }
}

template <typename Op>
bool register_forward_suite(const std::string& implementation, const WkvSupport& support) {
  register_common_tests<Op>(implementation, support);
  const std::string prefix = kPrefix<Op>;
  const WkvCase ragged = ragged_case(support, kRecurrence<Op>);
  add(implementation, prefix + "RefusesBadInput", [=](const Implementation& i) {
    expect_bad_input_refused<Op>(i, make_problem(ragged), [&]<typename Args>() {
      return bad_wkv_inputs<Args>(support, kRecurrence<Op>);
    });
  });
  // Nothing to read but the state, which is handed on.
  add(
      implementation, prefix + "TakesNoStepsAndNullTensors",
      [=](const Implementation& i) {
        WkvCase c = ragged;
        c.T = 0;
        c.initial_state = c.final_state = support.states;
        with_storage<Op>(storage_of(c), [&]<typename Args>() {
          const WkvProblem problem = make_problem(c);
          const OnDevice<Op, Args> on_device(device(i.device), problem);
          Args args = on_device.args();
          args.q = args.k = args.v = args.u = nullptr;
          args.log_w = nullptr;
          args.o = nullptr;
          launch<Op>(i, args);
          device(i.device).synchronize();
          EXPECT_EQ(on_device.download().final_state, problem.initial_state.data);
        });
      },
      0);
  for (const bool packed_sequences : {false, true}) {
    if (packed_sequences && !support.packed) continue;
    add(
        implementation, prefix + "KeepsNanToItself" + (packed_sequences ? "InPackedSequences" : ""),
        [=](const Implementation& i) {
          expect_isolation(i, support, isolation_case(support, kRecurrence<Op>, packed_sequences));
        },
        packed_sequences);
  }
  if (support.repeatable) {
    add(implementation, prefix + "IsRepeatable", [=](const Implementation& i) {
      WkvCase c = ragged;
      c.T = 65;
      const WkvProblem problem = make_problem(c);
      EXPECT_EQ(run(i, problem).o, run(i, problem).o);
    });
  }
  if (!support.states) return true;
  add(implementation, prefix + "SplitAndResume",
      [=](const Implementation& i) { split_and_resume(i, ragged, false); });
  if (support.reverse) {
    add(implementation, prefix + "SplitAndResumeInReverse",
        [=](const Implementation& i) { split_and_resume(i, ragged, true); });
  }
  return true;
}

template <typename Op>
bool register_backward_suite(const std::string& implementation, const WkvSupport& support) {
  register_common_tests<Op>(implementation, support);
  const std::string prefix = kPrefix<Op>;
  const WkvCase ragged = ragged_case(support, kRecurrence<Op>);
  WkvCase few_heads =
      ragged;  // for what runs several times: a backward pass takes the emulator long
  few_heads.B = 1;
  few_heads.H = 2;
  add(implementation, prefix + "RefusesBadInput", [=](const Implementation& i) {
    WkvCase c = ragged;
    c.final_state = support.states;
    expect_bad_input_refused<Op>(i, make_grad_problem(c), [&]<typename Args>() {
      return bad_gradient_inputs<Args>(support, kRecurrence<Op>);
    });
  });
  add(
      implementation, prefix + "TakesNoStepsAndNullTensors",
      [=](const Implementation& i) {
        WkvCase c = ragged;
        c.T = 0;
        c.initial_state = c.final_state = support.states;
        with_storage<Op>(storage_of(c), [&]<typename Args>() {
          const WkvGradProblem problem = make_grad_problem(c);
          const OnDevice<Op, Args> on_device(device(i.device), problem);
          Args args = on_device.args();
          args.forward.q = args.forward.k = args.forward.v = args.d_o = nullptr;
          args.forward.log_w = nullptr;
          args.dq = args.dk = args.dv = nullptr;
          args.d_log_w = nullptr;
          launch<Op>(i, args);
          device(i.device).synchronize();
          const WkvGradients gradients = on_device.download();
          EXPECT_EQ(gradients.d_initial_state, problem.d_final_state.data);
          EXPECT_EQ(gradients.du, std::vector<float>(problem.forward.u.data.size(), 0.0f));
        });
      },
      0);
  add(
      implementation, prefix + "KeepsNanToItself",
      [=](const Implementation& i) {
        expect_isolated_gradients(i, support, isolation_case(support, kRecurrence<Op>, false));
      },
      1);
  if (support.repeatable) {
    add(implementation, prefix + "IsRepeatable", [=](const Implementation& i) {
      WkvCase c = few_heads;
      c.T = 65;
      c.initial_state = support.states;
      const WkvGradProblem problem = make_grad_problem(c);
      EXPECT_TRUE(run_backward(i, problem) == run_backward(i, problem));
    });
  }
  if (!support.states) return true;
  add(implementation, prefix + "SplitAndResume",
      [=](const Implementation& i) { split_and_resume_backward(i, few_heads, false); });
  if (support.reverse) {
    add(implementation, prefix + "SplitAndResumeInReverse",
        [=](const Implementation& i) { split_and_resume_backward(i, few_heads, true); });
  }
  return true;
}

}  // namespace

WkvCase plain_wkv_case(const WkvSupport& support, Recurrence recurrence) {
  // With a scale that no other factor is by accident.
  WkvCase c{.recurrence = recurrence, .B = 2, .T = support.plain_steps, .H = 3, .scale = 0.7f};
  std::tie(c.K, c.V) = plain_sizes(
      support.K_sizes, support.square_heads_only ? support.K_sizes : support.V_sizes, c.T);
  c.precision = precisions(support).front();
  return c;
}

std::vector<WkvCase> wkv_cases(const WkvSupport& support, Recurrence recurrence) {
  std::vector<NamedCase> also;
  for (const NamedCase& named : support.also) {
    if (wkv_case(named).recurrence == recurrence) also.push_back(named);
  }
  return with_named(wkv_design(support).cases(
                        ragged_case(support, recurrence),
                        [&](WkvCase& c) {
                          std::tie(c.B, c.H) = batch_and_heads(c.T);
                          if (support.square_heads_only) c.V = c.K;
                        },
                        wanted_draw()),
                    also, wkv_case);
}

bool register_wkv_suite(const std::string& implementation, const WkvSupport& support) {
  return register_forward_suite<Wkv>(implementation, support);
}

bool register_gla_suite(const std::string& implementation, const WkvSupport& support) {
  return register_forward_suite<Gla>(implementation, support);
}

bool register_wkv_backward_suite(const std::string& implementation, const WkvSupport& support) {
  return register_backward_suite<WkvBackward>(implementation, support);
}

bool register_gla_backward_suite(const std::string& implementation, const WkvSupport& support) {
  return register_backward_suite<GlaBackward>(implementation, support);
}

WkvCase wkv_case(const NamedCase& named) {
  Words words(named.name);
  WkvCase c;
  if (words.next("gla")) c.recurrence = Recurrence::kGla;
  c.B = words.size("B");
  c.T = words.size("T");
  c.H = words.size("H");
  c.K = words.size("K");
  c.V = words.size("V");
  for (const auto& [word, decay] : {std::pair{"no_decay", Decay::kNone},
                                    {"mild", Decay::kMild},
                                    {"strong", Decay::kStrong},
                                    {"total", Decay::kTotal},
                                    {"one_total_token", Decay::kStrongToken}}) {
    if (words.next(word)) c.decay = decay;
  }
  c.decay_per_head = words.next("per_head");
  c.initial_state = words.next("from_state");
  c.final_state = words.next("to_state");
  c.reverse = words.next("reverse");
  c.scale = words.next("scaled") ? 0.125f : 1.0f;
  c.magnitude = magnitude(words);
  c.precision = precision(words);
  return checked(c, named);
}

}  // namespace ladder::testing
