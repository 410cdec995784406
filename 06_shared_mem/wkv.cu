// 06 shared_mem: WKV by the kernel that suits the shape.
// Change: time tiles where K allows, fused recurrent tiles otherwise.
// Why:    the fastest kernel keeps a column's key rows, at most 256, in one warp's registers.
// Needs:  any K and V, initial and final state, reverse, fp32 or bf16 storage, a GPU since Ampere.
// Costs:  only one comparison on the host.
//         See README for measurements.
#include "06_shared_mem/recurrent_kernels.hpp"
#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace shared_mem {
namespace {

// README, "Numbers", has the measurements. `./ladder run --implementation` selects another kernel.
template <typename Element, typename LogW>
void wkv_recurrent(const ladder::BasicWkvArgs<Element, LogW>& args) {
  using Args = ladder::BasicWkvArgs<Element, LogW>;
  static const auto time_tiles =
      ladder::launcher<ladder::Wkv, Args>(ladder::find_implementation("wkv_time_tiles"));
  static const auto fused_recurrent =
      ladder::launcher<ladder::Wkv, Args>(ladder::find_implementation("wkv_fused_recurrent"));
  ladder::validate(args);
  args.K <= kMostRows ? time_tiles(args) : fused_recurrent(args);
}

const ladder::Registration wkv_recurrent_registration{
    {.name = "wkv_recurrent",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .fma_share = 0.75,  // as in 07_time_tiles
     .launchers = ladder::launchers<ladder::Wkv>(wkv_recurrent<float, float>,
                                                 wkv_recurrent<ladder::bfloat16, ladder::bfloat16>,
                                                 wkv_recurrent<ladder::bfloat16, float>)}};

}  // namespace
}  // namespace shared_mem
