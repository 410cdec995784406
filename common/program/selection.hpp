// What a command is about: an operator, a shape, and which implementations.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/operator.hpp"

namespace ladder::program {

// The name of an operator, and how its tensors are stored.
using OperatorIn = std::pair<std::string, std::string>;

struct Selection {
  std::string title = {};                  // of its table; empty: what it computes says it
  std::string op = {};                     // the name of an operator
  Shape shape = {};                        // sizes left out are the operator's default
  std::vector<std::string> chapters = {};  // "02" or "02_openmp"; empty: all
  std::vector<std::string> names = {};     // only these implementations, variants too; empty: all
  std::string precision = "fp32";          // of the tensors
  bool causal = false;                     // short for the option causal
  bool states = false;                     // short for the options initial_state and final_state
  Options options = {};                    // of the operator
  bool rungs_only = true;
  bool cuda_only = false;
};

// The operator's case. std::invalid_argument for a size, an option or a precision that it does not have.
std::unique_ptr<Case> case_of(const Selection& selection);

// By chapter. std::invalid_argument for an unknown operator, chapter or name.
std::vector<Implementation> chosen(const Selection& selection);

// The operators that what is shown of the wanted chapters computes, each with the first of its storages, by chapter and lesson.
std::vector<OperatorIn> computed(const Selection& selection);

// A single chapter ("03") becomes it and all before it; anything else stays as it is.
std::vector<std::string> up_to(const std::vector<std::string>& chapters);

// Whether there is one for it.
bool has_any(const Selection& selection);

// As AbsentImplementation calls what is selected: "attention_bf16".
std::string launcher_of(const Selection& selection);

// What of it this program was built without; the same for names. By chapter.
std::vector<AbsentImplementation> chosen_absent(const Selection& selection);

}  // namespace ladder::program
