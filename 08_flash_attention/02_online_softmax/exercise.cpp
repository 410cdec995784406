// 08 flash attention, online softmax: a row's softmax without ever having the row.
// Change: rewrite with one pass over the scores instead of three (maximum, sum, weights), and with
//         three numbers that are kept up to date.
// Why:    a pass needs the whole row in memory. Three numbers fit in registers, and parts of a row
//         can be merged.
// Needs:  nothing but plain C++. The kernels of this chapter repeat it for tiles of rows.
// Costs:  an exp more for every key, or for every tile of keys, for the factor between the old
//         maximum and the new one.
#include "08_flash_attention/02_online_softmax/online_softmax.hpp"

#include <algorithm>
#include <cmath>

namespace flash_attention::online_softmax {
namespace {

template <typename Number>
constexpr Number kMasked = -std::numeric_limits<Number>::infinity();

// exp(score - m), and 0 for a masked key. If all keys so far are masked, m is -inf too, and -inf -
// -inf is NaN.
template <typename Number>
Number weight(Number score, Number m) {
  return score == kMasked<Number> ? Number{0} : std::exp(score - m);
}

}  // namespace

template <typename Number>
Number Row<Number>::mean() const {
  return l == 0 ? Number{0} : sum / l;
}

template <typename Number>
Number Row<Number>::log_sum_exp() const {
  return m + std::log(l);
}

template <typename Number>
Row<Number> with_key(const Row<Number>& row, const Key<Number>& key) {
  Row<Number> next = row;  // until hole 1 is filled
  // TODO(1): roughly 5 lines; bring m, l and sum up to date with one more key: rescale l and sum to
  // TODO(1): the new maximum, and add the key to both; budget: two calls of `weight`, however many
  // TODO(1): keys the row has seen.
  return next;
}

template <typename Number>
Row<Number> merged(const Row<Number>& a, const Row<Number>& b) {
  Row<Number> both;
  both.m = std::max(a.m, b.m);
  const Number of_a = weight(a.m, both.m), of_b = weight(b.m, both.m);
  both.l = a.l * of_a + b.l * of_b;
  both.sum = a.sum * of_a + b.sum * of_b;
  return both;
}

template struct Row<float>;
template struct Row<double>;
template Row<float> with_key(const Row<float>&, const Key<float>&);
template Row<double> with_key(const Row<double>&, const Key<double>&);
template Row<float> merged(const Row<float>&, const Row<float>&);
template Row<double> merged(const Row<double>&, const Row<double>&);

}  // namespace flash_attention::online_softmax
