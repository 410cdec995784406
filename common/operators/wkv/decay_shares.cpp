#include "common/operators/wkv/decay_shares.hpp"

#include <algorithm>
#include <cmath>

namespace ladder::reference {
namespace {

// The sum of log_w over the steps from .first to .second - 1, times the sign.
struct Span {
  std::int64_t first, end;
  double sign = 1;
};

// Which steps' decays are taken between step s and the later step t, whose own decay is `end - 1`.
using Spans = std::function<std::vector<Span>(std::int64_t s, std::int64_t t, std::int64_t end)>;

Shares shares_of(const WkvProblem& problem, const Spans& spans) {
  const WkvCase& c = problem.wkv_case;
  const WkvArgs a = problem.args();
  Shares result(c.B * c.H * c.T * c.T, std::nan(""));
  std::vector<double> sums(c.T + 1);
  for (std::int64_t head = 0; head < c.B * c.H; ++head) {
    const std::int64_t b = head / c.H, h = head % c.H;
    const auto row = [&](std::int64_t t) { return ((b * c.T + t) * c.H + h) * c.K; };
    Shares of(c.T * c.T, 0.0);
    for (std::int64_t j = 0; j < c.K; ++j) {
      for (std::int64_t t = 0; t < c.T; ++t) {
        sums[t + 1] = sums[t] + a.log_w[b * a.log_w_stride_B + t * a.log_w_stride_T + h * c.K + j];
      }
      const auto sum_before = [&](std::int64_t t) {
        return sums[std::clamp<std::int64_t>(t, 0, c.T)];
      };
      for (std::int64_t t = 1; t < c.T; ++t) {
        for (std::int64_t s = 0; s < t; ++s) {
          double exponent = 0;
          for (const Span& span : spans(s, t, c.recurrence == Recurrence::kGla ? t + 1 : t)) {
            if (span.end > span.first)
              exponent += span.sign * (sum_before(span.end) - sum_before(span.first));
          }
          of[t * c.T + s] +=
              c.scale * std::exp(exponent) * a.q[row(t) + j] * static_cast<double>(a.k[row(s) + j]);
        }
      }
    }
    for (std::int64_t t = 1; t < c.T; ++t)
      std::copy_n(&of[t * c.T], t, &result[(head * c.T + t) * c.T]);
  }
  return result;
}

}  // namespace

std::vector<KnownShares> decay_shares(const WkvProblem& problem) {
  std::vector<KnownShares> list;
  const auto add = [&](const std::string& words, const Spans& spans) {
    list.emplace_back(words, [&problem, spans] { return shares_of(problem, spans); });
  };
  using List = std::vector<Span>;
  add("with the decay forgotten", [](auto, auto, auto) { return List{}; });
  add("with the sign of the decay turned", [](auto s, auto, auto end) {
    return List{{s + 1, end, -1}};
  });
  add("with the decay applied twice", [](auto s, auto, auto end) { return List{{s + 1, end, 2}}; });
  add("with the key's own decay applied to it too", [](auto s, auto, auto end) {
    return List{{s, end}};
  });
  add("without the first decay behind the key", [](auto s, auto, auto end) {
    return List{{s + 2, end}};
  });
  add("without the last decay before the query", [](auto s, auto, auto end) {
    return List{{s + 1, end - 1}};
  });
  add("with one decay too many before the query", [](auto s, auto, auto end) {
    return List{{s + 1, end + 1}};
  });
  for (const std::int64_t block : {16, 32, 64, 8, 4}) {  // the usual ones first
    if (block >= problem.wkv_case.T) continue;
    const std::string border = "the border of blocks of " + std::to_string(block);
    const auto begin = [block](std::int64_t t) { return t / block * block; };
    add("without the decay from the key to " + border, [=](auto, auto t, auto end) {
      return List{{begin(t), end}};
    });
    add("without the decay from " + border + " to the query", [=](auto s, auto t, auto) {
      return List{{s + 1, begin(t)}};
    });
    add("without the decay of the blocks of " + std::to_string(block) +
            " that lie between the key's and the query's",
        [=](auto s, auto t, auto end) {
          return List{{s + 1, begin(s) + block}, {begin(t), end}};
        });
    add("with the sign of the decay from the key to " + border + " turned",
        [=](auto s, auto t, auto end) {
          return List{{s + 1, begin(t), -1}, {begin(t), end}};
        });
    add("with the sign of the decay from " + border + " to the query turned",
        [=](auto s, auto t, auto end) {
          return List{{s + 1, begin(t)}, {begin(t), end, -1}};
        });
    add("with the decay from the key to " + border + " applied twice",
        [=](auto s, auto t, auto end) {
          return List{{s + 1, begin(t), 2}, {begin(t), end}};
        });
    add("with the decay from " + border + " to the query applied twice",
        [=](auto s, auto t, auto end) {
          return List{{s + 1, begin(t)}, {begin(t), end, 2}};
        });
    add("without the first decay behind " + border, [=](auto s, auto t, auto end) {
      return List{{s + 1, begin(t)}, {begin(t) + 1, end}};
    });
    add("with the first decay behind " + border + " applied twice", [=](auto s, auto t, auto end) {
      return List{{s + 1, end}, {begin(t), begin(t) + 1}};
    });
    add("without the last decay before " + border, [=](auto s, auto t, auto end) {
      return List{{s + 1, begin(t) - 1}, {begin(t), end}};
    });
    add("with the decay from the beginning of the key's block of " + std::to_string(block) +
            " on, not from the key on",
        [=](auto s, auto, auto end) {
          return List{{begin(s), end}};
        });
  }
  return list;
}

}  // namespace ladder::reference
