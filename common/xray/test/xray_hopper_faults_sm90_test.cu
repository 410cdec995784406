// Wrong orders of Hopper's instructions, each planted in a small correct kernel. The X-ray finds
// them by the order that mbarriers, named barriers, waits and fences guarantee, so it finds them
// under every schedule, even if the results are correct.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/cuda/hopper.hpp"
#include "common/emulator/test/device_vector.hpp"
#include "common/xray/test/recorded.hpp"

namespace {

using namespace emulator::xray;
namespace hopper = ladder::cuda::hopper;
using emulator::Schedule;
using hopper::Barrier;
using hopper::Major;
using ladder::bfloat16;

constexpr int kRows = 64, kPanel = hopper::kPanel;
constexpr int kPanelBytes = kRows * kPanel * static_cast<int>(sizeof(bfloat16));
constexpr int kWarpgroup = hopper::kWarpgroup;
constexpr const char* kFence = "does not see what threads did without a proxy fence";
constexpr const char* kPhase = "has not waited for the phase of the mbarrier";

// Device memory for every kernel here: 64 rows of two panels.
class XrayHopperFaults : public RecordedTest {
 protected:
  // Under every schedule `launch` reports an error with all these words, or none without words.
  template <typename Launch>
  static void expect(const std::vector<std::string>& parts, const Launch& launch,
                     const char* kind = "race") {
    for (const Schedule& schedule : {Schedule{Schedule::forward, 0},
                                     {Schedule::reverse, 0},
                                     {Schedule::shuffle, 1},
                                     {Schedule::shuffle, 2}}) {
      emulator::set_schedule(schedule);
      launch();
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << emulator::last_report();
      std::string said;
      bool found = false;
      for (const Kernel& kernel : take()) {
        for (const Error& error : kernel.errors) {
          said += error.message + "\n";
          EXPECT_EQ(error.kind, kind);
          bool all = !parts.empty();
          for (const std::string& part : parts)
            all = all && error.message.find(part) != std::string::npos;
          found = found || all;
        }
      }
      EXPECT_EQ(found, !parts.empty()) << said;
      if (parts.empty()) {
        EXPECT_EQ(said, "");
      }
    }
  }

  const DeviceVector<bfloat16> memory_{std::vector<bfloat16>(2 * kRows * kPanel)};
  const DeviceVector<float> out_{std::vector<float>(1024)};
  const CUtensorMap map_ = hopper::make_tensor_map(memory_.data(), kRows, 1, 2 * kPanel, kRows);
};

struct Stages {
  alignas(1024) bfloat16 panel[2][kRows * kPanel];
  float numbers[512];
  Barrier here[2], read[2];
};
constexpr unsigned kBytes = sizeof(Stages);

__device__ Stages& begin(unsigned char* bytes_smem, int read, int here = 1) {
  Stages& smem = *reinterpret_cast<Stages*>(bytes_smem);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      hopper::init(&smem.here[stage], here);
      hopper::init(&smem.read[stage], read);
    }
    hopper::fence_barrier_init();
  }
  __syncthreads();
  return smem;
}

__device__ void copy(Stages& smem, const CUtensorMap& map, int stage, int panel = 0) {
  hopper::arrive_expect_tx(&smem.here[stage], kPanelBytes);
  hopper::tma_load(smem.panel[stage], &map, &smem.here[stage], panel * kPanel, 0, 0);
}

__device__ void multiply(float (&d)[32], const bfloat16* a, const bfloat16* b) {
  hopper::wgmma_fence();
  hopper::wgmma<bfloat16, 64, Major::kK, Major::kK>(d, hopper::matrix_descriptor(a),
                                                    hopper::matrix_descriptor(b), false);
  hopper::wgmma_commit_group();
}

__device__ float read(const bfloat16* panel_smem) {
  return ladder::to_float(panel_smem[threadIdx.x]);
}

__device__ void fill(bfloat16* panel_smem, int threads, float x) {
  for (int i = static_cast<int>(threadIdx.x) % threads; i < kRows * kPanel; i += threads)
    panel_smem[i] = ladder::to_bfloat16(x);
}

// ---- A tile is read before its phase ----

enum class Wait { kItsPhase, kNone, kAnotherPhase, kInOneWarp, kLateInOneWarp };

// Two panels are copied, the second to the first one's stage as soon as that has been read.
__global__ void reads_two_tiles(const __grid_constant__ CUtensorMap map, float* out, Wait wait) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 64);
  if (threadIdx.x < 32) {
    if (threadIdx.x > 0) return;
    copy(smem, map, 0);
    copy(smem, map, 1);
    hopper::wait(&smem.read[0], 0);
    copy(smem, map, 0, 1);
    hopper::wait(&smem.here[0], 1);  // a block must outlive its copies
    return;
  }
  hopper::wait(&smem.here[1], 0);
  hopper::wait(&smem.here[0], 0);
  out[threadIdx.x] = read(smem.panel[0]);
  hopper::fence_proxy_async();
  hopper::arrive(&smem.read[0]);
  if (wait == Wait::kItsPhase || (wait == Wait::kInOneWarp && threadIdx.x < 64))
    hopper::wait(&smem.here[0], 1);
  if (wait == Wait::kAnotherPhase) hopper::wait(&smem.here[1], 0);
  out[threadIdx.x] += read(smem.panel[0]);
}

TEST_F(XrayHopperFaults, TileReadBeforeItsPhase) {
  expect({}, [&] { reads_two_tiles<<<1, 96, kBytes>>>(map_, out_.data(), Wait::kItsPhase); });
  for (const Wait wait : {Wait::kNone, Wait::kAnotherPhase, Wait::kInOneWarp}) {
    expect({"load at ", "bulk copy at ", "called at ", "by thread (0, 0, 0) of block", " phase"},
           [&] { reads_two_tiles<<<1, 96, kBytes>>>(map_, out_.data(), wait); });
  }
}

// A product of a tile, started after all warps have waited or before one of them has.
__global__ void multiplies_a_tile(const __grid_constant__ CUtensorMap map, float* out, Wait wait) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  if (threadIdx.x == 0) {
    hopper::tma_load(smem.panel[0], &map, &smem.here[0], 0, 0, 0);  // legal: expected later
    hopper::arrive_expect_tx(&smem.here[0], kPanelBytes);
  }
  const bool late = wait == Wait::kLateInOneWarp && threadIdx.x < 32;
  if (wait == Wait::kItsPhase || (wait == Wait::kInOneWarp && threadIdx.x < 96) ||
      (wait == Wait::kLateInOneWarp && !late))
    hopper::wait(&smem.here[0], 0);
  float d[32];
  multiply(d, smem.panel[0], smem.panel[0]);
  if (late) hopper::wait(&smem.here[0], 0);
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  hopper::wait(&smem.here[0], 0);
  out[threadIdx.x] = d[0];
}

TEST_F(XrayHopperFaults, OperandReadBeforeItsPhase) {
  const auto launch = [&](Wait wait) {
    return [this, wait] { multiplies_a_tile<<<1, 128, kBytes>>>(map_, out_.data(), wait); };
  };
  expect({}, launch(Wait::kItsPhase));
  expect({"product at ", "bulk copy at ", kPhase}, launch(Wait::kNone));
  expect({"product at ", "by thread (96, 0, 0)", kPhase}, launch(Wait::kInOneWarp));
  expect({"product at ", "by thread (0, 0, 0)", kPhase}, launch(Wait::kLateInOneWarp));
}

// ---- A stage is written again too early ----

enum class Release { kRight, kBeforeTheRead, kWithoutTheOtherLanes, kUnfenced, kFencedBefore };

// A warp reads a tile and releases its stage for the next copy.
__global__ void gives_a_stage_back(const __grid_constant__ CUtensorMap map, float* out,
                                   Release release) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  if (threadIdx.x == 32) {
    copy(smem, map, 0);
    hopper::wait(&smem.read[0], 0);
    copy(smem, map, 0, 1);
    hopper::wait(&smem.here[0], 1);
  }
  if (threadIdx.x >= 32) return;
  const auto arrive = [&] {
    if (threadIdx.x == 0) hopper::arrive(&smem.read[0]);
  };
  hopper::wait(&smem.here[0], 0);
  __syncwarp();
  if (release == Release::kBeforeTheRead) arrive();
  if (release == Release::kFencedBefore) hopper::fence_proxy_async();
  out[threadIdx.x] = read(smem.panel[0]);
  if (release == Release::kBeforeTheRead) return;
  if (release == Release::kRight || release == Release::kWithoutTheOtherLanes)
    hopper::fence_proxy_async();
  if (release != Release::kWithoutTheOtherLanes) __syncwarp();
  arrive();
}

TEST_F(XrayHopperFaults, StageCopiedToWhileThreadsRead) {
  const auto launch = [&](Release release) {
    return [this, release] { gives_a_stage_back<<<1, 64, kBytes>>>(map_, out_.data(), release); };
  };
  expect({}, launch(Release::kRight));
  for (const Release release : {Release::kBeforeTheRead, Release::kWithoutTheOtherLanes})
    expect({"bulk copy at ", "load at "}, launch(release));
}

// DeepEP, pull request 642: a bulk copy overwrites elements that threads read, without a fence.
TEST_F(XrayHopperFaults, DeepEp642ReadsThatABulkCopyOverwrites) {
  for (const Release release : {Release::kUnfenced, Release::kFencedBefore}) {
    expect({"bulk copy at ", "by thread (32, 0, 0)", "load at ", "touch 2 bytes of ", kFence},
           [&] { gives_a_stage_back<<<1, 64, kBytes>>>(map_, out_.data(), release); });
  }
}

// Two warpgroups multiply a tile and release its stage, one of them before its product is done.
__global__ void gives_a_multiplied_stage_back(const __grid_constant__ CUtensorMap map, float* out,
                                              bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 2 * kWarpgroup / 32);
  if (threadIdx.x >= 2 * kWarpgroup) {
    if (threadIdx.x > 2 * kWarpgroup) return;
    copy(smem, map, 0);
    hopper::wait(&smem.read[0], 0);
    copy(smem, map, 0, 1);
    hopper::wait(&smem.here[0], 1);
    return;
  }
  hopper::wait(&smem.here[0], 0);
  float d[32];
  multiply(d, smem.panel[0], smem.panel[0]);
  if (right || threadIdx.x < kWarpgroup) hopper::wgmma_wait_group<0>();
  if (threadIdx.x % 32 == 0) hopper::arrive(&smem.read[0]);
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  out[threadIdx.x] = d[0];
}

TEST_F(XrayHopperFaults, StageCopiedToWhileAProductReads) {
  const auto launch = [&](bool right) {
    return [this, right] {
      gives_a_multiplied_stage_back<<<1, 2 * kWarpgroup + 32, kBytes>>>(map_, out_.data(), right);
    };
  };
  expect({}, launch(true));
  expect(
      {"bulk copy at ", "by thread (256, 0, 0)", "product at ", "the product may still be reading"},
      launch(false));
}

enum class Between { kWaitAndBarrier, kBarrierOnly, kWaitOnly };

// The threads write a tile, multiply it, and overwrite it.
__global__ void writes_twice(float* out, Between between) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  float d[32];
  for (int i = 0; i < 2; ++i) {
    fill(smem.panel[0], kWarpgroup, 1.0f);
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(1, kWarpgroup);
    multiply(d, smem.panel[0], smem.panel[0]);
    if (between != Between::kBarrierOnly) hopper::wgmma_wait_group<0>();
    if (between != Between::kWaitOnly) hopper::named_barrier_sync(2, kWarpgroup);
  }
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  out[threadIdx.x] = d[0];
}

TEST_F(XrayHopperFaults, StageStoredToWhileAProductReads) {
  const auto launch = [&](Between between) {
    return [this, between] { writes_twice<<<1, kWarpgroup, kBytes>>>(out_.data(), between); };
  };
  expect({}, launch(Between::kWaitAndBarrier));
  expect({}, launch(Between::kWaitOnly));  // one thread's wait covers all four warps of the product
  expect({"store at ", "product at ", "the product may still be reading",
          "or a wgmma_commit_group() is missing"},
         launch(Between::kBarrierOnly));
}

__global__ void copies_twice(const __grid_constant__ CUtensorMap map, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  if (threadIdx.x > 0) return;
  copy(smem, map, 0);
  if (right) hopper::wait(&smem.here[0], 0);
  hopper::arrive_expect_tx(&smem.here[1], kPanelBytes);
  hopper::tma_load(smem.panel[0], &map, &smem.here[1], kPanel, 0, 0);
  hopper::wait(&smem.here[0], 0);
  hopper::wait(&smem.here[1], 0);
}

TEST_F(XrayHopperFaults, TwoCopiesToOneStage) {
  expect({}, [&] { copies_twice<<<1, 32, kBytes>>>(map_, true); });
  expect({"bulk copy at ", "and bulk copy at ", kPhase},
         [&] { copies_twice<<<1, 32, kBytes>>>(map_, false); });
}

// ---- Proxy fences ----

enum class FenceBy { kEachBeforeTheBarrier, kIssuersBehindIt, kNobody, kEachBeforeItsStores, kOne };

// Threads write an operand, then multiply it.
__global__ void multiplies_what_threads_wrote(float* out, FenceBy by, bool by_cp_async,
                                              const bfloat16* from) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  if (by == FenceBy::kEachBeforeItsStores) hopper::fence_proxy_async();
  if (by_cp_async) {
    for (int i = static_cast<int>(threadIdx.x) * 8; i < kRows * kPanel; i += kWarpgroup * 8)
      __pipeline_memcpy_async(&smem.panel[0][i], from + i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
  } else {
    fill(smem.panel[0], kWarpgroup, 1.0f);
  }
  if (by == FenceBy::kEachBeforeTheBarrier || (by == FenceBy::kOne && threadIdx.x == 0))
    hopper::fence_proxy_async();
  __syncthreads();
  if (by == FenceBy::kIssuersBehindIt) hopper::fence_proxy_async();
  float d[32];
  multiply(d, smem.panel[0], smem.panel[0]);
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  out[threadIdx.x] = d[0] + read(smem.panel[0]);
}

TEST_F(XrayHopperFaults, OperandThatNobodyHasFenced) {
  for (const bool by_cp_async : {false, true}) {
    const auto launch = [&](FenceBy by) {
      return [this, by, by_cp_async] {
        multiplies_what_threads_wrote<<<1, kWarpgroup, kBytes>>>(out_.data(), by, by_cp_async,
                                                                 memory_.data());
      };
    };
    expect({}, launch(FenceBy::kEachBeforeTheBarrier));
    expect({}, launch(FenceBy::kIssuersBehindIt));
    for (const FenceBy by : {FenceBy::kNobody, FenceBy::kEachBeforeItsStores, FenceBy::kOne})
      expect({"product at ", by_cp_async ? "asynchronous copy at " : "store at ",
              by_cp_async ? "touch 16 bytes of " : "touch 2 bytes of ", kFence},
             launch(by));
  }
}

// ---- Results that the compiler may use too early ----

enum class Pin { kBehindTheWait, kNone, kInFrontOfTheWait, kAnotherArray };

// The second product accumulates into the first one's D, without a pin between them.
__global__ void uses_a_result(float* out, Pin pin, bool stores) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  fill(smem.panel[0], kWarpgroup, 1.0f);
  hopper::fence_proxy_async();
  __syncthreads();
  float d[32], another[32] = {};
  multiply(d, smem.panel[0], smem.panel[0]);
  hopper::wgmma_wait_group<0>();
  multiply(d, smem.panel[0], smem.panel[0]);
  if (pin == Pin::kInFrontOfTheWait) hopper::pin(d);
  hopper::wgmma_wait_group<0>();
  if (pin == Pin::kBehindTheWait) hopper::pin(d);
  if (pin == Pin::kAnotherArray) hopper::pin(another);
  if (stores) d[5] = 2.0f;
  hopper::wgmma_fence();
  out[threadIdx.x] = stores ? another[3] : d[5] + another[3];
}

TEST_F(XrayHopperFaults, ResultUsedWithoutAPin) {
  for (const bool stores : {false, true}) {
    const auto launch = [&](Pin pin) {
      return [this, pin, stores] {
        uses_a_result<<<1, kWarpgroup, kBytes>>>(out_.data(), pin, stores);
      };
    };
    expect({}, launch(Pin::kBehindTheWait));
    for (const Pin pin : {Pin::kNone, Pin::kInFrontOfTheWait, Pin::kAnotherArray})
      expect({"unpinned result: ", stores ? "store at " : "load at ", "no pin(D) lies between it",
              "in front of that wait"},
             launch(pin), "unpinned result");
  }
  uses_a_result<<<1, kWarpgroup, kBytes>>>(out_.data(), Pin::kNone, false);
  const std::vector<Kernel> kernels = take();
  EXPECT_EQ(kernels.at(0).errors.size(), 1u) << "of the first wait, too";
}

// A product may read its operand's registers until the wait.
__global__ void changes_an_operand(float* out, bool changes) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  fill(smem.panel[0], kWarpgroup, 1.0f);
  hopper::fence_proxy_async();
  __syncthreads();
  float d[32];
  std::uint32_t a[4] = {1, 2, 3, 4};
  hopper::wgmma_fence();
  hopper::wgmma<bfloat16, 64, Major::kK>(d, a, hopper::matrix_descriptor(smem.panel[0]), false);
  hopper::wgmma_commit_group();
  if (changes) a[2] += 1;
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  out[threadIdx.x] = d[0];
}
constexpr int kLineOfTheStore = __LINE__ - 5;

TEST_F(XrayHopperFaults, OperandChangedBeforeTheWaitNamesTheStore) {
  changes_an_operand<<<1, kWarpgroup, kBytes>>>(out_.data(), false);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << emulator::last_report();
  changes_an_operand<<<1, kWarpgroup, kBytes>>>(out_.data(), true);
  EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
  const std::string line = "xray_hopper_faults_sm90_test.cu:" + std::to_string(kLineOfTheStore);
  EXPECT_NE(emulator::last_report().find("registers of A were changed before it, at "),
            std::string::npos);
  EXPECT_NE(emulator::last_report().find(line + ", while the product m64n64k16"), std::string::npos)
      << emulator::last_report();
  emulator::reset();
}

// Threads clear a tile's last rows before the next copy to its stage.
__global__ void blanks_rows(const __grid_constant__ CUtensorMap map, float* out, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 32);
  if (threadIdx.x == 32) {
    copy(smem, map, 0);
    hopper::wait(&smem.read[0], 0);
    copy(smem, map, 0, 1);
    hopper::wait(&smem.here[0], 1);
  }
  if (threadIdx.x >= 32) return;
  hopper::wait(&smem.here[0], 0);
  smem.panel[0][threadIdx.x] = ladder::to_bfloat16(0.0f);
  if (right) hopper::fence_proxy_async();
  hopper::arrive(&smem.read[0]);
  hopper::wait(&smem.here[0], 1);
  out[threadIdx.x] = read(smem.panel[0]);
}

TEST_F(XrayHopperFaults, StoresThatABulkCopyOverwrites) {
  expect({}, [&] { blanks_rows<<<1, 64, kBytes>>>(map_, out_.data(), true); });
  expect({"bulk copy at ", "store at ", "touch 2 bytes of ", kFence},
         [&] { blanks_rows<<<1, 64, kBytes>>>(map_, out_.data(), false); });
}

// ---- Bulk stores ----

enum class Stored { kRight, kUnfenced, kWaitForTooFew, kNoWait };

// Threads write two panels and store them. Then threads or a copy overwrite the first stage.
__global__ void stores_two_panels(const __grid_constant__ CUtensorMap to,
                                  const __grid_constant__ CUtensorMap from, Stored stored,
                                  bool by_copy) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  for (int stage = 0; stage < 2; ++stage)
    fill(smem.panel[stage], 32, 1.0f);
  if (stored != Stored::kUnfenced) hopper::fence_proxy_async();
  __syncwarp();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      hopper::tma_store(&to, smem.panel[stage], stage * kPanel, 0, 0);
      hopper::tma_store_commit();
    }
    if (stored == Stored::kRight || stored == Stored::kUnfenced) hopper::tma_store_wait_read<1>();
    if (stored == Stored::kWaitForTooFew) hopper::tma_store_wait_read<2>();
    if (by_copy) copy(smem, from, 0);
  }
  __syncwarp();
  if (!by_copy) fill(smem.panel[0], 32, 2.0f);
  if (by_copy) hopper::wait(&smem.here[0], 0);
  if (threadIdx.x == 0) hopper::tma_store_wait<0>();
}

class XrayHopperStores : public XrayHopperFaults {
 protected:
  auto launch(Stored stored, bool by_copy) {
    return [this, stored, by_copy] {
      stores_two_panels<<<1, 32, kBytes>>>(to_, map_, stored, by_copy);
    };
  }
  const DeviceVector<bfloat16> stored_{std::vector<bfloat16>(2 * kRows * kPanel)};
  const CUtensorMap to_ = hopper::make_tensor_map(stored_.data(), kRows, 1, 2 * kPanel, kRows);
};

TEST_F(XrayHopperStores, RightOnes) {
  expect({}, launch(Stored::kRight, false));
  expect({}, launch(Stored::kRight, true));
}

// FlashKDA, issue 24: a bulk store reads elements that threads have written, without a proxy fence.
TEST_F(XrayHopperStores, FlashKda24StoresThatABulkStoreReads) {
  expect({"bulk store at ", "by thread (0, 0, 0)", "store at ", "touch 2 bytes of ", kFence},
         launch(Stored::kUnfenced, true));
}

// DeepEP, issue 657: the wait covers one group too few, and a copy overwrites the store's source.
TEST_F(XrayHopperStores, DeepEp657WaitForOneGroupTooFew) {
  expect({"bulk copy at ", "bulk store at ", "the bulk store may still be reading",
          "or a tma_store_commit() is missing"},
         launch(Stored::kWaitForTooFew, true));
}

TEST_F(XrayHopperStores, StageStoredToWhileABulkStoreReads) {
  for (const Stored stored : {Stored::kWaitForTooFew, Stored::kNoWait})
    expect({"store at ", "bulk store at ", "the bulk store may still be reading"},
           launch(stored, false));
}

// Without an mbarrier, the storing thread fences the others' stores after the barrier.
__global__ void stores_a_panel(const __grid_constant__ CUtensorMap to, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = *reinterpret_cast<Stages*>(bytes_smem);
  fill(smem.panel[0], 96, 0.0f);
  __syncthreads();
  fill(smem.panel[0], 96, 1.0f);
  __syncthreads();
  if (threadIdx.x != 40) return;
  if (right) hopper::fence_proxy_async();
  hopper::tma_store(&to, smem.panel[0], 0, 0, 0);
  hopper::tma_store_commit();
  hopper::tma_store_wait<0>();
}

TEST_F(XrayHopperStores, WhatWasWrittenBeforeTheFirstOfHoppersInstructions) {
  expect({}, [&] { stores_a_panel<<<1, 96, kBytes>>>(to_, true); });
  expect({"bulk store at ", "by thread (40, 0, 0)", "store at ", kFence},
         [&] { stores_a_panel<<<1, 96, kBytes>>>(to_, false); });
}

// ---- Global memory ----

enum class Passed {
  kRight,
  kFencedByTheCopyingThread,
  kUnfenced,
  kFencedForSharedMemory,
  kFencedBefore,
  kWithoutABarrier
};

// Threads store numbers to global memory, and a bulk copy loads them.
__global__ void copies_what_threads_stored(float* numbers, float* out, Passed passed) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  if (passed == Passed::kFencedBefore) hopper::fence_proxy_async_global();
  numbers[threadIdx.x] = 1.0f;
  if (passed == Passed::kRight || passed == Passed::kWithoutABarrier)
    hopper::fence_proxy_async_global();
  if (passed == Passed::kFencedForSharedMemory) hopper::fence_proxy_async();
  if (passed != Passed::kWithoutABarrier) __syncthreads();
  if (threadIdx.x == 0) {
    if (passed == Passed::kFencedByTheCopyingThread) hopper::fence_proxy_async_global();
    hopper::arrive_expect_tx(&smem.here[0], 64 * sizeof(float));
    hopper::bulk_copy(smem.numbers, numbers, 64 * sizeof(float), &smem.here[0]);
  }
  hopper::wait(&smem.here[0], 0);
  out[threadIdx.x] = smem.numbers[threadIdx.x];
}

TEST_F(XrayHopperFaults, StoresToGlobalMemoryThatABulkCopyReads) {
  const auto launch = [&](Passed passed) {
    return [this, passed] {
      copies_what_threads_stored<<<1, 64, kBytes>>>(out_.data(), out_.data() + 512, passed);
    };
  };
  expect({}, launch(Passed::kRight));
  expect({}, launch(Passed::kFencedByTheCopyingThread));
  for (const Passed passed :
       {Passed::kUnfenced, Passed::kFencedForSharedMemory, Passed::kFencedBefore})
    expect({"bulk copy at ", "by thread (0, 0, 0)", "store at ", "touch 4 bytes of ", kFence,
            "fence_proxy_async_global"},
           launch(passed));
  expect({"bulk copy at ", "store at ", " bytes of "}, launch(Passed::kWithoutABarrier));
}

// A bulk copy loads numbers from global memory, then a thread overwrites them.
__global__ void stores_where_a_copy_reads(float* numbers, float* out, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here[0], 64 * sizeof(float));
    hopper::bulk_copy(smem.numbers, numbers, 64 * sizeof(float), &smem.here[0]);
  }
  if (right) hopper::wait(&smem.here[0], 0);
  numbers[threadIdx.x] = 2.0f;
  hopper::wait(&smem.here[0], 0);
  out[threadIdx.x] = smem.numbers[threadIdx.x];
}

TEST_F(XrayHopperFaults, StoresToGlobalMemoryWhileABulkCopyReads) {
  const auto launch = [&](bool right) {
    return [this, right] {
      stores_where_a_copy_reads<<<1, 64, kBytes>>>(out_.data(), out_.data() + 512, right);
    };
  };
  expect({}, launch(true));
  expect({"store at ", "bulk copy at ", " bytes of "}, launch(false));
}

enum class Written {
  kRight,
  kOnlyReadWaitedFor,
  kGroupTooFew,
  kNoBarrier,
  kRightByCopy,
  kOnlyReadWaitedForByCopy
};

// 50 rows of a panel are stored to a tensor. The same thread, others, or a bulk copy read them.
__global__ void reads_what_was_stored(const __grid_constant__ CUtensorMap to,
                                      const bfloat16* stored, float* out, Written written) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  fill(smem.panel[0], 64, 1.0f);
  hopper::fence_proxy_async();
  __syncthreads();
  const bool only_read =
      written == Written::kOnlyReadWaitedFor || written == Written::kOnlyReadWaitedForByCopy;
  if (threadIdx.x == 0) {
    hopper::tma_store(&to, smem.panel[0], kPanel, 0, 14);
    hopper::tma_store_commit();
    if (only_read)
      hopper::tma_store_wait_read<0>();
    else if (written == Written::kGroupTooFew)
      hopper::tma_store_wait<1>();
    else
      hopper::tma_store_wait<0>();
  }
  if (written == Written::kRightByCopy || written == Written::kOnlyReadWaitedForByCopy) {
    if (threadIdx.x == 0) copy(smem, to, 1, 1);
    hopper::wait(&smem.here[1], 0);
    out[threadIdx.x] = read(smem.panel[1]);
  } else {
    if (written != Written::kNoBarrier) __syncthreads();
    out[threadIdx.x] = ladder::to_float(stored[63 * 2 * kPanel + kPanel + threadIdx.x]);
  }
  if (threadIdx.x == 0) hopper::tma_store_wait<0>();
}

TEST_F(XrayHopperStores, BytesReadBeforeTheyAreWritten) {
  const auto launch = [&](Written written) {
    return [this, written] {
      reads_what_was_stored<<<1, 64, kBytes>>>(to_, stored_.data(), out_.data(), written);
    };
  };
  expect({}, launch(Written::kRight));
  expect({}, launch(Written::kRightByCopy));
  for (const Written written :
       {Written::kOnlyReadWaitedFor, Written::kGroupTooFew, Written::kNoBarrier})
    expect({"load at ", "bulk store at ", " bytes of ", "tma_store_wait"}, launch(written));
  expect({"bulk copy at ", "bulk store at ", "may still be writing",
          "or a tma_store_commit() is missing"},
         launch(Written::kOnlyReadWaitedForByCopy));
}

// Threads store before a box's columns, or in its first one, while a bulk store writes the box.
__global__ void stores_beside_a_box(const __grid_constant__ CUtensorMap to, bfloat16* stored,
                                    bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  fill(smem.panel[0], 64, 1.0f);
  hopper::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    hopper::tma_store(&to, smem.panel[0], kPanel, 0, 14);
    hopper::tma_store_commit();
  }
  const unsigned column = kPanel - (right && threadIdx.x >= 14 ? 1 : 0);
  stored[threadIdx.x * 2 * kPanel + column] = ladder::to_bfloat16(2.0f);
  if (threadIdx.x == 0) hopper::tma_store_wait<0>();
}

TEST_F(XrayHopperStores, StoresBesideABoxAreNotInIt) {
  const auto launch = [&](bool right) {
    return [this, right] { stores_beside_a_box<<<1, 64, kBytes>>>(to_, stored_.data(), right); };
  };
  expect({}, launch(true));
  expect({" store at ", "bulk store at ", " bytes of ", "tma_store_wait"}, launch(false));
}

// Two stores of one thread to the same rows, in two groups without an order.
__global__ void stores_twice(const __grid_constant__ CUtensorMap to, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  fill(smem.panel[0], 32, 1.0f);
  fill(smem.panel[1], 32, 2.0f);
  hopper::fence_proxy_async();
  __syncwarp();
  if (threadIdx.x > 0) return;
  for (int stage = 0; stage < 2; ++stage) {
    hopper::tma_store(&to, smem.panel[stage], 0, 0, 32 * stage);  // half of the panel's rows
    hopper::tma_store_commit();
    if (right) hopper::tma_store_wait<0>();
  }
  hopper::tma_store_wait<0>();
}

TEST_F(XrayHopperStores, TwoStoresToTheSameBytes) {
  expect({}, [&] { stores_twice<<<1, 32, kBytes>>>(to_, true); });
  expect({"bulk store at ", "and bulk store at ", "may still be writing"},
         [&] { stores_twice<<<1, 32, kBytes>>>(to_, false); });
}

// Threads of one block, or of two, read numbers that a bulk store overwrites.
__global__ void overwrites_what_threads_read(float* numbers, float* out, bool fenced) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  out[threadIdx.x] = numbers[threadIdx.x];
  smem.numbers[threadIdx.x] = 1.0f;
  hopper::fence_proxy_async();
  if (fenced) hopper::fence_proxy_async_global();
  __syncthreads();
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  hopper::store_bytes(numbers, smem.numbers, 64 * sizeof(float));
  hopper::tma_store_commit();
  hopper::tma_store_wait_read<0>();
}

TEST_F(XrayHopperStores, ReadsOfGlobalMemoryThatABulkStoreOverwrites) {
  const auto launch = [&](unsigned blocks, bool fenced) {
    return [this, blocks, fenced] {
      overwrites_what_threads_read<<<blocks, 64, kBytes>>>(out_.data(), out_.data() + 512, fenced);
    };
  };
  expect({}, launch(1, true));
  expect({"bulk store at ", "load at ", kFence, "fence_proxy_async_global"}, launch(1, false));
}

// A bulk store writes a number for each block, and the next block reads it.
__global__ void reads_another_blocks(float* numbers, float* out, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 1);
  smem.numbers[threadIdx.x] = 1.0f;
  hopper::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    hopper::store_bytes(numbers + 32 * blockIdx.x, smem.numbers, 32 * sizeof(float));
    hopper::tma_store_commit();
    hopper::tma_store_wait<0>();
  }
  __syncthreads();
  const unsigned block = right ? blockIdx.x : (blockIdx.x + 1) % gridDim.x;
  out[32 * blockIdx.x + threadIdx.x] = numbers[32 * block + threadIdx.x];
}

TEST_F(XrayHopperStores, BytesThatAnotherBlockStores) {
  const auto launch = [&](bool right) {
    return [this, right] {
      reads_another_blocks<<<2, 32, kBytes>>>(out_.data(), out_.data() + 512, right);
    };
  };
  expect({}, launch(true));
  expect({"load at ", "bulk store at ", "nothing orders blocks of one launch"}, launch(false));
}

// ---- Threads' own accesses, ordered by mbarriers and named barriers ----

enum class Handed { kByPhase, kByName, kByNobody, kTooLate, kOnlyByAShuffle };

// One warp passes numbers to another.
__global__ void hands_numbers_over(float* out, Handed handed) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, 32);
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) smem.numbers[lane] = 0.0f;
  __syncthreads();
  if (threadIdx.x < 32) {
    if (handed == Handed::kTooLate) hopper::arrive(&smem.read[0]);
    smem.numbers[lane] = 1.0f;
    if (handed == Handed::kByPhase) hopper::arrive(&smem.read[0]);
    if (handed == Handed::kByName) hopper::named_barrier_arrive(1, 64);
    if (handed == Handed::kOnlyByAShuffle) __shfl_sync(~0u, lane, 0);
  } else {
    if (handed == Handed::kByPhase || handed == Handed::kTooLate) hopper::wait(&smem.read[0], 0);
    if (handed == Handed::kByName) hopper::named_barrier_sync(1, 64);
    out[lane] = smem.numbers[31 - lane];
  }
}

TEST_F(XrayHopperFaults, NumbersThatNothingHandsOver) {
  const auto launch = [&](Handed handed) {
    return [this, handed] { hands_numbers_over<<<1, 64, kBytes>>>(out_.data(), handed); };
  };
  expect({}, launch(Handed::kByPhase));
  expect({}, launch(Handed::kByName));
  for (const Handed handed : {Handed::kByNobody, Handed::kTooLate, Handed::kOnlyByAShuffle})
    expect({"load at ", "store at ", "4 bytes of bytes_smem[",
            "no __syncthreads(), mbarrier or named barrier orders them"},
           launch(handed));
}

// All readers of a ring's only stage must finish before it is overwritten.
__global__ void reads_a_number_by_many(float* out, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Stages& smem = begin(bytes_smem, right ? 224 : 223);
  if (threadIdx.x >= 224) {
    for (int i = 0; i < 2 && threadIdx.x == 224; ++i) {
      hopper::wait(&smem.read[0], i ^ 1);
      smem.numbers[0] = 1.0f;
      hopper::arrive(&smem.here[0]);
    }
    return;
  }
  hopper::wait(&smem.here[0], 0);
  out[threadIdx.x] = smem.numbers[0];
  if (right || threadIdx.x != 100) hopper::arrive(&smem.read[0]);
}

TEST_F(XrayHopperFaults, OneOfManyReadersIsNotWaitedFor) {
  expect({}, [&] { reads_a_number_by_many<<<1, 256, kBytes>>>(out_.data(), true); });
  expect({"store at ", "by thread (224, 0, 0)", "load at ", "by thread (100, 0, 0)"},
         [&] { reads_a_number_by_many<<<1, 256, kBytes>>>(out_.data(), false); });
}

// ---- The mbarrier itself ----

// A named barrier orders two warps after the init, but the third also uses the mbarrier.
__global__ void uses_a_barrier_early(bool right) {
  __shared__ Barrier here_smem;
  if (threadIdx.x == 0) {
    hopper::init(&here_smem, 1);
    hopper::fence_barrier_init();
  }
  if (right || threadIdx.x < 64) hopper::named_barrier_sync(1, right ? 96 : 64);
  if (threadIdx.x == 0) hopper::arrive(&here_smem);
  if (!right && threadIdx.x < 64) hopper::named_barrier_sync(1, 64);
  if (threadIdx.x >= 64 && !right) hopper::named_barrier_sync(2, 32);
  hopper::wait(&here_smem, 0);
}

TEST_F(XrayHopperFaults, BarrierUsedBeforeItsInit) {
  expect({}, [] { uses_a_barrier_early<<<1, 96>>>(true); });
  emulator::set_schedule({Schedule::forward, 0});
  uses_a_barrier_early<<<1, 96>>>(false);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess) << emulator::last_report();
  const std::vector<Kernel> kernels = take();
  ASSERT_FALSE(kernels.front().errors.empty());
  EXPECT_NE(kernels.front().errors.front().message.find(
                "no barrier orders the mbarrier's init before its use"),
            std::string::npos)
      << kernels.front().errors.front().message;
}

__global__ void fences_its_inits(bool right) {
  __shared__ Barrier here_smem;
  if (threadIdx.x == 0) {
    hopper::init(&here_smem, 32);
    if (right) hopper::fence_barrier_init();
  }
  __syncthreads();
  hopper::arrive(&here_smem);
  hopper::wait(&here_smem, 0);
}

TEST_F(XrayHopperFaults, InitWithoutItsFenceIsANote) {
  for (const bool right : {true, false}) {
    expect({}, [] { fences_its_inits<<<1, 32>>>(true); });
    fences_its_inits<<<1, 32>>>(right);
    const std::vector<Kernel> kernels = take();
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_TRUE(kernels.front().errors.empty());
    ASSERT_EQ(kernels.front().notes.size(), right ? 0u : 1u);
    if (right) continue;
    EXPECT_NE(kernels.front().notes.front().message.find("no fence_barrier_init"),
              std::string::npos);
    EXPECT_EQ(kernels.front().notes.front().where.file,
              "common/xray/test/xray_hopper_faults_sm90_test.cu");
  }
}

}  // namespace
