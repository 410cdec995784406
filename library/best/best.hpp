// The chapters' fastest kernel for every shape and precision. rules.hpp chooses it.
//
// Arguments, shapes and errors are those of common/operators: wkv, linear_attention and attention.
// All pointers are device pointers. Work is queued on the calling thread's default stream. Bad
// arguments, and shapes that no chapter's kernel accepts, throw std::invalid_argument with a
// sentence before anything is launched. Gradients of WKV, GLA and linear attention have only one
// kernel each, so they are not here.
#pragma once

#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace ladder {

// Element, LogW: float, float; bfloat16, bfloat16; bfloat16, float; or float16, float16.
template <typename Element, typename LogW>
void best_wkv(const BasicWkvArgs<Element, LogW>& args);

// args.u is null. K up to 512.
template <typename Element, typename LogW>
void best_gla(const BasicWkvArgs<Element, LogW>& args);

// Element: float or bfloat16.
template <typename Element>
void best_linear_attention(const BasicLinearAttentionArgs<Element>& args);

// Element: float, bfloat16 or float16. Shapes may have few queries and many keys, as in decoding.
template <typename Element>
void best_attention(const FullAttentionArgs<Element>& args);
template <typename Element>
void best_attention_backward(const FullAttentionGradArgs<Element>& args);

}  // namespace ladder
