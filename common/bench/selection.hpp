// What a command is about: an operator, a shape, and which implementations.
#pragma once

#include <string>
#include <vector>

#include "common/bench/shape.hpp"
#include "common/core/problem.hpp"
#include "common/core/registry.hpp"

namespace ladder::bench {

struct Selection {
  std::string op = "wkv";  // "wkv", "linear_attention" or "causal_dot_product"
  Shape shape = {};
  std::vector<std::string> chapters = {};  // "02" or "02_openmp"; empty: all
  std::vector<std::string> names = {};     // only these implementations, variants too; empty: all
  Precision precision = Precision::kFp32;  // of WKV's tensors
  bool states = false;                     // WKV with initial and final state
  bool rungs_only = true;
  bool cuda_only = false;
};

// "fp32", "bf16", "bf16_fp32_decay".
std::string to_string(Precision precision);
// std::invalid_argument lists what is allowed.
Precision parse_precision(const std::string& text);

// By chapter. std::invalid_argument for an unknown operator, chapter or name.
std::vector<Implementation> chosen(const Selection& selection);

// The operator's problem on that shape.
WkvProblem wkv_problem_of(const Selection& selection);
LinearAttentionProblem linear_attention_problem_of(const Selection& selection);

}  // namespace ladder::bench
