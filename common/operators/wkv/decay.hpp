// Model parametrisations of the decay, converted to its natural logarithm (always <= 0).
#pragma once

#include <cmath>

namespace ladder {

// RWKV-5/6: the decay factor is exp(-exp(raw)).
inline float log_decay_from_rwkv(float raw) {
  return -std::exp(raw);
}

// GLA: the gate is logsigmoid(x) / 16, in a form in which exp cannot overflow.
inline float log_decay_from_gla_gate(float x) {
  const float logsigmoid = std::fmin(x, 0.0f) - std::log1p(std::exp(-std::fabs(x)));
  return logsigmoid / 16.0f;
}

}  // namespace ladder
