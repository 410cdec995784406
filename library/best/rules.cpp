#include "library/best/rules.hpp"

#include <algorithm>
#include <numeric>

#include "library/best/work.hpp"

namespace ladder::best {
namespace {

struct Cost {
  Kernel kernel;
  Data data;
  int rows, variant;
  std::array<double, kTerms> microseconds;
};
constexpr Cost kTable[] = {
#include "costs.inc"
};

// The first row that fits.
struct Row {
  bool fits;
  Kernel kernel;
  const char* rule;
};
Choice first_of(std::initializer_list<Row> rows) {
  for (const Row& row : rows)
    if (row.fits) return {row.kernel, row.rule};
  return {};
}

// Each work has a row; rules_test.cpp goes through them.
Choice fastest(const Works& works, const char* rule) {
  Choice choice{.rule = rule, .times = works.count};
  for (std::size_t n = 0; n < works.count; ++n) {
    const Work& work = works.all[n];
    const Cost* const cost = std::find_if(std::begin(kTable), std::end(kTable), [&](const Cost& c) {
      return c.kernel == work.kernel && c.data == work.data && c.rows == work.rows &&
             c.variant == work.variant;
    });
    choice.compared[n] = {work.kernel, std::inner_product(work.terms.begin(), work.terms.end(),
                                                          cost->microseconds.begin(), 0.0)};
  }
  const auto end = choice.compared.begin() + static_cast<std::ptrdiff_t>(works.count);
  choice.kernel = std::min_element(choice.compared.begin(), end, [](const auto& a, const auto& b) {
                    return a.microseconds < b.microseconds;
                  })->kernel;
  return choice;
}

}  // namespace

Choice explain(const RecurrenceShape& s, const Card& card) {
  const Works works = works_of(s, card);
  if (works.count > 0) {
    return fastest(works, s.fp16
                              ? "the smallest time in bf16, which has as many bytes; fp16 was not "
                                "measured"
                              : "the smallest time, by the table of costs from an H200");
  }
  // The first lengths with which chunks were faster, of 16, 64, 128, 256 and 1,024.
  const bool is_long = s.T >= (s.bf16 ? 16 : 64) && chunk_kilobytes(s) <= card.kilobytes;
  return first_of({
      {s.packed, Kernel::kChunkwise, "packed sequences: the only kernel that accepts them"},
      {s.K > 512 && (s.gla || s.fp16), Kernel::kChunkwise,
       "K above 512: no kernel accepts it, and this one reports that"},
      {s.K <= 256 && (s.gla || s.fp16), Kernel::kTimeTiles,
       "all kernels need more shared memory than this GPU has, and this one reports that"},
      {s.K <= 256, Kernel::kFusedRecurrent,
       "the only kernel that needs no more shared memory than this GPU has"},
      {s.gla || s.fp16, Kernel::kChunkwise, "K above 256: the only kernel that accepts it"},
      {s.K > 512, Kernel::kFusedRecurrent, "K above 512: the only kernel that accepts it"},
      {is_long, Kernel::kChunkwise, "K above 256, 16 steps or more (fp32: 64)"},
      {true, Kernel::kFusedRecurrent,
       "K above 256, less than 16 steps (fp32: 64) or too little shared memory for chunks"},
  });
}

Choice explain(const LinearAttentionShape& s, const Card& card) {
  const Works works = works_of(s, card);
  if (works.count > 0)
    return fastest(works, "the smallest time, by the table of costs from an H200");
  return first_of({
      {s.K > 256 && s.strips && !s.bf16, Kernel::kStrips,
       "K above 256, plain causal product in fp32: the only kernel that accepts it"},
      {s.K > 256, Kernel::kLinearChunkwise,
       "K above 256: no kernel accepts it, and this one reports that"},
      {true, Kernel::kLinearChunkwise,
       "bf16, or rows that are not whole 16-byte vectors: the only kernel that accepts them"},
  });
}

Choice explain(const AttentionShape& s) {
  const bool other_values = s.D_v != 0 && s.D_v != s.D, options = s.negative_scale || s.extra;
  // Up to 16 rows of queries, decoding has one tile. Measured points are 1 and 4 rows, and 512.
  const bool few = s.rows <= 16, decodes = few && (!s.packed || s.one_query) && !s.repeatable;
  const bool usual = s.D == 32 || s.D == 64 || s.D == 96 || s.D == 128 || s.D == 256;
  const bool in_units = s.D % 8 == 0 && s.D <= 256;
  if (s.gradients) {
    return first_of({
        {s.fp32, Kernel::kGradientsScalar, "gradients in fp32: the only kernel for them"},
        {s.D % 8 != 0 && !other_values, Kernel::kGradientsScalar,
         "gradients, D is not a multiple of 8: the only kernel that accepts it"},
        {s.repeatable, Kernel::kGradientsTwoKernels,
         "gradients that must be repeatable: the only kernel in 16 bits without atomics"},
        {s.hopper && std::max(s.D, s.D_v) <= 128, Kernel::kGradientsHopper,
         "gradients on a Hopper GPU, D up to 128: the faster one in every record, with a window or "
         "a softcap too"},
        {s.hopper, Kernel::kGradients,
         "gradients, D or D_v above 128: the Hopper kernel does not accept it"},
        {options || other_values, Kernel::kGradients,
         "gradients with a window, a softcap, a scale of 0 and below or D_v unlike D: the faster "
         "one without them (not measured with them)"},
        {true, Kernel::kGradients, "gradients, no Hopper GPU: the faster one in every record"},
    });
  }
  return first_of({
      {s.fp32, Kernel::kScalarTiles, "fp32: the only kernel with tiles for it"},
      {other_values && s.hopper && !decodes, Kernel::kHopper,
       "D_v unlike D on a Hopper GPU: the kernel for many queries that accepts it (not measured)"},
      {other_values && s.repeatable, Kernel::kSlidingWindow,
       "D_v unlike D, repeatable: no kernel accepts it here, and this one reports that"},
      {other_values, Kernel::kSplitKeys,
       "D_v unlike D, few queries or no Hopper GPU: the only kernel that accepts it"},
      {s.hopper && in_units && options && !few, Kernel::kHopper,
       "a window, a softcap, or a scale of 0 and below on a Hopper GPU: the faster one in both "
       "records"},
      {s.extra && few, Kernel::kSlidingWindow,
       "a window, a softcap or a scale of 0, few queries: attention_split_keys accepts them too, "
       "but was not measured with them"},
      {s.extra, Kernel::kSlidingWindow,
       "a window, a softcap or a scale of 0: the only kernel that accepts it"},
      {decodes && !s.packed, Kernel::kSplitKeys,
       "up to 16 rows of queries for a key head, which is decoding (borders not measured yet)"},
      {decodes, Kernel::kSplitKeys,
       "packed sequences of one query in the mean, which is decoding (not measured yet)"},
      {!in_units, Kernel::kSlidingWindow,
       "D is not a multiple of 8 up to 256: no kernel accepts it, and this one reports that"},
      {s.negative_scale, Kernel::kSlidingWindow,
       "a scale below 0: the only kernel for many queries that accepts it"},
      {!usual && s.hopper, Kernel::kHopper,
       "D other than 32, 64, 96, 128, 256 on a Hopper GPU: both kernels that accept it work as for "
       "the next of these, where this one is faster (not measured itself)"},
      {!usual, Kernel::kSlidingWindow,
       "D other than 32, 64, 96, 128, 256: the only kernel for many queries that accepts it"},
      {s.hopper, Kernel::kHopper, "a Hopper GPU: the faster one in every record"},
      {true, Kernel::kPipelined, "no Hopper GPU: the faster one in every record"},
  });
}

}  // namespace ladder::best
