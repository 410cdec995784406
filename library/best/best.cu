// The fastest kernel for a shape, found by name, so this file includes no chapter.
#include "library/best/best.hpp"

#include <algorithm>
#include <type_traits>

#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "library/best/card.hpp"
#include "library/best/rules.hpp"

namespace ladder {
namespace {

using best::Kernel;

// Searched when it is first needed.
template <Recurrence kRecurrence, typename Element, typename LogW, Kernel kKernel>
void run(const BasicWkvArgs<Element, LogW>& args) {
  using Op = std::conditional_t<kRecurrence == Recurrence::kGla, Gla, Wkv>;
  static const auto launcher = ladder::launcher<Op, BasicWkvArgs<Element, LogW>>(
      find_implementation(best::name_of(kKernel)));
  launcher(args);
}

template <typename Element, Kernel kKernel>
void run(const BasicLinearAttentionArgs<Element>& args) {
  static const auto launcher = ladder::launcher<LinearAttention, BasicLinearAttentionArgs<Element>>(
      find_implementation(best::name_of(kKernel)));
  launcher(args);
}

template <Recurrence kRecurrence, typename Element, typename LogW>
void run(const BasicWkvArgs<Element, LogW>& args) {
  switch (best::choose(best::shape_of(args, kRecurrence), best::current_card())) {
    case Kernel::kSharedMem: return run<kRecurrence, Element, LogW, Kernel::kSharedMem>(args);
    case Kernel::kFusedRecurrent:
      return run<kRecurrence, Element, LogW, Kernel::kFusedRecurrent>(args);
    case Kernel::kTimeTiles: return run<kRecurrence, Element, LogW, Kernel::kTimeTiles>(args);
    case Kernel::kChunkwiseFused:
      return run<kRecurrence, Element, LogW, Kernel::kChunkwiseFused>(args);
    default: return run<kRecurrence, Element, LogW, Kernel::kChunkwise>(args);
  }
}

template <Kernel kKernel, typename Op, typename Args>
void run_attention(const Args& args) {
  static const auto launcher =
      ladder::launcher<Op, Args>(find_implementation(best::name_of(kKernel)));
  launcher(args);
}

// Whether the current GPU can run Hopper's own instructions, and this program has the kernel.
template <Kernel kKernel>
bool has_hopper() {
  static const bool is_here = [] {
    const auto all = implementations();
    return std::any_of(all.begin(), all.end(),
                       [](const auto& each) { return each.name == best::name_of(kKernel); });
  }();
  int device = 0, major = 0, minor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return is_here && major == 9 && minor == 0;
}

}  // namespace

template <typename Element, typename LogW>
void best_wkv(const BasicWkvArgs<Element, LogW>& args) {
  validate(args, PackedSequences::kAllowed);
  run<Recurrence::kWkv>(args);
}

template <typename Element, typename LogW>
void best_gla(const BasicWkvArgs<Element, LogW>& args) {
  validate_gla(args, PackedSequences::kAllowed);
  run<Recurrence::kGla>(args);
}

template <typename Element>
void best_linear_attention(const BasicLinearAttentionArgs<Element>& args) {
  validate(args);
  switch (best::choose(best::shape_of(args), best::current_card())) {
    case Kernel::kStrips: return run<Element, Kernel::kStrips>(args);
    case Kernel::kPacked: return run<Element, Kernel::kPacked>(args);
    case Kernel::kPrefix: return run<Element, Kernel::kPrefix>(args);
    case Kernel::kChunkStates: return run<Element, Kernel::kChunkStates>(args);
    default: return run<Element, Kernel::kLinearChunkwise>(args);
  }
}

template <typename Element>
void best_attention(const FullAttentionArgs<Element>& args) {
  validate(args, ChannelsOfV::kAny);
  best::AttentionShape shape = best::shape_of(args);
  shape.hopper = has_hopper<Kernel::kHopper>();
  using Op = Attention;
  if constexpr (std::is_same_v<Element, float>) {
    run_attention<Kernel::kScalarTiles, Op>(args);
  } else {
    switch (best::choose(shape)) {
      case Kernel::kSplitKeys: return run_attention<Kernel::kSplitKeys, Op>(args);
      case Kernel::kSlidingWindow: return run_attention<Kernel::kSlidingWindow, Op>(args);
      case Kernel::kHopper: return run_attention<Kernel::kHopper, Op>(args);
      default: return run_attention<Kernel::kPipelined, Op>(args);
    }
  }
}

template <typename Element>
void best_attention_backward(const FullAttentionGradArgs<Element>& args) {
  validate(args, ChannelsOfV::kAny);
  best::AttentionShape shape = best::shape_of(args);
  shape.hopper = has_hopper<Kernel::kGradientsHopper>();
  using Op = AttentionBackward;
  switch (best::choose(shape)) {
    case Kernel::kGradientsScalar: return run_attention<Kernel::kGradientsScalar, Op>(args);
    case Kernel::kGradientsHopper: return run_attention<Kernel::kGradientsHopper, Op>(args);
    default: return run_attention<Kernel::kGradients, Op>(args);
  }
}

template void best_wkv(const WkvArgs&);
template void best_wkv(const WkvBf16Args&);
template void best_wkv(const WkvBf16Fp32DecayArgs&);
template void best_wkv(const WkvFp16Args&);
template void best_gla(const WkvArgs&);
template void best_gla(const WkvBf16Args&);
template void best_gla(const WkvBf16Fp32DecayArgs&);
template void best_gla(const WkvFp16Args&);
template void best_linear_attention(const LinearAttentionArgs&);
template void best_linear_attention(const LinearAttentionBf16Args&);
template void best_attention(const AttentionArgs&);
template void best_attention(const AttentionBf16Args&);
template void best_attention(const AttentionFp16Args&);
template void best_attention_backward(const AttentionGradArgs&);
template void best_attention_backward(const AttentionGradBf16Args&);
template void best_attention_backward(const AttentionGradFp16Args&);

namespace {

const Registration wkv_registration{
    {.name = "best_wkv",
     .device = DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = Arithmetic::kBf16Operands,
     .units = Units::kTensorCores,
     .fma_share = 2.0 / 3,  // as for chapter 07, the smallest of all
     .launchers = launchers<Wkv>(best_wkv<float, float>, best_wkv<bfloat16, bfloat16>,
                                 best_wkv<bfloat16, float>, best_wkv<float16, float16>)}};

const Registration gla_registration{
    {.name = "best_gla",
     .device = DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = Arithmetic::kBf16Operands,
     .units = Units::kTensorCores,
     .fma_share = 2.0 / 3,  // as for chapter 07, the smallest of all
     .launchers = launchers<Gla>(best_gla<float, float>, best_gla<bfloat16, bfloat16>,
                                 best_gla<bfloat16, float>, best_gla<float16, float16>)}};

const Registration linear_attention_registration{
    {.name = "best_linear_attention",
     .device = DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = Arithmetic::kBf16Operands,
     .units = Units::kTensorCores,
     .launchers = launchers<LinearAttention>(best_linear_attention<float>,
                                             best_linear_attention<bfloat16>)}};

const Registration attention_registration{
    {.name = "best_attention",
     .device = DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = Arithmetic::kBf16Operands,
     .units = Units::kWarpgroups,
     .launchers = launchers<Attention>(best_attention<float>, best_attention<bfloat16>,
                                       best_attention<float16>)}};

const Registration attention_backward_registration{
    {.name = "best_attention_backward",
     .device = DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = Arithmetic::kBf16Operands,
     .units = Units::kWarpgroups,
     .launchers = launchers<AttentionBackward>(best_attention_backward<float>,
                                               best_attention_backward<bfloat16>,
                                               best_attention_backward<float16>)}};

}  // namespace
}  // namespace ladder
