#include "common/operators/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/options.hpp"

namespace ladder {

float default_attention_scale(std::int64_t D) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)));
}

namespace {

template <typename Value>
void require_option(bool allowed, const char* name, const Value& value, const char* what) {
  require(allowed, std::string(name) + " is " + to_text(value) + "; allowed" + what);
}

// Everything except the scale.
template <typename Element>
void validate_part(const BasicAttentionArgs<Element>& args) {
  validate_lists(args);
  require(args.H_q % args.H_kv == 0, "H_q is " + std::to_string(args.H_q) +
                                         "; allowed: a multiple of H_kv, which is " +
                                         std::to_string(args.H_kv));
  require((args.cu_seqlens_q == nullptr) == (args.cu_seqlens_k == nullptr),
          "one of cu_seqlens_q and cu_seqlens_k is null; allowed: both or neither");
  if (args.cu_seqlens_q != nullptr) {
    require(args.B == 1, "B is " + std::to_string(args.B) +
                             " with cu_seqlens; allowed: 1, all sequences in one");
    require(args.key_lengths == nullptr, "key_lengths is given; allowed without cu_seqlens only");
    require_at_least("sequences", args.sequences, 0);
  }
}

template <typename Element>
void require_v_as_q(const FullAttentionArgs<Element>& args) {
  require_option(args.D_v == 0 || args.D_v == args.D, "D_v", args.D_v,
                 (" in this kernel: 0, or D, which is " + std::to_string(args.D)).c_str());
}

// Queries of all heads times the average number of keys that a query sees.
template <typename Element>
double count_pairs(const BasicAttentionArgs<Element>& args) {
  const double keys = static_cast<double>(args.T_k) / (args.causal ? 2 : 1);
  return keys * args.T_q * args.B * args.H_q;
}
template <typename Element>
double count_pairs(const FullAttentionArgs<Element>& args) {
  const BasicAttentionArgs<Element>& part = args;
  if (args.window == 0 || args.T_k == 0) return count_pairs(part);
  const double keys = static_cast<double>(args.T_k);
  const double window = std::min(static_cast<double>(args.window), keys);
  return window * (1 - window / (2 * keys)) * args.T_q * args.B * args.H_q;
}

}  // namespace

template <typename Element>
void validate(const BasicAttentionArgs<Element>& args, Scale scale) {
  validate_part(args);
  const bool is_allowed = args.scale > 0.0f || (scale == Scale::kOfAnySign && args.scale < 0.0f);
  require_option(
      is_allowed && std::isfinite(args.scale), "scale", args.scale,
      scale == Scale::kPositive ? ": a finite number above 0" : ": a finite number other than 0");
}

template <typename Element>
void validate(const FullAttentionArgs<Element>& args, ChannelsOfV of_v) {
  validate_part(args);
  require_option(std::isfinite(args.scale), "scale", args.scale, ": a finite number");
  require_option(args.window >= 0, "window", args.window, ": 0 or more");
  require_option(args.causal || args.window == 0, "window", args.window,
                 " without causal: 0, no window");
  require_option(std::isfinite(args.softcap) && args.softcap >= 0.0f, "softcap", args.softcap,
                 ": a finite number, 0 or more");
  require_option(args.D_v >= 0, "D_v", args.D_v, ": 0 or more");
  if (of_v == ChannelsOfV::kAsOfQ) require_v_as_q(args);
}

template <typename Element>
void FullAttentionArgs<Element>::require_part() const {
  require_option(window == 0, "window", window, " in this kernel: 0, no window");
  require_option(softcap == 0.0f, "softcap", softcap, " in this kernel: 0, no softcap");
  require_v_as_q(*this);
}

template <typename Element>
void validate(const BasicAttentionGradArgs<Element>& args) {
  validate(args.forward);
  validate_lists(args);
}

template <typename Element>
void validate(const FullAttentionGradArgs<Element>& args, ChannelsOfV of_v) {
  validate(args.forward, of_v);
  validate_lists(args);
}

template <typename Element>
void require_usual_D(const BasicAttentionArgs<Element>& args, const char* who) {
  require(is_usual_D(args.D),
          "D is " + std::to_string(args.D) + "; allowed in " + who + ": 32, 64, 96, 128, 256");
}

template <typename Element>
double attention_fma_count(const BasicAttentionArgs<Element>& args) {
  return 2 * count_pairs(args) * args.D;
}

template <typename Element>
double attention_fma_count(const FullAttentionArgs<Element>& args) {
  return count_pairs(args) * (args.D + args.channels_of_v());
}

template <typename Element>
double attention_fma_count(const FullAttentionGradArgs<Element>& args) {
  const FullAttentionArgs<Element>& forward = args.forward;
  return count_pairs(forward) * (3 * forward.D + 2 * forward.channels_of_v());
}

template struct FullAttentionArgs<float>;
template struct FullAttentionArgs<bfloat16>;
template struct FullAttentionArgs<float16>;
template void validate(const BasicAttentionArgs<float>&, Scale);
template void validate(const BasicAttentionArgs<bfloat16>&, Scale);
template void validate(const BasicAttentionArgs<float16>&, Scale);
template void validate(const AttentionArgs&, ChannelsOfV);
template void validate(const AttentionBf16Args&, ChannelsOfV);
template void validate(const AttentionFp16Args&, ChannelsOfV);
template void validate(const BasicAttentionGradArgs<float>&);
template void validate(const BasicAttentionGradArgs<bfloat16>&);
template void validate(const BasicAttentionGradArgs<float16>&);
template void validate(const AttentionGradArgs&, ChannelsOfV);
template void validate(const AttentionGradBf16Args&, ChannelsOfV);
template void validate(const AttentionGradFp16Args&, ChannelsOfV);
template void require_usual_D(const BasicAttentionArgs<float>&, const char*);
template void require_usual_D(const BasicAttentionArgs<bfloat16>&, const char*);
template void require_usual_D(const BasicAttentionArgs<float16>&, const char*);
template double attention_fma_count(const BasicAttentionArgs<float>&);
template double attention_fma_count(const BasicAttentionArgs<bfloat16>&);
template double attention_fma_count(const BasicAttentionArgs<float16>&);
template double attention_fma_count(const AttentionArgs&);
template double attention_fma_count(const AttentionBf16Args&);
template double attention_fma_count(const AttentionFp16Args&);
template double attention_fma_count(const AttentionGradArgs&);
template double attention_fma_count(const AttentionGradBf16Args&);
template double attention_fma_count(const AttentionGradFp16Args&);

}  // namespace ladder
