#include "common/core/operator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>

namespace ladder {
namespace {

struct Listed {
  std::vector<std::unique_ptr<AnyOperator>> operators;
  std::vector<int> places;
};

Listed& listed() {
  static Listed list;
  return list;
}

// "reverse", "not causal", "scale=0.125"
std::string words_of(const std::string& option, const std::string& value) {
  return value == "true" ? option : value == "false" ? "not " + option : option + "=" + value;
}

std::string stored_in(const std::string& storage) {
  return "stored in " + storage;
}

}  // namespace

Cost AnyCase::cost() const {
  Cost cost{fma_count(), 0};
  for (const ListedArray& array : stored_arrays()) {
    cost.bytes += array.bytes();
    const bool is_keys = array.name == "key_lengths" || array.name == "cu_seqlens_k";
    cost.is_a_limit = cost.is_a_limit || (is_keys && array.elements() > 0);
  }
  return cost;
}

double AnyCase::elements() const {
  double sum = 0;
  for (const ListedArray& array : host_arrays())
    sum += array.elements();
  return sum;
}

double AnyCase::largest_array() const {
  double most = 0;
  for (const ListedArray& array : stored_arrays())
    most = std::max(most, array.elements());
  return most;
}

std::vector<std::string> AnyCase::array_names() const {
  std::vector<std::string> names;
  for (const ListedArray& array : stored_arrays()) {
    if (array.elements() > 0) names.push_back(array.name);
  }
  return names;
}

std::pair<std::string, double> AnyCase::first_output() const {
  for (const ListedArray& array : stored_arrays()) {
    if (!array.is_input) return {array.name, array.elements()};
  }
  return {};
}

std::string AnyCase::text() const {
  std::vector<std::string> sizes_text, options_text;
  const Shape mine = sizes();
  for (const Size& size : mine.sizes())
    sizes_text.push_back(size.name + "=" + std::to_string(size.value));
  for (const auto& [option, value] : unusual_options()) {
    if (option != "seed") options_text.push_back(words_of(option, value));
  }
  return joined(sizes_text) + "; " + joined(options_text) + "; " + storage();
}

std::vector<AnyCase::Difference> AnyCase::differences(const AnyCase& other) const {
  std::vector<Difference> result;
  const Shape mine = sizes(), others = other.sizes();
  const auto sized = with(other.options_unlike(*this), other.storage());
  for (const Size& size : mine.sizes()) {
    if (size.value != others[size.name])
      result.push_back({size.name + "=" + std::to_string(size.value), true, sized});
  }
  for (const auto& [option, value] : options_unlike(other)) {
    if (option != "seed")
      result.push_back(
          {words_of(option, value), false, other.with({{option, value}}, other.storage())});
  }
  if (storage() != other.storage())
    result.push_back({stored_in(storage()), false, other.with({}, storage())});
  return result;
}

std::shared_ptr<const AnyCase> AnyCase::without(const std::vector<std::string>& words,
                                                const AnyCase& other) const {
  const auto named = [&](const std::string& each) {
    return std::find(words.begin(), words.end(), each) != words.end();
  };
  const Options of_other = other.options_unlike(*this);
  Options changed;
  for (const auto& [option, value] : options_unlike(other)) {
    const auto its =
        std::find_if(of_other.begin(), of_other.end(),
                     [&, &name = option](const auto& each) { return each.first == name; });
    if (named(words_of(option, value)) && its != of_other.end()) changed.push_back(*its);
  }
  return with(changed, named(stored_in(storage())) ? other.storage() : storage());
}

const std::vector<std::unique_ptr<AnyOperator>>& operators() {
  return listed().operators;
}

std::string operator_names() {
  std::vector<std::string> names;
  for (const auto& each : operators())
    names.push_back(each->name());
  return joined(names);
}

const AnyOperator& find_operator(const std::string& name) {
  for (const auto& each : operators()) {
    if (each->name() == name) return *each;
  }
  throw std::invalid_argument("operator is '" + name + "'; allowed: " + operator_names());
}

std::unique_ptr<AnyProblem> read_problem(std::istream& in) {
  return find_operator(take(in)).read(in);
}

void write_case(std::ostream& out, const std::vector<ListedField>& fields,
                const std::vector<ListedOption>& options, const std::string& storage) {
  for (const ListedField& field : fields)
    put(out, {static_cast<const char*>(field.value), field.size});
  for (const ListedOption& option : options)
    put(out, option.text(option));
  put(out, storage);
}

std::string read_case(std::istream& in, const std::vector<ListedField>& fields,
                      const std::vector<ListedOption>& options) {
  for (const ListedField& field : fields)
    take(in).copy(static_cast<char*>(field.value), field.size);
  for (const ListedOption& option : options)
    option.read(take(in), option);
  return take(in);
}

void add_operator(std::unique_ptr<AnyOperator> op, int place) {
  auto& [operators, places] = listed();
  std::size_t at = 0;
  for (; at < operators.size(); ++at) {
    if (operators[at]->name() == op->name()) {
      // Before main, nobody would catch an exception, and std::cerr may not exist yet.
      std::fputs(("operator '" + op->name() + "' is registered twice\n").c_str(), stderr);
      std::exit(EXIT_FAILURE);
    }
  }
  for (at = 0; at < operators.size(); ++at) {
    if (std::tuple(place, op->name()) < std::tuple(places[at], operators[at]->name())) break;
  }
  operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(at), std::move(op));
  places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), place);
}

}  // namespace ladder
