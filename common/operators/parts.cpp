#include "common/operators/parts.hpp"

#include <map>

namespace ladder::reference {

Layout layout_of(const std::string& array, const std::vector<std::string>& axes,
                 const std::vector<std::int64_t>& sizes, const std::string& step) {
  const std::map<std::string, std::string> words = {
      {"b", "batch"}, {"t", step}, {"h", "head"}, {"i", "column"}, {"j", "key row"}};
  Layout layout{array, axes, sizes, axes};
  for (std::string& axis : layout.words) {
    if (const auto word = words.find(axis); word != words.end()) axis = word->second;
  }
  return layout;
}

}  // namespace ladder::reference
