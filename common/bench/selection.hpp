// What a command is about: an operator, a shape, and which implementations.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "common/bench/shape.hpp"
#include "common/core/problem.hpp"
#include "common/core/registry.hpp"

namespace ladder::bench {

struct Selection {
  std::string op = "wkv";  // one of operators()
  Shape shape = {};
  std::vector<std::string> chapters = {};  // "02" or "02_openmp"; empty: all
  std::vector<std::string> names = {};     // only these implementations, variants too; empty: all
  Precision precision = Precision::kFp32;  // of the tensors
  bool causal = false;                     // softmax attention only; linear attention always is
  bool states = false;                     // with initial and final state, and their gradients
  bool rungs_only = true;
  bool cuda_only = false;
};

// "fp32", "bf16", "bf16_fp32_decay", "fp16".
std::string to_string(Precision precision);
// std::invalid_argument lists what is allowed.
Precision parse_precision(const std::string& text);

// "wkv, gla, wkv_backward, gla_backward, linear_attention, causal_dot_product, attention, attention_backward"
std::string operators();

// Whether the operator's work grows with the square of T.
bool grows_quadratically(const Selection& selection);

// By chapter. std::invalid_argument for an unknown operator, chapter or name.
std::vector<Implementation> chosen(const Selection& selection);

// What of it this program was built without; the same for names. By chapter.
std::vector<AbsentImplementation> chosen_absent(const Selection& selection);

// The operator's problem on that shape.
using Problem = std::variant<WkvProblem, WkvGradProblem, LinearAttentionProblem, AttentionProblem,
                             AttentionGradProblem>;
Problem problem_of(const Selection& selection);

// What it takes: multiply-adds of the recurrence (of softmax attention: of the scores and their products), and bytes when every tensor moves once.
struct Cost {
  double fma_count = 0, bytes = 0;
};
Cost cost_of(const Selection& selection);

}  // namespace ladder::bench
