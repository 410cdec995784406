// 02.05 register_tiles: WKV on all cores and all SIMD lanes.
// Change: rewrite. Registers keep a state tile for a tile of steps. Threads over heads and columns.
// Why:    chapter 01 spends its time in exp and in waits for single floats, on one core of several.
// Needs:  GCC or Clang (vector extensions), OpenMP, x86 or ARM (untested). Options as chapter 01.
// Costs:  a copy of every operand through padded scratch. K or V below a tile costs a whole tile.
//         See README for measurements.
#include <algorithm>
#include <cstdint>

#include "02_openmp/tile.hpp"
#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace openmp {
namespace {

// Scratch of one task, which holds the states of its heads and one time tile of the current head.
// Padding rows are zeros, because o sums over them. Columns past the task's are computed, but stay
// in the scratch.
struct Tile {
  std::int64_t rows;     // K, padded
  std::int64_t columns;  // the task's columns, padded
  float* v;              // (kSteps, columns)
  float* o;              // (kSteps, columns), not yet scaled
  float* q;              // (kSteps, rows)
  float* k;              // (kSteps, rows)
  float* w;              // (kSteps, rows)
  float* u;              // (rows)
  float* log_w;          // (rows)
  float* states;         // (heads, rows, columns)

  static std::int64_t floats(std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    return 2 * kSteps * columns + 3 * kSteps * rows + 2 * rows + heads * rows * columns;
  }

  Tile(std::int64_t rows, std::int64_t columns, float* scratch) : rows(rows), columns(columns) {
    v = scratch;
    o = v + kSteps * columns;
    q = o + kSteps * columns;
    k = q + kSteps * rows;
    w = k + kSteps * rows;
    u = w + kSteps * rows;
    log_w = u + rows;
    states = log_w + rows;
  }
};

// Advances all register tiles of a state by `steps` time steps, with o += q S and S = w S + k v.
void advance(const Tile& tile, float* state, std::int64_t steps) {
  for (std::int64_t iv = 0; iv < tile.columns; iv += kTileColumns) {
    for (std::int64_t ik = 0; ik < tile.rows; ik += kRows) {
      float* corner = state + ik * tile.columns + iv;
      Vec s[kRows][kColumns];
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kColumns; ++c)
          s[r][c] = load(corner + r * tile.columns + c * kVec);
      }
      for (std::int64_t step = 0; step < steps; ++step) {
        // TODO(1): roughly 4 lines; declare pointers to this step's q, k and w (from key row ik on)
        // TODO(1): and v (from column iv on) in `tile`.
        float* o = tile.o + step * tile.columns + iv;
        for (int c = 0; c < kColumns; ++c) {
          // TODO(1): roughly 1 line; load one vector of v, which serves kRows rows.
          Vec out = load(o + c * kVec);
          // TODO(1): roughly 4 lines; for each key row, add its term to `out`, and update s[r][c].
          // TODO(1): budget: per key row and vector three multiply-add operations, no load and no
          // TODO(1): store of the state.
          store(o + c * kVec, out);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kColumns; ++c)
          store(corner + r * tile.columns + c * kVec, s[r][c]);
      }
    }
  }
}

// Stages time step t of head (b, h) in row `step` of the tile, where o starts with the bonus.
void stage(const ladder::WkvArgs& args, const Tile& tile, const Task& task, std::int64_t h,
           std::int64_t t, std::int64_t step) {
  const std::int64_t K = args.K;
  const std::int64_t row = (task.b * args.T + t) * args.H + h;
  const float* log_w =
      args.log_w + task.b * args.log_w_stride_B + t * args.log_w_stride_T + h * K;  // (K)
  float* q = tile.q + step * tile.rows;
  float* k = tile.k + step * tile.rows;
  float* w = tile.w + step * tile.rows;
  float* v = tile.v + step * tile.columns;
  float* o = tile.o + step * tile.columns;
  // The next head's rows, for when this head's tile is computed. Past the last they are harmless.
  prefetch(args.q + (row + 1) * K, K);
  prefetch(args.k + (row + 1) * K, K);
  prefetch(args.v + (row + 1) * args.V + task.first, task.width);
  prefetch(log_w + K, K);
  copy(q, args.q + row * K, K);
  copy(k, args.k + row * K, K);
  copy(v, args.v + row * args.V + task.first, task.width);

  if (step > 0 && args.log_w_stride_T == 0) {
    copy(w, tile.w, tile.rows);
  } else {
    copy(tile.log_w, log_w, K);
    for (std::int64_t ik = 0; ik < K; ik += kVec)
      store(w + ik, exp(load(tile.log_w + ik)));
  }

  // sum_j q_j u_j k_j v_i = (sum_j q_j u_j k_j) v_i needs K FMAs instead of K * V.
  Vec bonus{};
  // TODO(2): roughly 3 lines; add the terms of the sum over j (u is in tile.u) to `bonus`, kVec
  // TODO(2): key rows at a time; budget: K / kVec vector steps.
  const float share = sum_of_lanes(bonus);
  for (std::int64_t iv = 0; iv < tile.columns; iv += kVec)
    store(o + iv, share * load(v + iv));
}

void run(const ladder::WkvArgs& args, const Tile& tile, const Task& task) {
  const std::int64_t T = args.T, H = args.H, K = args.K, V = args.V;
  const float scale = args.scale;
  const auto state_row = [&](std::int64_t h, std::int64_t ik) {
    return tile.states + ((h - task.first_head) * tile.rows + ik) * tile.columns;
  };

  for (std::int64_t h = task.first_head; h < task.end_head; ++h) {
    for (std::int64_t ik = 0; ik < K; ++ik) {
      const std::int64_t row = ((task.b * H + h) * K + ik) * V + task.first;
      if (args.initial_state != nullptr) {
        copy(state_row(h, ik), args.initial_state + row, task.width);
      } else {
        std::fill_n(state_row(h, ik), task.width, 0.0f);
      }
    }
  }

  for (std::int64_t start = 0; start < T; start += kSteps) {
    const std::int64_t steps = std::min(kSteps, T - start);
    const auto time = [&](std::int64_t step) {
      return args.reverse ? T - 1 - start - step : start + step;
    };
    for (std::int64_t h = task.first_head; h < task.end_head; ++h) {
      copy(tile.u, args.u + h * K, K);
      for (std::int64_t step = 0; step < steps; ++step)
        stage(args, tile, task, h, time(step), step);
      advance(tile, state_row(h, 0), steps);
      for (std::int64_t step = 0; step < steps; ++step) {
        float* o = args.o + ((task.b * T + time(step)) * H + h) * V + task.first;  // (width)
        const float* sum = tile.o + step * tile.columns;
        for (std::int64_t iv = 0; iv < task.width; ++iv)
          o[iv] = scale * sum[iv];
      }
    }
  }

  if (args.final_state == nullptr) return;
  for (std::int64_t h = task.first_head; h < task.end_head; ++h) {
    for (std::int64_t ik = 0; ik < K; ++ik) {
      const std::int64_t row = ((task.b * H + h) * K + ik) * V + task.first;
      copy(args.final_state + row, state_row(h, ik), task.width);
    }
  }
}

void wkv(const ladder::WkvArgs& args) {
  ladder::validate(args);
  if (args.B == 0) return;
  const Split split(ladder::wkv_fma_count(args), args.B, args.H, args.K, args.V);
  const std::int64_t rows = round_up(args.K, kLine);
  const Scratch scratch(split.threads, Tile::floats(split.heads, rows, split.columns));

#pragma omp parallel num_threads(split.threads)
  {
    const Tile tile(rows, split.columns, scratch.mine());
#pragma omp for schedule(static)
    for (std::int64_t index = 0; index < split.tasks; ++index) {
      run(args, tile, Task(split, index, args.H, args.V));
    }
  }
}

const ladder::Registration registration{{.name = "wkv_openmp",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace openmp
