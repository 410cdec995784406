// The second kernel's chunk: what a block of threads has of it in shared memory, and which part of it a warp has.
#pragma once

#include <cuda_runtime.h>

#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/decay_tree.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "07_chunkwise/20_backward/register_blocks.hpp"

namespace chunkwise::backward {

// What a warp has of a chunk: 16 channels, and two blocks of steps, first the one that touches the chunk's middle.
struct Part {
  int lane, warp;
  int row;    // the first of the channels
  bool late;  // whether its steps are those of the chunk's second half

  __device__ __forceinline__ int block_of(int x) const { return late ? 2 + x : 1 - x; }
};

// A span says which rows reach across which steps: one for each level in a block, and two for what comes from outside of it.
constexpr int kFromBefore = kBlockLevels, kFromAfter = kBlockLevels + 1, kSpans = kBlockLevels + 2;

// What lies on the stage, in this order: v, d_o, S, D and the rests of S and D.
enum Staged { kValues, kOutputGradients, kState, kAdjoint, kStateRest, kAdjointRest };

// A gradient in fp32, which may be a sum over all steps, must not have the same rounding of a pair in every step: it takes the
// rest too.
template <typename Element, typename LogW>
constexpr bool kWithRest = sizeof(LogW) > sizeof(Element);

// Sums over a block's steps, by channel.
struct ChannelSums {
  float from_before[kBlocks][kSide], from_after[kBlocks][kSide];  // through all further blocks
  float from_half[kBlocks][kSide];                                // through the chunk's half
  float du[kBlocks][kSide], d_log_w[kBlocks][kSide];
};

// kRests: with what S and D lost when they were rounded. A decay per head in fp32 needs it: its gradient is a sum over all steps,
// and what is rounded once per chunk is wrong by the same amount in all of them.
template <bool kRests, typename Element, typename LogW>
struct alignas(16) ChunkTiles {
  Element q[kTileSize], k[kTileSize];
  LogW log_w[kTileSize];  // and d_log_w on its way out
  union {
    Element stage[kRests ? 6 : 4][kTileSize];  // see Staged
    struct {
      Element out[2][kTileSize];  // dq and dk
      // A second block's sums, while the first one needs the registers.
      float parked[2][2][4][kThreads];
    };
  };
  Element level4[kTileSize], level5[kTileSize];  // rows [channel][step], halves of 16 and 32 steps
  Element left[kTileSize];  // [channel][step]: what is left of k after the chunk
  union {
    Element scores[kTileSize];  // [s][p]: what o_p takes of v_s, bonus included
    ChannelSums sums;           // when the scores have been used
  };
  Element d_scores[kTileSize];  // G: [p][s] = [s][p] = scale * d_o_p . v_s
  Right<Element> spans[kSpans][kWarpSize];
  float total[kBlocks][kSide];                          // decay of a block's steps, by channel
  float before[kBlocks][kSide], after[kBlocks][kSide];  // of the chunk's steps outside of a block
  float bonus[kBlocks][kSide];                          // sums of q u k over 16 channels, by step
  float next[kBlocks][kSide];  // the same of level 0: an even step's key, the next step's query
  float d_own[kSide];          // scale * d_o_t . v_t, the diagonal of G
  float overlap[kSide];        // what reaches from S to D through all of the chunk
};

}  // namespace chunkwise::backward
