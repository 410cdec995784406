// The elements of two kinds as operators, for the tests, the ladder and the X-ray.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "00_warmup/05_divergence/two_sides.hpp"
#include "common/core/guarded_array.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct TwoSides {
  static double fma_count(const TwoSidesArgs& a) {
    return static_cast<double>(a.N) * static_cast<double>(a.K);
  }
  // Horner's rule rounds twice for each coefficient.
  static double additions(const TwoSidesArgs& a) { return 2 * static_cast<double>(a.K); }

  struct Value {
    double value = 0, squares = 0;
  };
  static Value polynomial(const TwoSidesArgs& a, double x, bool reversed = false) {
    Value sum;
    double power = 1;
    for (std::int64_t k = 0; k < a.K; ++k) {
      const double term = power * a.p[reversed ? a.K - 1 - k : k];
      sum.value += term;
      sum.squares += term * term;
      power *= x;
    }
    return sum;
  }
  static Value largest(const TwoSidesArgs& a, double x) {
    double most = a.q[0] * x;
    for (std::int64_t k = 1; k < a.K; ++k)
      most = std::max(most, a.q[k] * x);
    return {most, most * most};
  }
  static Value element(const TwoSidesArgs& a, std::int64_t i, bool even) {
    return even ? polynomial(a, a.x[i]) : largest(a, a.x[i]);
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    ladder::Truth y;
    for (std::int64_t i = 0; i < problem.args<TwoSidesArgs>().N; ++i) {
      const Value each = element(problem.args<TwoSidesArgs>(), i, i % 2 == 0);
      y.values.push_back(each.value);
      y.terms.push_back(std::sqrt(each.squares));
    }
    return {y};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const TwoSidesArgs& a = problem.args<TwoSidesArgs>();
    const std::vector<double>& right = *outputs[0].truth;
    const auto equals = [&](const auto& wrong) {
      std::vector<double> other(right.size());
      for (std::int64_t i = 0; i < a.N; ++i)
        other[i] = wrong(i);
      return outputs[0].equals(other);
    };
    if (equals([&](std::int64_t i) { return i % 2 == 0 ? right[i] : NAN; }))
      return "the odd elements are missing: does every warp take an even element's side?\n";
    if (equals([&](std::int64_t i) { return i % 2 == 1 ? right[i] : NAN; }))
      return "the even elements are missing: does every warp take an odd element's side?\n";
    if (equals([&](std::int64_t i) { return element(a, i, i % 2 == 1).value; }))
      return "equals the result with the two sides exchanged\n";
    // A warp computes elements of one kind, so its lane has i = 64 w + 2 lane + kind.
    if (equals([&](std::int64_t i) { return element(a, i, i % 64 / 2 % 2 == 0).value; }))
      return "equals the result with the side chosen by the lane's number, not by the element's\n";
    if (a.K > 1 && equals([&](std::int64_t i) {
          return i % 2 == 0 ? polynomial(a, a.x[i], true).value : right[i];
        }))
      return "equals the result with the polynomial's coefficients in reverse order\n";
    return explain_odd(a, equals, right);
  }

 private:
  // Explains results that are wrong for odd elements only. With few products several mistakes give
  // the same result.
  template <typename Equals>
  static std::string explain_odd(const TwoSidesArgs& a, const Equals& equals,
                                 const std::vector<double>& right) {
    using Products = std::vector<double>;  // q[k] x
    const double most_q = *std::max_element(a.q, a.q + a.K);
    struct Wrong {
      const char* name;
      std::function<double(const Products&, double x)> value;
    };
    const Wrong several[] = {
        {"the first product alone", [](const auto& all, double) { return all.front(); }},
        {"the last product alone: each one replaced the one before it",
         [](const auto& all, double) { return all.back(); }},
        {"the largest product but the last one, q[K - 1] x: one product too few",
         [](const auto& all, double) { return *std::max_element(all.begin(), all.end() - 1); }},
        {"the largest product but the first one, q[0] x: one product too few",
         [](const auto& all, double) { return *std::max_element(all.begin() + 1, all.end()); }},
        {"the smallest product",
         [](const auto& all, double) { return *std::min_element(all.begin(), all.end()); }},
        {"the sum of the products",
         [](const auto& all, double) { return std::accumulate(all.begin(), all.end(), 0.0); }},
        {"the largest q times x: the products with a negative x are in the opposite order",
         [=](const auto&, double x) { return most_q * x; }}};
    float behind_q = 0;
    std::memset(&behind_q, ladder::GuardedArray::kGuardByte, sizeof behind_q);
    const Wrong any[] = {{"the largest of the products and 0, which the loop begins with",
                          [](const auto& all, double) {
                            return std::max(0.0, *std::max_element(all.begin(), all.end()));
                          }},
                         {"the largest of one product too many, q[K] x",
                          [=](const auto& all, double x) {
                            const double beyond =
                                behind_q * static_cast<float>(x);  // infinite for a large x
                            return std::max(beyond, *std::max_element(all.begin(), all.end()));
                          }},
                         {"the largest q: the product with x is missing",
                          [=](const auto&, double) { return most_q; }}};
    std::string text;
    const auto compare = [&](const Wrong& wrong) {
      const bool is = equals([&](std::int64_t i) {
        if (i % 2 == 0) return right[i];
        Products all;
        for (std::int64_t k = 0; k < a.K; ++k)
          all.push_back(static_cast<double>(a.q[k]) * a.x[i]);
        return wrong.value(all, a.x[i]);
      });
      if (is)
        text += (text.empty() ? "the odd elements equal " : ", or\n  ") + std::string(wrong.name);
    };
    if (a.K > 1) std::for_each(std::begin(several), std::end(several), compare);
    std::for_each(std::begin(any), std::end(any), compare);
    return text.empty() ? "" : text + "\n";
  }
};

const ladder::OperatorRegistration two_sides_operator(
    ladder::with_types<TwoSides, TwoSidesSizes, TwoSidesArgs, TwoSidesArgs>({
        .name = "two_sides",
        .fma_count = ladder::of_host(TwoSides::fma_count),
        .truth = TwoSides::truth,
        .additions = ladder::of_host(TwoSides::additions),
        .explain = TwoSides::explain,
    }));

}  // namespace warmup
