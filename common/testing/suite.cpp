#include "common/testing/suite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "common/core/device_problem.hpp"
#include "common/core/registry.hpp"
#include "common/testing/compare.hpp"
#include "common/testing/pairwise.hpp"

namespace ladder::testing {
namespace {

using Body = std::function<void(const Implementation&)>;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string(value) == "1";
}

// A test made at run time: finds its implementation, and runs `body` under each schedule of its device.
class SuiteTest : public ::testing::Test {
 public:
  SuiteTest(std::string implementation, Body body)
      : implementation_(std::move(implementation)), body_(std::move(body)) {}

  void TestBody() override {
    const Implementation implementation = find_implementation(implementation_);
    if (device_is_missing(implementation)) return;
    Device& where = device(implementation.device);
    for (const std::string& schedule : where.schedules()) {
      SCOPED_TRACE("schedule: " + schedule);
      where.use_schedule(schedule);
      body_(implementation);
      if (HasFailure()) return;
    }
  }

 private:
  std::string implementation_;
  Body body_;
};

void add(const std::string& implementation, const std::string& test, Body body) {
  ::testing::RegisterTest(
      implementation.c_str(), test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
      [=]() -> ::testing::Test* { return new SuiteTest(implementation, body); });
}

std::vector<std::vector<std::size_t>> rows_of(const std::vector<std::size_t>& level_counts) {
  return is_set("LADDER_ALL_CASES") ? all_rows(level_counts) : pairwise_rows(level_counts);
}

// constexpr: suites are registered before this file's variables would be initialised.
constexpr std::array<std::int64_t, 10> kLengths = {0, 1, 15, 16, 17, 63, 64, 65, 130, 1000};
constexpr std::array<std::int64_t, 6> kHeadSizes = {4, 32, 64, 100, 128, 256};

// Long sequences get fewer heads, so that no case takes the emulator more than about a second.
std::pair<std::int64_t, std::int64_t> batch_and_heads(std::int64_t T) {
  return T < 100 ? std::pair<std::int64_t, std::int64_t>{2, 3}
                 : std::pair<std::int64_t, std::int64_t>{1, 2};
}

// Two rows may differ only in options that the case does not have; one case is enough then.
template <typename Case>
class CaseList {
 public:
  void add(Case c) {
    c.seed = static_cast<std::uint32_t>(cases_.size() + 1);
    if (names_.insert(name_of(c)).second) cases_.push_back(c);
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
  std::set<std::string> names_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// One bad change to good arguments, and the name its refusal must hold.
template <typename Args>
struct BadInput {
  std::string argument;
  std::function<void(Args&)> spoil;
};

template <typename Pointer>
void misalign(Pointer& pointer) {
  pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
}

template <typename Args, typename OnDevice, typename Launcher>
void expect_refused(const std::vector<BadInput<Args>>& bad_inputs, OnDevice& on_device,
                    const Launcher& launch) {
  for (const auto& bad : bad_inputs) {
    Args args = on_device.args();
    bad.spoil(args);
    try {
      launch(args);
      ADD_FAILURE() << "a bad " << bad.argument << " was accepted";
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(bad.argument), std::string::npos) << message;
      EXPECT_NE(message.find("allow"), std::string::npos)
          << message << ": does not say what is allowed";
    }
  }
}

bool all_nan(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

std::vector<BadInput<WkvArgs>> bad_wkv_inputs(const WkvSupport& support) {
  std::vector<BadInput<WkvArgs>> bad = {
      {"B", [](WkvArgs& a) { a.B = -1; }},
      {"T", [](WkvArgs& a) { a.T = -1; }},
      {"H", [](WkvArgs& a) { a.H = 0; }},
      {"K", [](WkvArgs& a) { a.K = 0; }},
      {"V", [](WkvArgs& a) { a.V = -64; }},
      {"q", [](WkvArgs& a) { a.q = nullptr; }},
      {"k", [](WkvArgs& a) { a.k = nullptr; }},
      {"v", [](WkvArgs& a) { a.v = nullptr; }},
      {"log_w", [](WkvArgs& a) { a.log_w = nullptr; }},
      {"u", [](WkvArgs& a) { a.u = nullptr; }},
      {"o", [](WkvArgs& a) { a.o = nullptr; }},
      {"q", [](WkvArgs& a) { misalign(a.q); }},
      {"o", [](WkvArgs& a) { misalign(a.o); }},
      {"log_w", [](WkvArgs& a) { a.log_w_stride_T = 1; }},
  };
  if (support.square_heads_only) {
    bad.push_back({"K", [](WkvArgs& a) {
                     a.K = a.V = 65;
                     a.log_w_stride_B = a.log_w_stride_T = 0;
                   }});
    bad.push_back({"V", [](WkvArgs& a) { a.V = 32; }});
  }
  if (!support.states) {
    bad.push_back({"initial_state", [](WkvArgs& a) { a.initial_state = a.q; }});
    bad.push_back({"final_state", [](WkvArgs& a) { a.final_state = a.o; }});
  }
  if (!support.reverse) bad.push_back({"reverse", [](WkvArgs& a) { a.reverse = true; }});
  return bad;
}

// The two halves of a problem in time; the state goes from the first to the second.
WkvProblem slice_in_time(const WkvProblem& whole, std::int64_t begin, std::int64_t end) {
  WkvProblem part = whole;
  WkvCase& c = part.wkv_case;
  const std::int64_t T = c.T;
  c.T = end - begin;
  c.final_state = true;
  const auto cut = [&](Tensor<float>& tensor) {
    if (tensor.shape.size() != 4) return;
    const std::int64_t row = tensor.shape[2] * tensor.shape[3];
    Tensor<float> result({c.B, c.T, tensor.shape[2], tensor.shape[3]});
    for (std::int64_t b = 0; b < c.B; ++b) {
      std::copy_n(tensor.data.begin() + (b * T + begin) * row, c.T * row,
                  result.data.begin() + b * c.T * row);
    }
    tensor = std::move(result);
  };
  cut(part.q);
  cut(part.k);
  cut(part.v);
  cut(part.log_w);
  return part;
}

void split_and_resume(const Implementation& implementation, bool reverse) {
  WkvCase c{.B = 2, .T = 37, .H = 3, .K = 64, .V = 100};
  c.initial_state = c.final_state = true;
  c.reverse = reverse;
  const WkvProblem whole = make_problem(c);
  const std::int64_t cut = 17;
  WkvProblem first = slice_in_time(whole, 0, cut), second = slice_in_time(whole, cut, c.T);
  if (reverse) std::swap(first, second);
  const WkvOutputs first_out = run(implementation, first);
  second.initial_state.data = first_out.final_state;
  const WkvOutputs second_out = run(implementation, second);
  const WkvOutputs& early = reverse ? second_out : first_out;
  const WkvOutputs& late = reverse ? first_out : second_out;
  WkvOutputs joined;
  joined.final_state = second_out.final_state;
  const std::int64_t row = c.H * c.V;
  for (std::int64_t b = 0; b < c.B; ++b) {
    joined.o.insert(joined.o.end(), early.o.begin() + b * cut * row,
                    early.o.begin() + (b + 1) * cut * row);
    joined.o.insert(joined.o.end(), late.o.begin() + b * (c.T - cut) * row,
                    late.o.begin() + (b + 1) * (c.T - cut) * row);
  }
  EXPECT_TRUE(is_right(whole, joined));
}

}  // namespace

bool device_is_missing(const Implementation& implementation) {
  const std::string why = why_unavailable(implementation.device);
  if (why.empty()) return false;
  if (is_set("LADDER_REQUIRE_GPU")) {
    ADD_FAILURE() << "LADDER_REQUIRE_GPU=1, but there is no GPU: " << why;
    return true;
  }
  if (const char* log = std::getenv("LADDER_SKIP_LOG")) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::ofstream(log, std::ios::app)
        << test->test_suite_name() << "." << test->name() << ": " << why << std::endl;
  }
  [&] { GTEST_SKIP() << why; }();
  return true;
}

std::vector<WkvCase> wkv_cases(const WkvSupport& support) {
  const std::int64_t wide = support.square_heads_only ? 64 : 100;
  CaseList<WkvCase> cases;
  cases.add({.B = 2, .T = 37, .H = 3, .K = 64, .V = wide});
  const std::vector<Decay> decays = {Decay::kMild, Decay::kNone, Decay::kStrong, Decay::kTotal,
                                     Decay::kStrongToken};
  const std::vector<float> magnitudes = {1.0f, 1e8f, 1e-8f};
  const auto rows = rows_of({kLengths.size(), kHeadSizes.size(),
                             support.square_heads_only ? 1 : kHeadSizes.size(), decays.size(), 2,
                             support.states ? 2u : 1u, support.reverse ? 2u : 1u, 2,
                             magnitudes.size(), support.bf16 ? 3u : 1u});
  for (const auto& row : rows) {
    WkvCase c;
    c.T = kLengths[row[0]];
    std::tie(c.B, c.H) = batch_and_heads(c.T);
    c.K = kHeadSizes[row[1]];
    c.V = support.square_heads_only ? c.K : kHeadSizes[row[2]];
    c.decay = decays[row[3]];
    c.decay_per_head = row[4] == 1;
    c.initial_state = c.final_state = row[5] == 1;
    c.reverse = row[6] == 1;
    c.scale = row[7] == 1 ? 0.125f : 1.0f;
    c.magnitude = magnitudes[row[8]];
    c.precision = static_cast<Precision>(row[9]);
    cases.add(c);
  }
  return cases.take();
}

bool register_wkv_suite(const std::string& implementation, const WkvSupport& support) {
  for (const WkvCase& c : wkv_cases(support)) {
    add(implementation, "MatchesReference/" + name_of(c), [c](const Implementation& i) {
      const WkvProblem problem = make_problem(c);
      EXPECT_TRUE(is_right(problem, run(i, problem)));
    });
  }
  add(implementation, "RefusesBadInput", [support](const Implementation& i) {
    const WkvProblem problem = make_problem(WkvCase{.B = 1, .T = 3, .H = 2, .K = 64, .V = 64});
    WkvOnDevice on_device(device(i.device), problem);
    expect_refused(bad_wkv_inputs(support), on_device, i.wkv);
    EXPECT_TRUE(all_nan(on_device.download().o)) << "something was written";
  });
  add(implementation, "TakesAnEmptyBatch", [](const Implementation& i) {
    EXPECT_TRUE(run(i, make_problem(WkvCase{.B = 0, .T = 5, .H = 2, .K = 64, .V = 64})).o.empty());
  });
  if (support.repeatable) {
    add(implementation, "IsRepeatable", [](const Implementation& i) {
      const WkvProblem problem = make_problem(WkvCase{.B = 2, .T = 65, .H = 3, .K = 64, .V = 64});
      EXPECT_TRUE(same_bits(run(i, problem).o, run(i, problem).o));
    });
  }
  if (support.states) {
    add(implementation, "SplitAndResume",
        [](const Implementation& i) { split_and_resume(i, false); });
    if (support.reverse) {
      add(implementation, "SplitAndResumeInReverse",
          [](const Implementation& i) { split_and_resume(i, true); });
    }
  }
  return true;
}

std::vector<LinearAttentionCase> linear_attention_cases(const LinearAttentionSupport& support) {
  const bool plain = support.causal_dot_product_only;
  CaseList<LinearAttentionCase> cases;
  cases.add({.B = 2,
             .T_q = 37,
             .T_k = 37,
             .H = 3,
             .K = 64,
             .V = 100,
             .feature_map = plain ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne,
             .normalize = !plain});
  const std::vector<float> magnitudes = {1.0f, 1e8f, 1e-8f};
  const std::size_t options = plain ? 1 : 2;
  const auto rows =
      rows_of({kLengths.size(), plain ? 1 : kLengths.size(), kHeadSizes.size(), kHeadSizes.size(),
               options, options, options, options, magnitudes.size()});
  for (const auto& row : rows) {
    LinearAttentionCase c;
    c.T_q = kLengths[row[0]];
    c.T_k = plain ? c.T_q : kLengths[row[1]];
    std::tie(c.B, c.H) = batch_and_heads(std::max(c.T_q, c.T_k));
    c.K = kHeadSizes[row[2]];
    c.V = kHeadSizes[row[3]];
    c.causal = row[4] == 0;
    c.normalize = row[5] == 1;
    c.feature_map = row[6] == 1 || c.normalize ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
    c.key_lengths = row[7] == 1;
    c.magnitude = magnitudes[row[8]];
    cases.add(c);
  }
  return cases.take();
}

bool register_linear_attention_suite(const std::string& implementation,
                                     const LinearAttentionSupport& support) {
  for (const LinearAttentionCase& c : linear_attention_cases(support)) {
    add(implementation, "MatchesReference/" + name_of(c), [c](const Implementation& i) {
      const LinearAttentionProblem problem = make_problem(c);
      EXPECT_TRUE(is_right(problem, run(i, problem)));
    });
  }
  add(implementation, "RefusesBadInput", [support](const Implementation& i) {
    const bool plain = support.causal_dot_product_only;
    const LinearAttentionCase c{
        .B = 1,
        .T_q = 3,
        .T_k = 3,
        .H = 2,
        .K = 64,
        .V = 64,
        .feature_map = plain ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne,
        .normalize = !plain,
        .key_lengths = !plain};
    LinearAttentionOnDevice on_device(device(i.device), make_problem(c));
    using Args = LinearAttentionArgs;
    std::vector<BadInput<Args>> bad = {
        {"B", [](Args& a) { a.B = -1; }},      {"T_q", [](Args& a) { a.T_q = -1; }},
        {"T_k", [](Args& a) { a.T_k = -1; }},  {"H", [](Args& a) { a.H = 0; }},
        {"K", [](Args& a) { a.K = 0; }},       {"V", [](Args& a) { a.V = 0; }},
        {"q", [](Args& a) { a.q = nullptr; }}, {"k", [](Args& a) { a.k = nullptr; }},
        {"v", [](Args& a) { a.v = nullptr; }}, {"o", [](Args& a) { a.o = nullptr; }},
        {"k", [](Args& a) { misalign(a.k); }}, {"eps", [](Args& a) { a.eps = -1.0f; }},
    };
    static const std::int64_t too_long[] = {4};
    if (plain) {
      bad.push_back({"causal", [](Args& a) { a.causal = false; }});
      bad.push_back({"normalize", [](Args& a) { a.normalize = true; }});
      bad.push_back({"feature_map", [](Args& a) { a.feature_map = FeatureMap::kEluPlusOne; }});
      bad.push_back({"T_k", [](Args& a) { a.T_k = 2; }});
      bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
    } else if (i.device == DeviceKind::kCpu) {  // a launcher does not read what is on a GPU
      bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
    }
    if (!plain) bad.push_back({"key_lengths", [](Args& a) { misalign(a.key_lengths); }});
    expect_refused(bad, on_device, i.linear_attention);
    EXPECT_TRUE(all_nan(on_device.download())) << "something was written";
  });
  if (support.repeatable) {
    add(implementation, "IsRepeatable", [support](const Implementation& i) {
      LinearAttentionCase c = linear_attention_cases(support)[0];
      c.T_q = c.T_k = 65;
      const LinearAttentionProblem problem = make_problem(c);
      EXPECT_TRUE(same_bits(run(i, problem), run(i, problem)));
    });
  }
  return true;
}

}  // namespace ladder::testing
