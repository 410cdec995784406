// The subject of a command: an operator, a shape, and implementations.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/operator.hpp"

namespace ladder::program {

// The name of an operator, and the storage of its tensors.
using OperatorIn = std::pair<std::string, std::string>;

struct Selection {
  std::string title = {};  // of its table, or empty for none
  std::string op = {};
  Shape shape = {};                        // missing sizes are the operator's default
  std::vector<std::string> chapters = {};  // "02" or "02_openmp", or empty for all
  std::vector<std::string> names = {};     // only these, variants too, or empty for all
  std::string precision = "fp32";
  bool causal = false;  // short for the option causal
  bool states = false;  // short for the options initial_state and final_state
  Options options = {};
  bool rungs_only = true;
  bool cuda_only = false;
};

// The operator's case. Throws std::invalid_argument for unknown sizes, options or precisions.
std::unique_ptr<Case> case_of(const Selection& selection);

// By chapter. Throws std::invalid_argument for an unknown operator, chapter or name.
std::vector<Implementation> chosen(const Selection& selection);

// The operators of the shown implementations, each with its first storage, by chapter and lesson.
std::vector<OperatorIn> computed(const Selection& selection);

// A single chapter ("03") becomes all chapters up to it. Other lists are unchanged.
std::vector<std::string> up_to(const std::vector<std::string>& chapters);

// Whether any implementation is selected.
bool has_any(const Selection& selection);

// The selection in the words of AbsentImplementation, such as "attention_bf16".
std::string launcher_of(const Selection& selection);

// The selected implementations that this program was built without, by chapter.
std::vector<AbsentImplementation> chosen_absent(const Selection& selection);

}  // namespace ladder::program
