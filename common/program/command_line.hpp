// What the ladder's programs share on their command lines.
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

// A known name ("rwkv6-1.6b"), or sizes such as "B=8,T=4096": those left out are those of `base`. std::invalid_argument names the
// size that is no positive number, or that the operator does not have, and lists what is allowed.
Shape parse_shape(const std::string& text, const Operator& op, const Shape& base);

// A table as the script asks for it: a title or none, an operator, a precision, a shape and implementations, "summits: wkv fp32 B=1,T=1024
// best_wkv".
// One that has its source behind it, "wkv_x=06_y/07_z/kernel.cu", is not in this program: it becomes an absent one.
Selection table_in(const std::string& text);

// Options for a selection, and for the conditions that go into a JSON file.
class SelectionOptions {
 public:
  // Sizes that are left out are the operator's default, or those of its small shape.
  enum class Shapes { kUsual, kSmall };

  SelectionOptions(CLI::App& app, Shapes shapes);
  // After parsing; std::invalid_argument names what is wrong. Without --operator it is the first, or what the chapters compute instead,
  // where that is one operator.
  Selection selection() const;
  // That one, if anything but chapters was asked for; otherwise those of `ladders` that the chapters have.
  // A single chapter's begin with the rungs below it, which it is compared with. Chapters that have none of `ladders` are climbed in
  // all operators that they compute.
  std::vector<Selection> selections(const std::vector<OperatorIn>& ladders) const;
  // What was given, and what counts more: the commit and the compiler as the program knows them.
  std::map<std::string, std::string> conditions() const;

 private:
  Selection selection_;
  std::optional<std::string> shape_;
  Shapes shapes_;
  std::string options_;
  bool all_ = false;
  const CLI::Option *operator_ = nullptr, *precision_ = nullptr;
  std::vector<const CLI::Option*> asking_;  // options that say which one ladder is meant
  std::map<std::string, std::string> conditions_;
};

// Runs `work` after parsing. The exit code: kUsage for bad arguments, kWrongResult for other failures, both with a sentence.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work);

// std::invalid_argument where the option's path cannot be written, but for one without a default that is not given. Leaves no file behind that was not there.
void require_writable(const CLI::Option& option);

// Throws std::runtime_error if it cannot be written.
void write_file(const std::string& path, const std::string& contents);

// One line that is written again and again on a terminal, one line for each elsewhere.
std::string progress_text(const std::string& what, bool terminal);
void show_progress(const std::string& what);  // to stderr
std::string today();

}  // namespace ladder::program
