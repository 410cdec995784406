#include <gtest/gtest.h>

#include <vector>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

ladder::bench::Selection bf16(const char* op) {
  return {.op = op,
          .shape =
              {.B = 1, .T = 256, .H = 1, .K = 64, .V = 64},  // four chunks: stages are filled again
          .precision = ladder::Precision::kBf16};
}

// Walks: k, v, log_w and q, d_o, log_w read, two states per chunk written. Gradients: five tensors and both states read, four
// written. Together 19 tensors.
TEST(ChunkwiseBackward, MovesNineteenTensors) {
  const auto selection = bf16("wkv_backward");
  const double tensor = sizeof(ladder::bfloat16) * 256.0 * 64;
  double moved = 0;
  for (const Kernel& kernel : xrays_of("wkv_chunkwise_backward", selection))
    moved += static_cast<double>(kernel[kGlobalLoadBytesMoved] + kernel[kGlobalStoreBytesMoved]);
  EXPECT_LE(moved, 1.1 * 19 * tensor);
}

TEST(ChunkwiseBackward, AddsWithoutAtomicsAndStoresOnce) {
  for (const char* op : {"wkv_backward", "gla_backward"}) {
    const bool gla = op[0] == 'g';
    std::uint64_t tensor_operations = 0;
    for (const Kernel& kernel :
         xrays_of(gla ? "gla_chunkwise_backward" : "wkv_chunkwise_backward", bf16(op))) {
      EXPECT_EQ(kernel[kAtomics], 0u) << op;
      tensor_operations += kernel[kTensorOperations];
      for (const Buffer& buffer : kernel.buffers)
        EXPECT_LE(buffer.stores().accesses_per_element.most, 1u) << op << " " << buffer.name;
    }
    EXPECT_GT(tensor_operations, 0u) << op;
  }
}

}  // namespace
