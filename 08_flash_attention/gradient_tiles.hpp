// Tiles of 16-bit elements in shared memory and their products, for the gradients' kernels.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/clear_gradients.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "08_flash_attention/softcap.hpp"
#include "common/core/errors.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace flash_attention::gradients {

using ladder::BasicAttentionArgs;
using ladder::BasicAttentionGradArgs;
using ladder::FullAttentionGradArgs;
using ladder::cuda::kAllLanes;
using ladder::cuda::kLog2e;
using ladder::cuda::kWarpSize;

// ---- Tiles ----

// Swizzled rows of kColumns elements in shared memory. The same 16-byte vector of eight
// neighbouring rows covers all 32 banks, so a warp's access to an 8 x 8 matrix has no conflicts.
template <typename Element, int kColumns>
struct Tile {
  static constexpr int kUnit = 16 / sizeof(Element);
  static constexpr int kUnits = kColumns / kUnit;  // of a row
  Element* x;

  // As in common/cuda/tiles/swizzle.hpp, but written out, so that the compiler generates the code
  // that was measured.
  static __device__ int place(unsigned row, unsigned column) {
    const unsigned twist = ladder::cuda::tiles::Tile<Element, kColumns>::twist(row);
    return static_cast<int>(row * kColumns + (column / kUnit ^ twist) * kUnit + column % kUnit);
  }
  // From place(row, column) to place(row + rows, column + columns). `rows` is a multiple of 8, and
  // `columns` one of 8 that shares no bit with `column`. With constants it is at most one
  // instruction, because vectors are swizzled within 64 (32) columns, and the rest is an offset.
  static __device__ int move(int place, int rows, int columns) {
    constexpr int kAmong = kColumns % 64 == 0 ? 64 : 32;
    return (place ^ columns % kAmong) + columns / kAmong * kAmong + rows * kColumns;
  }
};

// The channels of a row, which are all columns of its tile or fewer, a multiple of 8. Arrays q, k
// and their gradients use D, all others D_v.
template <typename S>
struct Channels {
  int D;

  explicit __device__ Channels(std::int64_t D) : D(S::kAllOptions ? static_cast<int>(D) : S::kD) {}
  __device__ bool has(int column) const { return !S::kAllOptions || column < D; }
};

// Starts the copies of kRows rows of an array whose rows are `stride` elements apart. Rows from
// `rows` on, and columns that are no channels, become zeros and are not read. Threads step by a
// multiple of eight rows, and of 16 vectors if a row has more than an eighth of the threads can
// copy, so that the swizzle of a thread's vectors does not change.
template <int kThreads, int kRows, typename S, int kColumns, typename Element>
__device__ void fetch(Tile<Element, kColumns> to_smem, const Element* from, std::int64_t stride,
                      int rows, Channels<S> channels) {
  using Tile = Tile<Element, kColumns>;
  constexpr int kUnits = Tile::kUnits <= kThreads / 8 ? Tile::kUnits : 16;
  constexpr int kStep = kThreads / (8 * kUnits) * 8;
  static_assert(kStep > 0 && kRows % kStep == 0 && Tile::kUnits % kUnits == 0);
  const int row = threadIdx.x / kUnits, column = threadIdx.x % kUnits * Tile::kUnit;
  if constexpr (kStep * kUnits < kThreads) {
    if (row >= kStep) return;
  }
  const Element* const source = from + row * stride + column;
  Element* const to = to_smem.x + Tile::place(row, column);
#pragma unroll
  for (int c = 0; c < kColumns; c += kUnits * Tile::kUnit) {
    const int rows_here = channels.has(column + c) ? rows : 0;
#pragma unroll
    for (int n = 0; n < kRows; n += kStep) {
      __pipeline_memcpy_async(to + n * kColumns + c, source + n * stride + c, 16,
                              row + n < rows_here ? 0 : 16);
    }
  }
}

// ---- Operands ----

// The tile index of the 16 bytes that a lane loads, for 16 x 16 elements from (row, column) on. The
// 8 x 8 matrices are in the order upper left, lower left, upper right, lower right, or upper left,
// upper right, lower left, lower right.
//
//   first factor A[m][k]    rows are m: load_matrices, columns first
//                           rows are k: load_matrices_transposed, rows first
//   second factor B[k][n]   rows are n: load_matrices, rows first
//                           rows are k: load_matrices_transposed, columns first
template <typename Tile>
__device__ int columns_first(int row, int column, int lane) {
  return Tile::place(row + lane % 16, column + lane / 16 * 8);
}
template <typename Tile>
__device__ int rows_first(int row, int column, int lane) {
  return Tile::place(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8);
}
// The index of a lane's first two elements of an accumulator.
template <typename Tile>
__device__ int sums_place(int row, int column, int lane) {
  return Tile::place(row + lane / 4, column + lane % 4 * 2);
}

// ---- Products ----

// Two neighbouring accumulators, rounded, as the first factor of the next product.
template <typename Element>
__device__ void pack_factor(std::uint32_t (&a)[4], const float (&left)[4],
                            const float (&right)[4]) {
  a[0] = ladder::cuda::pack<Element>(left[0], left[1]);
  a[1] = ladder::cuda::pack<Element>(left[2], left[3]);
  a[2] = ladder::cuda::pack<Element>(right[0], right[1]);
  a[3] = ladder::cuda::pack<Element>(right[2], right[3]);
}

// Adds the products of a with b's halves to two neighbouring 16 x 8 accumulators.
template <typename Element>
__device__ void multiply(float (&left)[4], float (&right)[4], const std::uint32_t (&a)[4],
                         const std::uint32_t (&b)[4]) {
  ladder::cuda::mma<Element>(left, a, {b[0], b[1]});
  ladder::cuda::mma<Element>(right, a, {b[2], b[3]});
}

template <int kM, int kN>
__device__ void clear(float (&sum)[kM][kN][4]) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        sum[m][n][x] = 0.0f;
    }
  }
}

// sum[m][n] = rows of `a` times rows of `b`, over all kColumns columns. a_place is columns_first(),
// b_place rows_first().
template <typename Element, int kColumns, int kM, int kN>
__device__ void multiply_rows(float (&sum)[kM][kN][4], Tile<Element, kColumns> a_smem, int a_place,
                              Tile<Element, kColumns> b_smem, int b_place) {
  using Tile = Tile<Element, kColumns>;
  clear(sum);
#pragma unroll
  for (int k = 0; k < kColumns; k += 16) {
    std::uint32_t a[kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m)
      ladder::cuda::load_matrices(a[m], a_smem.x + Tile::move(a_place, m * 16, k));
#pragma unroll
    for (int n = 0; n < kN; n += 2) {
      std::uint32_t b[4];
      ladder::cuda::load_matrices(b, b_smem.x + Tile::move(b_place, n * 8, k));
#pragma unroll
      for (int m = 0; m < kM; ++m)
        multiply<Element>(sum[m][n], sum[m][n + 1], a[m], b);
    }
  }
}

// sum[m][n] += a[m] times 16 rows of `b`, of which every kStep-th 16 columns are used. b_place is
// columns_first().
template <int kStep, typename Element, int kColumns, int kM, int kN>
__device__ void multiply_add(float (&sum)[kM][kN][4], const std::uint32_t (&a)[kM][4],
                             Tile<Element, kColumns> b_smem, int b_place) {
#pragma unroll
  for (int n = 0; n < kN; n += 2) {
    std::uint32_t b[4];
    ladder::cuda::load_matrices_transposed(
        b, b_smem.x + Tile<Element, kColumns>::move(b_place, 0, n * 8 * kStep));
#pragma unroll
    for (int m = 0; m < kM; ++m)
      multiply<Element>(sum[m][n], sum[m][n + 1], a[m], b);
  }
}

// Stores a first factor of 16 x 16 elements at sums_place().
template <typename Element, int kColumns>
__device__ void put(Tile<Element, kColumns> tile_smem, int place, const std::uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<std::uint32_t*>(
        tile_smem.x + Tile<Element, kColumns>::move(place, i % 2 * 8, i / 2 * 8)) = a[i];
  }
}

// Stores sums, times `factor`, to an array whose rows are `stride` elements apart. Rows from `rows`
// on are out of bounds. `to` has every kStep-th 16 columns, from `first_column` on.
template <int kStep, typename S, typename Element, int kM, int kN>
__device__ void store(const float (&sum)[kM][kN][4], float factor, Element* to, std::int64_t stride,
                      int rows, int first_column, Channels<S> channels, int lane) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = m * 16 + i * 8 + lane / 4;
      if (row >= rows) continue;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        const int column = n / 2 * 16 * kStep + n % 2 * 8 + lane % 4 * 2;
        if (!channels.has(first_column + column)) continue;
        *reinterpret_cast<std::uint32_t*>(to + row * stride + column) =
            ladder::cuda::pack<Element>(factor * sum[m][n][2 * i], factor * sum[m][n][2 * i + 1]);
      }
    }
  }
}

// ---- Scores with all options ----

// A score's weight, and the derivative of the final score by the product q k^T.
struct Bend {
  float scale, softcap;  // the natural scale

  template <typename Element>
  explicit __device__ Bend(const FullAttentionArgs<Element>& forward)
      : scale(forward.scale), softcap(forward.softcap) {}

  // Turns the score into P, and dP into dS / P. lse is in base 2.
  __device__ void apply(float& score, float& dp, float lse, float delta) const {
    float slope = 1.0f;
    score *= scale;
    if (softcap > 0.0f) {
      const float r = tanh_term(1.0f, ladder::cuda::exp2_flushed(score * (2 * kLog2e / softcap)));
      score = softcap - 2 * softcap * r;
      slope = 4 * r * (1.0f - r);  // 1 - tanh^2
    }
    score = ladder::cuda::exp2_flushed(score * kLog2e - lse);
    dp = (dp - delta) * slope;
  }
};

// ---- The work of blocks and warps ----

// A block keeps a tile of keys, and tiles of queries are streamed past it. Partner warps share
// their keys. Each computes the scores of some of the queries, and every second 16 channels of the
// gradients.
//
// A kernel with kAllOptions supports a window, a softcap, fewer channels than columns, and another
// number for v than for q. Without it a kernel is faster, because more is known at compile time.
// kSmall, which supports all options too, needs at most kLeastMemory of shared memory per block.
template <int kColumns, bool kTheAllOptions, bool kTheSmall = false>
struct Shape {
  static constexpr int kD = kColumns;
  static constexpr bool kAllOptions = kTheAllOptions, kSmall = kTheSmall;
  template <typename Element>
  using Args = std::conditional_t<kAllOptions, FullAttentionGradArgs<Element>,
                                  BasicAttentionGradArgs<Element>>;
  // A warp has 32 keys (16 if D is 256), 32 or 64 queries of scores, and as many accumulators as
  // fit. Two blocks of 64 keys are faster than one block of 128, because one computes while the
  // other waits.
  static constexpr int kQueries = kSmall ? (kD <= 96 ? 64 : 32) : kD <= 64 ? 128 : 64;
  static constexpr int kKeys = kD <= 64 ? 128 : kSmall && kD == 256 ? 32 : 64;
  static constexpr int kWarps = kD == 96 || kD == 128 || (kSmall && kD == 256) ? 4 : 8;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kBlocks = kD == 96 || kD == 128 ? 2 : 1;    // per SM, at once
  static constexpr int kScoreTiles = kSmall && kD == 256 ? 1 : 2;  // P and dS, or one for both
  static constexpr int kPartners = 2;
  static constexpr int kWarpKeys = kKeys / (kWarps / kPartners);
  static constexpr int kWarpQueries = kQueries / kPartners;
  static constexpr int kWarpChannels = kD / kPartners;
};

// ---- Precomputed for each query ----

template <int kQueries>
struct QueryRows {
  float lse[kQueries];    // base 2, or infinity if no key is seen, so that all p of the row are 0
  float delta[kQueries];  // d_o . o
};

// A block's shared memory holds its keys and, double buffered, queries. One tile of queries is in
// use, one in flight.
template <typename Element, typename S>
struct Memory {
  Element k[S::kKeys * S::kD], v[S::kKeys * S::kD];
  Element q[2][S::kQueries * S::kD], d_o[2][S::kQueries * S::kD];
  Element scores[S::kScoreTiles][S::kKeys * S::kQueries];  // P, and the last one dS
  QueryRows<S::kQueries> rows[2];
};

// Tiles of queries are numbered over all sequences, and the last tile of a sequence may be partial,
// so that at most first_query / kQueries whole ones and n partial ones come before sequence n. Each
// has a number per query head.
inline __device__ std::int64_t first_tile_of(const Sequence& sequence, int n, int kQueries) {
  return sequence.first_query / kQueries + n;
}
template <typename Element>
std::int64_t query_tiles(const BasicAttentionArgs<Element>& args, int kQueries) {
  return (args.B * args.T_q / kQueries + sequence_count(args)) * args.H_q;
}

constexpr int kRowThreads = 256;
// Eight lanes per row.
constexpr int kRowLanes = 8;

// The grid is query_grid(). Out-of-bounds rows of a tile get zeros.
template <typename Element, int kQueries>
__global__ void __launch_bounds__(kRowThreads)
    describe_queries(const BasicAttentionGradArgs<Element> args, const int D_v,
                     QueryRows<kQueries>* rows_of_queries) {  // (tiles, H_q)
  const BasicAttentionArgs<Element>& forward = args.forward;
  const SequenceTile at = query_tile_of_block<kQueries>(forward);
  const Sequence sequence = sequence_of(forward, at.sequence);
  const int first = at.tile * kQueries, H_q = forward.H_q;
  const int rows = sequence.queries - first, head = blockIdx.y;
  if (rows <= 0) return;
  QueryRows<kQueries>& to =
      rows_of_queries[(first_tile_of(sequence, at.sequence, kQueries) + at.tile) * H_q + head];
  const int lane = threadIdx.x % kRowLanes;
  for (int row = threadIdx.x / kRowLanes; row < kQueries; row += kRowThreads / kRowLanes) {
    float lse = 0.0f, delta = 0.0f;
    if (row < rows) {
      const std::int64_t at = ((sequence.first_query + first + row) * H_q + head) * D_v;
      for (int column = lane * 8; column < D_v; column += kRowLanes * 8) {
        union Eight {
          uint4 all;
          Element x[8];
        };
        const Eight d_o{*reinterpret_cast<const uint4*>(args.d_o + at + column)};
        const Eight o{*reinterpret_cast<const uint4*>(forward.o + at + column)};
#pragma unroll
        for (int i = 0; i < 8; ++i)
          delta += ladder::cuda::load(&d_o.x[i]) * ladder::cuda::load(&o.x[i]);
      }
      lse = forward.lse[sequence.first_lse + head * forward.T_q + first + row];
      lse = lse == -INFINITY ? INFINITY : lse * kLog2e;
    }
#pragma unroll
    for (int step = 1; step < kRowLanes; step *= 2)
      delta += __shfl_xor_sync(kAllLanes, delta, step);
    if (lane == 0) {
      to.lse[row] = lse;
      to.delta[row] = delta;
    }
  }
}

// Rows are accessed in 16-byte vectors.
template <typename Element>
void require_alignment(const FullAttentionGradArgs<Element>& args) {
  const BasicAttentionArgs<Element>& forward = args.forward;
  if (forward.T_q > 0) {
    ladder::require_pointer("q", forward.q, 16);
    ladder::require_pointer("o", forward.o, 16);
    ladder::require_pointer("d_o", args.d_o, 16);
    ladder::require_pointer("dq", args.dq, 16);
  }
  if (forward.T_k > 0) {
    ladder::require_pointer("k", forward.k, 16);
    ladder::require_pointer("v", forward.v, 16);
    ladder::require_pointer("dk", args.dk, 16);
    ladder::require_pointer("dv", args.dv, 16);
  }
}

// The limit per block of an RTX 3090 or 4090 (sm_86, sm_89). No GPU with these instructions has
// less.
constexpr std::size_t kLeastMemory = 99 * 1024;

// Launches with the Shape of that many columns that supports the arguments and fits the device's
// shared memory.
template <int kColumns, typename Element, typename BytesOf, typename Launch>
void launch_with_columns(const FullAttentionArgs<Element>& forward, BytesOf bytes_of,
                         Launch launch) {
  using All = Shape<kColumns, true>;
  using Small = Shape<kColumns, true, true>;
  constexpr std::size_t kBytes = decltype(bytes_of(All{}))::value;
  if constexpr (kBytes > kLeastMemory) {
    static_assert(decltype(bytes_of(Small{}))::value <= kLeastMemory);
    if (kBytes > ladder::cuda::most_shared_memory()) return launch(Small{});
  }
  const bool is_full = forward.D == kColumns && forward.channels_of_v() == kColumns;
  if (is_full && forward.window == 0 && forward.softcap == 0.0f)
    return launch(Shape<kColumns, false>{});
  launch(All{});
}

// Launches with a Shape, or rejects the arguments. bytes_of(shape) is an integral_constant, a
// block's shared memory.
template <typename Element, typename BytesOf, typename Launch>
void launch_with_shape(const FullAttentionGradArgs<Element>& args, BytesOf bytes_of,
                       Launch launch) {
  validate(args, ladder::ChannelsOfV::kAny);
  const FullAttentionArgs<Element>& forward = args.forward;
  require_units_of_all_channels(forward);
  require_grid(forward);
  if (forward.B == 0) return;
  require_alignment(args);
  if (sequence_count(forward) == 0) return clear_gradients(args);
  const std::int64_t columns = most_channels(forward);
  if (columns <= 32) return launch_with_columns<32>(forward, bytes_of, launch);
  if (columns <= 64) return launch_with_columns<64>(forward, bytes_of, launch);
  if (columns <= 96) return launch_with_columns<96>(forward, bytes_of, launch);
  if (columns <= 128) return launch_with_columns<128>(forward, bytes_of, launch);
  launch_with_columns<256>(forward, bytes_of, launch);
}

}  // namespace flash_attention::gradients
