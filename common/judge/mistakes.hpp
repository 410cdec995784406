// What an operator says of wrong results: answers that somebody gives who makes a mistake. They are computed only when a result is wrong;
// common/diagnosis looks among them for the one that a result equals, and the judge's self-test plants them. Each is made from what the
// truth gets or gives: the truth itself has no switch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/judge/judging.hpp"
#include "common/judge/variants.hpp"

namespace ladder {

// The outputs that a case has, in the order of the operator's list. Elements that are kUnwritten were not written; others that are not
// finite overflowed.
using Answer = std::vector<std::vector<double>>;

struct Misconception {
  std::string words;  // "equals the result with the bonus forgotten"
  std::function<Answer()> answer;
  std::int64_t tile = 0;  // one of several that may fit, named where the words have a *
  // What is rounded too coarsely ("tf32"): an answer that is nearly the truth. Empty for all others.
  std::string slight = "";
};

// The usual lengths of chunks and tiles.
inline constexpr std::int64_t kUsualTiles[] = {16, 32, 64, 128};

// The words of the operator's variants, and the lines of code where they are made.
struct VariantsOfLoop {
  std::string equals = {};  // "equals the result "
  std::vector<std::string> words = {}, lines = {};
  std::function<Answer()> right = nullptr;  // the loop's answer with nothing changed
};

struct Mistakes {
  std::vector<Misconception> known = {};  // in the order in which they are looked for
  VariantsOfLoop variants = {};
  // A mistake of this operator alone, in the first output, beside the others.
  std::function<std::string(const std::vector<Part>&)> own = nullptr;
  // Whether the operator has several outputs: a mistake that gives all of them comes before one that gives the wrong one.
  bool together = false;
  // Multiply-adds of the problem. There are about a hundred mistakes, each of which computes it again: none is looked for above the most.
  double work = 0, most_work = 3e7;
  std::shared_ptr<const void> kept = {};  // what the answers refer to
};

// The variants as known mistakes. `loop(switches)` is the Answer; it may refer to the problem.
template <typename Switches, typename Loop>
void add_variants(Mistakes& mistakes, const std::string& equals, const Variants<Switches>& list,
                  const Switches& right, const Loop& loop) {
  mistakes.variants = {equals, {}, {}, [right, loop] { return loop(right); }};
  for (const Variant<Switches>& variant : list) {
    mistakes.variants.words.push_back(variant.words);
    mistakes.variants.lines.push_back(variant.line);
    mistakes.known.push_back({equals + variant.words, [right, loop, change = variant.change] {
                                Switches switches = right;
                                change(switches);
                                return loop(switches);
                              }});
  }
}

// A result beside its truth, and what is known of wrong ones.
struct Examined {
  std::vector<Part> parts = {};  // all outputs of the case
  std::size_t wrong = 0;         // the first that is wrong; their number where all are right
  Mistakes mistakes = {};
};

// Whether a result equals an answer. Where the answer computes no number, the result has one that is none and was written; where the
// answer has kUnwritten, nothing was written, or a zero.
bool equals_answer(const std::vector<float>& result, const std::vector<double>& answer,
                   std::int64_t row, double rounding);
bool equals_answer(const Part& part, const std::vector<double>& answer);

// As tensor cores take operands of fp32: to 11 significant bits.
void to_tf32(std::vector<float>& values);
double bf16(double x);
double fp16(double x);

}  // namespace ladder
