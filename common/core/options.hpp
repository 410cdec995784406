// Options by name and as text: what --options says, for every member that a case lists.
//
//     template <typename Self, typename Visit>
//     static void options(Self& s, const Visit& visit) {
//       visit("reverse", s.reverse), visit("scale", s.scale), visit("decay", s.decay, kDecayWords);  // the words of an enum
//     }
#pragma once

#include <charconv>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/errors.hpp"

namespace ladder {

// "decay" with "strong". A flag may be given alone: "reverse".
using Options = std::vector<std::pair<std::string, std::string>>;

inline std::string options_text(const Options& options) {
  std::string text;
  for (const auto& [name, value] : options)
    text += (text.empty() ? "" : ",") + name + (value.empty() ? "" : "=" + value);
  return text;
}

// From "decay=strong,reverse,lengths=5+0+17".
inline Options parse_options(const std::string& text) {
  Options options;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const auto equals = item.find('=');
    require(!item.empty() && equals != 0,
            "--options is '" + text + "'; allowed: names with values, such as reverse,scale=0.5");
    options.emplace_back(item.substr(0, equals),
                         equals == std::string::npos ? "" : item.substr(equals + 1));
  }
  return options;
}

// Each reads a value of its type and returns what is allowed instead, or nothing. Types of an operator's own have an overload
// beside them, and a to_text.
inline std::string read_option(const std::string& text, bool& value) {
  value = text.empty() || text == "true" || text == "1";
  return value || text == "false" || text == "0" ? "" : "true or false";
}

template <typename Number>
requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) std::string
    read_option(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return "";
  return std::is_integral_v<Number> ? "a whole number" : "a number";
}

inline std::string read_option(const std::string& text, std::string& value) {
  value = text;
  return "";
}

template <typename Element>
std::string read_option(const std::string& text, std::vector<Element>& value) {
  value.clear();
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, '+');) {
    const std::string allowed = read_option(item, value.emplace_back());
    if (!allowed.empty()) return "a list with + between: " + allowed;
  }
  return "";
}

inline std::string to_text(bool value) {
  return value ? "true" : "false";
}
inline std::string to_text(const std::string& value) {
  return value;
}
template <typename Number>
requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) std::string
    to_text(Number value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
template <typename Element>
std::string to_text(const std::vector<Element>& value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i)
    text.append(i > 0 ? "+" : "").append(to_text(value[i]));
  return text;
}

// `words` are those of an enum's values, in order.
template <typename Value, std::size_t kCount>
std::string read_word(const std::string& text, Value& value, const char* const (&words)[kCount]) {
  std::string allowed;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (text == words[i]) {
      value = static_cast<Value>(i);
      return "";
    }
    allowed += std::string(i > 0 ? ", " : "") + words[i];
  }
  return allowed;
}

// Calls visit(name, value, words...) for each option that the case lists; none where it has no list.
template <typename Case, typename Visit>
void for_each_option(Case& c, const Visit& visit) {
  using Plain = std::remove_const_t<Case>;
  if constexpr (requires { Plain::options(c, visit); }) Plain::options(c, visit);
}

template <typename Case>
std::string option_names() {
  std::string names;
  Case c;
  for_each_option(c, [&](const char* name, auto&&...) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  });
  return names;
}

// std::invalid_argument says which names, or which values, are allowed.
template <typename Case>
void set_options(Case& c, const Options& options, const std::string& op) {
  for (const auto& each : options) {
    const std::string& wanted = each.first;
    const std::string& text = each.second;
    bool known = false;
    for_each_option(c, [&](const char* name, auto& value, const auto&... words) {
      if (wanted != name) return;
      known = true;
      std::string allowed;
      if constexpr (sizeof...(words) > 0) {
        allowed = read_word(text, value, words...);
      } else {
        allowed = read_option(text, value);
      }
      require(allowed.empty(),
              "option " + wanted + " is '" + text + "'; allowed for " + op + ": " + allowed);
    });
    const std::string names = option_names<Case>();
    require(known, "option '" + wanted + "' is given; allowed for " + op + ": " +
                       (names.empty() ? "none" : names));
  }
}

// Those in which it differs from `usual`.
template <typename Case>
Options options_of(const Case& c, const Case& usual) {
  const auto texts = [](const Case& from) {
    Options all;
    for_each_option(from, [&](const char* name, const auto& value, const auto&... words) {
      if constexpr (sizeof...(words) > 0) {
        const auto at = static_cast<std::size_t>(value);
        ((all.emplace_back(name, words[at])), ...);
      } else {
        all.emplace_back(name, to_text(value));
      }
    });
    return all;
  };
  const Options mine = texts(c), others = texts(usual);
  Options different;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].second != others[i].second) different.push_back(mine[i]);
  }
  return different;
}

}  // namespace ladder
