// Reads the names of cases: "B2_T17_H3_K16_V16_mild".
#pragma once

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "common/core/errors.hpp"
#include "common/operators/named_cases.hpp"
#include "common/operators/precision.hpp"

namespace ladder::testing {

// The words between "_", and those read so far.
class Words {
 public:
  explicit Words(const std::string& name) {
    std::istringstream text(name);
    for (std::string word; std::getline(text, word, '_');)
      words_.push_back(word);
  }

  // Whether `name`, of one or more words, comes next; it is read then.
  bool next(const std::string& name) {
    const Words wanted(name);
    if (next_ + wanted.words_.size() > words_.size()) return false;
    for (std::size_t n = 0; n < wanted.words_.size(); ++n) {
      if (words_[next_ + n] != wanted.words_[n]) return false;
    }
    next_ += wanted.words_.size();
    return true;
  }

  // The number behind `letters`: "T" of "T17".
  std::int64_t size(const std::string& letters) {
    if (next_ >= words_.size() || words_[next_].compare(0, letters.size(), letters) != 0) return -1;
    return std::atoll(words_[next_++].c_str() + letters.size());
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

inline float magnitude(Words& words) {
  return words.next("huge") ? 1e8f : words.next("tiny") ? 1e-8f : 1.0f;
}

inline Precision precision(Words& words) {
  if (words.next("bf16_fp32_decay")) return Precision::kBf16Fp32Decay;
  return words.next("bf16")   ? Precision::kBf16
         : words.next("fp16") ? Precision::kFp16
                              : Precision::kFp32;
}

template <typename Case>
Case checked(Case c, const NamedCase& named) {
  require(name_of(c) == named.name,
          "named case is " + named.name +
              "; allowed: a name that name_of gives, of the suites' levels");
  c.seed = named.seed;
  return c;
}

}  // namespace ladder::testing
