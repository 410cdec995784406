#include "common/operators/wkv/problem.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

#include "common/core/errors.hpp"
#include "common/core/generator.hpp"
#include "common/operators/wkv/decay.hpp"

namespace ladder {
namespace {

float draw_log_w(Generator& generator, const WkvCase& c) {
  switch (c.decay) {
    case Decay::kNone: return 0.0f;
    case Decay::kStrong: return generator.uniform(-16.0f, -1.0f);
    case Decay::kTotal: return -std::numeric_limits<float>::infinity();
    case Decay::kFixed: return c.fixed_log_w;
    default: return log_decay_from_rwkv(generator.uniform(-4.0f, -1.0f));
  }
}

// Letters, digits and underscores only: it becomes part of a test's name.
std::string word(float log_w) {
  std::ostringstream text;
  text << "log_w_minus_" << -log_w;
  std::string word = text.str();
  std::replace(word.begin(), word.end(), '.', 'p');
  word.erase(std::remove_if(word.begin(), word.end(), [](char x) { return x == '+' || x == '-'; }),
             word.end());
  return word;
}

std::string word(const WkvCase& c) {
  switch (c.decay) {
    case Decay::kNone: return "no_decay";
    case Decay::kMild: return "mild";
    case Decay::kStrong: return "strong";
    case Decay::kTotal: return "total";
    case Decay::kStrongToken: return "one_total_token";
    case Decay::kFixed: return word(c.fixed_log_w);
  }
  return "";
}

}  // namespace

std::string name_of(const WkvCase& c) {
  std::ostringstream name;
  name << (c.recurrence == Recurrence::kGla ? "gla_" : "") << "B" << c.B << "_T" << c.T << "_H"
       << c.H << "_K" << c.K << "_V" << c.V << (c.lengths.empty() ? "" : "_packed");
  for (const std::int64_t length : c.lengths)
    name << "_" << length;
  name << "_" << word(c) << (c.decay_per_head ? "_per_head" : "")
       << (c.initial_state ? "_from_state" : "") << (c.final_state ? "_to_state" : "")
       << (c.reverse ? "_reverse" : "") << (c.scale != 1.0f ? "_scaled" : "")
       << magnitude_word(c.magnitude) << precision_word(c.precision);
  return name.str();
}

WkvCase packed(WkvCase c, std::vector<std::int64_t> lengths) {
  c.B = 1;
  c.T = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  c.lengths = std::move(lengths);
  return c;
}

WkvProblem make_problem(const WkvCase& c) {
  refuse_fp16(c.precision);
  Generator generator(c.seed);
  WkvProblem problem;
  problem.wkv_case = c;
  const float m = c.magnitude;
  problem.q = generator.tensor({c.B, c.T, c.H, c.K}, -m, m);
  problem.k = generator.tensor({c.B, c.T, c.H, c.K}, -m, m);
  problem.v = generator.tensor({c.B, c.T, c.H, c.V}, -m, m);
  if (c.recurrence == Recurrence::kWkv) problem.u = generator.tensor({c.H, c.K}, -1.0f, 1.0f);
  problem.log_w =
      c.decay_per_head ? Tensor<float>({c.H, c.K}) : Tensor<float>({c.B, c.T, c.H, c.K});
  for (float& element : problem.log_w.data)
    element = draw_log_w(generator, c);
  if (c.decay == Decay::kStrongToken && !c.decay_per_head) {
    const std::int64_t step = c.H * c.K;
    for (std::int64_t b = 0; b < c.B; ++b) {
      for (std::int64_t i = 0; i < step && c.T > 0; ++i) {
        problem.log_w.data[(b * c.T + c.T / 2) * step + i] =
            -std::numeric_limits<float>::infinity();
      }
    }
  }
  if (c.initial_state) {
    problem.initial_state = generator.tensor({c.sequences(), c.H, c.K, c.V}, -m * m, m * m);
  }
  if (!c.lengths.empty()) {
    problem.cu_seqlens = cumulative(c.lengths);
    require(c.B == 1 && problem.cu_seqlens.data.back() == c.T,
            name_of(c) + ": packed sequences allow only B = 1 and T = the sum of their lengths");
  }
  for (Tensor<float>* tensor : {&problem.q, &problem.k, &problem.v, &problem.u})
    round_to(c.precision, *tensor);
  if (c.precision == Precision::kBf16) round_to(c.precision, problem.log_w);
  check_log_w(problem.log_w.pointer(), problem.log_w.size());
  return problem;
}

WkvProblem::Sequence WkvProblem::sequence(std::int64_t n) const {
  if (cu_seqlens.empty()) return {n * wkv_case.T, wkv_case.T};
  return {cu_seqlens.data[n], cu_seqlens.data[n + 1] - cu_seqlens.data[n]};
}

WkvArgs sizes_of(const WkvCase& c) {
  WkvArgs args;
  args.B = c.B;
  args.T = c.T;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.log_w_stride_B = c.decay_per_head ? 0 : c.T * c.H * c.K;
  args.log_w_stride_T = c.decay_per_head ? 0 : c.H * c.K;
  args.scale = c.scale;
  args.reverse = c.reverse;
  args.sequences = static_cast<std::int64_t>(c.lengths.size());
  return args;
}

WkvArgs WkvProblem::args() const {
  WkvArgs args = sizes_of(wkv_case);
  args.q = q.pointer();
  args.k = k.pointer();
  args.v = v.pointer();
  args.log_w = log_w.pointer();
  args.u = u.pointer();
  args.initial_state = initial_state.pointer();
  args.cu_seqlens = cu_seqlens.pointer();
  return args;
}

WkvGradArgs WkvGradProblem::args() const {
  WkvGradArgs args;
  args.forward = forward.args();
  args.d_o = d_o.pointer();
  args.d_final_state = d_final_state.pointer();
  return args;
}

WkvGradProblem make_grad_problem(const WkvCase& c) {
  WkvGradProblem problem;
  problem.forward = make_problem(c);
  Generator generator(~c.seed);
  problem.d_o = generator.tensor({c.B, c.T, c.H, c.V}, -1.0f, 1.0f);
  round_to(c.precision, problem.d_o);
  // As large as what d_o makes of it: q d_o.
  if (c.final_state) {
    problem.d_final_state =
        generator.tensor({c.sequences(), c.H, c.K, c.V}, -c.magnitude, c.magnitude);
  }
  return problem;
}

}  // namespace ladder
