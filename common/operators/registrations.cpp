// The operators that several chapters share, in the order of the chapters.
#include "common/core/operator.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"

namespace ladder {
namespace {

const OperatorRegistration<Wkv> wkv(1);
const OperatorRegistration<Gla> gla(2);
const OperatorRegistration<WkvBackward> wkv_backward(3);
const OperatorRegistration<GlaBackward> gla_backward(4);
const OperatorRegistration<LinearAttention> linear_attention(5);
const OperatorRegistration<CausalDotProduct> causal_dot_product(6);
const OperatorRegistration<Attention> attention(7);
const OperatorRegistration<AttentionBackward> attention_backward(8);

}  // namespace
}  // namespace ladder
