#include "common/core/given.hpp"

#include <algorithm>
#include <map>

#include "common/core/errors.hpp"
#include "common/core/text.hpp"

namespace ladder {
namespace {

// Stand-ins for unknown sizes. The prime factors of an axis show which sizes it is made of.
constexpr std::int64_t kPrimes[] = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049,
                                    1051, 1061, 1063, 1069, 1087, 1091, 1093, 1097};

void unchanged(const std::vector<ListedField>&) {}

std::vector<ListedArray> inputs_of(const CaseToFit& c, const CaseToFit::Change& change) {
  std::vector<ListedArray> arrays = c.arrays(change);
  std::erase_if(arrays, [](const ListedArray& array) { return !array.is_input; });
  return arrays;
}

const GivenArray* find(const std::vector<GivenArray>& given, const std::string& name) {
  const auto found = std::find_if(given.begin(), given.end(),
                                  [&](const GivenArray& each) { return each.name == name; });
  return found == given.end() ? nullptr : &*found;
}

std::int64_t rank_of(const ListedArray& array) {
  return array.axes.end() - array.axes.begin();
}

// The number of arrays that are missing, superfluous, or have another number of axes.
std::int64_t mismatches(const CaseToFit& c, const std::vector<GivenArray>& given) {
  const std::vector<ListedArray> wanted = inputs_of(c, unchanged);
  std::int64_t count = 0, known = 0;
  for (const ListedArray& array : wanted) {
    const GivenArray* found = find(given, array.name);
    known += found != nullptr;
    count += found == nullptr || std::ssize(found->shape) != rank_of(array);
  }
  return count + std::ssize(given) - known;
}

bool is_chosen(const Options& chosen, const std::string& name) {
  return std::any_of(chosen.begin(), chosen.end(),
                     [&](const auto& option) { return option.first == name; });
}

// Flips each flag that makes the case fit better.
void set_flags(const CaseToFit& c, const std::vector<GivenArray>& given, const Options& chosen) {
  for (const ListedOption& option : c.options) {
    const std::string before = option.text(option);
    if (is_chosen(chosen, option.name) || (before != "true" && before != "false")) continue;
    const std::int64_t count = mismatches(c, given);
    option.read(before == "true" ? "false" : "true", option);
    if (mismatches(c, given) >= count) option.read(before, option);
  }
}

// "q, k, v, log_w, u"
std::string names_of(const std::vector<ListedArray>& arrays) {
  std::vector<std::string> names;
  for (const ListedArray& array : arrays)
    names.push_back(array.name);
  return joined(names);
}

// "(b=2, t=37, h=3, j=64)", or without the sizes
std::string axes_text(const ListedArray& array, bool with_sizes) {
  std::vector<std::string> texts;
  for (const Axis& axis : array.axes)
    texts.push_back(axis.name + (with_sizes ? "=" + std::to_string(axis.size) : ""));
  return "(" + joined(texts) + ")";
}

void require_the_inputs(const std::vector<ListedArray>& wanted,
                        const std::vector<GivenArray>& given) {
  for (const GivenArray& each : given) {
    const auto is_it = [&](const ListedArray& array) { return array.name == each.name; };
    const auto found = std::find_if(wanted.begin(), wanted.end(), is_it);
    require(found != wanted.end(),
            each.said + " is there; allowed with these options: " + names_of(wanted));
    require(std::ssize(each.shape) == rank_of(*found), each.said + " is " + shape_text(each.shape) +
                                                           "; allowed: the axes " +
                                                           axes_text(*found, false));
  }
  for (const ListedArray& array : wanted) {
    require(find(given, array.name) != nullptr,
            array.name + " is missing; allowed with these options: all of " + names_of(wanted));
  }
}

// Derives sizes from the lengths of the given axes, first of axes that are one size, then of
// products in which one size is still unknown.
std::map<std::string, std::int64_t> sizes_told(const CaseToFit& c,
                                               const std::vector<GivenArray>& given) {
  std::vector<std::string> names;
  const std::vector<ListedArray> arrays = inputs_of(c, [&](const auto& fields) {
    for (const ListedField& field : fields) {
      if (!field.is_size() || names.size() == std::size(kPrimes)) continue;
      field.set(kPrimes[names.size()]);
      names.push_back(field.name);
    }
  });
  std::map<std::string, std::int64_t> told;
  for (std::size_t before = told.size() + 1; before != told.size();) {
    before = told.size();
    for (const ListedArray& array : arrays) {
      std::size_t axis_number = 0;
      for (const Axis& axis : array.axes) {
        std::int64_t rest = axis.size, length = find(given, array.name)->shape[axis_number++];
        std::string unknown;
        bool one = true;
        for (std::size_t n = 0; n < names.size(); ++n) {
          if (rest % kPrimes[n] != 0) continue;
          rest /= kPrimes[n];
          const auto known = told.find(names[n]);
          if (known == told.end()) {
            one = one && unknown.empty();
            unknown = names[n];
          } else {
            one = one && known->second != 0 && length % known->second == 0;
            length = one ? length / known->second : length;
          }
        }
        if (rest == 1 && one && !unknown.empty()) told[unknown] = length;
      }
    }
  }
  return told;
}

// The fields and arrays of the argument struct, which determine the computation.
std::string signature(const CaseToFit& c) {
  std::string text;
  const std::vector<ListedArray> arrays = c.arrays([&](const auto& fields) {
    for (const ListedField& field : fields)
      text.append(static_cast<const char*>(field.value), field.size);
  });
  for (const ListedArray& array : arrays)
    text += array.name + axes_text(array, true);
  return text;
}

// Whether any value of the option changes the computation.
bool counts(const CaseToFit& c, const ListedOption& option, const std::string& usual) {
  std::vector<std::string> others = {usual, "true", "false", "0.375"};
  others.insert(others.end(), option.words.begin(), option.words.end());
  const std::string text = option.text(option), with = signature(c);
  const bool changes = std::any_of(others.begin(), others.end(), [&](const std::string& other) {
    option.read(other, option);
    return signature(c) != with;
  });
  option.read(text, option);
  return changes;
}

// Options that only draw inputs have no effect on given arrays.
void refuse_drawing(const CaseToFit& c, const Options& chosen) {
  for (std::size_t n = 0; n < c.options.size(); ++n) {
    const ListedOption& option = c.options[n];
    require(!is_chosen(chosen, option.name) || counts(c, option, c.usual[n].text(c.usual[n])),
            "option " + option.name +
                " is given, which says how inputs are drawn; allowed with your "
                "own: options that change what is computed");
  }
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> texts;
  for (const std::int64_t length : shape)
    texts.push_back(std::to_string(length));
  return "(" + joined(texts) + (shape.size() == 1 ? ",)" : ")");
}

void fit(const CaseToFit& c, const std::vector<GivenArray>& inputs, const Options& chosen) {
  refuse_drawing(c, chosen);
  set_flags(c, inputs, chosen);
  require_the_inputs(inputs_of(c, unchanged), inputs);
  const std::map<std::string, std::int64_t> told = sizes_told(c, inputs);
  for (const ListedField& field : c.fields) {
    if (const auto found = told.find(field.name); found != told.end()) field.set(found->second);
  }
  const std::vector<ListedArray> arrays = inputs_of(c, [&](const auto& fields) {
    for (const ListedField& field : fields) {
      const auto found = told.find(field.name);
      if (!field.is_size() || found == told.end()) continue;
      require_at_least(field.name.c_str(), found->second, field.least());
      require(found->second <= field.most(), field.name + " is " + std::to_string(found->second) +
                                                 "; allowed: up to " +
                                                 std::to_string(field.most()));
    }
  });
  const GivenArray& first = *find(inputs, arrays.front().name);
  for (const ListedArray& array : arrays) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : array.axes)
      shape.push_back(axis.size);
    const GivenArray& given = *find(inputs, array.name);
    require(given.shape == shape,
            given.said + " is " + shape_text(given.shape) + "; allowed beside the other arrays: " +
                axes_text(array, true) + "; " + first.said + " is " + shape_text(first.shape));
  }
}

}  // namespace ladder
