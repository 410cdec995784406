// 08 flash attention, step 1: attention without a matrix of scores in memory, in plain arithmetic.
// Change: a block has a tile of queries; keys and values come past in tiles; m, l and o of each query are brought up to date.
// Why:    the three kernels write T_q x T_k scores twice and read them again and again; here a score lives in a register.
// Needs:  D in {32, 64, 96, 128, 256}; fp32, bf16 or fp16; all options of attention; 86 KB of shared memory a block, D = 256 111;
//         q, k and v aligned to four elements.
// Costs:  every tile of queries reads all its keys and values anew; no tensor cores.
//         See README for what was measured.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "08_flash_attention/sequence.hpp"
#include "common/core/attention.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"

namespace chapter08::scalar_tiles {

using ladder::cuda::load;
using ladder::cuda::store;

constexpr int kWarpSize = 32;
constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpSize;

// A warp has 16 queries. Half of its lanes share one of two neighbouring rows, and a lane has every second row.
constexpr int kWarpQueries = 16;
constexpr int kQueries = kWarps * kWarpQueries;
constexpr int kRowLanes = 16;
constexpr int kRows = kWarpQueries / 2;

// Elements per access to shared memory: 16 bytes of q, k and p, 8 bytes of v.
constexpr int kVec = 4;
constexpr int kPair = 2;

constexpr float kLog2E = 1.4426950408889634f;
constexpr std::int64_t kMostGridRows = 65535;

// What a block holds in shared memory, in floats: its queries, a tile of keys and then, in the same place, their values, and the
// weights. Rows are kVec longer than they need be, so that 8 lanes that read 8 rows meet all 32 banks; two rows of weights, which
// are written side by side, are half of the banks apart.
template <int D>
struct Tiles {
  static constexpr int kKeys = D <= 128 ? 64 : 32;
  static constexpr int kStride = D + kVec;
  static constexpr int kStrideP = kKeys + kRowLanes;
  static constexpr int kBytes =
      (kQueries * kStride + kKeys * kStride + kQueries * kStrideP) * sizeof(float);
};

namespace {

__device__ void read(float (&to)[kVec], const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}
__device__ void read(float (&to)[kPair], const float* from_smem) {
  *reinterpret_cast<float2*>(to) = *reinterpret_cast<const float2*>(from_smem);
}

__device__ void write(float* to_smem, const float (&from)[kPair]) {
  *reinterpret_cast<float2*>(to_smem) = make_float2(from[0], from[1]);
}

// `rows` rows of x, and zeros in the rest of the tile: a weight of 0 times what happens to lie there might be no number.
template <int D, int kTileRows, typename Element>
__device__ void stage(float* tile_smem, const Element* x, std::int64_t stride, std::int64_t rows) {
  using Raw = std::conditional_t<sizeof(Element) == sizeof(float), float4, uint2>;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) * kVec; i < kTileRows * D; i += kThreads * kVec) {
    const int row = i / D, column = i % D;
    alignas(Raw) Element raw[kVec] = {};
    if (row < rows)
      *reinterpret_cast<Raw*>(raw) = *reinterpret_cast<const Raw*>(x + row * stride + column);
    float4 values;
    values.x = load(raw), values.y = load(raw + 1);
    values.z = load(raw + 2), values.w = load(raw + 3);
    *reinterpret_cast<float4*>(tile_smem + row * Tiles<D>::kStride + column) = values;
  }
}

__device__ float max_over_row(float x) {
  for (int distance = kRowLanes / 2; distance > 0; distance /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

__device__ float sum_over_row(float x) {
  for (int distance = kRowLanes / 2; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

}  // namespace

template <int D, typename Element>
__global__ void __launch_bounds__(kThreads)
    attention_scalar_tiles(const BasicAttentionArgs<Element> args) {
  constexpr int kKeys = Tiles<D>::kKeys, kStride = Tiles<D>::kStride;
  constexpr int kStrideP = Tiles<D>::kStrideP;
  constexpr int kRowKeys = kKeys / kRowLanes, kRowPairs = D / kRowLanes / kPair;
  extern __shared__ float4 smem[];
  float* const q_smem = reinterpret_cast<float*>(smem);  // (kQueries, kStride)
  float* const kv_smem = q_smem + kQueries * kStride;    // (kKeys, kStride)
  float* const p_smem = kv_smem + kKeys * kStride;       // (kQueries, kStrideP)

  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int row_lane = lane % kRowLanes;
  const auto row = [&](int i) { return warp * kWarpQueries + 2 * i + lane / kRowLanes; };
  const Sequence sequence = sequence_of(args, blockIdx.z);
  const std::int64_t first_query = static_cast<std::int64_t>(blockIdx.x) * kQueries;
  if (first_query >= sequence.queries) return;
  const std::int64_t h = blockIdx.y, h_kv = h / (args.H_q / args.H_kv);
  const std::int64_t stride_q = args.H_q * D, stride_kv = args.H_kv * D;
  const Element* const q = args.q + (sequence.first_query + first_query) * stride_q + h * D;
  const Element* const k = args.k + sequence.first_key * stride_kv + h_kv * D;
  const Element* const v = args.v + sequence.first_key * stride_kv + h_kv * D;
  const float scale_log2 = args.scale * kLog2E;  // exp2 is what the hardware has

  stage<D, kQueries>(q_smem, q, stride_q, sequence.queries - first_query);
  __syncthreads();  // also where there are no keys: the rows are written again at the end

  float m_reg[kRows], l_reg[kRows] = {}, o_reg[kRows][kRowPairs][kPair] = {};
  for (float& m : m_reg)
    m = -INFINITY;

  // Two phases: what the tile's first query sees, all of them see; from there to what its last one sees there is a mask.
  std::int64_t seen_by_all = sequence.keys, seen_by_any = sequence.keys;
  if (sequence.causal) {
    // TODO(08.2): roughly 2 lines; how many keys every query of this tile sees, and how many any of them does; budget: no tile of
    // TODO(08.2): keys behind the last one that is seen is fetched.
  }
  for (std::int64_t first_key = 0; first_key < seen_by_any; first_key += kKeys) {
    __syncthreads();  // nobody still reads the values before
    stage<D, kKeys>(kv_smem, k + first_key * stride_kv, stride_kv, sequence.keys - first_key);
    __syncthreads();  // the keys are here

    float s_reg[kRows][kRowKeys] = {};
#pragma unroll 2
    for (int d = 0; d < D; d += kVec) {
      alignas(sizeof(float4)) float q4[kVec], k4[kRowKeys][kVec];
#pragma unroll
      for (int j = 0; j < kRowKeys; ++j)
        read(k4[j], kv_smem + (row_lane + j * kRowLanes) * kStride + d);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        read(q4, q_smem + row(i) * kStride + d);
#pragma unroll
        for (int j = 0; j < kRowKeys; ++j) {
#pragma unroll
          for (int e = 0; e < kVec; ++e)
            s_reg[i][j] += q4[e] * k4[j][e];
        }
      }
    }

    __syncthreads();  // nobody still reads the keys
    stage<D, kKeys>(kv_smem, v + first_key * stride_kv, stride_kv, sequence.keys - first_key);

    // TODO(08.3): roughly 9 lines; in tiles of the second phase only: the scores of keys that a query does not see; budget: no access
    // TODO(08.3): to memory.
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float m = m_reg[i];
#pragma unroll
      for (int j = 0; j < kRowKeys; ++j)
        m = fmaxf(m, s_reg[i][j]);
      m = max_over_row(m);
      // Where no key has been seen yet: -inf - -inf is no number, -inf - 0 is a weight of 0.
      const float base = m == -INFINITY ? 0.0f : m;
      const float rescale = exp2f((m_reg[i] - base) * scale_log2);
      m_reg[i] = m;
      l_reg[i] *= rescale;
#pragma unroll
      for (int j = 0; j < kRowKeys; ++j) {
        const float p = exp2f((s_reg[i][j] - base) * scale_log2);
        l_reg[i] += p;  // of this lane's keys; the lanes' sums are added up at the end
        p_smem[row(i) * kStrideP + row_lane + j * kRowLanes] = p;
      }
#pragma unroll
      for (int j = 0; j < kRowPairs; ++j) {
        o_reg[i][j][0] *= rescale;
        o_reg[i][j][1] *= rescale;
      }
    }
    __syncthreads();  // the values are here, and the weights

#pragma unroll 1
    for (int key = 0; key < kKeys; key += kVec) {
      alignas(sizeof(float4)) float p4[kRows][kVec], v2[kPair];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        read(p4[i], p_smem + row(i) * kStrideP + key);
#pragma unroll
      for (int e = 0; e < kVec; ++e) {
#pragma unroll
        for (int j = 0; j < kRowPairs; ++j) {
          read(v2, kv_smem + (key + e) * kStride + (row_lane + j * kRowLanes) * kPair);
#pragma unroll
          for (int i = 0; i < kRows; ++i) {
            o_reg[i][j][0] += p4[i][e] * v2[0];
            o_reg[i][j][1] += p4[i][e] * v2[1];
          }
        }
      }
    }
  }

  // Outputs leave by whole rows, through this warp's rows of q: nobody else reads those.
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const float l = sum_over_row(l_reg[i]), weight = l == 0.0f ? 0.0f : 1.0f / l;
#pragma unroll
    for (int j = 0; j < kRowPairs; ++j) {
      const float o2[kPair] = {weight * o_reg[i][j][0], weight * o_reg[i][j][1]};
      write(q_smem + row(i) * kStride + (row_lane + j * kRowLanes) * kPair, o2);
    }
    const std::int64_t query = first_query + row(i);
    if (row_lane == 0 && query < sequence.queries)
      args.lse[sequence.first_lse + h * args.T_q + query] = m_reg[i] * args.scale + logf(l);
  }
  __syncwarp();
  Element* const o = args.o + (sequence.first_query + first_query) * stride_q + h * D;
  for (int i = 0; i < kWarpQueries; ++i) {
    const int query = warp * kWarpQueries + i;
    if (first_query + query >= sequence.queries) break;
    for (int column = lane; column < D; column += kWarpSize)
      store(o + query * stride_q + column, q_smem[query * kStride + column]);
  }
}

template <int D, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  const auto kernel = attention_scalar_tiles<D, Element>;
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tiles<D>::kBytes));
  const dim3 grid(static_cast<unsigned>((args.T_q + kQueries - 1) / kQueries),
                  static_cast<unsigned>(args.H_q), static_cast<unsigned>(sequence_count(args)));
  kernel<<<grid, kThreads, Tiles<D>::kBytes>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  ladder::validate(args);
  ladder::require_usual_D(args, "chapter 08");
  ladder::require(args.H_q <= kMostGridRows && sequence_count(args) <= kMostGridRows,
                  "H_q and the number of sequences: chapter 08 allows 0 to 65535");
  if (args.T_q == 0 || sequence_count(args) == 0) return;
  ladder::require_pointer("q", args.q, kVec * sizeof(Element));
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, kVec * sizeof(Element));
    ladder::require_pointer("v", args.v, kVec * sizeof(Element));
  }
  if (args.D == 32) return launch<32>(args);
  if (args.D == 64) return launch<64>(args);
  if (args.D == 96) return launch<96>(args);
  if (args.D == 128) return launch<128>(args);
  return launch<256>(args);
}

const ladder::Registration registration{{.name = "attention_scalar_tiles",
                                         .chapter = "08_flash_attention",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .attention = attention<float>,
                                         .attention_bf16 = attention<ladder::bfloat16>,
                                         .attention_fp16 = attention<ladder::float16>}};

}  // namespace chapter08::scalar_tiles
