// Softmax attention with keys and values in pages, memory for page_keys tokens each, in any order,
// which any batch may use.
//
// Token t of batch b is row t % page_keys of page block_table(b, t / page_keys), of k and of v.
// Batch b has key_lengths(b) of them, and the formulas are in
// common/operators/attention/attention.hpp. A batch without keys has o = 0 and lse = -inf.
// Source: Kwon et al., "Efficient Memory Management for Large Language Model Serving with
// PagedAttention" (2023).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {

struct PagedAttention;  // the operator, in paged_attention_operator.cpp

// All but the window, the softcap and D_v, which are the 128 bytes of most kernels' arguments
// (attention.hpp explains why).
struct PagedAttentionPart {
  std::int64_t B = 8;           // batches, 0 or more
  std::int64_t T_q = 1;         // queries of each, 0 or more, which are its last tokens if `causal`
  std::int64_t H_q = 32;        // query heads, a multiple of H_kv
  std::int64_t H_kv = 8;        // key and value heads, 1 or more
  std::int64_t D = 128;         // channels per head
  std::int64_t pages = 2048;    // 1 or more
  std::int64_t page_keys = 16;  // tokens of a page, 1 or more
  std::int64_t max_pages = 256;  // that a batch may have, 0 or more
  bool causal = false;
  float scale = 0.125f;  // finite

  std::int64_t channels_of_v() const { return D; }

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T_q", s.T_q, 0), visit("H_q", s.H_q, 1), visit("H_kv", s.H_kv, 1);
    visit("D", s.D, 1), visit("pages", s.pages, 1), visit("page_keys", s.page_keys, 1);
    visit("max_pages", s.max_pages, 0), visit("causal", s.causal), visit("scale", s.scale);
  }
};

struct PagedAttentionOptions {
  std::int64_t window = 0;  // a query sees only this many of its last keys, or all if 0
  float softcap = 0.0f;     // 0 means no softcap
  std::int64_t D_v = 0;     // channels of v and of o, or 0 for D

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("window", s.window), visit("softcap", s.softcap, 0.0f), visit("D_v", s.D_v);
  }
};

template <typename Part>
struct WithPagedAttentionOptions : Part, PagedAttentionOptions {
  std::int64_t channels_of_v() const { return D_v > 0 ? D_v : this->D; }

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    Part::fields(s, visit), PagedAttentionOptions::fields(s, visit);
  }
};

template <typename Element>
struct BasicPagedAttentionArgs : PagedAttentionPart {
  static constexpr const char* kStorage = ladder::kAttentionStorage<Element>;

  const Element* q = nullptr;  // (B, T_q, H_q, D)
  const Element* k = nullptr;  // (pages, page_keys, H_kv, D)
  const Element* v = nullptr;  // (pages, page_keys, H_kv, D), or D_v for D
  // Both are in device memory, and no launcher reads them. A page number is 0 to pages - 1, and
  // entries past a batch's last page are not read. A length is 0 to max_pages * page_keys. Kernels
  // clamp both.
  const std::int32_t* block_table = nullptr;  // (B, max_pages)
  const std::int64_t* key_lengths = nullptr;  // (B)
  Element* o = nullptr;                       // (B, T_q, H_q, D), likewise
  float* lse = nullptr;                       // (B, H_q, T_q), natural logarithm

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("q", s.q, {{"b", s.B}, {"t", s.T_q}, {"h", s.H_q}, {"i", s.D}});
    visit("k", s.k, {{"page", s.pages}, {"t", s.page_keys}, {"h", s.H_kv}, {"i", s.D}});
    const std::int64_t D_v = s.channels_of_v();
    visit("v", s.v, {{"page", s.pages}, {"t", s.page_keys}, {"h", s.H_kv}, {"i", D_v}});
    visit("block_table", s.block_table, {{"b", s.B}, {"n", s.max_pages}});
    visit("key_lengths", s.key_lengths, {{"b", s.B}});
    visit("o", s.o, {{"b", s.B}, {"t", s.T_q}, {"h", s.H_q}, {"i", D_v}});
    visit("lse", s.lse, {{"b", s.B}, {"h", s.H_q}, {"t", s.T_q}});
  }
};

template <typename Element>
using FullPagedAttentionArgs = WithPagedAttentionOptions<BasicPagedAttentionArgs<Element>>;

using PagedAttentionSizes = WithPagedAttentionOptions<PagedAttentionPart>;
using PagedAttentionArgs = FullPagedAttentionArgs<float>;
using PagedAttentionBf16Args = FullPagedAttentionArgs<ladder::bfloat16>;
using PagedAttentionFp16Args = FullPagedAttentionArgs<ladder::float16>;

// Throws std::invalid_argument, which names the argument, its value and the allowed range, unless
// everything that the host can check is right.
template <typename Element>
void validate(const FullPagedAttentionArgs<Element>& args) {
  const auto is = [](const char* name, auto value) {
    return std::string(name) + " is " + std::to_string(value) + "; allowed: ";
  };
  ladder::require_at_least("D_v", args.D_v, 0);
  ladder::validate_lists(args);
  ladder::require(args.H_q % args.H_kv == 0, is("H_q", args.H_q) + "a multiple of H_kv, which is " +
                                                 std::to_string(args.H_kv));
  ladder::require(std::isfinite(args.scale), is("scale", args.scale) + "a finite number");
  ladder::require(std::isfinite(args.softcap), is("softcap", args.softcap) + "a finite number");
  ladder::require(args.window >= 0, is("window", args.window) + "0, no window, or more");
  ladder::require(args.pages <= std::numeric_limits<std::int32_t>::max(),
                  is("pages", args.pages) + "what int32 counts");
}

// The registered launchers, with a number of splits that a test chooses, or 0 for the plan.
void paged_attention_in_splits(const PagedAttentionBf16Args& args, std::int64_t splits);
void paged_attention_in_splits(const PagedAttentionFp16Args& args, std::int64_t splits);

}  // namespace flash_attention
