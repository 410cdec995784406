// 08 flash attention, the fastest forward kernel: wgmma, fed by TMA.
// Change: rewrite of 08.14, in which a block is persistent and its producer takes one tile of
//         queries after another. K and V have their own rings, the last keys come first, and all
//         options of attention are supported.
// Why:    a block of 08.14 issues no product while it begins and ends, and causal blocks end at
//         different times.
// Needs:  sm_90a, bf16 or fp16, D and D_v up to 256, multiples of 8, all options, any scale, window
//         and softcap. Arrays begin at 16-byte boundaries.
// Costs:  no other GPU runs it. A D in between costs as much as the next of 64, 128 and 256. See
//         README for what was measured.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/hopper_tiles.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "08_flash_attention/softcap.hpp"
#include "08_flash_attention/warpgroup_softmax.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

namespace hopper = ladder::cuda::hopper;
using hopper::Barrier;
using hopper::kPanel;
using hopper::kWarpgroup;
using hopper::Major;
using hopper::phase_of;
using hopper::stage_of;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using ladder::cuda::tiles::quad_sum;

constexpr int kWarpgroupQueries = 64;  // rows of a warpgroup's products
constexpr int kWarpgroupWarps = kWarpgroup / kWarpSize;

// ---- The sizes ----

// The work of a block, which is kConsumers warpgroups' queries, and tiles of kKeys keys and values.
// kD is the larger of D and D_v, rounded up to whole panels, and TMA fills the rest with zeros.
// kOptions means a window, a softcap, a scale of 0 or below, or a D_v unlike D. Without options
// their code is not compiled in.
template <int kD_, int kConsumers_, int kKeys_, bool kOptions_>
struct Cut {
  static constexpr int kD = kD_, kConsumers = kConsumers_, kKeys = kKeys_;
  static constexpr bool kOptions = kOptions_;
  static constexpr int kPanels = kD / kPanel;
  static constexpr int kQueries = kConsumers * kWarpgroupQueries;
  static constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
  // A consumer thread holds kKeys / 2 scores, kKeys / 4 registers of packed weights and kD / 2
  // outputs. The producer needs few. Counts are multiples of 8. One thread of each warpgroup has at
  // most 512 in all, because an SM has 65,536 and a warpgroup 128 threads.
  static constexpr int kProducerRegisters = kConsumers == 2 ? 24 : 32;
  static constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : 160;
  static_assert(kProducerRegisters + kConsumers * kConsumerRegisters <= 512);
};

constexpr int kStages = 2;  // of a ring of tiles (four were no faster)
constexpr int kWorks = 2;   // the next item's copies begin before the last one's outputs are stored

// One head of one tile of queries, which the producer passes to the consumers.
struct Work {
  Sequence sequence;
  std::int64_t l0;  // first query
  int h;
  int tiles;  // of keys, from the first key on, or negative if there is no more work
};

// The rings. X_full completes when the copy has. X_empty completes when all consumers have
// released it, and it may be overwritten.
template <typename C, typename Element>
struct Shared {
  template <int kRows>
  struct alignas(hopper::kTileAlign) Tile {
    static constexpr int kPanelBytes = kRows * kPanel * sizeof(Element);
    static constexpr int kBytes = C::kPanels * kPanelBytes;
    Element at[C::kPanels][kRows][kPanel];
  };
  Tile<C::kQueries> q;
  Tile<C::kKeys> k[kStages], v[kStages];
  Work work[kWorks];
  Barrier work_full[kWorks], work_empty[kWorks], q_full, q_empty;
  Barrier k_full[kStages], k_empty[kStages], v_full[kStages], v_empty[kStages];
};

// The host's division of the work. Items are numbered, the heaviest first if that matters.
struct Plan {
  int items = 0;
  int tiles = 0;  // of queries, per batch (if packed, of all sequences, of which some may be empty)
  int heads = 0;  // of all batches
  int together = 0;     // heads whose keys and values share the L2 cache
  int* next = nullptr;  // the next item not taken yet, less the number of blocks
};

// ---- The work of an item ----

// Writes item `item` to `work`, or returns false if it has no queries.
template <typename C, typename Element>
__device__ bool find_work(const BasicAttentionArgs<Element>& args, const Plan& plan, int item,
                          Work& work) {
  int n = 0, tile;
  if (args.cu_seqlens_q != nullptr) {
    work.h = item / plan.tiles;
    const int slot = item % plan.tiles;
    n = sequence_of_slot<C::kQueries, 1>(args.T_q, args.cu_seqlens_q,
                                         static_cast<int>(args.sequences), slot);
    tile = first_slot<C::kQueries>(args.T_q, args.cu_seqlens_q, n + 1) - 1 - slot;
  } else {
    const int first = item / (plan.together * plan.tiles) * plan.together;
    const int rest = item - first * plan.tiles;
    const int heads = min(plan.together, plan.heads - first), H_q = static_cast<int>(args.H_q);
    const int head = first + rest % heads;
    tile = plan.tiles - 1 - rest / heads;
    n = head / H_q;
    work.h = head % H_q;
  }
  work.sequence = sequence_of(args, n);
  work.l0 = tile * C::kQueries;
  // If this is negative, cu_seqlens decreases, and this tile belongs to no sequence.
  if (work.l0 < 0 || work.l0 >= work.sequence.queries) return false;
  const std::int64_t last = min(work.l0 + C::kQueries, work.sequence.queries) - 1;
  work.tiles = static_cast<int>(work.sequence.keys_seen(last) + C::kKeys - 1) / C::kKeys;
  return true;
}

// The number of keys in a query's window.
template <typename Element>
__device__ int window_of(const FullAttentionArgs<Element>& args) {
  return args.window > 0 && args.window < kMostRows ? static_cast<int>(args.window) : kMostRows;
}

// The number of keys before a query's window.
template <typename C, typename Args>
__device__ int hidden_from(const Args& args, const Sequence& sequence, std::int64_t query) {
  if constexpr (C::kOptions)
    return max(static_cast<int>(sequence.keys_seen(query)) - window_of(args), 0);
  else
    return 0;
}

// ---- The producer ----

template <typename C, typename Element, int kRows>
__device__ void copy_tile(typename Shared<C, Element>::template Tile<kRows>& tile,
                          const CUtensorMap* map, Barrier* full, int head, int row) {
  hopper::arrive_expect_tx(full, tile.kBytes);
  copy_panels(tile.at, map, full, 0, head, row);
}

// One thread keeps the rings full.
template <typename C, typename Args, typename Element>
__device__ void produce(const Args& args, const Plan& plan, const CUtensorMap* q_map,
                        const CUtensorMap* k_map, const CUtensorMap* v_map,
                        Shared<C, Element>& smem) {
  unsigned works = 0, keys = 0, values = 0;  // copied so far
  int item = blockIdx.x, next = 0;
  for (;; item = next) {
    const int place = stage_of<kWorks>(works);
    hopper::wait(&smem.work_empty[place], phase_of<kWorks>(works) ^ 1);
    Work& work = smem.work[place];
    if (item >= plan.items) {
      work.tiles = -1;
      hopper::arrive(&smem.work_full[place]);
      return;
    }
    next = gridDim.x + atomicAdd(plan.next, 1);  // requested early, because the atomic takes long
    if (!find_work<C>(args, plan, item, work)) continue;
    hopper::arrive(&smem.work_full[place]);

    // Without options first_tile is a literal 0, because a 0 that the compiler finds only later
    // gives another loop below.
    const int tiles = work.tiles;
    const int first_tile =
        C::kOptions ? hidden_from<C>(args, work.sequence, work.l0) / C::kKeys : 0;
    const int first_key = static_cast<int>(work.sequence.first_key);
    const int h_kv = work.h / static_cast<int>(args.H_q / args.H_kv);
    hopper::wait(&smem.q_empty, phase_of<1>(works) ^ 1);
    copy_tile<C, Element, C::kQueries>(smem.q, q_map, &smem.q_full, work.h,
                                       static_cast<int>(work.sequence.first_query + work.l0));
    ++works;
    const auto copy_k = [&](int tile) {
      const int stage = stage_of<kStages>(keys);
      hopper::wait(&smem.k_empty[stage], phase_of<kStages>(keys++) ^ 1);
      copy_tile<C, Element, C::kKeys>(smem.k[stage], k_map, &smem.k_full[stage], h_kv,
                                      first_key + tile * C::kKeys);
    };
    const auto copy_v = [&](int tile) {
      const int stage = stage_of<kStages>(values);
      hopper::wait(&smem.v_empty[stage], phase_of<kStages>(values++) ^ 1);
      copy_tile<C, Element, C::kKeys>(smem.v[stage], v_map, &smem.v_full[stage], h_kv,
                                      first_key + tile * C::kKeys);
    };
    if (tiles == 0) continue;
    copy_k(tiles - 1);
#pragma unroll 1
    for (int tile = tiles - 2; tile >= first_tile; --tile) {
      copy_k(tile);
      copy_v(tile + 1);
    }
    copy_v(first_tile);
  }
}

// ---- The consumers ----

// Transposes 4 x 4 words in a quad of lanes. Lane t holds word t of each of four blocks, and
// receives the four words of block t.
__device__ void transpose_in_quad(std::uint32_t (&w)[4], unsigned t) {
  const bool high = t & 2, odd = t & 1;
  const std::uint32_t a = __shfl_xor_sync(kAllLanes, high ? w[0] : w[2], 2);
  const std::uint32_t b = __shfl_xor_sync(kAllLanes, high ? w[1] : w[3], 2);
  (high ? w[0] : w[2]) = a;
  (high ? w[1] : w[3]) = b;
  const std::uint32_t c = __shfl_xor_sync(kAllLanes, odd ? w[0] : w[1], 1);
  const std::uint32_t d = __shfl_xor_sync(kAllLanes, odd ? w[2] : w[3], 1);
  (odd ? w[0] : w[1]) = c;
  (odd ? w[2] : w[3]) = d;
}

// mask() for two rows that see only the last `window` of their `seen` keys.
template <int kCount>
__device__ void mask_both_ends(float (&s)[kCount], const int (&seen)[2], int window,
                               int first_key) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int key = first_key + i / 4 * 8 + lane_column() + i % 2;
    // Index in the window. Before the window it wraps to a large number.
    const unsigned place = static_cast<unsigned>(key) - seen[i % 4 / 2] + window;
    if (place >= static_cast<unsigned>(window)) s[i] = -INFINITY;
  }
}

// One warpgroup computes products and softmax.
template <typename C, typename Args, typename Element>
__device__ void consume(const Args& args, Shared<C, Element>& smem) {
  constexpr int kD = C::kD, kKeys = C::kKeys;
  // From lane 0, so that the compiler sees a warp-uniform value.
  const int warpgroup = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup - 1, 0);
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const unsigned lane = threadIdx.x % kWarpSize, t = lane % 4;
  const int first_row = warpgroup * kWarpgroupQueries + thread / kWarpSize * 16 + lane / 4;
  // With a softcap, or a scale of 0 or below (the largest product would be the smallest score), the
  // scores are transformed before the mask, and the softmax scales by 1.
  bool bends = false;
  Softcap softcap(0.0f);
  if constexpr (C::kOptions) {
    bends = args.softcap > 0.0f || !(args.scale > 0.0f);
    softcap = Softcap(args.softcap);
  }
  const float scale = bends ? 1.0f : args.scale;
  const float factor = scale * ladder::cuda::kLog2e;
  const auto arrive = [&](Barrier* barrier) {  // called by all four warps
    if (lane == 0) hopper::arrive(barrier);
  };
  // Names of barriers, for the warpgroups' turns at the tensor cores and for all warpgroups
  // together.
  constexpr int kTurns = 1, kTogether = 1 + C::kConsumers;
  const auto take_turn = [&] { hopper::named_barrier_sync(kTurns + warpgroup, 2 * kWarpgroup); };
  const auto pass_turn = [&] {
    hopper::named_barrier_arrive(kTurns + (warpgroup + 1) % C::kConsumers, 2 * kWarpgroup);
  };
  if (warpgroup == C::kConsumers - 1) pass_turn();  // consumer 0 gets the first turn

  unsigned count = 0;  // tiles of keys multiplied so far, one more than tiles of values
  const auto k_stage = [&] { return stage_of<kStages>(count); };
  const auto v_stage = [&] { return stage_of<kStages>(count - 1); };
  const auto wait_for_k = [&] { hopper::wait(&smem.k_full[k_stage()], phase_of<kStages>(count)); };
  const auto wait_for_v = [&] {
    hopper::wait(&smem.v_full[v_stage()], phase_of<kStages>(count - 1));
  };
  for (unsigned works = 0;; ++works) {
    hopper::wait(&smem.work_full[stage_of<kWorks>(works)], phase_of<kWorks>(works));
    const Work& work = smem.work[stage_of<kWorks>(works)];
    if (work.tiles < 0) break;

    float s[kKeys / 2], o[kD / 2] = {}, keep[2];
    std::uint32_t p[kKeys / 16][4];  // the scores' weights, packed
    Softmax softmax;

    // Keys that this thread's two rows see, and tiles of keys that all rows of the warpgroup see.
    const int seen[2] = {static_cast<int>(work.sequence.keys_seen(work.l0 + first_row)),
                         static_cast<int>(work.sequence.keys_seen(work.l0 + first_row + 8))};
    const int whole_tiles =
        static_cast<int>(work.sequence.keys_seen(work.l0 + warpgroup * kWarpgroupQueries)) / kKeys;
    // Tiles before the window of the block's first query, and of the warpgroup's last one.
    const std::int64_t last = work.l0 + (warpgroup + 1) * kWarpgroupQueries - 1;
    const int first_tile = hidden_from<C>(args, work.sequence, work.l0) / kKeys;
    const int first_whole = (hidden_from<C>(args, work.sequence, last) + kKeys - 1) / kKeys;

    const auto bend = [&] {
      if constexpr (C::kOptions) {
        if (!bends) return;
#pragma unroll
        for (float& score : s)
          score = softcap.bent(score * args.scale);
      }
    };
    const auto hide = [&](int tile) {
      if constexpr (C::kOptions)
        mask_both_ends(s, seen, window_of(args), tile * kKeys);
      else
        mask(s, seen, tile * kKeys);
    };
    const auto multiply_q_k = [&] {
      const auto& k = smem.k[k_stage()];
#pragma unroll
      for (int i = 0; i < kD / 16; ++i) {
        const int panel = i / (kPanel / 16), within = i % (kPanel / 16) * hopper::kNextK;
        const auto a = hopper::matrix_descriptor(smem.q.at[panel][warpgroup * kWarpgroupQueries]);
        const auto b = hopper::matrix_descriptor(k.at[panel]);
        hopper::wgmma<Element, kKeys, Major::kK, Major::kK>(s, hopper::advance(a, within),
                                                            hopper::advance(b, within), i > 0);
      }
      hopper::wgmma_commit_group();
    };
    const auto multiply_p_v = [&] {
      const auto& v = smem.v[v_stage()];
      const auto b = hopper::matrix_descriptor(v.at, v.kPanelBytes);
#pragma unroll
      for (int i = 0; i < kKeys / 16; ++i)
        hopper::wgmma<Element, kD, Major::kMN>(o, p[i], hopper::advance(b, i * hopper::kNextMN));
      hopper::wgmma_commit_group();
    };

    hopper::wait(&smem.q_full, phase_of<1>(works));
    if (work.tiles == 0) {
      __syncwarp();  // without a product the lanes may diverge, and one could miss the next phase
      arrive(&smem.q_empty);
    } else {
      wait_for_k();
      take_turn();
      hopper::wgmma_fence();
      multiply_q_k();
      pass_turn();
      hopper::wgmma_wait_group<0>();
      hopper::pin(s);
      arrive(&smem.k_empty[k_stage()]);
      if (work.tiles - 1 == first_tile) arrive(&smem.q_empty);
      ++count;
      bend();
      hide(work.tiles - 1);
      softmax.step(s, keep, factor);
      pack_sums<Element>(p, s);

      // Values past the last key get weight 0, but 0 times a NaN is NaN, so they are set to 0. The
      // warpgroups share the rows.
      const int rows = static_cast<int>(work.sequence.keys) - (work.tiles - 1) * kKeys;
      if (rows < kKeys) {
        wait_for_v();
        auto& v = smem.v[v_stage()];
#pragma unroll 1
        for (int i = warpgroup * kWarpgroup + thread; i < C::kPanels * (kKeys - rows) * 8;
             i += C::kConsumers * kWarpgroup) {
          const int unit = i % 8, row = rows + i / 8 % (kKeys - rows),
                    panel = i / 8 / (kKeys - rows);
          *reinterpret_cast<uint4*>(&v.at[panel][row][unit * 8]) = make_uint4(0, 0, 0, 0);
        }
        hopper::fence_proxy_async();
        hopper::named_barrier_sync(kTogether, C::kConsumers * kWarpgroup);
      }

      // Two groups of products are issued at once, this tile's scores and the outputs of the
      // previous tile. While the tensor cores execute the latter (and the other warpgroups'
      // products), the scores become weights.
      const auto step = [&](int tile, auto masked) {
        wait_for_k();
        take_turn();
        hopper::wgmma_fence();
        multiply_q_k();
        wait_for_v();
        hopper::wgmma_fence();  // without it the compiler adds one that serializes all the products
        multiply_p_v();
        pass_turn();
        hopper::wgmma_wait_group<1>();  // the scores are complete
        hopper::pin(s);
        arrive(&smem.k_empty[k_stage()]);
        if (tile == first_tile) arrive(&smem.q_empty);
        bend();
        if constexpr (masked.value) hide(tile);
        softmax.step(s, keep, factor);
        hopper::wgmma_wait_group<0>();
        hopper::pin(o);
        hopper::pin(s);  // keeps pack_sums, which overwrites the product's A, after the wait
        arrive(&smem.v_empty[v_stage()]);
        ++count;
        pack_sums<Element>(p, s);
        rescale(o, keep);
      };
      int tile = work.tiles - 2;  // the last keys first, because they need the mask
      for (; tile >= whole_tiles; --tile)
        step(tile, std::true_type{});
      for (; tile >= first_whole; --tile)
        step(tile, std::false_type{});
      if constexpr (C::kOptions) {
        for (; tile >= first_tile; --tile)
          step(tile, std::true_type{});
      }

      wait_for_v();
      hopper::wgmma_fence();
      multiply_p_v();
      hopper::wgmma_wait_group<0>();
      hopper::pin(o);
      arrive(&smem.v_empty[v_stage()]);
    }

    // Four lanes hold a row and swap words until each has 16 contiguous bytes of it.
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float sum = quad_sum(softmax.l[r]);
      const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
      const std::int64_t l = work.l0 + first_row + 8 * r;
      const bool inside = l < work.sequence.queries;
      const std::int64_t D_v = value_channels(args);
      Element* const row = args.o + ((work.sequence.first_query + l) * args.H_q + work.h) * D_v;
#pragma unroll
      for (int i = 0; i < kD / 2; i += 16) {
        std::uint32_t words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float* const x = o + i + 4 * j + 2 * r;
          words[j] = ladder::cuda::pack<Element>(x[0] * inverse, x[1] * inverse);
        }
        transpose_in_quad(words, t);
        const int column = 2 * i + static_cast<int>(t) * 8;
        if (inside && column < D_v)
          *reinterpret_cast<uint4*>(row + column) =
              make_uint4(words[0], words[1], words[2], words[3]);
      }
      if (inside && t == 0)
        args.lse[work.sequence.first_lse + work.h * args.T_q + l] =
            sum == 0.0f ? -INFINITY : softmax.m[r] * scale + logf(sum);
    }
    hopper::arrive(&smem.work_empty[stage_of<kWorks>(works)]);  // every lane has read `work`
  }
  if (warpgroup == 0) take_turn();  // receives the last turn, so that no barrier stays half full
}

template <typename C, typename Element, typename Args>
__global__ void __launch_bounds__(C::kThreads, 1)
    attend(const Args args, const Plan plan, const __grid_constant__ CUtensorMap q_map,
           const __grid_constant__ CUtensorMap k_map, const __grid_constant__ CUtensorMap v_map) {
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Shared<C, Element>*>(bytes_smem);
  if (threadIdx.x == 0) {
    constexpr int kAll = C::kConsumers * kWarpgroupWarps;
    for (int work = 0; work < kWorks; ++work) {
      hopper::init(&smem.work_full[work], 1);
      hopper::init(&smem.work_empty[work], kAll * kWarpSize);
    }
    hopper::init(&smem.q_full, 1);
    hopper::init(&smem.q_empty, kAll);
    for (int stage = 0; stage < kStages; ++stage) {
      hopper::init(&smem.k_full[stage], 1);
      hopper::init(&smem.k_empty[stage], kAll);
      hopper::init(&smem.v_full[stage], 1);
      hopper::init(&smem.v_empty[stage], kAll);
    }
    hopper::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x < kWarpgroup) {
    hopper::setmaxnreg_dec<C::kProducerRegisters>();
    if (threadIdx.x == 0) produce<C>(args, plan, &q_map, &k_map, &v_map, smem);
  } else {
    hopper::setmaxnreg_inc<C::kConsumerRegisters>();
    consume<C>(args, smem);
  }
}

// ---- The launcher ----

// Limit for the keys and values of heads that run together: 32 of the 60 MiB of an H200's L2 cache,
// and the same share of another's.
std::int64_t shared_bytes() {
  int device = 0, cache_bytes = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device));
  return std::int64_t{cache_bytes} * 8 / 15;
}

template <typename C, typename Element>
Plan plan_for(const BasicAttentionArgs<Element>& args, std::int64_t D_v) {
  constexpr std::int64_t kMost =
      INT32_MAX - 4096;  // rows and items are ints, and counted a little past the last one

  const bool packed = args.cu_seqlens_q != nullptr;
  const std::int64_t sequences = sequence_count(args), heads = sequences * args.H_q;
  // A packed sequence may begin within a tile, so it needs one more.
  const std::int64_t tiles =
      count_slots<C::kQueries>(args.T_q, args.cu_seqlens_q, packed ? sequences : 1);
  const std::int64_t items = tiles * (packed ? args.H_q : heads);
  ladder::require(std::max({items, heads, args.B * args.T_q, args.B * args.T_k}) <= kMost,
                  "B * T_q, B * T_k or B * H_q * T_q / " + std::to_string(C::kQueries) +
                      " is too large; attention_sm90 allows up to " + std::to_string(kMost));

  const std::int64_t group = args.H_q / args.H_kv;
  const std::int64_t head_bytes =
      std::max(args.T_k, std::int64_t{1}) * (args.D + D_v) * sizeof(Element);
  // If causal, the heaviest tiles of many heads come first, so that the last ones are light.
  // Otherwise all tiles are equal, and going head by head keeps less in the cache.
  const std::int64_t together =
      args.causal ? std::max(std::int64_t{1}, shared_bytes() / head_bytes) * group : group;
  Plan plan;
  plan.items = static_cast<int>(items);
  plan.tiles = static_cast<int>(tiles);
  plan.heads = static_cast<int>(heads);
  plan.together = static_cast<int>(std::min(heads, together));
  return plan;
}

template <typename C, typename Element, typename Args>
void launch(const Args& args, std::int64_t D_v) {
  Plan plan = plan_for<C>(args, D_v);
  constexpr int kBytes = sizeof(Shared<C, Element>);
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = attend<C, Element, Args>;
  ladder::cuda::allow_shared_memory("attention_sm90", kernel, kBytes);
  const std::int64_t rows_q = args.B * args.T_q, rows_k = args.B * args.T_k;
  const auto q_map = hopper::make_tensor_map(args.q, rows_q, args.H_q, args.D, C::kQueries);
  // Without keys these two are never read, but a tensor has at least one row.
  auto k_map = q_map, v_map = q_map;
  if (rows_k > 0) {
    k_map = hopper::make_tensor_map(args.k, rows_k, args.H_kv, args.D, C::kKeys);
    v_map = hopper::make_tensor_map(args.v, rows_k, args.H_kv, D_v, C::kKeys);
  }
  const ladder::cuda::Scratch<int> next(1);
  plan.next = next.pointer();
  CUDA_CHECK(cudaMemsetAsync(plan.next, 0, sizeof(int), ladder::cuda::stream()));
  const int blocks = std::min(plan.items, ladder::cuda::multiprocessor_count());
  kernel<<<static_cast<unsigned>(blocks), C::kThreads, kBytes, ladder::cuda::stream()>>>(
      args, plan, q_map, k_map, v_map);
  CUDA_CHECK(cudaGetLastError());
}

template <bool kOptions, typename Element, typename Args>
void launch(const Args& args, std::int64_t D_v) {
  const std::int64_t columns = std::max(args.D, D_v);
  if (columns <= 64) return launch<Cut<64, 3, 128, kOptions>, Element>(args, D_v);
  if (columns <= 128) return launch<Cut<128, 2, 128, kOptions>, Element>(args, D_v);
  launch<Cut<256, 2, 64, kOptions>, Element>(args, D_v);
}

template <typename Element>
void attention(const FullAttentionArgs<Element>& args) {
  constexpr std::uintptr_t kUnit = 16;  // bytes, the alignment of copies and stores
  validate(args, ladder::ChannelsOfV::kAny);
  require_units_of_all_channels(args);
  if (args.B == 0 || args.T_q == 0 || sequence_count(args) == 0) return;
  ladder::require_pointer("q", args.q, kUnit);
  ladder::require_pointer("o", args.o, kUnit);
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, kUnit);
    ladder::require_pointer("v", args.v, kUnit);
  }
  hopper::require_hopper("attention_sm90");
  const BasicAttentionArgs<Element>& part = args;
  const bool hides = args.window > 0 && args.window < args.T_k;
  const std::int64_t D_v = args.channels_of_v();
  if (!hides && args.softcap == 0.0f && args.scale > 0.0f && D_v == args.D)
    return launch<false, Element>(part, D_v);
  launch<true, Element>(with_value_channels(args), D_v);
}

const ladder::Registration registration{
    {.name = "attention_sm90",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::Attention>(attention<ladder::bfloat16>,
                                                       attention<ladder::float16>)}};

}  // namespace
}  // namespace flash_attention
