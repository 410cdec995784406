// Correct variants of a kernel like lesson 08.15's: the same rings, ping-pong and waits, one panel
// per tile, and scores used as weights. Each uses another freedom that the rules allow. Results
// must be equal bit for bit under every timing, without findings by emulator or X-ray.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/emulator/test/device_vector.hpp"
#include "common/xray/report.hpp"
#include "common/xray/xray.hpp"
#include "emulator/emulator.hpp"

namespace {

namespace hopper = ladder::cuda::hopper;
using emulator::Schedule;
using hopper::Barrier;
using hopper::kPanel;
using hopper::kWarpgroup;
using hopper::Major;
using hopper::phase_of;
using hopper::stage_of;
using ladder::bfloat16;

enum class Variant {
  kPlain,
  kCopyBeforeItIsToldOf,
  kTwoTellOfOnePhase,
  kOneBarrierForKeysAndValues,
  kEveryLaneGivesBack,
  kOneThreadGivesBack,
  kOneLaneOfAWarpWaits,
  kNoTurns,
  kOneGroupOfProducts,
  kKeysByAsyncCopies,
  kProducerBlanksRows,
  kOutputsByBulkStores,
  kQueriesInRegisters,
};
constexpr const char* kNames[] = {
    "Plain",
    "CopyBeforeItIsToldOf",
    "TwoTellOfOnePhase",
    "OneBarrierForKeysAndValues",
    "EveryLaneGivesBack",
    "OneThreadGivesBack",
    "OneLaneOfAWarpWaits",
    "NoTurns",
    "OneGroupOfProducts",
    "KeysByAsyncCopies",
    "ProducerBlanksRows",
    "OutputsByBulkStores",
    "QueriesInRegisters",
};

constexpr int kConsumers = 2, kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kRows = 64, kElements = kRows * kPanel;  // per tile
constexpr int kItems = 2, kStages = 2;
constexpr int kTiles = 3, kKeys = 150;  // the last tile has 22 of them, and NaN after them
constexpr int kLastRows = kKeys - (kTiles - 1) * kRows;
constexpr int kQueries = kItems * kConsumers * kRows;

using Tile = bfloat16[kElements];
struct Shared {
  alignas(hopper::kTileAlign) Tile q[kConsumers], k[kStages], v[kStages];
  Barrier q_here, q_read, k_here[kStages], k_read[kStages], v_here[kStages], v_read[kStages];
  Barrier ragged_here;
};

// A 16-byte vector of a row in a tile.
__device__ uint4* unit_of(Tile& tile_smem, int row, int unit) {
  return reinterpret_cast<uint4*>(&tile_smem[row * kPanel + (unit ^ row % 8) * 8]);
}

__device__ void blank_rows(Tile& tile_smem, int thread, int threads) {
  for (int i = kLastRows * 8 + thread; i < kRows * 8; i += threads)
    *unit_of(tile_smem, i / 8, i % 8) = make_uint4(0, 0, 0, 0);
  hopper::fence_proxy_async();
}

__device__ void copy(Variant variant, Tile& tile_smem, const CUtensorMap& map, Barrier* here,
                     int bytes, int row) {
  const bool before = variant == Variant::kCopyBeforeItIsToldOf;
  if (bytes > 0 && !before) hopper::arrive_expect_tx(here, bytes);
  hopper::tma_load(tile_smem, &map, here, 0, 0, row);
  if (bytes > 0 && before) hopper::arrive_expect_tx(here, bytes);
}

__device__ void copy_keys_asynchronously(Tile& tile_smem, const bfloat16* k, int row, int lane) {
  for (int i = lane; i < kRows * 8; i += 32)
    __pipeline_memcpy_async(unit_of(tile_smem, i / 8, i % 8),
                            k + (row + i / 8) * kPanel + i % 8 * 8, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  hopper::fence_proxy_async();
}

// Run by one warp.
__device__ void produce(Variant variant, Shared& smem, const CUtensorMap& q_map,
                        const CUtensorMap& k_map, const CUtensorMap& v_map, const bfloat16* k) {
  constexpr int kBytes = sizeof(Tile);
  const int lane = static_cast<int>(threadIdx.x);
  const bool one_barrier = variant == Variant::kOneBarrierForKeysAndValues;
  for (int item = 0; item < kItems; ++item) {
    hopper::wait(&smem.q_read, phase_of<1>(item) ^ 1);
    const int row = item * kConsumers * kRows;
    if (variant == Variant::kTwoTellOfOnePhase) {
      if (lane < 2) copy(variant, smem.q[lane], q_map, &smem.q_here, kBytes, row + lane * kRows);
    } else if (lane == 0) {
      copy(variant, smem.q[0], q_map, &smem.q_here, 2 * kBytes, row);
      copy(variant, smem.q[1], q_map, &smem.q_here, 0, row + kRows);
    }
    for (int tile = 0; tile < kTiles; ++tile) {
      const int n = item * kTiles + tile, stage = stage_of<kStages>(n);
      const std::uint32_t before = phase_of<kStages>(n) ^ 1;
      hopper::wait(&smem.k_read[stage], before);
      if (variant == Variant::kKeysByAsyncCopies) {
        copy_keys_asynchronously(smem.k[stage], k, tile * kRows, lane);
        hopper::arrive(&smem.k_here[stage]);
      } else if (lane == 0) {
        copy(variant, smem.k[stage], k_map, &smem.k_here[stage], one_barrier ? 2 * kBytes : kBytes,
             tile * kRows);
      }
      hopper::wait(&smem.v_read[stage], before);
      const bool blanks = variant == Variant::kProducerBlanksRows && tile == kTiles - 1;
      Barrier* const here = one_barrier ? &smem.k_here[stage]
                            : blanks    ? &smem.ragged_here
                                        : &smem.v_here[stage];
      if (lane == 0)
        copy(variant, smem.v[stage], v_map, here, one_barrier ? 0 : kBytes, tile * kRows);
      if (!blanks) continue;
      hopper::wait(&smem.ragged_here, phase_of<1>(item));
      blank_rows(smem.v[stage], lane, 32);
      __syncwarp();
      if (lane == 0) hopper::arrive(&smem.v_here[stage]);
    }
  }
}

__device__ void consume(Variant variant, Shared& smem, const CUtensorMap& o_map, bfloat16* o) {
  const int group = static_cast<int>(threadIdx.x) / kWarpgroup - 1;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup, lane = thread % 32;
  enum Named { kTurns = 1, kTogether = kTurns + kConsumers, kOwn };
  const auto meet = [&] { hopper::named_barrier_sync(kOwn + group, kWarpgroup); };
  const auto take_turn = [&] {
    if (variant != Variant::kNoTurns) hopper::named_barrier_sync(kTurns + group, 2 * kWarpgroup);
  };
  const auto pass_turn = [&] {
    if (variant != Variant::kNoTurns)
      hopper::named_barrier_arrive(kTurns + 1 - group, 2 * kWarpgroup);
  };
  const auto wait = [&](Barrier& barrier, std::uint32_t parity) {
    if (variant != Variant::kOneLaneOfAWarpWaits) return hopper::wait(&barrier, parity);
    if (lane == 0) hopper::wait(&barrier, parity);
    __syncwarp();
  };
  const auto give_back = [&](Barrier& barrier) {
    if (variant == Variant::kOneThreadGivesBack) meet();
    if (variant == Variant::kOneThreadGivesBack   ? thread == 0
        : variant == Variant::kEveryLaneGivesBack ? true
                                                  : lane == 0)
      hopper::arrive(&barrier);
  };

  if (group == 1) pass_turn();
  for (int item = 0; item < kItems; ++item) {
    float scores[32], sums[32] = {};
    std::uint32_t weights[4][4], queries[4][4];
    const auto multiply_q_k = [&](int stage) {
      for (int i = 0; i < 4; ++i) {
        const auto keys =
            hopper::advance(hopper::matrix_descriptor(smem.k[stage]), i * hopper::kNextK);
        if (variant == Variant::kQueriesInRegisters)
          hopper::wgmma<bfloat16, kRows, Major::kK>(scores, queries[i], keys, i > 0);
        else
          hopper::wgmma<bfloat16, kRows, Major::kK, Major::kK>(
              scores, hopper::advance(hopper::matrix_descriptor(smem.q[group]), i * hopper::kNextK),
              keys, i > 0);
      }
    };
    const auto multiply_p_v = [&](int stage) {
      for (int i = 0; i < 4; ++i)
        hopper::wgmma<bfloat16, kPanel, Major::kMN>(
            sums, weights[i],
            hopper::advance(hopper::matrix_descriptor(smem.v[stage]), i * hopper::kNextMN));
    };

    wait(smem.q_here, phase_of<1>(item));
    if (variant == Variant::kQueriesInRegisters) {
      for (int i = 0; i < 4; ++i)
        ladder::cuda::load_matrices(
            queries[i], unit_of(smem.q[group], thread / 32 * 16 + lane % 16, 2 * i + lane / 16));
      hopper::fence_proxy_async();
      __syncwarp();
      give_back(smem.q_read);
    }
    for (int step = 0; step <= kTiles; ++step) {
      const bool keys = step<kTiles, values = step> 0;
      const int n = item * kTiles + step;
      const int k_stage = stage_of<kStages>(n), v_stage = stage_of<kStages>(n + 1);
      if (keys) wait(smem.k_here[k_stage], phase_of<kStages>(n));
      if (values && variant != Variant::kOneBarrierForKeysAndValues)
        wait(smem.v_here[v_stage], phase_of<kStages>(n - 1));
      if (!keys && variant != Variant::kProducerBlanksRows) {
        blank_rows(smem.v[v_stage], group * kWarpgroup + thread, kConsumers * kWarpgroup);
        hopper::named_barrier_sync(kTogether, kConsumers * kWarpgroup);
      }
      take_turn();
      hopper::wgmma_fence();
      if (keys) multiply_q_k(k_stage);
      const bool overlap = keys && values && variant != Variant::kOneGroupOfProducts;
      if (overlap) hopper::wgmma_commit_group();
      if (values) multiply_p_v(v_stage);
      hopper::wgmma_commit_group();
      pass_turn();
      if (overlap) {
        hopper::wgmma_wait_group<1>();
        hopper::pin(scores);
        give_back(smem.k_read[k_stage]);
      }
      hopper::wgmma_wait_group<0>();
      hopper::pin(scores);
      hopper::pin(sums);
      if (keys && !overlap) give_back(smem.k_read[k_stage]);
      if (values) give_back(smem.v_read[v_stage]);
      if (!keys) continue;
      for (int i = 0; i < 32; ++i) {
        if (step * kRows + i / 4 * 8 + lane % 4 * 2 + i % 2 >= kKeys) scores[i] = 0.0f;
      }
      for (int i = 0; i < 16; ++i)
        weights[i / 4][i % 4] = ladder::cuda::pack<bfloat16>(scores[2 * i], scores[2 * i + 1]);
    }

    const int first_row = (item * kConsumers + group) * kRows;
    if (variant == Variant::kOutputsByBulkStores) {
      meet();  // no product reads the queries any more
      for (int i = 0; i < 4; ++i) {
        std::uint32_t packed[4];
        for (int j = 0; j < 4; ++j)
          packed[j] = ladder::cuda::pack<bfloat16>(sums[8 * i + 2 * j], sums[8 * i + 2 * j + 1]);
        hopper::store_matrices(
            unit_of(smem.q[group], thread / 32 * 16 + lane % 16, 2 * i + lane / 16), packed);
      }
      hopper::fence_proxy_async();
      meet();
      if (thread == 0) {
        hopper::tma_store(&o_map, smem.q[group], 0, 0, first_row);
        hopper::tma_store_commit();
        hopper::tma_store_wait_read<0>();
      }
      meet();
    } else {
      for (int i = 0; i < 32; i += 2) {
        const int row = first_row + thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8;
        *reinterpret_cast<std::uint32_t*>(o + row * kPanel + i / 4 * 8 + lane % 4 * 2) =
            ladder::cuda::pack<bfloat16>(sums[i], sums[i + 1]);
      }
    }
    if (variant != Variant::kQueriesInRegisters) give_back(smem.q_read);
  }
  if (group == 0) take_turn();  // the last turn that was passed
}

__global__ void __launch_bounds__(kThreads, 1)
    attend(Variant variant, const __grid_constant__ CUtensorMap q_map,
           const __grid_constant__ CUtensorMap k_map, const __grid_constant__ CUtensorMap v_map,
           const __grid_constant__ CUtensorMap o_map, const bfloat16* k, bfloat16* o) {
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Shared*>(bytes_smem);
  if (threadIdx.x == 0) {
    const int readers = variant == Variant::kOneThreadGivesBack   ? kConsumers
                        : variant == Variant::kEveryLaneGivesBack ? kConsumers * kWarpgroup
                                                                  : kConsumers * 4;
    hopper::init(&smem.q_here, variant == Variant::kTwoTellOfOnePhase ? 2 : 1);
    hopper::init(&smem.q_read, readers);
    hopper::init(&smem.ragged_here, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      hopper::init(&smem.k_here[stage], variant == Variant::kKeysByAsyncCopies ? 32 : 1);
      hopper::init(&smem.k_read[stage], readers);
      hopper::init(&smem.v_here[stage], 1);
      hopper::init(&smem.v_read[stage], readers);
    }
    hopper::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= kWarpgroup)
    consume(variant, smem, o_map, o);
  else if (threadIdx.x < 32)
    produce(variant, smem, q_map, k_map, v_map, k);
}

// Small integers, so that scores and sums are exact and outputs are rounded once.
std::vector<bfloat16> integers(int rows, int count, int salt) {
  std::vector<bfloat16> values;
  for (int i = 0; i < rows * kPanel; ++i) {
    const float x = static_cast<float>((i * 37 + i / kPanel * 11 + salt) % 7 % 3 - 1);
    values.push_back(
        ladder::to_bfloat16(i < count * kPanel ? x : std::numeric_limits<float>::quiet_NaN()));
  }
  return values;
}

std::vector<bfloat16> expected(const std::vector<bfloat16>& q, const std::vector<bfloat16>& k,
                               const std::vector<bfloat16>& v) {
  const auto at = [](const std::vector<bfloat16>& x, int row, int column) {
    return ladder::to_float(x[static_cast<std::size_t>(row * kPanel + column)]);
  };
  std::vector<bfloat16> o;
  for (int query = 0; query < kQueries; ++query) {
    std::array<float, kPanel> sums{};
    for (int key = 0; key < kKeys; ++key) {
      float score = 0.0f;
      for (int i = 0; i < kPanel; ++i)
        score += at(q, query, i) * at(k, key, i);
      for (int i = 0; i < kPanel; ++i)
        sums[static_cast<std::size_t>(i)] += score * at(v, key, i);
    }
    for (const float sum : sums)
      o.push_back(ladder::to_bfloat16(sum));
  }
  return o;
}

class XrayHopperVariants : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    emulator::reset();
    emulator::xray::take();
    ASSERT_EQ(
        cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
        cudaSuccess);
  }
  void TearDown() override { emulator::reset(); }

  // Also checks the results.
  emulator::xray::Kernel run(Variant variant, const Schedule& schedule) const {
    const auto map = [](const DeviceVector<bfloat16>& x, int rows) {
      return hopper::make_tensor_map(x.data(), rows, 1, kPanel, kRows);
    };
    emulator::set_schedule(schedule);
    const DeviceVector<bfloat16> o(kQueries * kPanel);
    attend<<<1, kThreads, sizeof(Shared)>>>(variant, map(q, kQueries), map(k, kTiles * kRows),
                                            map(v, kTiles * kRows), map(o, kQueries), k.data(),
                                            o.data());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << emulator::last_report();
    static const std::vector<bfloat16> wanted = expected(q.host(), k.host(), v.host());
    EXPECT_TRUE(std::ranges::equal(o.host(), wanted, {}, &bfloat16::bits, &bfloat16::bits));
    std::vector<emulator::xray::Kernel> kernels = emulator::xray::take();
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? emulator::xray::Kernel{} : kernels.front();
  }

  const DeviceVector<bfloat16> q{integers(kQueries, kQueries, 1)};
  const DeviceVector<bfloat16> k{integers(kTiles * kRows, kKeys, 2)};
  const DeviceVector<bfloat16> v{integers(kTiles * kRows, kKeys, 5)};
};

TEST_P(XrayHopperVariants, IsRightAndClean) {
  for (const Schedule& schedule :
       {Schedule{Schedule::forward, 0}, Schedule{Schedule::reverse, 0},
        Schedule{Schedule::shuffle, 1}, Schedule{Schedule::shuffle, 2}}) {
    SCOPED_TRACE(testing::Message() << "schedule " << schedule.order << ", " << schedule.seed);
    for (const auto& error : run(static_cast<Variant>(GetParam()), schedule).errors)
      ADD_FAILURE() << error.message;
  }
}

std::string name_of(const testing::TestParamInfo<int>& info) {
  return kNames[info.param];
}
INSTANTIATE_TEST_SUITE_P(Each, XrayHopperVariants,
                         testing::Range(0, static_cast<int>(std::size(kNames))), name_of);

// The picture over time contains all operations.
class XrayHopperTimeline : public XrayHopperVariants {};
TEST_P(XrayHopperTimeline, HasARowForEachWarpgroup) {
  using emulator::xray::Span;
  const emulator::xray::Kernel kernel =
      run(static_cast<Variant>(GetParam()), {.order = Schedule::forward, .late = true});
  EXPECT_EQ(kernel.timeline.row_threads, 128u);
  unsigned spans[3][5] = {}, products = 0;  // by row and kind
  for (const Span& span : kernel.timeline.spans) {
    EXPECT_TRUE(span.ended) << span.operation;
    ASSERT_LT(span.row, 3u);
    ++spans[span.row][span.kind];
    if (span.kind == Span::kProduct) products += span.count;
  }
  EXPECT_EQ(spans[0][Span::kCopy], unsigned{kItems * (kConsumers + 2 * kTiles)});
  EXPECT_EQ(spans[0][Span::kWait], unsigned{kItems * (1 + 2 * kTiles)});
  for (const unsigned row : {1u, 2u}) {
    EXPECT_EQ(spans[row][Span::kCopy], 0u);
    EXPECT_EQ(spans[row][Span::kProduct], unsigned{kItems * 2 * kTiles});
    EXPECT_EQ(spans[row][Span::kStore], unsigned{kItems});
    EXPECT_EQ(spans[row][Span::kPass], row == 2 ? 9u : 8u);  // the first turn is passed, too
  }
  EXPECT_EQ(products, unsigned{kConsumers * kItems * 2 * kTiles * 4});
  if (const char* path = std::getenv("XRAY_TEST_PAGE")) {
    const std::vector<emulator::xray::Subject> subjects = {{"variants", "attend", kernel}};
    std::ofstream(path) << emulator::xray::to_page(to_json(subjects));
  }
}
INSTANTIATE_TEST_SUITE_P(WithBulkStores, XrayHopperTimeline,
                         testing::Values(static_cast<int>(Variant::kOutputsByBulkStores)), name_of);

}  // namespace
