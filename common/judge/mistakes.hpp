// Wrong answers that common mistakes give, computed only for a wrong result. common/diagnosis looks
// for one that equals it, and the judge's self-test plants them. The truth has no switches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/judge/judging.hpp"
#include "common/judge/variants.hpp"

namespace ladder {

// The outputs of a case in the operator's order. kUnwritten elements were not written, and others
// that are not finite overflowed.
using Answer = std::vector<std::vector<double>>;

struct Misconception {
  std::string words;  // "equals the result with the bonus forgotten"
  std::function<Answer()> answer;
  std::int64_t tile = 0;  // a candidate for the * in the words
  // Rounding that is too coarse ("tf32"), whose answer is nearly the truth. Otherwise empty.
  std::string slight = "";
};

// The usual lengths of chunks and tiles.
inline constexpr std::int64_t kUsualTiles[] = {16, 32, 64, 128};

// The words of the operator's variants, and the lines of code that make them.
struct VariantsOfLoop {
  std::string equals = {};  // "equals the result "
  std::vector<std::string> words = {}, lines = {};
  std::function<Answer()> right = nullptr;  // the answer of the unchanged loop
};

struct Mistakes {
  std::vector<Misconception> known = {};  // in the order of the search
  VariantsOfLoop variants = {};
  // Recognises mistakes of this operator alone, in the first output.
  std::function<std::string(const std::vector<Part>&)> own = nullptr;
  // A mistake that explains all of several outputs precedes one that explains the wrong one.
  bool together = false;
  // FMAs of the problem, which about a hundred mistakes repeat unless it exceeds `most_work`.
  double work = 0, most_work = 3e7;
  std::shared_ptr<const void> kept = {};  // keeps alive what the answers refer to
};

// Adds the variants as known mistakes. `loop(switches)` gives the Answer.
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

// A result with its truth, and the known mistakes.
struct Examined {
  std::vector<Part> parts = {};  // all outputs of the case
  std::size_t wrong = 0;         // the first wrong one, or the number of outputs if all are right
  Mistakes mistakes = {};
};

// Whether a result equals an answer. If the answer has NaN or infinity, so must the result, in a
// written element. Elements that are kUnwritten in the answer must be unwritten or 0.
bool equals_answer(const std::vector<float>& result, const std::vector<double>& answer,
                   std::int64_t row, double rounding);
bool equals_answer(const Part& part, const std::vector<double>& answer);

// Rounds to 11 significant bits, as tensor cores do with fp32 operands.
void to_tf32(std::vector<float>& values);
double bf16(double x);
double fp16(double x);

}  // namespace ladder
