#include "common/core/options.hpp"

#include <set>

#include "common/core/errors.hpp"
#include "common/core/text.hpp"

namespace ladder {

std::string options_text(const Options& options) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : options)
    texts.push_back(name + (value.empty() ? "" : "=" + value));
  return joined(texts, ",");
}

Options parse_options(const std::string& text) {
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

std::string read_option(const std::string& text, bool& value) {
  value = text.empty() || text == "true" || text == "1";
  return value || text == "false" || text == "0" ? "" : "true or false";
}

std::string read_option(const std::string& text, std::string& value) {
  value = text;
  return "";
}

std::string to_text(bool value) {
  return value ? "true" : "false";
}
std::string to_text(const std::string& value) {
  return value;
}

std::string read_word(const std::string& text, std::size_t& number,
                      const std::vector<const char*>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (text != words[i]) continue;
    number = i;
    return "";
  }
  return joined({words.begin(), words.end()});
}

std::string allowed_instead(double number, const ListedOption& option) {
  const std::vector<double>& limits = option.limits;
  const bool within =
      (limits.empty() || number >= limits[0]) && (limits.size() < 2 || number <= limits[1]);
  if (std::isfinite(number) && within) return "";
  if (limits.empty()) return "a finite number";
  if (limits.size() < 2)
    return "a finite number, " + to_text(static_cast<float>(limits[0])) + " or more";
  return "a number from " + to_text(static_cast<float>(limits[0])) + " to " +
         to_text(static_cast<float>(limits[1]));
}

std::string option_names(const std::vector<ListedOption>& listed) {
  std::vector<std::string> names;
  for (const ListedOption& option : listed)
    names.push_back(option.name);
  return joined(names);
}

void set_options(const std::vector<ListedOption>& listed, const Options& options,
                 const std::string& op) {
  std::set<std::string> given;
  for (const auto& [wanted, text] : options) {
    require(given.insert(wanted).second,
            "option " + wanted + " is given twice; allowed for " + op + ": once");
    bool known = false;
    for (const ListedOption& option : listed) {
      if (wanted != option.name) continue;
      known = true;
      const std::string allowed = option.read(text, option);
      require(allowed.empty(),
              "option " + wanted + " is '" + text + "'; allowed for " + op + ": " + allowed);
    }
    require(known, "option '" + wanted + "' is given; allowed for " + op + ": " +
                       (listed.empty() ? "none" : option_names(listed)));
  }
}

void require_both(const Options& options, const std::string& name, bool has_other,
                  const std::string& other) {
  for (const auto& [given, text] : options)
    require(given != name || has_other,
            "option " + name + " is given, which counts with " + other + " alone; allowed: both");
}

Options options_of(const std::vector<ListedOption>& listed,
                   const std::vector<ListedOption>& usual) {
  Options different;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::string text = listed[i].text(listed[i]);
    if (text != usual[i].text(usual[i])) different.emplace_back(listed[i].name, text);
  }
  return different;
}

}  // namespace ladder
