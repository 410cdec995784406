// Paged attention for the tests, the ladder and the X-ray. The pages are gathered, and the operator
// attention computes the reference.
#include <algorithm>
#include <functional>
#include <tuple>

#include "08_flash_attention/20b_paged_cache/paged_attention.hpp"
#include "common/core/generator.hpp"
#include "common/judge/typed.hpp"
#include "common/operators/attention/operator.hpp"

namespace flash_attention {

struct PagedAttention {
  using Case = ladder::SizedCase<PagedAttentionSizes>;
  static ladder::Struct host(const Case& c) {
    PagedAttentionArgs args;
    static_cast<PagedAttentionPart&>(args) = c;
    static_cast<PagedAttentionOptions&>(args) = c;
    return ladder::Struct(args);
  }
  static double fma_count(const PagedAttentionArgs& a) {
    return static_cast<double>(a.B * a.T_q * a.H_q * (a.D + a.channels_of_v())) *
           static_cast<double>(a.max_pages * a.page_keys);
  }

  // The first batch's last page is partly filled. The second batch has no key, the third has all,
  // the fourth one, the fifth whole pages only, and the others have any number. A page may belong
  // to any batch, and occur twice.
  static bool draw(ladder::Problem& problem, const std::string& input,
                   ladder::Generator& generator) {
    const Case& c = problem.as<Case>();
    if (input == "key_lengths") {
      const std::int64_t most = c.max_pages * c.page_keys;
      std::vector<std::int64_t>& lengths = problem.array<std::int64_t>(input);
      lengths = generator.key_lengths(c.B, most);
      // With a window, the first visible key of the third batch is 33.
      const std::int64_t third = c.window > 0 ? c.window + 33 : most;
      const std::int64_t first[] = {most - 3, 0, third, 1, most - c.page_keys};
      for (std::size_t b = 0; b < std::min(std::size(first), lengths.size()); ++b)
        lengths[b] = std::clamp<std::int64_t>(first[b], 0, most);
    } else if (input == "block_table") {
      for (std::int32_t& page : problem.array<std::int32_t>(input)) {
        const float drawn = generator.uniform(0.0f, static_cast<float>(c.pages));
        page = static_cast<std::int32_t>(std::min(static_cast<std::int64_t>(drawn), c.pages - 1));
      }
    } else {
      return false;
    }
    return true;
  }

  static void check_values(const ladder::Problem& problem) {
    const PagedAttentionArgs& a = problem.args<PagedAttentionArgs>();
    ladder::require(a.H_q % a.H_kv == 0, "H_q is " + std::to_string(a.H_q) +
                                             "; allowed: a multiple of H_kv, which is " +
                                             std::to_string(a.H_kv));
    ladder::require_at_least("window", a.window, 0);
    ladder::require_at_least("D_v", a.D_v, 0);
    ladder::check_key_lengths({a.key_lengths, a.key_lengths + a.B}, a.max_pages * a.page_keys);
    for (std::int64_t b = 0; b < a.B; ++b) {
      for (std::int64_t t = 0; t < a.key_lengths[b]; t += a.page_keys) {
        const std::int32_t page = a.block_table[b * a.max_pages + t / a.page_keys];
        ladder::require(page >= 0 && page < a.pages,
                        "block_table has " + std::to_string(page) + "; allowed: 0 to pages - 1");
      }
    }
  }

  // Where the keys of a batch come from, by the page of part n of batch b and its number of keys.
  struct Gathering {
    std::function<std::int64_t(std::int64_t b, std::int64_t n)> page;
    std::function<std::int64_t(std::int64_t length)> length;
  };
  static Gathering right(const PagedAttentionArgs& a) {
    return {[=](std::int64_t b, std::int64_t n) { return a.block_table[b * a.max_pages + n]; },
            [](std::int64_t length) { return length; }};
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem,
                                          ladder::Arithmetic arithmetic) {
    return truth_of_gathered(problem, right(problem.args<PagedAttentionArgs>()), arithmetic);
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const PagedAttentionArgs& a = problem.args<PagedAttentionArgs>();
    const auto equals = [&](const Gathering& other) {
      return outputs[0].equals(
          truth_of_gathered(problem, other, ladder::Arithmetic::kFp32)[0].values);
    };
    Gathering other = right(a);
    other.page = [=](std::int64_t, std::int64_t n) { return std::min(n, a.pages - 1); };
    if (equals(other))
      return "equals the result with page n of each batch taken to be page n of all\n";
    other.page = [=](std::int64_t, std::int64_t n) { return a.block_table[n]; };
    if (equals(other)) return "equals the result with every batch at the pages of the first\n";
    other = right(a);
    other.length = [=](std::int64_t length) {
      return (length + a.page_keys - 1) / a.page_keys * a.page_keys;
    };
    if (equals(other))
      return "equals the result with the last page of each batch taken to be full\n";
    other.length = [=](std::int64_t length) { return length / a.page_keys * a.page_keys; };
    if (equals(other))
      return "equals the result without each batch's last page, which is not full\n";
    return "";
  }

 private:
  static std::vector<ladder::Truth> truth_of_gathered(const ladder::Problem& problem,
                                                      const Gathering& gathering,
                                                      ladder::Arithmetic arithmetic) {
    const PagedAttentionArgs& a = problem.args<PagedAttentionArgs>();
    const std::int64_t T_k = a.max_pages * a.page_keys;
    ladder::AttentionCase c{
        .B = a.B, .T_q = a.T_q, .T_k = T_k, .H_q = a.H_q, .H_kv = a.H_kv, .D = a.D};
    c.causal = a.causal;
    c.key_lengths = true;
    c.scale = a.scale;
    c.window = a.window;
    c.softcap = a.softcap;
    c.D_v = a.D_v;
    c.precision = ladder::precision_of(problem.as<Case>().precision);
    auto gathered = ladder::AttentionProblem::without_inputs(c);
    gathered["q"].assign(a.q, a.q + a.B * a.T_q * a.H_q * a.D);
    // A case replaces a scale of 0 by the usual one, but queries of zeros have scores of 0, too.
    if (a.scale == 0.0f)
      for (float& q : gathered["q"])
        q *= 0.0f;  // a NaN stays one
    auto& lengths = gathered.array<std::int64_t>("key_lengths");
    for (std::int64_t b = 0; b < a.B; ++b)
      lengths.push_back(gathering.length(a.key_lengths[b]));
    const std::tuple<const char*, const float*, std::int64_t> arrays[] = {
        {"k", a.k, a.H_kv * a.D}, {"v", a.v, a.H_kv * a.channels_of_v()}};
    for (const auto& [name, from, row] : arrays) {
      std::vector<float>& to = gathered[name];
      to.assign(static_cast<std::size_t>(a.B * T_k * row), 0.0f);
      for (std::int64_t b = 0; b < a.B; ++b) {
        for (std::int64_t t = 0; t < lengths[b]; ++t) {
          const std::int64_t page = gathering.page(b, t / a.page_keys);
          std::copy_n(from + (page * a.page_keys + t % a.page_keys) * row, row,
                      to.begin() + (b * T_k + t) * row);
        }
      }
    }
    return ladder::attention_truth(gathered, arithmetic);
  }
};

const ladder::OperatorRegistration paged_attention_operator(
    ladder::with_types<PagedAttention, PagedAttentionSizes, PagedAttentionArgs,
                       PagedAttentionBf16Args, PagedAttentionFp16Args>({
        .name = "paged_attention",
        .host = ladder::of_case(PagedAttention::host),
        .fma_count = ladder::of_host(PagedAttention::fma_count),
        .truth = PagedAttention::truth,
        .draw_input = PagedAttention::draw,
        .check_values = PagedAttention::check_values,
        .explain = PagedAttention::explain,
    }));

}  // namespace flash_attention
