// Text for messages.
#pragma once

#include <string>
#include <vector>

namespace ladder {

// "a, b, c"
inline std::string joined(const std::vector<std::string>& words,
                          const std::string& between = ", ") {
  std::string text;
  for (const std::string& word : words)
    text.append(&word == &words.front() ? "" : between).append(word);
  return text;
}

}  // namespace ladder
