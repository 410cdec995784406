#include "tools/upkeep/judge_table/cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "common/operators/suite.hpp"

namespace ladder::judge_table {
namespace {

constexpr Decay kDecays[] = {Decay::kMild, Decay::kNone, Decay::kStrong, Decay::kTotal,
                             Decay::kStrongToken};
constexpr Precision kWkvPrecisions[] = {Precision::kFp32, Precision::kBf16,
                                        Precision::kBf16Fp32Decay};

void make_small(std::int64_t T, std::int64_t& K, std::int64_t& V) {
  const std::int64_t most = T >= 1000 ? 32 : T >= 100 ? 64 : 256;
  K = std::min(K, most);
  V = std::min(V, most);
}

std::vector<WkvCase> wkv_cases(Recurrence recurrence, bool backward, bool long_too) {
  testing::WkvSupport support{.bf16 = true};
  if (backward) {
    support.lengths = {1, 17, 18, 20, 24, 65, 130, 200};
    support.K_sizes = {4, 20, 64, 72, 100};
    support.V_sizes = {4, 20, 64, 72, 100};
  }
  std::vector<WkvCase> cases = testing::wkv_cases(support, recurrence);
  for (WkvCase& c : cases) {
    c.B = 1;
    c.H = 2;
    if (!long_too) make_small(c.T, c.K, c.V);
  }
  std::uint32_t turn = 0;
  for (const std::int64_t T : {1, 2, 5, 17, 18, 20, 65}) {
    for (const std::int64_t K : {4, 16, 100}) {
      for (const std::int64_t V : {1, 2, 3, 4, 64}) {
        WkvCase c{.recurrence = recurrence, .B = backward ? 1 : 2, .T = T, .H = 3, .K = K, .V = V};
        c.decay = kDecays[turn % 5];
        c.decay_per_head = turn % 2 == 1 && c.decay != Decay::kStrongToken;
        c.initial_state = c.final_state = turn % 3 == 1;
        c.precision = kWkvPrecisions[turn % 3];
        c.seed = 100 + turn++;
        cases.push_back(c);
      }
    }
  }
  const std::int64_t size = backward ? 20 : 64;
  for (const Precision precision : kWkvPrecisions) {
    for (const float log_w : {0.0f, -1e-3f, -0.1f, -0.6f, -1.3f, -5.0f, -16.0f, -1e4f,
                              -std::numeric_limits<float>::infinity()}) {
      for (const bool per_head : {false, true}) {
        WkvCase c{.recurrence = recurrence, .B = 1, .T = 66, .H = 2, .K = size, .V = size};
        c.decay = Decay::kFixed;
        c.fixed_log_w = log_w;
        c.decay_per_head = per_head;
        c.initial_state = c.final_state = true;
        c.precision = precision;
        cases.push_back(c);
      }
    }
  }
  if (!backward) return cases;
  // What a decay per head sums over all steps.
  for (const Precision precision : kWkvPrecisions) {
    for (const std::int64_t T : {24, 40, 65, 130, 260}) {
      for (const Decay decay : {Decay::kNone, Decay::kMild}) {
        WkvCase c{.recurrence = recurrence, .B = 1, .T = T, .H = 2, .K = 20, .V = 20};
        c.decay = decay;
        c.decay_per_head = true;
        c.precision = precision;
        cases.push_back(c);
      }
    }
  }
  for (const std::int64_t T : {200, 260}) {
    for (const std::uint32_t seed : {2, 3, 4}) {
      WkvCase c{.recurrence = recurrence, .B = 1, .T = T, .H = 2, .K = 16, .V = 16};
      c.decay = Decay::kNone;
      c.decay_per_head = true;
      c.precision = Precision::kBf16Fp32Decay;
      c.seed = seed;
      cases.push_back(c);
    }
  }
  return cases;
}

std::vector<LinearAttentionCase> linear_attention_cases(bool long_too) {
  std::vector<LinearAttentionCase> cases;
  for (const bool plain : {true, false}) {
    const testing::LinearAttentionSupport support{.causal_dot_product_only = plain, .bf16 = true};
    for (LinearAttentionCase c : testing::linear_attention_cases(support)) {
      c.B = 1;
      c.H = 2;
      if (!long_too) {
        c.T_q = std::min<std::int64_t>(c.T_q, 200);
        c.T_k = std::min<std::int64_t>(c.T_k, 200);
        make_small(std::max(c.T_q, c.T_k), c.K, c.V);
      }
      cases.push_back(c);
    }
  }
  std::uint32_t turn = 0;
  for (const auto& [T_q, T_k] : {std::pair{1, 1}, {1, 64}, {64, 1}, {70, 1}, {17, 17}, {65, 65}}) {
    for (const std::int64_t K : {4, 16, 65, 100}) {
      for (const std::int64_t V : {1, 2, 3, 4, 64}) {
        for (const int form : {0, 1, 2, 3}) {
          LinearAttentionCase c{.B = 2, .T_q = T_q, .T_k = T_k, .H = 3, .K = K, .V = V};
          c.feature_map = form < 2 ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne;
          c.normalize = form == 3;
          c.causal = form == 0 || turn % 3 != 0;
          if (form == 0) c.T_k = c.T_q;
          c.precision = turn / 4 % 2 == 0 ? Precision::kFp32 : Precision::kBf16;
          c.seed = 100 + turn++;
          cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

constexpr Precision kAttentionPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16};

std::vector<AttentionCase> attention_cases(bool long_too) {
  std::vector<AttentionCase> cases = testing::attention_cases({.bf16 = true, .fp16 = true});
  for (AttentionCase& c : cases) {
    if (!long_too && c.D > 128) c.D = 32;
  }
  for (const Precision precision : kAttentionPrecisions) {
    for (const bool causal : {true, false}) {
      const AttentionCase base{.B = 1,
                               .T_q = 40,
                               .T_k = 130,
                               .H_q = 2,
                               .H_kv = 1,
                               .causal = causal,
                               .precision = precision};
      for (const float magnitude : {1.0f, 10.0f, 100.0f}) {
        cases.push_back(base);
        cases.back().magnitude = magnitude;
      }
      for (const auto& [T_q, T_k] : {std::pair{40, 1}, {40, 2}, {1, 66}, {3, 3}}) {
        for (const std::int64_t D : {32, 64}) {
          cases.push_back(base);
          cases.back().T_q = T_q;
          cases.back().T_k = T_k;
          cases.back().D = D;
        }
      }
      // One query's weights of 1000 keys: in fp16 a key's gradient is a subnormal number.
      for (const std::int64_t T_q : {1, 999}) {
        if (!long_too) break;
        cases.push_back(base);
        cases.back().T_q = T_q;
        cases.back().T_k = 1000;
      }
    }
  }
  return cases;
}

}  // namespace

Cases all_cases(bool long_too) {
  Cases cases;
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const WkvCase& c : wkv_cases(recurrence, false, long_too))
      cases.forward.push_back(c);
    for (const WkvCase& c : wkv_cases(recurrence, true, long_too))
      cases.backward.push_back(c);
  }
  cases.linear_attention = linear_attention_cases(long_too);
  cases.attention = attention_cases(long_too);
  return cases;
}

Cases random_cases(std::int64_t seeds) {
  Cases cases;
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    std::mt19937 engine(static_cast<std::uint32_t>(seed + 1));
    const auto one_of = [&](const auto& choices) { return choices[engine() % std::size(choices)]; };
    constexpr std::int64_t kLengths[] = {1, 2, 3, 5, 9, 17, 20, 33}, kSizes[] = {4, 8, 16, 20, 32},
                           kWidths[] = {1, 2, 4, 16, 20, 32}, kSquare[] = {4, 32}, kD[] = {32, 64};
    for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
      for (const Precision precision : kWkvPrecisions) {
        WkvCase c{.recurrence = recurrence, .B = 1, .T = one_of(kLengths), .H = 2};
        c.K = one_of(kSizes);
        c.V = one_of(kWidths);
        const bool square = engine() % 3 == 0;  // chapters 03 to 05 take these
        if (square) c.K = c.V = one_of(kSquare);
        c.decay = one_of(kDecays);
        c.decay_per_head = engine() % 2 == 0 && c.decay != Decay::kStrongToken;
        c.initial_state = c.final_state = !square && engine() % 2 == 0;
        c.reverse = !square && engine() % 2 == 0;
        c.precision = precision;
        c.seed = engine();
        cases.forward.push_back(c);
        cases.backward.push_back(c);
      }
    }
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      for (const int form : {0, 1, 2, 3}) {
        LinearAttentionCase c{.B = 1, .T_q = one_of(kLengths), .H = 2};
        c.T_k = form == 0 ? c.T_q : one_of(kLengths);
        c.K = one_of(kSizes);
        c.V = one_of(kWidths);
        c.feature_map = form < 2 ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne;
        c.normalize = form == 3;
        c.causal = form == 0 || engine() % 2 == 0;
        c.precision = precision;
        c.seed = engine();
        cases.linear_attention.push_back(c);
      }
    }
    for (const Precision precision : kAttentionPrecisions) {
      AttentionCase c{.B = 1, .T_q = one_of(kLengths), .T_k = one_of(kLengths), .H_q = 2};
      c.H_kv = 1 + static_cast<std::int64_t>(engine() % 2);
      c.D = one_of(kD);
      c.causal = engine() % 2 == 0;
      c.precision = precision;
      c.seed = engine();
      cases.attention.push_back(c);
    }
  }
  return cases;
}

}  // namespace ladder::judge_table
