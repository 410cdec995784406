#include "common/operators/wkv/cases.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>
#include <tuple>

#include "common/core/errors.hpp"
#include "common/core/generator.hpp"
#include "common/judge/sequences.hpp"
#include "common/operators/wkv/decay.hpp"

namespace ladder {
namespace {

const std::vector<std::int64_t> kLengths = {0,  1,  15, 16, 17,  18,  20,
                                            63, 64, 65, 66, 130, 200, 1000};
const std::vector<std::int64_t> kChannels = {4, 32, 64, 100, 128, 256};

float draw_log_w(Generator& generator, const WkvCase& c) {
  switch (c.decay) {
    case Decay::kNone: return 0.0f;
    case Decay::kStrong: return generator.uniform(-16.0f, -1.0f);
    case Decay::kTotal: return -std::numeric_limits<float>::infinity();
    case Decay::kFixed: return c.fixed_log_w;
    default: return log_decay_from_rwkv(generator.uniform(-4.0f, -1.0f));
  }
}

// Only letters, digits and underscores, because it becomes part of a test's name.
std::string word(float log_w) {
  std::ostringstream text;
  text << "log_w_minus_" << -log_w;
  std::string word = text.str();
  std::replace(word.begin(), word.end(), '.', 'p');
  word.erase(std::remove_if(word.begin(), word.end(), [](char x) { return x == '+' || x == '-'; }),
             word.end());
  return word;
}

std::string word(const WkvCase& c) {
  switch (c.decay) {
    case Decay::kNone: return "no_decay";
    case Decay::kMild: return "mild";
    case Decay::kStrong: return "strong";
    case Decay::kTotal: return "total";
    case Decay::kStrongToken: return "one_total_token";
    case Decay::kFixed: return word(c.fixed_log_w);
  }
  return "";
}

void draw_forward(Problem& problem) {
  const WkvCase& c = problem.as<WkvCase>();
  Generator generator(c.seed);
  const float m = c.magnitude;
  const std::int64_t step = c.H * c.K;
  problem["q"] = generator.reals(c.B * c.T * step, -m, m);
  problem["k"] = generator.reals(c.B * c.T * step, -m, m);
  problem["v"] = generator.reals(c.B * c.T * c.H * c.V, -m, m);
  if (c.recurrence == Recurrence::kWkv) problem["u"] = generator.reals(step, -1, 1);
  std::vector<float>& log_w = problem["log_w"];
  log_w.resize(c.decay_per_head ? step : c.B * c.T * step);
  for (float& element : log_w)
    element = draw_log_w(generator, c);
  if (c.decay == Decay::kStrongToken && !c.decay_per_head) {
    for (std::int64_t b = 0; b < c.B && c.T > 0; ++b) {
      std::fill_n(log_w.begin() + (b * c.T + c.T / 2) * step, step,
                  -std::numeric_limits<float>::infinity());
    }
  }
  check_log_w(log_w.data(), std::ssize(log_w));
  if (c.initial_state) {
    problem["initial_state"] = generator.reals(c.sequences() * step * c.V, -m * m, m * m);
  }
  if (c.lengths.empty()) return;
  auto& cu_seqlens = problem.array<std::int64_t>("cu_seqlens");
  cu_seqlens = cumulative(c.lengths);
  require(c.B == 1 && cu_seqlens.back() == c.T,
          name_of(c) + ": packed sequences allow only B = 1 and T = the sum of their lengths");
}

}  // namespace

std::string name_of(const WkvCase& c) {
  std::ostringstream name;
  name << (c.recurrence == Recurrence::kGla ? "gla_" : "") << "B" << c.B << "_T" << c.T << "_H"
       << c.H << "_K" << c.K << "_V" << c.V << (c.lengths.empty() ? "" : "_packed");
  for (const std::int64_t length : c.lengths)
    name << "_" << length;
  name << "_" << word(c) << (c.decay_per_head ? "_per_head" : "")
       << (c.initial_state ? "_from_state" : "") << (c.final_state ? "_to_state" : "")
       << (c.reverse ? "_reverse" : "") << (c.scale != 1.0f ? "_scaled" : "")
       << magnitude_word(c.magnitude) << precision_word(c.precision);
  return name.str();
}

WkvCase packed(WkvCase c, std::vector<std::int64_t> lengths) {
  c.B = 1;
  c.T = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  c.lengths = std::move(lengths);
  return c;
}

WkvArgs sizes_of(const WkvCase& c) {
  WkvArgs args;
  args.B = c.B;
  args.T = c.T;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.log_w_stride_B = c.decay_per_head ? 0 : c.T * c.H * c.K;
  args.log_w_stride_T = c.decay_per_head ? 0 : c.H * c.K;
  args.scale = c.scale;
  args.reverse = c.reverse;
  args.sequences = static_cast<std::int64_t>(c.lengths.size());
  return args;
}

bool has_array(const WkvCase& c, const std::string& array) {
  if (array == "u" || array == "du") return c.recurrence == Recurrence::kWkv;
  if (array == "initial_state" || array == "d_initial_state") return c.initial_state;
  if (array == "final_state" || array == "d_final_state") return c.final_state;
  return array != "cu_seqlens" || !c.lengths.empty();
}

void draw_wkv(Problem& problem) {
  draw_forward(problem);
}

void draw_wkv_gradients(Problem& problem) {
  draw_forward(problem);
  const WkvCase& c = problem.as<WkvCase>();
  Generator generator(~c.seed);
  problem["d_o"] = generator.reals(c.B * c.T * c.H * c.V, -1, 1);
  // As large as q d_o, which d_o adds to the state's gradient.
  if (c.final_state) {
    problem["d_final_state"] =
        generator.reals(c.sequences() * c.H * c.K * c.V, -c.magnitude, c.magnitude);
  }
}

std::vector<std::int64_t> wkv_key_rows(const Support& support) {
  return support.levels("K", kChannels);
}

WkvCase ragged_wkv_case(const Support& support, Recurrence recurrence) {
  WkvCase c{.recurrence = recurrence, .B = 2, .T = 37, .H = 3};
  c.K = preferred(wkv_key_rows(support), 64);
  c.V = support.has("K != V") ? preferred(support.levels("V", kChannels), 100) : c.K;
  c.precision = precision_of(support.storages.front());
  return c;
}

Design<WkvCase> wkv_design(const Support& support) {
  const std::vector<bool> both = {false, true}, no = {false};
  Design<WkvCase> design;
  design.factor("T", support.levels("T", kLengths), &WkvCase::T);
  design.factor("K", wkv_key_rows(support), &WkvCase::K);
  if (support.has("K != V")) design.factor("V", support.levels("V", kChannels), &WkvCase::V);
  design.factor("decay",
                std::vector<Decay>{Decay::kMild, Decay::kNone, Decay::kStrong, Decay::kTotal,
                                   Decay::kStrongToken},
                &WkvCase::decay);
  design.factor("decay_per_head", both, &WkvCase::decay_per_head);
  design.factor(
      "states", support.has("states") ? both : no,
      [](WkvCase& c, bool states) { c.initial_state = c.final_state = states; },
      [](const WkvCase& c) { return c.initial_state && c.final_state; });
  design.factor("reverse", support.has("reverse") ? both : no, &WkvCase::reverse);
  design.factor("scale", std::vector<float>{1.0f, 0.125f}, &WkvCase::scale);
  design.factor(
      "magnitude", std::vector<float>{1.0f, kHuge, kTiny},
      [](WkvCase& c, float magnitude) { c.magnitude = magnitude; },
      [](const WkvCase& c) { return kind_of_magnitude(c.magnitude); });
  design.factor("precision", precisions_of(support.storages), &WkvCase::precision);
  design.exclude("decay", Decay::kStrongToken, "decay_per_head", true,
                 "a decay per head is the same for all tokens");
  return design;
}

WkvCase plain_wkv_case(const Support& support, Recurrence recurrence) {
  WkvCase c = ragged_wkv_case(support, recurrence);
  c.T = support.plain_steps > 0 ? support.plain_steps : 18;
  c.scale = 0.7f;  // differs from all other factors
  const std::vector<std::int64_t> K_sizes = wkv_key_rows(support);
  std::tie(c.K, c.V) =
      plain_sizes(K_sizes, support.has("K != V") ? support.levels("V", kChannels) : K_sizes, c.T);
  return c;
}

WkvProblem make_problem(const WkvCase& c) {
  return WkvProblem(c);
}

WkvGradProblem make_grad_problem(const WkvCase& c) {
  return WkvGradProblem(c);
}

}  // namespace ladder
