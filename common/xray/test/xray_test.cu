// Tests the X-ray's counts against known ones, and its findings.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/test/device_vector.hpp"
#include "common/xray/report.hpp"
#include "common/xray/xray.hpp"
#include "emulator/emulator.hpp"
#include "xray_kernels.hpp"

namespace {

using namespace emulator::xray;
using emulator::Schedule;
using xray_kernels::kIn;
using xray_kernels::kThreads;
using xray_kernels::kWarps;

class Xray : public testing::Test {
 protected:
  void SetUp() override {
    emulator::reset();
    take();
  }
  void TearDown() override {
    set_access_limit(kDefaultAccessLimit);
    emulator::reset();
  }

  Kernel record(const std::string& name) {
    const DeviceVector<float> in(std::vector<float>(kIn, 1.0f));
    const DeviceVector<float> out(std::vector<float>(xray_kernels::kBlocks * kThreads));
    emulator::name_memory({in.data(), kIn * sizeof(float), "in", sizeof(float), true});
    xray_kernels::run(name, out.data(), in.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << emulator::last_report();
    return only();
  }

  Kernel only() {
    std::vector<Kernel> kernels = take();
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? Kernel{} : kernels.front();
  }

  // The error of the last launch.
  Error only_error() {
    cudaGetLastError();
    const Kernel kernel = only();
    EXPECT_EQ(kernel.errors.size(), 1u);
    return kernel.errors.empty() ? Error{} : kernel.errors.front();
  }
};

struct Expected {
  std::string kernel;
  std::map<Counter, std::uint64_t> per_warp;
};

const std::vector<Expected>& expectations() {
  static const std::vector<Expected> list = {
      {"strided<1>",
       {{kGlobalLoadRequests, 1},
        {kGlobalLoadSectors, 4},
        {kGlobalLoadBytesAsked, 128},
        {kGlobalLoadBytesMoved, 128},
        {kGlobalStoreRequests, 1},
        {kGlobalStoreSectors, 4},
        {kAtomics, 0},
        {kSharedLoadRequests, 0}}},
      {"strided<2>", {{kGlobalLoadRequests, 1}, {kGlobalLoadSectors, 8}}},
      {"strided<8>", {{kGlobalLoadRequests, 1}, {kGlobalLoadSectors, 32}}},
      {"strided<32>",
       {{kGlobalLoadRequests, 1},
        {kGlobalLoadSectors, 32},
        {kGlobalLoadBytesAsked, 128},
        {kGlobalLoadBytesMoved, 1024}}},
      {"broadcast",
       {{kGlobalLoadRequests, 1},
        {kGlobalLoadSectors, 1},
        {kGlobalLoadBytesAsked, 128},
        {kGlobalLoadBytesMoved, 32}}},
      {"shifted_by_one", {{kGlobalLoadRequests, 1}, {kGlobalLoadSectors, 5}}},
      {"four_at_once",
       {{kGlobalLoadRequests, 1}, {kGlobalLoadSectors, 16}, {kGlobalLoadBytesAsked, 512}}},
      {"shared_strided<1>",
       {{kSharedLoadRequests, 1},
        {kSharedLoadWavefronts, 1},
        {kSharedLoadBankConflicts, 0},
        {kSharedStoreRequests, 1},
        {kSharedStoreWavefronts, 1},
        {kSharedStoreBankConflicts, 0}}},
      {"shared_strided<2>", {{kSharedLoadWavefronts, 2}, {kSharedLoadBankConflicts, 1}}},
      {"shared_strided<32>",
       {{kSharedLoadWavefronts, 32},
        {kSharedLoadBankConflicts, 31},
        {kSharedStoreWavefronts, 32},
        {kSharedStoreBankConflicts, 31}}},
      {"shared_strided<33>", {{kSharedLoadWavefronts, 1}, {kSharedLoadBankConflicts, 0}}},
      {"shared_broadcast", {{kSharedLoadWavefronts, 1}, {kSharedLoadBankConflicts, 0}}},
      {"shared_two_at_once", {{kSharedLoadRequests, 1}, {kSharedLoadWavefronts, 2}}},
      {"shared_four_at_once",
       {{kSharedLoadRequests, 1}, {kSharedLoadWavefronts, 4}, {kSharedLoadBankConflicts, 0}}},
      {"shared_four_broadcast", {{kSharedLoadWavefronts, 2}, {kSharedLoadBankConflicts, 0}}},
      {"shared_four_by_eights", {{kSharedLoadWavefronts, 4}, {kSharedLoadBankConflicts, 0}}},
      {"shared_two_broadcast", {{kSharedLoadWavefronts, 1}, {kSharedLoadBankConflicts, 0}}},
      {"shared_four_strided", {{kSharedLoadWavefronts, 32}, {kSharedLoadBankConflicts, 28}}},
      {"atomics_on_one_address",
       {{kAtomics, 32}, {kAtomicRequests, 1}, {kAtomicSectors, 32}, {kAtomicCollisions, 31}}},
      {"atomics_in_pairs", {{kAtomicRequests, 1}, {kAtomicSectors, 4}, {kAtomicCollisions, 16}}},
      {"atomics_side_by_side",
       {{kAtomics, 32}, {kAtomicRequests, 1}, {kAtomicSectors, 4}, {kAtomicCollisions, 0}}},
      {"divergent_rounds", {{kGlobalLoadRequests, 4}, {kGlobalLoadSectors, 16}}},
      {"early_leavers",
       {{kGlobalLoadRequests, 32},
        {kGlobalLoadBytesAsked, 4 * 32 * 33 / 2},
        {kGlobalStoreRequests, 1}}},
      {"three_call_sites",
       {{kGlobalLoadRequests, 3}, {kGlobalLoadBytesAsked, 256}, {kGlobalLoadSectors, 8}}},
      {"matrix_load<1, 32>",
       {{kSharedMatrixLoadRequests, 1},
        {kSharedLoadRequests, 0},
        {kSharedLoadWavefronts, 4},
        {kSharedLoadBankConflicts, 0},
        {kTensorOperations, 0}}},
      {"matrix_load<2, 32>", {{kSharedLoadWavefronts, 8}, {kSharedLoadBankConflicts, 4}}},
      {"matrix_load<8, 32>", {{kSharedLoadWavefronts, 32}, {kSharedLoadBankConflicts, 28}}},
      {"matrix_load<9, 32>", {{kSharedLoadWavefronts, 4}, {kSharedLoadBankConflicts, 0}}},
      {"matrix_load<8, 4>", {{kSharedLoadWavefronts, 16}, {kSharedLoadBankConflicts, 12}}},
      {"matrix_load<1, 1>", {{kSharedLoadWavefronts, 4}, {kSharedLoadBankConflicts, 0}}},
      {"matrix_load_transposed",
       {{kSharedMatrixLoadRequests, 1},
        {kSharedLoadWavefronts, 4},
        {kSharedLoadBankConflicts, 0},
        {kSharedStoreRequests, 1}}},
      {"tensor_products",
       {{kTensorOperations, 3},
        {kTensorMultiplyAdds, 16 * 8 * (16 + 16 + 8)},
        {kGlobalLoadRequests, 1},
        {kGlobalStoreRequests, 1},
        {kSharedMatrixLoadRequests, 0}}},
  };
  return list;
}

TEST_F(Xray, CountsAreAsKnownByHand) {
  ASSERT_EQ(expectations().size(), xray_kernels::names().size());
  for (const auto order : {Schedule::forward, Schedule::reverse, Schedule::shuffle}) {
    emulator::set_schedule({order, 3});
    for (const Expected& expected : expectations()) {
      SCOPED_TRACE(expected.kernel);
      const Kernel kernel = record(expected.kernel);
      for (const auto& [counter, count] : expected.per_warp)
        EXPECT_EQ(kernel[counter], count * kWarps) << info(counter).name;
      for (const Error& error : kernel.errors)
        ADD_FAILURE() << error.message;
    }
  }
}

struct Triple {
  float a, b, c;
};
// Calls through pointers are not inlined.
using OfTwo = float (*)(Triple, float4);
using OfOne = float4 (*)(float);

__global__ void calls_with_structs(float4* out, const Triple* triples, const float4* fours,
                                   OfTwo of_two, OfOne of_one) {
  out[threadIdx.x] = of_one(of_two(triples[threadIdx.x], fours[threadIdx.x]));
}

TEST_F(Xray, SeesTheStructsThatACallCopies) {
#ifndef EMULATOR_XRAY_SEES_COPIES_OF_CALLS
  GTEST_SKIP() << "built without the headers of g++'s plugins";
#endif
  const DeviceVector<float4> fours(std::vector<float4>(32, make_float4(1, 2, 3, 4)));
  const DeviceVector<float4> out(32);
  const OfTwo of_two = [](Triple triple, float4 four) { return triple.c + four.w; };
  const OfOne of_one = [](float value) { return make_float4(value, value, value, value); };
  for (const std::size_t size : {32, 31}) {
    const DeviceVector<Triple> triples(std::vector<Triple>(size, Triple{1, 2, 3}));
    emulator::name_memory({triples.data(), size * sizeof(Triple), "triples", sizeof(Triple), true});
    calls_with_structs<<<1, 32>>>(out.data(), triples.data(), fours.data(), of_two, of_one);
    const cudaError_t error = cudaDeviceSynchronize();
    const Kernel kernel = only();
    if (size == 32) {
      EXPECT_EQ(error, cudaSuccess) << emulator::last_report();
      EXPECT_EQ(kernel[kGlobalLoadBytesAsked], 32 * (sizeof(Triple) + sizeof(float4)));
      EXPECT_EQ(kernel[kGlobalStoreBytesAsked], 32 * sizeof(float4));
      EXPECT_EQ(out.host()[31].w, 7.0f);
    } else {
      EXPECT_EQ(error, cudaErrorIllegalAddress);
      ASSERT_EQ(kernel.errors.size(), 1u);
      EXPECT_EQ(kernel.errors.front().kind, "out of bounds");
      EXPECT_EQ(kernel.errors.front().buffer, "triples");
    }
  }
}

TEST_F(Xray, TellsHowOftenEachElementIsFetched) {
  const Kernel kernel = record("broadcast");
  const Traffic& loads = kernel.buffer("in").loads();
  EXPECT_EQ(loads.requests, kWarps);
  EXPECT_EQ(loads.accesses_per_element.most, kThreads);
  EXPECT_EQ(loads.requests_per_element.most, kThreads / 32);
  EXPECT_EQ(loads.accesses_per_element.least, 0u);
  EXPECT_DOUBLE_EQ(loads.accesses_per_element.mean, 2.0 * kThreads / kIn);
  EXPECT_EQ(kernel.buffer("out").stores().accesses_per_element.least, 1u);
  EXPECT_THROW(kernel.buffer("q"), std::out_of_range);
}

TEST_F(Xray, NamesTheSourceLine) {
  const Kernel kernel = record("broadcast");
  ASSERT_EQ(kernel.accesses.size(), 2u);
  for (const Access& access : kernel.accesses) {
    EXPECT_EQ(access.where.file, "common/xray/test/xray_kernels.cu");
    EXPECT_GT(access.where.line, 20);
    EXPECT_EQ(access.requests, kWarps);
  }
}

TEST_F(Xray, SamplesTheFirstWarp) {
  const Kernel kernel = record("strided<2>");
  ASSERT_EQ(kernel.steps.size(), 2u);
  EXPECT_EQ(kernel.steps[0].buffer, "in");
  EXPECT_EQ(kernel.steps[0].offset[5], 40);
  EXPECT_EQ(kernel.steps[0].sectors, 8u);
}

__global__ void reads_its_neighbour(float* out, bool with_barrier) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = 1.0f;
  if (with_barrier) __syncthreads();
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

TEST_F(Xray, FindsAMissingBarrierUnderEverySchedule) {
  for (const auto order : {Schedule::forward, Schedule::reverse, Schedule::shuffle}) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      emulator::set_schedule({order, seed});
      const DeviceVector<float> out(kThreads);
      reads_its_neighbour<<<1, kThreads>>>(out.data(), true);
      EXPECT_TRUE(only().errors.empty());
      reads_its_neighbour<<<1, kThreads>>>(out.data(), false);
      bool found = false;
      for (const Error& error : only().errors) {
        if (error.kind != "race") continue;
        found = true;
        EXPECT_EQ(error.space, Space::kShared);
        EXPECT_TRUE(error.has_other);
        EXPECT_EQ(error.party.thread.x + error.other.thread.x, kThreads - 1u);
        EXPECT_NE(error.message.find("xray_test.cu:"), std::string::npos) << error.message;
        const std::string element = "4 bytes of tile[" + std::to_string(error.offset / 4) + "]";
        EXPECT_NE(error.message.find(element), std::string::npos) << error.message;
        EXPECT_NE(error.message.find("thread (" + std::to_string(error.party.thread.x)),
                  std::string::npos);
      }
      EXPECT_TRUE(found);
    }
  }
}

// Threads 0 and 40 are in different warps. The result is wrong only if 40 runs first.
__global__ void later_warp_overwrites(float* out) {
  __shared__ float word;
  if (threadIdx.x == 0) word = 1.0f, out[0] = word;
  if (threadIdx.x == 40) word = 2.0f;
}

TEST_F(Xray, FindsARaceThatHardlyAScheduleShows) {
  for (const auto order : {Schedule::forward, Schedule::reverse}) {
    emulator::set_schedule({order, 0});
    const DeviceVector<float> out(1);
    later_warp_overwrites<<<1, kThreads>>>(out.data());
    const Kernel kernel = only();
    ASSERT_FALSE(kernel.errors.empty());
    EXPECT_EQ(kernel.errors.front().kind, "race");
  }
}

// Thread 35 stores one of the four floats that thread 0 loads at once.
__global__ void reads_four_beside_a_store(float* out) {
  __shared__ __align__(16) float tile[8];
  if (threadIdx.x < 8) tile[threadIdx.x] = 1.0f;
  __syncthreads();
  if (threadIdx.x == 0)
    reinterpret_cast<float4*>(out)[0] = reinterpret_cast<const float4*>(tile)[1];
  if (threadIdx.x == 35) tile[7] = 2.0f;
}

TEST_F(Xray, ARaceIsAboutTheBytesThatBothTouch) {
  for (const auto order : {Schedule::forward, Schedule::reverse}) {
    emulator::set_schedule({order, 0});
    const DeviceVector<float> out(4);
    reads_four_beside_a_store<<<1, kThreads>>>(out.data());
    const Error error = only_error();
    EXPECT_NE(error.message.find("touch 4 bytes of tile[7]: "), std::string::npos) << error.message;
  }
}

__global__ void neighbours_in_a_warp(float* out, int how) {
  __shared__ float tile[32];
  tile[threadIdx.x] = 1.0f;
  if (how == 1) __syncwarp();
  if (how == 2) __shfl_sync(0xffffffffu, 1.0f, 0);
  out[threadIdx.x] = tile[31 - threadIdx.x];
}

TEST_F(Xray, OnlySyncwarpOrdersAWarp) {
  const DeviceVector<float> out(32);
  for (const int how : {0, 1, 2}) {
    neighbours_in_a_warp<<<1, 32>>>(out.data(), how);
    const Kernel kernel = only();
    EXPECT_EQ(kernel.errors.empty(), how == 1) << how;
    EXPECT_EQ(kernel[kShuffles], how == 2 ? 1u : 0u);
  }
}

__global__ void halves_of_a_word(unsigned short* out) {
  out[threadIdx.x] = static_cast<unsigned short>(threadIdx.x);
}

// Iterations of this loop make no access, because its variables are in registers.
__global__ void loops_in_registers(float* out, unsigned rounds) {
  unsigned state = threadIdx.x;
  for (unsigned i = 0; i < rounds; ++i)
    state = state % 3 == 0 ? state / 3 + i : state * 7 + 1;
  out[threadIdx.x] = static_cast<float>(state);
}

TEST_F(Xray, StopsALoopThatTouchesNoMemory) {
  set_access_limit(100'000);
  const DeviceVector<float> out(32);
  loops_in_registers<<<1, 32>>>(out.data(), 10);
  Kernel kernel = only();
  EXPECT_FALSE(kernel.too_large);
  EXPECT_GT(kernel.largest_launch, 32u * 10);
  EXPECT_LT(kernel.largest_launch, 32u * 100);
  loops_in_registers<<<1, 32>>>(out.data(), 1'000'000'000);
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(only().too_large);
}

__global__ void next_blocks_word(float* out, float* scratch) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = 1.0f;
  if (threadIdx.x == 0) scratch[0] = 1.0f;
  if (threadIdx.x == 1) out[blockIdx.x] = scratch[0];
}

// The out-of-bounds access may be the only error.
__global__ void races_and_strays(float* out, const float* in) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = 1.0f;
  out[threadIdx.x] = tile[(threadIdx.x + 32) % kThreads];
  if (threadIdx.x == kThreads - 1) out[0] = in[103];
}

TEST_F(Xray, SaysWhatLiesOutsideBeforeRaces) {
  const DeviceVector<float> in(std::vector<float>(100, 1.0f));
  const DeviceVector<float> out(kThreads);
  emulator::name_memory({in.data(), 100 * sizeof(float), "in", sizeof(float), true});
  races_and_strays<<<1, kThreads>>>(out.data(), in.data());
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  const std::vector<Error> errors = only().errors;
  ASSERT_GE(errors.size(), 2u);
  EXPECT_EQ(errors.front().kind, "out of bounds");
  EXPECT_EQ(errors[1].kind, "race");
}

// The load races within its block and with the other block's store, which need different fixes.
TEST_F(Xray, ReportsARaceBetweenBlocksBesideOneWithinAWarp) {
  const DeviceVector<float> out(2);
  const DeviceVector<float> scratch(1);
  next_blocks_word<<<2, kThreads>>>(out.data(), scratch.data());
  std::string messages;
  for (const Error& error : only().errors)
    messages += error.message + "\n";
  EXPECT_NE(messages.find("no __syncwarp() or __syncthreads() orders them"), std::string::npos)
      << messages;
  EXPECT_NE(messages.find("nothing orders blocks of one launch"), std::string::npos) << messages;
}

// The fields of a record contain the same as the sentence.
TEST_F(Xray, WritesAFindingAsARecord) {
  const DeviceVector<float> out(2);
  const DeviceVector<float> scratch(1);
  next_blocks_word<<<2, kThreads>>>(out.data(), scratch.data());
  int in_a_warp = 0, others = 0;
  for (const Error& error : only().errors) {
    const auto fact = nlohmann::json::parse(emulator::xray::fact_of(error));
    EXPECT_EQ(fact["fact"], "finding");
    EXPECT_EQ(fact["message"], error.message);
    const std::string without = fact["without_places"];
    EXPECT_EQ(without.find(".cu"), std::string::npos) << without;
    EXPECT_EQ(fact["party"]["line"], error.party.where.line);
    EXPECT_EQ(fact["other"].is_null(), !error.has_other);
    if (error.kind != "race") continue;
    EXPECT_TRUE(without.starts_with("race: load by thread (") ||
                without.starts_with("race: store by thread ("))
        << without;
    if (fact["in_a_warp"]) {
      EXPECT_EQ(fact["missing"], "no __syncthreads() orders them");
      ++in_a_warp;
    } else {
      EXPECT_EQ(fact["missing"], error.missing);
      ++others;
    }
  }
  EXPECT_GT(in_a_warp, 0);
  EXPECT_GT(others, 0);
}

// No barrier helps if several threads share an element.
__global__ void adds_to_one_word(float* out) {
  out[0] += 1.0f;
}

TEST_F(Xray, AsksOfOneLineThatRacesWhoseElementItIs) {
  const DeviceVector<float> out(1);
  adds_to_one_word<<<1, 2>>>(out.data());
  const Kernel kernel = only();
  ASSERT_FALSE(kernel.errors.empty());
  EXPECT_NE(kernel.errors.front().message.find(
                ": is an atomic missing, or should each thread have an element of its own?"),
            std::string::npos)
      << kernel.errors.front().message;
}

__global__ void stores_in_one_word(float* out) {
  out[0] = static_cast<float>(threadIdx.x);
}

__global__ void adds_its_neighbours_word(float* out) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = 1.0f;
  __syncthreads();
  if (threadIdx.x < kThreads / 2) tile[threadIdx.x] += tile[threadIdx.x + 1];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

// No atomic helps if threads only store, or if each adds to its own word.
TEST_F(Xray, AsksForNoAtomicWhereNoTwoThreadsAddToAWord) {
  const DeviceVector<float> out(kThreads);
  stores_in_one_word<<<1, 2>>>(out.data());
  const Kernel stores = only();
  ASSERT_FALSE(stores.errors.empty());
  EXPECT_NE(stores.errors.front().message.find(": should each thread have an element of its own?"),
            std::string::npos)
      << stores.errors.front().message;
  adds_its_neighbours_word<<<1, kThreads>>>(out.data());
  const Kernel adds = only();
  ASSERT_FALSE(adds.errors.empty());
  for (const Error& error : adds.errors) {
    EXPECT_NE(error.message.find("__syncthreads() orders them"), std::string::npos)
        << error.message;
    EXPECT_EQ(error.message.find("atomic"), std::string::npos) << error.message;
  }
}

// The thread decides which access comes first, but this is one finding.
__global__ void swaps_without_barrier(float* out) {
  __shared__ float tile[kThreads];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = 1.0f;
    out[threadIdx.x] = tile[(threadIdx.x + 32) % kThreads];
  }
}

TEST_F(Xray, ReportsOneMissingBarrierOnceAndRacesFirst) {
  const DeviceVector<float> out(kThreads);
  swaps_without_barrier<<<1, kThreads>>>(out.data());
  const Kernel kernel = only();
  unsigned races = 0;
  for (const Error& error : kernel.errors)
    races += error.kind == "race" ? 1 : 0;
  EXPECT_EQ(races, 1u);
  EXPECT_EQ(kernel.errors.front().message.find("element of its own"), std::string::npos);
  ASSERT_FALSE(kernel.errors.empty());
  EXPECT_EQ(kernel.errors.front().kind, "race");
  EXPECT_NE(kernel.errors.front().message.find(": no __syncthreads() orders them"),
            std::string::npos)
      << kernel.errors.front().message;
}

__global__ void adds_to(float* out) {
  if (threadIdx.x == 0) atomicAdd(out, 1.0f);
}

TEST_F(Xray, SaysWhatAnAtomicDoesToUnwrittenMemory) {
  const DeviceVector<float> out(1);
  adds_to<<<1, 32>>>(out.data());
  const Error error = only_error();
  EXPECT_EQ(error.kind, "uninitialised read");
  EXPECT_NE(error.message.find("an atomic adds to what is there; nothing has written it"),
            std::string::npos)
      << error.message;
}

TEST_F(Xray, KeepsTheNamesOfEarlierLaunches) {
  const DeviceVector<float> in(std::vector<float>(kIn, 1.0f));
  const DeviceVector<float> out(std::vector<float>(xray_kernels::kBlocks * kThreads));
  for (const char* name : {"first", "second"}) {
    emulator::name_memory({in.data(), kIn * sizeof(float), name, sizeof(float), true});
    xray_kernels::run("strided<1>", out.data(), in.data());
  }
  const Kernel kernel = only();
  EXPECT_EQ(kernel.buffer("first").loads().requests, kernel.buffer("second").loads().requests);
}

TEST_F(Xray, ForgetsWhenATestAsksTheEmulator) {
  const DeviceVector<float> in(std::vector<float>(kIn, 1.0f));
  const DeviceVector<float> out(std::vector<float>(xray_kernels::kBlocks * kThreads));
  xray_kernels::run("strided<1>", out.data(), in.data());
  emulator::forget_recorded();
  EXPECT_TRUE(take().empty());
}

TEST_F(Xray, NeighboursInAWordAreNoRace) {
  const DeviceVector<unsigned short> out(64);
  halves_of_a_word<<<1, 64>>>(out.data());
  EXPECT_TRUE(only().errors.empty());
}

__global__ void all_blocks_store(float* out) {
  if (threadIdx.x == 0) out[0] = 1.0f;
}

TEST_F(Xray, FindsARaceBetweenBlocks) {
  const DeviceVector<float> out(1);
  all_blocks_store<<<2, 32>>>(out.data());
  const Error error = only_error();
  EXPECT_EQ(error.kind, "race");
  EXPECT_EQ(error.space, Space::kGlobal);
  EXPECT_NE(error.party.block.x, error.other.block.x);
}

TEST_F(Xray, LaunchesAreOrdered) {
  const DeviceVector<float> out(1);
  all_blocks_store<<<1, 32>>>(out.data());
  all_blocks_store<<<1, 32>>>(out.data());
  const Kernel kernel = only();
  EXPECT_TRUE(kernel.errors.empty());
  EXPECT_EQ(kernel.launches, 2u);
}

__global__ void atomic_and_plain(float* out, bool plain) {
  if (plain && threadIdx.x == 40) {
    out[0] = 1.0f;
  } else {
    atomicAdd(out, 1.0f);
  }
}

TEST_F(Xray, AtomicsRaceWithPlainStoresOnly) {
  const DeviceVector<float> out(std::vector<float>{0.0f});
  atomic_and_plain<<<1, 64>>>(out.data(), false);
  EXPECT_TRUE(only().errors.empty());
  atomic_and_plain<<<1, 64>>>(out.data(), true);
  const Kernel kernel = only();
  ASSERT_FALSE(kernel.errors.empty());
  EXPECT_EQ(kernel.errors.front().kind, "race");
}

__global__ void rounds_of(float* out, const float* in) {
  __shared__ float tile[2][32];
  const unsigned lane = threadIdx.x;
  for (int round = 0; round < 2; ++round)
    tile[round][lane] = in[lane] + static_cast<float>(round);
  __syncthreads();
  atomicAdd(&out[0], tile[1][lane ^ 1]);
}

TEST_F(Xray, KeepsTheValuesThatAKernelReadsAndStores) {
  const DeviceVector<float> in(std::vector<float>(32, 0.5f));
  const DeviceVector<float> out(std::vector<float>(1));
  emulator::name_memory({in.data(), 32 * sizeof(float), "in", sizeof(float), true, "t=32"});
  keep_values();
  rounds_of<<<1, 32>>>(out.data(), in.data());
  EXPECT_TRUE(only().errors.empty());
  const Values values = take_values();
  EXPECT_TRUE(values.complete);
  ASSERT_EQ(values.launches.size(), 1u);
  EXPECT_EQ(values.launches[0].block.x, 32u);
  std::map<std::string, std::vector<float>> stored;
  std::map<std::string, std::size_t> loads;
  for (const ValueTouch& touch : values.touches) {
    const Values::Array& array = values.arrays[touch.array];
    EXPECT_EQ(array.shared, array.name == "tile");
    EXPECT_EQ(array.axes, array.shared ? "[]=2 []=32 " : array.name == "in" ? "t=32" : "");
    EXPECT_NE(values.places[touch.place].where.file.find("xray_test.cu"), std::string::npos);
    const auto bits = static_cast<std::uint32_t>(touch.bits);
    const float number = *reinterpret_cast<const float*>(&bits);
    if (touch.operation == Operation::kLoad) {
      ++loads[array.name];
      EXPECT_EQ(number, array.shared ? 1.5f : 0.5f) << array.name << touch.element;
    } else {
      stored[array.name].push_back(number);
      if (array.shared) {
        EXPECT_EQ(stored["tile"].back(), touch.element < 32 ? 0.5f : 1.5f) << touch.element;
      }
    }
  }
  EXPECT_EQ(stored["tile"].size(), 64u);
  EXPECT_EQ(loads["in"], 32u);  // only each element's first load
  ASSERT_EQ(stored.size(), 2u);
  const std::vector<float>& sums =
      stored.begin()->first == "tile" ? stored.rbegin()->second : stored.begin()->second;
  ASSERT_EQ(sums.size(), 32u);  // the value after each addition
  EXPECT_EQ(sums.front(), 1.5f);
  EXPECT_EQ(sums.back(), 48.0f);
  EXPECT_TRUE(take_values().touches.empty());
}

constexpr int kTakesAndLeaves = __LINE__;
__global__ void takes_and_leaves(float* out) {
  const float other = __shfl_xor_sync(0xffffffffu, 1.0f * threadIdx.x, 4);
  for (int i = 0; i < 8; ++i) {
    if (static_cast<int>(threadIdx.x) <= i) return;
    out[threadIdx.x] = other;
  }
}

TEST_F(Xray, KeepsWhichLanesAreTakenFromAndWhereThreadsWereLast) {
  const DeviceVector<float> out(32);
  keep_values();
  takes_and_leaves<<<1, 32>>>(out.data());
  const Values values = take_values();
  ASSERT_EQ(values.takes.size(), 32u);
  for (const LaneTake& take : values.takes) {
    EXPECT_EQ(take.source, take.thread ^ 4u);
    EXPECT_EQ(values.places[take.place].where.line, kTakesAndLeaves + 2);
  }
  ASSERT_EQ(values.ends.size(), 32u);
  for (const ThreadEnd& end : values.ends)
    EXPECT_EQ(values.places[end.places[2]].where.line, kTakesAndLeaves + (end.thread < 8 ? 4 : 3))
        << end.thread;
}

constexpr int reads_at_line = __LINE__ + 2;
__global__ void reads_at(float* out, const float* in, long long index) {
  if (threadIdx.x == 7) out[threadIdx.x] = in[index];
}

TEST_F(Xray, FindsReadsOutOfBounds) {
  const DeviceVector<float> in(std::vector<float>(100, 1.0f));
  const DeviceVector<float> out(32);
  emulator::name_memory({in.data(), 100 * sizeof(float), "in", sizeof(float), true});
  const std::map<long long, std::string> wrong = {{100, "up to 4 bytes past its end"},
                                                  {-1, "4 bytes before its start"},
                                                  {200, "up to 404 bytes past"}};
  for (const auto& [index, words] : wrong) {
    reads_at<<<2, 32>>>(out.data(), in.data(), index);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    const Error error = only_error();
    EXPECT_EQ(error.kind, "out of bounds");
    EXPECT_EQ(error.buffer, "in");
    EXPECT_EQ(error.offset, index * 4);
    EXPECT_EQ(error.size, 400u);
    EXPECT_EQ(error.party.thread.x, 7u);
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
  }
  reads_at<<<1, 32>>>(out.data(), in.data(), 1ll << 40);
  EXPECT_EQ(only_error().kind, "out of bounds");
}

struct Pointers {
  const float* from;
};
constexpr int reads_a_struct_line = __LINE__ + 2;
__global__ void reads_a_struct(float* out, Pointers arguments, int index) {
  out[threadIdx.x] = arguments.from[index];
}

TEST_F(Xray, FindsHostPointers) {
  const std::vector<float> heap(100);
  const float stack[100] = {};
  const DeviceVector<float> out(32);
  for (const float* host : {heap.data(), stack}) {
    const auto expect_host_memory = [&](int line) {
      EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
      const Error error = only_error();
      EXPECT_EQ(error.kind, "host memory");
      EXPECT_EQ(error.party.where.line, line);
      EXPECT_NE(error.message.find("needs device memory: cudaMalloc and cudaMemcpy"),
                std::string::npos)
          << error.message;
    };
    reads_at<<<1, 32>>>(out.data(), host, 3);
    expect_host_memory(reads_at_line);
    reads_a_struct<<<1, 32>>>(out.data(), {host}, 3);
    expect_host_memory(reads_a_struct_line);
  }
  float* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 400), cudaSuccess);
  pinned[3] = 1.0f;
  emulator::name_memory({pinned, 400, "pinned", sizeof(float), true});
  reads_at<<<1, 32>>>(out.data(), pinned, 3);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(only().errors.empty());
  reads_at<<<1, 32>>>(out.data(), pinned, 100);
  EXPECT_EQ(only_error().kind, "out of bounds");
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Xray, NamesTheLineWhereTheHostTouchesDeviceMemory) {
  const DeviceVector<float> array(std::vector<float>(4, 1.0f));
  volatile float* const at = array.data() + 1;
  std::vector<float> host(4);
  const auto here = [](int line, const std::string& what) {
    return "^common/xray/test/xray_test.cu:" + std::to_string(line) + ": the host " + what +
           " device memory; copy it with cudaMemcpy";
  };
  EXPECT_DEATH(static_cast<void>(*at), here(__LINE__, "reads"));
  EXPECT_DEATH(*at = 1.0f, here(__LINE__, "writes"));
  EXPECT_DEATH(std::copy_n(array.data(), 4, host.begin()), here(__LINE__, "reads"));
  EXPECT_DEATH(std::memset(array.data(), 0, 16), here(__LINE__, "writes"));
}

TEST_F(Xray, NamesTheLineOfAnIndexBeyondAVector) {
  std::vector<float> host(4);
  volatile std::size_t four = 4;
  EXPECT_DEATH(host[four] = 1.0f,
               "'__n < this->size\\(\\)' failed.\ncalled at common/xray/test/xray_test.cu:" +
                   std::to_string(__LINE__ - 2) + "\n");
}

// The emulator's own work in a kernel's thread is no access of the kernel, nor are its messages.
__global__ void fails(int how) {
  __shared__ float tile[32];
  if (how == 0) __syncwarp(0xffffu);
  if (how == 1) __shfl_sync(0xffffffffu, 1.0f, 0, 5);
  if (how == 2) __shfl_down_sync(0xffffu, 1.0f, 1);
  if (how == 3) __ballot_sync(0xffffu, 1);
  if (how == 4) __pipeline_memcpy_async(tile, tile + 8, 5);
  if (how == 5) __trap();
  if (how == 6 && threadIdx.x > 3) __syncthreads();
  if (how == 7) __reduce_add_sync(0xffffu, 1u);
  __syncthreads();
}
template <int bytes>
__global__ void takes_shared_memory() {
  __shared__ char much[bytes];
  much[threadIdx.x] = 0;
}
__global__ void __launch_bounds__(16) has_bounds() {}

TEST_F(Xray, SeesNothingOfTheEmulatorsOwnWork) {
  const auto expect_message = [&](const std::string& words) {
    EXPECT_NE(emulator::last_report().find(words), std::string::npos) << emulator::last_report();
    EXPECT_NE(cudaGetLastError(), cudaSuccess);
    for (const Kernel& kernel : take()) {
      for (const Error& error : kernel.errors)
        ADD_FAILURE() << error.message;
    }
  };
  const char* const words[] = {"leaves out the calling lane 16", "a shuffle's width must be",
                               "leaves out the calling lane 16", "leaves out the calling lane 16",
                               "the size must be 4, 8 or 16",    "__trap()",
                               "divergent __syncthreads",        "leaves out the calling lane 16"};
  for (int how = 0; how < static_cast<int>(std::size(words)); ++how) {
    fails<<<1, 32>>>(how);
    expect_message(words[how]);
  }
  takes_shared_memory<50000><<<1, 32>>>();
  expect_message("too much shared memory");
  has_bounds<<<1, 32>>>();
  expect_message("__launch_bounds__ allows 16");
}

__global__ void leaves_shared_memory(float* out, int index) {
  __shared__ float tile[32];
  tile[threadIdx.x] = 1.0f;
  __syncwarp();
  out[threadIdx.x] = tile[index];
}

TEST_F(Xray, FindsSharedMemoryOutOfBounds) {
  const DeviceVector<float> out(32);
  leaves_shared_memory<<<1, 32>>>(out.data(), 32);
  const Error error = only_error();
  EXPECT_EQ(error.kind, "out of bounds");
  EXPECT_EQ(error.space, Space::kShared);
  EXPECT_EQ(error.offset, 128);
  EXPECT_EQ(error.size, 128u);
}

// Each thread reads `steps` elements of its dynamic array, from `first` on.
constexpr int kDynamic = 64, kStatic = 32;
__global__ void leaves_one_of_two_arrays(float* out, int first, int steps) {
  extern __shared__ float pool_smem[];
  __shared__ float scores_smem[kStatic];
  pool_smem[threadIdx.x] = pool_smem[threadIdx.x + kStatic] = scores_smem[threadIdx.x] = 1.0f;
  __syncthreads();
  float sum = scores_smem[threadIdx.x];
  for (int i = 0; i < steps; ++i)
    sum += pool_smem[first + i];
  out[threadIdx.x] = sum;
}

// Arrays are adjacent. An access belongs to the array that its instruction has accessed before.
TEST_F(Xray, NamesTheArrayThatAnInstructionHasHitBefore) {
  const DeviceVector<float> out(32);
  const auto message_of = [&](int first, int steps) {
    leaves_one_of_two_arrays<<<1, 32, kDynamic * sizeof(float)>>>(out.data(), first, steps);
    const Error error = only_error();
    EXPECT_EQ(error.kind, "out of bounds");
    return error.message;
  };
  // Far past the first array's end, so that the second one, wherever it is, may be nearer.
  const std::string unknown = message_of(kDynamic + 3, 1);
  EXPECT_NE(unknown.find("4 bytes of shared memory, up to 16 bytes past the end of pool_smem, the "
                         "nearest array (it has 256 bytes)"),
            std::string::npos)
      << unknown;
  for (const auto& [first, steps, words] :
       {std::tuple(0, kDynamic + 1,
                   "4 bytes of pool_smem[64], up to 4 bytes past its end (it has 256"),
        std::tuple(-1, 1, "4 bytes of pool_smem, 4 bytes before its start (it has 256"),
        std::tuple(kDynamic + 31, 1, "4 bytes of pool_smem[95], up to 128 bytes past its end")}) {
    const std::string message = message_of(first, steps);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
}

__global__ void reads_two_arrays(float* out, int count, int last) {
  extern __shared__ float pool_smem[];
  __shared__ float scores_smem[kStatic];
  pool_smem[threadIdx.x] = scores_smem[threadIdx.x] = 1.0f;
  __syncthreads();
  const float* const elements[] = {pool_smem, scores_smem, scores_smem + last};
  float sum = 0.0f;
  for (int i = 0; i < count; ++i)
    sum += *elements[i];
  out[threadIdx.x] = sum;
}

__global__ void leaves_device_memory(const float* from, float* out, std::int64_t stride,
                                     int steps) {
  float sum = 0.0f;
  for (int i = 0; i < steps; ++i)
    sum += from[(i - (steps == 1)) * stride];
  out[threadIdx.x] = sum;
}

// The same in device memory, next to another array and far from all.
TEST_F(Xray, NamesTheArrayInDeviceMemoryThatAnInstructionHasHitBefore) {
  const std::vector<float> ones(32, 1.0f);
  const DeviceVector<float> out(32), from(ones), other(ones);
  const auto message_of = [&](std::int64_t stride, int steps) {
    leaves_device_memory<<<1, 1>>>(from.data(), out.data(), stride, steps);
    const Error error = only_error();
    EXPECT_EQ(error.kind, "out of bounds");
    return error.message;
  };
  const std::int64_t beside =
      other.data() > from.data() ? other.data() + 32 - from.data() : other.data() - 1 - from.data();
  constexpr std::int64_t kFar = 2048;
  for (const auto& [stride, steps, words] :
       {std::tuple(beside, 2, "4 bytes of from at byte "),
        std::tuple(kFar, 2, "4 bytes of from at byte 8192"),
        std::tuple(kFar, 1, "4 bytes outside all arrays: "),
        std::tuple(std::int64_t{other.data() - from.data()}, 3, "4 bytes outside all arrays: ")}) {
    const std::string message = message_of(stride, steps);
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_EQ(message.find("another may be meant") != std::string::npos, steps != 2) << message;
  }
}

// An instruction that has run from one array into another no longer identifies either.
TEST_F(Xray, NamesNoArrayForAnInstructionThatHasHitSeveral) {
  const DeviceVector<float> out(32);
  reads_two_arrays<<<1, 32, kDynamic * sizeof(float)>>>(out.data(), 3, kStatic + 12);
  const std::string message = only_error().message;
  EXPECT_NE(
      message.find("4 bytes of shared memory, up to 52 bytes past the end of scores_smem, the "
                   "nearest array (it has 128 bytes)"),
      std::string::npos)
      << message;
}

__device__ void put(float* out, unsigned place) {
  out[place] = 1.0f;
}

constexpr int calls_put_line = __LINE__ + 2;
__global__ void calls_put(float* out) {
  put(out, threadIdx.x + 1);
}

TEST_F(Xray, NamesTheLineThatCallsAHelper) {
  const DeviceVector<float> out(32);
  calls_put<<<1, 32>>>(out.data());
  const Error error = only_error();
  EXPECT_EQ(error.kind, "out of bounds");
  EXPECT_EQ(error.party.where.line, calls_put_line - 5);
  ASSERT_EQ(error.party.called_at.size(), 1u);
  EXPECT_EQ(error.party.called_at[0].line, calls_put_line);
  EXPECT_NE(error.message.find(":" + std::to_string(calls_put_line - 5) + ", called at "),
            std::string::npos);
}

TEST_F(Xray, FindsUseAfterFree) {
  const DeviceVector<float> out(32);
  float* gone = nullptr;
  ASSERT_EQ(cudaMalloc(&gone, 400), cudaSuccess);
  ASSERT_EQ(cudaFree(gone), cudaSuccess);
  reads_at<<<1, 32>>>(out.data(), gone, 3);
  const Error error = only_error();
  EXPECT_EQ(error.kind, "use after free");
  EXPECT_EQ(error.buffer, "gone");
}

TEST_F(Xray, CallsDeviceMemoryAsTheSourceDoes) {
  const DeviceVector<float> left(32), right(32);
  keep_values();
  reads_at<<<1, 32>>>(left.data(), right.data(), 3);
  const Kernel kernel = only();
  EXPECT_EQ(kernel.buffer("left").stores().accesses, 1u);
  EXPECT_EQ(kernel.buffer("right").loads().accesses, 1u);
  ASSERT_EQ(kernel.errors.size(), 1u);
  EXPECT_NE(kernel.errors[0].message.find("4 bytes of right at byte 12"), std::string::npos);
  const Values values = take_values();
  ASSERT_EQ(values.arrays.size(), 2u);
  EXPECT_EQ(values.arrays[0].name, "right");
  EXPECT_EQ(values.arrays[1].name, "left");
}

TEST_F(Xray, FindsReadsOfWhatNothingWrote) {
  const DeviceVector<float> in(8);
  const DeviceVector<float> out(32);
  reads_at<<<1, 32>>>(out.data(), in.data(), 3);
  const Error error = only_error();
  EXPECT_EQ(error.kind, "uninitialised read");
  EXPECT_EQ(error.offset, 12);
  EXPECT_EQ(cudaMemset(in.data(), 0, 8 * sizeof(float)), cudaSuccess);
  reads_at<<<1, 32>>>(out.data(), in.data(), 3);
  EXPECT_TRUE(only().errors.empty());
}

TEST_F(Xray, CountsWhatTheHostWritesBesideTheKernels) {
  const DeviceVector<float> in(8);
  const float zeros[8] = {};
  take_host_bytes();
  EXPECT_EQ(cudaMemset(in.data(), 0, 5 * sizeof(float)), cudaSuccess);
  EXPECT_EQ(take_host_bytes(), 5 * sizeof(float));
  EXPECT_EQ(cudaMemcpy(in.data(), zeros, sizeof zeros, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(in.data(), 0, sizeof zeros), cudaSuccess);
  EXPECT_EQ(take_host_bytes(), 2 * sizeof zeros);
  EXPECT_EQ(take_host_bytes(), 0u);
}

__global__ void reads_unwritten_shared(float* out) {
  __shared__ float tile[32];
  if (threadIdx.x < 31) tile[threadIdx.x] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

TEST_F(Xray, FindsUnwrittenSharedMemoryInEveryBlock) {
  const DeviceVector<float> out(32);
  reads_unwritten_shared<<<3, 32>>>(out.data());
  const Kernel kernel = only();
  ASSERT_FALSE(kernel.errors.empty());  // the blocks' stores race, too
  EXPECT_EQ(kernel.errors.back().kind, "uninitialised read");
  EXPECT_EQ(kernel.errors.back().count, 3u);
  EXPECT_EQ(kernel.errors.back().party.thread.x, 31u);
}

__global__ void reads_four(float* out, const float* in) {
  if (threadIdx.x == 0) *reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(in);
}

TEST_F(Xray, NamesOfAWideReadWhatNothingWrote) {
  const DeviceVector<float> in(4);
  const DeviceVector<float> out(4);
  EXPECT_EQ(cudaMemset(in.data(), 0, sizeof(float)), cudaSuccess);
  reads_four<<<1, 32>>>(out.data(), in.data());
  const Error error = only_error();
  EXPECT_EQ(error.kind, "uninitialised read");
  EXPECT_EQ(error.offset, 4);
  EXPECT_NE(error.message.find("12 bytes of "), std::string::npos) << error.message;
}

__global__ void reads_four_at(float* out, const float* in) {
  const float4 four = *reinterpret_cast<const float4*>(in + 1);
  out[threadIdx.x] = four.x;
}

TEST_F(Xray, FindsMisalignedVectors) {
  const DeviceVector<float> in(std::vector<float>(100, 1.0f));
  const DeviceVector<float> out(32);
  reads_four_at<<<1, 32>>>(out.data(), in.data());
  const Error error = only_error();
  EXPECT_EQ(error.kind, "misaligned access");
  EXPECT_EQ(error.offset, 4);
  EXPECT_EQ(error.bytes, 16u);
}

TEST_F(Xray, StopsWhatIsTooLarge) {
  set_access_limit(50);
  const DeviceVector<float> in(std::vector<float>(kIn, 1.0f));
  const DeviceVector<float> out(std::vector<float>(128));
  xray_kernels::run("strided<1>", out.data(), in.data());
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchTimeout);
  EXPECT_TRUE(only().too_large);
}

// Only warp 1 has a bank conflict. Warp 0's last line comes after the requests that are drawn.
__global__ void reads_a_column(float* out, int rows) {
  __shared__ float tile[32 * 32];
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 32 && threadIdx.x < 32; ++i)
    tile[32 * i + lane] = 1.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int i = 0; i < rows; ++i)
    sum += tile[threadIdx.x < 32 ? i % 32 * 32 + lane : lane * 32 + i % 32];
  out[threadIdx.x] = sum;
}

// A variable of two axes, one without any, and a dynamic one with an element past its end.
__global__ void reads_unwritten_elements(float* out) {
  __shared__ float table[4][8], single;
  extern __shared__ double pool[];
  out[0] = table[2][3];
  out[1] = single;
  out[2] = static_cast<float>(pool[1]);
  out[3] = static_cast<float>(pool[5]);
}

TEST_F(Xray, CallsSharedVariablesAsTheSourceDoes) {
  const DeviceVector<float> out(4);
  reads_unwritten_elements<<<1, 1, 4 * sizeof(double)>>>(out.data());
  cudaGetLastError();
  std::string said;
  for (const Error& error : only().errors)
    said += error.message + "\n";
  for (const char* words :
       {"4 bytes of table[2][3], which", "4 bytes of single, which", "8 bytes of pool[1], which",
        "8 bytes of shared memory, up to 16 bytes past the end of pool, "})
    EXPECT_NE(said.find(words), std::string::npos) << words << " is not in:\n" << said;
}

TEST_F(Xray, KeepsTheRequestInWhichAnErrorIsSeenFirst) {
  const DeviceVector<float> in(std::vector<float>(100, 1.0f));
  const DeviceVector<float> out(kThreads);
  emulator::name_memory({in.data(), 100 * sizeof(float), "in", sizeof(float), true});
  reads_its_neighbour<<<1, kThreads>>>(out.data(), false);
  reads_at<<<1, 32>>>(out.data(), in.data(), 103);
  cudaGetLastError();
  const std::vector<Kernel> kernels = take();
  ASSERT_EQ(kernels.size(), 2u);
  for (const Kernel& kernel : kernels) {
    ASSERT_FALSE(kernel.errors.empty());
    for (const Error& error : kernel.errors) {
      ASSERT_GE(error.step, 0) << error.message;
      const Step& step = kernel.steps[static_cast<std::size_t>(error.step)];
      const unsigned thread = error.party.thread.x;
      EXPECT_EQ(step.warp, thread / kWarpSize) << error.message;
      EXPECT_EQ(step.offset[thread % kWarpSize], error.offset) << error.message;
      EXPECT_EQ(kernel.accesses[step.access].where.line, error.party.where.line) << error.message;
    }
  }
  // The access that ended the launch is drawn, but not counted.
  EXPECT_EQ(kernels[1].steps.back().buffer, "in");
  EXPECT_EQ(kernels[1].accesses[kernels[1].steps.back().access].requests, 0u);
  EXPECT_EQ(kernels[1][kGlobalLoadRequests], 0u);
}

TEST_F(Xray, KeepsEachLinesFirstRequestAndItsFirstBankConflict) {
  const DeviceVector<float> out(64);
  reads_a_column<<<1, 64>>>(out.data(), 200);
  const Kernel kernel = only();
  std::vector<Step> conflicts;
  for (const Step& step : kernel.steps) {
    if (step.bank_conflicts > 0) conflicts.push_back(step);
  }
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_EQ(conflicts[0].warp, 1u);
  EXPECT_EQ(conflicts[0].block.x, 0u);
  EXPECT_EQ(conflicts[0].bank_conflicts, 31u);
  EXPECT_EQ(kernel.steps.size(), 128u + 2);  // with the store to out
  for (std::size_t i = 0; i < kernel.accesses.size(); ++i) {
    EXPECT_TRUE(std::any_of(kernel.steps.begin(), kernel.steps.end(), [&](const Step& step) {
      return step.access == i;
    })) << kernel.accesses[i].code;
  }
}

TEST_F(Xray, SaysTheLessonAndThatThereAreNoBankConflicts) {
  const DeviceVector<float> out(kThreads);
  reads_its_neighbour<<<1, kThreads>>>(out.data(), true);
  const Subject subject = {"06_shared_mem", "a", only(), "06.05"};
  const std::string table = to_table({subject});
  EXPECT_NE(table.find(" 06.05\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("06_shared_mem"), std::string::npos) << table;
  EXPECT_NE(table.find("shared load bank conflicts (wavefronts too many)"), std::string::npos);
  EXPECT_EQ(to_json({subject})["kernels"][0]["lesson"], "06.05");
}

// .ci/check_xray opens the page in a browser.
TEST_F(Xray, DrawsWhatIsWrong) {
  const DeviceVector<float> in(std::vector<float>(100, 1.0f));
  const DeviceVector<float> out(kThreads);
  emulator::name_memory({in.data(), 100 * sizeof(float), "in", sizeof(float), true});
  reads_its_neighbour<<<1, kThreads>>>(out.data(), false);
  reads_at<<<1, 32>>>(out.data(), in.data(), 103);
  reads_unwritten_shared<<<1, 32>>>(out.data());
  reads_a_column<<<1, 64>>>(out.data(), 200);
  cudaGetLastError();
  std::vector<Subject> subjects;
  for (Kernel& kernel : take())
    subjects.push_back({"faulty", kernel.name, std::move(kernel)});
  ASSERT_EQ(subjects.size(), 4u);
  const std::string table = to_table(subjects);
  for (const char* words : {"race: ", "out of bounds: ", "uninitialised read: "})
    EXPECT_NE(table.find(words), std::string::npos) << words << table;
  nlohmann::json report = to_json(subjects);
  EXPECT_EQ(report.at("schema"), "kernel-ladder/xray/1");
  EXPECT_EQ(report.at("kernels").at(1).at("errors").at(0).at("kind"), "out of bounds");
  report["operator"] = "kernels with mistakes </script><script>throw 1</script>";
  const std::string page = to_page(report);
  EXPECT_EQ(page.find("</script><script>throw"), std::string::npos);
  if (const char* path = std::getenv("XRAY_TEST_PAGE")) std::ofstream(path) << page;
}

template <typename T>
__global__ void sums_with_reductions(T* out) {
  out[threadIdx.x] = static_cast<T>(__reduce_add_sync(0xffffffffu, threadIdx.x));
}

TEST_F(Xray, WarpOperationsTouchNoMemory) {
  const DeviceVector<float> out(32);
  sums_with_reductions<float><<<1, 32>>>(out.data());
  const Kernel kernel = only();
  EXPECT_TRUE(kernel.errors.empty());
  EXPECT_EQ(kernel[kGlobalStoreRequests], 1u);
  EXPECT_EQ(out.host()[3], 496.0f);
}

// Last in the file, because from here on lines are those of an object that a compiler's cache took
// from another copy of the repository.
#line 1000 "/another/copy/common/xray/test/xray_test.cu"
TEST_F(Xray, NamesALineThatAnotherCopyOfTheRepositoryHasCompiled) {
  const DeviceVector<float> array(std::vector<float>(4, 1.0f));
  volatile float* const at = array.data() + 1;
  EXPECT_DEATH(static_cast<void>(*at),
               "^common/xray/test/xray_test.cu:1003: the host reads device memory");
}

}  // namespace
