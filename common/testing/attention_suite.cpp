#include <algorithm>
#include <limits>
#include <utility>

#include "common/core/device_problem.hpp"
#include "common/reference/attention.hpp"
#include "common/testing/compare.hpp"
#include "common/testing/suite_tests.hpp"

namespace ladder::testing {
namespace {

struct Heads {
  std::int64_t H_q, H_kv;
};

std::vector<Heads> heads(const AttentionSupport& support) {
  if (support.grouped) return {{2, 2}, {2, 1}, {4, 2}};
  return {{2, 2}, {3, 3}};
}

std::vector<Precision> precisions(const AttentionSupport& support) {
  std::vector<Precision> result;
  if (support.fp32) result.push_back(Precision::kFp32);
  if (support.bf16) result.push_back(Precision::kBf16);
  if (support.fp16) result.push_back(Precision::kFp16);
  return result;
}

std::vector<bool> masks(const AttentionSupport& support) {
  if (support.causal) return {false, true};
  return {false};
}

// Sizes that are unlike each other and no powers of two, as far as they are supported.
AttentionCase ragged_case(const AttentionSupport& support) {
  const std::int64_t H_kv = support.grouped ? 1 : 3;
  const bool has_64 = std::count(support.D_sizes.begin(), support.D_sizes.end(), 64) > 0;
  return {.B = 2,
          .T_q = std::min<std::int64_t>(37, support.most_queries),
          .T_k = 50,
          .H_q = 3,
          .H_kv = H_kv,
          .D = has_64 ? 64 : support.D_sizes.front(),
          .precision = precisions(support).front()};
}

// For what runs several times.
AttentionCase few_heads(const AttentionSupport& support, std::int64_t T_q, std::int64_t T_k) {
  AttentionCase c = ragged_case(support);
  c.B = 1;
  c.T_q = std::min(T_q, support.most_queries);
  c.T_k = T_k;
  c.H_q = 2;
  c.H_kv = support.grouped ? 1 : 2;
  return c;
}

void expect_right(const Implementation& i, const AttentionProblem& problem) {
  const AttentionCase& c = problem.attention_case;
  EXPECT_TRUE(is_right(problem, run(i, problem), arithmetic_of(i, c.precision))) << name_of(c);
}

void expect_right_gradients(const Implementation& i, const AttentionProblem& forward) {
  const AttentionGradProblem problem = reference::make_attention_grad_problem(forward);
  const AttentionCase& c = forward.attention_case;
  EXPECT_TRUE(is_right(problem, run_backward(i, problem), arithmetic_of(i, c.precision)))
      << name_of(c);
}

using ExpectRight = void (*)(const Implementation&, const AttentionProblem&);

// No key, one, some and all of them; what lies behind is not a number.
AttentionProblem with_key_lengths(AttentionCase c) {
  const std::int64_t lengths[] = {0, 1, c.T_k - 6, c.T_k};
  c.B = 4;
  c.key_lengths = true;
  AttentionProblem problem = make_problem(c);
  std::copy_n(lengths, 4, problem.key_lengths.data.begin());
  const std::int64_t row = c.H_kv * c.D;
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (Tensor<float>* tensor : {&problem.k, &problem.v}) {
      std::fill_n(tensor->data.begin() + (b * c.T_k + lengths[b]) * row, (c.T_k - lengths[b]) * row,
                  std::numeric_limits<float>::quiet_NaN());
    }
  }
  return problem;
}

// What the forward pass and the gradients have in common.
void register_common_tests(const std::string& implementation, const AttentionSupport& support,
                           const std::string& prefix, ExpectRight expect) {
  for (const AttentionCase& c : attention_cases(support)) {
    add(implementation, prefix + "MatchesReference/" + name_of(c),
        [=](const Implementation& i) { expect(i, make_problem(c)); });
  }
  // `change` the case for each mask the implementation has, and expect it right.
  const auto add_for_masks = [&](const std::string& test, const AttentionCase& c,
                                 const auto& problem_of) {
    add(implementation, prefix + test, [=](const Implementation& i) {
      for (const bool causal : masks(support)) {
        AttentionCase masked = c;
        masked.causal = causal;
        expect(i, problem_of(masked));
      }
    });
  };
  const auto as_drawn = [](const AttentionCase& c) { return make_problem(c); };
  AttentionCase empty = ragged_case(support);
  empty.B = 0;
  add_for_masks("TakesAnEmptyBatch", empty, as_drawn);
  add_for_masks("TakesOneKey", few_heads(support, 20, 1), as_drawn);
  add_for_masks("GivesZerosWithoutKeys", few_heads(support, 40, 0), as_drawn);
  if (support.causal && support.most_queries >= 100) {
    add(implementation, prefix + "MasksWholeQueriesExactly", [=](const Implementation& i) {
      for (const std::int64_t T_k : {1, 20, 66}) {
        AttentionCase c = few_heads(support, 100, T_k);
        c.causal = true;
        expect(i, make_problem(c));
      }
    });
  }
  for (const Precision precision : precisions(support)) {
    AttentionCase c = few_heads(support, 40, 130);
    c.precision = precision;
    c.magnitude = 100.0f;
    add_for_masks("SurvivesHugeScores/" + name_of(c), c, as_drawn);
  }
  if (support.packed) {
    std::vector<AttentionCase::Lengths> lengths = {{0, 5}, {5, 0},   {17, 17}, {1, 66},
                                                   {0, 0}, {65, 20}, {20, 65}};
    for (AttentionCase::Lengths& each : lengths)
      each.queries = std::min(each.queries, support.most_queries);
    add_for_masks("TakesPackedSequences", packed(few_heads(support, 1, 1), lengths), as_drawn);
  }
  if (support.key_lengths)
    add_for_masks("TakesKeyLengths", few_heads(support, 20, 70), with_key_lengths);
  add(implementation, prefix + "MatchesReferenceOnLongSequences", [=](const Implementation& i) {
    if (device(i.device).back_end() != "cuda" && !is_set("LADDER_ALL_CASES")) return;
    const std::vector<Precision> all = precisions(support);
    std::size_t turn = 0;
    for (const bool causal : masks(support)) {
      for (const std::int64_t D : support.D_sizes) {
        for (const std::int64_t T_q : {1, 999}) {
          AttentionCase c = few_heads(support, T_q, 1000);
          c.D = D;
          c.causal = causal;
          c.precision = all[turn++ % all.size()];
          expect(i, make_problem(c));
        }
      }
    }
  });
}

bool has_usual_D_only(const AttentionSupport& support) {
  const std::vector<std::int64_t> usual = {32, 64, 96, 128, 256};
  return std::all_of(support.D_sizes.begin(), support.D_sizes.end(),
                     [&](std::int64_t D) { return std::count(usual.begin(), usual.end(), D) > 0; });
}

template <typename Element>
std::vector<BadInput<BasicAttentionArgs<Element>>> bad_attention_inputs(
    const AttentionSupport& support) {
  using Args = BasicAttentionArgs<Element>;
  static const std::int64_t cu_seqlens[] = {0, 3}, lengths[] = {3, 3};
  std::vector<BadInput<Args>> bad = {
      {"B", [](Args& a) { a.B = -1; }},
      {"T_q", [](Args& a) { a.T_q = -1; }},
      {"T_k", [](Args& a) { a.T_k = -1; }},
      {"H_q", [](Args& a) { a.H_q = 0; }},
      {"H_kv", [](Args& a) { a.H_kv = 0; }},
      {"H_q", [](Args& a) { a.H_q = 3, a.H_kv = 2; }},
      {"D", [](Args& a) { a.D = 0; }},
      {"scale", [](Args& a) { a.scale = 0.0f; }},
      {"scale", [](Args& a) { a.scale = std::numeric_limits<float>::infinity(); }},
      {"q", [](Args& a) { a.q = nullptr; }},
      {"k", [](Args& a) { a.k = nullptr; }},
      {"v", [](Args& a) { a.v = nullptr; }},
      {"o", [](Args& a) { a.o = nullptr; }},
      {"lse", [](Args& a) { a.lse = nullptr; }},
      {"q", [](Args& a) { misalign(a.q); }},
      {"k", [](Args& a) { misalign(a.k); }},
      {"o", [](Args& a) { misalign(a.o); }},
      {"lse", [](Args& a) { misalign(a.lse); }},
  };
  const auto pack = [](Args& a) {
    a.B = 1;
    a.cu_seqlens_q = a.cu_seqlens_k = cu_seqlens;
    a.sequences = 1;
  };
  if (has_usual_D_only(support)) bad.push_back({"D", [](Args& a) { a.D = 65; }});
  if (!support.causal) bad.push_back({"causal", [](Args& a) { a.causal = true; }});
  if (!support.grouped) bad.push_back({"H_kv", [](Args& a) { a.H_kv = 1; }});
  if (support.most_queries < AttentionSupport{}.most_queries)
    bad.push_back({"T_q", [=](Args& a) { a.T_q = support.most_queries + 1; }});
  if (support.packed) {
    bad.push_back({"cu_seqlens_k", [=](Args& a) {
                     pack(a);
                     a.cu_seqlens_k = nullptr;
                   }});
    bad.push_back({"cu_seqlens_q", [=](Args& a) {
                     pack(a);
                     misalign(a.cu_seqlens_q);
                   }});
    bad.push_back({"sequences", [=](Args& a) {
                     pack(a);
                     a.sequences = -1;
                   }});
    bad.push_back({"B", [=](Args& a) {
                     pack(a);
                     a.B = 2;
                   }});
  } else {
    bad.push_back({"cu_seqlens", pack});
  }
  if (support.key_lengths) {
    bad.push_back({"key_lengths", [](Args& a) {
                     a.key_lengths = lengths;
                     misalign(a.key_lengths);
                   }});
    if (support.packed) {
      bad.push_back({"key_lengths", [=](Args& a) {
                       pack(a);
                       a.key_lengths = lengths;
                     }});
    }
  } else {
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = lengths; }});
  }
  return bad;
}

template <typename Element>
std::vector<BadInput<BasicAttentionGradArgs<Element>>> bad_gradient_inputs(
    const AttentionSupport& support) {
  using Args = BasicAttentionGradArgs<Element>;
  std::vector<BadInput<Args>> bad = {
      {"d_o", [](Args& a) { a.d_o = nullptr; }}, {"dq", [](Args& a) { a.dq = nullptr; }},
      {"dk", [](Args& a) { a.dk = nullptr; }},   {"dv", [](Args& a) { a.dv = nullptr; }},
      {"d_o", [](Args& a) { misalign(a.d_o); }}, {"dv", [](Args& a) { misalign(a.dv); }},
  };
  for (const auto& [argument, spoil] : bad_attention_inputs<Element>(support))
    bad.push_back({argument, [spoil = spoil](Args& a) { spoil(a.forward); }});
  return bad;
}

}  // namespace

std::vector<AttentionCase> attention_cases(const AttentionSupport& support) {
  CaseList<AttentionCase> cases;
  cases.add(ragged_case(support));
  const std::vector<Heads> head_counts = heads(support);
  const std::vector<Precision> stored_as = precisions(support);
  const auto rows = rows_of({support.lengths.size(), support.D_sizes.size(), head_counts.size(),
                             masks(support).size(), stored_as.size()});
  for (const auto& row : rows) {
    AttentionCase c;
    c.T_q = std::min(support.lengths[row[0]].queries, support.most_queries);
    c.T_k = support.lengths[row[0]].keys;
    c.D = support.D_sizes[row[1]];
    c.H_q = head_counts[row[2]].H_q;
    c.H_kv = head_counts[row[2]].H_kv;
    // No case may take the emulator more than about a second.
    if (c.T_q < 64 && c.T_k < 64 && c.H_q <= 2 && c.D <= 64) c.B = 2;
    if (c.T_q > 64 || c.T_k > 64) c.H_q /= c.H_kv, c.H_kv = 1;
    c.causal = row[3] == 1;
    c.precision = stored_as[row[4]];
    cases.add(c);
  }
  return cases.take();
}

bool register_attention_suite(const std::string& implementation, const AttentionSupport& support) {
  register_common_tests(implementation, support, "", expect_right);
  add(implementation, "RefusesBadInput", [=](const Implementation& i) {
    const AttentionCase c = ragged_case(support);
    with_attention_element(c.precision, [&]<typename Element>() {
      const BasicAttentionOnDevice<Element> on_device(device(i.device), make_problem(c));
      expect_refused(bad_attention_inputs<Element>(support), on_device,
                     attention_launcher<Element>(i));
      const AttentionOutputs outputs = on_device.download();
      EXPECT_TRUE(all_nan(outputs.o) && all_nan(outputs.lse)) << "something was written";
    });
  });
  if (support.repeatable) {
    add(implementation, "IsRepeatable", [=](const Implementation& i) {
      const AttentionProblem problem = make_problem(few_heads(support, 65, 130));
      EXPECT_EQ(run(i, problem), run(i, problem));
    });
  }
  return true;
}

bool register_attention_backward_suite(const std::string& implementation,
                                       const AttentionSupport& support) {
  register_common_tests(implementation, support, "Backward", expect_right_gradients);
  add(implementation, "BackwardRefusesBadInput", [=](const Implementation& i) {
    const AttentionCase c = ragged_case(support);
    with_attention_element(c.precision, [&]<typename Element>() {
      const BasicAttentionGradOnDevice<Element> on_device(
          device(i.device), reference::make_attention_grad_problem(make_problem(c)));
      expect_refused(bad_gradient_inputs<Element>(support), on_device,
                     attention_backward_launcher<Element>(i));
      const AttentionGradients gradients = on_device.download();
      for (const auto* written : {&gradients.dq, &gradients.dk, &gradients.dv})
        EXPECT_TRUE(all_nan(*written)) << "something was written";
    });
  });
  if (support.repeatable) {
    add(implementation, "BackwardIsRepeatable", [=](const Implementation& i) {
      const AttentionGradProblem problem =
          reference::make_attention_grad_problem(make_problem(few_heads(support, 65, 130)));
      EXPECT_TRUE(run_backward(i, problem) == run_backward(i, problem));
    });
  }
  return true;
}

}  // namespace ladder::testing
