// 02.06 linear_attention: from the classic loop to register tiles.
// Change: rewrite of 02.05. One pass over the state per tile of steps. Chapter 01 has two per step.
// Why:    the classic loop loads and stores the state each step, and waits for the cache, not FMAs.
// Needs:  GCC or Clang (vector extensions), OpenMP, x86 or ARM (untested). Options as chapter 01.
// Costs:  a copy of every operand through scratch memory that is padded to whole tiles.
//         See README for measurements.
#include "common/operators/linear_attention/linear_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "02_openmp/tile.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"

namespace openmp {
namespace {

using ladder::FeatureMap;
using ladder::LinearAttentionArgs;

void check(const LinearAttentionArgs& args) {
  ladder::validate(args);
  if (args.key_lengths == nullptr || args.T_q == 0) return;
  for (std::int64_t b = 0; b < args.B; ++b) {
    ladder::require(args.key_lengths[b] >= 0 && args.key_lengths[b] <= args.T_k,
                    "key_lengths[" + std::to_string(b) + "] is " +
                        std::to_string(args.key_lengths[b]) + "; allowed: 0 to T_k, which is " +
                        std::to_string(args.T_k));
  }
}

std::int64_t keys_of(const LinearAttentionArgs& args, std::int64_t b) {
  return args.key_lengths != nullptr ? args.key_lengths[b] : args.T_k;
}

// The classic loop, chapter 01's functions with restrict pointers, one (b, h) per thread at a time.

void map_features(FeatureMap map, const float* __restrict__ x, float* __restrict__ y,
                  std::int64_t K) {
  if (map == FeatureMap::kIdentity) {
    for (std::int64_t ik = 0; ik < K; ++ik)
      y[ik] = x[ik];
  } else {
    for (std::int64_t ik = 0; ik < K; ++ik)
      y[ik] = x[ik] > 0.0f ? x[ik] + 1.0f : std::exp(x[ik]);
  }
}

void vvt_dot(const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ S,
             std::int64_t K, std::int64_t V) {
  for (std::int64_t ik = 0; ik < K; ++ik) {
    for (std::int64_t iv = 0; iv < V; ++iv)
      S[ik * V + iv] += k[ik] * v[iv];
  }
}

void vm_dot(const float* __restrict__ q, const float* __restrict__ S, float* __restrict__ o,
            std::int64_t K, std::int64_t V) {
  for (std::int64_t iv = 0; iv < V; ++iv)
    o[iv] = 0.0f;
  for (std::int64_t ik = 0; ik < K; ++ik) {
    for (std::int64_t iv = 0; iv < V; ++iv)
      o[iv] += q[ik] * S[ik * V + iv];
  }
}

void linear_attention_classic(const LinearAttentionArgs& args) {
  check(args);
  const std::int64_t T_q = args.T_q, T_k = args.T_k, H = args.H, K = args.K, V = args.V;
#pragma omp parallel for collapse(2)
  for (std::int64_t b = 0; b < args.B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      std::vector<float> kv(K * V), z(K), phi_q(K), phi_k(K);
      std::int64_t seen = 0;
      for (std::int64_t l = 0; l < T_q; ++l) {
        const std::int64_t keys = keys_of(args, b);
        const std::int64_t visible = args.causal ? std::min(keys, l + 1) : keys;
        for (; seen < visible; ++seen) {
          const std::int64_t key_row = (b * T_k + seen) * H + h;
          map_features(args.feature_map, args.k + key_row * K, phi_k.data(), K);
          for (std::int64_t ik = 0; ik < K; ++ik)
            z[ik] += phi_k[ik];
          vvt_dot(phi_k.data(), args.v + key_row * V, kv.data(), K, V);
        }
        const std::int64_t row = (b * T_q + l) * H + h;
        float* o = args.o + row * V;  // (V)
        map_features(args.feature_map, args.q + row * K, phi_q.data(), K);
        vm_dot(phi_q.data(), kv.data(), o, K, V);
        if (args.normalize) {
          float denominator = args.eps;
          for (std::int64_t ik = 0; ik < K; ++ik)
            denominator += phi_q[ik] * z[ik];
          for (std::int64_t iv = 0; iv < V; ++iv)
            o[iv] /= denominator;
        }
      }
    }
  }
}

// Scratch of one task, which holds state and z of each of its heads, and one time tile of the
// current head. Padding rows are zeros, because o sums over them. Columns past the task's are
// computed, but stay in the scratch.
struct AttentionTile {
  std::int64_t rows;     // K, padded
  std::int64_t columns;  // the task's columns, padded
  float* v;              // (kSteps, columns)
  float* o;              // (kSteps, columns), not yet normalised
  float* q;              // (kSteps, rows)
  float* k;              // (kSteps, rows)
  float* factor;         // (kSteps), multiplies o at the end
  float* heads;  // (heads, 1 + columns, rows), z (rows) and the state (rows, columns) of each

  static std::int64_t floats(std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    return 2 * kSteps * columns + 2 * kSteps * rows + kSteps + heads * (1 + columns) * rows;
  }

  AttentionTile(std::int64_t rows, std::int64_t columns, float* scratch)
      : rows(rows), columns(columns) {
    v = scratch;
    o = v + kSteps * columns;
    q = o + kSteps * columns;
    k = q + kSteps * rows;
    factor = k + kSteps * rows;
    heads = factor + kSteps;
  }

  float* z(std::int64_t head) const { return heads + head * (1 + columns) * rows; }
  float* state(std::int64_t head) const { return z(head) + rows; }
};

// Advances all register tiles of a state by `steps` steps. S += k v if kTakeIn, o += q S if kRead.
template <bool kTakeIn, bool kRead>
void advance(const AttentionTile& tile, float* state, std::int64_t steps) {
  for (std::int64_t iv = 0; iv < tile.columns; iv += kTileColumns) {
    for (std::int64_t ik = 0; ik < tile.rows; ik += kRows) {
      float* corner = state + ik * tile.columns + iv;
      Vec s[kRows][kColumns];
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kColumns; ++c)
          s[r][c] = load(corner + r * tile.columns + c * kVec);
      }
      for (std::int64_t step = 0; step < steps; ++step) {
        // TODO(1): roughly 3 lines; declare pointers to this step's q and k (from key row ik on)
        // TODO(1): and v (from column iv on) in `tile`.
        float* o = tile.o + step * tile.columns + iv;
        for (int c = 0; c < kColumns; ++c) {
          // TODO(1): roughly 1 line; load one vector of v, which serves kRows rows.
          Vec out = load(o + c * kVec);
          // TODO(1): roughly 4 lines; for each key row, update s[r][c] if kTakeIn, and add its term
          // TODO(1): to `out` if kRead, in the order of the formula.
          // TODO(1): budget: per key row and vector one multiply-add if kTakeIn and one if kRead.
          if constexpr (kRead) store(o + c * kVec, out);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kColumns; ++c)
          store(corner + r * tile.columns + c * kVec, s[r][c]);
      }
    }
  }
}

// Stores phi of x (K) in y (rows).
void stage_features(FeatureMap map, const float* x, std::int64_t K, float* y) {
  // The next head's rows, for when this head's tile is computed. Past the last they are harmless.
  prefetch(x + K, K);
  copy(y, x, K);
  if (map == FeatureMap::kIdentity) return;
  for (std::int64_t ik = 0; ik < K; ik += kVec) {
    const Vec value = load(y + ik);
    store(y + ik, value > 0.0f ? value + 1.0f : exp(value > 0.0f ? Vec{} : value));
  }
  std::fill(y + K, y + round_up(K, kVec), 0.0f);  // phi(0) is 1, but padding must be 0
}

// Stages key and value s of head h in row `step`, or zeros after the last key.
void stage_key(const LinearAttentionArgs& args, const AttentionTile& tile, const Task& task,
               std::int64_t h, std::int64_t s, std::int64_t step) {
  float* k = tile.k + step * tile.rows;
  float* v = tile.v + step * tile.columns;
  if (s >= keys_of(args, task.b)) {
    std::fill_n(k, tile.rows, 0.0f);
    std::fill_n(v, tile.columns, 0.0f);
    return;
  }
  const std::int64_t row = (task.b * args.T_k + s) * args.H + h;
  const float* values = args.v + row * args.V + task.first;  // (width)
  stage_features(args.feature_map, args.k + row * args.K, args.K, k);
  prefetch(values + args.V, task.width);
  copy(v, values, task.width);
  // TODO(2): roughly 3 lines; add k, which is phi of this key, to its head's z; budget: K / kVec
  // TODO(2): vector additions.
}

// Stages query l of head h in row `step`. Its denominator sums the keys taken in so far.
void stage_query(const LinearAttentionArgs& args, const AttentionTile& tile, const Task& task,
                 std::int64_t h, std::int64_t l, std::int64_t step) {
  float* q = tile.q + step * tile.rows;
  const std::int64_t row = (task.b * args.T_q + l) * args.H + h;
  stage_features(args.feature_map, args.q + row * args.K, args.K, q);
  std::fill_n(tile.o + step * tile.columns, tile.columns, 0.0f);
  tile.factor[step] = 1.0f;
  if (!args.normalize) return;
  const float* z = tile.z(h - task.first_head);
  Vec denominator{};
  for (std::int64_t ik = 0; ik < args.K; ik += kVec) {
    denominator = load(q + ik) * load(z + ik) + denominator;
  }
  tile.factor[step] = 1.0f / (sum_of_lanes(denominator) + args.eps);
}

void run(const LinearAttentionArgs& args, const AttentionTile& tile, const Task& task) {
  const std::int64_t keys = keys_of(args, task.b), H = args.H, V = args.V;
  const std::int64_t heads = task.end_head - task.first_head;
  std::fill(tile.z(0), tile.z(heads), 0.0f);

  // The full form adds all keys before the first query reads the state.
  for (std::int64_t start = 0; !args.causal && start < keys; start += kSteps) {
    const std::int64_t steps = std::min(kSteps, keys - start);
    for (std::int64_t h = task.first_head; h < task.end_head; ++h) {
      for (std::int64_t step = 0; step < steps; ++step) {
        stage_key(args, tile, task, h, start + step, step);
      }
      advance<true, false>(tile, tile.state(h - task.first_head), steps);
    }
  }

  for (std::int64_t start = 0; start < args.T_q; start += kSteps) {
    const std::int64_t steps = std::min(kSteps, args.T_q - start);
    for (std::int64_t h = task.first_head; h < task.end_head; ++h) {
      for (std::int64_t step = 0; step < steps; ++step) {
        if (args.causal) stage_key(args, tile, task, h, start + step, step);
        stage_query(args, tile, task, h, start + step, step);
      }
      float* state = tile.state(h - task.first_head);
      if (args.causal && start < keys) {
        advance<true, true>(tile, state, steps);
      } else {
        advance<false, true>(tile, state, steps);
      }
      for (std::int64_t step = 0; step < steps; ++step) {
        float* o = args.o + ((task.b * args.T_q + start + step) * H + h) * V + task.first;
        const float* sum = tile.o + step * tile.columns;
        const float factor = tile.factor[step];
        for (std::int64_t iv = 0; iv < task.width; ++iv)
          o[iv] = factor * sum[iv];
      }
    }
  }
}

void linear_attention(const LinearAttentionArgs& args) {
  check(args);
  if (args.B == 0 || args.T_q == 0) return;
  const Split split(ladder::linear_attention_fma_count(args), args.B, args.H, args.K, args.V);
  const std::int64_t rows = round_up(args.K, kLine);
  const Scratch scratch(split.threads, AttentionTile::floats(split.heads, rows, split.columns));

#pragma omp parallel num_threads(split.threads)
  {
    const AttentionTile tile(rows, split.columns, scratch.mine());
#pragma omp for schedule(static)
    for (std::int64_t index = 0; index < split.tasks; ++index) {
      run(args, tile, Task(split, index, args.H, args.V));
    }
  }
}

const ladder::Registration registrations[] = {
    ladder::Registration{
        {.name = "linear_attention_classic",
         .device = ladder::DeviceKind::kCpu,
         .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention_classic)}},
    ladder::Registration{
        {.name = "linear_attention_openmp",
         .device = ladder::DeviceKind::kCpu,
         .rung = true,
         .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}},
};

}  // namespace
}  // namespace openmp
