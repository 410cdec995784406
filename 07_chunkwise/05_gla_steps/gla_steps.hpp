// Gated linear attention in five steps, each a kernel of its own (Yang et al., "Gated Linear Attention Transformers with
// Hardware-Efficient Training", 2024).
//
// With G_t the sum of log_w over the steps of a chunk up to and including t, S the state before the chunk, and L its last step:
//
//     o_t = scale * (exp(G_t) q_t) S  +  scale * sum_{s <= t} (sum_j q_tj k_sj exp(G_tj - G_sj)) v_s
//     S  <- exp(G_L) S  +  sum_s (exp(G_L - G_s) k_s) v_s
#pragma once

#include <cstdint>

#include "common/operators/wkv/wkv.hpp"

namespace chapter07::gla_steps {

constexpr std::int64_t kChunk = 64;
constexpr std::int64_t kSubChunk = 16;  // chunks are whole numbers of these
constexpr std::int64_t kMostRows = 256;

// A sum of logarithms as high + low: low is what rounding took from high. The difference of two sums is then right to fp32, even
// where the sums are large and the difference is small.
struct alignas(8) LogSum {
  float high, low;
};

// What goes from step to step. Rows are steps in the order of time, also in reverse; there are T_p per head.
struct Steps {
  ladder::WkvArgs args;
  std::int64_t chunk = kChunk;
  std::int64_t T_p = 0;  // T rounded up to whole chunks

  // (B, H, T_p, K) G: sums from the chunk's first step on, the row's own step included
  LogSum* log_decay = nullptr;
  float* qg = nullptr;       // (B, H, T_p, K) q decayed since the chunk began; zero from T on
  float* kg = nullptr;       // (B, H, T_p, K) k decayed until the chunk ends; zero from T on
  float* o_inter = nullptr;  // (B, H, T_p, V) what earlier chunks give to o, not yet scaled
  // (B, H, T_p, chunk) what a row's step takes of each step of its chunk; zero for later ones
  float* scores = nullptr;
};

void decay_cumsum(const Steps& steps);   // log_w -> log_decay
void prepare_qg_kg(const Steps& steps);  // q, k, log_decay -> qg, kg
// qg, kg, v, log_decay, initial_state -> o_inter, final_state
void inter_chunk(const Steps& steps);
void intra_chunk_scores(const Steps& steps);  // q, k, log_decay -> scores
void combine(const Steps& steps);             // o_inter, scores, v -> o

// All five. std::invalid_argument for bad arguments, K above kMostRows, and a chunk that is not a multiple of kSubChunk.
void gla(const ladder::WkvArgs& args, std::int64_t chunk = kChunk);

}  // namespace chapter07::gla_steps
