#include "library/best/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

using ladder::best::choose;
using ladder::best::Kernel;
using ladder::best::LinearAttentionShape;
using ladder::best::name_of;
using ladder::best::RecurrenceShape;
using ladder::best::shape_of;
using ladder::best::Words;

constexpr int kH200 = 132;

std::string chosen(const RecurrenceShape& shape) {
  return name_of(choose(shape, kH200));
}
std::string chosen(const LinearAttentionShape& shape) {
  return name_of(choose(shape, kH200));
}

// ---- Never slower than any rung, on every shape that was measured ----

struct Measured {
  std::string op, precision;
  std::int64_t T, H, K, V;
  std::vector<std::pair<std::string, double>> microseconds;
  std::string name() const {
    return op + " " + precision + " T=" + std::to_string(T) + " H=" + std::to_string(H) +
           " K=" + std::to_string(K) + " V=" + std::to_string(V);
  }
};

std::vector<Measured> recorded() {
  std::ifstream file(LADDER_ROOT "/records/best_h200.json");
  const auto json = nlohmann::json::parse(file);
  std::vector<Measured> result;
  for (const auto& row : json.at("rows")) {
    Measured m{row[0], row[1], row[2], row[3], row[4], row[5], {}};
    for (const auto& [index, us] : row[6].items())
      m.microseconds.emplace_back(json.at("implementations").at(std::stoul(index)), us);
    result.push_back(m);
  }
  return result;
}

Words words_of(const Measured& m) {
  const std::int64_t piece = m.precision == "fp32" ? 4 : 8;
  if (m.K % piece == 0 && m.V % piece == 0) return Words::kPieces;
  return m.K % 4 == 0 && m.V % 4 == 0 ? Words::kFour : Words::kSingle;
}

std::string chosen(const Measured& m) {
  if (m.op == "wkv" || m.op == "gla") {
    return chosen(RecurrenceShape{.T = m.T,
                                  .heads = m.H,
                                  .K = m.K,
                                  .V = m.V,
                                  .bf16 = m.precision != "fp32",
                                  .words = words_of(m),
                                  .gla = m.op == "gla"});
  }
  const bool plain = m.op == "causal_dot_product";
  return chosen(LinearAttentionShape{.T = m.T,
                                     .heads = m.H,
                                     .K = m.K,
                                     .V = m.V,
                                     .bf16 = m.precision != "fp32",
                                     .words = words_of(m),
                                     .plain = plain,
                                     .strips = plain});
}

TEST(BestRules, ChooseTheFastestOfAllRecordedTimes) {
  constexpr double kNoise = 1.03, kMost = 1.12, kShare = 0.005;
  struct Row {
    int shapes = 0, fast = 0;
    double worst = 0;
  };
  std::map<std::string, Row> table;
  int shapes = 0, slower = 0;
  std::string list;
  for (const Measured& m : recorded()) {
    // Measured when wkv_chunkwise took up to 256 rows: what it takes beyond has times of its own (docs/notebooks/chapter07.md).
    if (m.op == "wkv" && m.K > 256) continue;
    const std::string choice = chosen(m);
    double mine = std::numeric_limits<double>::infinity(), fastest = mine;
    std::string winner;
    for (const auto& [name, us] : m.microseconds) {
      if (name == choice) mine = us;
      if (us >= fastest) continue;
      fastest = us;
      winner = name;
    }
    EXPECT_LE(mine, kMost * fastest) << m.name() << ": " << choice << ", not " << winner;
    const bool fast = mine <= kNoise * fastest;
    Row& row = table[m.op + ", " + m.precision];
    row.worst = std::max(row.worst, mine / fastest);
    ++row.shapes;
    row.fast += fast;
    ++shapes;
    slower += !fast;
    if (!fast) {
      list += m.name() + ": " + choice + " takes " + std::to_string(mine / fastest) + " of " +
              winner + "\n";
    }
  }
  for (const auto& [name, row] : table)
    std::printf("| %s | %d | %d | %.2f |\n", name.c_str(), row.shapes, row.fast, row.worst);
  EXPECT_GT(shapes, 5000);
  EXPECT_LE(slower, kShare * shapes) << list;
}

// ---- Both sides of each rule, in words ----

TEST(BestRules, SendOneStepToTheKernelThatFillsTheMachine) {
  const auto decode = [](std::int64_t heads, std::int64_t K, std::int64_t V) {
    return chosen(RecurrenceShape{.T = 1, .heads = heads, .K = K, .V = V});
  };
  EXPECT_EQ(decode(32, 64, 64), "wkv_time_tiles");
  EXPECT_EQ(decode(16, 256, 256), "wkv_fused_recurrent");
  EXPECT_EQ(decode(17, 256, 256), "wkv_time_tiles");
  EXPECT_EQ(decode(16, 128, 256), "wkv_time_tiles");
  EXPECT_EQ(decode(4 * kH200, 32, 32), "wkv_time_tiles");
  EXPECT_EQ(decode(4 * kH200 + 1, 32, 32), "wkv_shared_mem");
  EXPECT_EQ(decode(4 * kH200 + 1, 32, 36), "wkv_time_tiles");
  EXPECT_EQ(decode(3 * kH200 + 1, 16, 16), "wkv_shared_mem");
  const auto single = [](std::int64_t heads, std::int64_t K) {
    return chosen(RecurrenceShape{.T = 1, .heads = heads, .K = K, .V = K, .words = Words::kSingle});
  };
  EXPECT_EQ(single(2 * kH200, 201), "wkv_time_tiles");
  EXPECT_EQ(single(2 * kH200 + 1, 201), "wkv_fused_recurrent");
  EXPECT_EQ(single(2 * kH200 + 1, 127), "wkv_time_tiles");
  EXPECT_EQ(decode(2 * kH200 + 1, 200, 200), "wkv_time_tiles");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 1, .heads = 1, .K = 256, .V = 256, .gla = true}),
            "wkv_time_tiles");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 0}), "wkv_time_tiles");
}

TEST(BestRules, SendTwoStepsOfManyHeadsToTheKernelsWithoutTiles) {
  const auto steps = [](std::int64_t T, std::int64_t heads, std::int64_t K, bool gla = false) {
    return chosen(RecurrenceShape{.T = T, .heads = heads, .K = K, .V = K, .gla = gla});
  };
  EXPECT_EQ(steps(2, 4 * kH200, 32), "wkv_time_tiles");
  EXPECT_EQ(steps(2, 4 * kH200 + 1, 32), "wkv_shared_mem");
  EXPECT_EQ(steps(3, 4 * kH200 + 1, 32), "wkv_time_tiles");
  EXPECT_EQ(steps(2, 8 * kH200, 256), "wkv_time_tiles");
  EXPECT_EQ(steps(2, 8 * kH200 + 1, 256), "wkv_fused_recurrent");
  EXPECT_EQ(steps(2, 8 * kH200 + 1, 64), "wkv_time_tiles");
  EXPECT_EQ(steps(3, 8 * kH200 + 1, 256), "wkv_time_tiles");
  EXPECT_EQ(steps(2, 8 * kH200 + 1, 256, true), "wkv_time_tiles");
}

TEST(BestRules, SendFp32ToTheRecurrenceUnlessAFewHeadsAreLong) {
  const auto fp32 = [](std::int64_t T, std::int64_t heads) {
    return chosen(RecurrenceShape{.T = T, .heads = heads});
  };
  EXPECT_EQ(fp32(512, 16), "wkv_time_tiles");
  EXPECT_EQ(fp32(1024, 16), "wkv_chunkwise");
  EXPECT_EQ(fp32(512, 32), "wkv_time_tiles");
  EXPECT_EQ(fp32(4096, 32), "wkv_chunkwise");
  EXPECT_EQ(fp32(4096, 128), "wkv_time_tiles");
  EXPECT_EQ(fp32(4096, 8 * 32), "wkv_time_tiles");
  // 10 chunks are five segments of two. 11 are five of up to three.
  EXPECT_EQ(fp32(480, 4), "wkv_chunkwise");
  EXPECT_EQ(fp32(481, 4), "wkv_time_tiles");
  // The shortest segments there are, shorter than any that costs.inc is fitted to.
  for (const std::int64_t heads : {16, 24, 32, 48, 64})
    EXPECT_EQ(fp32(192, heads), "wkv_time_tiles") << heads << " heads";
}

// Chapter 07 cuts no time where more than half of the multiprocessors have a block.
TEST(BestRules, CutTimeWhereChapter07Does) {
  const auto bf16 = [](std::int64_t heads) {
    return chosen(RecurrenceShape{.T = 4096, .heads = heads, .bf16 = true});
  };
  EXPECT_EQ(bf16(kH200 / 2), "wkv_chunkwise");
  EXPECT_EQ(bf16(kH200 / 2 + 1), "wkv_chunkwise_fused");
}

TEST(BestRules, SendBf16ToChunksThatAreFull) {
  const auto bf16 = [](std::int64_t T, std::int64_t heads, std::int64_t K) {
    return chosen(RecurrenceShape{.T = T, .heads = heads, .K = K, .V = K, .bf16 = true});
  };
  EXPECT_EQ(bf16(54, 32, 64), "wkv_time_tiles");
  EXPECT_EQ(bf16(64, 32, 64), "wkv_chunkwise_fused");
  EXPECT_EQ(bf16(96, 32, 64), "wkv_time_tiles");
  EXPECT_EQ(bf16(128, 32, 64), "wkv_chunkwise_fused");
  EXPECT_EQ(bf16(1024, 32, 64), "wkv_chunkwise");
  EXPECT_EQ(bf16(16, 256, 64), "wkv_time_tiles");
  EXPECT_EQ(bf16(54, 256, 64), "wkv_chunkwise_fused");
  EXPECT_EQ(bf16(4096, 256, 64), "wkv_chunkwise_fused");
}

// K = V = 100 in bf16 are no 16-byte pieces.
TEST(BestRules, SendRowsOfSingleElementsToTheRecurrenceWhereHeadsAreFew) {
  const auto words = [](std::int64_t T, std::int64_t heads) {
    return chosen(RecurrenceShape{
        .T = T, .heads = heads, .K = 100, .V = 100, .bf16 = true, .words = Words::kFour});
  };
  EXPECT_EQ(words(256, 32), "wkv_time_tiles");
  EXPECT_EQ(words(512, 32), "wkv_chunkwise");
  EXPECT_EQ(words(1024, 64), "wkv_time_tiles");
  EXPECT_EQ(words(1024, 128), "wkv_chunkwise_fused");
}

TEST(BestRules, KnowWhatOnlyOneKernelTakes) {
  EXPECT_EQ(chosen(RecurrenceShape{.T = 8, .K = 256}), "wkv_time_tiles");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 8, .K = 257}), "wkv_fused_recurrent");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 1, .K = 257}), "wkv_fused_recurrent");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 63, .K = 257}), "wkv_fused_recurrent");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 64, .K = 512}), "wkv_chunkwise");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 15, .K = 257, .bf16 = true}), "wkv_fused_recurrent");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 16, .K = 512, .bf16 = true}), "wkv_chunkwise");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 1000, .K = 513, .bf16 = true}), "wkv_fused_recurrent");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 8, .K = 64, .packed = true}), "wkv_chunkwise");
  // fp16, where fp32 and bf16 have other kernels.
  for (const std::int64_t T : {1, 2}) {
    const RecurrenceShape small{.T = T, .heads = 1000, .K = 32, .V = 32, .bf16 = true};
    RecurrenceShape fp16 = small;
    fp16.fp16 = true;
    EXPECT_EQ(chosen(small), "wkv_shared_mem");
    EXPECT_EQ(chosen(fp16), "wkv_time_tiles");
  }
  EXPECT_EQ(chosen(RecurrenceShape{.T = 8, .K = 257, .bf16 = true, .fp16 = true}), "wkv_chunkwise");
  EXPECT_EQ(chosen(RecurrenceShape{.T = 1, .K = 512, .gla = true}), "wkv_chunkwise");
  EXPECT_EQ(chosen(LinearAttentionShape{.T = 8, .K = 64, .bf16 = true}),
            "linear_attention_chunkwise");
  EXPECT_EQ(chosen(LinearAttentionShape{.T = 8, .K = 65, .words = Words::kSingle}),
            "linear_attention_chunkwise");
  EXPECT_EQ(chosen(LinearAttentionShape{.T = 8, .K = 257, .plain = true, .strips = true}),
            "causal_dot_product");
  EXPECT_EQ(chosen(LinearAttentionShape{.T = 8, .K = 257}), "linear_attention_chunkwise");
  // No head at all: any kernel, but an answer.
  EXPECT_NE(chosen(RecurrenceShape{.T = 4096, .heads = 0}), "");
  EXPECT_NE(chosen(LinearAttentionShape{.T = 4096, .heads = 0}), "");
}

// The kernels in segments take a state that is updated in place.
TEST(BestRules, CutTimeWhereTheStateIsUpdatedInPlaceToo) {
  static float state[1];
  ladder::WkvBf16Args args{.B = 1, .T = 4096, .H = 8, .K = 64, .V = 64};
  EXPECT_EQ(chosen(shape_of(args, ladder::Recurrence::kWkv)), "wkv_chunkwise");
  args.initial_state = args.final_state = state;
  EXPECT_EQ(chosen(shape_of(args, ladder::Recurrence::kWkv)), "wkv_chunkwise");
}

TEST(BestRules, SendSumsToPrefixesChunksOrHeads) {
  const auto sums = [](std::int64_t T, std::int64_t heads) {
    return chosen(LinearAttentionShape{.T = T, .heads = heads});
  };
  EXPECT_EQ(sums(64, 16), "prefix_causal_product");
  EXPECT_EQ(sums(64, 32), "packed_causal_product");
  EXPECT_EQ(sums(4096, 16), "linear_attention_chunkwise");
  EXPECT_EQ(sums(4096, 512), "packed_causal_product");
  EXPECT_EQ(sums(4096, 128), "linear_attention_chunkwise");
  const auto keys = [](std::int64_t T, std::int64_t heads) {
    return chosen(LinearAttentionShape{.T = T, .heads = heads, .plain = true, .strips = true});
  };
  EXPECT_EQ(keys(1, 16), "prefix_causal_product");  // 128 blocks of 8 columns
  EXPECT_EQ(keys(1, 17), "causal_dot_product");     // 136
  EXPECT_EQ(keys(2, 16), "prefix_causal_product");
  EXPECT_EQ(keys(2, 32), "packed_causal_product");
  EXPECT_EQ(keys(2, 64), "causal_dot_product");
  EXPECT_EQ(keys(3, 64), "packed_causal_product");
}

// Half the multiprocessors, half the heads.
TEST(BestRules, ScaleWithTheMultiprocessors) {
  for (const std::int64_t heads : {8, 32, 128}) {
    for (const std::int64_t T : {64, 512, 4096}) {
      EXPECT_EQ(choose(RecurrenceShape{.T = T, .heads = heads}, kH200 / 2),
                choose(RecurrenceShape{.T = T, .heads = 2 * heads}, kH200))
          << heads << " heads, T = " << T;
    }
  }
}

// ---- What the rules look at ----

TEST(BestRules, ReadTheShapeOfWkvArguments) {
  alignas(64) static const ladder::bfloat16 data[64] = {};
  alignas(64) static ladder::bfloat16 o[64];
  ladder::WkvBf16Args args;
  args.B = 2;
  args.T = 3;
  args.H = 5;
  args.K = args.V = 8;
  args.q = args.k = args.v = args.log_w = args.u = data;
  args.o = o;
  RecurrenceShape shape = shape_of(args, ladder::Recurrence::kGla);
  EXPECT_EQ(shape.T, 3);
  EXPECT_EQ(shape.heads, 10);
  EXPECT_TRUE(shape.bf16 && shape.gla && !shape.packed && !shape.fp16);
  EXPECT_EQ(shape.words, Words::kPieces);
  args.k = data + 4;
  EXPECT_EQ(shape_of(args, ladder::Recurrence::kWkv).words, Words::kFour);
  args.k = data + 1;
  EXPECT_EQ(shape_of(args, ladder::Recurrence::kWkv).words, Words::kSingle);
  args.k = data;
  args.V = 12;
  EXPECT_EQ(shape_of(args, ladder::Recurrence::kWkv).words, Words::kFour);
  EXPECT_EQ(shape_of(args, ladder::Recurrence::kWkv).K, 8);
  EXPECT_EQ(shape_of(args, ladder::Recurrence::kWkv).V, 12);
  args.V = 9;
  EXPECT_EQ(shape_of(args, ladder::Recurrence::kWkv).words, Words::kSingle);
  const std::int64_t cu_seqlens[] = {0, 3};
  args.cu_seqlens = cu_seqlens;
  shape = shape_of(args, ladder::Recurrence::kWkv);
  EXPECT_TRUE(shape.packed && !shape.gla);
  shape = shape_of(ladder::WkvFp16Args{.K = 8, .V = 8}, ladder::Recurrence::kWkv);
  EXPECT_TRUE(shape.bf16 && shape.fp16);
}

TEST(BestRules, ReadTheShapeOfLinearAttentionArguments) {
  alignas(64) static const float data[64] = {};
  alignas(64) static float o[64];
  ladder::LinearAttentionArgs args;
  args.B = 2;
  args.H = 3;
  args.T_q = args.T_k = 5;
  args.K = args.V = 4;
  args.q = args.k = args.v = data;
  args.o = o;
  LinearAttentionShape shape = shape_of(args);
  EXPECT_EQ(shape.T, 5);
  EXPECT_EQ(shape.heads, 6);
  EXPECT_TRUE(!shape.bf16 && !shape.plain && !shape.strips);
  EXPECT_EQ(shape.words, Words::kPieces);
  args.o = o + 1;
  EXPECT_EQ(shape_of(args).words, Words::kSingle);
  args.normalize = false;
  args.feature_map = ladder::FeatureMap::kIdentity;
  EXPECT_TRUE(shape_of(args).plain && shape_of(args).strips);
  args.V = 1024;  // as many threads as a block may have
  EXPECT_TRUE(shape_of(args).strips);
  EXPECT_EQ(shape_of(args).K, 4);
  EXPECT_EQ(shape_of(args).V, 1024);
  args.V = 1025;
  EXPECT_FALSE(shape_of(args).strips);
  args.V = 4;
  args.T_k = 7;
  EXPECT_TRUE(shape_of(args).plain && !shape_of(args).strips);
  args.causal = false;
  EXPECT_EQ(shape_of(args).T, 12);
}

}  // namespace
