// The five steps of GLA as operators. Each gets random inputs in place of the results of earlier
// steps, and is judged by one plain statement of its own formula.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/05_gla_steps/gla_steps.hpp"
#include "common/judge/simple_operator.hpp"

namespace chunkwise::gla_steps {

struct StepSizes {
  std::int64_t B = 1, T = 1024, H = 32, K = 64, V = 64, chunk = kChunk;
  float decay = 0.1f;         // log_w is drawn from -decay to 0
  bool total_decay = false;   // log_w is -inf: each step forgets all before it
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

Steps sizes_of(const StepCase& c);
void draw(const StepCase& c, const std::string& name, std::vector<float>& values,
          ladder::Generator& generator);
void draw(const StepCase& c, const std::string& name, std::vector<LogSum>& values,
          ladder::Generator& generator);

template <typename Op, typename Args>
struct StepOperator : ladder::SimpleOperator<Op, StepSizes, Args, Args> {
  static constexpr const char* kSteps = "T";
  using Problem = ladder::Drawn<Op>;

  static Args sizes(const StepCase& c) { return {{sizes_of(c)}}; }
  static bool wants(const StepCase& c, const std::string& array) {
    return c.states || (array != "initial_state" && array != "final_state");
  }
  template <typename Element>
  static void draw(const StepCase& c, const std::string& name, std::vector<Element>& values,
                   ladder::Generator& generator) {
    gla_steps::draw(c, name, values, generator);
  }
};

// log_w -> log_decay
struct DecayCumsum : StepOperator<DecayCumsum, DecayCumsumArgs> {
  static constexpr const char* kName = "gla_decay_cumsum";
  struct Outputs {
    std::vector<LogSum> log_decay;

    template <typename Self, typename Visit>
    static void arrays(Self& s, const Visit& visit) {
      visit("log_decay", s.log_decay);
    }
  };
  static double fma_count(const Steps& steps);
  // As a sum of two numbers in fp32, so that it is nearly as exact as the truth.
  static constexpr bool kJudgesItself = true;
  static ladder::Verdict judge(const Problem& problem, const Outputs& outputs, ladder::Arithmetic);
};

// q, k, log_decay -> qg, kg
struct PrepareQgKg : StepOperator<PrepareQgKg, PrepareQgKgArgs> {
  static constexpr const char* kName = "gla_prepare_qg_kg";
  static double fma_count(const Steps& steps);
  static double additions(const Steps&) { return 0; }
  static std::vector<ladder::Truth> truth(const Problem& problem);
};

// qg, kg, v, log_decay, initial_state -> o_inter, final_state
struct InterChunk : StepOperator<InterChunk, InterChunkArgs> {
  static constexpr const char* kName = "gla_inter_chunk";
  static double fma_count(const Steps& steps);
  static double additions(const Steps& steps) {
    return static_cast<double>(steps.args.K + steps.args.T);
  }
  static std::vector<ladder::Truth> truth(const Problem& problem);
  // The rows of o_inter from T on are undefined.
  static Outputs to_judge(const Problem& problem, Outputs outputs);
};

// q, k, log_decay -> scores
struct IntraChunkScores : StepOperator<IntraChunkScores, IntraChunkScoresArgs> {
  static constexpr const char* kName = "gla_intra_chunk_scores";
  static double fma_count(const Steps& steps);
  static double additions(const Steps& steps) { return static_cast<double>(steps.args.K); }
  static std::vector<ladder::Truth> truth(const Problem& problem);
};

// o_inter, scores, v -> o
struct Combine : StepOperator<Combine, CombineArgs> {
  static constexpr const char* kName = "gla_combine";
  static double fma_count(const Steps& steps);
  static double additions(const Steps& steps) { return static_cast<double>(steps.chunk); }
  static std::vector<ladder::Truth> truth(const Problem& problem);
};

}  // namespace chunkwise::gla_steps
