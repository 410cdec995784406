// kernel_ladder.h for C++17 and later, with structs with default values, arrays with checked sizes,
// and errors as exceptions. Allocates nothing.
//
//     kernel_ladder::Wkv call;
//     call.B = 1, call.T = 54, ...
//     // q: a std::span, std::vector or any range with data() and size()
//     call.q = kernel_ladder::array("q", q, {B, T, H, K});
//     call.run();  // throws kernel_ladder::Error
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>

#include "kernel_ladder.h"

namespace kernel_ladder {

// The status and the message of a C function that did not return KL_OK.
struct Error : std::runtime_error {
  Error(std::int32_t code, const std::string& sentence)
      : std::runtime_error(sentence), status(code) {}
  std::int32_t status;
};

// Without exceptions, prints the message to stderr and ends the program.
[[noreturn]] inline void fail(std::int32_t code, const std::string& sentence) {
#ifdef __cpp_exceptions
  throw Error(code, sentence);
#else
  static_cast<void>(code);
  std::fprintf(stderr, "kernel_ladder: %s\n", sentence.c_str());
  std::abort();
#endif
}

inline void check(std::int32_t status) {
  if (status != KL_OK) fail(status, kl_error());
}

// The data of a range. Error if its length differs from that of an array of these sizes.
template <typename Range>
auto array(const char* name, Range&& range, std::initializer_list<std::int64_t> sizes) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes)
    elements *= size;
  if (static_cast<std::int64_t>(std::size(range)) == elements) return std::data(range);
  fail(KL_BAD_ARGUMENT, std::string(name) + " has " + std::to_string(std::size(range)) +
                            " elements; allowed: " + std::to_string(elements));
}

// A struct of the C interface with its functions as members.
template <typename Args, const Args& kUsual, std::int32_t (*kRun)(const Args*),
          std::int32_t (*kWorkspace)(const Args*, std::size_t*),
          std::int32_t (*kChoice)(const Args*, const char**)>
struct Call : Args {
  Call() : Args(kUsual) {}

  void run() const { check(kRun(this)); }
  std::size_t workspace_needed() const {  // in bytes
    std::size_t bytes = 0;
    check(kWorkspace(this, &bytes));
    return bytes;
  }
  std::string chosen() const {  // the kernel that run() uses
    const char* name = nullptr;
    check(kChoice(this, &name));
    return name;
  }
};

inline constexpr kl_wkv_args kWkv = KL_WKV_ARGS;
inline constexpr kl_wkv_backward_args kWkvBackward = KL_WKV_BACKWARD_ARGS;
inline constexpr kl_linear_attention_args kLinearAttention = KL_LINEAR_ATTENTION_ARGS;
inline constexpr kl_attention_args kAttention = KL_ATTENTION_ARGS;
inline constexpr kl_attention_backward_args kAttentionBackward = KL_ATTENTION_BACKWARD_ARGS;

using Wkv = Call<kl_wkv_args, kWkv, kl_wkv, kl_wkv_workspace, kl_wkv_choice>;
using Gla = Call<kl_wkv_args, kWkv, kl_gla, kl_gla_workspace, kl_gla_choice>;
using WkvBackward = Call<kl_wkv_backward_args, kWkvBackward, kl_wkv_backward,
                         kl_wkv_backward_workspace, kl_wkv_backward_choice>;
using GlaBackward = Call<kl_wkv_backward_args, kWkvBackward, kl_gla_backward,
                         kl_gla_backward_workspace, kl_gla_backward_choice>;
using LinearAttention = Call<kl_linear_attention_args, kLinearAttention, kl_linear_attention,
                             kl_linear_attention_workspace, kl_linear_attention_choice>;
using Attention =
    Call<kl_attention_args, kAttention, kl_attention, kl_attention_workspace, kl_attention_choice>;
using AttentionBackward =
    Call<kl_attention_backward_args, kAttentionBackward, kl_attention_backward,
         kl_attention_backward_workspace, kl_attention_backward_choice>;

}  // namespace kernel_ladder
