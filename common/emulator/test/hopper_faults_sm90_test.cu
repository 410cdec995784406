// Wrong uses of Hopper's instructions, undefined on a GPU, and the emulator's reports of them.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/cuda/hopper.hpp"
#include "emulator/emulator.hpp"

namespace {

namespace hopper = ladder::cuda::hopper;
using emulator::Schedule;
using hopper::Barrier;
using hopper::Major;
using ladder::bfloat16;

constexpr int kRows = 64, kPanel = hopper::kPanel;
constexpr unsigned kPanelBytes = kRows * kPanel * sizeof(bfloat16);
constexpr unsigned kDynamic = 2 * kPanelBytes + 64;  // two panels, then the barriers

// Device memory for every kernel here: 64 rows of two panels.
class HopperFaults : public testing::Test {
 protected:
  void SetUp() override {
    emulator::reset();
    ASSERT_EQ(cudaMalloc(&memory_, kBytes), cudaSuccess);
    ASSERT_EQ(cudaMemset(memory_, 0, kBytes), cudaSuccess);
    const CUtensorMap map = hopper::make_tensor_map(memory_, kRows, 1, 2 * kPanel, kRows);
    map_ = map;  // a separate variable, because g++ 12 does not align a temporary
  }
  void TearDown() override {
    cudaFree(memory_);
    emulator::reset();
  }

  // Expects the last report to contain all `parts` and to name `places` lines of this file.
  static void expect_report(const std::vector<std::string>& parts, int places = 1) {
    const cudaError_t error = cudaGetLastError();
    EXPECT_EQ(error, cudaErrorLaunchFailure) << cudaGetErrorName(error);
    const std::string text = cudaGetErrorString(error);
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
    int found = -1;  // not counting the launch's own line
    for (std::size_t at = 0;
         (at = text.find("hopper_faults_sm90_test.cu:", at)) != std::string::npos; ++at)
      ++found;
    EXPECT_GE(found, places) << text;
  }

  static constexpr std::size_t kBytes = 2 * kPanelBytes;
  bfloat16* memory_ = nullptr;
  CUtensorMap map_{};
};

// Shared memory of the kernels below.
struct Shared {
  alignas(1024) bfloat16 panel[2][kRows * kPanel];
  Barrier here, read;
};
__device__ void begin(Shared& smem, int here = 1, int read = 32) {
  if (threadIdx.x == 0) {
    hopper::init(&smem.here, here);
    hopper::init(&smem.read, read);
    hopper::fence_barrier_init();
  }
  __syncthreads();
}

// ---- mbarrier ----

__global__ void copies_without_a_fence(const bfloat16* from, bool right) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  if (threadIdx.x == 0) {
    hopper::init(&smem.here, 1);
    if (right) hopper::fence_barrier_init();
    hopper::init(&smem.read, 1);
    hopper::arrive_expect_tx(&smem.here, 16);
    hopper::bulk_copy(smem.panel[0], from, 16, &smem.here);
  }
  __syncthreads();
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, BarrierThatACopyMayNotSeeYet) {
  copies_without_a_fence<<<1, 32, kDynamic>>>(memory_, true);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << emulator::last_report();
  copies_without_a_fence<<<1, 32, kDynamic>>>(memory_, false);
  expect_report({"bulk_copy uses the mbarrier at shared byte",
                 "no fence_barrier_init follows the init in its thread"});
}

__global__ void waits_for_the_parity_that_comes_next() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  if (threadIdx.x < 32) {
    hopper::wait(&smem.read, 0);  // should be 1, because no thread has read yet
    if (threadIdx.x == 0) hopper::arrive(&smem.here);
  } else {
    hopper::wait(&smem.here, 0);
    hopper::arrive(&smem.read);
  }
}
TEST_F(HopperFaults, WrongParity) {
  waits_for_the_parity_that_comes_next<<<1, 64, kDynamic>>>();
  expect_report({"deadlock: nobody ends this wait", "32 threads wait in wait",
                 "for parity 0 (phase 0) of the mbarrier at shared byte", "32 arrivals missing",
                 "initialised for 1 arrival by thread (0, 0, 0) of warp 0"},
                5);
}

__global__ void waits_for_a_parity_of_two() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  hopper::wait(&smem.here, 2);
}
TEST_F(HopperFaults, NoParity) {
  waits_for_a_parity_of_two<<<1, 32, kDynamic>>>();
  expect_report({"a parity is 0 or 1, this is 2"});
}

__global__ void copies_a_panel(const __grid_constant__ CUtensorMap map, int told) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, told);
    hopper::tma_load(smem.panel[0], &map, &smem.here, 0, 0, 0);
  }
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, BytesThatDoNotCome) {
  copies_a_panel<<<1, 32, kDynamic>>>(map_, 2 * kPanelBytes);
  expect_report({"deadlock", "0 arrivals missing", "8192 bytes that thread (0, 0, 0) of warp 0 at",
                 "have not come; no copy is on its way"},
                4);
}
TEST_F(HopperFaults, BytesThatNobodyToldOf) {
  copies_a_panel<<<1, 32, kDynamic>>>(map_, kPanelBytes / 2);
  expect_report({"deadlock", "4096 bytes came that no thread has told of"}, 3);
}
TEST_F(HopperFaults, MoreBytesThanABarrierCounts) {
  copies_a_panel<<<1, 32, kDynamic>>>(map_, 1 << 20);
  expect_report({"arrive_expect_tx: 1048576 bytes", "up to 1048575"});
}

__global__ void counts_too_many() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem, 33);
  hopper::arrive(&smem.here);
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, CountTooLarge) {
  counts_too_many<<<1, 32, kDynamic>>>();
  expect_report(
      {"deadlock", "initialised for 33 arrivals", "1 arrival missing", "(the last: thread"}, 4);
}

__global__ void counts_too_few() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem, 16);
  hopper::arrive(&smem.here);
  __syncwarp();
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, CountTooSmall) {
  counts_too_few<<<1, 32, kDynamic>>>();
  expect_report({"arrive in phase 1 of the mbarrier", "no wait has seen the end of phase 0",
                 "its last arrival: thread (15, 0, 0)", "thread (16, 0, 0)"},
                3);
}

__global__ void waits_too_late() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem, 16);
  hopper::arrive(&smem.here);
  hopper::wait(&smem.here,
               0);  // before these 16 threads continue, the others end the next phase
}
TEST_F(HopperFaults, PhaseThatIsMissed) {
  waits_too_late<<<1, 32, kDynamic>>>();
  expect_report(
      {"deadlock", "phase 0 was over meanwhile, and the next one too: the wait came too late",
       "16 arrivals missing"},
      3);
}

__global__ void arrives_once_more(const __grid_constant__ CUtensorMap map) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, kPanelBytes);
    hopper::arrive(&smem.here);
    hopper::tma_load(smem.panel[0], &map, &smem.here, 0, 0, 0);
  }
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, OneArrivalTooMany) {
  arrives_once_more<<<1, 32, kDynamic>>>(map_);
  expect_report({"arrive: one arrival too many", "waits for 8192 bytes"}, 3);
}

__global__ void has_no_barrier() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  hopper::arrive(&smem.here);
}
TEST_F(HopperFaults, NoInit) {
  has_no_barrier<<<1, 32, kDynamic>>>();
  expect_report(
      {"arrive: there is no mbarrier at shared byte", "nobody has initialised one there"});
}

__global__ void begins_twice() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  if (threadIdx.x < 2) hopper::init(&smem.here, 1);
}
TEST_F(HopperFaults, TwoInits) {
  begins_twice<<<1, 32, kDynamic>>>();
  expect_report({"init: there is a barrier already", "by thread (0, 0, 0)", "thread (1, 0, 0)"}, 2);
}

__global__ void begins_for_nobody() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  if (threadIdx.x == 0) hopper::init(&smem.here, 0);
}
TEST_F(HopperFaults, InitForNobody) {
  begins_for_nobody<<<1, 32, kDynamic>>>();
  expect_report({"init: 0 arrivals; allowed: 1 to 1048575"});
}

__global__ void does_not_wait_for_the_init() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  if (threadIdx.x == 0) hopper::init(&smem.here, 64);
  hopper::arrive(&smem.here);  // without the __syncthreads
}
TEST_F(HopperFaults, InitThatIsNotOrdered) {
  does_not_wait_for_the_init<<<1, 64, kDynamic>>>();
  expect_report({"arrive uses the mbarrier", "by thread (0, 0, 0) of warp 0",
                 "no barrier lies between the two", "thread (1, 0, 0)"},
                2);
}

__global__ void overwrites_the_barrier() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  auto* const panels_smem = reinterpret_cast<bfloat16*>(bytes_smem);
  if (threadIdx.x == 0) panels_smem[2 * kRows * kPanel] = ladder::to_bfloat16(1.0f);  // too far
  __syncthreads();
  hopper::wait(&smem.here, 1);
}
TEST_F(HopperFaults, OverwrittenBarrier) {
  overwrites_the_barrier<<<1, 32, kDynamic>>>();
  expect_report({"wait: the 8 bytes of the mbarrier at shared byte 17408", "were overwritten"}, 2);
}

__global__ void puts_the_barrier_anywhere() {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  if (threadIdx.x == 0)
    hopper::init(reinterpret_cast<Barrier*>(reinterpret_cast<char*>(&smem.here) + 4), 1);
}
TEST_F(HopperFaults, MisalignedBarrier) {
  puts_the_barrier_anywhere<<<1, 32, kDynamic>>>();
  expect_report({"init: the mbarrier is not aligned to 8 bytes"});
}

// ---- Copies ----

__global__ void copies_to(const __grid_constant__ CUtensorMap map, int offset,
                          const CUtensorMap* other, int column) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, kPanelBytes);
    hopper::tma_load(reinterpret_cast<char*>(smem.panel[0]) + offset, other ? other : &map,
                     &smem.here, column, 0, 0);
  }
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, MisalignedPanel) {
  copies_to<<<1, 32, kDynamic>>>(map_, 512, nullptr, 0);
  expect_report({"tma_load: the destination, shared byte 1536, is not aligned to 1024 bytes"});
}
TEST_F(HopperFaults, BoxThatBeginsInsideOf16Bytes) {
  for (const int column : {3, -4}) {
    copies_to<<<1, 32, kDynamic>>>(map_, 0, nullptr, column);
    expect_report({"tma_load: coordinate 0 is " + std::to_string(column) + ", byte " +
                   std::to_string(2 * column) + " of a row; allowed: multiples of 16 bytes"});
  }
}
TEST_F(HopperFaults, PanelBeyondSharedMemory) {
  copies_to<<<1, 32, kDynamic>>>(map_, kPanelBytes + 1024, nullptr, 0);
  expect_report(
      {"tma_load: the 8192 bytes of the destination are not in the block's shared memory"});
}
TEST_F(HopperFaults, MapThatNobodyMade) {
  copies_to<<<1, 32, kDynamic>>>(map_, 0, reinterpret_cast<const CUtensorMap*>(memory_), 0);
  expect_report({"there is no tensor map: cuTensorMapEncodeTiled has not made it"});
}
TEST_F(HopperFaults, MapThatTheDriverRefuses) {
  try {
    hopper::make_tensor_map(memory_, kRows, 1, 60, kRows);
    FAIL();
  } catch (const ladder::CudaError& error) {
    EXPECT_NE(std::string(error.what()).find("globalStrides[0] is 120; allowed: multiples of 16"),
              std::string::npos)
        << error.what();
  }
}

__global__ void copies_bytes(const bfloat16* from, int bytes, int to) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, bytes);
    hopper::bulk_copy(smem.panel[0] + to, from, bytes, &smem.here);
  }
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, MisalignedBytes) {
  copies_bytes<<<1, 32, kDynamic>>>(memory_, 40, 0);
  expect_report({"bulk_copy: 40 bytes; allowed: multiples of 16"});
  copies_bytes<<<1, 32, kDynamic>>>(memory_ + 4, 64, 0);
  expect_report({"bulk_copy: the source is not aligned to 16 bytes"});
  copies_bytes<<<1, 32, kDynamic>>>(memory_, 64, 4);
  expect_report({"bulk_copy: the destination, shared byte 1032, is not aligned to 16 bytes"});
}

TEST_F(HopperFaults, BytesBeyondTheAllocation) {
  copies_bytes<<<1, 32, kDynamic>>>(memory_ + kBytes / 2 - 16, 64, 0);
  expect_report({"bulk_copy reads 64 bytes from", "of which the allocation has 32"});
  const CUtensorMap map = hopper::make_tensor_map(memory_, kRows + 1, 1, 2 * kPanel, kRows + 1);
  copies_to<<<1, 32, kDynamic>>>(map, 0, nullptr, 0);
  expect_report({"tma_load reads 16512 bytes from", "of which the allocation has 16384"});
  cudaFree(memory_);
  copies_bytes<<<1, 32, kDynamic>>>(memory_, 64, 0);
  expect_report({"bulk_copy reads 64 bytes from", "which is no allocation's"});
  memory_ = nullptr;
}

__global__ void leaves_a_copy_alone(const __grid_constant__ CUtensorMap map) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  if (threadIdx.x != 0) return;
  hopper::arrive_expect_tx(&smem.here, kPanelBytes);
  hopper::tma_load(smem.panel[0], &map, &smem.here, 0, 0, 0);
}
TEST_F(HopperFaults, CopyThatNobodyWaitsFor) {
  emulator::set_schedule({Schedule::reverse, 0});
  leaves_a_copy_alone<<<1, 32, kDynamic>>>(map_);
  expect_report(
      {"the block ends while the copy of 8192 bytes that thread (0, 0, 0) of warp 0 began here"});
}

// A tile is read before its copy completes, so the result is wrong if the copy is late.
__global__ void reads_before_the_phase(const __grid_constant__ CUtensorMap map, bfloat16* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPanel; i += 32)
    smem.panel[0][i] = ladder::to_bfloat16(3.0f);
  hopper::fence_proxy_async();
  begin(smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, kPanelBytes);
    hopper::tma_load(smem.panel[0], &map, &smem.here, 0, 0, 0);
  }
  __syncwarp();  // but no wait
  out[threadIdx.x] = smem.panel[0][threadIdx.x];
  hopper::wait(&smem.here, 0);
}
TEST_F(HopperFaults, TileReadBeforeItsPhase) {
  for (const auto& [order, expected] :
       {std::pair{Schedule::forward, 0.0f}, {Schedule::reverse, 3.0f}}) {
    cudaMemset(memory_, 0, kBytes);
    emulator::set_schedule({order, 0});
    reads_before_the_phase<<<1, 32, kDynamic>>>(map_, memory_);
    bfloat16 out[32];
    ASSERT_EQ(cudaMemcpy(out, memory_, sizeof out, cudaMemcpyDeviceToHost), cudaSuccess)
        << emulator::last_report();
    EXPECT_EQ(ladder::to_float(out[5]), expected);
  }
}

// ---- Stores ----

__global__ void stores_from(const __grid_constant__ CUtensorMap map, int offset, int column,
                            const CUtensorMap* other) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  if (threadIdx.x != 0) return;
  hopper::tma_store(other ? other : &map, bytes_smem + offset, column, 0, 0);
  hopper::tma_store_commit();
  hopper::tma_store_wait<0>();
}
TEST_F(HopperFaults, StoreFromAMisalignedPanel) {
  stores_from<<<1, 32, kDynamic>>>(map_, 512, 0, nullptr);
  expect_report({"tma_store: the source, shared byte 1536, is not aligned to 1024 bytes"});
}
TEST_F(HopperFaults, StoreOfABoxThatBeginsInsideOf16Bytes) {
  stores_from<<<1, 32, kDynamic>>>(map_, 0, 4, nullptr);
  expect_report({"tma_store: coordinate 0 is 4, byte 8 of a row; allowed: multiples of 16"});
}
TEST_F(HopperFaults, StoreFromBeyondSharedMemory) {
  stores_from<<<1, 32, kDynamic>>>(map_, kPanelBytes + 1024, 0, nullptr);
  expect_report({"tma_store: the 8192 bytes of the source are not in the block's shared memory"});
}
TEST_F(HopperFaults, StoreByAMapThatNobodyMade) {
  stores_from<<<1, 32, kDynamic>>>(map_, 0, 0, reinterpret_cast<const CUtensorMap*>(memory_));
  expect_report({"tma_store: there is no tensor map: cuTensorMapEncodeTiled has not made it"});
}
TEST_F(HopperFaults, StoreThatBeginsInFrontOfTheTensor) {
  stores_from<<<1, 32, kDynamic>>>(map_, 0, -8, nullptr);
  expect_report({"tma_store: coordinate 0 is -8"});
}

__global__ void stores_bytes(bfloat16* to, int bytes, int from) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  if (threadIdx.x != 0) return;
  hopper::store_bytes(to, bytes_smem + from, bytes);
  hopper::tma_store_commit();
  hopper::tma_store_wait<0>();
}
TEST_F(HopperFaults, StoreOfMisalignedBytes) {
  stores_bytes<<<1, 32, kDynamic>>>(memory_, 40, 0);
  expect_report({"store_bytes: 40 bytes; allowed: multiples of 16"});
  stores_bytes<<<1, 32, kDynamic>>>(memory_ + 4, 64, 0);
  expect_report({"store_bytes: the destination is not aligned to 16 bytes"});
  stores_bytes<<<1, 32, kDynamic>>>(memory_, 64, 8);
  expect_report({"store_bytes: the source, shared byte 1032, is not aligned to 16 bytes"});
}
TEST_F(HopperFaults, StoreBeyondTheAllocation) {
  stores_bytes<<<1, 32, kDynamic>>>(memory_ + kBytes / 2 - 16, 64, 0);
  expect_report({"store_bytes writes 64 bytes from", "of which the allocation has 32"});
  const CUtensorMap map = hopper::make_tensor_map(memory_, kRows + 1, 1, 2 * kPanel, kRows + 1);
  stores_from<<<1, 32, kDynamic>>>(map, 0, 0, nullptr);
  expect_report({"tma_store writes 16512 bytes from", "of which the allocation has 16384"});
  cudaFree(memory_);
  stores_bytes<<<1, 32, kDynamic>>>(memory_, 64, 0);
  expect_report({"store_bytes writes 64 bytes from", "which is no allocation's"});
  memory_ = nullptr;
}

// Whether the store has read its bytes meanwhile does not matter.
template <bool kCommits, bool kWaits>
__global__ void leaves_a_store_alone(bfloat16* to) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  if (threadIdx.x != 0) return;
  hopper::store_bytes(to, bytes_smem, 64);
  if constexpr (kCommits) hopper::tma_store_commit();
  if constexpr (kWaits) hopper::tma_store_wait_read<0>();
}
TEST_F(HopperFaults, StoreThatNobodyWaitsFor) {
  for (const auto order : {Schedule::forward, Schedule::reverse}) {
    emulator::set_schedule({order, 0});
    leaves_a_store_alone<true, false><<<1, 32, kDynamic>>>(memory_);
    expect_report(
        {"the block ends while the store of 64 bytes that thread (0, 0, 0) of warp 0 "
         "began here may be reading them from shared memory"});
    leaves_a_store_alone<false, true><<<1, 32, kDynamic>>>(memory_);
    expect_report({"the block ends while the store of 64 bytes", "(it is in no group)"});
    leaves_a_store_alone<true, true><<<1, 32, kDynamic>>>(memory_);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << emulator::last_report();
  }
}

// DeepEP's issue 657, a wait for all groups but the last, although only one is in flight. The next
// stores overwrite its source. tma_store_wait_read alone does not make the result visible.
template <int kPending, bool kRead>
__global__ void stores_and_overwrites(float* to, float* seen) {
  __shared__ alignas(16) float stage_smem[32];
  stage_smem[threadIdx.x] = 1.0f;
  hopper::fence_proxy_async();
  __syncwarp();
  if (threadIdx.x == 0) {
    hopper::store_bytes(to, stage_smem, sizeof stage_smem);
    hopper::tma_store_commit();
    if constexpr (kRead)
      hopper::tma_store_wait_read<kPending>();
    else
      hopper::tma_store_wait<kPending>();
  }
  __syncwarp();
  stage_smem[threadIdx.x] = 2.0f;
  if (threadIdx.x != 0) return;
  *seen = to[5];
  hopper::tma_store_wait_read<0>();
}
class HopperStoreTiming : public HopperFaults {
 protected:
  // The stored number, and the number that the thread has read back.
  template <int kPending, bool kRead>
  std::pair<float, float> result(Schedule::Order order) {
    emulator::set_schedule({order, 0});
    float* const floats = reinterpret_cast<float*>(memory_);
    EXPECT_EQ(cudaMemset(memory_, 0, kBytes), cudaSuccess);
    stores_and_overwrites<kPending, kRead><<<1, 32>>>(floats, floats + 32);
    float out[33];
    EXPECT_EQ(cudaMemcpy(out, memory_, sizeof out, cudaMemcpyDeviceToHost), cudaSuccess)
        << emulator::last_report();
    return {out[5], out[32]};
  }
};
TEST_F(HopperStoreTiming, WaitForOneGroupTooFew) {
  using Result = std::pair<float, float>;
  EXPECT_EQ((result<1, true>(Schedule::forward)), Result(1, 1));
  EXPECT_EQ((result<1, true>(Schedule::reverse)), Result(2, 0));
}
TEST_F(HopperStoreTiming, WaitForTheReadAlone) {
  using Result = std::pair<float, float>;
  EXPECT_EQ((result<0, true>(Schedule::forward)), Result(1, 1));
  EXPECT_EQ((result<0, true>(Schedule::reverse)), Result(1, 0));
}
TEST_F(HopperStoreTiming, TheWaitThatIsRight) {
  using Result = std::pair<float, float>;
  EXPECT_EQ((result<0, false>(Schedule::forward)), Result(1, 1));
  EXPECT_EQ((result<0, false>(Schedule::reverse)), Result(1, 1));
}

// ---- Products ----

enum class Fault {
  kNone,
  kNoSwizzle,
  kStride,
  kPanels,
  kPattern,
  kBeyond,
  kD,
  kA,
  kFence,
  kDescriptors,
  kCommits,
  kWarp,
  kTwoShapes,
  kOtherD,
  kLine,
};

// Two panels of 64 rows are copied, then multiplied with B of 128 outputs, or of 64 rows.
template <Fault kFault>
__global__ void multiplies(const __grid_constant__ CUtensorMap map, float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, 2 * kPanelBytes);
    for (int p = 0; p < 2; ++p)
      hopper::tma_load(smem.panel[p], &map, &smem.here, p * kPanel, 0, 0);
  }
  hopper::wait(&smem.here, 0);
  std::uint64_t rows = hopper::matrix_descriptor(smem.panel[0]);
  if constexpr (kFault == Fault::kNoSwizzle) rows &= ~(std::uint64_t{3} << 62);
  if constexpr (kFault == Fault::kStride) rows -= std::uint64_t{512 >> 4} << 32;
  if constexpr (kFault == Fault::kPattern) rows = hopper::advance(rows, 128);
  if constexpr (kFault == Fault::kBeyond) rows = hopper::advance(rows, 2 * kPanelBytes - 1024);
  if constexpr (kFault == Fault::kDescriptors)
    if (threadIdx.x >= 96) rows = hopper::advance(rows, hopper::kNextK);
  if constexpr (kFault == Fault::kWarp)
    if (threadIdx.x >= 96) return;
  float d[32] = {}, wide[64] = {};
  std::uint32_t a[1][4] = {};
  if constexpr (kFault != Fault::kFence) hopper::wgmma_fence();
  if constexpr (kFault == Fault::kPanels) {
    hopper::wgmma<bfloat16, 128, Major::kMN>(wide, a[0], hopper::matrix_descriptor(smem.panel[0]));
  } else if constexpr (kFault == Fault::kNone) {
    hopper::wgmma<bfloat16, 128, Major::kMN>(wide, a[0],
                                             hopper::matrix_descriptor(smem.panel[0], kPanelBytes));
  }
  hopper::wgmma<bfloat16, 64, Major::kK>(
      kFault == Fault::kOtherD && threadIdx.x == 7 ? *reinterpret_cast<float(*)[32]>(&wide[32]) : d,
      a[0], rows);
  if constexpr (kFault == Fault::kOtherD) hopper::wgmma<bfloat16, 64, Major::kK>(d, a[0], rows);
  if constexpr (kFault == Fault::kTwoShapes)
    hopper::wgmma<bfloat16, 128, Major::kMN>(*reinterpret_cast<float(*)[64]>(d), a[0],
                                             hopper::matrix_descriptor(smem.panel[0], kPanelBytes));
  if constexpr (kFault == Fault::kLine) {
    if (threadIdx.x < 32)
      hopper::wgmma<bfloat16, 64, Major::kK>(d, a[0], rows);
    else
      hopper::wgmma<bfloat16, 64, Major::kK>(d, a[0], rows, false);
  }
  if constexpr (kFault == Fault::kCommits)
    if (threadIdx.x == 5) hopper::wgmma<bfloat16, 64, Major::kK>(d, a[0], rows);
  hopper::wgmma_commit_group();
  if constexpr (kFault == Fault::kD) d[3] *= 2.0f;
  if constexpr (kFault == Fault::kA) a[0][2] += 1;
  hopper::wgmma_wait_group<0>();
  out[threadIdx.x] = d[0] + wide[0];
}

class HopperProductFaults : public HopperFaults {
 protected:
  template <Fault kFault>
  void launch() {
    multiplies<kFault><<<1, 128, kDynamic>>>(map_, reinterpret_cast<float*>(memory_));
  }
};

TEST_F(HopperProductFaults, None) {
  launch<Fault::kNone>();
  const cudaError_t error = cudaGetLastError();
  EXPECT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}
TEST_F(HopperProductFaults, OtherSwizzle) {
  launch<Fault::kNoSwizzle>();
  expect_report({"m64n64k16: the descriptor of B (begins at shared byte 1024", "no swizzle",
                 "is not of the tile's layout: the 128-byte swizzle in the map of the copy by "
                 "thread (0, 0, 0) of warp 0"},
                2);
}
TEST_F(HopperProductFaults, OtherStride) {
  launch<Fault::kStride>();
  expect_report({"stride 512",
                 "does not fit the tile: its row 8, term 0 is row 4, column 0 from where it "
                 "begins, not row 8, column 0",
                 "copied by thread (0, 0, 0)"},
                2);
}
TEST_F(HopperProductFaults, OtherPanels) {
  launch<Fault::kPanels>();
  expect_report(
      {"m64n128k16", "leading 16,",
       "its output 64, term 0 is row 0, column 8 from where it begins, not row 0, column 64"},
      2);
}
TEST_F(HopperProductFaults, InsideOfThePattern) {
  launch<Fault::kPattern>();
  expect_report(
      {"begins inside of the swizzle's pattern: the operand is not aligned to 1024 bytes, and the "
       "base offset is 0"});
}
TEST_F(HopperProductFaults, BeyondSharedMemory) {
  launch<Fault::kBeyond>();
  expect_report({"reaches beyond the block's shared memory"});
}
TEST_F(HopperProductFaults, SumsTouchedBeforeTheWait) {
  launch<Fault::kD>();
  expect_report({"wgmma_wait_group: register 3 of D was changed before it", "m64n64k16"}, 2);
}
TEST_F(HopperProductFaults, OperandTouchedBeforeTheWait) {
  launch<Fault::kA>();
  expect_report({"wgmma_wait_group: registers of A were changed before it", "m64n64k16"}, 2);
}
TEST_F(HopperProductFaults, NoFence) {
  launch<Fault::kFence>();
  expect_report({"wgmma: no wgmma_fence since the registers of D were last the program's own"});
}
TEST_F(HopperProductFaults, DescriptorsThatDiffer) {
  launch<Fault::kDescriptors>();
  expect_report({"must issue the same product", "thread (0, 0, 0) of warp 0 at",
                 "another shape, descriptor or add"},
                2);
}
TEST_F(HopperProductFaults, ProductsAtTwoLines) {
  launch<Fault::kLine>();
  expect_report({"must issue the same product", "issued another one"}, 2);
}
TEST_F(HopperProductFaults, CommitsThatDiffer) {
  launch<Fault::kCommits>();
  expect_report(
      {"wgmma_commit_group after 2 products of this thread, but after 1 of thread (0, 0, 0)"}, 2);
}
TEST_F(HopperProductFaults, WarpThatDoesNotCome) {
  launch<Fault::kWarp>();
  expect_report({"deadlock: nobody ends this wgmma_wait_group", "for the product m64n64k16 of",
                 "96 of 128 threads have issued it", "thread (96, 0, 0) of warp 3 has not"},
                2);
}
TEST_F(HopperProductFaults, SumsOfTwoShapes) {
  launch<Fault::kTwoShapes>();
  expect_report({"takes registers of D that a product with n = 64 is still using"});
}
TEST_F(HopperProductFaults, SumsInOtherRegisters) {
  launch<Fault::kOtherD>();
  expect_report(
      {"the registers of D are others than those that the product of the same warpgroup had"}, 2);
}
TEST_F(HopperProductFaults, ThreeWarps) {
  multiplies<Fault::kNone><<<1, 96, kDynamic>>>(map_, reinterpret_cast<float*>(memory_));
  expect_report({"needs four whole warps: the block's 96 threads end inside of warpgroup 0"});
}

__global__ void looks_at_sums_early(float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPanel; i += 128)
    smem.panel[0][i] = ladder::to_bfloat16(1.0f);
  hopper::fence_proxy_async();
  __syncthreads();
  float d[32];
  hopper::wgmma_fence();
  hopper::wgmma<bfloat16, 64, Major::kK, Major::kK>(
      d, hopper::matrix_descriptor(smem.panel[0]), hopper::matrix_descriptor(smem.panel[0]), false);
  hopper::wgmma_wait_group<0>();  // of no group, because the product is not committed
  out[threadIdx.x] = d[0];
  hopper::wgmma_commit_group();
  hopper::wgmma_wait_group<1>();  // leaves the only group pending
  out[threadIdx.x + 128] = d[0];
  hopper::wgmma_wait_group<0>();
  out[threadIdx.x + 256] = d[0];
}
TEST_F(HopperProductFaults, SumsReadBeforeTheirWaitAreNaN) {
  for (const auto order : {Schedule::forward, Schedule::reverse, Schedule::shuffle}) {
    emulator::set_schedule({order, 1});
    looks_at_sums_early<<<1, 128, kDynamic>>>(reinterpret_cast<float*>(memory_));
    float out[3 * 128];
    ASSERT_EQ(cudaMemcpy(out, memory_, sizeof out, cudaMemcpyDeviceToHost), cudaSuccess)
        << emulator::last_report();
    for (int t = 0; t < 128; ++t) {
      EXPECT_TRUE(std::isnan(out[t]));
      EXPECT_TRUE(std::isnan(out[t + 128]));
      EXPECT_EQ(out[t + 256], 16.0f);
    }
  }
}

// A stage is released and overwritten before its product is complete. A late product is wrong.
__global__ void hands_a_stage_back_early(float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  begin(smem, 128);
  const auto fill = [&](float x) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kPanel; i += 128)
      smem.panel[0][i] = ladder::to_bfloat16(x);
    hopper::fence_proxy_async();
    hopper::arrive(&smem.here);
  };
  fill(1.0f);
  hopper::wait(&smem.here, 0);
  float d[32];
  hopper::wgmma_fence();
  hopper::wgmma<bfloat16, 64, Major::kK, Major::kK>(
      d, hopper::matrix_descriptor(smem.panel[0]), hopper::matrix_descriptor(smem.panel[0]), false);
  hopper::wgmma_commit_group();
  hopper::named_barrier_sync(1, 128);  // all threads have issued it, but it may still read
  fill(2.0f);
  hopper::wait(&smem.here, 1);
  hopper::wgmma_wait_group<0>();
  out[threadIdx.x] = d[0];
}
TEST_F(HopperProductFaults, StageHandedBackEarly) {
  for (const auto& [order, expected] :
       {std::pair{Schedule::forward, 16.0f}, {Schedule::reverse, 64.0f}}) {
    emulator::set_schedule({order, 0});
    hands_a_stage_back_early<<<1, 128, kDynamic>>>(reinterpret_cast<float*>(memory_));
    float out[128];
    ASSERT_EQ(cudaMemcpy(out, memory_, sizeof out, cudaMemcpyDeviceToHost), cudaSuccess)
        << emulator::last_report();
    EXPECT_EQ(out[77], expected);
  }
}

// ---- Named barriers ----

__global__ void counts_differently() {
  if (threadIdx.x < 32)
    hopper::named_barrier_arrive(1, 64);
  else
    hopper::named_barrier_sync(1, 96);
}
TEST_F(HopperFaults, NamedBarrierWithTwoCounts) {
  counts_differently<<<1, 96>>>();
  expect_report({"barrier 1 for 96 threads, but for 64 as thread (31, 0, 0) of warp 0 at"}, 2);
}

__global__ void comes_twice() {
  if (threadIdx.x < 32) {
    hopper::named_barrier_arrive(2, 64);
    hopper::named_barrier_arrive(2, 64);
  } else {
    hopper::named_barrier_sync(2, 64);
  }
}
TEST_F(HopperFaults, WarpThatComesTwice) {
  comes_twice<<<1, 64>>>();
  expect_report(
      {"named_barrier_arrive: warp 0 comes to barrier 2 a second time before it is complete; the "
       "first time: thread (31, 0, 0)"},
      2);
}

__global__ void waits_for_too_many() {
  hopper::named_barrier_sync(3, 96);
}
TEST_F(HopperFaults, NamedBarrierThatNobodyEnds) {
  waits_for_too_many<<<1, dim3(96 + 32)>>>();
  expect_report({"deadlock: nobody ends this named_barrier_sync",
                 "at barrier 3: 32 of 96 threads have come", "warp 3 waits at"},
                2);
}

__global__ void names(int name, int threads) {
  hopper::named_barrier_sync(name, threads);
}
TEST_F(HopperFaults, NamesAndCountsThatAreNone) {
  names<<<1, 32>>>(16, 32);
  expect_report({"named_barrier_sync: the name is 16; allowed: 1 to 15"});
  names<<<1, 32>>>(0, 32);
  expect_report({"named_barrier_sync: the name is 0; allowed: 1 to 15"});
  names<<<1, 32>>>(1, 33);
  expect_report({"barrier 1 for 33 threads; allowed: multiples of 32 up to the block's 32"});
  names<<<1, 32>>>(1, 64);
  expect_report({"barrier 1 for 64 threads; allowed: multiples of 32 up to the block's 32"});
}

// ---- setmaxnreg ----

__global__ void __launch_bounds__(256, 1) takes_without_giving() {
  hopper::setmaxnreg_inc<256>();
}
TEST_F(HopperFaults, RegistersThatNobodyGives) {
  takes_without_giving<<<1, 256>>>();
  expect_report({"deadlock: nobody ends this setmaxnreg_inc",
                 "for 256 registers a thread; free in the block: 0, wanted by the warp: 32",
                 "a thread has in warp 0: 255"});
}

__global__ void __launch_bounds__(384, 1) gives_too_little() {
  if (threadIdx.x < 128)
    hopper::setmaxnreg_dec<40>();
  else
    hopper::setmaxnreg_inc<240>();
}
TEST_F(HopperFaults, TooFewRegistersGiven) {
  gives_too_little<<<1, 384>>>();
  expect_report({"deadlock: nobody ends this setmaxnreg_inc",
                 "free in the block: 256, wanted by the warp: 2304", "in warp 0: 40",
                 "in warp 11: 168"});
}

__global__ void __launch_bounds__(384, 1) gives_too_little_and_waits() {
  if (threadIdx.x < 128)
    hopper::setmaxnreg_dec<40>();
  else
    hopper::setmaxnreg_inc<240>();
  hopper::named_barrier_sync(1, 384);
}
TEST_F(HopperFaults, RegistersThatOthersWaitFor) {
  gives_too_little_and_waits<<<1, 384>>>();
  expect_report(
      {"deadlock: nobody ends this setmaxnreg_inc", "32 threads wait in setmaxnreg_inc",
       "352 threads wait in named_barrier_sync", "at barrier 1: 352 of 384 threads have come"},
      3);
}

__global__ void __launch_bounds__(256, 1) gives_in_some_warps(unsigned from) {
  if (threadIdx.x >= from) hopper::setmaxnreg_dec<40>();
}
TEST_F(HopperFaults, RegistersOfAPartOfAWarpgroup) {
  for (const unsigned right : {0u, 128u, 256u}) {
    gives_in_some_warps<<<1, 256>>>(right);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << emulator::last_report();
  }
  gives_in_some_warps<<<1, 256>>>(160);
  expect_report(
      {"setmaxnreg is for all four warps of a warpgroup: warp 4 has executed 0 and ends "
       "with 255 registers a thread, warp 5 1, with 40"});
}

template <int kRegisters, bool kMore>
__global__ void __launch_bounds__(512, 1) changes_registers() {
  if constexpr (kMore)
    hopper::setmaxnreg_inc<kRegisters>();
  else
    hopper::setmaxnreg_dec<kRegisters>();
}
TEST_F(HopperFaults, RegistersInTheWrongDirection) {
  changes_registers<136, false><<<1, 512>>>();
  expect_report({"setmaxnreg_dec: 136 registers, where a thread has 128: it can only give"});
  changes_registers<120, true><<<1, 512>>>();
  expect_report({"setmaxnreg_inc: 120 registers, where a thread has 128: it can only take"});
  changes_registers<100, false><<<1, 512>>>();
  expect_report({"setmaxnreg_dec: 100 registers; allowed: multiples of 8 from 24 to 256"});
  changes_registers<16, false><<<1, 512>>>();
  expect_report({"setmaxnreg_dec: 16 registers; allowed: multiples of 8 from 24 to 256"});
}

__global__ void has_no_bounds() {
  hopper::setmaxnreg_dec<24>();
}
TEST_F(HopperFaults, RegistersOfAKernelWithoutBounds) {
  has_no_bounds<<<1, 128>>>();
  expect_report({"setmaxnreg_dec in a kernel without __launch_bounds__"});
}

}  // namespace
