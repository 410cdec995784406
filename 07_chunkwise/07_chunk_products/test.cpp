#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

// Chunks of 64 tokens. Masked scores are computed in the blocks of 16 tokens on the diagonal.
const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_chunk_products",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 64, 130, 200}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"all but the causal product"},
     .most = {{"K", 64}, {"V", 64}, {"B", 65535}, {"H", 65535}},
     .multiple = 64,
     .plain_steps = 130,
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 64, 128}, .others = {{"K", 64}, {"V", 64}}}}});

// One case for each stage of scratch.cu, named by its shape, because a case fails for any stage and
// the loop reports for which.
bool stage(const char* name, const ladder::Shape& shape) {
  return ladder::testing::register_hole(
      "linear_attention_chunk_products", name, "linear_attention", shape,
      {{"feature_map", "identity"}, {"normalize", "false"}}, {}, "bf16");
}
const bool stages =
    stage("Stage1TwoChunks", {{"B", 1}, {"T", 128}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    stage("Stage2TwoBatchesOfThreeHeads", {{"B", 2}, {"T", 70}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    stage("Stage3OneChunk", {{"B", 1}, {"T", 64}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    stage("Stage4OneAndAPart", {{"B", 1}, {"T", 100}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    stage("Stage5ThreeChunks", {{"B", 1}, {"T", 192}, {"H", 1}, {"K", 64}, {"V", 64}});

}  // namespace
