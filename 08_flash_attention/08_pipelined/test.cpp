#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "08_flash_attention/edge_tests.hpp"
#include "08_flash_attention/swizzle.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/operators/compare.hpp"
#include "common/operators/suite.hpp"

namespace {

using chapter08::Swizzled;
using ladder::AttentionCase;
using ladder::Precision;

const bool registered = ladder::testing::register_attention_suite(
    "attention_pipelined",
    {.fp32 = false,
     .bf16 = true,
     .fp16 = true,
     .nan_tile = 128,
     .lengths = {{0, 5}, {5, 0}, {1, 65}, {17, 63}, {64, 64}, {65, 130}, {130, 64}}});

const bool edges_registered = chapter08::edges::register_forward_edges(
    "attention_pipelined", {.limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

void expect_right(const AttentionCase& c) {
  const auto implementation = ladder::find_implementation("attention_pipelined");
  if (ladder::testing::device_is_missing(implementation)) return;
  const auto problem = ladder::make_problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

// Blocks of 128 queries, tiles of 64 or 128 keys: the diagonal where it meets an edge of either, and next to it.
TEST(attention_pipelined, MatchesReferenceWhereTheDiagonalMeetsAnEdge) {
  for (const std::int64_t D : {64, 96}) {
    for (const std::int64_t T_k : {128, 191, 193, 257}) {
      AttentionCase c{.B = 1, .T_q = 129, .T_k = T_k, .H_q = 1, .H_kv = 1, .D = D};
      c.causal = true;
      c.precision = Precision::kBf16;
      expect_right(c);
    }
  }
}

// The emulator as a device that has so little shared memory, while this lives.
class SharedMemory {
 public:
  explicit SharedMemory(const char* kilobytes) {
    if (const char* before = std::getenv(kName)) before_ = before;
    setenv(kName, kilobytes, 1);
  }
  ~SharedMemory() { before_.empty() ? unsetenv(kName) : setenv(kName, before_.c_str(), 1); }

 private:
  static constexpr const char* kName = "EMULATOR_SHARED_MEMORY_KB";
  std::string before_;
};

// Of every implementation in this program: the KB that it says it needs, by "name D"; where it runs, nothing.
template <typename Pass>
void ask_all(const std::string& kilobytes, std::map<std::string, std::string>& refused) {
  for (const ladder::Implementation& i : ladder::implementations()) {
    for (const std::int64_t D : {32, 64, 96, 128, 256}) {
      chapter08::edges::Support support{.D = D};
      using Op = typename Pass::Op;
      using Args = typename Pass::Bf16Args;
      const auto launch = ladder::launcher<Op, Args>(i);
      if (launch == nullptr) continue;
      const auto problem =
          Pass::make(make_problem(chapter08::edges::make_case(support, 1, 3, 5, 1, 1)));
      const ladder::OnDevice<Op, Args> on_device(ladder::device(i.device), problem);
      const std::string key = i.name + " " + std::to_string(D);
      SCOPED_TRACE(key + " with " + kilobytes + " KB");
      try {
        launch(on_device.args());
      } catch (const ladder::NotOnThisDevice& why) {
        const std::string sentence = why.what();
        const std::string begin = i.name + " needs ";
        const std::string end =
            " KB of shared memory per block; this GPU allows " + kilobytes + " KB";
        ASSERT_EQ(sentence.find(begin), 0u) << sentence;
        ASSERT_EQ(sentence.find(end), sentence.size() - end.size()) << sentence;
        refused[key] = sentence.substr(begin.size(), sentence.size() - begin.size() - end.size());
        EXPECT_GT(std::stoi(refused[key]), std::stoi(kilobytes));
        for (const auto& output : Pass::named(problem, on_device.download())) {
          EXPECT_TRUE(
              std::all_of(output.x.begin(), output.x.end(), [](float x) { return std::isnan(x); }))
              << output.name << " was written";
        }
      } catch (const std::invalid_argument&) {
        // another D
      }
    }
  }
}

TEST(SharedMemory, IsAskedOfTheDeviceBeforeAnythingIsLaunched) {
  const ladder::Implementation implementation = ladder::find_implementation("attention_pipelined");
  if (ladder::testing::device_is_missing(implementation)) return;
  if (ladder::device(implementation.device).back_end() != "emulator")
    return ladder::testing::skip("only the emulator can be a device with less shared memory");
  std::map<std::string, std::string> refused;
  {
    const SharedMemory limit("48");
    ask_all<chapter08::edges::Forward>("48", refused);
    EXPECT_EQ(refused["attention_pipelined 128"], "64");
    EXPECT_EQ(refused["attention_pipelined 256"], "96");
  }
  refused.clear();
  const SharedMemory limit("99");
  ask_all<chapter08::edges::Forward>("99", refused);
  ask_all<chapter08::edges::Backward>("99", refused);
  EXPECT_EQ(refused.count("attention_pipelined 256"), 0u);
  // Where this program has it: an exercise has not.
  const auto expect_kilobytes = [&](const std::string& name, const std::string& kilobytes) {
    const auto all = ladder::implementations();
    if (std::any_of(all.begin(), all.end(),
                    [&](const auto& i) { return i.name == name.substr(0, name.find(' ')); })) {
      EXPECT_EQ(refused[name], kilobytes) << name;
    }
  };
  expect_kilobytes("attention_backward 32", "114");
  expect_kilobytes("attention_backward 128", "113");
  expect_kilobytes("attention_backward 256", "209");
  expect_kilobytes("attention_backward_two_kernels 128", "113");
  expect_kilobytes("attention_backward_scalar 256", "137");
  expect_kilobytes("attention_backward 96", "");
}

// What a warp moves or reads in one instruction is 32 units of 16 bytes, eight of them at once.
template <int kD>
void expect_swizzled() {
  constexpr unsigned kRows = 64, kUnits = kD / 8;
  using Layout = Swizzled<kD>;
  const auto bank = [](unsigned row, unsigned unit) {
    return Layout::place(row, unit * 8) / 8 % 8;
  };

  std::set<unsigned> places;
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned column = 0; column < kD; ++column) {
      const unsigned place = Layout::place(row, column);
      places.insert(place);
      EXPECT_LT(place, kRows * kD);
      EXPECT_EQ(place % 8, column % 8) << "a unit stays together";
      EXPECT_EQ(Layout::along(Layout::place(row, column % 16), column / 16 * 16), place);
      EXPECT_EQ(Layout::place(row % 8, column) + row / 8 * 8 * kD, place) << "8 rows repeat";
    }
  }
  EXPECT_EQ(places.size(), kRows * kD);

  for (unsigned unit = 0; unit < kUnits; ++unit) {
    for (unsigned row = 0; row < kRows; row += 8) {
      std::set<unsigned> banks;
      for (unsigned i = 0; i < 8; ++i)
        banks.insert(bank(row + i, unit));
      EXPECT_EQ(banks.size(), 8u) << "rows from " << row << ", unit " << unit;
    }
  }
  // Along a row, and where that is shorter, along two.
  constexpr unsigned kTogether = kUnits % 8 == 0 ? 8 : 4;
  for (unsigned row = 0; row < kRows; row += 8 / kTogether) {
    for (unsigned unit = 0; unit < kUnits; unit += kTogether) {
      std::set<unsigned> banks;
      for (unsigned i = 0; i < 8; ++i)
        banks.insert(bank(row + i / kTogether, unit + i % kTogether));
      EXPECT_EQ(banks.size(), 8u) << "units from " << unit << ", row " << row;
    }
  }
}

TEST(Swizzle, PutsRowsAndColumnsInEightBanksAndLosesNothing) {
  expect_swizzled<32>();
  expect_swizzled<64>();
  expect_swizzled<96>();
  expect_swizzled<128>();
  expect_swizzled<256>();
}

}  // namespace
