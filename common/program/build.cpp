#include "common/program/build.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <optional>

namespace ladder::program {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The output of git without the final newline, or nothing if it fails.
std::optional<std::string> git(const std::string& folder, const std::string& arguments) {
  const std::string command = "git -C " + quoted(folder) + " " + arguments + " 2> /dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  std::array<char, 256> part{};
  while (fgets(part.data(), part.size(), pipe) != nullptr)
    output += part.data();
  if (pclose(pipe) != 0) return std::nullopt;
  while (!output.empty() && output.back() == '\n')
    output.pop_back();
  return output;
}

}  // namespace

std::string compiler() {
  return LADDER_COMPILER;
}

std::string cuda_compiler() {
  return LADDER_CUDA_COMPILER;
}

std::string source_folder() {
  return LADDER_SOURCE_FOLDER;
}

std::string commit_of(const std::string& folder) {
  const auto commit = git(folder, "rev-parse --short HEAD");
  if (!commit || commit->empty()) return "";
  const auto changes = git(folder, "status --porcelain -- . ':(exclude)docs'");
  return *commit + (changes && changes->empty() ? "" : "-dirty");
}

}  // namespace ladder::program
