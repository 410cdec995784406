#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "08_flash_attention/20b_paged_cache/paged_attention.hpp"
#include "common/core/device.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using flash_attention::PagedAttention;
using flash_attention::PagedAttentionBf16Args;
using flash_attention::PagedAttentionFp16Args;
using ladder::Implementation;

const char* const kName = "attention_paged";

const ladder::Shape kPlain = {{"B", 3},  {"T_q", 2},   {"H_q", 4},        {"H_kv", 2},
                              {"D", 64}, {"pages", 7}, {"page_keys", 16}, {"max_pages", 10}};

const bool holes_registered =
    ladder::testing::register_hole(kName, "Hole1CutsTheKeysIntoSplits", "paged_attention", kPlain,
                                   {{"causal", "true"}, {"window", "70"}}, {}, "bf16") &&
    ladder::testing::register_hole(kName, "Hole2FindsThePage", "paged_attention",
                                   {{"B", 3},
                                    {"T_q", 1},
                                    {"H_q", 2},
                                    {"H_kv", 2},
                                    {"D", 64},
                                    {"pages", 5},
                                    {"page_keys", 32},
                                    {"max_pages", 6}},
                                   {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "paged_attention", kName,
    {.storages = {"bf16", "fp16"},
     .sizes = {{"B", {3, 0, 1}},
               {"T_q", {1, 0, 2, 5, 17}},
               {"H_q", {4, 2, 6}},
               {"H_kv", {2, 1}},
               {"D", {64, 8, 32, 40, 96, 128, 200, 256}},
               {"pages", {7, 1, 40}},
               {"page_keys", {16, 32, 64}},
               {"max_pages", {5, 0, 1, 2}}},
     .options = {{"scale", {"0.125", "-0.5", "0"}},
                 {"window", {"0", "1", "20", "64"}},
                 {"softcap", {"0", "3"}},
                 {"D_v", {"0", "24", "136"}}},
     .borders = {{.size = "max_pages", .at = {4, 8}, .others = kPlain},
                 {.size = "T_q", .at = {8}, .others = kPlain}}});

// The implementation with a number of splits instead of the plan.
Implementation in_splits(std::int64_t splits) {
  Implementation implementation = ladder::find_implementation(kName);
  const auto attend = [=](const auto& args) {
    flash_attention::paged_attention_in_splits(args, splits);
  };
  implementation.launchers.set<PagedAttention, PagedAttentionBf16Args>(attend);
  implementation.launchers.set<PagedAttention, PagedAttentionFp16Args>(attend);
  return implementation;
}

void expect_right(const Implementation& i, const ladder::Shape& shape,
                  const ladder::Options& options, const std::string& storage) {
  const auto problem =
      ladder::testing::case_of("paged_attention", shape, options, storage, {})->make();
  const auto placed = problem->place(ladder::device(i.device), i);
  placed->call();
  ladder::device(i.device).synchronize();
  const ladder::Arithmetic arithmetic = ladder::arithmetic_of(i, storage);
  const ladder::Verdict verdict = placed->judge(arithmetic, false);
  EXPECT_TRUE(verdict.right) << verdict.message;
}

// Nine batches, one without a key, one with one key, and with every kind of last page. Some splits
// are not a whole number of rounds of the warps, and some counts exceed the number of stages. With
// D = 64 a stage of keys covers two pages.
KERNEL_TEST(attention_paged, GivesTheSameInAnyNumberOfSplits) {
  for (const std::int64_t D : {64, 104}) {
    const ladder::Shape shape = {{"B", 9}, {"T_q", 3},    {"H_q", 6},        {"H_kv", 2},
                                 {"D", D}, {"pages", 30}, {"page_keys", 16}, {"max_pages", 9}};
    for (const std::int64_t splits : {1, 2, 12}) {
      SCOPED_TRACE("splits: " + std::to_string(splits));
      expect_right(in_splits(splits), shape, {{"causal", "true"}}, D == 64 ? "bf16" : "fp16");
    }
  }
}

// The threads that share a column merge a third and a fourth split each.
KERNEL_TEST(attention_paged, TakesManySplits) {
  const ladder::Shape shape = {{"B", 3},  {"T_q", 2},    {"H_q", 2},        {"H_kv", 1},
                               {"D", 64}, {"pages", 70}, {"page_keys", 64}, {"max_pages", 30}};
  for (const char* const D_v : {"0", "24"}) {
    for (const std::int64_t splits : {20, 30}) {
      SCOPED_TRACE(std::string("D_v: ") + D_v + ", splits: " + std::to_string(splits));
      expect_right(in_splits(splits), shape, {{"D_v", D_v}}, "bf16");
    }
  }
}

// Each stage is used again at least three times in one split, each time with other pages.
KERNEL_TEST(attention_paged, TakesManyRoundsInASplit) {
  for (const std::int64_t D : {64, 128, 256}) {
    const ladder::Shape shape = {{"B", 2}, {"T_q", 1},    {"H_q", 2},        {"H_kv", 1},
                                 {"D", D}, {"pages", 90}, {"page_keys", 16}, {"max_pages", 80}};
    expect_right(in_splits(1), shape, {}, D == 64 ? "fp16" : "bf16");
  }
}

// Windows that begin within a page or at its border, and one that is wider than any sequence.
KERNEL_TEST(attention_paged, TakesAWindowInAnyNumberOfSplits) {
  const ladder::Shape shape = {{"B", 9},  {"T_q", 7},    {"H_q", 6},        {"H_kv", 2},
                               {"D", 64}, {"pages", 30}, {"page_keys", 16}, {"max_pages", 9}};
  for (const char* const window : {"1", "31", "48", "1000"}) {
    for (const std::int64_t splits : {1, 3}) {
      SCOPED_TRACE(std::string("window: ") + window + ", splits: " + std::to_string(splits));
      expect_right(in_splits(splits), shape, {{"causal", "true"}, {"window", window}}, "bf16");
    }
  }
}

// ---- Two tables, one result ----

template <typename Element>
class OnDevice {
 public:
  OnDevice(ladder::Device& device, const std::vector<Element>& values)
      : device_(device), bytes_(values.size() * sizeof(Element)) {
    pointer_ = static_cast<Element*>(device.allocate(bytes_));
    device.upload(pointer_, values.data(), bytes_);
  }
  ~OnDevice() { device_.release(pointer_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Element* pointer() const { return pointer_; }
  std::vector<Element> values() const {
    std::vector<Element> values(bytes_ / sizeof(Element));
    device_.download(values.data(), pointer_, bytes_);
    return values;
  }

 private:
  ladder::Device& device_;
  std::size_t bytes_;
  Element* pointer_;
};

constexpr std::int64_t kPageKeys = 16, kD = 64;

// Every number of token t of a cache.
float number(std::int64_t t, std::int64_t i) {
  return static_cast<float>((t * 37 + i * 11) % 64) / 32.0f - 1.0f;
}

// Pages of one head, in which everything that is not written is NaN.
struct Pool {
  std::vector<ladder::bfloat16> x;
  explicit Pool(std::int64_t pages)
      : x(static_cast<std::size_t>(pages * kPageKeys * kD), ladder::to_bfloat16(NAN)) {}
  // Writes tokens `first` .. of a cache to the first rows of a page.
  void write(std::int64_t page, std::int64_t first, std::int64_t count = kPageKeys) {
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t i = 0; i < kD; ++i)
        x[(page * kPageKeys + t) * kD + i] = ladder::to_bfloat16(number(first + t, i));
    }
  }
};

// The bits of o, for one query of each batch.
std::vector<std::uint16_t> attend(const Pool& pool, const std::vector<std::int32_t>& table,
                                  const std::vector<std::int64_t>& lengths, std::int64_t splits,
                                  std::int64_t window = 0) {
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  PagedAttentionBf16Args args;
  args.B = static_cast<std::int64_t>(lengths.size());
  args.T_q = args.H_q = args.H_kv = 1;
  args.D = kD;
  args.pages = static_cast<std::int64_t>(pool.x.size()) / (kPageKeys * kD);
  args.page_keys = kPageKeys;
  args.window = window;
  args.max_pages = static_cast<std::int64_t>(table.size()) / args.B;
  std::vector<ladder::bfloat16> q;
  for (std::int64_t i = 0; i < args.B * kD; ++i)
    q.push_back(ladder::to_bfloat16(number(5, i % kD)));
  const OnDevice<ladder::bfloat16> q_there(device, q), k(device, pool.x), o(device, q);
  const OnDevice<std::int32_t> table_there(device, table);
  const OnDevice<std::int64_t> lengths_there(device, lengths);
  const OnDevice<float> lse(device, std::vector<float>(lengths.size()));
  args.q = q_there.pointer(), args.k = args.v = k.pointer(), args.o = o.pointer();
  args.block_table = table_there.pointer(), args.key_lengths = lengths_there.pointer();
  args.lse = lse.pointer();
  flash_attention::paged_attention_in_splits(args, splits);
  device.synchronize();
  std::vector<std::uint16_t> bits;
  for (const ladder::bfloat16 x : o.values()) {
    bits.push_back(x.bits);
  }
  return bits;
}

// `rule` implies that two such results are finite and have the same bits.
void expect_same(const std::vector<std::uint16_t>& o, const std::vector<std::uint16_t>& right,
                 const char* rule) {
  const auto number = [](std::uint16_t bits) { return ladder::to_float(ladder::bfloat16{bits}); };
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (o[i] == right[i] && std::isfinite(number(o[i]))) continue;
    ADD_FAILURE() << "o of batch " << i / kD << ", channel " << i % kD << " is " << number(o[i])
                  << ", should be " << number(right[i]) << ": " << rule;
    return;
  }
}

// Two sequences with the same first 48 tokens, and a last page of 5. In one table each sequence has
// its own pages in order, and in the other they are in any order and share the first three.
KERNEL_TEST(attention_paged, TakesPagesInAnyOrderAndOfSeveralBatches) {
  Pool own(8), shared(12);
  for (const std::int64_t page : {0, 1, 2}) {
    own.write(page, page * kPageKeys);
    own.write(4 + page, page * kPageKeys);
  }
  own.write(3, 100, 5), own.write(7, 200, 5);
  shared.write(9, 0), shared.write(2, 16), shared.write(11, 32);
  shared.write(0, 100, 5), shared.write(5, 200, 5);
  const std::vector<std::int64_t> lengths = {53, 53};
  for (const std::int64_t splits : {1, 2}) {
    const auto wanted = attend(own, {0, 1, 2, 3, 4, 5, 6, 7}, lengths, splits);
    expect_same(attend(shared, {9, 2, 11, 0, 9, 2, 11, 5}, lengths, splits), wanted,
                "pages may lie in any order, and in several tables");
    EXPECT_NE(std::vector(wanted.begin(), wanted.begin() + kD),
              std::vector(wanted.begin() + kD, wanted.end()));
  }
}

// A table is as long as the longest possible sequence, so the entries after a sequence's pages are
// arbitrary.
KERNEL_TEST(attention_paged, LooksAtNoPageBehindALength) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  Pool pool(3);
  pool.write(1, 0), pool.write(2, 16, 4);
  expect_same(attend(pool, {1, 2, -1, kMost, 1, 0, kMost, -1, -1, 0, 0, 0}, {20, 16, 0}, 2),
              attend(pool, {1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {20, 16, 0}, 2),
              "what a table says behind a sequence's pages is not looked at");
}

// With a window of 20 keys the last one of 53 sees keys 33 to 52. Servers may therefore give the
// pages before a window to other sequences. Their table entries, and NaN in the first row of the
// window's first page, are not read.
KERNEL_TEST(attention_paged, LooksAtNoPageInFrontOfAWindow) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  Pool pool(8), spoilt(8);
  for (const std::int64_t page : {0, 1, 2})
    pool.write(page, page * kPageKeys);
  pool.write(3, 48, 5);
  spoilt.write(2, 32), spoilt.write(3, 48, 5);
  std::fill_n(spoilt.x.begin() + 2 * kPageKeys * kD, kD, ladder::to_bfloat16(NAN));
  for (const std::int64_t splits : {1, 2})
    expect_same(attend(spoilt, {-1, kMost, 2, 3}, {53}, splits, 20),
                attend(pool, {0, 1, 2, 3}, {53}, splits, 20),
                "what lies in front of a window is not looked at");
}

// Invalid numbers are on the device, where no launcher sees them. Kernels use the nearest page and
// the nearest length instead.
KERNEL_TEST(attention_paged, ClampsBadNumbers) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMostKeys = std::numeric_limits<std::int64_t>::max();
  Pool pool(3);
  for (const std::int64_t page : {0, 1, 2})
    pool.write(page, page * kPageKeys);
  expect_same(attend(pool, {-1, 3, kMost, 0, 1, 2, 0, 1, 2}, {40, kMostKeys, -5}, 1),
              attend(pool, {0, 2, 2, 0, 1, 2, 0, 1, 2}, {40, 48, 0}, 1),
              "the nearest page stands for a number that is no page's, the nearest length for one "
              "that cannot be");
}

TEST(attention_paged, RefusesWhatItCannotTake) {
  alignas(16) static ladder::bfloat16 x[4096] = {};
  static float lse[64];
  static const std::int32_t table[4] = {};
  static const std::int64_t lengths[4] = {};
  const auto expect_refused = [&](const char* argument, const auto& spoil) {
    PagedAttentionBf16Args args;
    args.B = args.T_q = args.H_kv = args.pages = args.max_pages = 1;
    args.H_q = 2, args.D = 64, args.page_keys = 16;
    args.q = args.k = args.v = args.o = x, args.lse = lse;
    args.block_table = table, args.key_lengths = lengths;
    spoil(args);
    try {
      flash_attention::paged_attention_in_splits(args, 1);
      ADD_FAILURE() << argument << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find(argument), 0U) << error.what();
      EXPECT_NE(std::string(error.what()).find("allow"), std::string::npos) << error.what();
    }
  };
  expect_refused("H_q is 3", [](auto& args) { args.H_q = 3, args.H_kv = 2; });
  expect_refused("D is 36", [](auto& args) { args.D = 36; });
  expect_refused("D is 264", [](auto& args) { args.D = 264; });
  for (const std::int64_t D_v : {-8, 36, 264})
    expect_refused(("D_v is " + std::to_string(D_v)).c_str(), [=](auto& args) { args.D_v = D_v; });
  expect_refused("page_keys is 8", [](auto& args) { args.page_keys = 8; });
  expect_refused("page_keys is 48", [](auto& args) { args.page_keys = 48; });
  expect_refused("scale is", [](auto& args) { args.scale = NAN; });
  expect_refused("window is -1", [](auto& args) { args.window = -1; });
  expect_refused("softcap is -1", [](auto& args) { args.softcap = -1.0f; });
  expect_refused("softcap is", [](auto& args) { args.softcap = INFINITY; });
  expect_refused("T_q * H_q", [](auto& args) { args.T_q = 1 << 18; });
  expect_refused("B is", [](auto& args) { args.B = 65536; });
  expect_refused("k is not aligned", [](auto& args) { args.k = x + 4; });
  expect_refused("v is not aligned", [](auto& args) { args.v = x + 4; });
  expect_refused("block_table is", [](auto& args) { args.block_table = nullptr; });
  expect_refused("key_lengths is", [](auto& args) { args.key_lengths = nullptr; });
}

}  // namespace
