#include <gtest/gtest.h>

#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

// Four chunks, so that stages are refilled.
const ladder::WkvCase kCase{
    .B = 1, .T = 256, .H = 1, .K = 64, .V = 64, .precision = ladder::Precision::kBf16};

const bool bounds = ladder::testing::register_bounds("wkv_chunkwise_backward", "wkv_backward",
                                                     ladder::testing::kRaggedShape, {},
                                                     {"fp32", "bf16", "bf16_fp32_decay"});

// The walks load k, v, log_w and q, d_o, log_w, and store two states per chunk. The second kernel
// loads five tensors and both states, and stores four. Together these are 19 tensors.
TEST(ChunkwiseBackward, MovesNineteenTensors) {
  const double tensor = sizeof(ladder::bfloat16) * 256.0 * 64;
  double moved = 0;
  for (const Kernel& kernel : xrays_of<ladder::WkvBackward>("wkv_chunkwise_backward", kCase))
    moved += static_cast<double>(kernel[kGlobalLoadBytesMoved] + kernel[kGlobalStoreBytesMoved]);
  EXPECT_LE(moved, 1.1 * 19 * tensor);
}

TEST(ChunkwiseBackward, AddsWithoutAtomicsAndStoresOnce) {
  for (const bool gla : {false, true}) {
    const char* op = gla ? "gla_backward" : "wkv_backward";
    std::uint64_t tensor_operations = 0;
    for (const Kernel& kernel :
         gla ? xrays_of<ladder::GlaBackward>("gla_chunkwise_backward", kCase)
             : xrays_of<ladder::WkvBackward>("wkv_chunkwise_backward", kCase)) {
      EXPECT_EQ(kernel[kAtomics], 0u) << op;
      tensor_operations += kernel[kTensorOperations];
      for (const Buffer& buffer : kernel.buffers)
        EXPECT_LE(buffer.stores().accesses_per_element.most, 1u) << op << " " << buffer.name;
    }
    EXPECT_GT(tensor_operations, 0u) << op;
  }
}

}  // namespace
