// Options by name and as text, as in --options, for every member that a case lists.
//
//     template <typename Self, typename Visit>
//     static void options(Self& s, const Visit& visit) {
//       visit("reverse", s.reverse);
//       visit("decay", s.decay, kDecayWords);     // the words of an enum
//       visit("eps", s.eps, 0);                   // the smallest allowed number
//       visit("magnitude", s.magnitude, 0, 1e8);  // and the largest
//     }
//
// A real number must be finite, even if it has no limits.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ladder {

// "decay" with "strong". A flag may be given without a value, as "reverse".
using Options = std::vector<std::pair<std::string, std::string>>;

std::string options_text(const Options& options);

// Parses "decay=strong,reverse,lengths=5+0+17".
Options parse_options(const std::string& text);

// Reads a value of its type. Returns the allowed values if the text is not one of them, otherwise
// nothing. An operator's own types add overloads of this and of to_text.
std::string read_option(const std::string& text, bool& value);
std::string read_option(const std::string& text, std::string& value);

template <typename Number>
requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) std::string
    read_option(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return "";
  return std::is_integral_v<Number> ? "a whole number" : "a number";
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

std::string to_text(bool value);
std::string to_text(const std::string& value);
template <typename Number>
requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) std::string
    to_text(Number value) {
  char text[64];  // as many digits as are needed to read the same number again
  if constexpr (std::is_integral_v<Number>) {
    return {text, std::to_chars(text, std::end(text), value).ptr};
  } else {
    return {text, std::to_chars(text, std::end(text), value, std::chars_format::general).ptr};
  }
}
template <typename Element>
std::string to_text(const std::vector<Element>& value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i)
    text.append(i > 0 ? "+" : "").append(to_text(value[i]));
  return text;
}

// `words` are the names of an enum's values, in order. Returns them as the allowed values if the
// text is none of them, otherwise sets the number.
std::string read_word(const std::string& text, std::size_t& number,
                      const std::vector<const char*>& words);

// An option that a case lists, without its type.
struct ListedOption {
  std::string name;
  void* value;
  std::vector<const char*> words;  // of an enum
  std::vector<double> limits;      // smallest and largest number
  std::string (*read)(const std::string& text, const ListedOption& option);
  std::string (*text)(const ListedOption& option);
};

// The allowed values ("a finite number, 0 or more"), or empty if the number is one of them.
std::string allowed_instead(double number, const ListedOption& option);

namespace detail {

template <typename Value>
std::string read_listed(const std::string& text, const ListedOption& option) {
  Value& value = *static_cast<Value*>(option.value);
  if constexpr (std::is_enum_v<Value>) {
    std::size_t number = static_cast<std::size_t>(value);
    const std::string allowed = read_word(text, number, option.words);
    value = static_cast<Value>(number);
    return allowed;
  } else {
    const std::string allowed = read_option(text, value);
    if constexpr (std::is_floating_point_v<Value>)
      return allowed_instead(allowed.empty() ? value : std::nan(""), option);
    return allowed;
  }
}

template <typename Value>
std::string listed_text(const ListedOption& option) {
  const Value& value = *static_cast<const Value*>(option.value);
  if constexpr (std::is_enum_v<Value>) {
    return option.words.at(static_cast<std::size_t>(value));
  } else {
    return to_text(value);
  }
}

}  // namespace detail

// The options of a case. Setting one changes the case, unless it is const.
template <typename Case>
std::vector<ListedOption> options_in(const Case& c) {
  std::vector<ListedOption> listed;
  const auto visit = [&](const char* name, const auto& value, const auto&... more) {
    using Value = std::remove_cvref_t<decltype(value)>;
    ListedOption& option = listed.emplace_back();
    option = {name,
              const_cast<void*>(static_cast<const void*>(&value)),
              {},
              {},
              detail::read_listed<Value>,
              detail::listed_text<Value>};
    if constexpr (std::is_enum_v<Value>) {
      (option.words.assign(std::begin(more), std::end(more)), ...);
    } else {
      option.limits = {static_cast<double>(more)...};
    }
  };
  if constexpr (requires { Case::options(c, visit); }) Case::options(c, visit);
  return listed;
}

std::string option_names(const std::vector<ListedOption>& listed);  // "reverse, scale"
// Throws std::invalid_argument with the allowed names or values.
void set_options(const std::vector<ListedOption>& listed, const Options& options,
                 const std::string& op);
// Throws std::invalid_argument for an option that has no effect without `other`.
void require_both(const Options& options, const std::string& name, bool has_other,
                  const std::string& other);
// The options that differ from the usual ones, with their values.
Options options_of(const std::vector<ListedOption>& listed, const std::vector<ListedOption>& usual);

template <typename Case>
void set_options(Case& c, const Options& options, const std::string& op) {
  set_options(options_in(c), options, op);
}
template <typename Case>
Options options_of(const Case& c, const Case& usual) {
  return options_of(options_in(c), options_in(usual));
}

}  // namespace ladder
