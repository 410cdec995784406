#include "common/operators/named_cases.hpp"

#include <sstream>
#include <utility>
#include <vector>

#include "common/core/errors.hpp"

namespace ladder::testing {
namespace {

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

float magnitude(Words& words) {
  return words.next("huge") ? 1e8f : words.next("tiny") ? 1e-8f : 1.0f;
}

Precision precision(Words& words) {
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

}  // namespace

const char* test_word(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "InFp32";
    case Precision::kBf16: return "InBf16";
    case Precision::kBf16Fp32Decay: return "InBf16WithFp32Decay";
    case Precision::kFp16: return "InFp16";
  }
  return "";
}

WkvCase wkv_case(const NamedCase& named) {
  Words words(named.name);
  WkvCase c;
  if (words.next("gla")) c.recurrence = Recurrence::kGla;
  c.B = words.size("B");
  c.T = words.size("T");
  c.H = words.size("H");
  c.K = words.size("K");
  c.V = words.size("V");
  for (const auto& [word, decay] : {std::pair{"no_decay", Decay::kNone},
                                    {"mild", Decay::kMild},
                                    {"strong", Decay::kStrong},
                                    {"total", Decay::kTotal},
                                    {"one_total_token", Decay::kStrongToken}}) {
    if (words.next(word)) c.decay = decay;
  }
  c.decay_per_head = words.next("per_head");
  c.initial_state = words.next("from_state");
  c.final_state = words.next("to_state");
  c.reverse = words.next("reverse");
  c.scale = words.next("scaled") ? 0.125f : 1.0f;
  c.magnitude = magnitude(words);
  c.precision = precision(words);
  return checked(c, named);
}

LinearAttentionCase linear_attention_case(const NamedCase& named) {
  Words words(named.name);
  LinearAttentionCase c;
  c.B = words.size("B");
  c.T_q = words.size("Tq");
  c.T_k = words.size("Tk");
  c.H = words.size("H");
  c.K = words.size("K");
  c.V = words.size("V");
  c.causal = words.next("causal");
  if (!c.causal) words.next("full");
  c.feature_map = words.next("elu") ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
  c.normalize = words.next("normalized");
  if (words.next("eps")) c.eps = 8.0f;
  c.key_lengths = words.next("key_lengths");
  c.magnitude = magnitude(words);
  c.precision = precision(words);
  return checked(c, named);
}

AttentionCase attention_case(const NamedCase& named) {
  Words words(named.name);
  AttentionCase c;
  c.B = words.size("B");
  c.T_q = words.size("Tq");
  c.T_k = words.size("Tk");
  c.H_q = words.size("Hq");
  c.H_kv = words.size("Hkv");
  c.D = words.size("D");
  c.causal = words.next("causal");
  if (!c.causal) words.next("full");
  c.key_lengths = words.next("key_lengths");
  c.scale = words.next("scaled") ? 0.5f : 0.0f;
  c.magnitude = magnitude(words);
  c.precision = precision(words);
  return checked(c, named);
}

}  // namespace ladder::testing
