#include "common/operators/linear_attention/problem.hpp"

#include <sstream>

#include "common/core/generator.hpp"

namespace ladder {

std::string name_of(const LinearAttentionCase& c) {
  std::ostringstream name;
  name << "B" << c.B << "_Tq" << c.T_q << "_Tk" << c.T_k << "_H" << c.H << "_K" << c.K << "_V"
       << c.V << (c.causal ? "_causal" : "_full")
       << (c.feature_map == FeatureMap::kEluPlusOne ? "_elu" : "")
       << (c.normalize ? "_normalized" : "") << (c.eps != LinearAttentionCase{}.eps ? "_eps" : "")
       << (c.key_lengths ? "_key_lengths" : "") << magnitude_word(c.magnitude)
       << precision_word(c.precision);
  return name.str();
}

LinearAttentionProblem make_problem(const LinearAttentionCase& c) {
  refuse_fp16(c.precision);
  Generator generator(c.seed);
  LinearAttentionProblem problem;
  problem.attention_case = c;
  const float m = c.magnitude;
  problem.q = generator.tensor({c.B, c.T_q, c.H, c.K}, -m, m);
  problem.k = generator.tensor({c.B, c.T_k, c.H, c.K}, -m, m);
  problem.v = generator.tensor({c.B, c.T_k, c.H, c.V}, -m, m);
  for (Tensor<float>* tensor : {&problem.q, &problem.k, &problem.v})
    round_to(c.precision, *tensor);
  if (c.key_lengths) problem.key_lengths = generator.key_lengths(c.B, c.T_k);
  return problem;
}

LinearAttentionArgs sizes_of(const LinearAttentionCase& c) {
  LinearAttentionArgs args;
  args.B = c.B;
  args.T_q = c.T_q;
  args.T_k = c.T_k;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.causal = c.causal;
  args.feature_map = c.feature_map;
  args.normalize = c.normalize;
  args.eps = c.eps;
  return args;
}

LinearAttentionArgs LinearAttentionProblem::args() const {
  LinearAttentionArgs args = sizes_of(attention_case);
  args.q = q.pointer();
  args.k = k.pointer();
  args.v = v.pointer();
  args.key_lengths = key_lengths.pointer();
  return args;
}

}  // namespace ladder
