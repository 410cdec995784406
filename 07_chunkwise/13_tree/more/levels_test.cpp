#include <gtest/gtest.h>

namespace {

// The page's claim about the tree is that each pair of a query and an earlier key belongs to one
// level, and to neighbouring blocks.
TEST(wkv_tree, EachPairBelongsToOneLevel) {
  int pairs[4] = {};
  for (int l = 0; l < 16; ++l) {
    for (int s = 0; s < l; ++s) {
      int levels = 0;
      for (int level = 0; level < 4; ++level) {
        const int size = 1 << level;
        if ((l ^ s) / size != 1) continue;
        ++levels, ++pairs[level];
        EXPECT_EQ(l / size, s / size + 1) << l << " and " << s;
        EXPECT_EQ(l / (2 * size), s / (2 * size)) << l << " and " << s;
      }
      EXPECT_EQ(levels, 1) << l << " and " << s;
    }
  }
  EXPECT_EQ(pairs[3], 64);
  EXPECT_EQ(pairs[2], 32);
  EXPECT_EQ(pairs[1], 16);
  EXPECT_EQ(pairs[0], 8);
}

}  // namespace
