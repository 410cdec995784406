// Shared parts of the programs' command lines.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/program/selection.hpp"

namespace ladder::program {

constexpr int kWrongResult = 1;
constexpr int kUsage = 2;

// A known name ("rwkv6-1.6b") or sizes such as "B=8,T=4096". The others are taken from `base`.
// Throws std::invalid_argument for a size that is not positive or not the operator's.
Shape parse_shape(const std::string& text, const Operator& op, const Shape& base);

// A table from the script: an optional title, an operator, a precision, a shape and
// implementations, as "summits: wkv fp32 B=1,T=1024 best_wkv". One with a source,
// "wkv_x=06_y/07_z/kernel.cu", is not in this program and becomes an absent one.
Selection table_in(const std::string& text);

// The options of a selection, and the conditions for a JSON file.
class SelectionOptions {
 public:
  // Sizes that are not given are the operator's default or its small shape.
  enum class Shapes { kUsual, kSmall };

  SelectionOptions(CLI::App& app, Shapes shapes);
  // Call after parsing. Throws std::invalid_argument. Without --operator it is the first one, or
  // the only one that the chapters compute.
  Selection selection() const;
  // One for each --shape if anything except chapters was given. Otherwise those of `ladders` that the
  // chapters have, or else all operators that they compute. For a single chapter they begin with
  // the earlier kernels, for comparison.
  std::vector<Selection> selections(const std::vector<OperatorIn>& ladders) const;
  // The given conditions, overridden by the commit and the compiler that the program knows.
  std::map<std::string, std::string> conditions() const;

 private:
  Selection selection_of(const std::optional<std::string>& shape) const;

  Selection selection_;
  std::vector<std::string> given_shapes_;
  Shapes shapes_;
  std::string options_;
  bool all_ = false;
  const CLI::Option *operator_ = nullptr, *precision_ = nullptr;
  std::vector<const CLI::Option*> asking_;  // options that select a single ladder
  std::map<std::string, std::string> conditions_;
};

// Runs `work` after parsing. Prints errors. Returns kUsage for bad arguments, else kWrongResult.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work);

// Throws std::invalid_argument if the option's path is given (or has a default) but not writable.
void require_writable(const CLI::Option& option);

// Throws std::runtime_error if it cannot be written.
void write_file(const std::string& path, const std::string& contents);

// On a terminal the line is overwritten, elsewhere each has its own line.
std::string progress_text(const std::string& what, bool terminal);
void show_progress(const std::string& what);
std::string today();

}  // namespace ladder::program
