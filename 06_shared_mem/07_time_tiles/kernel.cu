// 06 shared_mem, time tiles: the recurrence in tiles of steps, with a tiling for each shape.
// Change: rewrite of 06.06 for K up to 256, any V, states, reverse, bf16 and GLA. The launcher
//         chooses a tiling by the shape, and copied tiles and prepared tiles have separate buffers.
// Why:    06.00 waits for memory and barriers each step, and loads shared memory for each product.
// Needs:  K up to 256, any V, initial, final state, reverse, fp32, bf16, fp16, a GPU since Ampere.
// Costs:  shared memory for a copied tile and two prepared ones. NaN reaches up to 3 earlier steps.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "06_shared_mem/decode_kernel.hpp"
#include "06_shared_mem/lane_sums.hpp"
#include "06_shared_mem/recurrent_kernels.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace shared_mem {
namespace {

using ladder::BasicWkvArgs;
using ladder::bfloat16;
using ladder::float16;
using ladder::Recurrence;
using ladder::cuda::kWarpSize;
using ladder::cuda::tiles::copy;
using ladder::cuda::tiles::Copy;
using ladder::cuda::tiles::copy_unit;
using ladder::cuda::tiles::kVec;
using ladder::cuda::tiles::load;
using ladder::cuda::tiles::store;

// Steps per group, which update the state at once. A larger group would save little, because n
// steps cost 2n + 1 operations per element instead of 3n (the bonus is a score), and n * n scores.
constexpr int kUnit = 4;

// ---- Tilings ----

// Eleven tilings, chosen by measurement. A thread holds kRows x kColumns elements of the state.
// kRowLanes lanes of a warp share a column's rows, and the other lanes and the kWarps warps have
// further columns. A tile has kSteps steps, and lanes sum outputs kBatch steps at a time. The
// number in a name is the largest K.
//
// Few heads. A block has 16 columns, so that a few heads reach every SM.
// clang-format off
struct Few32 { static constexpr int kRows = 4, kColumns = 1, kRowLanes = 8, kWarps = 4, kSteps = 32, kBatch = 8; };
struct Few64 { static constexpr int kRows = 4, kColumns = 2, kRowLanes = 16, kWarps = 4, kSteps = 32, kBatch = 16; };
struct Few128 { static constexpr int kRows = 4, kColumns = 2, kRowLanes = 32, kWarps = 8, kSteps = 32, kBatch = 16; };
struct Few256 { static constexpr int kRows = 16, kColumns = 2, kRowLanes = 16, kWarps = 4, kSteps = 16, kBatch = 8; };
// Many heads. A block has 32 or 64 columns.
struct Many32 { static constexpr int kRows = 4, kColumns = 4, kRowLanes = 8, kWarps = 2, kSteps = 32, kBatch = 8; };
struct Many64 { static constexpr int kRows = 8, kColumns = 4, kRowLanes = 8, kWarps = 4, kSteps = 32, kBatch = 8; };
struct Many128 { static constexpr int kRows = 8, kColumns = 4, kRowLanes = 16, kWarps = 8, kSteps = 16, kBatch = 8; };
struct Many256 { static constexpr int kRows = 8, kColumns = 4, kRowLanes = 32, kWarps = 8, kSteps = 16, kBatch = 8; };
// More heads still. A thread has more elements, so that fewer lanes load the same words of shared
// memory. This needs several blocks per SM to hide a step's latencies.
struct Crowd64 { static constexpr int kRows = 16, kColumns = 4, kRowLanes = 4, kWarps = 2, kSteps = 16, kBatch = 4; };
struct Crowd128 { static constexpr int kRows = 16, kColumns = 4, kRowLanes = 8, kWarps = 4, kSteps = 16, kBatch = 8; };
struct Crowd256 { static constexpr int kRows = 16, kColumns = 4, kRowLanes = 16, kWarps = 8, kSteps = 16, kBatch = 8; };
// clang-format on

// Constants that follow from a tiling.
template <typename Cut>
struct Tiling : Cut {
  using Cut::kBatch, Cut::kColumns, Cut::kRowLanes, Cut::kRows, Cut::kSteps, Cut::kWarps;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kK = kRows * kRowLanes;  // key rows, which are zero past K
  static constexpr int kRowStride = kRowLanes < kWarpSize ? 2 : 1;  // from one row lane to the next
  static constexpr int kWarpColumns = kWarpSize / kRowLanes * kColumns;
  static constexpr int kV = kWarps * kWarpColumns;  // value columns of a block
  static constexpr int kUnits = kSteps / kUnit;
  static constexpr int kUnitPadding = kWarpColumns > kVec ? kWarpColumns : kVec;
  static constexpr int kSums = kBatch * kColumns;
  static_assert(kSteps % kBatch == 0 && kBatch % kUnit == 0 && kRows % kVec == 0);
};

// A tile as copied from global memory.
template <typename Element, typename LogW, typename Tiling>
struct alignas(16) Raw {
  Element q[Tiling::kSteps][Tiling::kK], k[Tiling::kSteps][Tiling::kK];
  LogW log_w[Tiling::kSteps][Tiling::kK];
  Element v[Tiling::kSteps][Tiling::kV];
};

// A prepared tile. The formulas are for a step group that begins at step t.
template <typename Tiling>
struct alignas(16) Ready {
  // q_a * w_t * ... * w_{a-1}, in GLA up to w_a, the factor of the state before the group
  float q[Tiling::kSteps][Tiling::kK];
  // k_a * w_{a+1} * ... * w_{t+3}, which is k_a decayed to the group's end
  float k[Tiling::kSteps][Tiling::kK];
  float w[Tiling::kUnits][Tiling::kK];  // w_t * ... * w_{t+3}
  // Padded so that lanes that finish outputs of different groups load v from different banks.
  float v[Tiling::kUnits][kUnit * Tiling::kV + Tiling::kUnitPadding];
  // Weight of v_b in o_a, through the state for b < a. For b = a it is the bonus, in GLA q_a . k_a.
  float score[Tiling::kUnits][kUnit][kUnit];
};

// ---- A block's and a thread's parts ----

// The fields of BasicWkvArgs that the kernel uses. nvcc loads a struct of up to 128 bytes at the
// start, and each field of a longer one where it is used. With the fields of packed sequences (144
// bytes), bf16 got 177 registers instead of 207 and took 733 us instead of 687 (B=8, T=4096, H=32,
// K=V=64, both in one process on an H200).
template <typename Element, typename LogW>
struct TileArgs {
  std::int64_t B, T, H, K, V;
  const Element *q, *k, *v;
  const LogW* log_w;
  const Element* u;
  const float* initial_state;
  Element* o;
  float* final_state;
  std::int64_t log_w_stride_B, log_w_stride_T;
  float scale;
  bool reverse;
};
static_assert(sizeof(TileArgs<float, float>) <= 128);

// A block's head and columns in global memory.
template <typename Element, typename LogW>
struct Head {
  const int K, V, T;
  const unsigned heads;  // 32 bits: a 64-bit division is a subroutine, before the first load
  const std::int64_t h, b;
  const int first_iv;  // V - first_iv columns are left
  const std::int64_t step_K, step_V, step_log_w;
  const Element *const q, *const k, *const v;  // at time 0, v at the block's first column
  const LogW* const log_w;
  Element* const o;
  const std::int64_t first_t, direction;

  explicit __device__ Head(const TileArgs<Element, LogW>& args, int block_columns)
      : K(args.K),
        V(args.V),
        T(args.T),
        heads(static_cast<unsigned>(args.H)),
        h(blockIdx.x % heads),
        b(blockIdx.x / heads),
        first_iv(blockIdx.y * block_columns),
        step_K(args.H * K),
        step_V(args.H * V),
        step_log_w(args.log_w_stride_T),
        q(args.q + b * T * step_K + h * K),
        k(args.k + b * T * step_K + h * K),
        v(args.v + b * T * step_V + h * V + first_iv),
        log_w(args.log_w + b * args.log_w_stride_B + h * K),
        o(args.o + b * T * step_V + h * V + first_iv),
        first_t(args.reverse ? T - 1 : 0),
        direction(args.reverse ? -1 : 1) {}
};

// A thread prepares what it copied, so it waits for no other thread's copies. kLanes lanes share a
// step group of q, k and log_w, with kVecs vectors of four rows each, and kVLanes lanes share a
// step of v.
template <typename Tiling>
struct Share {
  static constexpr int kLanes = Tiling::kK / kVec < kWarpSize ? Tiling::kK / kVec : kWarpSize;
  static constexpr int kVecs = Tiling::kK / kVec / kLanes;
  static constexpr int kUnitsAtOnce = Tiling::kThreads / kLanes;
  static constexpr int kVLanes = Tiling::kV / kVec;
  static constexpr int kVStepsAtOnce = Tiling::kThreads / kVLanes;
  static_assert(Tiling::kThreads % kVLanes == 0);

  const int unit, vec, v_step, v_column;

  explicit __device__ Share(int tid)
      : unit(tid / kLanes),
        vec(tid % kLanes),
        v_step(tid / kVLanes),
        v_column(tid % kVLanes * kVec) {}
  __device__ int row(int x) const { return (vec + x * kLanes) * kVec; }
};

// A thread's elements of the state. Its rows come in fours, kRowLanes * 4 apart, so that the lanes
// of a column load adjacent 16-byte vectors, which are in different banks. A request of 16 bytes
// per lane takes four wavefronts, but two if lane i and lane i ^ 1 (or i ^ 2) load the same vector.
// Therefore bit 0 of the lane is a column's (for q, k, w) and bit 1 a row's (for v).
template <typename Tiling>
struct Elements {
  const int row_lane, column;  // the first of kColumns columns, in the block

  explicit __device__ Elements(int lane, int warp)
      : row_lane(lane / Tiling::kRowStride % Tiling::kRowLanes),
        column(warp * Tiling::kWarpColumns + column_lane(lane) * Tiling::kColumns) {}
  static __device__ int column_lane(int lane) {
    return lane % Tiling::kRowStride +
           lane / (Tiling::kRowStride * Tiling::kRowLanes) * Tiling::kRowStride;
  }
  __device__ int row(int r) const {
    return (r / kVec * Tiling::kRowLanes + row_lane) * kVec + r % kVec;
  }
};

// The sums, out of kCount, that a lane has after sum_over_lanes.
template <int kCount, int kLanes>
struct Sums {
  static constexpr int kMine = kCount > kLanes ? kCount / kLanes : 1;
  static constexpr int kSameLanes = kLanes > kCount ? kLanes / kCount : 1;  // have the same sum
  static __device__ int first(int lane) { return lane % kLanes / kSameLanes * kMine; }
  static __device__ bool writes(int lane) { return lane % kSameLanes == 0; }
};

// ---- Fetch a tile and prepare it ----

template <typename Tiling, typename Element>
__device__ void load_bonus(float (&u_reg)[Share<Tiling>::kVecs][kVec], const Element* u, int K,
                           int T, const Share<Tiling>& share) {
#pragma unroll
  for (int x = 0; x < Share<Tiling>::kVecs; ++x) {
    for (int i = 0; i < kVec; ++i) {
      const int ik = share.row(x) + i;
      u_reg[x][i] = ik < K && T > 0 ? ladder::cuda::load(u + ik) : 0.0f;
    }
  }
}

// Steps past T become zeros, which change nothing, because q = k = v = 0 and w = exp(0) = 1.
template <bool kAligned, typename Tiling, typename Element, typename LogW>
__device__ void fetch(Raw<Element, LogW, Tiling>& raw_smem, const Head<Element, LogW>& head,
                      const Share<Tiling>& share, int first_step) {
#pragma unroll
  for (int unit = share.unit; unit < Tiling::kUnits; unit += Share<Tiling>::kUnitsAtOnce) {
    const int s = unit * kUnit, steps_left = head.T - first_step - s;
    const std::int64_t t = head.first_t + head.direction * (first_step + s);
#pragma unroll
    for (int x = 0; x < Share<Tiling>::kVecs; ++x) {
      const int ik = share.row(x);
      const Element* q = head.q + t * head.step_K + ik;
      const Element* k = head.k + t * head.step_K + ik;
      const LogW* log_w = head.log_w + t * head.step_log_w + ik;
#pragma unroll
      for (int a = 0; a < kUnit; ++a) {
        const int count = a < steps_left ? head.K - ik : 0;
        copy_unit<Copy::kAsync, kVec>(&raw_smem.q[s + a][ik], q, count, kAligned);
        copy_unit<Copy::kAsync, kVec>(&raw_smem.k[s + a][ik], k, count, kAligned);
        copy_unit<Copy::kAsync, kVec>(&raw_smem.log_w[s + a][ik], log_w, count, kAligned);
        q += head.direction * head.step_K;
        k += head.direction * head.step_K;
        log_w += head.direction * head.step_log_w;
      }
    }
  }
  const Element* v = head.v +
                     (head.first_t + head.direction * (first_step + share.v_step)) * head.step_V +
                     share.v_column;
#pragma unroll
  for (int s = share.v_step; s < Tiling::kSteps; s += Share<Tiling>::kVStepsAtOnce) {
    const int count = first_step + s < head.T ? head.V - head.first_iv - share.v_column : 0;
    copy_unit<Copy::kAsync, kVec>(&raw_smem.v[s][share.v_column], v, count, kAligned);
    v += head.direction * Share<Tiling>::kVStepsAtOnce * head.step_V;
  }
  __pipeline_commit();
}

// Prepares step a of a group in one key row, that is, its scores with earlier steps and their
// decay. `k_left[a]` is its k.
template <Recurrence kRecurrence>
__device__ void prepare_step(int a, int i, float& q, float log_w, float u, float& decay,
                             float (&k_left)[kUnit][kVec], float* score) {
  if constexpr (kRecurrence == Recurrence::kWkv) {
    score[a] += q * u * k_left[a][i];
    const float w = expf(log_w);
#pragma unroll
    for (int before = 0; before < a; ++before) {
      score[before] += q * k_left[before][i];
      k_left[before][i] *= w;
    }
    q *= decay;
    decay *= w;
  } else {  // q reads the updated state, which has this step's decay and its k v
    const float w = expf(log_w);
    for (int before = 0; before < a; ++before)
      k_left[before][i] *= w;
    for (int before = 0; before <= a; ++before)
      score[before] += q * k_left[before][i];
    decay *= w;
    q *= decay;
  }
}

template <Recurrence kRecurrence, typename Tiling, typename Element, typename LogW>
__device__ void prepare(Ready<Tiling>& ready, const Raw<Element, LogW, Tiling>& raw_smem,
                        const float (&u_reg)[Share<Tiling>::kVecs][kVec],
                        const Share<Tiling>& share, int lane) {
  __pipeline_wait_prior(0);
  for (int unit = share.unit; unit < Tiling::kUnits; unit += Share<Tiling>::kUnitsAtOnce) {
    float score[kUnit * kUnit] = {};
#pragma unroll
    for (int x = 0; x < Share<Tiling>::kVecs; ++x) {
      const int ik = share.row(x);
      alignas(sizeof(float4)) float decay[kVec] = {1, 1, 1, 1};  // since the group began
      alignas(sizeof(float4)) float k_left[kUnit][kVec];
#pragma unroll
      for (int a = 0; a < kUnit; ++a) {
        const int s = unit * kUnit + a;
        alignas(sizeof(float4)) float q_reg[kVec], log_w_reg[kVec];
        copy<kVec>(q_reg, &raw_smem.q[s][ik]);
        copy<kVec>(k_left[a], &raw_smem.k[s][ik]);
        copy<kVec>(log_w_reg, &raw_smem.log_w[s][ik]);
#pragma unroll
        for (int i = 0; i < kVec; ++i) {
          prepare_step<kRecurrence>(a, i, q_reg[i], log_w_reg[i], u_reg[x][i], decay[i], k_left,
                                    score + a * kUnit);
        }
        copy<kVec>(&ready.q[s][ik], q_reg);
      }
      for (int a = 0; a < kUnit; ++a)
        copy<kVec>(&ready.k[unit * kUnit + a][ik], k_left[a]);
      copy<kVec>(&ready.w[unit][ik], decay);
    }
    using Scores = Sums<kUnit * kUnit, Share<Tiling>::kLanes>;
    sum_over_lanes<kUnit * kUnit, Share<Tiling>::kLanes, 1>(score, lane);
    if (Scores::writes(lane))
      copy<Scores::kMine>(&ready.score[unit][0][0] + Scores::first(lane), score);
  }
#pragma unroll
  for (int s = share.v_step; s < Tiling::kSteps; s += Share<Tiling>::kVStepsAtOnce)
    copy<kVec>(&ready.v[s / kUnit][s % kUnit * Tiling::kV + share.v_column],
               &raw_smem.v[s][share.v_column]);
}

// ---- Advance the state by four steps, and finish outputs ----

// `s0` is the group's first step. `sums`: (4 steps, kColumns), over the rows of this thread.
template <typename Tiling>
__device__ void advance(float* sums, float (&state)[Tiling::kRows][Tiling::kColumns],
                        const Ready<Tiling>& ready, const Elements<Tiling>& mine, int s0) {
  alignas(sizeof(float4)) float v_reg[kUnit][Tiling::kColumns];
#pragma unroll
  for (int a = 0; a < kUnit; ++a)
    copy<Tiling::kColumns>(v_reg[a], &ready.v[s0 / kUnit][a * Tiling::kV + mine.column]);
#pragma unroll
  for (int r = 0; r < Tiling::kRows; r += kVec) {
    alignas(sizeof(float4)) float q_reg[kUnit][kVec], k_reg[kUnit][kVec], w_reg[kVec];
    copy<kVec>(w_reg, &ready.w[s0 / kUnit][mine.row(r)]);
#pragma unroll
    for (int a = 0; a < kUnit; ++a) {
      copy<kVec>(q_reg[a], &ready.q[s0 + a][mine.row(r)]);
      copy<kVec>(k_reg[a], &ready.k[s0 + a][mine.row(r)]);
    }
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
#pragma unroll
      for (int c = 0; c < Tiling::kColumns; ++c) {
        float& element = state[r + i][c];
#pragma unroll
        for (int a = 0; a < kUnit; ++a) {
          float& sum = sums[a * Tiling::kColumns + c];
          sum = r + i == 0 ? q_reg[a][i] * element : sum + q_reg[a][i] * element;
        }
        element *= w_reg[i];
#pragma unroll
        for (int a = 0; a < kUnit; ++a)
          element += k_reg[a][i] * v_reg[a][c];
      }
    }
  }
}

// Stores this lane's outputs of the kBatch steps from step s0 of the tile, which is step first_step
// + s0 of the sequence. `sums` hold their terms from the state.
template <bool kAligned, typename Tiling, typename Element, typename LogW>
__device__ void store_outputs(float* sums, const Ready<Tiling>& ready,
                              const Head<Element, LogW>& head, float scale,
                              const Elements<Tiling>& mine, int first_step, int s0) {
  using Outputs = Sums<Tiling::kSums, Tiling::kRowLanes>;
  static_assert(Outputs::kMine <= Tiling::kColumns);
  const int my_step = Outputs::first(mine.row_lane) / Tiling::kColumns;
  const int my_column = mine.column + Outputs::first(mine.row_lane) % Tiling::kColumns;
  const int unit = (s0 + my_step) / kUnit, step = first_step + s0 + my_step;
  alignas(sizeof(float4)) float score[kUnit], o_reg[Outputs::kMine];
  copy<kUnit>(score, ready.score[unit][my_step % kUnit]);
#pragma unroll
  for (int a = 0; a < kUnit; ++a) {
    alignas(sizeof(float4)) float v_reg[Outputs::kMine];
    copy<Outputs::kMine>(v_reg, &ready.v[unit][a * Tiling::kV + my_column]);
#pragma unroll
    for (int c = 0; c < Outputs::kMine; ++c)
      sums[c] += score[a] * v_reg[c];
  }
  for (int c = 0; c < Outputs::kMine; ++c)
    o_reg[c] = scale * sums[c];
  if (step < head.T && Outputs::writes(mine.row_lane)) {
    store<Outputs::kMine, kAligned>(
        head.o + (head.first_t + head.direction * step) * head.step_V + my_column, o_reg,
        head.V - head.first_iv - my_column);
  }
}

// ---- The kernel ----

// The 1 declares one block per SM to be enough. Without it the compiler saves registers for more
// blocks, and keeps fewer loads in flight.
template <Recurrence kRecurrence, typename Tiling, bool kAligned, typename Element, typename LogW>
__global__ void __launch_bounds__(Tiling::kThreads, 1)
    wkv_time_tiles(const TileArgs<Element, LogW> args) {
  extern __shared__ float4 smem[];
  auto* ready_smem = reinterpret_cast<Ready<Tiling>*>(smem);  // two of them
  auto& raw_smem = *reinterpret_cast<Raw<Element, LogW, Tiling>*>(ready_smem + 2);

  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const Head<Element, LogW> head(args, Tiling::kV);
  const Share<Tiling> share(tid);

  [[maybe_unused]] float u_reg[Share<Tiling>::kVecs][kVec];
  if constexpr (kRecurrence == Recurrence::kWkv)
    load_bonus(u_reg, args.u + head.h * head.K, head.K, head.T, share);
  if (head.T > 0) fetch<kAligned>(raw_smem, head, share, 0);

  const Elements<Tiling> mine(lane, warp);
  const std::int64_t first_state =
      (head.b * args.H + head.h) * head.K * head.V + head.first_iv + mine.column;
  const int columns = head.V - head.first_iv - mine.column;
  alignas(sizeof(float4)) float state[Tiling::kRows][Tiling::kColumns] = {};
  if (args.initial_state != nullptr) {
#pragma unroll
    for (int r = 0; r < Tiling::kRows; ++r) {
      if (mine.row(r) < head.K) {
        load<Tiling::kColumns, kAligned>(
            state[r],
            args.initial_state + first_state + static_cast<std::int64_t>(mine.row(r)) * head.V,
            columns);
      }
    }
  }

  if (head.T > 0) prepare<kRecurrence>(ready_smem[0], raw_smem, u_reg, share, lane);
  for (int first_step = 0, tile = 0; first_step < head.T; first_step += Tiling::kSteps, ++tile) {
    __syncthreads();  // this tile is prepared; the previous one may be overwritten
    if (first_step + Tiling::kSteps < head.T)
      fetch<kAligned>(raw_smem, head, share, first_step + Tiling::kSteps);
    const Ready<Tiling>& ready = ready_smem[tile % 2];
#pragma unroll 1
    for (int s0 = 0; s0 < Tiling::kSteps && first_step + s0 < head.T; s0 += Tiling::kBatch) {
      float sums[Tiling::kSums];
#pragma unroll
      for (int s = 0; s < Tiling::kBatch; s += kUnit)
        advance(sums + s * Tiling::kColumns, state, ready, mine, s0 + s);
      sum_over_lanes<Tiling::kSums, Tiling::kRowLanes, Tiling::kRowStride>(sums, lane);
      store_outputs<kAligned>(sums, ready, head, args.scale, mine, first_step, s0);
    }
    if (first_step + Tiling::kSteps < head.T)
      prepare<kRecurrence>(ready_smem[(tile + 1) % 2], raw_smem, u_reg, share, lane);
  }

  if (args.final_state != nullptr) {
#pragma unroll
    for (int r = 0; r < Tiling::kRows; ++r) {
      if (mine.row(r) < head.K) {
        store<Tiling::kColumns, kAligned>(
            args.final_state + first_state + static_cast<std::int64_t>(mine.row(r)) * head.V,
            state[r], columns);
      }
    }
  }
}

// ---- Launches ----

template <Recurrence kRecurrence, typename Cut, bool kAligned, typename Element, typename LogW>
void launch(const BasicWkvArgs<Element, LogW>& args) {
  using Tiling = shared_mem::Tiling<Cut>;
  const auto kernel = wkv_time_tiles<kRecurrence, Tiling, kAligned, Element, LogW>;
  constexpr int kSharedBytes = 2 * sizeof(Ready<Tiling>) + sizeof(Raw<Element, LogW, Tiling>);
  const dim3 grid(static_cast<unsigned>(args.B * args.H),
                  static_cast<unsigned>((args.V + Tiling::kV - 1) / Tiling::kV));
  ladder::cuda::allow_shared_memory("wkv_time_tiles", kernel, kSharedBytes);
  const TileArgs<Element, LogW> tile_args{args.B,
                                          args.T,
                                          args.H,
                                          args.K,
                                          args.V,
                                          args.q,
                                          args.k,
                                          args.v,
                                          args.log_w,
                                          args.u,
                                          args.initial_state,
                                          args.o,
                                          args.final_state,
                                          args.log_w_stride_B,
                                          args.log_w_stride_T,
                                          args.scale,
                                          args.reverse};
  kernel<<<grid, Tiling::kThreads, kSharedBytes, ladder::cuda::stream()>>>(tile_args);
  CUDA_CHECK(cudaGetLastError());
}

template <Recurrence kRecurrence, bool kAligned, typename Element, typename LogW>
void choose(const BasicWkvArgs<Element, LogW>& args) {
  if (args.T == 1) return single_step<kRecurrence, kAligned>(args);
  const int multiprocessors = ladder::cuda::multiprocessors_to_fill();
  const double blocks = static_cast<double>(args.B * args.H * ((args.V + 63) / 64));
  const double share = blocks / multiprocessors;  // blocks of 64 columns per SM
  if (args.K <= 32) {
    if (share <= 0.5) return launch<kRecurrence, Few32, kAligned>(args);
    return launch<kRecurrence, Many32, kAligned>(args);
  }
  if (args.K <= 64) {
    if (share <= 0.5) return launch<kRecurrence, Few64, kAligned>(args);
    if (share <= 2) return launch<kRecurrence, Many64, kAligned>(args);
    return launch<kRecurrence, Crowd64, kAligned>(args);
  }
  if (args.K <= 128) {
    if (share <= 0.25) return launch<kRecurrence, Few128, kAligned>(args);
    if (share <= 1) return launch<kRecurrence, Many128, kAligned>(args);
    return launch<kRecurrence, Crowd128, kAligned>(args);
  }
  if (share <= 0.25) return launch<kRecurrence, Few256, kAligned>(args);
  if (share <= 1) return launch<kRecurrence, Many256, kAligned>(args);
  launch<kRecurrence, Crowd256, kAligned>(args);
}

// True if all rows consist of aligned vectors of four elements.
template <typename Element, typename LogW>
bool is_aligned(const BasicWkvArgs<Element, LogW>& args) {
  const auto off = [](const auto* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % (kVec * sizeof(*pointer)) != 0;
  };
  return args.K % kVec == 0 && args.V % kVec == 0 && !off(args.q) && !off(args.k) && !off(args.v) &&
         !off(args.log_w) && !off(args.u) && !off(args.o) && !off(args.initial_state) &&
         !off(args.final_state);
}

template <Recurrence kRecurrence, typename Element, typename LogW>
void run(const BasicWkvArgs<Element, LogW>& args) {
  kRecurrence == Recurrence::kWkv ? ladder::validate(args) : ladder::validate_gla(args);
  ladder::require(args.K <= kMostRows,
                  "K is " + std::to_string(args.K) + "; this kernel allows up to 256");
  ladder::require(args.B <= INT32_MAX / args.H && args.T <= INT32_MAX - 64 && args.V <= 65535 * 16,
                  "B * H, T or V is too large; allowed: B * H and T about 2^31, V up to 1048560");
  if (args.B == 0 || (args.T == 0 && args.final_state == nullptr)) return;
  if (is_aligned(args)) return choose<kRecurrence, true>(args);
  choose<kRecurrence, false>(args);
}

template <typename Element, typename LogW>
void wkv(const BasicWkvArgs<Element, LogW>& args) {
  run<Recurrence::kWkv>(args);
}

template <typename Element, typename LogW>
void gla(const BasicWkvArgs<Element, LogW>& args) {
  run<Recurrence::kGla>(args);
}

const ladder::Registration registration{
    {.name = "wkv_time_tiles",
     .device = ladder::DeviceKind::kCuda,
     .fma_share = 0.75,  // 9 operations for 4 steps instead of 12
     .launchers = ladder::launchers<ladder::Wkv>(wkv<float, float>, wkv<bfloat16, bfloat16>,
                                                 wkv<bfloat16, float>, wkv<float16, float16>) +
                  ladder::launchers<ladder::Gla>(gla<float, float>, gla<bfloat16, bfloat16>,
                                                 gla<bfloat16, float>, gla<float16, float16>)}};

}  // namespace
}  // namespace shared_mem
