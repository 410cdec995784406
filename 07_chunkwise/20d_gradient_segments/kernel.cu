// 07 chunkwise, gradients in segments: the gradients of WKV and GLA on tensor cores, for few heads.
// Change: rewrite of 07.20 for few heads. Both walks are cut into segments, as in 07.16. All start
//         from an empty state, a scan computes each segment's first state, and the second kernel
//         adds it to S and D.
// Why:    a walk is a chain of chunks in one block, so 8 heads kept only 16 blocks busy.
// Needs:  any B, T, H, K and V up to 65535, both states, scale, reverse, decay per token or per
//         head, fp32 or bf16, a GPU since Ampere.
// Costs:  S and D of every chunk in memory, as in 07.20, and per segment a state in fp32. S and D
//         of all but the first segment are rounded twice. With many heads it launches what 07.20
//         launches. See README for what was predicted and measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_chunkwise/chunk_scores.hpp"
#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"
#include "07_chunkwise/gradient_kernels.hpp"
#include "07_chunkwise/gradient_limits.hpp"
#include "07_chunkwise/gradient_walks.hpp"
#include "07_chunkwise/pair_gradients.hpp"
#include "07_chunkwise/state_products.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {
namespace {

using ladder::cuda::tiles::copy;

constexpr std::int64_t kFewestChunks = 2;  // per segment, because the scan's chain has each segment
constexpr std::int64_t kFewestSegments = 3;  // two do not pay for the scan and for the additions

// 07.20's work buffers, and a walk's chunks cut into segments of `length`, counted in its
// direction. A leading 2 is S's walk and D's.
template <typename Element>
struct Segments : Work<Element> {
  using Work<Element>::chunks, Work<Element>::tiles_K, Work<Element>::tiles_V;
  static constexpr bool kInSegments = true;
  int count, length;
  std::int64_t heads;  // B * H
  float* carried;      // (2, count, B, H, tiles_K, tiles_V, 64, 64), the state after a segment that
                       // started empty, after the scan the state before it
  float* decays;       // (2, count, B, H, tiles_K, 64), of a whole segment
  float* passed;       // (2, chunks, B, H, tiles_K, 64), from the segment's start to the chunk

  __device__ ChunkRange walked_chunks() const {
    const int first = static_cast<int>(blockIdx.z / 2) * length;
    return {first, min(first + length, chunks)};
  }
  __device__ std::int64_t rows(int outer, std::int64_t bh, int tile_K) const {
    return ((outer * heads + bh) * tiles_K + tile_K) * kSide;
  }
  __device__ float* state_of(bool backward, int segment, std::int64_t bh, int tile_K,
                             int tile_V) const {
    return carried +
           (rows(backward * count + segment, bh, tile_K) * tiles_V + tile_V * kSide) * kSide;
  }
  __device__ float* decay_of(bool backward, int segment, std::int64_t bh, int tile_K) const {
    return decays + rows(backward * count + segment, bh, tile_K);
  }
  __device__ float* passed_of(bool backward, int n, std::int64_t bh, int tile_K) const {
    return passed + rows(backward * chunks + n, bh, tile_K);
  }

  // ---- In the walks ----

  // A lane has two rows of the state.
  __device__ void put_rows(float* to, int tile_V, const float (&of_rows)[2]) const {
    const int lane = threadIdx.x % kWarpSize, row = threadIdx.x / kWarpSize * kBlock + lane / 4;
    if (tile_V == 0 && lane % 4 == 0) to[row] = of_rows[0], to[row + 8] = of_rows[1];
  }
  template <bool kBackward>
  __device__ void put_decay(int n, std::int64_t bh, int tile_K, int tile_V,
                            const float (&decay)[2]) const {
    put_rows(passed_of(kBackward, n, bh, tile_K), tile_V, decay);
  }
  template <bool kBackward>
  __device__ void put_end(std::int64_t bh, int tile_K, int tile_V, const Sum (&state)[kBlocks],
                          const float (&decay)[2]) const {
    const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
    const int segment = blockIdx.z / 2;
    float* const to = state_of(kBackward, segment, bh, tile_K, tile_V) + warp * kBlock * kSide;
#pragma unroll
    for (int m = 0; m < kBlocks; ++m)
      store(state[m], to + m * kBlock, kSide, kBlock, kBlock, true, lane);
    put_rows(decay_of(kBackward, segment, bh, tile_K), tile_V, decay);
  }

  // ---- In the second kernel ----

  // Adds what the decays leave of a segment's first state to S before the chunk, and to D after it.
  // A thread adds to the vectors that it copied itself, so it waits for no other thread's copies.
  // Segment 0 has a state of zeros. Without a branch for it all loads start together.
  template <typename Tiles>
  __device__ void add_first_states(Tiles& tiles_smem, const Place& place, int tile_V) const {
    constexpr int kUnit = SquareTile<Element>::kUnit, kUnits = kSide / kUnit;
    constexpr int kRows = kThreads / kUnits;  // at once, as in fetch()
    const int first_row = threadIdx.x / kUnits, column = threadIdx.x % kUnits * kUnit;
#pragma unroll
    for (int backward = 0; backward < 2; ++backward) {
      const int n = backward != 0 ? chunks - 1 - place.chunk : place.chunk, segment = n / length;
      const float* const state = state_of(backward, segment, place.bh, place.tile_K, tile_V);
      const float* const decay = passed_of(backward, n, place.bh, place.tile_K);
      const auto own_smem = square(tiles_smem.stage[kState + backward]);
      const auto rest_smem =
          square(tiles_smem.stage[(Tiles::kRests ? kStateRest : kState) + backward]);
#pragma unroll
      for (int row = first_row; row < first_row + kSide; row += kRows) {
        float first[kUnit], sum[kUnit], rest[kUnit];
        copy<kUnit>(first, state + row * kSide + column);
        copy<kUnit>(sum, own_smem.at(row, column));
        if constexpr (Tiles::kRests) copy<kUnit>(rest, rest_smem.at(row, column));
        for (int i = 0; i < kUnit; ++i)
          sum[i] += decay[row] * first[i] + (Tiles::kRests ? rest[i] : 0.0f);
        copy<kUnit>(own_smem.at(row, column), sum);
        if constexpr (Tiles::kRests) {
          copy<kUnit>(rest, own_smem.at(row, column));  // the rounded sum
          for (int i = 0; i < kUnit; ++i)
            rest[i] = sum[i] - rest[i];
          copy<kUnit>(rest_smem.at(row, column), rest);
        }
      }
    }
  }
};

// ---- First kernel: the walks ----

// Without segments, blocks with blockIdx.z = 1 go backward, as in 07.20.
template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW, typename Buffers>
__global__ void __launch_bounds__(kWalkThreads, 4)
    walk_chunks(const BasicWkvGradArgs<Element, LogW> args, const Buffers work) {
  extern __shared__ float4 smem[];
  auto* const stages_smem = reinterpret_cast<WalkStage<Element, LogW>*>(smem);
  if (Buffers::kInSegments ? blockIdx.z % 2 == 0 : blockIdx.z == 0) {
    walk<kGla, false, kAligned, kRests>(args, work, stages_smem);
  } else {
    walk<kGla, true, kAligned, kRests>(args, work, stages_smem);
  }
}

// ---- Second kernel: inside the chunks ----

// Copies are in gradient_chunk.hpp, the rows, decays and scores in chunk_scores.hpp, products of a
// tile of V in state_products.hpp, and the gradients in pair_gradients.hpp.

template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW, typename Buffers>
__global__ void __launch_bounds__(kThreads, kRests || sizeof(Element) == sizeof(float) ? 1 : 2)
    chunk_gradients(const BasicWkvGradArgs<Element, LogW> args, const Buffers work) {
  extern __shared__ float4 smem[];
  using Tiles = ChunkTiles<kRests, Element, LogW>;
  auto& tiles_smem = *reinterpret_cast<Tiles*>(smem);
  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const Part part{lane, warp, warp % kBlocks * kBlock, warp >= kBlocks};
  const Place place(args.forward, work.chunks);
  const float scale = args.forward.scale;

  // All copies start at once, first the inputs of the rows, then the first tile of V.
  fetch_keys<kAligned>(tiles_smem, args.forward, place);
  fetch_values<kAligned>(tiles_smem, args, work, place, 0);
  make_spans<kGla>(tiles_smem, warp, lane);
  int ik[2];
  float u[2];
  find_channels<kGla>(args.forward, place, part, ik, u);
  __pipeline_wait_prior(1);
  __syncthreads();  // q, k and log_w are in shared memory

  Sum left[kBlocksPerWarp];
  put_rows<kGla>(tiles_smem, part, ik, u, left);
  __syncthreads();
  put_decays_around_blocks(tiles_smem, tid);
  decay_to_the_end(tiles_smem, part, ik, left);
  Sum scores[kPairsPerWarp] = {};
  if (warp < kBlocks) add_scores_within_block(tiles_smem, part, scores[0]);
  add_scores_between_blocks(tiles_smem, part, scores);
  __syncthreads();  // all threads have read the levels' rows, so they may be overwritten
  put_left(tiles_smem, part, left);
  put_scores(tiles_smem, part, scale, scores);

  // Products with S and D, one tile of V at a time. dv is complete after its tile.
  Sum d_scores[kPairsPerWarp] = {};
  Sum from_state[kBlocksPerWarp] = {}, from_adjoint[kBlocksPerWarp] = {};
  Sum overlap = {};  // S times D transposed, of which only the diagonal is used
#pragma unroll 1
  for (int tile_V = 0; tile_V < work.tiles_V; ++tile_V) {
    if (tile_V > 0) {
      __syncthreads();  // all threads have read the last tile of V, so it may be refilled
      fetch_values<kAligned>(tiles_smem, args, work, place, tile_V);
    }
    __pipeline_wait_prior(0);
    if constexpr (Buffers::kInSegments) work.add_first_states(tiles_smem, place, tile_V);
    __syncthreads();
    add_d_scores(tiles_smem, part, d_scores);
    add_products_of_states(tiles_smem, part, from_state, from_adjoint, overlap);
    make_dv<kAligned>(tiles_smem, args, work, place, part, tile_V);
  }
  put_overlap(tiles_smem, part, ik, overlap);
  if constexpr (Tiles::kWithRest) __syncthreads();  // all have read `left`; it may be overwritten
  put_d_scores(tiles_smem, part, scale, d_scores);
  __syncthreads();

  Sum d_log_w[kBlocksPerWarp] = {};
  make_gradients<kGla>(tiles_smem, part, ik, u, scale, tid, from_state, from_adjoint, d_log_w);
  __syncthreads();
  put_d_log_w(tiles_smem, part, ik, place.rows, work.d_log_w_parts != nullptr, d_log_w);
  __syncthreads();
  write_gradients<kAligned>(tiles_smem, args, work, place);
  write_parts(tiles_smem, args.forward, work, place, tid);
}

// ---- Third kernel: sums over blocks, always in the same order ----

template <int kShares, typename Element>
__global__ void __launch_bounds__(kSumThreads)
    sum_parts(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  __shared__ float sum_smem[kShares][kSumThreads / kShares];
  add_parts(sum_smem, to, parts, elements, count);
}

template <int kShares, typename Element>
void launch_sum(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  constexpr int kElements = kSumThreads / kShares;
  const auto blocks = static_cast<unsigned>((elements + kElements - 1) / kElements);
  sum_parts<kShares>
      <<<blocks, kSumThreads, 0, ladder::cuda::stream()>>>(to, parts, elements, count);
  CUDA_CHECK(cudaGetLastError());
}

// ---- Between the first and the second: the scan ----

constexpr int kScanThreads = 128;
constexpr int kAhead = 8;  // segments whose loads are in flight

// A thread carries one number of a state from segment to segment, for S or for D. The grid is
// (B * H * tiles_V * tiles_K, parts of a tile, 2).
template <typename Element, typename LogW>
__global__ void __launch_bounds__(kScanThreads)
    scan_segments(const BasicWkvGradArgs<Element, LogW> args, const Segments<Element> cut) {
  const bool backward = blockIdx.z == 1;
  const int tile_V = blockIdx.x % cut.tiles_V, tile_K = blockIdx.x / cut.tiles_V % cut.tiles_K;
  const std::int64_t bh = blockIdx.x / cut.tiles_V / cut.tiles_K;
  const int at = blockIdx.y * kScanThreads + threadIdx.x, row = at / kSide, column = at % kSide;
  const auto state_of = [&](int segment) -> float& {
    return cut.state_of(backward, segment, bh, tile_K, tile_V)[at];
  };
  float state = 0.0f;  // segment 0 contains its first state
  for (int first = 0; first < cut.count; first += kAhead) {
    float own[kAhead], decay[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {  // without a branch, so that no load waits for another
      const int segment = min(first + i, cut.count - 1);
      own[i] = state_of(segment);
      decay[i] = cut.decay_of(backward, segment, bh, tile_K)[row];
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (first + i >= cut.count) continue;
      state_of(first + i) = state;
      state = decay[i] * state + own[i];
    }
  }
  const int K = args.forward.K, V = args.forward.V;
  const int ik = tile_K * kSide + row, iv = tile_V * kSide + column;
  if (backward && args.d_initial_state != nullptr && ik < K && iv < V)
    args.d_initial_state[(bh * K + ik) * V + iv] = state;
}

// ---- Launcher ----

// As many segments as fit the device at once, or one if that leaves fewer than kFewestSegments.
// `walks` is the number of blocks without segments.
template <typename Element, typename LogW>
std::int64_t segment_count(std::int64_t chunks, std::int64_t walks) {
  constexpr std::int64_t kMemory = 200 * 1024;  // bytes of an SM
  constexpr auto kBlocksPerSm = std::min<std::int64_t>(4, kMemory / kWalkBytes<Element, LogW>);
  const std::int64_t room =
      kBlocksPerSm * ladder::cuda::multiprocessors_to_fill() / std::max<std::int64_t>(walks, 1);
  if (room < kFewestSegments) return 1;
  const std::int64_t length = std::max(kFewestChunks, (chunks + room - 1) / room);
  const std::int64_t count = (chunks + length - 1) / length;
  return count < kFewestSegments ? 1 : count;
}

// Launches everything. `segments` is 1 unless `work` divides time, and then `between` launches what
// connects the segments.
template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW, typename Buffers,
          typename Between>
void launch_kernels(const BasicWkvGradArgs<Element, LogW>& args, const Buffers& work, int segments,
                    Between between) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const std::int64_t B = forward.B, T = forward.T, H = forward.H, K = forward.K, V = forward.V;
  constexpr int kGradientBytes = sizeof(ChunkTiles<kRests, Element, LogW>);
  const auto walk = walk_chunks<kGla, kAligned, kRests, Element, LogW, Buffers>;
  const auto gradients = chunk_gradients<kGla, kAligned, kRests, Element, LogW, Buffers>;
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", walk, kWalkBytes<Element, LogW>);
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", gradients, kGradientBytes);

  if (B > 0) {
    const dim3 grid(static_cast<unsigned>(B * H),
                    static_cast<unsigned>(work.tiles_K * work.tiles_V),
                    static_cast<unsigned>(2 * segments));
    walk<<<grid, kWalkThreads, kWalkBytes<Element, LogW>, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    between();
  }
  if (B > 0 && T > 0) {
    const dim3 grid(static_cast<unsigned>(B * H * work.chunks),
                    static_cast<unsigned>(work.tiles_K));
    gradients<<<grid, kThreads, kGradientBytes, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    if (work.tiles_K > 1) launch_sum<1>(args.dv, work.dv_parts, B * T * H * V, work.tiles_K);
  }
  constexpr int kShares = 8;  // few elements with many parts
  const std::int64_t parts = B * work.chunks;
  if (!kGla) launch_sum<kShares>(args.du, work.du_parts, H * K, parts);
  if (has_decay_per_head(forward))
    launch_sum<kShares>(args.d_log_w, work.d_log_w_parts, H * K, parts);
}

template <bool kGla, typename Element, typename LogW>
void launch(const BasicWkvGradArgs<Element, LogW>& args) {
  using ladder::cuda::Scratch;
  choose_version(args, [&](auto aligned, auto rests) {
    const Memory<Element> memory(args.forward, kGla, rests());
    const Work<Element> work = memory.work();
    const std::int64_t heads = args.forward.B * args.forward.H;
    const std::int64_t tiles = std::int64_t{work.tiles_K} * work.tiles_V;
    const std::int64_t count = segment_count<Element, LogW>(work.chunks, 2 * heads * tiles);
    if (count == 1) return launch_kernels<kGla, aligned(), rests()>(args, work, 1, [] {});

    const std::int64_t rows = 2 * heads * work.tiles_K * kSide;
    const Scratch<float> carried(count * 2 * heads * tiles * kTileSize), decays(count * rows);
    const Scratch<float> passed(work.chunks * rows);
    const Segments<Element> cut{work,
                                static_cast<int>(count),
                                static_cast<int>((work.chunks + count - 1) / count),
                                heads,
                                carried.pointer(),
                                decays.pointer(),
                                passed.pointer()};
    launch_kernels<kGla, aligned(), rests()>(args, cut, static_cast<int>(count), [&] {
      const dim3 grid(static_cast<unsigned>(heads * tiles), kTileSize / kScanThreads, 2);
      scan_segments<<<grid, kScanThreads, 0, ladder::cuda::stream()>>>(args, cut);
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

template <typename Element, typename LogW>
void wkv(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate(args);
  launch<false>(args);
}

template <typename Element, typename LogW>
void gla(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate_gla(args);
  launch<true>(args);
}

const ladder::Registration wkv_registration{
    {.name = "wkv_gradient_segments",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::WkvBackward>(wkv<float, float>, wkv<bfloat16, bfloat16>,
                                                         wkv<bfloat16, float>)}};

const ladder::Registration gla_registration{
    {.name = "gla_gradient_segments",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::GlaBackward>(gla<float, float>, gla<bfloat16, bfloat16>,
                                                         gla<bfloat16, float>)}};

}  // namespace
}  // namespace chunkwise::backward
