// 07 chunkwise: WKV and gated linear attention on tensor cores.
// Change: rewrite. The state is updated by 16 tokens at once, by matrix products. It stays in
//         registers and is an operand there.
// Why:    a recurrence does 3 K V operations per token, one token after another, on cores that do
//         not multiply matrices.
// Needs:  K up to 512, V up to 2^20, bf16, fp16, or fp32 as three tf32 products, packed sequences,
//         a GPU since Ampere.
// Costs:  operands are rounded to 16 bits (sums, states and the bonus are not). About 1700 warp
//         instructions per 16 tokens and 64 x 64 state. A NaN in v_s reaches its column of o in its
//         whole sub-chunk of 16 tokens, also earlier ones, because a masked score is 0, and 0 times
//         NaN is NaN. See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "07_chunkwise/15_wkv_and_gla/operands.hpp"
#include "07_chunkwise/15_wkv_and_gla/segments.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/clamped.hpp"
#include "common/cuda/decay.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {
namespace {

using ladder::BasicWkvArgs;
using ladder::bfloat16;
using ladder::float16;
using ladder::cuda::decay_factor;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using ladder::cuda::Scratch;

// Tokens added to the state at once, which is the depth of a tensor-core product.
constexpr int kUnit = 16;

// Channels that a warp prepares at once, two per lane.
constexpr int kGroup = 2 * kWarpSize;

// Key channels per block. A head may have twice as many, in two parts.
constexpr int kBlockChannels = 256;
constexpr int kMostChannels = 2 * kBlockChannels;

// The kernel counts steps, elements of a step and elements of a state in ints.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 30;
constexpr std::int64_t kMostColumns = std::int64_t{1} << 20;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // per step, all heads, in q or v

// Tiles of all heads and sequences. Even with three segments each, a grid allows their number of
// blocks.
constexpr std::int64_t kMostTiles = std::int64_t{1} << 29;

// Bytes of the widest access.
constexpr int kPieceBytes = 16;

// The task of a launch. kStates computes only a segment's final state from an initial state of
// zeros.
enum class Task { kWkv, kGla, kStates };

// ---- The sizes of a block ----

// A block has kK channels (those past K are zero) and chunks of kUnits sub-chunks of 16 tokens. 16
// columns of V belong to kShares warps, each of which has its share of the channels, as much state
// as fits into registers. While a chunk is prepared, kParts warps share a sub-chunk. An SM should
// hold at least kBlocks blocks.
template <typename Element_, typename LogW_, int kK_, int kWarps_, int kShares_, int kUnits_,
          int kBlocks_>
struct Tiling {
  using Element = Element_;
  using LogW = LogW_;
  static constexpr int kK = kK_, kWarps = kWarps_, kShares = kShares_, kUnits = kUnits_;
  static constexpr int kBlocks = kBlocks_;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kColumnWarps = kWarps / kShares;
  static constexpr int kV = kColumnWarps * kUnit;
  static constexpr int kShareK = kK / kShares;
  static constexpr int kTokens = kUnits * kUnit;
  static constexpr int kGroups = kK / kGroup;
  static constexpr int kParts = kWarps / kUnits < kGroups ? kWarps / kUnits : kGroups;
  static_assert(kParts >= 1 && kGroups % kParts == 0);
  static constexpr bool kIsPart = false;
};

// The same for a head with more than kK channels, of which a launch computes kK.
template <typename Whole>
struct PartOf : Whole {
  static constexpr bool kIsPart = true;
};

// A chunk in the order of global memory. Its buffers are reused later.
template <typename Tile>
struct Chunk {
  using Element = typename Tile::Element;
  using LogW = typename Tile::LogW;
  Element q_[Tile::kTokens * Tile::kK];   // later the q side of the whole sub-chunk
  Element k_[Tile::kTokens * Tile::kK];   // later the k side
  LogW log_w_[Tile::kTokens * Tile::kK];  // later scratch
  Element v_[Tile::kTokens * Tile::kV];   // later o

  // Rows of a sub-chunk.
  __device__ Matrix<Element, Tile::kK> q(int unit) { return {q_ + unit * kUnit * Tile::kK}; }
  __device__ Matrix<Element, Tile::kK> k(int unit) { return {k_ + unit * kUnit * Tile::kK}; }
  __device__ Matrix<LogW, Tile::kK> log_w(int unit) { return {log_w_ + unit * kUnit * Tile::kK}; }
  __device__ Matrix<Element, Tile::kV> v(int unit) { return {v_ + unit * kUnit * Tile::kV}; }
};

template <typename Tile>
struct alignas(128) Shared {
  using Element = typename Tile::Element;
  static constexpr int kScoreStride = 128 / sizeof(Element);
  Chunk<Tile> chunks[2];
  // [t][s] is the weight of v_s in o_t for s < t, and zero elsewhere.
  Element score_[Tile::kParts][Tile::kUnits][kUnit * kScoreStride];
  float decay[Tile::kUnits][Tile::kK];             // over a whole sub-chunk
  float bonus[Tile::kParts][Tile::kUnits][kUnit];  // the weight of v_t in o_t
  // Parts of a sub-chunk's o, from the warps after the first kColumnWarps.
  float4 o_share[Tile::kShares == 1 ? 1 : Tile::kShares - 1]
                [Tile::kShares == 1 ? 1 : Tile::kUnits * 2 * Tile::kColumnWarps * kWarpSize];

  __device__ Matrix<Element, kScoreStride> score(int part, int unit) {
    return {score_[part][unit]};
  }
};

// ---- The tokens of a block ----

// Every sequence is cut into `count` segments, each with its own blocks. For segments after the
// first, Task::kStates stores each segment's addition to the state and the decay of the earlier
// state. Blocks without work return.
struct Segments {
  int count = 1;
  std::int64_t stride = 0;   // blocks from a segment to the next
  float4* states = nullptr;  // (blocks, kShareK / 8, threads), in register order
  float* decays = nullptr;   // (blocks, kK)
};

// One of the two parts of a head's channels. The channels of the state are independent, and o is a
// sum over all of them, so the first launch stores its sums for the second.
struct ChannelPart : Segments {
  int channels = 0;       // of this launch
  float* sums = nullptr;  // (B, T, H, V), before the scale
  bool is_last = false;
};

template <typename Tile>
using Cut = std::conditional_t<Tile::kIsPart, ChannelPart, Segments>;

// The tokens of a block in the order of their steps, token(step) = first + direction * step.
struct Walk {
  std::int64_t sequence, first;
  int head, first_iv, segment, direction;
  int steps;     // of this segment
  bool is_last;  // the last of the sequence's segments that have steps
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
    begin = ladder::cuda::clamped(args.cu_seqlens[walk.sequence], 0, args.T);
    length = ladder::cuda::clamped(args.cu_seqlens[walk.sequence + 1], begin, args.T) - begin;
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

// A thread's vectors of a chunk, one in every kRowsAtOnce rows, always in the same columns.
template <typename Tile, typename T, int kColumns>
struct Pieces {
  static constexpr int kPiece = kPieceBytes / sizeof(T), kPerRow = kColumns / kPiece;
  static constexpr int kRowsAtOnce = Tile::kThreads / kPerRow;
  static_assert(Tile::kThreads % kPerRow == 0 && Tile::kTokens % kRowsAtOnce == 0);
  const int row = threadIdx.x / kPerRow, column = threadIdx.x % kPerRow * kPiece;
};

// Copies a chunk's rows. `steps` of them and `columns` of their elements are in bounds, and the
// others become zero. `from` is the first row, `stride` the distance to the next.
template <typename Tile, typename T, int kColumns>
__device__ void fetch(const Matrix<T, kColumns>& to_smem, const T* from, int stride, int steps,
                      int columns, bool aligned) {
  using Mine = Pieces<Tile, T, kColumns>;
  const Mine mine;
  from += static_cast<std::int64_t>(mine.row) * stride + mine.column;
  if (aligned && steps >= Tile::kTokens && columns >= kColumns) {
#pragma unroll
    for (int row = mine.row; row < mine.row + Tile::kTokens; row += Mine::kRowsAtOnce) {
      __pipeline_memcpy_async(to_smem.at(row, mine.column), from, kPieceBytes);
      from += static_cast<std::int64_t>(Mine::kRowsAtOnce) * stride;
    }
    return;
  }
#pragma unroll 1
  for (int row = mine.row; row < Tile::kTokens; row += Mine::kRowsAtOnce) {
    T* to = to_smem.at(row, mine.column);
    if (aligned) {
      const bool exists = row < steps && mine.column < columns;
      __pipeline_memcpy_async(to, from, kPieceBytes, exists ? 0 : kPieceBytes);
    } else {
      for (int e = 0; e < Mine::kPiece; ++e)
        to[e] = row < steps && mine.column + e < columns ? from[e] : T{};
    }
    from += static_cast<std::int64_t>(Mine::kRowsAtOnce) * stride;
  }
}

// Stores o. A thread stores exactly the vectors that it loads of v.
template <typename Tile, typename T, int kColumns>
__device__ void put(T* to, const Matrix<T, kColumns>& from_smem, int stride, int steps, int columns,
                    bool aligned) {
  using Mine = Pieces<Tile, T, kColumns>;
  const Mine mine;
  to += static_cast<std::int64_t>(mine.row) * stride + mine.column;
  if (aligned && steps >= Tile::kTokens && columns >= kColumns) {
#pragma unroll
    for (int row = mine.row; row < mine.row + Tile::kTokens; row += Mine::kRowsAtOnce) {
      *reinterpret_cast<float4*>(to) =
          *reinterpret_cast<const float4*>(from_smem.at(row, mine.column));
      to += static_cast<std::int64_t>(Mine::kRowsAtOnce) * stride;
    }
    return;
  }
#pragma unroll 1
  for (int row = mine.row; row < steps && row < Tile::kTokens; row += Mine::kRowsAtOnce) {
    const T* from = from_smem.at(row, mine.column);
    for (int e = 0; e < Mine::kPiece && mine.column + e < columns; ++e)
      to[e] = from[e];
    to += static_cast<std::int64_t>(Mine::kRowsAtOnce) * stride;
  }
}

// ---- Preparing a sub-chunk: independent of the state ----

// A lane's scores of a sub-chunk, before put_scores(). At each level the q side is rows, and the k
// side is columns.
struct Scores {
  float2 apart8 = {};  // tokens 8 to 15 with tokens 0 to 7
  float2 apart4 = {};  // 4 to 7 with 0 to 3, 12 to 15 with 8 to 11
  float2 apart2 = {};  // 2, 3 with 0, 1, and so on
  // Rows are one alternate half, then the bonus of the other. Columns are the other half.
  float neighbours[2][4] = {};
};

// `rows` holds a level's 8 rows of the q side, then its 8 rows of the k side.
template <typename Element, int kStride>
__device__ void multiply_level(float2& score, const Matrix<Element, kStride>& rows, int lane) {
  float folded[2][4] = {};
#pragma unroll
  for (int column = 0; column < kGroup; column += 32) {
    FragmentA<Element> q_side;
    FragmentB<Element> k_side[2];
    load_folded(q_side, k_side, rows, 0, 8, column, lane);
    multiply(folded[0], q_side, k_side[0]);
    multiply(folded[1], q_side, k_side[1]);
  }
  score.x += folded[0][0] + folded[1][2];
  score.y += folded[0][1] + folded[1][3];
}

// A sub-chunk's rows, for a group of channels.
template <typename Tile>
struct UnitRows {
  using Element = typename Tile::Element;
  using LogW = typename Tile::LogW;
  Matrix<Element, Tile::kK> q, k;
  Matrix<LogW, Tile::kK> log_w;
  Matrix<Element, Tile::kK * sizeof(LogW) / sizeof(Element)> scratch;  // reuses log_w's buffer

  __device__ UnitRows(Chunk<Tile>& chunk, int unit, int group)
      : q{chunk.q(unit).x + group * kGroup},
        k{chunk.k(unit).x + group * kGroup},
        log_w{chunk.log_w(unit).x + group * kGroup},
        scratch{reinterpret_cast<Element*>(log_w.x)} {}
};

// A lane's two channels of a sub-chunk, cut into blocks of tokens. decay[t] is over the block that
// ends with t. q[t] is decayed from the block's start, k[t] to its end.
struct Blocks {
  float2 q[kUnit], k[kUnit], decay[kUnit];
};

// Joins neighbouring blocks of `size` tokens. Factors are decays, at most 1, and may underflow.
template <bool kScores>
__device__ void join(Blocks& blocks, int size) {
#pragma unroll
  for (int left = 0; left < kUnit; left += 2 * size) {
    const int right = left + size, last = right + size - 1;
    const float2 of_left = blocks.decay[right - 1], of_right = blocks.decay[last];
#pragma unroll
    for (int i = 0; i < size; ++i) {
      float2 &k = blocks.k[left + i], &q = blocks.q[right + i];
      k = {k.x * of_right.x, k.y * of_right.y};
      if constexpr (kScores) q = {q.x * of_left.x, q.y * of_left.y};
    }
    blocks.decay[last] = {of_left.x * of_right.x, of_left.y * of_right.y};
  }
}

// Stores the q side of the right blocks and the k side of the left ones. Both are relative to the
// border between them.
template <typename Rows>
__device__ void put_level(const Rows& rows, const Blocks& blocks, int size, int ik) {
  int row = 0;
#pragma unroll
  for (int left = 0; left < kUnit; left += 2 * size) {
#pragma unroll
    for (int i = 0; i < size; ++i, ++row) {
      store_pair(rows.at(row, ik), blocks.q[left + size + i]);
      store_pair(rows.at(row + 8, ik), blocks.k[left + i]);
    }
  }
}

// Neighbours have no decay between them, and the bonus has none at all, so their products use q and
// k as loaded.
template <Task kTask, typename Tile>
__device__ void multiply_neighbours(Scores& score, Blocks& blocks, const UnitRows<Tile>& rows,
                                    float2 u, int lane) {
  using Element = typename Tile::Element;
  const auto scratch = rows.scratch;
  const int ik = 2 * lane;
  float2(&q)[kUnit] = blocks.q;
  __syncwarp();  // every lane has read log_w
#pragma unroll
  for (int t = 0; t < kUnit; ++t)
    q[t] = load_pair(rows.q.at(t, ik));
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    if constexpr (kTask == Task::kWkv) {
      store_pair(scratch.at(t, ik), {q[t].x * u.x, q[t].y * u.y});
    } else {
      q[t] = {q[t].x * blocks.decay[t].x, q[t].y * blocks.decay[t].y};
      if (t % 2 == 1) store_pair(scratch.at(t, ik), q[t]);
    }
  }
  __syncwarp();
#pragma unroll
  for (int column = 0; column < kGroup; column += 16) {
    FragmentB<Element> k_side[2];
    load_right_alternate(k_side, rows.k, column, lane);
    for (int half = 0; half < 2; ++half) {
      FragmentA<Element> q_side;
      if constexpr (kTask == Task::kWkv) {
        load_left_alternate(q_side, rows.q, 1 - half, scratch, column, lane);
      } else {
        load_left_alternate(q_side, scratch, 1 - half, rows.q, column, lane);
      }
      multiply(score.neighbours[half], q_side, k_side[half]);
    }
  }
}

// Computes, for one group of channels, the scores, the q side and the k side of the whole
// sub-chunk, and its decays.
template <Task kTask, typename Tile>
__device__ void prepare(Chunk<Tile>& chunk, float* decay_smem, Scores& score, float2 u, int unit,
                        int group, int lane) {
  constexpr bool kScores = kTask != Task::kStates;
  const UnitRows<Tile> rows(chunk, unit, group);
  const int ik = 2 * lane;
  Blocks blocks;
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    const float2 log_w = load_pair(rows.log_w.at(t, ik));
    blocks.decay[t] = {decay_factor(log_w.x), decay_factor(log_w.y)};
  }
  if constexpr (kScores) multiply_neighbours<kTask>(score, blocks, rows, u, lane);
#pragma unroll
  for (int t = 0; t < kUnit; ++t)
    blocks.k[t] = load_pair(rows.k.at(t, ik));
  __syncwarp();  // every lane has read q and k
  join<kScores>(blocks, 1);
  if constexpr (kScores) put_level(rows.q, blocks, 2, ik);
  join<kScores>(blocks, 2);
  if constexpr (kScores) put_level(rows.k, blocks, 4, ik);
  join<kScores>(blocks, 4);
  if constexpr (kScores) {
    put_level(rows.scratch, blocks, 8, ik);
    __syncwarp();
    multiply_level(score.apart2, rows.q, lane);
    multiply_level(score.apart4, rows.k, lane);
    multiply_level(score.apart8, rows.scratch, lane);
    __syncwarp();
  }
  join<kScores>(blocks, 8);
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    if constexpr (kScores) store_pair(rows.q.at(t, ik), blocks.q[t]);
    store_pair(rows.k.at(t, ik), blocks.k[t]);
  }
  *reinterpret_cast<float2*>(decay_smem + group * kGroup + ik) = blocks.decay[kUnit - 1];
}

// Stores a lane's scores. With a = row / size, they are in rows a * 2 size + size + row % size of
// the sub-chunk and columns a * 2 size + column % size, if column / size is the same a.
template <typename Element, int kStride>
__device__ void put_scores(const Matrix<Element, kStride>& to_smem, float* bonus_smem,
                           const Scores& score, int lane) {
  const int row = lane / 4, pair = lane % 4;
  store_pair(to_smem.at(8 + row, 2 * pair), score.apart8);
  if (row / 4 == pair / 2)
    store_pair(to_smem.at(row / 4 * 8 + 4 + row % 4, pair / 2 * 8 + pair % 2 * 2), score.apart4);
  if (row / 2 == pair) {
    store_pair(to_smem.at(row / 2 * 4 + 2 + row % 2, pair * 4), score.apart2);
    // Tokens 2 row and 2 row + 1. Chooses the former's alternate half and the column of this lane's
    // pair by a selection, because registers have no index.
    const auto mine = [&](int half, int first) {
      const float(&x)[2][4] = score.neighbours;
      const float left = row / 4 == half ? x[0][first] : x[1][first];
      const float right = row / 4 == half ? x[0][first + 1] : x[1][first + 1];
      return row % 2 == 0 ? left : right;
    };
    store_pair(to_smem.at(2 * row + 1, 2 * row), {mine(0, 0), 0.0f});
    store_pair(bonus_smem + 2 * row, {mine(0, 2), mine(1, 2)});
  }
}

// ---- The walk: a warp has 16 columns of the state, transposed ----

// In state[n][..] rows are value columns, and columns are the channels 8 n to 8 n + 7.
template <int kK>
struct State {
  float x[kK / 8][4];
};

// Stores o of 16 tokens and 16 columns, transposed. Neighbouring lanes of a column swap, so that
// each has two columns of one token.
template <typename Element, int kStride>
__device__ void put_output(const Matrix<Element, kStride>& to, int first_t, int column,
                           const float (&o)[4], int lane) {
  const int row = lane / 4, pair = lane % 4;
  const bool odd = row % 2 == 1;
  const std::uint32_t first = ladder::cuda::pack<Element>(o[0], o[2]);
  const std::uint32_t second = ladder::cuda::pack<Element>(o[1], o[3]);
  const std::uint32_t other = __shfl_xor_sync(kAllLanes, odd ? first : second, 4);
  const std::uint32_t left = odd ? other : first, right = odd ? second : other;
  const int token = first_t + 2 * pair + row % 2, iv = column + row / 2 * 2;
  *reinterpret_cast<std::uint32_t*>(to.at(token, iv)) = (left & 0xffffu) | right << 16;
  *reinterpret_cast<std::uint32_t*>(to.at(token, iv + 8)) = left >> 16 | (right & 0xffff0000u);
}

template <int kStride>
__device__ void put_output(const Matrix<float, kStride>& to, int first_t, int column,
                           const float (&o)[4], int lane) {
  for (int i = 0; i < 4; ++i)
    *to.at(first_t + lane % 4 * 2 + i % 2, column + lane / 4 + i / 2 * 8) = o[i];
}

// A sub-chunk of 16 tokens computes o = q S + score v, then S = decay S + k^T v. This warp has the
// columns from my_v on and the channels from my_k on.
template <bool kOutputs, typename Tile>
__device__ void walk_unit(float (&o)[2][4], State<Tile::kShareK>& state, Shared<Tile>& shared,
                          Chunk<Tile>& chunk, int unit, int my_v, int my_k, int lane) {
  using Element = typename Tile::Element;
  const Matrix<Element, Tile::kK> q = chunk.q(unit), k = chunk.k(unit);

  const auto v = load_a_km(chunk.v(unit), 0, my_v, lane);
  if (kOutputs && my_k == 0) {
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) {
      FragmentB<Element> score[2];
      load_b_nk(score, shared.score(part, unit), 0, 0, lane);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply(o[i], v, score[i]);
        // The bonus is not rounded, because it may be the whole output.
        add_columns(o[i], v, i, load_pair(&shared.bonus[part][unit][i * 8 + lane % 4 * 2]));
      }
    }
  }
#pragma unroll
  for (int n = 0; n < Tile::kShareK / 8; n += 2) {
    if constexpr (kOutputs) {
      FragmentB<Element> q_side[2];
      const auto state_left = tiles::as_a<Element>(state.x[n], state.x[n + 1]);
      load_b_nk(q_side, q, 0, my_k + n * 8, lane);
      for (int i = 0; i < 2; ++i)
        multiply(o[i], state_left, q_side[i]);
    }
    FragmentB<Element> k_side[2];
    load_b_kn(k_side, k, 0, my_k + n * 8, lane);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 decay = load_pair(&shared.decay[unit][my_k + (n + i) * 8 + lane % 4 * 2]);
      state.x[n + i][0] *= decay.x;
      state.x[n + i][1] *= decay.y;
      state.x[n + i][2] *= decay.x;
      state.x[n + i][3] *= decay.y;
      multiply(state.x[n + i], v, k_side[i]);
    }
  }
}

// The first part's sums of a chunk, and whether this part adds its own to them.
struct ChunkSums {
  float* first;        // at the chunk's first step and the block's first column
  int stride;          // to the next step
  int steps, columns;  // in bounds
  bool is_last;
};

// Calls visit(sum, x) for a lane's part x of a sub-chunk's o.
template <typename Visit>
__device__ void visit_sums(const ChunkSums& sums, float (&o)[2][4], int unit, int my_v, int lane,
                           const Visit& visit) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int step = unit * kUnit + i * 8 + lane % 4 * 2 + e % 2;
      const int iv = my_v + lane / 4 + e / 2 * 8;
      if (step < sums.steps && iv < sums.columns)
        visit(sums.first[static_cast<std::int64_t>(step) * sums.stride + iv], o[i][e]);
    }
  }
}

// o replaces v, whose columns only this warp still needs.
template <typename Tile>
__device__ void put_unit(Chunk<Tile>& chunk, int unit, float (&o)[2][4], const ChunkSums& sums,
                         float scale, int my_v, int lane) {
  if constexpr (Tile::kIsPart) {
    if (!sums.is_last)
      return visit_sums(sums, o, unit, my_v, lane, [](float& sum, float x) { sum = x; });
    visit_sums(sums, o, unit, my_v, lane, [](float sum, float& x) { x += sum; });
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    for (float& x : o[i])
      x *= scale;
    put_output(chunk.v(unit), i * 8, my_v, o[i], lane);
  }
}

// All sub-chunks of a chunk.
template <bool kOutputs, typename Tile>
__device__ void walk_chunk(State<Tile::kShareK>& state, Shared<Tile>& shared, Chunk<Tile>& chunk,
                           const ChunkSums& sums, float scale, int my_v, int share, int lane) {
  if constexpr (Tile::kShares == 1 || !kOutputs) {
#pragma unroll 1
    for (int unit = 0; unit < Tile::kUnits; ++unit) {
      float o[2][4] = {};
      walk_unit<kOutputs>(o, state, shared, chunk, unit, my_v, share * Tile::kShareK, lane);
      if constexpr (kOutputs) put_unit(chunk, unit, o, sums, scale, my_v, lane);
    }
  } else {
    float o[Tile::kUnits][2][4] = {};
#pragma unroll
    for (int unit = 0; unit < Tile::kUnits; ++unit)
      walk_unit<kOutputs>(o[unit], state, shared, chunk, unit, my_v, share * Tile::kShareK, lane);
    const auto place = [&](int unit, int i) {
      return ((unit * 2 + i) * Tile::kColumnWarps + my_v / kUnit) * kWarpSize + lane;
    };
    if (share > 0) {
#pragma unroll
      for (int unit = 0; unit < Tile::kUnits; ++unit)
        for (int i = 0; i < 2; ++i)
          shared.o_share[share - 1][place(unit, i)] = {o[unit][i][0], o[unit][i][1], o[unit][i][2],
                                                       o[unit][i][3]};
    }
    __syncthreads();  // all shares are in shared memory, and v may be overwritten
    if (share == 0) {
#pragma unroll
      for (int unit = 0; unit < Tile::kUnits; ++unit) {
        for (int i = 0; i < 2; ++i) {
          for (int other = 0; other < Tile::kShares - 1; ++other) {
            const float4 x = shared.o_share[other][place(unit, i)];
            o[unit][i][0] += x.x;
            o[unit][i][1] += x.y;
            o[unit][i][2] += x.z;
            o[unit][i][3] += x.w;
          }
        }
        put_unit(chunk, unit, o[unit], sums, scale, my_v, lane);
      }
    }
  }
}

// u for a warp's groups of channels, of which the first `channels` are in bounds.
template <typename Tile, typename Args, int kMyGroups>
__device__ void load_u(float2 (&u)[kMyGroups], const Args& args, int head, int my_part, int K,
                       int channels, int lane) {
  for (int i = 0; i < kMyGroups; ++i) {
    const int ik = (my_part + i * Tile::kParts) * kGroup + 2 * lane;
    const auto* const mine = args.u + head * K + ik;
    u[i] = {ik < channels ? ladder::cuda::load(mine) : 0.0f,
            ik + 1 < channels ? ladder::cuda::load(mine + 1) : 0.0f};
  }
}

// ---- The state, from and to global memory ----

// A lane's part of the state. Element (n, e) has channel(n, e) and value column column(e).
template <typename Tile>
struct StatePart {
  const int share, my_v, first_iv, lane, K, V;
  const std::int64_t first;  // offset of the head's state, (K, V)

  __device__ int channel(int n, int e) const {
    return share * Tile::kShareK + n * 8 + lane % 4 * 2 + e % 2;
  }
  __device__ int column(int e) const { return first_iv + my_v + lane / 4 + e / 2 * 8; }
};

// Calls visit(x, place) for each element of a lane's part in bounds.
template <typename Tile, typename Visit>
__device__ void visit_state(State<Tile::kShareK>& state, const StatePart<Tile>& mine,
                            const Visit& visit) {
#pragma unroll
  for (int n = 0; n < Tile::kShareK / 8; ++n)
    for (int e = 0; e < 4; ++e)
      if (mine.channel(n, e) < mine.K && mine.column(e) < mine.V)
        visit(state.x[n][e], mine.first + mine.channel(n, e) * mine.V + mine.column(e));
}

// The state before segment `segment`. Each earlier segment decays it and adds its own.
template <typename Tile>
__device__ void add_segments(State<Tile::kShareK>& state, const Segments& segments, int segment,
                             const StatePart<Tile>& mine) {
  const int tid = threadIdx.x;
  for (std::int64_t before = segment; before > 0; --before) {
    const std::int64_t block = blockIdx.x - before * segments.stride;
#pragma unroll
    for (int n = 0; n < Tile::kShareK / 8; ++n) {
      const float4 added = segments.states[(block * Tile::kShareK / 8 + n) * Tile::kThreads + tid];
      const float2 decay =
          *reinterpret_cast<const float2*>(segments.decays + block * Tile::kK + mine.channel(n, 0));
      state.x[n][0] = decay.x * state.x[n][0] + added.x;
      state.x[n][1] = decay.y * state.x[n][1] + added.y;
      state.x[n][2] = decay.x * state.x[n][2] + added.z;
      state.x[n][3] = decay.y * state.x[n][3] + added.w;
    }
  }
}

// Stores the results of Task::kStates for a segment. decay_of_all is of channels tid, tid +
// kThreads, ...
template <typename Tile, int kMyChannels>
__device__ void leave_segment(const Segments& segments, const State<Tile::kShareK>& state,
                              const float (&decay_of_all)[kMyChannels]) {
  const int tid = threadIdx.x;
  const std::int64_t block = blockIdx.x;
#pragma unroll
  for (int n = 0; n < Tile::kShareK / 8; ++n)
    segments.states[(block * Tile::kShareK / 8 + n) * Tile::kThreads + tid] = {
        state.x[n][0], state.x[n][1], state.x[n][2], state.x[n][3]};
  for (int i = 0; i < kMyChannels; ++i)
    if (tid + i * Tile::kThreads < Tile::kK)
      segments.decays[block * Tile::kK + tid + i * Tile::kThreads] = decay_of_all[i];
}

// ---- The kernel ----

template <Task kTask, typename Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    chunk_walk(const BasicWkvArgs<typename Tile::Element, typename Tile::LogW> args,
               const Cut<Tile> cut, const bool aligned) {
  constexpr bool kOutputs = kTask != Task::kStates;
  extern __shared__ float4 raw_smem[];
  Shared<Tile>& shared = *reinterpret_cast<Shared<Tile>*>(raw_smem);
  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const int K = args.K, V = args.V;
  int channels = K;  // of this launch
  if constexpr (Tile::kIsPart) channels = cut.channels;
  const Walk walk = locate<Tile>(args, cut.count);
  if (kOutputs ? walk.steps == 0 && !walk.is_last : walk.steps == 0 || walk.is_last) return;
  const int chunks = (walk.steps + Tile::kTokens - 1) / Tile::kTokens;

  const int step_K = walk.direction * static_cast<int>(args.H) * K;
  const int step_V = walk.direction * static_cast<int>(args.H) * V;
  const std::int64_t first_qk = (walk.first * args.H + walk.head) * K;
  const std::int64_t first_v = (walk.first * args.H + walk.head) * V + walk.first_iv;
  // Packed sequences have B = 1, and a batch is T tokens, so token n of all has the same offset
  // either way.
  const int step_w = walk.direction * static_cast<int>(args.log_w_stride_T);
  const std::int64_t first_w = walk.first * args.log_w_stride_T + walk.head * K;

  const auto start_fetch = [&](int chunk) {
    if (chunk < chunks) {
      const std::int64_t step = chunk * Tile::kTokens;
      const int steps = walk.steps - chunk * Tile::kTokens;
      Chunk<Tile>& to = shared.chunks[chunk % 2];
      if constexpr (kOutputs)
        fetch<Tile>(to.q(0), args.q + first_qk + step * step_K, step_K, steps, channels, aligned);
      fetch<Tile>(to.k(0), args.k + first_qk + step * step_K, step_K, steps, channels, aligned);
      fetch<Tile>(to.log_w(0), args.log_w + first_w + step * step_w, step_w, steps, channels,
                  aligned);
      fetch<Tile>(to.v(0), args.v + first_v + step * step_V, step_V, steps, V - walk.first_iv,
                  aligned);
    }
    __pipeline_commit();
  };
  const auto sums_of = [&](int chunk) {
    ChunkSums sums = {};
    if constexpr (kOutputs && Tile::kIsPart) {
      sums = {cut.sums + first_v + static_cast<std::int64_t>(chunk) * Tile::kTokens * step_V,
              step_V, walk.steps - chunk * Tile::kTokens, V - walk.first_iv, cut.is_last};
    }
    return sums;
  };
  const auto put_outputs = [&](int chunk) {
    if constexpr (Tile::kIsPart) {
      if (!cut.is_last) return;
    }
    put<Tile>(args.o + first_v + static_cast<std::int64_t>(chunk) * Tile::kTokens * step_V,
              shared.chunks[chunk % 2].v(0), step_V, walk.steps - chunk * Tile::kTokens,
              V - walk.first_iv, aligned);
  };
  start_fetch(0);

  // A warp's part of the preparation.
  const int my_unit = warp % Tile::kUnits, my_part = warp / Tile::kUnits;
  constexpr int kMyGroups = Tile::kGroups / Tile::kParts;
  float2 u[kMyGroups] = {};
  // Without steps u may be a null pointer.
  if constexpr (kTask == Task::kWkv)
    load_u<Tile>(u, args, walk.head, my_part, K, chunks > 0 ? channels : 0, lane);
  for (int i = tid; i < static_cast<int>(sizeof(shared.score_) / sizeof(float));
       i += Tile::kThreads)
    reinterpret_cast<float*>(shared.score_)[i] = 0.0f;

  // A warp's part of the walk.
  const int share = Tile::kShares == 1 ? 0 : warp / Tile::kColumnWarps;
  const int my_v = warp % Tile::kColumnWarps * kUnit;
  const StatePart<Tile> mine{
      share, my_v, walk.first_iv, lane, channels, V, (walk.sequence * args.H + walk.head) * K * V};
  State<Tile::kShareK> state = {};
  if (kOutputs && args.initial_state != nullptr)
    visit_state(state, mine, [&](float& x, std::int64_t at) { x = args.initial_state[at]; });
  if constexpr (kOutputs) add_segments(state, cut, walk.segment, mine);
  constexpr int kMyChannels = (Tile::kK + Tile::kThreads - 1) / Tile::kThreads;
  float decay_of_all[kMyChannels];
  for (float& decay : decay_of_all)
    decay = 1.0f;

  for (int chunk = 0; chunk < chunks; ++chunk) {
    __pipeline_wait_prior(0);
    __syncthreads();  // the chunk has arrived; the previous one is finished and may be refilled
    if (kOutputs && chunk > 0) put_outputs(chunk - 1);
    start_fetch(chunk + 1);

    Chunk<Tile>& now = shared.chunks[chunk % 2];
    Scores score;
    if (my_part < Tile::kParts) {
#pragma unroll
      for (int i = 0; i < kMyGroups; ++i)
        prepare<kTask>(now, shared.decay[my_unit], score, u[i], my_unit, my_part + i * Tile::kParts,
                       lane);
      if constexpr (kOutputs)
        put_scores(shared.score(my_part, my_unit), shared.bonus[my_part][my_unit], score, lane);
    }
    __syncthreads();  // the chunk is prepared
    if constexpr (!kOutputs) {
      for (int i = 0; i < kMyChannels; ++i)
        for (int unit = 0; unit < Tile::kUnits; ++unit)
          if (tid + i * Tile::kThreads < Tile::kK)
            decay_of_all[i] *= shared.decay[unit][tid + i * Tile::kThreads];
    }
    walk_chunk<kOutputs>(state, shared, now, sums_of(chunk), args.scale, my_v, share, lane);
  }
  if (kOutputs && chunks > 0) {
    __syncthreads();
    put_outputs(chunks - 1);
  }

  if constexpr (!kOutputs) leave_segment<Tile>(cut, state, decay_of_all);
  if (kOutputs && walk.is_last && args.final_state != nullptr)
    visit_state(state, mine, [&](float x, std::int64_t at) { args.final_state[at] = x; });
}

// ---- Launches ----

// Whether all rows consist of whole 16-byte vectors.
template <typename Element, typename LogW>
bool is_aligned(const BasicWkvArgs<Element, LogW>& args) {
  const auto off = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kPieceBytes != 0;
  };
  constexpr int kPiece = kPieceBytes / sizeof(Element);
  return args.K % kPiece == 0 && args.V % kPiece == 0 && !off(args.q) && !off(args.k) &&
         !off(args.v) && !off(args.log_w) && !off(args.o);
}

enum class Version { kDispatched, kFused, kTimeParallel };

template <Task kTask, typename Tile, typename Args>
void launch(const Args& args, const Cut<Tile>& cut, std::int64_t blocks, int shared_bytes) {
  chunk_walk<kTask, Tile>
      <<<static_cast<unsigned>(blocks), Tile::kThreads, shared_bytes, ladder::cuda::stream()>>>(
          args, cut, is_aligned(args));
  CUDA_CHECK(cudaGetLastError());
}

// The blocks that fit on the device at once. Also allows the kernel its shared memory.
template <Task kTask, typename Tile>
int blocks_at_once(int shared_bytes) {
  const auto kernel = chunk_walk<kTask, Tile>;
  int blocks = 0;
  ladder::cuda::allow_shared_memory("wkv_chunkwise", kernel, shared_bytes);
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, Tile::kThreads, shared_bytes));
  return blocks * ladder::cuda::multiprocessors_to_fill();
}

// Calls launch(args, cut) for the channels of whole heads, or for each part of them sequentially.
template <typename Tile, typename Args, typename Launch>
void for_each_part(const Args& args, const Segments& segments, float* sums, const Launch& launch) {
  if constexpr (!Tile::kIsPart) {
    launch(args, segments);
  } else {
    const auto from = [](auto*& pointer, std::int64_t elements) {
      if (pointer != nullptr) pointer += elements;
    };
    for (std::int64_t first = 0; first < args.K; first += Tile::kK) {
      Args part = args;
      from(part.q, first), from(part.k, first), from(part.log_w, first), from(part.u, first);
      from(part.initial_state, first * args.V), from(part.final_state, first * args.V);
      const std::int64_t left = args.K - first;
      launch(part, ChannelPart{segments, static_cast<int>(std::min<std::int64_t>(left, Tile::kK)),
                               sums, left <= Tile::kK});
    }
  }
}

template <Task kTask, typename Tile, typename Args>
void launch_version(const Args& args, Version version) {
  constexpr int kSharedBytes = sizeof(Shared<Tile>);
  const std::int64_t sequences = args.cu_seqlens != nullptr ? args.sequences : args.B;
  const std::int64_t stride = args.H * ((args.V + Tile::kV - 1) / Tile::kV);
  if (sequences == 0) return;
  ladder::require(stride <= kMostTiles && sequences <= kMostTiles / stride,
                  std::to_string(sequences) + " sequences of " + std::to_string(args.H) +
                      " heads with V = " + std::to_string(args.V) +
                      " are too many; this kernel allows up to 2^29 tiles of " +
                      std::to_string(Tile::kV) + " columns");
  const int room = blocks_at_once<kTask, Tile>(kSharedBytes);
  std::int64_t count = segment_count(room, ladder::cuda::multiprocessors_to_fill(),
                                     sequences * stride, steps_of_a_sequence(args), Tile::kTokens);
  if (version == Version::kTimeParallel) count = std::max<std::int64_t>(count, 3);
  const Scratch<float> sums(Tile::kIsPart ? args.B * args.T * args.H * args.V : 0);
  if (count <= 1 || version == Version::kFused) {
    for_each_part<Tile>(args, {}, sums.pointer(), [&](const Args& part, const Cut<Tile>& cut) {
      launch<kTask, Tile>(part, cut, sequences * stride, kSharedBytes);
    });
    return;
  }

  const std::int64_t blocks = sequences * stride * count;
  const Scratch<float4> states(blocks * Tile::kShareK / 8 * Tile::kThreads);
  const Scratch<float> decays(blocks * Tile::kK);
  const Segments segments{static_cast<int>(count), stride, states.pointer(), decays.pointer()};
  // All segments read the initial state, and the last one writes the final state, perhaps earlier.
  // If both are one array, they read a copy.
  const bool in_place = args.final_state != nullptr && args.initial_state == args.final_state;
  const std::int64_t elements = in_place ? sequences * args.H * args.K * args.V : 0;
  const Scratch<float> copied(elements);
  Args reading = args;
  blocks_at_once<Task::kStates, Tile>(kSharedBytes);
  if (in_place) {
    reading.initial_state = copied.pointer();
    CUDA_CHECK(cudaMemcpyAsync(copied.pointer(), args.initial_state, elements * sizeof(float),
                               cudaMemcpyDeviceToDevice, ladder::cuda::stream()));
  }
  for_each_part<Tile>(reading, segments, sums.pointer(),
                      [&](const Args& part, const Cut<Tile>& cut) {
                        launch<Task::kStates, Tile>(part, cut, blocks, kSharedBytes);
                        launch<kTask, Tile>(part, cut, blocks, kSharedBytes);
                      });
}

template <Task kTask, Version kVersion, typename Element, typename LogW>
void run(const BasicWkvArgs<Element, LogW>& args) {
  if constexpr (kTask == Task::kWkv) {
    ladder::validate(args, ladder::PackedSequences::kAllowed);
  } else {
    ladder::validate_gla(args, ladder::PackedSequences::kAllowed);
  }
  ladder::require(args.K <= kMostChannels,
                  "K is " + std::to_string(args.K) + "; this kernel allows up to 512");
  ladder::require(args.T <= kMostSteps, "T is " + std::to_string(args.T) +
                                            "; this kernel allows up to 2^30 = 1073741824");
  ladder::require(args.V <= kMostColumns,
                  "V is " + std::to_string(args.V) + "; this kernel allows up to 2^20 = 1048576");
  ladder::require(args.H <= kMostElements / args.K && args.H <= kMostElements / args.V,
                  "H is " + std::to_string(args.H) +
                      "; this kernel allows H * K and H * V up to 2^30 = 1073741824");
  constexpr bool kFp32 = sizeof(Element) == sizeof(float);
  if (args.K <= 64)
    return launch_version<kTask, Tiling<Element, LogW, 64, 4, 1, kFp32 ? 3 : 4, 2>>(args, kVersion);
  if (args.K <= 128)
    return launch_version<kTask, Tiling<Element, LogW, 128, 8, 1, kFp32 ? 3 : 4, 1>>(args,
                                                                                     kVersion);
  using Widest = Tiling<Element, LogW, kBlockChannels, 8, 2, kFp32 ? 1 : 2, 1>;
  if (args.K <= kBlockChannels) return launch_version<kTask, Widest>(args, kVersion);
  launch_version<kTask, PartOf<Widest>>(args, kVersion);
}

template <Version kVersion>
ladder::Implementation with_launchers(ladder::Implementation version) {
  version.device = ladder::DeviceKind::kCuda;
  version.bf16_arithmetic = ladder::Arithmetic::kBf16Operands;
  version.units = ladder::Units::kTensorCores;
  version.fma_share = 2.0 / 3;  // one product into the state and one out of it
  version.launchers =
      ladder::launchers<ladder::Wkv>(
          run<Task::kWkv, kVersion, float, float>, run<Task::kWkv, kVersion, bfloat16, bfloat16>,
          run<Task::kWkv, kVersion, bfloat16, float>, run<Task::kWkv, kVersion, float16, float16>) +
      ladder::launchers<ladder::Gla>(
          run<Task::kGla, kVersion, float, float>, run<Task::kGla, kVersion, bfloat16, bfloat16>,
          run<Task::kGla, kVersion, bfloat16, float>, run<Task::kGla, kVersion, float16, float16>);
  return version;
}

const ladder::Registration dispatched{
    with_launchers<Version::kDispatched>({.name = "wkv_chunkwise", .rung = true})};
const ladder::Registration fused{with_launchers<Version::kFused>({.name = "wkv_chunkwise_fused"})};
const ladder::Registration time_parallel{
    with_launchers<Version::kTimeParallel>({.name = "wkv_chunkwise_time_parallel"})};

}  // namespace
}  // namespace chunkwise
