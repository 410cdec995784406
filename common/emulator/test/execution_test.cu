// Kernels run: identity, barriers, shared memory, warp operations, atomics, schedules.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "after_reset.hpp"
#include "device_vector.hpp"

namespace {

using emulator::Schedule;

class Execution : public AfterReset {};

__global__ void write_identity(int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  out[i] = i;
}

TEST_F(Execution, EveryThreadRunsOnceAndEarlyExitsAreFine) {
  DeviceVector<int> out(1000);
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    out.assign(std::vector<int>(1000, -1));
    write_identity<<<4, 256>>>(out.data(), 1000);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<int> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(out.host(), expected);
  }
}

template <int n, typename Value>
__global__ void write_value(Value* out, Value value) {
  out[0] = value + n;
}

TEST_F(Execution, LaunchesCanBeNotedInsteadOfRun) {
  DeviceVector<int> out(std::vector<int>{7});
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<const void*> copies;
  const auto noted = emulator::launches_of(
      [&] {
        write_identity<<<dim3(4, 2), 256, 96>>>(out.data(), 1000);
        cudaMemcpyAsync(out.data(), out.data(), sizeof(int), cudaMemcpyDeviceToDevice);
        write_value<2><<<1, 32, 0, stream>>>(out.data(), 3);
        cudaMemsetAsync(out.data() + 1, 0, 0, stream);  // no bytes, so not noted
        cudaMemsetAsync(out.data(), 7, 1, stream);
      },
      &copies);
  EXPECT_EQ(copies, (std::vector<const void*>{nullptr, stream}));
  ASSERT_EQ(noted.size(), 2u);
  EXPECT_EQ(noted[0].name, "write_identity");
  EXPECT_EQ(noted[0].kernel, reinterpret_cast<const void*>(write_identity));
  EXPECT_EQ(noted[0].grid.y, 2u);
  EXPECT_EQ(noted[0].block.x, 256u);
  EXPECT_EQ(noted[0].dynamic_shared_bytes, 96u);
  EXPECT_EQ(noted[1].kernel, reinterpret_cast<const void*>(write_value<2, int>));
  EXPECT_EQ(out.host(), std::vector<int>{7});
  write_value<2><<<1, 32>>>(out.data(), 3);
  EXPECT_EQ(out.host(), std::vector<int>{5});  // launches run again
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

__global__ void count_in_three_dimensions(int* counts) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(&counts[block * (blockDim.x * blockDim.y * blockDim.z) + thread], 1);
}

TEST_F(Execution, GridsAndBlocksHaveThreeDimensions) {
  DeviceVector<int> counts(std::vector<int>(2 * 3 * 4 * 5 * 6 * 7, 0));
  count_in_three_dimensions<<<dim3(2, 3, 4), dim3(5, 6, 7)>>>(counts.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(counts.host(), std::vector<int>(2 * 3 * 4 * 5 * 6 * 7, 1));
}

template <bool with_barrier>
__global__ void reverse_through_shared(const int* in, int* out) {
  __shared__ int tile[1024];
  tile[threadIdx.x] = in[threadIdx.x];
  if constexpr (with_barrier) __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

std::vector<std::vector<int>> under_every_schedule(const std::function<void(int*)>& launch, int n) {
  std::vector<std::vector<int>> results;
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    DeviceVector<int> out(n);
    launch(out.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << emulator::last_report();
    results.push_back(out.host());
  }
  return results;
}

TEST_F(Execution, BarrierOrdersABlockOf1024ThreadsUnderEverySchedule) {
  std::vector<int> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 0);
  const DeviceVector<int> in(numbers);
  const std::vector<int> expected(numbers.rbegin(), numbers.rend());
  for (const auto& result : under_every_schedule(
           [&](int* out) { reverse_through_shared<true><<<1, 1024>>>(in.data(), out); }, 1024)) {
    EXPECT_EQ(result, expected);
  }
}

TEST_F(Execution, MissingBarrierGivesDifferentAnswers) {
  std::vector<int> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 0);
  const DeviceVector<int> in(numbers);
  const auto results = under_every_schedule(
      [&](int* out) { reverse_through_shared<false><<<1, 64>>>(in.data(), out); }, 64);
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_NE(results[i], results[j]) << i << " and " << j;
  }
}

__global__ void append_in_turn(int* order, int* next) {
  order[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x);
}

TEST_F(Execution, BlocksStartInTheScheduledOrder) {
  emulator::set_workers(1);
  const auto order = [](Schedule schedule) {
    emulator::set_schedule(schedule);
    DeviceVector<int> out(50);
    DeviceVector<int> next(std::vector<int>{0});
    append_in_turn<<<50, 1>>>(out.data(), next.data());
    return out.host();
  };
  std::vector<int> forward(50);
  std::iota(forward.begin(), forward.end(), 0);
  EXPECT_EQ(order({Schedule::forward, 0}), forward);
  EXPECT_EQ(order({Schedule::reverse, 0}), std::vector<int>(forward.rbegin(), forward.rend()));
  const std::vector<int> shuffled = order({Schedule::shuffle, 7});
  EXPECT_NE(shuffled, forward);
  EXPECT_EQ(shuffled, order({Schedule::shuffle, 7}));
  EXPECT_NE(shuffled, order({Schedule::shuffle, 8}));
  std::vector<int> sorted = shuffled;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, forward);
}

__global__ void many_barriers(int* out, int rounds) {
  __shared__ int value[256];
  const unsigned tid = threadIdx.x;
  value[tid] = static_cast<int>(tid);
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const int next = value[(tid + 1) % blockDim.x];
    __syncthreads();
    value[tid] = next;
  }
  out[tid] = value[tid];
}

TEST_F(Execution, BarriersInALoopKeepStep) {
  for (const auto& result :
       under_every_schedule([](int* out) { many_barriers<<<1, 256>>>(out, 100); }, 256)) {
    for (int i = 0; i < 256; ++i)
      ASSERT_EQ(result[i], (i + 100) % 256);
  }
}

__global__ void vote(int* out) {
  const int tid = static_cast<int>(threadIdx.x);
  const int count = __syncthreads_count(tid % 3 == 0);
  const int all = __syncthreads_and(tid >= 0);
  const int not_all = __syncthreads_and(tid != 5);
  const int any = __syncthreads_or(tid == 5);
  const int none = __syncthreads_or(tid < 0);
  out[tid] = count * 10000 + all * 1000 + not_all * 100 + any * 10 + none;
}

TEST_F(Execution, BarriersVote) {
  for (const auto& result : under_every_schedule([](int* out) { vote<<<1, 100>>>(out); }, 100)) {
    EXPECT_EQ(result, std::vector<int>(100, 341010));
  }
}

constexpr unsigned kFull = 0xffffffffu;

__global__ void warp_sums(const float* in, float* out) {
  float sum = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_down_sync(kFull, sum, offset);
  if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = sum;
}

TEST_F(Execution, ShuffleReductionSums) {
  std::vector<float> numbers(512);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const DeviceVector<float> in(numbers);
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    DeviceVector<float> out(16);
    warp_sums<<<4, 128>>>(in.data(), out.data());
    const std::vector<float> sums = out.host();
    for (int warp = 0; warp < 16; ++warp) {
      EXPECT_EQ(sums[warp], std::accumulate(&numbers[warp * 32], &numbers[warp * 32] + 32, 0.0f));
    }
  }
}

__global__ void shuffle_kinds(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  int* const row = out + 8 * lane;
  row[0] = __shfl_sync(kFull, lane, 3);
  row[1] = __shfl_sync(kFull, lane, 9, 8);
  row[2] = __shfl_up_sync(kFull, lane, 3, 16);
  row[3] = __shfl_down_sync(kFull, lane, 3, 16);
  row[4] = __shfl_xor_sync(kFull, lane, 5);
  row[5] = __shfl_xor_sync(kFull, lane, 16, 16);
  row[6] = static_cast<int>(__shfl_sync(kFull, 1e300 * lane, 2) / 1e300);
  row[7] = static_cast<int>(__shfl_sync(kFull, (1ll << 40) * lane, 31) >> 40);
}

TEST_F(Execution, ShufflesFollowTheirDocumentation) {
  for (const auto& out : under_every_schedule([](int* p) { shuffle_kinds<<<1, 32>>>(p); }, 256)) {
    for (int lane = 0; lane < 32; ++lane) {
      const int expected[] = {3,
                              lane / 8 * 8 + 1,
                              lane % 16 >= 3 ? lane - 3 : lane,
                              lane % 16 + 3 < 16 ? lane + 3 : lane,
                              lane ^ 5,
                              lane < 16 ? lane : lane - 16,
                              2,
                              31};
      for (int i = 0; i < 8; ++i)
        ASSERT_EQ(out[8 * lane + i], expected[i]) << lane << ' ' << i;
    }
  }
}

// The records that the emulator writes during `work`.
std::vector<std::string> facts_of(const std::function<void()>& work) {
  const std::string path = testing::TempDir() + "facts_" + std::to_string(getpid());
  setenv("EMULATOR_FACTS", path.c_str(), 1);
  work();
  unsetenv("EMULATOR_FACTS");
  std::vector<std::string> facts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    facts.push_back(line);
  std::remove(path.c_str());
  return facts;
}

__global__ void absent_sources(float* out) {
  if (threadIdx.x == 30) return;
  out[threadIdx.x] = __shfl_down_sync(~(1u << 30), 1.0f, 2);
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffu, 1.0f, 16);
}

TEST_F(Execution, NotesWhoTakesTheValueOfAnAbsentLane) {
  DeviceVector<float> out(32);
  const std::vector<std::string> facts = facts_of([&] { absent_sources<<<2, 32>>>(out.data()); });
  ASSERT_EQ(facts.size(), 2u);
  const std::string &first = facts[0], &second = facts[1];
  EXPECT_NE(first.find(": lane 28 takes the value of lane 30 by __shfl_down_sync, and lane 30 is "
                       "not in the mask 0xbfffffff"),
            std::string::npos)
      << first;
  EXPECT_NE(second.find(": lane 0 takes the value of lane 16 by __shfl_xor_sync, and lane 16 is "
                        "not in the mask 0x0000ffff"),
            std::string::npos)
      << second;
}

__global__ void half_waits() {
  if (threadIdx.x < 16) __syncthreads();
}

TEST_F(Execution, WritesAFailedLaunchAsARecord) {
  const std::vector<std::string> facts = facts_of([] { half_waits<<<1, 32>>>(); });
  ASSERT_EQ(facts.size(), 1u);
  for (const char* const part : {R"("fact":"failed launch")", R"("kind":"divergence")",
                                 R"("kernel":"half_waits")", R"("error":"cudaErrorLaunchFailure")",
                                 R"("block":[0,0,0])", R"("thread":[0,0,0])", "execution_test.cu:"})
    EXPECT_NE(facts[0].find(part), std::string::npos) << facts[0];
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
}

__global__ void warp_votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned* const row = out + 10 * lane;
  row[0] = __ballot_sync(kFull, lane % 2);
  row[1] = __any_sync(kFull, lane == 7) + 2 * __any_sync(kFull, lane > 31);
  row[2] = __all_sync(kFull, lane != 7) + 2 * __all_sync(kFull, lane < 32);
  row[3] = __reduce_add_sync(kFull, lane);
  row[4] = static_cast<unsigned>(__reduce_min_sync(kFull, static_cast<int>(lane) - 5));
  row[5] = __reduce_max_sync(kFull, lane);
  row[6] = __reduce_and_sync(kFull, lane | 32u);
  row[7] = __reduce_or_sync(kFull, lane);
  row[8] = __reduce_xor_sync(kFull, 1u << lane);
  row[9] = __activemask() >> lane & 1u;
}

TEST_F(Execution, VotesAndReductions) {
  DeviceVector<unsigned> out(320);
  warp_votes<<<1, 32>>>(out.data());
  const std::vector<unsigned> result = out.host();
  const std::vector<unsigned> expected = {0xaaaaaaaau, 1,  2,  496,   static_cast<unsigned>(-5),
                                          31,          32, 31, kFull, 1};
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(std::vector<unsigned>(&result[10 * lane], &result[10 * lane] + 10), expected);
  }
}

__global__ void halves(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane >= 40) return;
  if (lane % 32 < 16) {
    out[lane] = __shfl_sync(0x0000ffffu, lane, 2);
  } else {
    out[lane] = __shfl_sync(0xffff0000u, lane, 17);
  }
  __syncwarp();
}

TEST_F(Execution, PartsOfAWarpWorkApartAndReturnedLanesAreNotAwaited) {
  for (const auto& out : under_every_schedule([](int* p) { halves<<<1, 64>>>(p); }, 64)) {
    for (int lane = 0; lane < 40; ++lane) {
      EXPECT_EQ(out[lane], lane / 32 * 32 + (lane % 32 < 16 ? 2 : 17));
    }
  }
}

__global__ void read_a_returned_lane(float* out) {
  if (threadIdx.x == 1) return;
  out[threadIdx.x] = __shfl_sync(kFull, 1.0f, 1);
}

TEST_F(Execution, AReturnedLaneShufflesNan) {
  DeviceVector<float> out(32);
  read_a_returned_lane<<<1, 32>>>(out.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(std::isnan(out.host()[0]));
}

__global__ void add_everywhere(float* f, double* d, int* i, unsigned* u, unsigned long long* l) {
  for (int n = 0; n < 10; ++n) {
    atomicAdd(f, 1);
    atomicAdd(d, 0.5);
    atomicAdd(i, -1);
    atomicAdd(u, 2);
    atomicAdd(l, 1ull << 33);
  }
}

TEST_F(Execution, AtomicsFromManyBlocksAddUp) {
  DeviceVector<float> f(std::vector<float>{0});
  DeviceVector<double> d(std::vector<double>{0});
  DeviceVector<int> i(std::vector<int>{0});
  DeviceVector<unsigned> u(std::vector<unsigned>{0});
  DeviceVector<unsigned long long> l(std::vector<unsigned long long>{0});
  add_everywhere<<<200, 64>>>(f.data(), d.data(), i.data(), u.data(), l.data());
  const int n = 200 * 64 * 10;
  EXPECT_EQ(f.host()[0], n);
  EXPECT_EQ(d.host()[0], n / 2);
  EXPECT_EQ(i.host()[0], -n);
  EXPECT_EQ(u.host()[0], 2u * n);
  EXPECT_EQ(l.host()[0], static_cast<unsigned long long>(n) << 33);
}

__global__ void other_atomics(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  atomicMax(&out[0], i);
  atomicMin(&out[1], -i);
  atomicSub(&out[2], 1);
  atomicOr(&out[3], 1 << (i % 20));
  atomicAnd(&out[4], ~(1 << (i % 20)));
  atomicXor(&out[5], 1 << (i % 20));
  if (atomicCAS(&out[6], 0, i + 1) == 0) out[7] = i + 1;
  if (atomicExch(&out[8], 1) == 0) atomicAdd(&out[9], 1);
}

TEST_F(Execution, OtherAtomics) {
  DeviceVector<int> out(std::vector<int>{0, 0, 0, 0, 0xfffff, 0, 0, 0, 0, 0});
  other_atomics<<<1, 100>>>(out.data());
  const std::vector<int> r = out.host();
  EXPECT_EQ(r[0], 99);
  EXPECT_EQ(r[1], -99);
  EXPECT_EQ(r[2], -100);
  EXPECT_EQ(r[3], 0xfffff);
  EXPECT_EQ(r[4], 0);
  EXPECT_EQ(r[5], 0xfffff);
  EXPECT_EQ(r[6], r[7]);
  EXPECT_EQ(r[9], 1);
}

__global__ void prints(int line) {
  printf("%d\n", line);
}

TEST_F(Execution, PrintsToAFileToo) {
  const std::string path = testing::TempDir() + "emulator_printf_" + std::to_string(getpid());
  const auto in_file = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  testing::internal::CaptureStdout();
  setenv("EMULATOR_PRINTF", path.c_str(), 1);
  std::printf("the host\n");
  prints<<<2, 1>>>(7);
  std::printf("the host\n");
  prints<<<1, 1>>>(8);
  unsetenv("EMULATOR_PRINTF");
  prints<<<1, 1>>>(9);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "the host\n7\n7\nthe host\n8\n9\n");
  EXPECT_EQ(in_file(), "7\n7\n8\n");
  std::remove(path.c_str());
}

TEST_F(Execution, RefusesAFileThatCannotBeWritten) {
  const auto launch = [] {
    setenv("EMULATOR_PRINTF", "/no/such/folder/file", 1);
    prints<<<1, 1>>>(7);
  };
  EXPECT_EXIT(launch(), testing::ExitedWithCode(2), "EMULATOR_PRINTF is \"/no/such/folder/file\"");
}

__global__ void who(emulator::ThreadIdentity* out) {
  __syncthreads();
  emulator::current_thread(&out[blockIdx.x * blockDim.x + threadIdx.x]);
}

TEST_F(Execution, ThreadIdentityIsAccessible) {
  emulator::ThreadIdentity outside;
  EXPECT_FALSE(emulator::current_thread(&outside));
  const DeviceVector<emulator::ThreadIdentity> identities(2 * 40);
  who<<<2, 40>>>(identities.data());
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  const std::vector<emulator::ThreadIdentity> out = identities.host();
  EXPECT_STREQ(out[45].kernel, "who");
  EXPECT_EQ(out[45].linear_block, 1u);
  EXPECT_EQ(out[45].linear_thread, 5u);
  EXPECT_EQ(out[45].barrier_epoch, 1u);
}

}  // namespace
