#include <gtest/gtest.h>

#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

// Three segments of two chunks.
constexpr double kT = 384, kSide = 64, kSegments = 3, kLoadsInFlight = 8;
const ladder::WkvCase kCase{
    .B = 1, .T = 384, .H = 1, .K = 64, .V = 64, .precision = ladder::Precision::kBf16};

const bool bounds = ladder::testing::register_bounds(
    "wkv_gradient_segments", "wkv_backward", {{"B", 1}, {"T", 257}, {"H", 1}, {"K", 72}, {"V", 20}},
    {}, {"fp32", "bf16"});

std::vector<Kernel> kernels() {
  return xrays_of<ladder::WkvBackward>("wkv_gradient_segments", kCase);
}

double moved(const Kernel& kernel) {
  return static_cast<double>(kernel[kGlobalLoadBytesMoved] + kernel[kGlobalStoreBytesMoved]);
}

// Lesson 20 moves 19 tensors. The walks of S and D also store a state in fp32 per segment. The scan
// stores it again and has eight loads in flight, of the last segment again if there are fewer. Each
// chunk loads its segment's state, with two requests per sector.
TEST(GradientSegments, MovesAStatePerSegmentAndOnePerChunk) {
  const double tensor = sizeof(ladder::bfloat16) * kT * kSide;
  const double state = sizeof(float) * kSide * kSide;
  const double chunks = kT / kSide;
  double all = 0;
  for (const Kernel& kernel : kernels())
    all += moved(kernel);
  const double states = 2 * state * (2 * kSegments + kLoadsInFlight + 2 * chunks);
  EXPECT_GE(all, 19 * tensor + states);
  EXPECT_LE(all, 1.05 * (19 * tensor + states));
}

TEST(GradientSegments, AddsWithoutAtomicsAndStoresOnce) {
  ASSERT_EQ(kernels().size(), 4u);  // the walks, the scan, the gradients and the sum of du
  for (const Kernel& kernel : kernels()) {
    EXPECT_EQ(kernel[kAtomics], 0u);
    for (const Buffer& buffer : kernel.buffers)
      EXPECT_LE(buffer.stores().accesses_per_element.most, 1u) << buffer.name;
  }
}

// A block per segment and direction.
TEST(GradientSegments, WalksAllSegmentsAtOnce) {
  EXPECT_EQ(kernels()[0].grid.z, 2u * 3u);
}

}  // namespace
