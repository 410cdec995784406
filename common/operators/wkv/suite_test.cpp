// The suites are tested: plain loops must pass them.
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/registry.hpp"
#include "common/operators/suite.hpp"

namespace ladder::testing {
namespace {

template <typename Element>
Element stored(float x) {
  if constexpr (std::is_same_v<Element, float>) {
    return x;
  } else {
    return to_bfloat16(x);
  }
}

// Every sequence, or batch, and every head: its first step of B * T, how many it has, its state and its head.
template <typename Args, typename Visit>
void for_each_head(const Args& a, const Visit& visit) {
  const std::int64_t sequences = a.cu_seqlens == nullptr ? a.B : a.sequences;
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t first = a.cu_seqlens == nullptr ? s * a.T : a.cu_seqlens[s];
    const std::int64_t length = a.cu_seqlens == nullptr ? a.T : a.cu_seqlens[s + 1] - first;
    for (std::int64_t h = 0; h < a.H; ++h)
      visit(first, length, (s * a.H + h) * a.K * a.V, h);
  }
}

template <bool kGla, typename Element, typename LogW>
void plain_forward(const BasicWkvArgs<Element, LogW>& a) {
  if (kGla) {
    validate_gla(a, PackedSequences::kAllowed);
  } else {
    validate(a, PackedSequences::kAllowed);
  }
  for_each_head(a, [&](std::int64_t first, std::int64_t length, std::int64_t at, std::int64_t h) {
    std::vector<float> state(a.K * a.V);
    if (a.initial_state != nullptr) std::copy_n(a.initial_state + at, state.size(), state.begin());
    for (std::int64_t n = 0; n < length; ++n) {
      const std::int64_t t = first + (a.reverse ? length - 1 - n : n), row = t * a.H + h;
      for (std::int64_t i = 0; i < a.V; ++i) {
        float o = 0;
        for (std::int64_t j = 0; j < a.K; ++j) {
          const float w = std::exp(to_float(a.log_w[t * a.log_w_stride_T + h * a.K + j]));
          const float kv = to_float(a.k[row * a.K + j]) * to_float(a.v[row * a.V + i]);
          float& s = state[j * a.V + i];
          const float before = s;
          s = w * s + kv;
          if constexpr (kGla) {
            o += to_float(a.q[row * a.K + j]) * s;
          } else {
            o += to_float(a.q[row * a.K + j]) * (before + to_float(a.u[h * a.K + j]) * kv);
          }
        }
        a.o[row * a.V + i] = stored<Element>(a.scale * o);
      }
    }
    if (a.final_state != nullptr) std::copy(state.begin(), state.end(), a.final_state + at);
  });
}

template <bool kGla, typename Element, typename LogW>
void plain_backward(const BasicWkvGradArgs<Element, LogW>& args) {
  if (kGla) {
    validate_gla(args);
  } else {
    validate(args);
  }
  const BasicWkvArgs<Element, LogW>& a = args.forward;
  const std::int64_t decays = a.log_w_stride_T == 0 ? a.H * a.K : a.B * a.T * a.H * a.K;
  std::vector<float> d_log_w(decays), du(a.H * a.K);
  for_each_head(a, [&](std::int64_t first, std::int64_t length, std::int64_t at, std::int64_t h) {
    const std::int64_t size = a.K * a.V;
    const auto step = [&](std::int64_t n) { return first + (a.reverse ? length - 1 - n : n); };
    const auto decay = [&](std::int64_t n) { return step(n) * a.log_w_stride_T + h * a.K; };
    std::vector<float> states(size * (length + 1)), gradient(size);
    if (a.initial_state != nullptr) std::copy_n(a.initial_state + at, size, states.begin());
    if (args.d_final_state != nullptr) std::copy_n(args.d_final_state + at, size, gradient.begin());
    for (std::int64_t n = 0; n < length; ++n) {
      const std::int64_t row = step(n) * a.H + h;
      for (std::int64_t e = 0; e < size; ++e) {
        const std::int64_t j = e / a.V, i = e % a.V;
        states[(n + 1) * size + e] =
            std::exp(to_float(a.log_w[decay(n) + j])) * states[n * size + e] +
            to_float(a.k[row * a.K + j]) * to_float(a.v[row * a.V + i]);
      }
    }
    for (std::int64_t n = length - 1; n >= 0; --n) {
      const std::int64_t row = step(n) * a.H + h;
      std::vector<float> dv(a.V);
      for (std::int64_t j = 0; j < a.K; ++j) {
        const float q = to_float(a.q[row * a.K + j]), k = to_float(a.k[row * a.K + j]);
        const float w = std::exp(to_float(a.log_w[decay(n) + j]));
        const float u = kGla ? 0.0f : to_float(a.u[h * a.K + j]);
        float dq = 0, dk = 0;
        for (std::int64_t i = 0; i < a.V; ++i) {
          const float v = to_float(a.v[row * a.V + i]), d_o = to_float(args.d_o[row * a.V + i]);
          const float before = states[n * size + j * a.V + i];
          const float after = states[(n + 1) * size + j * a.V + i];
          float& g = gradient[j * a.V + i];
          if (kGla) g += a.scale * q * d_o;
          dq += a.scale * d_o * (kGla ? after : before + u * k * v);
          dk += v * (g + u * a.scale * q * d_o);
          dv[i] += k * (g + u * a.scale * q * d_o);
          d_log_w[decay(n) + j] += w * g * before;
          du[h * a.K + j] += a.scale * q * d_o * k * v;
          g = w * g + (kGla ? 0 : a.scale * q * d_o);
        }
        args.dq[row * a.K + j] = stored<Element>(dq);
        args.dk[row * a.K + j] = stored<Element>(dk);
      }
      for (std::int64_t i = 0; i < a.V; ++i)
        args.dv[row * a.V + i] = stored<Element>(dv[i]);
    }
    if (args.d_initial_state != nullptr)
      std::copy(gradient.begin(), gradient.end(), args.d_initial_state + at);
  });
  for (std::int64_t i = 0; i < decays; ++i)
    args.d_log_w[i] = stored<LogW>(d_log_w[i]);
  if (!kGla) std::copy(du.begin(), du.end(), args.du);
}

// "plain" is judged as fp32 arithmetic, "plain_bf16_operands" with the wider limits, which must hold for what is better too.
Implementation plain(const std::string& name, Arithmetic arithmetic) {
  return {.name = name,
          .chapter = "90_plain",
          .bf16_arithmetic = arithmetic,
          .launchers = launchers<Wkv>(plain_forward<false, float, float>,
                                      plain_forward<false, bfloat16, bfloat16>,
                                      plain_forward<false, bfloat16, float>) +
                       launchers<Gla>(plain_forward<true, float, float>,
                                      plain_forward<true, bfloat16, bfloat16>,
                                      plain_forward<true, bfloat16, float>) +
                       launchers<WkvBackward>(plain_backward<false, float, float>,
                                              plain_backward<false, bfloat16, bfloat16>,
                                              plain_backward<false, bfloat16, float>) +
                       launchers<GlaBackward>(plain_backward<true, float, float>,
                                              plain_backward<true, bfloat16, bfloat16>,
                                              plain_backward<true, bfloat16, float>)};
}

const Registration registrations[] = {
    Registration(plain("plain", Arithmetic::kFp32)),
    Registration(plain("plain_bf16_operands", Arithmetic::kBf16Operands))};

WkvSupport small(bool packed) {
  return {.bf16 = true,
          .packed = packed,
          .lengths = {0, 1, 17, 65},
          .K_sizes = {4, 16, 20},
          .V_sizes = {4, 16, 20}};
}

bool register_all(const std::string& name) {
  return register_wkv_suite(name, small(true)) && register_gla_suite(name, small(true)) &&
         register_wkv_backward_suite(name, small(false)) &&
         register_gla_backward_suite(name, small(false));
}

const bool registered = register_all("plain") && register_all("plain_bf16_operands");

}  // namespace
}  // namespace ladder::testing
