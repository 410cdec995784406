// Tiles of 16-bit elements in shared memory and products of them, as the gradients' kernels need them.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "08_flash_attention/sequence.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"

namespace chapter08::gradients {

using ladder::BasicAttentionArgs;
using ladder::BasicAttentionGradArgs;

constexpr int kWarpSize = 32;
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2e = 1.44269504f;

// ---- Tiles ----

// Rows of kColumns elements. A piece of 16 bytes moves within its row, by an exclusive or with the row's number, so that the
// same piece of any eight neighbouring rows lies in all 32 banks: what one access of a warp to a matrix of 8 x 8 wants.
template <typename Element, int kColumns>
struct Tile {
  static constexpr int kPiece = 16 / sizeof(Element);
  static constexpr int kPieces = kColumns / kPiece;
  static_assert(kPieces % 4 == 0);
  Element* x;

  __device__ Element* at(int row, int column) const {
    const unsigned r = row;
    const unsigned turn = kPieces % 8 == 0 ? r % 8 : r / 2 % 4;  // an odd row begins in bank 16
    return x + row * kColumns + (static_cast<unsigned>(column) ^ turn * kPiece);
  }
};

// Asks for kRows rows of an array whose rows are `stride` elements apart. Rows from `rows` on are not read, but zeros.
template <int kRows, int kColumns, typename Element>
__device__ void fetch(Tile<Element, kColumns> to_smem, const Element* from, std::int64_t stride,
                      int rows) {
  using Tile = Tile<Element, kColumns>;
  static_assert(kRows * Tile::kPieces % kThreads == 0);
#pragma unroll
  for (int n = 0; n < kRows * Tile::kPieces / kThreads; ++n) {
    const int i = n * kThreads + threadIdx.x;
    const int row = i / Tile::kPieces, column = i % Tile::kPieces * Tile::kPiece;
    __pipeline_memcpy_async(to_smem.at(row, column), from + row * stride + column, 16,
                            row < rows ? 0 : 16);
  }
}

// ---- Operands ----

// A[m][k] = tile[row + m][column + k], 16 x 16
template <typename Element, int kColumns>
__device__ void load_left(std::uint32_t (&a)[4], Tile<Element, kColumns> tile, int row, int column,
                          int lane) {
  ladder::cuda::load_matrices(a, tile.at(row + lane % 16, column + lane / 16 * 8));
}

// A[m][k] = tile[row + k][column + m], 16 x 16
template <typename Element, int kColumns>
__device__ void load_left_transposed(std::uint32_t (&a)[4], Tile<Element, kColumns> tile, int row,
                                     int column, int lane) {
  ladder::cuda::load_matrices_transposed(
      a, tile.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
}

// B[k][n] = tile[row + n][column + k], 16 x 16: columns 0 to 7 in the first two registers, 8 to 15 in the others
template <typename Element, int kColumns>
__device__ void load_right_transposed(std::uint32_t (&b)[4], Tile<Element, kColumns> tile, int row,
                                      int column, int lane) {
  ladder::cuda::load_matrices(b,
                              tile.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
}

// B[k][n] = tile[row + k][column + n], 16 x 16, likewise
template <typename Element, int kColumns>
__device__ void load_right(std::uint32_t (&b)[4], Tile<Element, kColumns> tile, int row, int column,
                           int lane) {
  ladder::cuda::load_matrices_transposed(b, tile.at(row + lane % 16, column + lane / 16 * 8));
}

// ---- Products ----

// Two 16 x 8 sums side by side take the products of a with b's halves.
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

// sum[m][n] = rows of `a` times rows of `b`, over all kColumns columns.
template <typename Element, int kColumns, int kM, int kN>
__device__ void multiply_rows(float (&sum)[kM][kN][4], Tile<Element, kColumns> a_smem, int a_row,
                              Tile<Element, kColumns> b_smem, int b_row, int lane) {
  clear(sum);
#pragma unroll
  for (int k = 0; k < kColumns; k += 16) {
    std::uint32_t a[kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m)
      load_left(a[m], a_smem, a_row + m * 16, k, lane);
#pragma unroll
    for (int n = 0; n < kN; n += 2) {
      std::uint32_t b[4];
      load_right_transposed(b, b_smem, b_row + n * 8, k, lane);
#pragma unroll
      for (int m = 0; m < kM; ++m)
        multiply<Element>(sum[m][n], sum[m][n + 1], a[m], b);
    }
  }
}

// sum[m][n] += a[m] times 16 rows of `b`, from a column on.
template <typename Element, int kColumns, int kM, int kN>
__device__ void multiply_add(float (&sum)[kM][kN][4], const std::uint32_t (&a)[kM][4],
                             Tile<Element, kColumns> b_smem, int b_row, int b_column, int lane) {
#pragma unroll
  for (int n = 0; n + 1 < kN; n += 2) {
    std::uint32_t b[4];
    load_right(b, b_smem, b_row, b_column + n * 8, lane);
#pragma unroll
    for (int m = 0; m < kM; ++m)
      multiply<Element>(sum[m][n], sum[m][n + 1], a[m], b);
  }
}

// Two sums side by side as a first factor.
template <typename Element>
__device__ void pack(std::uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = ladder::cuda::pack<Element>(left[0], left[1]);
  a[1] = ladder::cuda::pack<Element>(left[2], left[3]);
  a[2] = ladder::cuda::pack<Element>(right[0], right[1]);
  a[3] = ladder::cuda::pack<Element>(right[2], right[3]);
}

// tile[row + m][column + k] = A[m][k], 16 x 16
template <typename Element, int kColumns>
__device__ void put(Tile<Element, kColumns> tile, int row, int column, const std::uint32_t (&a)[4],
                    int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<std::uint32_t*>(
        tile.at(row + lane / 4 + i % 2 * 8, column + lane % 4 * 2 + i / 2 * 8)) = a[i];
  }
}

// Rows of the sums, times `factor`, to an array whose rows are `stride` elements apart; rows from `rows` on do not exist.
template <typename Element, int kM, int kN>
__device__ void store(const float (&sum)[kM][kN][4], float factor, Element* to, std::int64_t stride,
                      int rows, int lane) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = m * 16 + i * 8 + lane / 4;
      if (row >= rows) continue;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        *reinterpret_cast<std::uint32_t*>(to + row * stride + n * 8 + lane % 4 * 2) =
            ladder::cuda::pack<Element>(factor * sum[m][n][2 * i], factor * sum[m][n][2 * i + 1]);
      }
    }
  }
}

// ---- Who does what ----

// A block keeps a tile of keys and streams tiles of queries past it. Warps are partners when they share their keys: of the scores
// each computes those of some of the queries, of the gradients some of the channels.
template <int kD>
struct Shape {
  static constexpr int D = kD;
  static constexpr int kQueries = D <= 64 ? 128 : 64;
  static constexpr int kKeys = D <= 128 ? 128 : 64;
  static constexpr int kPartners = 2;
  static constexpr int kWarpKeys = kKeys / (kWarps / kPartners);
  static constexpr int kWarpQueries = kQueries / kPartners;
  static constexpr int kWarpChannels = D / kPartners;
};

// ---- What is known of each query beforehand ----

struct QueryRow {
  float lse;    // base 2; infinity where no key is seen, so that all of the row's p are 0
  float delta;  // d_o . o
};

// Tiles of queries of all sequences and heads, numbered. A sequence's last tile may be ragged.
struct QueryTiles {
  int kQueries;
  std::int64_t H_q;

  template <typename Element>
  QueryTiles(const BasicAttentionArgs<Element>& args, int kQueries)
      : kQueries(kQueries), H_q(args.H_q) {}

  // The number of a tile of sequence n. Tiles before: first_query / kQueries whole ones, and one ragged one a sequence.
  __device__ std::int64_t at(const Sequence& sequence, int n, int tile, int head) const {
    return (sequence.first_query / kQueries + n + tile) * H_q + head;
  }
};

template <typename Element>
std::int64_t query_tiles(const BasicAttentionArgs<Element>& args, int kQueries) {
  return (args.B * args.T_q / kQueries + sequence_count(args)) * args.H_q;
}

// Eight lanes a row.
constexpr int kRowLanes = 8;

// QueryRow of every query: blocks (tile of kQueries, query head, sequence). Rows of a tile that do not exist get zeros.
template <typename Element>
__global__ void __launch_bounds__(kThreads)
    describe_queries(const BasicAttentionGradArgs<Element> args, const QueryTiles tiles,
                     QueryRow* to) {  // (tiles, kQueries)
  const BasicAttentionArgs<Element>& forward = args.forward;
  const Sequence sequence = sequence_of(forward, blockIdx.z);
  const int first = blockIdx.x * tiles.kQueries, D = forward.D, H_q = forward.H_q;
  const int rows = sequence.queries - first, head = blockIdx.y;
  if (rows <= 0) return;
  to += tiles.at(sequence, blockIdx.z, blockIdx.x, head) * tiles.kQueries;
  const int lane = threadIdx.x % kRowLanes;
  for (int row = threadIdx.x / kRowLanes; row < tiles.kQueries; row += kThreads / kRowLanes) {
    QueryRow query{0.0f, 0.0f};
    if (row < rows) {
      const std::int64_t at = ((sequence.first_query + first + row) * H_q + head) * D;
      for (int column = lane * 8; column < D; column += kRowLanes * 8) {
        union Eight {
          uint4 all;
          Element x[8];
        };
        const Eight d_o{*reinterpret_cast<const uint4*>(args.d_o + at + column)};
        const Eight o{*reinterpret_cast<const uint4*>(forward.o + at + column)};
#pragma unroll
        for (int i = 0; i < 8; ++i)
          query.delta += ladder::cuda::load(&d_o.x[i]) * ladder::cuda::load(&o.x[i]);
      }
      const float lse = forward.lse[sequence.first_lse + head * forward.T_q + first + row];
      query.lse = lse == -INFINITY ? INFINITY : lse * kLog2e;
    }
#pragma unroll
    for (int step = 1; step < kRowLanes; step *= 2)
      query.delta += __shfl_xor_sync(kAllLanes, query.delta, step);
    if (lane == 0) to[row] = query;
  }
}

}  // namespace chapter08::gradients
