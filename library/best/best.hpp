// The fastest of the chapters' kernels for every shape and precision, chosen by rules.hpp.
//
// Arguments, shapes and errors are the same as in common/operators (wkv, linear_attention,
// attention). All pointers are device pointers. Work is queued on the calling thread's default
// stream. Bad arguments, and shapes that no kernel supports, throw std::invalid_argument before any
// launch. The gradients of WKV, GLA and linear attention have only one kernel and are not here.
#pragma once

#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace ladder {

// Element and LogW are both float, both bfloat16, both float16, or bfloat16 and float.
template <typename Element, typename LogW>
void best_wkv(const BasicWkvArgs<Element, LogW>& args);

// args.u is null. K up to 512.
template <typename Element, typename LogW>
void best_gla(const BasicWkvArgs<Element, LogW>& args);

// Element is float or bfloat16.
template <typename Element>
void best_linear_attention(const BasicLinearAttentionArgs<Element>& args);

// Element is float, bfloat16 or float16. Decoding (few queries, many keys) is included.
template <typename Element>
void best_attention(const FullAttentionArgs<Element>& args);
template <typename Element>
void best_attention_backward(const FullAttentionGradArgs<Element>& args);

}  // namespace ladder
