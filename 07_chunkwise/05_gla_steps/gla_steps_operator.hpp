// The five steps of GLA as operators. Each gets random inputs in place of the results of earlier
// steps, and is judged by one plain statement of its own formula.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/05_gla_steps/gla_steps.hpp"
#include "common/judge/typed.hpp"

namespace chunkwise::gla_steps {

struct StepSizes {
  std::int64_t B = 1, T = 1024, H = 32, K = 64, V = 64, chunk = kChunk;
  float decay = 0.1f;         // log_w is drawn from -decay to 0
  bool total_decay = false;   // log_w is -inf, so each step forgets all before it
  bool strong_token = false;  // -inf in the middle of time
  bool decay_per_head = false, reverse = false;
  bool states = true;  // initial and final state

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T", s.T, 0), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1), visit("chunk", s.chunk, kSubChunk), visit("decay", s.decay);
    visit("total_decay", s.total_decay), visit("strong_token", s.strong_token);
    visit("decay_per_head", s.decay_per_head), visit("reverse", s.reverse);
    visit("states", s.states);
  }
};

using StepCase = ladder::SizedCase<StepSizes>;

// The outputs of each step have their own type, and the data flow is
// log_w -> log_decay
// q, k, log_decay -> qg, kg
// qg, kg, v, log_decay, initial_state -> o_inter, final_state
// q, k, log_decay -> scores
// o_inter, scores, v -> o
struct DecayCumsumOutputs {
  std::vector<LogSum> log_decay;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("log_decay", s.log_decay);
  }
};
struct DecayCumsum {
  static constexpr const char* kName = "gla_decay_cumsum";
  using Case = StepCase;
  using Outputs = DecayCumsumOutputs;
};
struct PrepareQgKg {
  static constexpr const char* kName = "gla_prepare_qg_kg";
  using Case = StepCase;
  using Outputs = ladder::Outputs;
};
struct InterChunk {
  static constexpr const char* kName = "gla_inter_chunk";
  using Case = StepCase;
  using Outputs = ladder::Outputs;
};
struct IntraChunkScores {
  static constexpr const char* kName = "gla_intra_chunk_scores";
  using Case = StepCase;
  using Outputs = ladder::Outputs;
};
struct Combine {
  static constexpr const char* kName = "gla_combine";
  using Case = StepCase;
  using Outputs = ladder::Outputs;
};

// As a sum of two numbers in fp32, log_decay is nearly as exact as the truth.
ladder::Verdict judge_cumsum(const ladder::Problem& problem, const DecayCumsumOutputs& outputs,
                             ladder::Arithmetic);

}  // namespace chunkwise::gla_steps
