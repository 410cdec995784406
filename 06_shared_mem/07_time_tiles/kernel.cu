// 06 shared_mem, time tiles: the recurrence, as fast as a multiprocessor can walk it.
// Change: rewrite of 06.06 for every K and V, states, reverse, bf16 and GLA: a block is cut by a tiling, which the launcher chooses by the
//         shape; what is copied and what is prepared have tiles of their own.
// Why:    chapter 06's first kernel waits for memory and at a barrier in every step, and reads shared memory for every product.
// Needs:  K up to 256, any V; initial and final state, reverse; fp32 or bf16; a GPU since Ampere (asynchronous copies).
// Costs:  a tile of q, k, log_w, v twice in shared memory; four operations on a state element in each step became nine for four steps.
//         See README for what was measured.
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
using ladder::Recurrence;
using ladder::cuda::kWarpSize;
using ladder::cuda::tiles::copy;
using ladder::cuda::tiles::Copy;
using ladder::cuda::tiles::copy_unit;
using ladder::cuda::tiles::kVec;
using ladder::cuda::tiles::load;
using ladder::cuda::tiles::store;

// Steps the state takes at once. More would save little: n steps cost 2n + 1 operations per element instead of 3n
// (the bonus is a score), and n * n scores.
constexpr int kUnit = 4;

// ---- How a block is cut ----

// A thread holds kRows x kColumns elements of the state. kRowLanes lanes of a warp share a column's rows, the other lanes and
// the kWarps warps take further columns. The tile has kTile steps; outputs are summed over the lanes kBatch steps at a time.
template <int kRows_, int kColumns_, int kRowLanes_, int kWarps_, int kTile_, int kBatch_>
struct Tiling {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kRowLanes = kRowLanes_;
  static constexpr int kRowStride = kRowLanes < kWarpSize ? 2 : 1;
  static constexpr int kWarps = kWarps_, kTile = kTile_, kBatch = kBatch_;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kK = kRows * kRowLanes;  // key rows, those beyond K are zero
  static constexpr int kWarpColumns = kWarpSize / kRowLanes * kColumns;
  static constexpr int kV = kWarps * kWarpColumns;  // value columns of a block
  static constexpr int kUnitPadding = kWarpColumns > kVec ? kWarpColumns : kVec;
  // While a tile is prepared, kUnitLanes lanes share a unit; each has kUnitVecs times four rows.
  static constexpr int kUnitLanes = kK / kVec < kWarpSize ? kK / kVec : kWarpSize;
  static constexpr int kUnitVecs = kK / kVec / kUnitLanes;
  static constexpr int kUnitsAtOnce = kThreads / kUnitLanes;
  static constexpr int kUnits = kTile / kUnit;
  // And kVLanes lanes share a step of v.
  static constexpr int kVLanes = kV / kVec;
  static_assert(kThreads % kVLanes == 0);
  static_assert(kTile % kBatch == 0 && kBatch % kUnit == 0 && kRows % kVec == 0);
};

// A tile as it lies in global memory.
template <typename Element, typename LogW, typename Tile>
struct alignas(16) Raw {
  Element q[Tile::kTile][Tile::kK], k[Tile::kTile][Tile::kK];
  LogW log_w[Tile::kTile][Tile::kK];
  Element v[Tile::kTile][Tile::kV];
};

// A tile as the steps want it. In a unit that begins at step t:
template <typename Tile>
struct alignas(16) Ready {
  // q_a * w_t * ... * w_{a-1}, in GLA up to w_a: reads the state before the unit
  float q[Tile::kTile][Tile::kK];
  float k[Tile::kTile]
         [Tile::kK];  // k_a * w_{a+1} * ... * w_{t+3}: what is left of k_a after the unit
  float w[Tile::kUnits][Tile::kK];  // w_t * ... * w_{t+3}
  // Lanes that finish outputs of different units read v of these side by side: the padding puts them in different banks.
  float v[Tile::kUnits][kUnit * Tile::kV + Tile::kUnitPadding];
  float score[Tile::kUnits][kUnit]
             [kUnit];  // what o_a takes of v_b: for b < a through the state, for b = a by the bonus
};

// ---- Sums over lanes ----

// After sum_over_lanes: which of kCount sums a lane has.
template <int kCount, int kLanes>
struct SumShare {
  static constexpr int kMine = kCount > kLanes ? kCount / kLanes : 1;
  static constexpr int kSameLanes = kLanes > kCount ? kLanes / kCount : 1;  // have the same sum
  static __device__ int first(int lane) { return lane % kLanes / kSameLanes * kMine; }
  static __device__ bool writes(int lane) { return lane % kSameLanes == 0; }
};

// ---- The kernel ----

// What the kernel reads of BasicWkvArgs. nvcc loads a struct of up to 128 bytes at the start; of a longer one it reads each field
// where it is used. With the fields of packed sequences (144 bytes) bf16 got 177 registers instead of 207: 733 us instead of 687
// (B=8, T=4096, H=32, K=V=64, both in one process on an H200).
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

// The 1 says that one block on a multiprocessor is enough: left to itself, the compiler saves registers for more blocks, and has
// fewer loads under way.
template <Recurrence kRecurrence, typename Tile, bool kAligned, typename Element, typename LogW>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    wkv_time_tiles(const TileArgs<Element, LogW> args) {
  extern __shared__ float4 smem[];
  auto* ready_smem = reinterpret_cast<Ready<Tile>*>(smem);  // two of them
  auto& raw_smem = *reinterpret_cast<Raw<Element, LogW, Tile>*>(ready_smem + 2);

  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const int K = args.K, V = args.V, T = args.T;
  // 32 bits: a division of 64 is a subroutine, before the first load.
  const unsigned heads = static_cast<unsigned>(args.H);
  const std::int64_t h = blockIdx.x % heads, b = blockIdx.x / heads;
  const int first_iv = blockIdx.y * Tile::kV;
  const std::int64_t step_K = args.H * K, step_V = args.H * V;
  const Element* q = args.q + b * T * step_K + h * K;
  const Element* k = args.k + b * T * step_K + h * K;
  const Element* v = args.v + b * T * step_V + h * V + first_iv;
  const LogW* log_w = args.log_w + b * args.log_w_stride_B + h * K;
  Element* o = args.o + b * T * step_V + h * V + first_iv;
  const std::int64_t first_t = args.reverse ? T - 1 : 0, direction = args.reverse ? -1 : 1;

  // A thread prepares what it copied itself, so that nobody waits for anybody's copies.
  const int my_unit = tid / Tile::kUnitLanes, my_vec = tid % Tile::kUnitLanes;
  const int my_v_step = tid / Tile::kVLanes, my_v = tid % Tile::kVLanes * kVec;
  constexpr int kVStepsAtOnce = Tile::kThreads / Tile::kVLanes;

  [[maybe_unused]] float u_reg[Tile::kUnitVecs][kVec];
  if constexpr (kRecurrence == Recurrence::kWkv) {
#pragma unroll
    for (int x = 0; x < Tile::kUnitVecs; ++x) {
      for (int i = 0; i < kVec; ++i) {
        const int ik = (my_vec + x * Tile::kUnitLanes) * kVec + i;
        u_reg[x][i] = ik < K && T > 0 ? ladder::cuda::load(args.u + h * K + ik) : 0.0f;
      }
    }
  }

  // Steps beyond T become zeros, which change nothing: q = k = v = 0, w = exp(0) = 1.
  const auto fetch = [&](int first_step) {
#pragma unroll
    for (int unit = my_unit; unit < Tile::kUnits; unit += Tile::kUnitsAtOnce) {
      const int s = unit * kUnit, steps_left = T - first_step - s;
      const std::int64_t t = first_t + direction * (first_step + s);
#pragma unroll
      for (int x = 0; x < Tile::kUnitVecs; ++x) {
        const int ik = (my_vec + x * Tile::kUnitLanes) * kVec;
        const Element* q_from = q + t * step_K + ik;
        const Element* k_from = k + t * step_K + ik;
        const LogW* log_w_from = log_w + t * args.log_w_stride_T + ik;
#pragma unroll
        for (int a = 0; a < kUnit; ++a) {
          const int count = a < steps_left ? K - ik : 0;
          copy_unit<Copy::kAsync, kVec>(&raw_smem.q[s + a][ik], q_from, count, kAligned);
          copy_unit<Copy::kAsync, kVec>(&raw_smem.k[s + a][ik], k_from, count, kAligned);
          copy_unit<Copy::kAsync, kVec>(&raw_smem.log_w[s + a][ik], log_w_from, count, kAligned);
          q_from += direction * step_K;
          k_from += direction * step_K;
          log_w_from += direction * args.log_w_stride_T;
        }
      }
    }
    const Element* v_from = v + (first_t + direction * (first_step + my_v_step)) * step_V + my_v;
#pragma unroll
    for (int s = my_v_step; s < Tile::kTile; s += kVStepsAtOnce) {
      copy_unit<Copy::kAsync, kVec>(&raw_smem.v[s][my_v], v_from,
                                    first_step + s < T ? V - first_iv - my_v : 0, kAligned);
      v_from += direction * kVStepsAtOnce * step_V;
    }
    __pipeline_commit();
  };

  const auto prepare = [&](Ready<Tile>& ready) {
    __pipeline_wait_prior(0);
    for (int unit = my_unit; unit < Tile::kUnits; unit += Tile::kUnitsAtOnce) {
      float score[kUnit * kUnit] = {};
#pragma unroll
      for (int x = 0; x < Tile::kUnitVecs; ++x) {
        const int ik = (my_vec + x * Tile::kUnitLanes) * kVec;
        alignas(sizeof(float4)) float decay[kVec] = {1, 1, 1, 1};  // since the unit began
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
            if constexpr (kRecurrence == Recurrence::kWkv) {
              score[a * kUnit + a] += q_reg[i] * u_reg[x][i] * k_left[a][i];
              const float w = expf(log_w_reg[i]);
#pragma unroll
              for (int before = 0; before < a; ++before) {
                score[a * kUnit + before] += q_reg[i] * k_left[before][i];
                k_left[before][i] *= w;
              }
              q_reg[i] *= decay[i];
              decay[i] *= w;
            } else {  // read after the update: this step's decay reaches what q reads, and its own k v is read too
              const float w = expf(log_w_reg[i]);
              for (int before = 0; before < a; ++before)
                k_left[before][i] *= w;
              for (int before = 0; before <= a; ++before)
                score[a * kUnit + before] += q_reg[i] * k_left[before][i];
              decay[i] *= w;
              q_reg[i] *= decay[i];
            }
          }
          copy<kVec>(&ready.q[s][ik], q_reg);
        }
        for (int a = 0; a < kUnit; ++a)
          copy<kVec>(&ready.k[unit * kUnit + a][ik], k_left[a]);
        copy<kVec>(&ready.w[unit][ik], decay);
      }
      using Share = SumShare<kUnit * kUnit, Tile::kUnitLanes>;
      sum_over_lanes<kUnit * kUnit, Tile::kUnitLanes, 1>(score, lane);
      if (Share::writes(lane))
        copy<Share::kMine>(&ready.score[unit][0][0] + Share::first(lane), score);
    }
#pragma unroll
    for (int s = my_v_step; s < Tile::kTile; s += kVStepsAtOnce)
      copy<kVec>(&ready.v[s / kUnit][s % kUnit * Tile::kV + my_v], &raw_smem.v[s][my_v]);
  };

  if (T > 0) fetch(0);

  // Rows of a lane: four, then kRowLanes * 4 further on the next four. So the lanes of a column read neighbouring 16 bytes of
  // shared memory, which lie in different banks. A request of 16 bytes per lane takes four wavefronts, but two where lane i and
  // lane i ^ 1 (or i ^ 2) ask for the same: bit 0 of the lane is a column's (for q, k, w), bit 1 a row's (for v).
  const int row_lane = lane / Tile::kRowStride % Tile::kRowLanes;
  const int column_lane =
      lane % Tile::kRowStride + lane / (Tile::kRowStride * Tile::kRowLanes) * Tile::kRowStride;
  const int my_iv = warp * Tile::kWarpColumns + column_lane * Tile::kColumns;
  const auto row = [&](int r) { return (r / kVec * Tile::kRowLanes + row_lane) * kVec + r % kVec; };
  const std::int64_t first_state = (b * args.H + h) * K * V + first_iv + my_iv;
  const int columns = V - first_iv - my_iv;

  alignas(sizeof(float4)) float state[Tile::kRows][Tile::kColumns] = {};
  if (args.initial_state != nullptr) {
#pragma unroll
    for (int r = 0; r < Tile::kRows; ++r) {
      if (row(r) < K) {
        load<Tile::kColumns, kAligned>(
            state[r], args.initial_state + first_state + static_cast<std::int64_t>(row(r)) * V,
            columns);
      }
    }
  }

  constexpr int kSums = Tile::kBatch * Tile::kColumns;
  using Share = SumShare<kSums, Tile::kRowLanes>;
  static_assert(Share::kMine <= Tile::kColumns);
  const int my_step = Share::first(row_lane) / Tile::kColumns;
  const int my_column = my_iv + Share::first(row_lane) % Tile::kColumns;

  if (T > 0) prepare(ready_smem[0]);
  for (int first_step = 0, tile = 0; first_step < T; first_step += Tile::kTile, ++tile) {
    __syncthreads();  // everybody has prepared this tile, and has left the one before, whose place the next one takes
    if (first_step + Tile::kTile < T) fetch(first_step + Tile::kTile);
    const Ready<Tile>& ready = ready_smem[tile % 2];
#pragma unroll 1
    for (int s0 = 0; s0 < Tile::kTile && first_step + s0 < T; s0 += Tile::kBatch) {
      float sums[kSums];
#pragma unroll
      for (int s = 0; s < Tile::kBatch; s += kUnit) {
        alignas(sizeof(float4)) float v_reg[kUnit][Tile::kColumns];
#pragma unroll
        for (int a = 0; a < kUnit; ++a)
          copy<Tile::kColumns>(v_reg[a], &ready.v[(s0 + s) / kUnit][a * Tile::kV + my_iv]);
#pragma unroll
        for (int r = 0; r < Tile::kRows; r += kVec) {
          alignas(sizeof(float4)) float q_reg[kUnit][kVec], k_reg[kUnit][kVec], w_reg[kVec];
          copy<kVec>(w_reg, &ready.w[(s0 + s) / kUnit][row(r)]);
#pragma unroll
          for (int a = 0; a < kUnit; ++a) {
            copy<kVec>(q_reg[a], &ready.q[s0 + s + a][row(r)]);
            copy<kVec>(k_reg[a], &ready.k[s0 + s + a][row(r)]);
          }
#pragma unroll
          for (int i = 0; i < kVec; ++i) {
#pragma unroll
            for (int c = 0; c < Tile::kColumns; ++c) {
              float& element = state[r + i][c];
#pragma unroll
              for (int a = 0; a < kUnit; ++a) {
                float& sum = sums[(s + a) * Tile::kColumns + c];
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
      sum_over_lanes<kSums, Tile::kRowLanes, Tile::kRowStride>(sums, lane);

      const int unit = (s0 + my_step) / kUnit, step = first_step + s0 + my_step;
      alignas(sizeof(float4)) float score[kUnit], o_reg[Share::kMine];
      copy<kUnit>(score, ready.score[unit][my_step % kUnit]);
#pragma unroll
      for (int a = 0; a < kUnit; ++a) {
        alignas(sizeof(float4)) float v_reg[Share::kMine];
        copy<Share::kMine>(v_reg, &ready.v[unit][a * Tile::kV + my_column]);
#pragma unroll
        for (int c = 0; c < Share::kMine; ++c)
          sums[c] += score[a] * v_reg[c];
      }
      for (int c = 0; c < Share::kMine; ++c)
        o_reg[c] = args.scale * sums[c];
      if (step < T && Share::writes(row_lane)) {
        store<Share::kMine, kAligned>(o + (first_t + direction * step) * step_V + my_column, o_reg,
                                      V - first_iv - my_column);
      }
    }
    if (first_step + Tile::kTile < T) prepare(ready_smem[(tile + 1) % 2]);
  }

  if (args.final_state != nullptr) {
#pragma unroll
    for (int r = 0; r < Tile::kRows; ++r) {
      if (row(r) < K) {
        store<Tile::kColumns, kAligned>(
            args.final_state + first_state + static_cast<std::int64_t>(row(r)) * V, state[r],
            columns);
      }
    }
  }
}

// ---- Launches ----

template <Recurrence kRecurrence, typename Tile, bool kAligned, typename Element, typename LogW>
void launch(const BasicWkvArgs<Element, LogW>& args) {
  const auto kernel = wkv_time_tiles<kRecurrence, Tile, kAligned, Element, LogW>;
  constexpr int kSharedBytes = 2 * sizeof(Ready<Tile>) + sizeof(Raw<Element, LogW, Tile>);
  const dim3 grid(static_cast<unsigned>(args.B * args.H),
                  static_cast<unsigned>((args.V + Tile::kV - 1) / Tile::kV));
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
  kernel<<<grid, Tile::kThreads, kSharedBytes, ladder::cuda::stream()>>>(tile_args);
  CUDA_CHECK(cudaGetLastError());
}

// The tilings were chosen by measurement. Few: a head is cut into blocks of 16 columns, so that a few heads reach every
// multiprocessor. Many: a block takes 64 columns. Crowd: a thread takes more elements, so that fewer lanes ask shared memory for
// the same words; that needs several blocks on a multiprocessor to hide what a step waits for.
template <Recurrence kRecurrence, bool kAligned, typename Element, typename LogW>
void choose(const BasicWkvArgs<Element, LogW>& args) {
  if (args.T == 1) return single_step<kRecurrence, kAligned>(args);
  const int multiprocessors = ladder::cuda::multiprocessors_to_fill();
  const double blocks = static_cast<double>(args.B * args.H * ((args.V + 63) / 64));
  const double share = blocks / multiprocessors;  // blocks of 64 columns per multiprocessor
  if (args.K <= 32) {
    if (share <= 0.5) return launch<kRecurrence, Tiling<4, 1, 8, 4, 32, 8>, kAligned>(args);
    return launch<kRecurrence, Tiling<4, 4, 8, 2, 32, 8>, kAligned>(args);
  }
  if (args.K <= 64) {
    if (share <= 0.5) return launch<kRecurrence, Tiling<4, 2, 16, 4, 32, 16>, kAligned>(args);
    if (share <= 2) return launch<kRecurrence, Tiling<8, 4, 8, 4, 32, 8>, kAligned>(args);
    return launch<kRecurrence, Tiling<16, 4, 4, 2, 16, 4>, kAligned>(args);
  }
  if (args.K <= 128) {
    if (share <= 0.25) return launch<kRecurrence, Tiling<4, 2, 32, 8, 32, 16>, kAligned>(args);
    if (share <= 1) return launch<kRecurrence, Tiling<8, 4, 16, 8, 16, 8>, kAligned>(args);
    return launch<kRecurrence, Tiling<16, 4, 8, 4, 16, 8>, kAligned>(args);
  }
  if (share <= 0.25) return launch<kRecurrence, Tiling<16, 2, 16, 4, 16, 8>, kAligned>(args);
  if (share <= 1) return launch<kRecurrence, Tiling<8, 4, 32, 8, 16, 8>, kAligned>(args);
  launch<kRecurrence, Tiling<16, 4, 16, 8, 16, 8>, kAligned>(args);
}

// Whether all rows consist of whole words of four elements.
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
     .fma_share = 0.75,  // nine for four steps
     .launchers = ladder::launchers<ladder::Wkv>(wkv<float, float>, wkv<bfloat16, bfloat16>,
                                                 wkv<bfloat16, float>) +
                  ladder::launchers<ladder::Gla>(gla<float, float>, gla<bfloat16, bfloat16>,
                                                 gla<bfloat16, float>)}};

}  // namespace
}  // namespace shared_mem
