// Each statement is written like its formula.
#include "07_chunkwise/05_gla_steps/gla_steps_operator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "common/core/generator.hpp"

namespace chunkwise::gla_steps {
namespace {

using ladder::Truth;
using ladder::WkvArgs;

constexpr double kForgetsAll = -150;  // stronger decays count as this one

double count(const Steps& s, std::int64_t steps, std::int64_t width) {
  return static_cast<double>(s.args.B * s.args.H) * static_cast<double>(steps) *
         static_cast<double>(width);
}

// One step of one head, in the order of time. `head` is b * H + h. Elements after the last step are
// 0.
struct Row {
  const Steps& s;
  std::int64_t head, step;

  std::int64_t t() const { return s.args.reverse ? s.args.T - 1 - step : step; }
  std::int64_t token() const {
    return (head / s.args.H * s.args.T + t()) * s.args.H + head % s.args.H;
  }
  double of_token(const float* array, std::int64_t width, std::int64_t i) const {
    return step < s.args.T ? array[token() * width + i] : 0.0;
  }
  double q(std::int64_t j) const { return of_token(s.args.q, s.args.K, j); }
  double k(std::int64_t j) const { return of_token(s.args.k, s.args.K, j); }
  double v(std::int64_t i) const { return of_token(s.args.v, s.args.V, i); }
  double log_w(std::int64_t j) const {
    if (step >= s.args.T) return 0;
    const double x = s.args.log_w[head / s.args.H * s.args.log_w_stride_B +
                                  t() * s.args.log_w_stride_T + head % s.args.H * s.args.K + j];
    return std::max(x, kForgetsAll);
  }

  std::int64_t row() const { return head * s.T_p + step; }
  double of_row(const float* array, std::int64_t width, std::int64_t i) const {
    return array[row() * width + i];
  }
  double log_decay(std::int64_t j) const {
    const LogSum sum = s.log_decay[row() * s.args.K + j];
    return static_cast<double>(sum.high) + sum.low;
  }
  Row first_of_chunk() const { return {s, head, step / s.chunk * s.chunk}; }
  Row last_of_chunk() const { return {s, head, first_of_chunk().step + s.chunk - 1}; }
};

template <typename Visit>
void for_each_row(const Steps& s, std::int64_t steps, const Visit& visit) {
  for (std::int64_t head = 0; head < s.args.B * s.args.H; ++head) {
    for (std::int64_t step = 0; step < steps; ++step)
      visit(Row{s, head, step});
  }
}

// If a number is rounded to fp32, with an error of u times it, its exp is off by u |exponent|,
// besides the few roundings of every term.
double squared_error_of_exp(double exponent) {
  return 1 + exponent * exponent / ladder::kFewRoundings;
}

// A sum, and the sum of its squared terms.
struct Sum {
  double value = 0, squares = 0;

  void add(double term, double exponent = 0) {
    value += term;
    squares += term * term * squared_error_of_exp(exponent);
  }
};

void append(Truth& truth, const Sum& sum) {
  truth.values.push_back(sum.value);
  // Numbers below the smallest normal one have an absolute precision.
  const double smallest = std::numeric_limits<float>::min();
  truth.terms.push_back(std::max(std::sqrt(sum.squares), smallest));
}

float drawn_log_w(const StepCase& c, std::int64_t t, ladder::Generator& generator) {
  if (c.total_decay || (c.strong_token && t == c.T / 2)) return -INFINITY;
  return generator.uniform(-c.decay, 0.0f);
}

Steps sizes_of(const StepCase& c) {
  Steps steps;
  WkvArgs& args = steps.args;
  args.B = c.B, args.T = c.T, args.H = c.H, args.K = c.K, args.V = c.V;
  args.log_w_stride_B = c.decay_per_head ? 0 : c.T * c.H * c.K;
  args.log_w_stride_T = c.decay_per_head ? 0 : c.H * c.K;
  args.scale = 1 / std::sqrt(static_cast<float>(c.K));
  args.reverse = c.reverse;
  steps.chunk = c.chunk;
  steps.T_p = (c.T + c.chunk - 1) / c.chunk * c.chunk;
  return steps;
}

// log_decay, for the steps that only read it.
void draw_log_decay(const StepCase& c, std::vector<LogSum>& values, ladder::Generator& generator) {
  const std::int64_t T_p = sizes_of(c).T_p;
  std::vector<double> sums(static_cast<std::size_t>(c.K));
  for (std::int64_t row = 0; row < c.B * c.H * T_p; ++row) {
    const std::int64_t step = row % T_p;
    for (std::int64_t j = 0; j < c.K; ++j) {
      double& sum = sums[j];
      if (step % c.chunk == 0) sum = 0;
      if (step < c.T) sum += std::max<double>(drawn_log_w(c, step, generator), kForgetsAll);
      const float high = static_cast<float>(sum);
      values[row * c.K + j] = {high, static_cast<float>(sum - high)};
    }
  }
}

bool draw(ladder::Problem& problem, const std::string& input, ladder::Generator& generator) {
  const StepCase& c = problem.as<StepCase>();
  if (input == "log_decay") {
    draw_log_decay(c, problem.array<LogSum>(input), generator);
    return true;
  }
  if (input != "log_w") return false;
  std::vector<float>& values = problem[input];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t t = static_cast<std::int64_t>(i) / c.K / c.H % c.T;
    values[i] = drawn_log_w(c, c.decay_per_head ? -1 : t, generator);
  }
  return true;
}

}  // namespace

// ---- Step 1 ----

namespace {

double cumsum_fma(const Steps& s) {
  return count(s, s.T_p, s.args.K);
}

}  // namespace

ladder::Verdict judge_cumsum(const ladder::Problem& problem, const DecayCumsumOutputs& outputs,
                             ladder::Arithmetic) {
  constexpr double kLimit = 1e-12;
  const Steps& s = problem.args<DecayCumsumArgs>();
  ladder::Verdict verdict;
  verdict.array = "log_decay";
  verdict.limit.whole = verdict.limit.worst_row = kLimit;
  std::vector<double> sums(static_cast<std::size_t>(s.args.K));
  for_each_row(s, s.T_p, [&](const Row& row) {
    for (std::int64_t j = 0; j < s.args.K; ++j) {
      sums[j] = row.log_w(j) + (row.step % s.chunk == 0 ? 0.0 : sums[j]);
      const LogSum& sum = outputs.log_decay[row.row() * s.args.K + j];
      const double is = static_cast<double>(sum.high) + sum.low;
      const double off = std::abs(is - sums[j]);
      verdict.share = std::fmax(verdict.share, off / kLimit / std::abs(sums[j]));
      if (off <= kLimit * std::abs(sums[j]) || !verdict.message.empty()) continue;
      std::ostringstream text;
      text << "WRONG RESULT in log_decay\nfirst bad element: log_decay(b=" << row.head / s.args.H
           << ", h=" << row.head % s.args.H << ", step=" << row.step << ", j=" << j << ") is " << is
           << ", should be " << sums[j] << "\n";
      verdict.message = text.str();
    }
  });
  verdict.error.whole = verdict.error.worst_row = verdict.share * kLimit;
  verdict.right = verdict.message.empty();
  return verdict;
}

// ---- Step 2 ----

namespace {

double prepare_fma(const Steps& s) {
  return 2 * count(s, s.args.T, s.args.K);
}

std::vector<Truth> prepare_truth(const ladder::Problem& problem, ladder::Arithmetic) {
  const Steps& s = problem.args<PrepareQgKgArgs>();
  Truth qg, kg;
  for_each_row(s, s.T_p, [&](const Row& row) {
    const Row last = row.last_of_chunk();
    for (std::int64_t j = 0; j < s.args.K; ++j) {
      Sum q, k;
      const double since = row.log_decay(j), until = last.log_decay(j) - since;
      q.add(row.q(j) * std::exp(since), since);
      k.add(row.k(j) * std::exp(until), until);
      append(qg, q), append(kg, k);
    }
  });
  return {qg, kg};
}

// ---- Step 3 ----

double inter_fma(const Steps& s) {
  return 2 * count(s, s.args.T, s.args.K * s.args.V);
}

std::vector<Truth> inter_truth(const ladder::Problem& problem, ladder::Arithmetic) {
  const Steps& s = problem.args<InterChunkArgs>();
  const std::int64_t K = s.args.K, V = s.args.V;
  Truth o_inter, final_state;
  for (std::int64_t head = 0; head < s.args.B * s.args.H; ++head) {
    std::vector<Sum> state(static_cast<std::size_t>(K * V));
    for (std::int64_t e = 0; e < K * V && s.args.initial_state != nullptr; ++e)
      state[e].add(s.args.initial_state[head * K * V + e]);
    for (std::int64_t first = 0; first < s.T_p; first += s.chunk) {
      for (std::int64_t step = first; step < first + s.chunk; ++step) {
        const Row row{s, head, step};
        for (std::int64_t i = 0; i < V; ++i) {
          Sum o;
          for (std::int64_t j = 0; j < K && step < s.args.T; ++j) {
            const double qg = row.of_row(s.qg, K, j);
            o.value += qg * state[j * V + i].value;
            o.squares += qg * qg * state[j * V + i].squares;
          }
          append(o_inter, o);
        }
      }
      for (std::int64_t j = 0; j < K; ++j) {
        const double exponent = Row{s, head, first}.last_of_chunk().log_decay(j);
        const double decay = std::exp(exponent);
        for (std::int64_t i = 0; i < V; ++i) {
          Sum& sum = state[j * V + i];
          sum = {decay * sum.value, decay * decay * sum.squares * squared_error_of_exp(exponent)};
          for (std::int64_t step = first; step < first + s.chunk; ++step) {
            const Row row{s, head, step};
            sum.add(row.of_row(s.kg, K, j) * row.v(i));
          }
        }
      }
    }
    for (const Sum& sum : state)
      append(final_state, sum);
  }
  return {o_inter, final_state};
}

// The rows of o_inter from T on are undefined.
ladder::Outputs inter_to_judge(const ladder::Problem& problem, const ladder::OutputsAt& at) {
  const Steps& s = problem.args<InterChunkArgs>();
  ladder::Outputs outputs = {*at[0]};
  for (std::size_t n = 1; n < at.size(); ++n)
    outputs.push_back(*at[n]);
  for_each_row(s, s.T_p, [&](const Row& row) {
    if (row.step >= s.args.T)
      std::fill_n(outputs[0].begin() + row.row() * s.args.V, s.args.V, 0.0f);
  });
  return outputs;
}

// ---- Step 4 ----

double scores_fma(const Steps& s) {
  return count(s, s.args.T, s.args.K) * static_cast<double>(s.chunk) / 2;
}

std::vector<Truth> scores_truth(const ladder::Problem& problem, ladder::Arithmetic) {
  const Steps& s = problem.args<IntraChunkScoresArgs>();
  Truth scores;
  for_each_row(s, s.T_p, [&](const Row& query) {
    for (std::int64_t step = query.first_of_chunk().step; step <= query.last_of_chunk().step;
         ++step) {
      const Row key{s, query.head, step};
      Sum score;
      for (std::int64_t j = 0; j < s.args.K && step <= query.step && query.step < s.args.T; ++j) {
        const double between = query.log_decay(j) - key.log_decay(j);
        score.add(query.q(j) * key.k(j) * std::exp(between), between);
      }
      append(scores, score);
    }
  });
  return {scores};
}

// ---- Step 5 ----

double combine_fma(const Steps& s) {
  return count(s, s.args.T, s.args.V) * static_cast<double>(s.chunk) / 2;
}

std::vector<Truth> combine_truth(const ladder::Problem& problem, ladder::Arithmetic) {
  const Steps& s = problem.args<CombineArgs>();
  const std::int64_t V = s.args.V;
  Truth o{std::vector<double>(s.args.B * s.args.T * s.args.H * V), {}};
  o.terms = o.values;
  for_each_row(s, s.args.T, [&](const Row& row) {
    for (std::int64_t i = 0; i < V; ++i) {
      Sum sum;
      sum.add(row.of_row(s.o_inter, V, i));
      for (std::int64_t step = row.first_of_chunk().step; step <= row.step; ++step)
        sum.add(row.of_row(s.scores, s.chunk, step % s.chunk) * Row{s, row.head, step}.v(i));
      o.values[row.token() * V + i] = s.args.scale * sum.value;
      o.terms[row.token() * V + i] = s.args.scale * std::sqrt(sum.squares);
    }
  });
  return {o};
}

// ---- The operators ----

template <typename Op, typename Args>
ladder::Operator step(double (*fma_count)(const Steps&), ladder::Operator op) {
  op.name = Op::kName;
  op.host = [](const ladder::Struct& c) {
    return ladder::Struct(Args{{sizes_of(c.as<StepCase>())}});
  };
  op.fma_count = [fma_count](const ladder::Struct& host) { return fma_count(host.as<Args>()); };
  op.draw_input = draw;
  op.wants = [](const ladder::Struct& c, const std::string& array) {
    return c.as<StepCase>().states || (array != "initial_state" && array != "final_state");
  };
  op.steps = "T";
  return ladder::with_types<Op, StepSizes, Args, Args>(std::move(op));
}

template <typename Args>
auto additions(double (*of)(const Steps&)) {
  return [of](const ladder::Struct& host) { return of(host.as<Args>()); };
}

const ladder::OperatorRegistration decay_cumsum_registration(
    step<DecayCumsum, DecayCumsumArgs>(cumsum_fma, {.own_judge = ladder::judge_by(judge_cumsum)}),
    101);
const ladder::OperatorRegistration prepare_qg_kg_registration(
    step<PrepareQgKg, PrepareQgKgArgs>(
        prepare_fma, {.truth = prepare_truth,
                      .additions = additions<PrepareQgKgArgs>([](const Steps&) { return 0.0; })}),
    102);
const ladder::OperatorRegistration inter_chunk_registration(
    step<InterChunk, InterChunkArgs>(inter_fma,
                                     {.truth = inter_truth,
                                      .additions = additions<InterChunkArgs>([](const Steps& s) {
                                        return static_cast<double>(s.args.K + s.args.T);
                                      }),
                                      .to_judge = inter_to_judge}),
    103);
const ladder::OperatorRegistration intra_chunk_scores_registration(
    step<IntraChunkScores, IntraChunkScoresArgs>(
        scores_fma,
        {.truth = scores_truth, .additions = additions<IntraChunkScoresArgs>([](const Steps& s) {
                                  return static_cast<double>(s.args.K);
                                })}),
    104);
const ladder::OperatorRegistration combine_registration(
    step<Combine, CombineArgs>(combine_fma,
                               {.truth = combine_truth,
                                .additions = additions<CombineArgs>([](const Steps& s) {
                                  return static_cast<double>(s.chunk);
                                })}),
    105);

}  // namespace

}  // namespace chunkwise::gla_steps
