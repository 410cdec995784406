// The emulator depends on nothing else in the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

TEST(Independence, SourcesNameNoOperatorAndIncludeNothingElse) {
  int files = 0;
  for (const char* folder : {"include", "src", "rewrite"}) {
    const std::filesystem::path root = std::filesystem::path(EMULATOR_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      std::ifstream in(entry.path());
      std::string text(std::istreambuf_iterator<char>(in), {});
      std::transform(text.begin(), text.end(), text.begin(),
                     [](unsigned char c) { return std::tolower(c); });
      for (const char* word : {"wkv", "rwkv", "attention", "log_w", "softmax", "\"common/"}) {
        EXPECT_EQ(text.find(word), std::string::npos) << entry.path() << " says " << word;
      }
    }
  }
  EXPECT_GE(files, 15);
}

}  // namespace
