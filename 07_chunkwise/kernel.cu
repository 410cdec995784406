// 07 chunkwise: WKV and gated linear attention on tensor cores.
// Change: the state takes 16 tokens at once, as products of matrices; it lies in registers and is an operand from there.
// Why:    a recurrence does 3 K V operations per token in a chain; products of matrices do them 16 tokens at a time.
// Needs:  K up to 256, any V; bf16; a GPU since Ampere.
// Costs:  operands are rounded to bf16, the state once per 16 tokens (its sum stays fp32); see README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "07_chunkwise/operands.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/core/wkv.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"

namespace chapter07 {

using ladder::BasicWkvArgs;
using ladder::bfloat16;

constexpr int kWarpSize = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// Tokens the state takes at once: the depth of a tensor-core product.
constexpr int kUnit = 16;

// Channels that a warp prepares at once, two per lane.
constexpr int kGroup = 2 * kWarpSize;

// Bytes of the widest access.
constexpr int kPieceBytes = 16;

// Behind every row in shared memory: rows then begin four banks apart, and eight rows of 16 bytes lie in all 32.
constexpr int kPaddingBytes = 16;

// What a launch computes. kStates: only the state that a segment would leave, had it begun with zeros.
enum class Task { kWkv, kGla, kStates };

// ---- How a block is cut ----

// A block has kK channels (those beyond K are zero), 16 columns of V per warp, and chunks of kUnits units of 16 tokens. While a
// chunk is prepared, kParts warps share a unit. At least kBlocks blocks are to fit on a multiprocessor.
template <typename Element_, typename LogW_, int kK_, int kWarps_, int kUnits_, int kBlocks_>
struct Tiling {
  using Element = Element_;
  using LogW = LogW_;
  static constexpr int kK = kK_, kWarps = kWarps_, kUnits = kUnits_, kBlocks = kBlocks_;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kV = kWarps * kUnit;
  static constexpr int kTokens = kUnits * kUnit;
  static constexpr int kGroups = kK / kGroup;
  static constexpr int kParts = kWarps / kUnits;
  static_assert(kParts >= 1 && kWarps % kUnits == 0 && kGroups % kParts == 0);
};

template <typename T, int kColumns>
struct Row {
  static constexpr int kStride = kColumns + kPaddingBytes / sizeof(T);
  T x[kStride];
};

// A chunk. It arrives as it lies in global memory; then its places are used again.
template <typename Tile>
struct Chunk {
  using Element = typename Tile::Element;
  Row<Element, Tile::kK> q[Tile::kTokens];                // then the q of chunk_walk
  Row<Element, Tile::kK> k[Tile::kTokens];                // then the k of chunk_walk
  Row<typename Tile::LogW, Tile::kK> log_w[Tile::kTokens];  // then scratch
  Row<Element, Tile::kV> v[Tile::kTokens];                // then o
};

template <typename Tile>
struct alignas(128) Shared {
  using Element = typename Tile::Element;
  Chunk<Tile> chunks[2];
  // score[part][unit][t][s]: what o_t takes of v_s, s <= t. Zero above the diagonal.
  Row<Element, kUnit> score[Tile::kParts][Tile::kUnits][kUnit];
  float decay[Tile::kUnits][Tile::kK];  // over a whole unit
};

// ---- Which tokens are whose ----

// Every sequence is cut into `count` segments, a block for each. Empty ones do nothing.
struct Segments {
  int count;
  float4* states;  // kStates leaves here what the others add up: (blocks, kK / 8, threads)
  float* decays;   // (blocks, kK)
};

// The tokens of a block in the order of their steps: token(step) = first + direction * step.
struct Walk {
  std::int64_t sequence, first;
  int head, first_iv, segment, direction;
  int steps;     // of this segment
  bool is_last;  // of the sequence's segments that have steps
};

template <typename Tile, typename Args>
__device__ Walk locate(const Args& args, int segments) {
  const int tiles = (static_cast<int>(args.V) + Tile::kV - 1) / Tile::kV, heads = args.H;
  Walk walk;
  unsigned rest = blockIdx.x;
  walk.first_iv = rest % tiles * Tile::kV;
  rest /= tiles;
  walk.head = rest % heads;
  rest /= heads;
  walk.segment = rest % segments;
  walk.sequence = rest / segments;

  std::int64_t begin = walk.sequence * args.T, length = args.T;
  if (args.cu_seqlens != nullptr) {
    begin = args.cu_seqlens[walk.sequence];
    length = args.cu_seqlens[walk.sequence + 1] - begin;
  }
  const int chunks = (static_cast<int>(length) + Tile::kTokens - 1) / Tile::kTokens;
  const int most = (chunks + segments - 1) / segments * Tile::kTokens;  // steps of a segment
  const int first_step = walk.segment * most, left = static_cast<int>(length) - first_step;
  walk.steps = left < 0 ? 0 : left < most ? left : most;
  walk.is_last = left <= most && (left > 0 || walk.segment == 0);
  walk.direction = args.reverse ? -1 : 1;
  walk.first = args.reverse ? begin + length - 1 - first_step : begin + first_step;
  return walk;
}

// ---- Between global and shared memory ----

// Copies a chunk's rows: `steps` of them and `columns` of their elements exist, the others become zero.
// `from` is the first row, `stride` leads to the next.
template <typename Tile, int kColumns, typename T>
__device__ void fetch(Row<T, kColumns>* to_smem, const T* from, std::int64_t stride, int steps,
                      int columns, bool aligned) {
  constexpr int kPiece = kPieceBytes / sizeof(T), kPieces = kColumns / kPiece;
#pragma unroll
  for (int i = threadIdx.x; i < Tile::kTokens * kPieces; i += Tile::kThreads) {
    const int row = i / kPieces, column = i % kPieces * kPiece;
    T* to = to_smem[row].x + column;
    const T* piece = from + row * stride + column;
    if (aligned) {
      const bool exists = row < steps && column < columns;
      __pipeline_memcpy_async(to, exists ? piece : from, kPieceBytes, exists ? 0 : kPieceBytes);
    } else {
      for (int e = 0; e < kPiece; ++e)
        to[e] = row < steps && column + e < columns ? piece[e] : T{};
    }
  }
}

// The way back for o. A thread takes the very pieces that it fetches of v.
template <typename Tile, typename T>
__device__ void put(T* to, const Row<T, Tile::kV>* from_smem, std::int64_t stride, int steps,
                    int columns, bool aligned) {
  constexpr int kPiece = kPieceBytes / sizeof(T), kPieces = Tile::kV / kPiece;
#pragma unroll
  for (int i = threadIdx.x; i < Tile::kTokens * kPieces; i += Tile::kThreads) {
    const int row = i / kPieces, column = i % kPieces * kPiece;
    const T* from = from_smem[row].x + column;
    T* piece = to + row * stride + column;
    if (aligned) {
      if (row < steps && column < columns)
        *reinterpret_cast<float4*>(piece) = *reinterpret_cast<const float4*>(from);
    } else {
      for (int e = 0; e < kPiece; ++e)
        if (row < steps && column + e < columns) piece[e] = from[e];
    }
  }
}

// ---- Preparing a unit: nothing here knows the state ----

// The scores of a unit, before they are put in their places. Of each level, the q side is rows, the k side columns.
struct Scores {
  float apart8[4] = {};  // tokens 8 to 15 with tokens 0 to 7
  float apart4[4] = {};  // 4 to 7 with 0 to 3, 12 to 15 with 8 to 11
  float apart2[4] = {};  // 2, 3 with 0, 1, and so on
  float even[4] = {};    // rows 0 to 7: odd tokens, rows 8 to 15: even ones' bonus; columns: even tokens
  float odd[4] = {};     // rows: odd tokens' bonus, columns: odd tokens
};

// A level's products: 8 rows of the q side, then 8 rows of the k side in `rows`.
template <int kStride, typename Element>
__device__ void multiply_level(float (&score)[4], const Element* rows, int lane) {
#pragma unroll
  for (int column = 0; column < kGroup; column += 32) {
    Strip<Element> q[2], k[2];
    load_beside<kStride>(q[0], q[1], rows + column, lane);
    load_beside<kStride>(k[0], k[1], rows + 8 * kStride + column, lane);
    for (int i = 0; i < 2; ++i)
      multiply(score, q[i], Strip<Element>{}, k[i]);
  }
}

template <Task kTask, typename Tile>
__device__ void prepare(Chunk<Tile>& chunk, float* decay_smem, Scores& score, float2 u, int unit,
                        int group, int lane) {
  using Element = typename Tile::Element;
  constexpr int kStride = Row<Element, Tile::kK>::kStride;
  const int first = unit * kUnit, ik = group * kGroup + 2 * lane;

  // w[t]: decay of the block of tokens that ends with t. q[t], k[t]: decayed from the block's beginning, to its end.
  float2 q[kUnit], k[kUnit], w[kUnit];
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    const float2 log_w = load_pair(chunk.log_w[first + t].x + ik);
    w[t] = {__expf(log_w.x), __expf(log_w.y)};
    k[t] = load_pair(chunk.k[first + t].x + ik);
    if constexpr (kTask != Task::kStates) q[t] = load_pair(chunk.q[first + t].x + ik);
  }

  // Joins neighbouring blocks of `size` tokens. Factors are decays, at most 1: what underflows has been forgotten.
  const auto join = [&](int size) {
#pragma unroll
    for (int left = 0; left < kUnit; left += 2 * size) {
      const int right = left + size;
      const float2 w_left = w[right - 1], w_right = w[right + size - 1];
#pragma unroll
      for (int i = 0; i < size; ++i) {
        k[left + i] = {k[left + i].x * w_right.x, k[left + i].y * w_right.y};
        if constexpr (kTask != Task::kStates)
          q[right + i] = {q[right + i].x * w_left.x, q[right + i].y * w_left.y};
      }
      w[right + size - 1] = {w_left.x * w_right.x, w_left.y * w_right.y};
    }
  };

  // The unit's own rows of this group, whose elements are in registers now: three blocks of 16 rows.
  constexpr int kStride2 = sizeof(chunk.log_w[0]) / sizeof(Element);
  Element* const block0 = chunk.q[first].x + group * kGroup;
  Element* const block1 = chunk.k[first].x + group * kGroup;
  Element* const block2 = reinterpret_cast<Element*>(chunk.log_w[first].x + group * kGroup);
  const auto put_row = [&](int block, int row, float2 x) {
    Element* const to = block == 0   ? block0 + row * kStride
                        : block == 1 ? block1 + row * kStride
                                     : block2 + row * kStride2;
    store_pair(to + 2 * lane, x.x, x.y);
  };
  // The q side of the right blocks, the k side of the left ones: where they meet, both have the same anchor.
  const auto put_level = [&](int block, int size) {
    int row = 0;
#pragma unroll
    for (int left = 0; left < kUnit; left += 2 * size) {
#pragma unroll
      for (int i = 0; i < size; ++i, ++row) {
        put_row(block, row, q[left + size + i]);
        put_row(block, row + 8, k[left + i]);
      }
    }
  };

  if constexpr (kTask != Task::kStates) {
    __syncwarp();  // every lane has read: the rows may be written
#pragma unroll
    for (int t = 0; t < kUnit; ++t) {
      if constexpr (kTask == Task::kWkv) {
        put_row(t % 2 == 0 ? 0 : 2, t % 2 == 0 ? t / 2 + 8 : t / 2, {q[t].x * u.x, q[t].y * u.y});
      } else {
        put_row(t % 2 == 0 ? 0 : 2, t % 2 == 0 ? t / 2 + 8 : t / 2, q[t]);
        q[t] = {q[t].x * w[t].x, q[t].y * w[t].y};
      }
      if (t % 2 == 1) put_row(0, t / 2, q[t]);
      put_row(1, t / 2 + t % 2 * 8, k[t]);
    }
    __syncwarp();
#pragma unroll
    for (int column = 0; column < kGroup; column += 32) {
      Strip<Element> odd_bonus[2];
      load_beside<kStride2>(odd_bonus[0], odd_bonus[1], block2 + column, lane);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        Strip<Element> q_odd, even_bonus, k_even, k_odd;
        load_below<kStride>(q_odd, even_bonus, block0 + column + 16 * i, lane);
        load_below<kStride>(k_even, k_odd, block1 + column + 16 * i, lane);
        multiply(score.even, q_odd, even_bonus, k_even);
        multiply(score.odd, odd_bonus[i], Strip<Element>{}, k_odd);
      }
    }
    __syncwarp();
  }
  join(1);
  if constexpr (kTask != Task::kStates) put_level(0, 2);
  join(2);
  if constexpr (kTask != Task::kStates) put_level(1, 4);
  join(4);
  if constexpr (kTask != Task::kStates) {
    put_level(2, 8);
    __syncwarp();
    multiply_level<kStride>(score.apart2, block0, lane);
    multiply_level<kStride>(score.apart4, block1, lane);
    multiply_level<kStride2>(score.apart8, block2, lane);
  }
  join(8);
  __syncwarp();
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    if constexpr (kTask != Task::kStates) put_row(0, t, q[t]);
    put_row(1, t, k[t]);
  }
  *reinterpret_cast<float2*>(decay_smem + ik) = w[kUnit - 1];
}

// Where a lane's scores stand: with a = row / size, rows a * 2 size + size + row % size of the unit and columns
// a * 2 size + column % size, where column / size is the same a.
template <typename Element>
__device__ void put_scores(Row<Element, kUnit>* to_smem, const Scores& score, int lane) {
  const int row = lane / 4, pair = lane % 4;
  store_pair(&to_smem[8 + row].x[2 * pair], score.apart8[0], score.apart8[1]);
  if (row / 4 == pair / 2)
    store_pair(&to_smem[row / 4 * 8 + 4 + row % 4].x[pair / 2 * 8 + pair % 2 * 2], score.apart4[0],
               score.apart4[1]);
  if (row / 2 == pair) {
    store_pair(&to_smem[row / 2 * 4 + 2 + row % 2].x[pair * 4], score.apart2[0], score.apart2[1]);
    const bool second = row % 2 == 1;
    store_pair(&to_smem[2 * row].x[2 * row], second ? score.even[3] : score.even[2], 0.0f);
    store_pair(&to_smem[2 * row + 1].x[2 * row], second ? score.even[1] : score.even[0],
               second ? score.odd[1] : score.odd[0]);
  }
}

// ---- Walking: a warp has 16 columns of the state, transposed ----

// state[n][..]: rows are value columns, columns the channels 8 n to 8 n + 7.
template <int kK>
struct State {
  float x[kK / 8][4];
};

// o of 16 tokens and 16 columns, transposed, to its place. Neighbouring lanes of a column swap, so that each has two columns
// of one token.
inline __device__ void put_output(bfloat16* to, int stride, const float (&o)[4], int lane) {
  const int row = lane / 4, pair = lane % 4;
  const bool odd = row % 2 == 1;
  const std::uint32_t first = ladder::cuda::pack_bf16(o[0], o[2]);
  const std::uint32_t second = ladder::cuda::pack_bf16(o[1], o[3]);
  const std::uint32_t other = __shfl_xor_sync(kAllLanes, odd ? first : second, 4);
  const std::uint32_t left = odd ? other : first, right = odd ? second : other;
  bfloat16* token = to + (2 * pair + row % 2) * stride + row / 2 * 2;
  *reinterpret_cast<std::uint32_t*>(token) = (left & 0xffffu) | right << 16;
  *reinterpret_cast<std::uint32_t*>(token + 8) = left >> 16 | (right & 0xffff0000u);
}

// A unit of 16 tokens: o = q S + score v, then S = decay S + k^T v.
template <bool kOutputs, typename Tile>
__device__ void walk_unit(State<Tile::kK>& state, Shared<Tile>& shared, Chunk<Tile>& chunk,
                          int unit, float scale, int warp, int lane) {
  using Element = typename Tile::Element;
  constexpr int kStride = Row<Element, Tile::kK>::kStride;
  constexpr int kStrideV = Row<Element, Tile::kV>::kStride;
  constexpr int kStrideScore = Row<Element, kUnit>::kStride;
  const Element* q = chunk.q[unit * kUnit].x;
  const Element* k = chunk.k[unit * kUnit].x;
  Element* v = chunk.v[unit * kUnit].x + warp * kUnit;

  Strip<Element> v_upper, v_lower;
  load_transposed<kStrideV>(v_upper, v_lower, v, lane);
  float o[2][4] = {};
  if constexpr (kOutputs) {
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) {
      Strip<Element> score[2];
      load_below<kStrideScore>(score[0], score[1], shared.score[part][unit][0].x, lane);
      for (int i = 0; i < 2; ++i)
        multiply(o[i], v_upper, v_lower, score[i]);
    }
  }
#pragma unroll
  for (int n = 0; n < Tile::kK / 8; n += 2) {
    if constexpr (kOutputs) {
      Strip<Element> state_upper, state_lower, q_side[2];
      pack(state_upper, state_lower, state.x[n], state.x[n + 1]);
      load_below<kStride>(q_side[0], q_side[1], q + n * 8, lane);
      for (int i = 0; i < 2; ++i)
        multiply(o[i], state_upper, state_lower, q_side[i]);
    }
    Strip<Element> k_side[2];
    load_transposed<kStride>(k_side[0], k_side[1], k + n * 8, lane);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 decay =
          *reinterpret_cast<const float2*>(&shared.decay[unit][(n + i) * 8 + lane % 4 * 2]);
      state.x[n + i][0] *= decay.x;
      state.x[n + i][1] *= decay.y;
      state.x[n + i][2] *= decay.x;
      state.x[n + i][3] *= decay.y;
      multiply(state.x[n + i], v_upper, v_lower, k_side[i]);
    }
  }
  if constexpr (kOutputs) {
    __syncwarp();  // o takes the place of v, of which only this warp reads these columns
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      for (float& x : o[i])
        x *= scale;
      put_output(v + i * 8 * kStrideV, kStrideV, o[i], lane);
    }
  }
}

// ---- The kernel ----

template <Task kTask, typename Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    chunk_walk(const BasicWkvArgs<typename Tile::Element, typename Tile::LogW> args,
               const Segments segments, const bool aligned) {
  using Element = typename Tile::Element;
  constexpr bool kOutputs = kTask != Task::kStates;
  extern __shared__ float4 raw_smem[];
  Shared<Tile>& shared = *reinterpret_cast<Shared<Tile>*>(raw_smem);
  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const int K = args.K, V = args.V;
  const Walk walk = locate<Tile>(args, segments.count);
  if (kOutputs ? walk.steps == 0 && !walk.is_last : walk.steps == 0 || walk.is_last) return;
  const int chunks = (walk.steps + Tile::kTokens - 1) / Tile::kTokens;

  const std::int64_t step_K = walk.direction * args.H * K, step_V = walk.direction * args.H * V;
  const std::int64_t first_qk = (walk.first * args.H + walk.head) * K;
  const std::int64_t first_v = (walk.first * args.H + walk.head) * V + walk.first_iv;
  // Packed sequences have B = 1, and a batch is T tokens: token n of all has the same place either way.
  const std::int64_t step_w = walk.direction * args.log_w_stride_T;
  const std::int64_t first_w = walk.first * args.log_w_stride_T + walk.head * K;

  const auto start_fetch = [&](int chunk) {
    if (chunk < chunks) {
      const std::int64_t step = chunk * Tile::kTokens;
      const int steps = walk.steps - chunk * Tile::kTokens;
      Chunk<Tile>& to = shared.chunks[chunk % 2];
      if constexpr (kOutputs)
        fetch<Tile>(to.q, args.q + first_qk + step * step_K, step_K, steps, K, aligned);
      fetch<Tile>(to.k, args.k + first_qk + step * step_K, step_K, steps, K, aligned);
      fetch<Tile>(to.log_w, args.log_w + first_w + step * step_w, step_w, steps, K, aligned);
      fetch<Tile>(to.v, args.v + first_v + step * step_V, step_V, steps, V - walk.first_iv, aligned);
    }
    __pipeline_commit();
  };
  const auto put_outputs = [&](int chunk) {
    put<Tile>(args.o + first_v + chunk * Tile::kTokens * step_V, shared.chunks[chunk % 2].v, step_V,
              walk.steps - chunk * Tile::kTokens, V - walk.first_iv, aligned);
  };
  start_fetch(0);

  // What a warp prepares.
  const int my_unit = warp % Tile::kUnits, my_part = warp / Tile::kUnits;
  constexpr int kMyGroups = Tile::kGroups / Tile::kParts;
  float2 u[kMyGroups] = {};
  if constexpr (kTask == Task::kWkv) {
    for (int i = 0; i < kMyGroups; ++i) {
      const int ik = (my_part + i * Tile::kParts) * kGroup + 2 * lane;
      const Element* mine = args.u + walk.head * K + ik;
      u[i] = {ik < K ? ladder::cuda::load(mine) : 0.0f,
              ik + 1 < K ? ladder::cuda::load(mine + 1) : 0.0f};
    }
  }
  for (int i = tid; i < static_cast<int>(sizeof(shared.score) / sizeof(float)); i += Tile::kThreads)
    reinterpret_cast<float*>(shared.score)[i] = 0.0f;

  // state element (n, e) of a lane: channel ik(n, e) and value column iv(e)
  const auto channel = [&](int n, int e) { return n * 8 + lane % 4 * 2 + e % 2; };
  const auto column = [&](int e) { return walk.first_iv + warp * kUnit + lane / 4 + e / 2 * 8; };
  const std::int64_t first_state = (walk.sequence * args.H + walk.head) * K * V;
  State<Tile::kK> state = {};
  if (args.initial_state != nullptr && (kOutputs || walk.segment == 0)) {
#pragma unroll
    for (int n = 0; n < Tile::kK / 8; ++n)
      for (int e = 0; e < 4; ++e)
        if (channel(n, e) < K && column(e) < V)
          state.x[n][e] = args.initial_state[first_state + channel(n, e) * V + column(e)];
  }
  (void)segments;

  for (int chunk = 0; chunk < chunks; ++chunk) {
    __pipeline_wait_prior(0);
    __syncthreads();  // this chunk is here, and everybody has walked the one before
    if (kOutputs && chunk > 0) put_outputs(chunk - 1);
    start_fetch(chunk + 1);

    Chunk<Tile>& now = shared.chunks[chunk % 2];
    Scores score;
#pragma unroll
    for (int i = 0; i < kMyGroups; ++i)
      prepare<kTask>(now, shared.decay[my_unit], score, u[i], my_unit, my_part + i * Tile::kParts, lane);
    if constexpr (kOutputs) put_scores(shared.score[my_part][my_unit], score, lane);
    __syncthreads();  // all is prepared
#pragma unroll 1
    for (int unit = 0; unit < Tile::kUnits; ++unit)
      walk_unit<kOutputs>(state, shared, now, unit, args.scale, warp, lane);
  }
  if (kOutputs && chunks > 0) {
    __syncthreads();
    put_outputs(chunks - 1);
  }

  if (kOutputs && walk.is_last && args.final_state != nullptr) {
#pragma unroll
    for (int n = 0; n < Tile::kK / 8; ++n)
      for (int e = 0; e < 4; ++e)
        if (channel(n, e) < K && column(e) < V)
          args.final_state[first_state + channel(n, e) * V + column(e)] = state.x[n][e];
  }
}

// ---- Launches ----

// Whether all rows consist of whole 16-byte pieces.
template <typename Element, typename LogW>
bool is_aligned(const BasicWkvArgs<Element, LogW>& args) {
  const auto off = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kPieceBytes != 0;
  };
  constexpr int kPiece = kPieceBytes / sizeof(Element);
  return args.K % kPiece == 0 && args.V % kPiece == 0 && !off(args.q) && !off(args.k) &&
         !off(args.v) && !off(args.log_w) && !off(args.o);
}

template <Task kTask, typename Tile, typename Args>
void launch(const Args& args) {
  const std::int64_t sequences = args.cu_seqlens != nullptr ? args.sequences : args.B;
  const std::int64_t tiles = (args.V + Tile::kV - 1) / Tile::kV;
  const Segments segments{1, nullptr, nullptr};
  constexpr int kSharedBytes = sizeof(Shared<Tile>);
  const auto kernel = chunk_walk<kTask, Tile>;
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  kernel<<<static_cast<unsigned>(sequences * args.H * tiles), Tile::kThreads, kSharedBytes>>>(
      args, segments, is_aligned(args));
  CUDA_CHECK(cudaGetLastError());
}

template <Task kTask, typename Element, typename LogW>
void run(const BasicWkvArgs<Element, LogW>& args) {
  if constexpr (kTask == Task::kWkv) {
    ladder::validate(args, ladder::PackedSequences::kAllowed);
  } else {
    ladder::validate_gla(args, ladder::PackedSequences::kAllowed);
  }
  ladder::require(args.K <= 256, "K is " + std::to_string(args.K) + "; chapter 07 allows up to 256");
  if (args.K <= 64) return launch<kTask, Tiling<Element, LogW, 64, 4, 4, 2>>(args);
#ifndef ONLY64
  if (args.K <= 128) return launch<kTask, Tiling<Element, LogW, 128, 8, 4, 1>>(args);
  launch<kTask, Tiling<Element, LogW, 256, 4, 2, 1>>(args);
#endif
}

const ladder::Registration registration{
    {.name = "wkv_chunkwise",
     .chapter = "07_chunkwise",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .wkv_bf16 = run<Task::kWkv, bfloat16, bfloat16>,
     .wkv_bf16_fp32_decay = run<Task::kWkv, bfloat16, float>,
     .gla_bf16 = run<Task::kGla, bfloat16, bfloat16>,
     .gla_bf16_fp32_decay = run<Task::kGla, bfloat16, float>}};

}  // namespace chapter07
