#include "common/testing/suite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "common/core/device_problem.hpp"
#include "common/core/registry.hpp"
#include "common/reference/wkv.hpp"
#include "common/testing/compare.hpp"
#include "common/testing/suite_tests.hpp"

namespace ladder::testing {
namespace {

// Long sequences get fewer heads, so that no case takes the emulator more than about a second.
std::pair<std::int64_t, std::int64_t> batch_and_heads(std::int64_t T) {
  return T < 100 ? std::pair<std::int64_t, std::int64_t>{2, 3}
                 : std::pair<std::int64_t, std::int64_t>{1, 2};
}

// Which operator of two a suite is about. Its tests' names start with what tells it from WKV.
struct WkvOperator {
  Recurrence recurrence;
  const char* prefix;
};

constexpr WkvOperator kWkv{Recurrence::kWkv, ""}, kGla{Recurrence::kGla, "Gla"};
constexpr WkvOperator kWkvBackward{Recurrence::kWkv, "Backward"};
constexpr WkvOperator kGlaBackward{Recurrence::kGla, "GlaBackward"};

template <typename Element, typename LogW>
std::vector<BadInput<BasicWkvArgs<Element, LogW>>> bad_wkv_inputs(const WkvSupport& support,
                                                                  Recurrence recurrence) {
  using Args = BasicWkvArgs<Element, LogW>;
  static const std::int64_t cu_seqlens[] = {0, 3};
  static const Element some_u{};
  static float some_state = 0;
  std::vector<BadInput<Args>> bad = {
      {"B", [](Args& a) { a.B = -1; }},
      {"T", [](Args& a) { a.T = -1; }},
      {"H", [](Args& a) { a.H = 0; }},
      {"K", [](Args& a) { a.K = 0; }},
      {"V", [](Args& a) { a.V = -64; }},
      {"q", [](Args& a) { a.q = nullptr; }},
      {"k", [](Args& a) { a.k = nullptr; }},
      {"v", [](Args& a) { a.v = nullptr; }},
      {"log_w", [](Args& a) { a.log_w = nullptr; }},
      {"q", [](Args& a) { misalign(a.q); }},
      {"log_w", [](Args& a) { a.log_w_stride_T = 1; }},
  };
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

template <typename Element, typename LogW>
std::vector<BadInput<BasicWkvGradArgs<Element, LogW>>> bad_gradient_inputs(
    const WkvSupport& support, Recurrence recurrence) {
  using Args = BasicWkvGradArgs<Element, LogW>;
  std::vector<BadInput<Args>> bad = {
      {"d_o", [](Args& a) { a.d_o = nullptr; }},         {"dq", [](Args& a) { a.dq = nullptr; }},
      {"dk", [](Args& a) { a.dk = nullptr; }},           {"dv", [](Args& a) { a.dv = nullptr; }},
      {"d_log_w", [](Args& a) { a.d_log_w = nullptr; }}, {"dv", [](Args& a) { misalign(a.dv); }},
  };
  if (recurrence == Recurrence::kWkv) bad.push_back({"du", [](Args& a) { a.du = nullptr; }});
  if (support.states) bad.push_back({"d_final_state", [](Args& a) { misalign(a.d_final_state); }});
  for (const auto& [argument, spoil] : bad_wkv_inputs<Element, LogW>(support, recurrence)) {
    bad.push_back({argument, [spoil = spoil](Args& a) { spoil(a.forward); }});
  }
  return bad;
}

// Those of the house's first case, as far as they are supported: sizes that are unlike each other and no powers of two.
WkvCase ragged_case(const WkvSupport& support, Recurrence recurrence) {
  const auto preferred = [](const std::vector<std::int64_t>& sizes, std::int64_t size) {
    return std::count(sizes.begin(), sizes.end(), size) > 0 ? size : sizes.back();
  };
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

void expect_right(const Implementation& implementation, const WkvCase& c) {
  const WkvProblem problem = make_problem(c);
  EXPECT_TRUE(
      is_right(problem, run(implementation, problem), arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

void expect_right_gradients(const Implementation& implementation, const WkvCase& c) {
  const WkvGradProblem problem = make_grad_problem(c);
  EXPECT_TRUE(is_right(problem, run_backward(implementation, problem),
                       arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

using ExpectRight = void (*)(const Implementation&, const WkvCase&);

// What the forward pass and the gradients have in common.
void register_common_tests(const std::string& implementation, const WkvSupport& support,
                           const WkvOperator& op, ExpectRight expect) {
  const std::string prefix = op.prefix;
  for (const WkvCase& c : wkv_cases(support, op.recurrence)) {
    add(implementation, prefix + "MatchesReference/" + name_of(c),
        [=](const Implementation& i) { expect(i, c); });
  }
  const WkvCase ragged = ragged_case(support, op.recurrence);
  add(implementation, prefix + "TakesAnEmptyBatch", [=](const Implementation& i) {
    WkvCase c = ragged;
    c.B = 0;
    expect(i, c);
  });
  add(implementation, prefix + "SurvivesEveryDecay", [=](const Implementation& i) {
    WkvCase c = ragged;
    c.B = c.H = 1;  // nine runs: they must be short
    c.T = 66;
    c.initial_state = c.final_state = support.states;
    c.decay = Decay::kFixed;
    for (const float log_w : {0.0f, -1e-3f, -0.1f, -0.6f, -1.3f, -5.0f, -16.0f, -1e4f, -INFINITY}) {
      c.fixed_log_w = log_w;
      expect(i, c);
    }
  });
  if (!support.packed) return;
  for (const bool reverse : {false, true}) {
    if (reverse && !support.reverse) continue;
    add(implementation, prefix + "TakesPackedSequences" + (reverse ? "InReverse" : ""),
        [=](const Implementation& i) {
          WkvCase c = packed(ragged, {0, 5, 0, 17, 1, 66, 0});
          c.initial_state = c.final_state = support.states;
          c.reverse = reverse;
          expect(i, c);
        });
  }
}

bool register_forward_suite(const std::string& implementation, const WkvSupport& support,
                            const WkvOperator& op) {
  register_common_tests(implementation, support, op, expect_right);
  const std::string prefix = op.prefix;
  const WkvCase ragged = ragged_case(support, op.recurrence);
  add(implementation, prefix + "RefusesBadInput", [=](const Implementation& i) {
    with_types(ragged.precision, [&]<typename Element, typename LogW>() {
      const BasicWkvOnDevice<Element, LogW> on_device(device(i.device), make_problem(ragged));
      using Args = BasicWkvArgs<Element, LogW>;
      auto bad = bad_wkv_inputs<Element, LogW>(support, op.recurrence);
      bad.push_back({"o", [](Args& a) { a.o = nullptr; }});
      bad.push_back({"o", [](Args& a) { misalign(a.o); }});
      expect_refused(bad, on_device, wkv_launcher<Element, LogW>(i, op.recurrence));
      EXPECT_TRUE(all_nan(on_device.download().o)) << "something was written";
    });
  });
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

bool register_backward_suite(const std::string& implementation, const WkvSupport& support,
                             const WkvOperator& op) {
  register_common_tests(implementation, support, op, expect_right_gradients);
  const std::string prefix = op.prefix;
  const WkvCase ragged = ragged_case(support, op.recurrence);
  WkvCase few_heads =
      ragged;  // for what runs several times: a backward pass takes the emulator long
  few_heads.B = 1;
  few_heads.H = 2;
  add(implementation, prefix + "RefusesBadInput", [=](const Implementation& i) {
    WkvCase c = ragged;
    c.final_state = support.states;
    with_types(c.precision, [&]<typename Element, typename LogW>() {
      const BasicWkvGradOnDevice<Element, LogW> on_device(device(i.device), make_grad_problem(c));
      expect_refused(bad_gradient_inputs<Element, LogW>(support, op.recurrence), on_device,
                     wkv_backward_launcher<Element, LogW>(i, op.recurrence));
      const WkvGradients gradients = on_device.download();
      for (const auto* written : {&gradients.dq, &gradients.dk, &gradients.dv, &gradients.d_log_w,
                                  &gradients.du, &gradients.d_initial_state}) {
        EXPECT_TRUE(all_nan(*written)) << "something was written";
      }
    });
  });
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

LinearAttentionCase ragged_case(const LinearAttentionSupport& support) {
  const WkvCase sizes = ragged_case(
      WkvSupport{.fp32 = support.fp32, .K_sizes = support.K_sizes, .V_sizes = support.V_sizes},
      Recurrence::kWkv);
  const bool plain = support.causal_dot_product_only;
  return {.B = sizes.B,
          .T_q = sizes.T,
          .T_k = sizes.T,
          .H = sizes.H,
          .K = sizes.K,
          .V = sizes.V,
          .feature_map = plain ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne,
          .normalize = !plain,
          .precision = sizes.precision};
}

std::vector<Precision> precisions(const LinearAttentionSupport& support) {
  std::vector<Precision> result;
  if (support.fp32) result.push_back(Precision::kFp32);
  if (support.bf16) result.push_back(Precision::kBf16);
  return result;
}

template <typename Element>
std::vector<BadInput<BasicLinearAttentionArgs<Element>>> bad_linear_attention_inputs(
    const LinearAttentionSupport& support, DeviceKind where) {
  using Args = BasicLinearAttentionArgs<Element>;
  std::vector<BadInput<Args>> bad = {
      {"B", [](Args& a) { a.B = -1; }},      {"T_q", [](Args& a) { a.T_q = -1; }},
      {"T_k", [](Args& a) { a.T_k = -1; }},  {"H", [](Args& a) { a.H = 0; }},
      {"K", [](Args& a) { a.K = 0; }},       {"V", [](Args& a) { a.V = 0; }},
      {"q", [](Args& a) { a.q = nullptr; }}, {"k", [](Args& a) { a.k = nullptr; }},
      {"v", [](Args& a) { a.v = nullptr; }}, {"o", [](Args& a) { a.o = nullptr; }},
      {"k", [](Args& a) { misalign(a.k); }}, {"eps", [](Args& a) { a.eps = -1.0f; }},
  };
  static const std::int64_t too_long[] = {1000, 1000};
  if (support.causal_dot_product_only) {
    bad.push_back({"causal", [](Args& a) { a.causal = false; }});
    bad.push_back({"normalize", [](Args& a) { a.normalize = true; }});
    bad.push_back({"feature_map", [](Args& a) { a.feature_map = FeatureMap::kEluPlusOne; }});
    bad.push_back({"T_k", [](Args& a) { a.T_k = 2; }});
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
  } else if (where == DeviceKind::kCpu) {  // a launcher does not read what is on a GPU
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
  }
  if (!support.causal_dot_product_only)
    bad.push_back({"key_lengths", [](Args& a) { misalign(a.key_lengths); }});
  return bad;
}

}  // namespace

std::vector<WkvCase> wkv_cases(const WkvSupport& support, Recurrence recurrence) {
  CaseList<WkvCase> cases;
  cases.add(ragged_case(support, recurrence));
  const std::vector<Decay> decays = {Decay::kMild, Decay::kNone, Decay::kStrong, Decay::kTotal,
                                     Decay::kStrongToken};
  const std::vector<float> magnitudes = {1.0f, 1e8f, 1e-8f};
  const std::vector<Precision> stored_as = precisions(support);
  const auto rows = rows_of({support.lengths.size(), support.K_sizes.size(),
                             support.square_heads_only ? 1 : support.V_sizes.size(), decays.size(),
                             2, support.states ? 2u : 1u, support.reverse ? 2u : 1u, 2,
                             magnitudes.size(), stored_as.size()});
  for (const auto& row : rows) {
    WkvCase c;
    c.recurrence = recurrence;
    c.T = support.lengths[row[0]];
    std::tie(c.B, c.H) = batch_and_heads(c.T);
    c.K = support.K_sizes[row[1]];
    c.V = support.square_heads_only ? c.K : support.V_sizes[row[2]];
    c.decay = decays[row[3]];
    c.decay_per_head = row[4] == 1;
    c.initial_state = c.final_state = row[5] == 1;
    c.reverse = row[6] == 1;
    c.scale = row[7] == 1 ? 0.125f : 1.0f;
    c.magnitude = magnitudes[row[8]];
    c.precision = stored_as[row[9]];
    cases.add(c);
  }
  return cases.take();
}

bool register_wkv_suite(const std::string& implementation, const WkvSupport& support) {
  return register_forward_suite(implementation, support, kWkv);
}

bool register_gla_suite(const std::string& implementation, const WkvSupport& support) {
  return register_forward_suite(implementation, support, kGla);
}

bool register_wkv_backward_suite(const std::string& implementation, const WkvSupport& support) {
  return register_backward_suite(implementation, support, kWkvBackward);
}

bool register_gla_backward_suite(const std::string& implementation, const WkvSupport& support) {
  return register_backward_suite(implementation, support, kGlaBackward);
}

std::vector<LinearAttentionCase> linear_attention_cases(const LinearAttentionSupport& support) {
  const bool plain = support.causal_dot_product_only;
  CaseList<LinearAttentionCase> cases;
  cases.add(ragged_case(support));
  const std::vector<float> magnitudes = {1.0f, 1e8f, 1e-8f};
  const std::vector<Precision> stored_as = precisions(support);
  const std::size_t options = plain ? 1 : 2;
  const auto rows = rows_of({support.lengths.size(), plain ? 1 : support.lengths.size(),
                             support.K_sizes.size(), support.V_sizes.size(), options, options,
                             options, options, magnitudes.size(), stored_as.size()});
  for (const auto& row : rows) {
    LinearAttentionCase c;
    c.T_q = support.lengths[row[0]];
    c.T_k = plain ? c.T_q : support.lengths[row[1]];
    std::tie(c.B, c.H) = batch_and_heads(std::max(c.T_q, c.T_k));
    c.K = support.K_sizes[row[2]];
    c.V = support.V_sizes[row[3]];
    c.causal = row[4] == 0;
    c.normalize = row[5] == 1;
    c.feature_map = row[6] == 1 || c.normalize ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
    c.key_lengths = row[7] == 1;
    c.magnitude = magnitudes[row[8]];
    c.precision = stored_as[row[9]];
    cases.add(c);
  }
  return cases.take();
}

bool register_linear_attention_suite(const std::string& implementation,
                                     const LinearAttentionSupport& support) {
  for (const LinearAttentionCase& c : linear_attention_cases(support)) {
    add(implementation, "MatchesReference/" + name_of(c), [c](const Implementation& i) {
      const LinearAttentionProblem problem = make_problem(c);
      EXPECT_TRUE(is_right(problem, run(i, problem), arithmetic_of(i, c.precision)));
    });
  }
  add(implementation, "RefusesBadInput", [support](const Implementation& i) {
    LinearAttentionCase c = ragged_case(support);
    c.key_lengths = !support.causal_dot_product_only;
    with_element(c.precision, [&]<typename Element>() {
      const BasicLinearAttentionOnDevice<Element> on_device(device(i.device), make_problem(c));
      expect_refused(bad_linear_attention_inputs<Element>(support, i.device), on_device,
                     linear_attention_launcher<Element>(i));
      EXPECT_TRUE(all_nan(on_device.download())) << "something was written";
    });
  });
  if (support.repeatable) {
    add(implementation, "IsRepeatable", [support](const Implementation& i) {
      LinearAttentionCase c = ragged_case(support);
      c.T_q = c.T_k = 65;
      const LinearAttentionProblem problem = make_problem(c);
      EXPECT_EQ(run(i, problem), run(i, problem));
    });
  }
  return true;
}

}  // namespace ladder::testing
