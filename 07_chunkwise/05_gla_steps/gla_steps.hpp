// Gated linear attention in five steps, each its own kernel (Yang et al., "Gated Linear Attention
// Transformers with Hardware-Efficient Training", 2024).
//
// G_t is the sum of log_w over the steps of a chunk up to and including t, S the state before the
// chunk, and L its last step:
//
//   o_t = scale * (exp(G_t) q_t) S  +  scale * sum_{s <= t} (sum_j q_tj k_sj exp(G_tj - G_sj)) v_s
//   S  <- exp(G_L) S  +  sum_s (exp(G_L - G_s) k_s) v_s
#pragma once

#include <cstdint>

#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::gla_steps {

constexpr std::int64_t kChunk = 64;
constexpr std::int64_t kSubChunk = 16;  // chunks are multiples of this
constexpr std::int64_t kMostRows = 256;

// A sum of logarithms as high + low: low is the rounding error of high. The difference of two sums
// is then right to fp32, even if the sums are large and the difference is small.
struct alignas(8) LogSum {
  float high, low;
};

// The data between the steps. Rows are steps in the order of time, also in reverse, T_p per head.
struct Steps {
  ladder::WkvArgs args;
  std::int64_t chunk = kChunk;
  std::int64_t T_p = 0;  // T rounded up to whole chunks

  // (B, H, T_p, K) G: sums from the chunk's first step on, the row's own step included
  LogSum* log_decay = nullptr;
  float* qg = nullptr;  // (B, H, T_p, K) q decayed since the start of the chunk, zero from T on
  float* kg = nullptr;  // (B, H, T_p, K) k decayed until the end of the chunk, zero from T on
  float* o_inter =
      nullptr;  // (B, H, T_p, V) the earlier chunks' part of o, not yet scaled, unwritten from T on
  // (B, H, T_p, chunk) a row's scores for each step of its chunk, zero for later ones
  float* scores = nullptr;
};

// Each step launched alone. Arguments are not checked. Without time steps only `inter_chunk` does
// any work.
void decay_cumsum(const Steps& steps);
void prepare_qg_kg(const Steps& steps);
void inter_chunk(const Steps& steps);
void intra_chunk_scores(const Steps& steps);
void combine(const Steps& steps);

// The steps as operators (gla_steps_operator.hpp). Their arguments are Steps, with lists of the
// arrays that a step reads and writes.
struct DecayCumsum;
struct PrepareQgKg;
struct InterChunk;
struct IntraChunkScores;
struct Combine;

struct StepArgs : Steps {
  static constexpr const char* kStorage = "fp32";

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.args.B, 0), visit("T", s.args.T, 0), visit("H", s.args.H, 1);
    visit("K", s.args.K, 1), visit("V", s.args.V, 1), visit("chunk", s.chunk, kSubChunk);
    visit("T_p", s.T_p), visit("log_w_stride_B", s.args.log_w_stride_B);
    visit("log_w_stride_T", s.args.log_w_stride_T), visit("scale", s.args.scale);
    visit("reverse", s.args.reverse);
  }

 protected:
  static ladder::Axes tokens(const ladder::WkvArgs& a, const char* channel, std::int64_t width) {
    return {{"b", a.B}, {"t", a.T}, {"h", a.H}, {channel, width}};
  }
  static ladder::Axes rows(const Steps& s, const char* column, std::int64_t width) {
    return {{"b", s.args.B}, {"h", s.args.H}, {"step", s.T_p}, {column, width}};
  }
};

struct DecayCumsumArgs : StepArgs {
  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    const ladder::Presence tokens = ladder::WkvArgs::presence(s.args);
    visit("log_w", s.args.log_w, ladder::WkvArgs::log_w_axes(s.args), tokens);
    visit("log_decay", s.log_decay, rows(s, "j", s.args.K));
  }
};

struct PrepareQgKgArgs : StepArgs {
  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("q", s.args.q, tokens(s.args, "j", s.args.K));
    visit("k", s.args.k, tokens(s.args, "j", s.args.K));
    visit("log_decay", ladder::as_input(s.log_decay), rows(s, "j", s.args.K));
    visit("qg", s.qg, rows(s, "j", s.args.K));
    visit("kg", s.kg, rows(s, "j", s.args.K));
  }
};

struct InterChunkArgs : StepArgs {
  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    const ladder::Axes states = ladder::WkvArgs::state_axes(s.args);
    visit("v", s.args.v, tokens(s.args, "i", s.args.V));
    visit("log_decay", ladder::as_input(s.log_decay), rows(s, "j", s.args.K));
    visit("qg", ladder::as_input(s.qg), rows(s, "j", s.args.K));
    visit("kg", ladder::as_input(s.kg), rows(s, "j", s.args.K));
    visit("initial_state", s.args.initial_state, states, ladder::Presence::kOptional);
    visit("o_inter", s.o_inter, rows(s, "i", s.args.V));
    visit("final_state", s.args.final_state, states, ladder::Presence::kOptional);
  }
};

struct IntraChunkScoresArgs : StepArgs {
  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("q", s.args.q, tokens(s.args, "j", s.args.K));
    visit("k", s.args.k, tokens(s.args, "j", s.args.K));
    visit("log_decay", ladder::as_input(s.log_decay), rows(s, "j", s.args.K));
    visit("scores", s.scores, rows(s, "key", s.chunk));
  }
};

struct CombineArgs : StepArgs {
  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("o_inter", ladder::as_input(s.o_inter), rows(s, "i", s.args.V));
    visit("scores", ladder::as_input(s.scores), rows(s, "key", s.chunk));
    visit("v", s.args.v, tokens(s.args, "i", s.args.V));
    visit("o", s.args.o, tokens(s.args, "i", s.args.V));
  }
};

// All five. Throws std::invalid_argument for bad arguments, K above kMostRows, and a chunk that is
// not a multiple of kSubChunk.
void gla(const ladder::WkvArgs& args, std::int64_t chunk = kChunk);

}  // namespace chunkwise::gla_steps
