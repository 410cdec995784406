// Prints what the diagnosis calls a wrong result, and a line of code that gives it. `./ladder test --mistakes` starts it.
// usage: known_mistakes [OPERATOR]
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "common/operators/attention/gradient_variants.hpp"
#include "common/operators/attention/variants.hpp"
#include "common/operators/linear_attention/variants.hpp"
#include "common/operators/suite.hpp"
#include "common/operators/wkv/gradient_variants.hpp"
#include "common/operators/wkv/variants.hpp"

namespace {

using namespace ladder;
using namespace ladder::testing;

template <typename Switches>
std::function<void()> printing(const reference::Variants<Switches>& variants,
                               const std::string& what = "result") {
  return [variants, what] {
    std::cout << "It equals the " << what << " ...\n";
    for (const auto& variant : variants)
      std::cout << "    " << variant.words << "\n        " << variant.line << '\n';
  };
}

WkvCase with_states() {
  WkvCase c = plain_wkv_case({});
  c.initial_state = c.final_state = true;
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  const auto gla = plain_wkv_case({}, Recurrence::kGla);
  const auto attention = plain_attention_case({});
  const std::map<std::string, std::function<void()>> operators = {
      {"wkv", printing(reference::wkv_variants(with_states()))},
      {"gla", printing(reference::wkv_variants(gla))},
      {"linear_attention",
       printing(reference::linear_attention_variants(plain_linear_attention_case({})))},
      {"attention", printing(reference::attention_variants(attention))},
      {"wkv_backward", printing(reference::wkv_gradient_variants(with_states()), "gradient")},
      {"gla_backward", printing(reference::wkv_gradient_variants(gla), "gradient")},
      {"attention_backward",
       printing(reference::attention_gradient_variants(attention), "gradient")}};
  const std::string chosen = argc > 1 ? argv[1] : "";
  if (!chosen.empty() && operators.count(chosen) == 0) {
    std::cerr << "operator is '" << chosen << "'; allowed:";
    for (const auto& each : operators)
      std::cerr << ' ' << each.first;
    std::cerr << '\n';
    return 2;
  }
  for (const auto& [name, print] : operators) {
    if (!chosen.empty() && name != chosen) continue;
    std::cout << '\n' << name << ". ";
    print();
  }
}
