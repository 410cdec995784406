// 06 shared_mem: linear attention, by the kernel that suits the shape.
// Change: packed_causal_product for many heads, prefix_causal_product for few.
// Why:    the first fills the GPU with heads and columns, the second with time steps as well.
// Needs:  the same as both kernels, with all options of linear attention.
// Costs:  only one comparison on the host.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "06_shared_mem/causal_product.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/multiprocessors.hpp"

namespace shared_mem {
namespace {

void linear_attention(const ladder::LinearAttentionArgs& args) {
  static const auto prefix = ladder::launcher<ladder::LinearAttention, ladder::LinearAttentionArgs>(
      ladder::find_implementation("prefix_causal_product"));
  static const auto packed = ladder::launcher<ladder::LinearAttention, ladder::LinearAttentionArgs>(
      ladder::find_implementation("packed_causal_product"));
  require_shape(args);
  if (args.B == 0 || args.T_q == 0) return;
  const int multiprocessors = ladder::cuda::multiprocessor_count();
  // Prefix sums are used while each of their blocks gets its own SM. Measured on an H200 (132 SMs),
  // B=1, T=1024, in ms, prefix | packed, K=V=64: 0.041 | 0.058 (H=16), 0.076 | 0.059 (H=17).
  // K=V=128: 0.073 | 0.091 (H=8), 0.140 | 0.092 (H=9). K=V=256: 0.115 | 0.151 (H=4), 0.221 | 0.150
  // (H=5).
  const std::int64_t prefix_blocks =
      args.B * args.H * ((args.V + kPrefixColumns - 1) / kPrefixColumns);
  prefix_blocks <= multiprocessors ? prefix(args) : packed(args);
}

const ladder::Registration linear_attention_registration{
    {.name = "linear_attention_shared_mem",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace shared_mem
