// Conditions on blockIdx or threadIdx as text. "=0,>1" is x == 0 and y > 1. An empty one is true.
#pragma once

#include <stdexcept>
#include <string>

namespace warmup {

enum class Relation : unsigned char {
  kAny,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kMore,
  kMoreEqual
};

struct Condition {
  Relation relation = Relation::kAny;
  unsigned value = 0;
};

struct Where {
  Condition x, y, z;
};

inline Condition parse_condition(const std::string& text) {
  if (text.empty()) return {};
  struct Sign {
    const char* text;
    Relation relation;
  };
  // The longer signs first, because "<=" begins with "<".
  for (const Sign& sign : {Sign{"!=", Relation::kNotEqual}, Sign{"<=", Relation::kLessEqual},
                           Sign{">=", Relation::kMoreEqual}, Sign{"=", Relation::kEqual},
                           Sign{"<", Relation::kLess}, Sign{">", Relation::kMore}}) {
    const std::string begin = sign.text;
    if (text.compare(0, begin.size(), begin) != 0) continue;
    const std::string number = text.substr(begin.size());
    const bool digits = number.find_first_not_of("0123456789") == std::string::npos;
    if (number.empty() || !digits || number.size() > 9) break;
    return {sign.relation, static_cast<unsigned>(std::stoul(number))};
  }
  throw std::invalid_argument("condition is \"" + text +
                              "\"; allowed: nothing, or =, !=, <, <=, > or >= and a number");
}

inline Where parse_where(std::string text) {
  std::string parts[3];
  int part = 0;
  for (const char c : text) {
    if (c == ' ') continue;
    if (c != ',') {
      parts[part] += c;
    } else if (++part == 3) {
      throw std::invalid_argument("conditions are \"" + text +
                                  "\"; allowed: up to three, for x, y and z");
    }
  }
  return {parse_condition(parts[0]), parse_condition(parts[1]), parse_condition(parts[2])};
}

}  // namespace warmup
