// Prints the diagnosis' names of wrong results, each with a line of code that causes it. Run by
// `./ladder test --mistakes`. usage: known_mistakes [OPERATOR]
#include <iostream>
#include <map>
#include <string>

#include "common/judge/mistakes.hpp"
#include "common/judge/plan.hpp"

int main(int argc, char** argv) {
  using namespace ladder;
  const std::string chosen = argc > 1 ? argv[1] : "";
  std::map<std::string, std::string> texts;
  for (const auto& op : operators()) {
    if (op->launchers != op->name) continue;  // a special case of another operator
    const auto plan = op->plan({});
    if (!plan->plain) continue;
    const auto& shown = plan->every_mistake ? *plan->every_mistake : *plan->plain;
    shown.c->make()->with_mistakes([&](const Mistakes& mistakes) {
      std::string& text = texts[op->name];
      text = "It " + mistakes.variants.equals + "...\n";
      for (std::size_t n = 0; n < mistakes.variants.words.size(); ++n) {
        text +=
            "    " + mistakes.variants.words[n] + "\n        " + mistakes.variants.lines[n] + "\n";
      }
    });
  }
  if (!chosen.empty() && texts.count(chosen) == 0) {
    std::cerr << "operator is '" << chosen << "'; allowed:";
    for (const auto& [name, text] : texts)
      std::cerr << ' ' << name;
    std::cerr << "; what another one calls a wrong result stands in its explain()\n";
    return 2;
  }
  for (const auto& [name, text] : texts) {
    if (chosen.empty() || name == chosen) std::cout << '\n' << name << ". " << text;
  }
}
