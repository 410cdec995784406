// 08 flash attention, step 1: attention without a matrix of scores in memory, in plain arithmetic.
// Change: rewrite of 08.01: a block has a tile of queries; keys and values come past in tiles, and the softmax so far is brought up to date.
// Why:    the three kernels write T_q x T_k scores twice and read them again and again; here a score lives in a register.
// Needs:  D in {32, 64, 96, 128, 256}; fp32, bf16 or fp16; all options of attention; q, k and v aligned to four elements; 86 KB of
//         shared memory a block, 110 KB for D = 256.
// Costs:  every tile of queries fetches all its keys and values anew; no tensor cores.
//         See README for what was measured.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "08_flash_attention/sequence.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using ladder::cuda::load;
using ladder::cuda::store;

constexpr int kWarpSize = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// A warp has 16 queries. Half of its lanes share a row, and a lane has every second row.
constexpr int kWarpQueries = 16;
constexpr int kRowLanes = 16;
constexpr int kRows = kWarpQueries / 2;

// Elements per access to shared memory: 16 bytes of q, k and weights, 8 bytes of v and o.
constexpr int kVec = 4;
constexpr int kPair = 2;

// In shared memory, in floats: the queries; a tile of keys and then, in the same place, their values; the weights. Rows are kVec
// longer than they need be, so that 8 lanes that read 8 rows meet all 32 banks. Two rows of weights, which are written side by
// side, are half of the banks apart.
template <int kD>
struct Cut {
  static constexpr int kWarps = 4, kThreads = kWarps * kWarpSize;
  static constexpr int kQueries = kWarps * kWarpQueries;
  static constexpr int kKeys = kD <= 128 ? 64 : 32;
  static constexpr int kStride = kD + kVec, kWeightStride = kKeys + kRowLanes;
  static constexpr int kBytes =
      ((kQueries + kKeys) * kStride + kQueries * kWeightStride) * sizeof(float);
};

// What a lane has of its rows: the keys lane, lane + 16, ... (of 16 lanes) of a tile of scores, and pairs of columns of o.
template <int kKeys>
using Scores = float[kRows][kKeys / kRowLanes];
template <int kD>
using Sums = float[kRows][kD / kRowLanes / kPair][kPair];

__device__ int row_of(int i) {
  const int lane = threadIdx.x % kWarpSize;
  return 2 * i + lane / kRowLanes;
}

__device__ void read(float (&to)[kVec], const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}
__device__ void read(float (&to)[kPair], const float* from_smem) {
  *reinterpret_cast<float2*>(to) = *reinterpret_cast<const float2*>(from_smem);
}
__device__ void write(float* to_smem, float first, float second) {
  *reinterpret_cast<float2*>(to_smem) = make_float2(first, second);
}

// kTileRows rows of x to a tile of shared memory, as floats. There are `rows` of them; the last one stands for those behind it
// (nothing but finite numbers may meet a weight of 0).
template <int kD, int kTileRows, typename Element>
__device__ void fetch(float* tile, const Element* x, std::int64_t stride, int rows) {
  using Raw = std::conditional_t<sizeof(Element) == sizeof(float), float4, uint2>;
  // TODO(1): roughly 10 lines; the tile's rows, which are kStride floats apart, from the rows of x, which are `stride` elements apart; where there is
  // TODO(1): none, the last one again. A thread moves kVec elements at once. budget: one read of a Raw, one store of a float4, for each kVec elements
}

// The softmax of a warp's rows, tile of keys after tile. Weights are powers of 2: exp(scale s) is 2^(scale log2(e) s).
struct OnlineSoftmax {
  float scale;           // times log2(e)
  float largest[kRows];  // scaled score so far, the same in all lanes of a row
  float sum[kRows];      // of this lane's weights; relative to the largest, as o is

  explicit __device__ OnlineSoftmax(float natural_scale)
      : scale(natural_scale * ladder::cuda::kLog2e) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      largest[i] = -INFINITY, sum[i] = 0.0f;
  }

  // Makes weights of the scores, and what the tiles before have left in o and in the sums relative to the new largest.
  template <int kLaneKeys, int kLanePairs>
  __device__ void update(float (&scores)[kRows][kLaneKeys], float (&o)[kRows][kLanePairs][kPair]) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      // TODO(2): roughly 23 lines; the row's largest scaled score so far: of this lane's scores, of the other lanes of the row, of earlier tiles.
      // TODO(2): Then `sum[i]` and the row's elements of o become relative to it, and each score becomes its weight, which is added to `sum[i]`.
      // TODO(2): budget: four shuffles, and one exponential more than there are scores
    }
  }

  // Adds up what all lanes of a row have.
  __device__ float total(int i) const {
    float total = sum[i];
#pragma unroll
    for (int distance = kRowLanes / 2; distance > 0; distance /= 2)
      total += __shfl_xor_sync(kAllLanes, total, distance);
    return total;
  }
  // The natural logarithm of the sum of exp(scale s); -inf where there was no key.
  __device__ float lse(int i, float total) const {
    return largest[i] * ladder::cuda::kLn2 + logf(total);
  }
};

// What a warp has found for its rows, of which the first `rows` exist, goes to o and lse. By way of `tile`, its rows of the queries'
// tile, so that lanes next to each other store elements next to each other; no other warp looks at them.
template <int kD, typename Element>
__device__ void send(Element* o, std::int64_t stride, float* lse, int rows, float* tile,
                     const Sums<kD>& sums, const OnlineSoftmax& softmax) {
  const int lane = threadIdx.x % kWarpSize, row_lane = lane % kRowLanes;
  // TODO(3): roughly 15 lines; the sums of row_of(i) times its share, 1 / total or 0 where no key was seen, to the same row of `tile`, and its lse if
  // TODO(3): the row exists. Then the rows of `tile` that exist to o, `stride` elements apart. budget: one store of each element of o, by neighbours
}

template <int kD, typename Element>
__global__ void __launch_bounds__(Cut<kD>::kThreads)
    attend(const BasicAttentionArgs<Element> args) {
  using C = Cut<kD>;
  extern __shared__ float4 smem[];
  float* const q_smem = reinterpret_cast<float*>(smem);         // (kQueries, kStride)
  float* const kv_smem = q_smem + C::kQueries * C::kStride;     // (kKeys, kStride)
  float* const weights_smem = kv_smem + C::kKeys * C::kStride;  // (kQueries, kWeightStride)

  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * C::kQueries;
  if (first >= s.queries) return;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{C::kQueries}));
  const std::int64_t h = blockIdx.y, h_kv = h / (args.H_q / args.H_kv);
  const std::int64_t stride_q = args.H_q * kD, stride_k = args.H_kv * kD;
  const std::int64_t q_offset = (s.first_query + first) * stride_q + h * kD;
  const std::int64_t k_offset = s.first_key * stride_k + h_kv * kD;

  // The tiles of keys: first those that all queries see, then those that need the mask.
  const int keys = static_cast<int>(s.keys_seen(first + queries - 1));
  const int tiles = (keys + C::kKeys - 1) / C::kKeys;
  const int whole_tiles = static_cast<int>(s.keys_seen(first)) / C::kKeys;

  const auto fetch_k = [&](int tile) {
    fetch<kD, C::kKeys>(kv_smem, args.k + k_offset + tile * (C::kKeys * stride_k), stride_k,
                        keys - tile * C::kKeys);
  };
  const auto fetch_v = [&](int tile) {
    fetch<kD, C::kKeys>(kv_smem, args.v + k_offset + tile * (C::kKeys * stride_k), stride_k,
                        keys - tile * C::kKeys);
  };
  // TODO(1): roughly 1 line; the block's queries, if there is a key for them; budget: one read of each element

  // This warp's rows, and the lane's first key and columns.
  const int first_row = static_cast<int>(threadIdx.x) / kWarpSize * kWarpQueries;
  const int row_lane = static_cast<int>(threadIdx.x) % kRowLanes;
  const float* const q_rows = q_smem + first_row * C::kStride;
  float* const weight_rows = weights_smem + first_row * C::kWeightStride;

  OnlineSoftmax softmax(args.scale);
  Sums<kD> o = {};
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    // TODO(1): roughly 3 lines; the tile's keys are here, for all threads, and nobody still reads the values of the tile before;
    // TODO(1): budget: two block-wide barriers

    Scores<C::kKeys> scores = {};
    // TODO(4): roughly 17 lines; scores[i][n] = the product of the row row_of(i) of q_rows and of the key row_lane + n * kRowLanes of kv_smem;
    // TODO(4): budget: kVec floats are read at once, those of a key once for all kRows rows, those of a query once for all of the lane's keys
    __syncthreads();  // nobody reads the keys any more
    // TODO(1): roughly 1 line; the tile's values to the place of its keys; budget: one read of each element

    if (tile >= whole_tiles) {
      // TODO(2): roughly 8 lines; -INFINITY for each score whose key the row's query does not see: s.keys_seen(query) is how many it sees, and `first`
      // TODO(2): is the block's first query, first_row the warp's; budget: no access to memory
    }

    softmax.update(scores, o);
    // TODO(5): roughly 26 lines; the lane's weights to weight_rows, in rows of kWeightStride; all threads wait until weights and values are here.
    // TODO(5): Then o[i][n] += for each key the weight of row row_of(i) times the pair of columns (row_lane + n * kRowLanes) * kPair of the
    // TODO(5): values. budget: one barrier; kVec weights are read at once, and a pair of values once for all kRows rows
  }
  // TODO(3): roughly 3 lines; send(): where this warp's rows of o and of lse begin, how many of them exist, and its rows of q_smem for the way;
  // TODO(3): budget: no other access to memory
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  // TODO(3): roughly 5 lines; as much shared memory as is needed, and a block for each kQueries queries, each head of q, and each sequence;
  // TODO(3): blockIdx.y is the head. budget: one launch
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  ladder::validate(args);
  ladder::require_usual_D(args, "this kernel");
  require_grid(args);
  if (args.T_q == 0 || sequence_count(args) == 0) return;
  ladder::require_pointer("q", args.q, kVec * sizeof(Element));
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, kVec * sizeof(Element));
    ladder::require_pointer("v", args.v, kVec * sizeof(Element));
  }
  switch (args.D) {
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 96: return launch<96>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{
    {.name = "attention_scalar_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::Attention>(
         attention<float>, attention<ladder::bfloat16>, attention<ladder::float16>)}};

}  // namespace
}  // namespace flash_attention
