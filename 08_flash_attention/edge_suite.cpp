#include "08_flash_attention/edge_suite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/device.hpp"
#include "common/core/errors.hpp"
#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/tests.hpp"

namespace flash_attention::edges {

bool is_due(std::size_t n) {
  const ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  const std::vector<std::string> schedules = device.schedules();
  return schedules[n % schedules.size()] == device.schedule();
}

bool on_a_gpu() {
  return ladder::device(ladder::DeviceKind::kCuda).schedules().size() == 1;
}

namespace {

using ladder::AttentionCase;
using ladder::AttentionGradProblem;
using ladder::AttentionProblem;
using ladder::Implementation;
using ladder::Precision;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

AttentionCase make_case(const Support& support, std::int64_t B, std::int64_t T_q, std::int64_t T_k,
                        std::int64_t H_q, std::int64_t H_kv) {
  AttentionCase c{.B = B, .T_q = T_q, .T_k = T_k, .H_q = H_q, .H_kv = H_kv, .D = support.D};
  c.D_v = support.D_v;
  c.precision = support.precision;
  return c;
}

// ---- The forward pass and the gradients in the same words ----

// An array that was written. `row` and `head` are for element i.
struct Output {
  std::string name;
  std::vector<float> x;
  std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t)> place;
  bool of_keys;
};
using Outputs = std::vector<Output>;

auto rows_and_heads(std::int64_t H, std::int64_t D) {
  return [=](std::int64_t i) { return std::pair{i / (H * D), i / D % H}; };
}

struct Forward {
  using Op = ladder::Attention;
  using Problem = AttentionProblem;
  template <typename Args>
  static auto& sizes(Args& args) {
    return args;
  }

  static Problem make(const AttentionProblem& forward) { return forward; }
  static Outputs named(const Problem& p, const ladder::AttentionOutputs& outputs) {
    const AttentionCase& c = p.drawn_case();
    // lse is (B, H_q, T_q).
    const auto of_lse = [T_q = c.T_q, H_q = c.H_q](std::int64_t i) {
      return std::pair{i / T_q / H_q * T_q + i % T_q, i / T_q % H_q};
    };
    return {{"o", outputs.o, rows_and_heads(c.H_q, c.channels_of_v()), false},
            {"lse", outputs.lse, of_lse, false}};
  }
};

struct Backward {
  using Op = ladder::AttentionBackward;
  using Problem = AttentionGradProblem;
  template <typename Args>
  static auto& sizes(Args& args) {
    return args.forward;
  }

  static Problem make(const AttentionProblem& forward) { return make_grad_problem(forward); }
  static Outputs named(const Problem& p, const ladder::AttentionGradients& outputs) {
    const AttentionCase& c = p.drawn_case();
    return {{"dq", outputs.dq, rows_and_heads(c.H_q, c.D), false},
            {"dk", outputs.dk, rows_and_heads(c.H_kv, c.D), true},
            {"dv", outputs.dv, rows_and_heads(c.H_kv, c.channels_of_v()), true}};
  }
};

template <typename Pass>
Outputs run(const Implementation& i, const typename Pass::Problem& problem) {
  if constexpr (std::is_same_v<Pass, Forward>)
    return Pass::named(problem, ladder::run(i, problem));
  else
    return Pass::named(problem, ladder::run_backward(i, problem));
}

template <typename Pass>
void expect_right(const Implementation& i, const AttentionProblem& forward) {
  const auto problem = Pass::make(forward);
  const AttentionCase& c = forward.drawn_case();
  const auto arithmetic = ladder::arithmetic_of(i, c.precision);
  if constexpr (std::is_same_v<Pass, Forward>) {
    EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(i, problem), arithmetic))
        << name_of(c);
  } else {
    EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run_backward(i, problem), arithmetic))
        << name_of(c);
  }
}

// Also if both are NaN.
bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Elements for which `chosen(output, row, head)` holds are the same in both.
template <typename Chosen>
void expect_same(const Outputs& wanted, const Outputs& outputs, const Chosen& chosen) {
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    std::int64_t looked_at = 0;
    for (std::size_t i = 0; i < wanted[n].x.size(); ++i) {
      const auto [row, head] = wanted[n].place(static_cast<std::int64_t>(i));
      if (!chosen(wanted[n], row, head)) continue;
      ++looked_at;
      if (same(wanted[n].x[i], outputs[n].x[i])) continue;
      ADD_FAILURE() << wanted[n].name << ", row " << row << ", head " << head << ": "
                    << outputs[n].x[i] << " in the place of " << wanted[n].x[i];
      break;
    }
    EXPECT_GT(looked_at, 0) << wanted[n].name << ": nothing was compared";
  }
}

void expect_all_same(const Outputs& wanted, const Outputs& outputs) {
  expect_same(wanted, outputs, [](const Output&, std::int64_t, std::int64_t) { return true; });
}

// ---- NaN ----

// Every input's elements for which `chosen(of_keys, row, head)` holds become NaN.
template <typename Pass, typename Chosen>
void spoil(typename Pass::Problem& problem, const Chosen& chosen) {
  const AttentionCase& c = problem.drawn_case();
  const auto fill = [&](const char* name, std::int64_t H, std::int64_t D, bool of_keys) {
    std::vector<float>& x = problem[name];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto [row, head] = rows_and_heads(H, D)(static_cast<std::int64_t>(i));
      if (chosen(of_keys, row, head)) x[i] = kNaN;
    }
  };
  fill("q", c.H_q, c.D, false);
  fill("k", c.H_kv, c.D, true);
  fill("v", c.H_kv, c.channels_of_v(), true);
  if constexpr (std::is_same_v<Pass, Backward>) {
    fill("d_o", c.H_q, c.channels_of_v(), false);
    fill("o", c.H_q, c.channels_of_v(), false);
    std::vector<float>& lse = problem["lse"];
    for (std::int64_t i = 0; i < std::ssize(lse); ++i) {
      const std::int64_t row = i / c.T_q / c.H_q * c.T_q + i % c.T_q;
      if (chosen(false, row, i / c.T_q % c.H_q)) lse[static_cast<std::size_t>(i)] = kNaN;
    }
  }
}

// NaN in one batch does not reach the others, and NaN in one group of heads does not reach the
// others.
template <typename Pass>
void keeps_nan_in_its_batch_and_group(const Implementation& i, const Support& support) {
  AttentionCase c = make_case(support, 3, 20, 70, 4, 2);
  c.causal = true;
  const auto problem = Pass::make(make_problem(c));
  const Outputs wanted = run<Pass>(i, problem);

  const auto in_batch = [&](bool of_keys, std::int64_t row) {
    return row / (of_keys ? c.T_k : c.T_q) == 1;
  };
  auto batch = problem;
  spoil<Pass>(batch,
              [&](bool of_keys, std::int64_t row, std::int64_t) { return in_batch(of_keys, row); });
  expect_same(wanted, run<Pass>(i, batch),
              [&](const Output& output, std::int64_t row, std::int64_t) {
                return !in_batch(output.of_keys, row);
              });

  const auto in_group = [&](bool of_keys, std::int64_t head) {
    return of_keys ? head == 0 : head / (c.H_q / c.H_kv) == 0;
  };
  auto group = problem;
  spoil<Pass>(group, [&](bool of_keys, std::int64_t, std::int64_t head) {
    return in_group(of_keys, head);
  });
  expect_same(wanted, run<Pass>(i, group),
              [&](const Output& output, std::int64_t, std::int64_t head) {
                return !in_group(output.of_keys, head);
              });
}

// Neither NaN in one packed sequence nor NaN in rows after the last one, which are neither read nor
// written, reaches other sequences.
template <typename Pass>
void keeps_nan_in_its_sequence(const Implementation& i, const Support& support) {
  AttentionCase c =
      packed(make_case(support, 1, 1, 1, 2, 1), {{20, 30}, {17, 40}, {9, 21}, {6, 13}});
  c.causal = true;
  auto problem = Pass::make(make_problem(c));
  auto &cu_seqlens_q = problem.template array<std::int64_t>("cu_seqlens_q"),
       &cu_seqlens_k = problem.template array<std::int64_t>("cu_seqlens_k");
  const std::vector<std::int64_t> first_query = cu_seqlens_q, first_key = cu_seqlens_k;
  const auto sequence_of = [&](bool of_keys, std::int64_t row) {
    const auto& first = of_keys ? first_key : first_query;
    return std::upper_bound(first.begin(), first.end(), row) - first.begin() - 1;
  };
  problem.drawn_case().lengths.pop_back();  // the last rows belong to no sequence
  cu_seqlens_q.pop_back();
  cu_seqlens_k.pop_back();
  const Outputs wanted = run<Pass>(i, problem);
  auto spoilt = problem;
  spoil<Pass>(spoilt, [&](bool of_keys, std::int64_t row, std::int64_t) {
    return sequence_of(of_keys, row) % 2 == 1;
  });
  const Outputs outputs = run<Pass>(i, spoilt);
  expect_same(wanted, outputs, [&](const Output& output, std::int64_t row, std::int64_t) {
    return sequence_of(output.of_keys, row) % 2 == 0;
  });
  for (const Outputs& each : {wanted, outputs}) {
    for (const Output& output : each) {
      for (std::size_t n = 0; n < output.x.size(); ++n) {
        const auto [row, head] = output.place(static_cast<std::int64_t>(n));
        if (sequence_of(output.of_keys, row) < 3) continue;
        ASSERT_TRUE(std::isnan(output.x[n]))
            << output.name << ", row " << row << " behind the last sequence was written";
      }
    }
  }
}

// Sequences whose slots hold one tile, several or none, with rows between them that belong to no
// sequence. They are as many as a tile's rows, and more.
template <typename Pass>
void finds_each_sequences_slots(const Implementation& i, const Support& support) {
  AttentionCase c = make_case(support, 1, 1, 1, 1, 1);
  c.D = 32;
  c.causal = true;
  c = packed(c,
             {{260, 130}, {1, 2}, {0, 0}, {1, 1}, {0, 5}, {128, 64}, {1, 0}, {5, 129}, {130, 260}});
  auto problem = Pass::make(make_problem(c));
  auto &cu_seqlens_q = problem.template array<std::int64_t>("cu_seqlens_q"),
       &cu_seqlens_k = problem.template array<std::int64_t>("cu_seqlens_k");
  const std::vector<std::int64_t> first_query = cu_seqlens_q, first_key = cu_seqlens_k;
  const Outputs wanted = run<Pass>(i, problem);
  expect_right<Pass>(i, make_problem(c));
  std::vector<AttentionCase::Lengths>& lengths = problem.drawn_case().lengths;
  lengths = {lengths.begin() + 1, lengths.end() - 1};
  for (std::vector<std::int64_t>* const first : {&cu_seqlens_q, &cu_seqlens_k})
    *first = {first->begin() + 1, first->end() - 1};
  const Outputs outputs = run<Pass>(i, problem);
  const auto is_nobodys = [&](const Output& output, std::int64_t row) {
    const auto& first = output.of_keys ? first_key : first_query;
    return row < first[1] || row >= first[first.size() - 2];
  };
  expect_same(wanted, outputs, [&](const Output& output, std::int64_t row, std::int64_t) {
    return !is_nobodys(output, row);
  });
  for (const Output& output : outputs) {
    for (std::size_t n = 0; n < output.x.size(); ++n) {
      const auto [row, head] = output.place(static_cast<std::int64_t>(n));
      ASSERT_TRUE(!is_nobodys(output, row) || std::isnan(output.x[n]))
          << output.name << ", row " << row << " of no sequence was written";
    }
  }
}

// More sequences than the second and third dimension of a grid allow.
template <typename Pass>
void takes_many_packed_sequences(const Implementation& i, const Support& support) {
  if (!on_a_gpu()) return ladder::testing::skip("70,000 sequences take the emulator a minute");
  std::vector<AttentionCase::Lengths> lengths(70'000, {0, 0});
  for (std::size_t n = 0; n < lengths.size(); n += 1000)
    lengths[n] = {1, 2};
  lengths.back() = {7, 5};
  expect_right<Pass>(i, make_problem(packed(make_case(support, 1, 1, 1, 1, 1), lengths)));
}

// With a NaN value, queries that see its key get NaN. Earlier queries may get NaN if they read the
// same tile of keys, and no other query may.
void hands_nan_no_further_than_its_tile(const Implementation& i, const Support& support) {
  ::testing::Test::RecordProperty("an_input_is_nan", 1);  // for ./ladder exercise
  constexpr std::int64_t kKey = 290;
  const std::int64_t far_from = support.skips_masked_tiles ? 128 : 0;
  AttentionCase c = make_case(support, 1, 300, 300, 1, 1);
  c.causal = true;
  AttentionProblem problem = make_problem(c);
  const Outputs wanted = run<Forward>(i, problem);
  std::fill_n(problem["v"].begin() + kKey * c.D, c.D, kNaN);
  const Outputs outputs = run<Forward>(i, problem);
  for (std::size_t n = 0; n < wanted[0].x.size(); ++n) {
    const std::int64_t row = static_cast<std::int64_t>(n) / c.D;
    const float x = outputs[0].x[n];
    ASSERT_TRUE(std::isfinite(wanted[0].x[n])) << "WRONG RESULT: o of query " << row << " is "
                                               << wanted[0].x[n] << " where all inputs are finite.";
    const bool is_as_without = x == wanted[0].x[n];
    const char* const rule = row >= kKey      ? "sees that key, and must be NaN"
                             : row < far_from ? "is of an earlier tile, and must be as without it"
                                              : "must be NaN, or as without it";
    ASSERT_TRUE(row >= kKey ? std::isnan(x) : is_as_without || (row >= far_from && std::isnan(x)))
        << "WRONG RESULT: an input is NaN, v of key " << kKey << ". Query " << row << " " << rule
        << ", but o is " << x << " and " << wanted[0].x[n] << " where all inputs are finite.";
  }
  expect_same({wanted[1]}, {outputs[1]},
              [](const Output&, std::int64_t, std::int64_t) { return true; });
}

// ---- Invalid lengths ----

template <typename Pass>
void clamps_bad_lengths(const Implementation& i, const Support& support) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  AttentionCase c = make_case(support, 6, 20, 70, 2, 1);
  c.causal = true;
  c.key_lengths = true;
  AttentionProblem forward = make_problem(c);
  const auto array_of = [](auto& problem, const char* name) -> std::vector<std::int64_t>& {
    return problem.template array<std::int64_t>(name);
  };
  array_of(forward, "key_lengths") = {0, 70, 64, 0, 70, 0};
  auto problem = Pass::make(forward);
  const Outputs wanted = run<Pass>(i, problem);
  array_of(problem, "key_lengths") = {-1, 71, 64, -1000, kMost, kLeast};
  expect_all_same(wanted, run<Pass>(i, problem));

  if (!support.packed) return;
  c = packed(make_case(support, 1, 1, 1, 2, 1), {{20, 30}, {17, 40}, {0, 0}, {0, 0}});
  c.causal = true;
  problem = Pass::make(make_problem(c));  // 0, 20, 37, 37, 37 and 0, 30, 70, 70, 70
  std::vector<std::int64_t>&queries = array_of(problem, "cu_seqlens_q"),
  &keys = array_of(problem, "cu_seqlens_k");
  const Outputs packed_wanted = run<Pass>(i, problem);
  queries = {-7, 20, 38, 1 << 20, kMost};
  keys = {kLeast, 30, kMost, 71, 1 << 20};
  expect_all_same(packed_wanted, run<Pass>(i, problem));
  queries = {0, 20, 37, 20, -1};  // decreasing, so no sequence has a row below
  keys = {0, 30, 70, 30, kLeast};
  expect_all_same(packed_wanted, run<Pass>(i, problem));
  // Sequences 0 and 2 share rows. Any result is allowed, but the call must return one, and it must
  // not access out-of-bounds rows.
  queries = {0, 30, 10, 25, 5};
  keys = {0, 60, 20, 50, 10};
  EXPECT_NO_THROW(run<Pass>(i, problem));
}

// ---- Tiles ----

template <typename Pass>
void takes_packed_sequences_over_several_tiles(const Implementation& i, const Support& support) {
  for (const bool causal : {false, true}) {
    AttentionCase c = packed(make_case(support, 1, 1, 1, 1, 1),
                             {{200, 150}, {0, 3}, {33, 5}, {5, 0}, {131, 260}, {1, 129}});
    c.causal = causal;
    expect_right<Pass>(i, make_problem(c));
  }
}

// With a scale of its own, too.
template <typename Pass>
void takes_groups_of_heads_over_several_tiles(const Implementation& i, const Support& support) {
  for (const bool causal : {false, true}) {
    AttentionCase c = make_case(support, 1, 140, 200, 4, 2);
    c.causal = causal;
    c.scale = 0.3f;
    expect_right<Pass>(i, make_problem(c));
  }
}

// Few queries, and so many keys that each stage of a ring of three tiles of 128 keys is filled a
// fourth time. A wait for an mbarrier's phase that is right for two rounds may be wrong in the
// third.
void takes_many_turns(const Implementation& i, const Support& support) {
  expect_right<Forward>(i, make_problem(make_case(support, 1, 3, 1160, 1, 1)));
}

// ---- All options ----

template <typename Pass>
void takes_windows_at_borders_of_tiles(const Implementation& i, const Support& support) {
  const auto expect = [&](std::int64_t T_q, std::int64_t T_k, std::int64_t D, std::int64_t window) {
    AttentionCase c = make_case(support, 1, T_q, T_k, 1, 1);
    c.D = D;
    c.causal = true;
    c.window = window;
    expect_right<Pass>(i, make_problem(c));
  };
  // With tiles of 64 keys, the first query's window begins with a tile, or one key before, and so
  // does the window of query 128.
  for (const std::int64_t window : {7, 8, 71, 72})
    expect(130, 200, 32, window);
  // With tiles of 64, the last query that sees the first tile's last key is the last in its tile,
  // or the first in the next. The same holds for query 128. The last query sees all keys, or all
  // but one.
  for (const std::int64_t window : {2, 3, 77, 76})
    expect(140, 77, 96, window);
  expect(300, 270, 32, 129);
  expect(30, 300, 32, 3);                    // most keys are before the first query's window
  expect(20, 9, 64, std::int64_t{1} << 40);  // more than exist, and more than 32 bits
}

template <typename Pass>
void takes_all_options_in_each_packed_sequence(const Implementation& i, const Support& support) {
  AttentionCase c =
      packed(make_case(support, 1, 1, 1, 2, 1), {{20, 150}, {0, 3}, {150, 20}, {5, 0}, {131, 140}});
  c.D = 40;
  c.causal = true;
  c.window = 20;
  c.softcap = 2;
  c.scale = -0.4f;
  expect_right<Pass>(i, make_problem(c));
}

template <typename Pass>
void refuses_widths(const Implementation& i, const Support& support, const std::string& name,
                    std::int64_t AttentionCase::*width) {
  for (const std::int64_t channels :
       {std::int64_t{4}, std::int64_t{60}, support.most_D + 1, support.most_D + 8}) {
    if (channels % support.D_step == 0 && channels <= support.most_D) continue;
    AttentionCase c = make_case(support, 1, 3, 20, 1, 1);
    c.*width = channels;
    const std::string said = name + " is " + std::to_string(channels);
    try {
      run<Pass>(i, Pass::make(make_problem(c)));
      ADD_FAILURE() << said << " and was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find(said + "; this kernel allows"), 0U) << error.what();
    }
  }
}

// Every allowed width, and no other one.
template <typename Pass>
void takes_every_width(const Implementation& i, const Support& support) {
  for (std::int64_t D = support.D_step; D <= support.most_D; D += 8) {
    AttentionCase c = make_case(support, 1, 3, 20, 1, 1);
    c.D = D;
    expect_right<Pass>(i, make_problem(c));
  }
  refuses_widths<Pass>(i, support, "D", &AttentionCase::D);
}

// With a D_v of their own, rows of v, o and their gradients begin at the right address, and tiles
// are wide enough for both widths.
template <typename Pass>
void takes_values_of_another_width(const Implementation& i, const Support& support) {
  const std::int64_t most = support.most_D;
  for (const auto& [D, D_v] : {std::pair<std::int64_t, std::int64_t>{64, 40},
                               {40, 64},
                               {24, 104},
                               {104, 24},
                               {most, 8},
                               {8, most}}) {
    const bool is_wide = std::max(D, D_v) > 128;  // fewer tiles for these
    AttentionCase c = make_case(support, 1, is_wide ? 20 : 70, is_wide ? 70 : 140, 2, 1);
    c.D = D;
    c.D_v = D_v;
    c.causal = D > D_v;
    expect_right<Pass>(i, make_problem(c));
    c = packed(c, {{20, 50}, {0, 3}, {37, 20}, {5, 0}, {13, 67}});
    if (is_wide) c = packed(c, {{0, 3}, {7, 20}, {5, 0}, {13, 67}});
    c.causal = true;
    c.window = D > 64 ? 0 : 20;
    c.softcap = D_v > 64 ? 0.0f : 2.0f;
    c.scale = D > D_v ? -0.4f : 0.0f;
    expect_right<Pass>(i, make_problem(c));
  }
  refuses_widths<Pass>(i, support, "D_v", &AttentionCase::D_v);
}

// Large scores all become the softcap. Their gradients vanish, and nothing overflows.
template <typename Pass>
void survives_scores_beyond_the_softcap(const Implementation& i, const Support& support) {
  for (const float softcap : {1.0f, 20.0f}) {
    AttentionCase c = make_case(support, 1, 30, 70, 2, 1);
    c.softcap = softcap;
    c.magnitude = 30.0f;
    expect_right<Pass>(i, make_problem(c));
  }
}

// A GPU whose blocks have 99 KB runs other kernels, with all options and without any.
template <typename Pass>
void takes_little_shared_memory(const Implementation& i, const Support& support) {
  if (on_a_gpu())
    return ladder::testing::skip("only the emulator can be a device with less shared memory");
  const emulator::SmallerDevice limit(emulator::SmallerDevice::kSharedMemoryKb, "99");
  for (const std::int64_t D : {32, 64, 128, 256}) {  // 96 columns have one kernel
    AttentionCase c = D < 128 ? make_case(support, 1, 70, 130, 2, 1)
                              : make_case(support, 1, 40, 70, 2, 1);  // smaller tiles
    c.D = D;
    expect_right<Pass>(i, make_problem(c));
    if (D == 256) c.D = 136, c.D_v = support.any_D_v ? 72 : 0;
    c = packed(c, {{20, 35}, {1, 5}, {40, 30}});
    c.causal = true;
    c.window = 17;
    c.softcap = 2;
    expect_right<Pass>(i, make_problem(c));
  }
}

// With a scale of 0 the weights of all visible keys are the same, and q and k have no gradients. A
// case's scale cannot be 0.
void takes_a_scale_of_0(const Implementation& i, const Support& support) {
  AttentionCase c = make_case(support, 1, 20, 70, 2, 1);
  c.causal = true;
  AttentionProblem forward = make_problem(c);
  const std::vector<float> q = forward["q"];
  forward["q"].assign(q.size(), 0.0f);  // scores of 0 as well
  AttentionGradProblem problem = make_grad_problem(forward);
  const Outputs wanted = run<Backward>(i, problem);
  problem["q"] = q;
  ladder::with_storage<Backward::Op>(to_string(support.precision), [&]<typename Args>() {
    const ladder::OnDevice<Backward::Op, Args> on_device(ladder::device(i.device), problem);
    Args args = on_device.args();
    args.forward.scale = 0.0f;
    ladder::launch<Backward::Op>(i, args);
    ladder::device(i.device).synchronize();
    const Outputs outputs = Backward::named(problem, on_device.download());
    expect_same({wanted[2]}, {outputs[2]},
                [](const Output&, std::int64_t, std::int64_t) { return true; });
    for (const Output& output : {outputs[0], outputs[1]}) {
      EXPECT_TRUE(std::all_of(output.x.begin(), output.x.end(), [](float x) { return x == 0.0f; }))
          << output.name << " is not 0 although the scale is";
    }
  });
}

// NaN in tiles of keys before all windows, and in queries after those that see a tile of keys.
// Neither is multiplied by 0.
void keeps_nan_outside_of_windows_to_its_tiles(const Implementation& i, const Support& support) {
  AttentionCase c = make_case(support, 1, 1, 300, 1, 1);
  c.causal = true;
  c.window = 40;  // keys 260 to 299
  const AttentionGradProblem late = Backward::make(make_problem(c));
  AttentionGradProblem spoilt = late;
  for (const char* name : {"k", "v"})
    std::fill_n(spoilt[name].begin(), 256 * c.D, kNaN);
  expect_same(run<Backward>(i, late), run<Backward>(i, spoilt),
              [](const Output& output, std::int64_t row, std::int64_t) {
                return !output.of_keys || row >= 256;
              });
  c.T_q = c.T_k = 300;
  const AttentionGradProblem square = Backward::make(make_problem(c));
  spoilt = square;
  for (const char* name : {"q", "d_o"})
    std::fill_n(spoilt[name].begin() + 256 * c.D, 44 * c.D, kNaN);
  expect_same(run<Backward>(i, square), run<Backward>(i, spoilt),
              [](const Output& output, std::int64_t row, std::int64_t) {
                return row < (output.of_keys ? 128 : 256);
              });
}

// ---- Alignment ----

// The same elements, `shift` bytes after an address with every alignment.
class Shifted {
 public:
  Shifted(ladder::Device& device, const void* from, std::size_t bytes, std::size_t shift)
      : device_(device),
        base_(static_cast<unsigned char*>(device.allocate(bytes + 256))),
        shift_(shift) {
    std::vector<unsigned char> copy(bytes);
    device.download(copy.data(), from, bytes);
    device.upload(base_ + shift, copy.data(), bytes);
  }
  ~Shifted() { device_.release(base_); }
  Shifted(const Shifted&) = delete;
  Shifted& operator=(const Shifted&) = delete;

  void* pointer() const { return base_ + shift_; }
  void copy_to(void* to, std::size_t bytes) const {
    std::vector<unsigned char> copy(bytes);
    device_.download(copy.data(), pointer(), bytes);
    device_.upload(to, copy.data(), bytes);
  }

 private:
  ladder::Device& device_;
  unsigned char* base_;
  std::size_t shift_;
};

// Each pointer in turn gets every address that its elements allow. The result is the same, or a
// rejection names the pointer.
template <typename Pass>
void takes_or_refuses_any_alignment_of_each_pointer(const Implementation& i,
                                                    const Support& support) {
  AttentionCase c = make_case(support, 1, 3, 9, 2, 1);
  const auto problem = Pass::make(make_problem(c));
  const Outputs wanted = run<Pass>(i, problem);
  ladder::Device& device = ladder::device(i.device);
  ladder::with_storage<typename Pass::Op>(to_string(c.precision), [&]<typename Args>() {
    using OnDevice = ladder::OnDevice<typename Pass::Op, Args>;
    using Element = ladder::Pointee<decltype(Pass::sizes(std::declval<Args&>()).q)>;
    struct Pointer {
      const char* name;
      std::function<void*(const Args&)> get;
      std::function<void(Args&, void*)> set;
      std::int64_t bytes;
      std::size_t element;
      bool output;
    };
    const std::int64_t of_queries =
        c.T_q * c.H_q * c.D * static_cast<std::int64_t>(sizeof(Element));
    const std::int64_t of_keys = c.T_k * c.H_kv * c.D * static_cast<std::int64_t>(sizeof(Element));
    const std::int64_t of_lse = c.T_q * c.H_q * static_cast<std::int64_t>(sizeof(float));
    std::vector<Pointer> pointers;
    const auto add = [&](const char* name, auto member, std::int64_t bytes, bool output) {
      using Type =
          std::remove_pointer_t<std::remove_reference_t<decltype(member(std::declval<Args&>()))>>;
      pointers.push_back({name,
                          [=](const Args& args) {
                            Args copy = args;
                            return const_cast<void*>(static_cast<const void*>(member(copy)));
                          },
                          [=](Args& args, void* to) { member(args) = static_cast<Type*>(to); },
                          bytes, sizeof(Type), output});
    };
    constexpr bool kForward = std::is_same_v<Pass, Forward>;
    add(
        "q", [](Args & a) -> auto& { return Pass::sizes(a).q; }, of_queries, false);
    add(
        "k", [](Args & a) -> auto& { return Pass::sizes(a).k; }, of_keys, false);
    add(
        "v", [](Args & a) -> auto& { return Pass::sizes(a).v; }, of_keys, false);
    add(
        "o", [](Args & a) -> auto& { return Pass::sizes(a).o; }, of_queries, kForward);
    add(
        "lse", [](Args & a) -> auto& { return Pass::sizes(a).lse; }, of_lse, kForward);
    if constexpr (!kForward) {
      add(
          "d_o", [](Args & a) -> auto& { return a.d_o; }, of_queries, false);
      add(
          "dq", [](Args & a) -> auto& { return a.dq; }, of_queries, true);
      add(
          "dk", [](Args & a) -> auto& { return a.dk; }, of_keys, true);
      add(
          "dv", [](Args & a) -> auto& { return a.dv; }, of_keys, true);
    }
    for (const Pointer& pointer : pointers) {
      for (std::size_t shift = pointer.element; shift < 16; shift *= 2) {
        SCOPED_TRACE(std::string(pointer.name) + " shifted by " + std::to_string(shift) + " bytes");
        const OnDevice on_device(device, problem);
        Args args = on_device.args();
        void* const original = pointer.get(args);
        const auto bytes = static_cast<std::size_t>(pointer.bytes);
        const Shifted shifted(device, original, bytes, shift);
        pointer.set(args, shifted.pointer());
        try {
          ladder::launch<typename Pass::Op>(i, args);
        } catch (const ladder::NotOnThisDevice&) {
          throw;
        } catch (const std::invalid_argument& error) {
          EXPECT_EQ(std::string(error.what()).find(std::string(pointer.name) + " is not aligned"),
                    0U)
              << error.what();
          continue;
        }
        device.synchronize();
        if (pointer.output) shifted.copy_to(original, bytes);
        expect_all_same(wanted, Pass::named(problem, on_device.download()));
      }
    }
  });
}

// ---- Limits ----

// Arguments of fp32, bf16 or fp16 whose pointers point to a few elements. The launcher must reject
// them before they are read.
template <typename Pass>
void refuses_more_than_its_limits(const Implementation& i, const Support& support) {
  alignas(16) static unsigned char elements[1024] = {};
  static const std::int64_t cu_seqlens[2] = {0, 1};
  ladder::with_storage<typename Pass::Op>(to_string(support.precision), [&]<typename Args>() {
    using Element = ladder::Pointee<decltype(Pass::sizes(std::declval<Args&>()).q)>;
    for (const std::string& limit : support.limits) {
      Args args;
      auto& sizes = Pass::sizes(args);
      auto* const x = reinterpret_cast<Element*>(elements);
      sizes.B = sizes.T_q = sizes.T_k = sizes.H_q = sizes.H_kv = 1;
      sizes.D = support.D;
      sizes.q = sizes.k = sizes.v = sizes.o = x;
      sizes.lse = reinterpret_cast<float*>(elements);
      if constexpr (std::is_same_v<Pass, Backward>) args.d_o = args.dq = args.dk = args.dv = x;
      if (limit == "sequences") {
        sizes.cu_seqlens_q = sizes.cu_seqlens_k = cu_seqlens;
        sizes.sequences = support.slots ? INT32_MAX : 65536;
      } else if (limit == "B") {
        sizes.B = 65536;
      } else if (limit == "H_q") {
        sizes.H_q = 65536;
      } else {
        (limit == "T_q" ? sizes.T_q : sizes.T_k) = INT32_MAX - 1023;
      }
      try {
        ladder::launch<typename Pass::Op>(i, args);
        ADD_FAILURE() << limit << " beyond the limit was accepted";
      } catch (const std::invalid_argument& error) {
        const std::string sentence = error.what();
        EXPECT_NE(sentence.find(limit), std::string::npos) << sentence;
        EXPECT_NE(sentence.find("allow"), std::string::npos) << sentence;
      }
    }
  });
}

// ---- Only for the gradients ----

// The result is the same for every order of blocks, under every schedule, and when it is repeated.
void is_repeatable_in_dk_and_dv(const Implementation& i, const Support& support) {
  AttentionCase c = make_case(support, 1, 140, 300, 2, 1);
  c.causal = true;
  const AttentionGradProblem problem = Backward::make(make_problem(c));
  ladder::Device& device = ladder::device(i.device);
  std::vector<std::string> schedules = device.schedules();
  schedules.push_back(schedules.back());
  Outputs wanted;
  for (const std::string& schedule : schedules) {
    device.use_schedule(schedule);
    const Outputs outputs = run<Backward>(i, problem);
    if (wanted.empty()) wanted = outputs;
    const std::size_t first = support.dq_repeatable ? 0 : 1;
    expect_all_same({wanted.begin() + static_cast<std::ptrdiff_t>(first), wanted.end()},
                    {outputs.begin() + static_cast<std::ptrdiff_t>(first), outputs.end()});
  }
}

// There are rows but no sequence, so no block adds anything to their gradients.
void clears_gradients_without_sequences(const Implementation& i, const Support& support) {
  const AttentionGradProblem problem =
      Backward::make(make_problem(packed(make_case(support, 1, 1, 1, 2, 1), {{5, 7}, {3, 2}})));
  ladder::with_storage<Backward::Op>(to_string(support.precision), [&]<typename Args>() {
    const ladder::OnDevice<Backward::Op, Args> on_device(ladder::device(i.device), problem);
    Args args = on_device.args();
    args.forward.sequences = 0;
    ladder::launch<Backward::Op>(i, args);
    ladder::device(i.device).synchronize();
    for (const Output& output : Backward::named(problem, on_device.download())) {
      EXPECT_TRUE(std::all_of(output.x.begin(), output.x.end(), [](float x) { return x == 0.0f; }))
          << output.name << " is not 0 although there is no sequence";
    }
  });
}

// ---- Registration ----

// An implementation's edges share the thread schedules.
void add(const std::string& implementation, const std::string& test,
         const ladder::testing::Body& body) {
  static std::size_t turn = 0;
  ladder::testing::add(implementation, test, body, turn++);
}

template <typename Pass>
void register_edges(const std::string& name, const Support& support) {
  const auto with = [&](void (*test)(const Implementation&, const Support&)) {
    return [=](const Implementation& i) { test(i, support); };
  };
  add(name, "KeepsNaNInItsBatchAndGroup", with(keeps_nan_in_its_batch_and_group<Pass>));
  if (support.key_lengths) add(name, "ClampsBadLengths", with(clamps_bad_lengths<Pass>));
  add(name, "TakesGroupsOfHeadsOverSeveralTiles",
      with(takes_groups_of_heads_over_several_tiles<Pass>));
  add(name, "TakesOrRefusesAnyAlignmentOfEachPointer",
      with(takes_or_refuses_any_alignment_of_each_pointer<Pass>));
  if (!support.limits.empty())
    add(name, "RefusesMoreThanItsLimits", with(refuses_more_than_its_limits<Pass>));
  Support of_v = support;
  of_v.D_v = 40;
  const auto with_another_width = [&](void (*test)(const Implementation&, const Support&)) {
    return [=](const Implementation& i) { test(i, of_v); };
  };
  if (support.any_D_v) {
    add(name, "TakesValuesOfAnotherWidth", with(takes_values_of_another_width<Pass>));
    add(name, "KeepsNaNInItsBatchAndGroupWhereValuesHaveAnotherWidth",
        with_another_width(keeps_nan_in_its_batch_and_group<Pass>));
  }
  if (!support.packed) return;
  add(name, "KeepsNaNInItsSequence", with(keeps_nan_in_its_sequence<Pass>));
  if (support.any_D_v) {
    add(name, "KeepsNaNInItsSequenceWhereValuesHaveAnotherWidth",
        with_another_width(keeps_nan_in_its_sequence<Pass>));
  }
  add(name, "TakesPackedSequencesOverSeveralTiles",
      with(takes_packed_sequences_over_several_tiles<Pass>));
  if (!support.slots) return;
  add(name, "FindsEachSequencesSlots", with(finds_each_sequences_slots<Pass>));
  add(name, "TakesManyPackedSequences", with(takes_many_packed_sequences<Pass>));
}

}  // namespace

bool register_forward_edges(const std::string& name, const Support& support) {
  register_edges<Forward>(name, support);
  add(name, "TakesManyTurns", [=](const Implementation& i) { takes_many_turns(i, support); });
  add(name, "HandsNaNNoFurtherThanItsTile",
      [=](const Implementation& i) { hands_nan_no_further_than_its_tile(i, support); });
  return true;
}

bool register_backward_edges(const std::string& name, const Support& support) {
  register_edges<Backward>(name, support);
  add(name, "IsRepeatableInDkAndDv",
      [=](const Implementation& i) { is_repeatable_in_dk_and_dv(i, support); });
  if (support.packed) {
    add(name, "ClearsGradientsWithoutSequences", [=](const Implementation& i) {
      clears_gradients_without_sequences(i, support);
      Support of_v = support;
      of_v.D_v = 2 * support.D;
      if (support.any_D_v) clears_gradients_without_sequences(i, of_v);
    });
  }
  const auto with = [&](void (*test)(const Implementation&, const Support&)) {
    return [=](const Implementation& i) { test(i, support); };
  };
  if (support.scale_of_0) add(name, "TakesAScaleOf0", with(takes_a_scale_of_0));
  if (support.any_D) add(name, "TakesEveryWidth", with(takes_every_width<Backward>));
  if (!support.all_options) return true;
  add(name, "TakesWindowsAtBordersOfTiles", with(takes_windows_at_borders_of_tiles<Backward>));
  add(name, "TakesAllOptionsInEachPackedSequence",
      with(takes_all_options_in_each_packed_sequence<Backward>));
  add(name, "SurvivesScoresBeyondTheSoftcap", with(survives_scores_beyond_the_softcap<Backward>));
  if (support.little_shared_memory)
    add(name, "TakesLittleSharedMemory", with(takes_little_shared_memory<Backward>));
  add(name, "KeepsNaNOutsideOfWindowsToItsTiles", with(keeps_nan_outside_of_windows_to_its_tiles));
  return true;
}

}  // namespace flash_attention::edges
