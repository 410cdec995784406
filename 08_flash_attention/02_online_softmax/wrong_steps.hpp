// The mistakes by which a wrong with_key is recognised.
#pragma once

#include <algorithm>
#include <cmath>

#include "08_flash_attention/02_online_softmax/online_softmax.hpp"

namespace flash_attention::online_softmax {

// An update with one mistake, from a row and a key to the next row.
struct WrongStep {
  const char* words;  // after "It equals the row "
  Row<double> (*next)(const Row<double>& row, const Key<double>& key);
};

// exp(difference), 0 if the difference is NaN.
inline double weight(double difference) {
  return std::isnan(difference) ? 0 : std::exp(difference);
}

// The row with maximum `m`, its old l times `of_l`, its old sum times `of_sum`, and a key of weight
// `p`.
inline Row<double> step(double m, const Row<double>& row, double of_l, double of_sum, double p,
                        double value) {
  Row<double> next;
  next.m = m;
  next.l = row.l * of_l + p;
  next.sum = row.sum * of_sum + p * value;
  return next;
}

using R = const Row<double>&;
using K = const Key<double>&;

inline double larger(R row, K key) {
  return std::max(row.m, key.score);
}
inline double factor(R row, K key) {
  return weight(row.m - larger(row, key));
}
inline double own(R row, K key) {
  return weight(key.score - larger(row, key));
}

inline const WrongStep kWrongSteps[] = {
    {"with sum not scaled to the new maximum",
     [](R a, K k) { return step(larger(a, k), a, factor(a, k), 1, own(a, k), k.value); }},
    {"with l not scaled to the new maximum",
     [](R a, K k) { return step(larger(a, k), a, 1, factor(a, k), own(a, k), k.value); }},
    {"with neither l nor sum scaled to the new maximum",
     [](R a, K k) { return step(larger(a, k), a, 1, 1, own(a, k), k.value); }},
    {"with the factor upside down: exp(new maximum - old maximum)",
     [](R a, K k) {
       const double f = a.l == 0 ? 0 : 1 / factor(a, k);
       return step(larger(a, k), a, f, f, own(a, k), k.value);
     }},
    {"with the two weights exchanged: the old sums get the key's, the key gets the old sums'",
     [](R a, K k) { return step(larger(a, k), a, own(a, k), own(a, k), factor(a, k), k.value); }},
    {"with the key's weight relative to the old maximum",
     [](R a, K k) {
       const double p = weight(k.score - a.m);
       return step(larger(a, k), a, factor(a, k), factor(a, k), p, k.value);
     }},
    {"with the key's weight scaled once more, together with the old sums",
     [](R a, K k) {
       const double f = factor(a, k);
       return step(larger(a, k), a, f, f, own(a, k) * f, k.value);
     }},
    {"with exp(score) as the key's weight: the maximum is not subtracted",
     [](R a, K k) {
       return step(larger(a, k), a, factor(a, k), factor(a, k), std::exp(k.score), k.value);
     }},
    {"with exp(maximum - score) as the key's weight: the sign is wrong",
     [](R a, K k) {
       return step(larger(a, k), a, factor(a, k), factor(a, k), 1 / own(a, k), k.value);
     }},
    {"with 1 as the key's weight",
     [](R a, K k) { return step(larger(a, k), a, factor(a, k), factor(a, k), 1, k.value); }},
    {"with 2 to the power of the scores: exp2 for exp",
     [](R a, K k) {
       const double f = std::exp2(a.m - larger(a, k));
       return step(larger(a, k), a, f, f, std::exp2(k.score - larger(a, k)), k.value);
     }},
    {"of the last key alone: what was summed before is lost",
     [](R a, K k) { return step(larger(a, k), a, 0, 0, own(a, k), k.value); }},
    {"without the keys that bring no larger maximum",
     [](R a, K k) {
       if (k.score <= a.m) return a;
       return step(k.score, a, factor(a, k), factor(a, k), 1, k.value);
     }},
    {"without the keys that bring a larger maximum",
     [](R a, K k) {
       const double p = k.score > a.m ? 0 : own(a, k);
       return step(larger(a, k), a, factor(a, k), factor(a, k), p, k.value);
     }},
    {"that it was given: nothing is brought up to date", [](R a, K) { return a; }},
    {"with l and sum never added to: the maximum alone is brought up to date",
     [](R a, K k) { return step(larger(a, k), a, 1, 1, 0, k.value); }},
    {"with the last key's score in the place of the maximum",
     [](R a, K k) {
       const double f = weight(a.m - k.score);
       return step(k.score, a, f, f, 1, k.value);
     }},
    {"with the smaller score in the place of the larger: min for max",
     [](R a, K k) {
       const double m = a.l == 0 ? k.score : std::min(a.m, k.score), f = weight(a.m - m);
       return step(m, a, f, f, weight(k.score - m), k.value);
     }},
    {"with sum divided by l in each step: the division comes at the end",
     [](R a, K k) {
       Row<double> next = step(larger(a, k), a, factor(a, k), factor(a, k), own(a, k), k.value);
       next.sum /= next.l;
       return next;
     }},
    {"with sum without the values",
     [](R a, K k) { return step(larger(a, k), a, factor(a, k), factor(a, k), own(a, k), 1); }},
    {"with sum of the values without their weights",
     [](R a, K k) {
       Row<double> next = step(larger(a, k), a, factor(a, k), factor(a, k), own(a, k), 0);
       next.sum += k.value;
       return next;
     }},
    {"with sum of the scores, not of the values",
     [](R a, K k) {
       return step(larger(a, k), a, factor(a, k), factor(a, k), own(a, k), k.score);
     }},
    {"with the values in l as well",
     [](R a, K k) {
       Row<double> next = step(larger(a, k), a, factor(a, k), factor(a, k), own(a, k), k.value);
       next.l += own(a, k) * (k.value - 1);
       return next;
     }},
    {"with the key counted in l, and its value not added to sum",
     [](R a, K k) { return step(larger(a, k), a, factor(a, k), factor(a, k), own(a, k), 0); }},
    {"with the key's value added to sum, and its weight not to l",
     [](R a, K k) {
       Row<double> next = step(larger(a, k), a, factor(a, k), factor(a, k), own(a, k), k.value);
       next.l -= own(a, k);
       return next;
     }},
};

}  // namespace flash_attention::online_softmax
