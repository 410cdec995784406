// Linear attention with a decay per head, for the tests, the ladder and the X-ray.
#include <Eigen/Core>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>
#include <utility>

#include "07_chunkwise/11b_decay_per_head/decay_per_head.hpp"
#include "common/core/bfloat16.hpp"
#include "common/core/generator.hpp"
#include "common/judge/typed.hpp"

namespace chunkwise {

struct DecayPerHead {
  using Case = ladder::SizedCase<DecayPerHeadSizes>;
  static constexpr std::int64_t kChunks[] = {16, 64};  // in which misconceptions are looked for
  using Args = DecayPerHeadArgs<float>;
  using State = Eigen::
      ArrayXXd;  // (V, K), a column for each channel of k, so that products run along columns

  // Up to 32 as elsewhere, except for sizes that the kernel allows only whole.
  static ladder::Shape small_shape(const ladder::Shape& like) {
    ladder::Shape small;
    for (const ladder::Size& size : like.sizes()) {
      const bool is_channel = size.name == "K" || size.name == "V";
      small.set(size.name, std::min<std::int64_t>(size.value, is_channel ? 64 : 32));
    }
    return small;
  }
  static ladder::Struct case_of(const ladder::Struct& sizes) {
    Case c{sizes.as<DecayPerHeadSizes>()};
    c.precision = "bf16";
    return ladder::Struct(c);
  }

  // Decay, add to and read the state.
  static double fma_count(const Args& x) {
    return 3.0 * static_cast<double>(x.B * x.T * x.H) * static_cast<double>(x.K * x.V);
  }
  static double additions(const Args& x) { return static_cast<double>(x.K + x.T); }

  // Heads differ. One has a mild decay, one total decays at some steps, one a strong decay, and one
  // none.
  static bool draw(ladder::Problem& problem, const std::string& input,
                   ladder::Generator& generator) {
    const Case& c = problem.as<Case>();
    std::vector<float>& values = problem[input];
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (input != "log_w") {
        values[i] = generator.uniform(-c.magnitude, c.magnitude);
        continue;
      }
      const float x = generator.uniform(0.0f, 1.0f);
      const float drawn[] = {-0.3f * x, x < 0.1f ? -INFINITY : -0.3f * x, -12 * x, 0};
      values[i] = drawn[i % static_cast<std::size_t>(c.H) % 4];
    }
    return true;
  }

  // Calls step(log_w, k, v, q) for each step of each head, and `begin` before a head's first one.
  // `step` returns the row of o.
  template <typename Begin, typename Step>
  static std::vector<double> rows(const Args& x, const Begin& begin, const Step& step) {
    std::vector<double> o(x.B * x.T * x.H * x.V);
    const auto row = [](const float* array, std::int64_t token, std::int64_t width) {
      return Eigen::ArrayXd(
          Eigen::Map<const Eigen::ArrayXf>(array + token * width, width).cast<double>());
    };
    for (std::int64_t head = 0; head < x.B * x.H; ++head) {
      begin();
      for (std::int64_t t = 0; t < x.T; ++t) {
        const std::int64_t token = (head / x.H * x.T + t) * x.H + head % x.H;
        const Eigen::ArrayXd is = step(static_cast<double>(x.log_w[token]), row(x.k, token, x.K),
                                       row(x.v, token, x.V), row(x.q, token, x.K));
        std::copy(is.begin(), is.end(), o.begin() + token * x.V);
      }
    }
    return o;
  }
  static State outer(const Eigen::ArrayXd& k, const Eigen::ArrayXd& v) {
    return v.matrix() * k.matrix().transpose();
  }
  static Eigen::ArrayXd read(const State& state, const Eigen::ArrayXd& q) {
    return (state.matrix() * q.matrix()).array();
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const Args& x = problem.args<DecayPerHeadArgs<float>>();
    State state, squares;
    const auto begin = [&] { state = squares = State::Zero(x.V, x.K); };
    const auto values =
        rows(x, begin, [&](double log_w, const auto& k, const auto& v, const auto& q) {
          state = std::exp(log_w) * state + outer(k, v);
          return Eigen::ArrayXd(x.scale * read(state, q));
        });
    const auto terms =
        rows(x, begin, [&](double log_w, const auto& k, const auto& v, const auto& q) {
          squares = std::exp(2 * log_w) * squares + outer(k.square(), v.square());
          return Eigen::ArrayXd(std::abs(x.scale) * read(squares, q.square()).sqrt());
        });
    return {{values, terms}};
  }

  // Misconceptions in chunks keep `carried`, the state at the chunk's start, and `added`, the
  // chunk's own contribution.
  struct Chunk {
    double decay = 1, last = 1;  // of all its steps so far, and of the last one
    State carried, added, undecayed;
  };
  template <typename Carry, typename Read>
  static std::vector<double> in_chunks(const Args& x, std::int64_t chunk, const Carry& carry,
                                       const Read& read_carried) {
    Chunk c;
    std::int64_t t = 0;
    const auto add_nothing = [&] {
      c.added = c.undecayed = State::Zero(x.V, x.K);
      c.decay = 1;
    };
    const auto begin = [&] { add_nothing(), t = 0, c.carried = c.added; };
    return rows(x, begin, [&](double log_w, const auto& k, const auto& v, const auto& q) {
      c.last = std::exp(log_w);
      c.decay *= c.last;
      c.added = c.last * c.added + outer(k, v);
      c.undecayed += outer(k, v);
      const Eigen::ArrayXd o = x.scale * (read_carried(c) * read(c.carried, q) + read(c.added, q));
      if (++t % chunk == 0) {
        c.carried = carry(c);
        add_nothing();
      }
      return o;
    });
  }

  // The tokens whose sum of log_w fulfils `too_small`. The sum is over the tokens of the chunk up
  // to this one, or over those after it.
  template <typename TooSmall>
  static std::vector<bool> tokens(const Args& x, std::int64_t chunk, bool behind,
                                  const TooSmall& too_small) {
    std::vector<bool> result(x.B * x.T * x.H);
    for (std::int64_t head = 0; head < x.B * x.H; ++head) {
      double sum = 0;
      for (std::int64_t n = 0; n < x.T; ++n) {
        const std::int64_t t = behind ? x.T - 1 - n : n;
        const std::int64_t token = (head / x.H * x.T + t) * x.H + head % x.H;
        if ((behind ? t + 1 : t) % chunk == 0) sum = 0;
        if (behind) result[token] = too_small(sum);
        sum += x.log_w[token];
        if (!behind) result[token] = too_small(sum);
      }
    }
    return result;
  }

  // For results that are NaN or infinite. There are two ways to divide or multiply by 0, and this
  // names the one that affects the same tokens.
  static std::string explain_no_numbers(const Args& x, const std::vector<float>& o) {
    const auto are = [&](const std::vector<bool>& tokens) {
      for (std::size_t i = 0; i < o.size(); ++i)
        if (std::isfinite(o[i]) == tokens[i / x.V]) return false;
      return true;
    };
    for (const std::int64_t chunk : kChunks) {
      const std::string words = " in chunks of " + std::to_string(chunk);
      if (are(tokens(x, chunk, false, [](double sum) { return std::exp(sum) < FLT_MIN; })))
        return "is no number where exp of a sum" + words +
               " is 0 in fp32: 0 / 0. Subtract the sums, then take exp\n";
      if (are(tokens(x, chunk, true, [](double sum) { return std::exp(-sum) > FLT_MAX; })))
        return "is no number where exp above the diagonal" + words +
               " is infinite: infinity times 0. Select, do not multiply by 0\n";
    }
    return "";
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const Args& x = problem.args<DecayPerHeadArgs<float>>();
    const std::vector<float>& result = *outputs[0].result;
    if (!std::all_of(result.begin(), result.end(), [](float o) { return std::isfinite(o); }))
      return explain_no_numbers(x, result);
    const auto equals = [&](const std::vector<double>& o) { return outputs[0].equals(o); };
    State state;
    const auto begin = [&] { state = State::Zero(x.V, x.K); };
    // `step(w, kv)` changes the state. With `late` the output is read before it.
    const auto recurrence = [&](const auto& step, bool late) {
      return rows(x, begin, [&](double log_w, const auto& k, const auto& v, const auto& q) {
        const Eigen::ArrayXd before = x.scale * read(state, q);
        step(std::exp(log_w), outer(k, v));
        return late ? before : Eigen::ArrayXd(x.scale * read(state, q));
      });
    };
    if (equals(recurrence([&](double, const State& kv) { state += kv; }, false)))
      return "equals the result without any decay\n";
    if (equals(recurrence([&](double w, const State& kv) { state = w * (state + kv); }, false)))
      return "equals the result with the decay of the key's own step on it, too: the sum of log_w "
             "must begin behind the key\n";
    if (equals(recurrence([&](double w, const State& kv) { state = w * state + kv; }, true)))
      return "equals the result that reads the state before its own step: o_t needs k_t v_t\n";
    for (const std::int64_t chunk : kChunks) {
      const std::string words = " in chunks of " + std::to_string(chunk);
      const auto all = [](const Chunk& c) { return c.decay; };
      const auto none = [](const Chunk&) { return 1.0; };
      const auto right = [](const Chunk& c) -> State { return c.decay * c.carried + c.added; };
      const auto kept = [](const Chunk& c) -> State { return c.carried + c.added; };
      const auto by_last = [](const Chunk& c) -> State { return c.last * c.carried + c.added; };
      const auto late = [](const Chunk& c) -> State { return c.decay * c.carried + c.undecayed; };
      if (equals(in_chunks(x, chunk, right, none)))
        return "equals the result" + words + " whose queries read the state without its decay\n";
      if (equals(in_chunks(x, chunk, kept, all)))
        return "equals the result" + words + " whose state is carried on without its decay\n";
      if (equals(in_chunks(x, chunk, by_last, all)))
        return "equals the result" + words + " whose state has the last step's decay alone\n";
      if (equals(in_chunks(x, chunk, late, all)))
        return "equals the result" + words +
               " whose keys come to the state without the decays behind them\n";
    }
    return "";
  }
};

const ladder::OperatorRegistration decay_per_head_operator_registration(
    ladder::with_types<DecayPerHead, DecayPerHeadSizes, DecayPerHeadArgs<float>,
                       DecayPerHeadArgs<ladder::bfloat16>>({
        .name = "decay_per_head",
        .case_with = DecayPerHead::case_of,
        .fma_count = ladder::of_host(DecayPerHead::fma_count),
        .truth = DecayPerHead::truth,
        .additions = ladder::of_host(DecayPerHead::additions),
        .draw_input = DecayPerHead::draw,
        .own_small_shape_like = DecayPerHead::small_shape,
        .explain = DecayPerHead::explain,
    }));

}  // namespace chunkwise
