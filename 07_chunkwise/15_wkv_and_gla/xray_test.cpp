#include <gtest/gtest.h>

#include <vector>

#include "07_chunkwise/in_place.hpp"
#include "common/judge/operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::Gla;
using ladder::Wkv;
using ladder::WkvCase;
using ladder::testing::xray_of;

WkvCase bf16(WkvCase c) {
  c.precision = ladder::Precision::kBf16;
  return c;
}

const bool bounds =
    ladder::testing::register_bounds("wkv_chunkwise", "wkv", ladder::testing::kRaggedShape,
                                     {{"initial_state", "true"}, {"final_state", "true"}},
                                     {"fp32", "bf16", "bf16_fp32_decay", "fp16"}) &&
    ladder::testing::register_bounds("wkv_chunkwise_time_parallel", "wkv",
                                     ladder::testing::kRaggedShape,
                                     {{"initial_state", "true"}, {"final_state", "true"}},
                                     {"fp32", "bf16", "bf16_fp32_decay", "fp16"});

const bool bounds_in_parts =
    ladder::testing::register_bounds(
        "wkv_chunkwise", "gla", {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 300}, {"V", 20}},
        {{"initial_state", "true"}, {"final_state", "true"}}, {"fp32", "bf16"}) &&
    ladder::testing::register_bounds("wkv_chunkwise_time_parallel", "gla",
                                     {{"B", 1}, {"T", 70}, {"H", 1}, {"K", 300}, {"V", 20}},
                                     {{"initial_state", "true"}, {"final_state", "true"}},
                                     {"bf16"});

TEST(WkvChunkwise, MovesLittleMoreThanEveryTensorOnce) {
  const WkvCase c = bf16({.B = 1, .T = 256, .H = 2, .K = 64, .V = 64});
  for (const bool gla : {false, true}) {
    const Kernel kernel =
        gla ? xray_of<Gla>("wkv_chunkwise_fused", c) : xray_of<Wkv>("wkv_chunkwise_fused", c);
    const double moved = static_cast<double>(kernel[kGlobalLoadBytesMoved]) +
                         static_cast<double>(kernel[kGlobalStoreBytesMoved]);
    EXPECT_LE(
        moved,
        1.1 * (gla ? ladder::as_case<Gla>(Gla::own(c)) : ladder::as_case<Wkv>(c))->cost().bytes)
        << gla;
  }
}

TEST(WkvChunkwise, HasNoBankConflictsWorthMentioning) {
  const Kernel kernel =
      xray_of<Wkv>("wkv_chunkwise_fused", bf16({.B = 1, .T = 128, .H = 1, .K = 64, .V = 64}));
  const double wavefronts = static_cast<double>(kernel[kSharedLoadWavefronts]) +
                            static_cast<double>(kernel[kSharedStoreWavefronts]);
  const double conflicts = static_cast<double>(kernel[kSharedLoadBankConflicts]) +
                           static_cast<double>(kernel[kSharedStoreBankConflicts]);
  EXPECT_LE(conflicts, 0.02 * wavefronts);
}

// Per 16 tokens there are 8 products of neighbours and 4 of each further level. Each of four warps
// adds 2 for the scores' part of o, 8 for the state's, and 8 for the state.
TEST(WkvChunkwise, ComputesOnTensorCores) {
  const Kernel kernel =
      xray_of<Wkv>("wkv_chunkwise_fused", bf16({.B = 1, .T = 128, .H = 1, .K = 64, .V = 64}));
  EXPECT_EQ(kernel[kTensorOperations], 128 / 16 * (8 + 3 * 4 + 4 * (2 + 8 + 8)));
  EXPECT_EQ(kernel[kAtomics], 0u);
}

// One before a chunk is prepared and one after, and one after the last.
TEST(WkvChunkwise, TakesTwoBarriersPerChunk) {
  const Kernel kernel =
      xray_of<Wkv>("wkv_chunkwise_fused", bf16({.B = 1, .T = 130, .H = 1, .K = 64, .V = 64}));
  EXPECT_EQ(kernel[kBarriers], 3 * 2 + 1);
}

// Heads of 512 channels need two launches, each with half of q, k and log_w, and all of v. The
// first stores fp32 sums, four bytes for an element of o, which the second loads.
TEST(WkvChunkwise, TakesHeadsOf512ChannelsInTwoParts) {
  const WkvCase c = bf16({.B = 1, .T = 64, .H = 1, .K = 512, .V = 64});
  const Kernel kernel = xray_of<Wkv>("wkv_chunkwise_fused", c);
  EXPECT_EQ(kernel.launches, 2u);
  for (const char* name : {"q", "k", "log_w"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.least, 2u);
  EXPECT_EQ(kernel.buffer("o").loads().accesses, 0u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  const std::uint64_t of_qkw = 3 * 64 * 512 * 2, of_v = 64 * 64 * 2, sums = 64 * 64 * sizeof(float);
  const std::uint64_t of_u = 4 * 512 * 2;  // by two warps, the even channels and then the odd ones
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], of_qkw + 2 * of_v + of_u + sums);
  EXPECT_EQ(kernel[kGlobalStoreBytesMoved], of_v + sums);
  // A group of 64 channels is prepared once per 16 tokens. Eight warps multiply 128 channels of 16
  // columns in each part.
  EXPECT_EQ(kernel[kTensorOperations],
            64 / 16 * (512 / 64 * (8 + 3 * 4) + 2 * (8 * (16 + 16) + 4 * 4 * 2)));
}

// Each batch is a sequence of T steps. Four chunks are two segments for any B. There is a state for
// each segment, and a second pass.
TEST(WkvChunkwise, CutsEachBatchIntoSegments) {
  const Kernel kernel =
      xray_of<Wkv>("wkv_chunkwise", bf16({.B = 2, .T = 256, .H = 1, .K = 16, .V = 16}));
  EXPECT_EQ(kernel.launches, 2u);
  const Kernel short_one =
      xray_of<Wkv>("wkv_chunkwise", bf16({.B = 2, .T = 255, .H = 1, .K = 16, .V = 16}));
  EXPECT_EQ(short_one.launches, 1u);
}

// The first pass needs no q, and skips the last segment.
TEST(WkvChunkwise, ReadsKTwiceInSegmentsAndQOnce) {
  const Kernel kernel = xray_of<Wkv>("wkv_chunkwise_time_parallel",
                                     bf16({.B = 1, .T = 200, .H = 1, .K = 64, .V = 64}));
  EXPECT_EQ(kernel.launches, 2u);
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("k").loads().accesses_per_element.most, 2u);
  EXPECT_EQ(kernel.buffer("k").loads().accesses_per_element.least, 1u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
}

// Time is cut here too. If a block read the state that another block writes, there would be a race.
TEST(WkvChunkwise, CutsTimeWhereTheStateIsUpdatedInPlace) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  WkvCase c = bf16({.B = 2, .T = 256, .H = 1, .K = 16, .V = 16});
  c.initial_state = c.final_state = true;
  take();
  chunkwise::run_in_place<ladder::WkvBf16Args>(ladder::find_implementation("wkv_chunkwise"),
                                               ladder::make_problem(c));
  const std::vector<Kernel> kernels = take();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].launches, 2u);
  for (const auto& error : kernels[0].errors)
    ADD_FAILURE() << error.message;
}

}  // namespace
