// docs/misconceptions.md is what the tables of variants and the planted mistakes say. LADDER_WRITE_PAGES=1 writes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "common/operators/attention/gradient_variants.hpp"
#include "common/operators/attention/variants.hpp"
#include "common/operators/linear_attention/variants.hpp"
#include "common/operators/suite.hpp"
#include "common/operators/wkv/gradient_variants.hpp"
#include "common/operators/wkv/variants.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

const std::filesystem::path kRoot = LADDER_ROOT;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, "\\");
  return text;
}

// Of a planted mistake: "# mistake: ...", "# diagnosis: ...", and the first line that it adds, or takes away.
struct Patch {
  std::string mistake, diagnosis, added, removed;

  explicit Patch(const std::filesystem::path& path) {
    std::istringstream lines(text_of(path));
    const auto rest = [](const std::string& line, std::size_t from) {
      const std::size_t first = line.find_first_not_of(" \t", from);
      return first == std::string::npos ? "" : line.substr(first);
    };
    bool changes = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# mistake: ")) mistake = line.substr(11);
      if (line.starts_with("# diagnosis: ")) diagnosis = line.substr(13);
      changes |= line.starts_with("@@");
      if (changes && line[0] == '+' && added.empty()) added = rest(line, 1);
      if (changes && line[0] == '-' && removed.empty()) removed = rest(line, 1);
    }
  }
  std::string line() const {
    return added.empty() ? "`" + cell(removed) + "` left out" : "`" + cell(added) + "`";
  }
};

std::string planted_mistakes() {
  std::map<std::string, std::vector<std::filesystem::path>> folders;
  for (const auto& chapter : std::filesystem::directory_iterator(kRoot)) {
    if (std::isdigit(static_cast<unsigned char>(chapter.path().filename().string()[0])) == 0)
      continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(chapter)) {
      const auto path = std::filesystem::relative(entry.path(), kRoot);
      if (path.extension() == ".patch" && path.parent_path().filename() == "mistakes")
        folders[path.parent_path().parent_path().string()].push_back(path);
    }
  }
  std::string text = "| lesson | mistake | phrase | line |\n|---|---|---|---|\n";
  for (auto& [folder, paths] : folders) {
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      const Patch patch(kRoot / path);
      text += "| [" + folder + "](../" + folder + "/README.md) | " + cell(patch.mistake) + " | " +
              cell(patch.diagnosis) + " | " + patch.line() + " |\n";
    }
  }
  return text;
}

template <typename Variants>
std::string table(const Variants& variants, const std::string& what = "result") {
  std::string text = "| phrase: It equals the " + what + " ... | line |\n|---|---|\n";
  for (const auto& variant : variants)
    text += "| " + cell(variant.words) + " | `" + cell(variant.line) + "` |\n";
  return text;
}

std::string page() {
  WkvCase with_states = plain_wkv_case({});
  with_states.initial_state = with_states.final_state = true;
  return "<!-- Written by common/operators/misconceptions_page_test.cpp with LADDER_WRITE_PAGES=1 "
         "-->\n"
         "# What a wrong result is called\n\n"
         "`./ladder exercise` and `./ladder test` compare a wrong result with the results of known "
         "mistakes. This page lists the "
         "mistakes, the phrase that a learner reads, and a line of code that makes the mistake.\n\n"
         "The tables of formulas come from `common/operators/*/variants.cpp`. Each row is one "
         "change of one loop. The loop is run on the "
         "plain case: a small case without options. The test `Variants.*` proves that no two rows "
         "of a table give the same there. A "
         "result that equals no row is compared with two rows together.\n\n"
         "## What equals no row\n\n"
         "Such a result is taken apart. Four questions are asked, and a test plants an answer to "
         "each "
         "(`common/operators/shares_test.cpp`).\n\n"
         "- Which steps are wrong? o of a step is a sum of rows of v, each with a factor: what the "
         "step takes from that row's step. Where a head has no more steps than columns, o says all "
         "factors. Phrases: \"A step takes nothing from the steps before its own block of 16\"; "
         "\"What a step takes from the steps before its own block of 16 is wrong; all else is "
         "right. "
         "There it equals the result without the decay from the key to the border of blocks of "
         "16\".\n"
         "- Which key rows are wrong? o is also a sum over the key rows. Phrases: \"It equals the "
         "result with the bonus of the last 16 key rows alone\"; \"All key rows but 0, 4, 8, 12, "
         "... 28 count 1.43 times, which is 1 / scale\". Brackets that are missing around a sum do "
         "the second.\n"
         "- Does a value lie in the wrong place? Phrase: \"Column 2 holds what column 1 "
         "should\".\n"
         "- Is a number huge? Phrase: \"Is a variable read before it is given a value?\" `./ladder "
         "exercise` fills local variables with -1.7e38 before the kernel runs. A variable that is "
         "never given a value then shows in every test.\n\n"
         "## WKV\n\n" +
         table(reference::wkv_variants(with_states)) + "\n## GLA\n\n" +
         table(reference::wkv_variants(plain_wkv_case({}, Recurrence::kGla))) +
         "\n## Linear attention\n\n" +
         table(reference::linear_attention_variants(plain_linear_attention_case({}))) +
         "\n## Softmax attention\n\n" +
         table(reference::attention_variants(plain_attention_case({}))) +
         "\n## Gradients of WKV\n\n" +
         table(reference::wkv_gradient_variants(with_states), "gradient") +
         "\n## Gradients of GLA\n\n" +
         table(reference::wkv_gradient_variants(plain_wkv_case({}, Recurrence::kGla)), "gradient") +
         "\n## Gradients of softmax attention\n\n" +
         table(reference::attention_gradient_variants(plain_attention_case({})), "gradient") +
         "\n## Planted mistakes\n\n"
         "`./ladder test mistake.03` plants the mistakes of lesson 03, one after the other. A test "
         "must fail and say the phrase.\n\n" +
         planted_mistakes();
}

TEST(MisconceptionsPage, SaysWhatTheTablesSay) {
  const std::filesystem::path path = kRoot / "docs" / "misconceptions.md";
  const std::string wanted = page();
  if (is_set("LADDER_WRITE_PAGES")) std::ofstream(path) << wanted;
  EXPECT_TRUE(text_of(path) == wanted)
      << path << " is not what the tables say: LADDER_WRITE_PAGES=1 writes it";
}

}  // namespace
}  // namespace ladder::testing
