// The suites of softmax attention are tested: plain loops must pass them.
#include "common/operators/suite.hpp"
#include "common/core/registry.hpp"
#include "common/operators/attention/plain.hpp"

namespace ladder::testing {
namespace {

template <typename Element, bool kRounds>
void forward(const BasicAttentionArgs<Element>& args) {
  plain_attention(args, {.operands_rounded = kRounds});
}

template <typename Element, bool kRounds>
void backward(const BasicAttentionGradArgs<Element>& args) {
  plain_attention_backward(args, {.operands_rounded = kRounds});
}

template <bool kRounds>
Implementation plain(const std::string& name) {
  return {.name = name,
          .chapter = "90_plain",
          .bf16_arithmetic = kRounds ? Arithmetic::kBf16Operands : Arithmetic::kFp32,
          .launchers =
              launchers<Attention>(forward<float, kRounds>, forward<bfloat16, kRounds>,
                                   forward<float16, kRounds>) +
              launchers<AttentionBackward>(backward<float, kRounds>, backward<bfloat16, kRounds>,
                                           backward<float16, kRounds>)};
}

const Registration registrations[] = {Registration(plain<false>("plain_attention")),
                                      Registration(plain<true>("plain_attention_bf16_operands"))};

bool register_all(const std::string& name) {
  const AttentionSupport support{.bf16 = true, .fp16 = true, .D_sizes = {20, 32, 64}};
  return register_attention_suite(name, support) &&
         register_attention_backward_suite(name, support);
}

const bool registered =
    register_all("plain_attention") && register_all("plain_attention_bf16_operands");

}  // namespace
}  // namespace ladder::testing
