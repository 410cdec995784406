// 07 chunkwise, numerics: five forms of a chunk's scores, and their overflow under strong decay.
// Change: none of these is a kernel. 05_gla_steps uses the third form, the only one that is right
//         everywhere.
// Why:    the decay between two tokens is a factor of at most 1, but it must be split in two to fit
//         a matrix product.
// Needs:  one head, T a multiple of the chunk.
// Costs:  an exp for each score, channel and operand. A kernel computes the operands once.
//         See README for measurements.
#include "numerics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "common/core/generator.hpp"

namespace chunkwise::numerics {
namespace {

// To nearest, ties to even, and infinity from 65520 on.
float round_to_fp16(float x) {
  constexpr int kBits = 10, kSmallestExponent = -14;
  constexpr float kOverflow = 65520.0f;
  if (x == 0.0f || !std::isfinite(x)) return x;
  if (std::fabs(x) >= kOverflow) return std::copysign(std::numeric_limits<float>::infinity(), x);
  const int exponent = std::max(std::ilogb(x), kSmallestExponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, kBits - exponent)), exponent - kBits);
}

// The tokens of one chunk. `sum` of token t is the log of the decay since the chunk began, up to
// and with t. For token -1 it is 0.
class Chunk {
 public:
  Chunk(const Problem& problem, std::int64_t first, float floor)
      : K_(problem.K),
        V_(problem.V),
        q_(problem.q.data() + first * K_),
        k_(problem.k.data() + first * K_),
        v_(problem.v.data() + first * V_),
        sums_(static_cast<std::size_t>((kChunk + 1) * K_)) {
    for (std::int64_t i = 0; i < kChunk * K_; ++i) {
      const float log_w = std::max(problem.log_w[first * K_ + i], floor);
      sums_[static_cast<std::size_t>(K_ + i)] = sums_[static_cast<std::size_t>(i)] + log_w;
    }
  }

  float q(std::int64_t t, std::int64_t j) const { return q_[t * K_ + j]; }
  float k(std::int64_t t, std::int64_t j) const { return k_[t * K_ + j]; }
  float v(std::int64_t t, std::int64_t i) const { return v_[t * V_ + i]; }
  float sum(std::int64_t t, std::int64_t j) const {
    return sums_[static_cast<std::size_t>((t + 1) * K_ + j)];
  }

  // Token t reads token s < t with the sum over j of q_t[j] k_s[j] exp(sum(t - 1) - sum(s)).
  float score(Form form, std::int64_t t, std::int64_t s) const {
    const std::int64_t sub_chunk = t / kSubChunk * kSubChunk;
    switch (form) {
      case Form::kNaive: return split_at(-1, t, s, [](float x) { return std::exp(x); });
      case Form::kNaiveFp16: return split_in_fp16(t, s);
      case Form::kSubChunks:
        if (s >= sub_chunk) return unsplit(t, s);
        return split_at(sub_chunk - 1, t, s, [](float x) { return std::exp(x); });
      case Form::kCentre:
        return split_at(kChunk / 2 - 1, t, s, [](float x) { return std::exp(x); });
      case Form::kCentreClamped:
        return split_at(kChunk / 2 - 1, t, s,
                        [](float x) { return std::exp(std::min(x, kLargestExponent)); });
    }
    return 0.0f;
  }

 private:
  // The decay from s to t as two factors, one per operand, from s to the anchor and from the anchor
  // to t.
  template <typename Exp>
  float split_at(std::int64_t anchor, std::int64_t t, std::int64_t s, Exp exp) const {
    float score = 0.0f;
    for (std::int64_t j = 0; j < K_; ++j) {
      const float left = q(t, j) * exp(sum(t - 1, j) - sum(anchor, j));
      const float right = k(s, j) * exp(sum(anchor, j) - sum(s, j));
      score += left * right;
    }
    return score;
  }

  float split_in_fp16(std::int64_t t, std::int64_t s) const {
    float score = 0.0f;
    for (std::int64_t j = 0; j < K_; ++j) {
      const float left = round_to_fp16(q(t, j) * std::exp(sum(t - 1, j)));
      const float right = round_to_fp16(k(s, j) * std::exp(-sum(s, j)));
      score += left * right;
    }
    return round_to_fp16(score);
  }

  // One factor, so there is no matrix product, but a sub-chunk has few pairs. Sums that a scan adds
  // up in another order can differ by a rounding in the wrong direction, which min() rules out.
  float unsplit(std::int64_t t, std::int64_t s) const {
    float score = 0.0f;
    for (std::int64_t j = 0; j < K_; ++j)
      score += q(t, j) * k(s, j) * std::exp(std::min(sum(t - 1, j) - sum(s, j), 0.0f));
    return score;
  }

  std::int64_t K_, V_;
  const float *q_, *k_, *v_;
  std::vector<float> sums_;
};

}  // namespace

const char* name_of(Form form) {
  switch (form) {
    case Form::kNaive: return "naive K/B, fp32";
    case Form::kNaiveFp16: return "naive, fp16 operands";
    case Form::kSubChunks: return "sub-chunks of 16, exponents <= 0";
    case Form::kCentre: return "anchor at the chunk's centre";
    case Form::kCentreClamped: return "centre + clamp";
  }
  return "";
}

ladder::WkvArgs Problem::args() const {
  ladder::WkvArgs args;
  args.B = args.H = 1;
  args.T = T, args.K = K, args.V = V;
  args.q = q.data(), args.k = k.data(), args.v = v.data();
  args.log_w = log_w.data(), args.u = u.data();
  args.log_w_stride_B = T * K;
  args.log_w_stride_T = K;
  return args;
}

Problem make_problem(double mean_log_decay) {
  constexpr std::int64_t T = 2 * kChunk, K = 64, V = 16;
  ladder::Generator generator(1);
  Problem problem{T, K, V};
  problem.q = generator.reals(T * K, -1, 1);
  problem.k = generator.reals(T * K, -1, 1);
  problem.v = generator.reals(T * V, -1, 1);
  problem.u = generator.reals(K, -1, 1);
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < T * K; ++i) {
    const double channel = 0.75 + 0.5 * static_cast<double>(i % K) / static_cast<double>(K - 1);
    const double token = 0.9 + 0.2 * random() / std::mt19937::max();
    problem.log_w.push_back(static_cast<float>(mean_log_decay * channel * token));
  }
  return problem;
}

std::vector<double> recurrence(const Problem& problem) {
  const std::int64_t T = problem.T, K = problem.K, V = problem.V;
  std::vector<double> o(static_cast<std::size_t>(T * V)), state(static_cast<std::size_t>(K * V));
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t j = 0; j < K; ++j) {
      const double q = problem.q[t * K + j], k = problem.k[t * K + j];
      const double w = std::exp(double{problem.log_w[t * K + j]});
      const double u = problem.u[j];
      for (std::int64_t i = 0; i < V; ++i) {
        double& S = state[static_cast<std::size_t>(j * V + i)];
        const double kv = k * problem.v[t * V + i];
        o[static_cast<std::size_t>(t * V + i)] += q * (S + u * kv);
        S = w * S + kv;
      }
    }
  }
  return o;
}

std::vector<float> chunkwise(const Problem& problem, Form form, float floor) {
  const std::int64_t T = problem.T, K = problem.K, V = problem.V;
  const float* const u = problem.u.data();
  std::vector<float> o(static_cast<std::size_t>(T * V)), state(static_cast<std::size_t>(K * V));
  for (std::int64_t first = 0; first < T; first += kChunk) {
    const Chunk chunk(problem, first, floor);
    for (std::int64_t t = 0; t < kChunk; ++t) {
      float* const o_t = &o[static_cast<std::size_t>((first + t) * V)];
      // The state before the chunk, and this token's contribution to itself.
      for (std::int64_t j = 0; j < K; ++j) {
        const float decayed = chunk.q(t, j) * std::exp(chunk.sum(t - 1, j));
        const float bonus = chunk.q(t, j) * u[j] * chunk.k(t, j);
        for (std::int64_t i = 0; i < V; ++i)
          o_t[i] += decayed * state[static_cast<std::size_t>(j * V + i)] + bonus * chunk.v(t, i);
      }
      // The earlier tokens of the chunk. This is a product of scores and v, masked by skipping the
      // terms above the diagonal.
      for (std::int64_t s = 0; s < t; ++s) {
        const float score = chunk.score(form, t, s);
        for (std::int64_t i = 0; i < V; ++i)
          o_t[i] +=
              score * (form == Form::kNaiveFp16 ? round_to_fp16(chunk.v(s, i)) : chunk.v(s, i));
      }
    }
    const std::int64_t last = kChunk - 1;
    for (std::int64_t j = 0; j < K; ++j) {
      for (std::int64_t i = 0; i < V; ++i) {
        float& S = state[static_cast<std::size_t>(j * V + i)];
        S *= std::exp(chunk.sum(last, j));
        for (std::int64_t s = 0; s < kChunk; ++s)
          S += chunk.k(s, j) * std::exp(chunk.sum(last, j) - chunk.sum(s, j)) * chunk.v(s, i);
      }
    }
  }
  return o;
}

ladder::RelativeError error_of(Form form, double mean_log_decay) {
  const Problem problem = make_problem(mean_log_decay);
  return ladder::relative_error(chunkwise(problem, form), recurrence(problem), problem.V);
}

}  // namespace chunkwise::numerics
