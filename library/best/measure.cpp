// Times every implementation that may be chosen for a shape, on both sides of every rule. Writes
// all times as JSON, and a Markdown table of the winners. All results must agree; the tests check
// that they are right.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/core/device.hpp"
#include "common/core/registry.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/decay.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/program/command_line.hpp"
#include "common/program/selection.hpp"
#include "common/program/timing.hpp"
#include "library/best/ring.hpp"

namespace {

using ladder::bfloat16;
using ladder::Device;
using ladder::Implementation;
using ladder::Precision;
using ladder::Recurrence;
using ladder::best::Ring;
using ladder::program::Timing;

// ---- What is measured ----

enum class Operator { kWkv, kGla, kCausalDotProduct, kLinearAttention };
constexpr const char* kOperatorNames[] = {"wkv", "gla", "causal_dot_product", "linear_attention"};

// B = 1, because the kernels see B * H only as a product.
struct Shape {
  Operator op;
  Precision precision;
  std::int64_t T, H, K, V;
  bool states() const { return T == 1 && op <= Operator::kGla; }  // decode
};

std::string to_string(const Shape& s) {
  return fmt::format("{} {} T={} H={} K={} V={}", kOperatorNames[static_cast<int>(s.op)],
                     to_string(s.precision), s.T, s.H, s.K, s.V);
}

using Sizes = std::vector<std::int64_t>;

// Limits of a shape: elements of one tensor, and updates of state elements.
constexpr double kMostElements = 1 << 26, kMostUpdates = 1.0 * (1ll << 33);

void add(std::vector<Shape>& to, Operator op, const std::vector<Precision>& precisions,
         const Sizes& lengths, const Sizes& heads,
         const std::vector<std::pair<std::int64_t, std::int64_t>>& widths) {
  for (const Precision precision : precisions)
    for (const auto& [K, V] : widths)
      for (const std::int64_t H : heads)
        for (const std::int64_t T : lengths) {
          const double rows = 1.0 * H * T;
          if (rows * std::max(K, V) <= kMostElements && rows * K * V <= kMostUpdates)
            to.push_back({op, precision, T, H, K, V});
        }
}

std::vector<std::pair<std::int64_t, std::int64_t>> square(const Sizes& sizes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  for (const std::int64_t size : sizes)
    widths.emplace_back(size, size);
  return widths;
}

std::vector<Shape> all_shapes() {
  constexpr Precision kFp32 = Precision::kFp32, kBf16 = Precision::kBf16,
                      kMixed = Precision::kBf16Fp32Decay;
  const Sizes heads = {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::vector<Shape> shapes;
  const Sizes lengths = {1, 8, 16, 32, 54, 64, 96, 128, 256, 512, 1024, 4096};
  // The widths of costs.inc: full ones, words of four elements, single elements. Then widths that
  // are in no fit.
  add(shapes, Operator::kWkv, {kFp32, kBf16}, lengths, heads, square({32, 64, 128, 256}));
  add(shapes, Operator::kWkv, {kFp32, kBf16}, lengths, heads, square({36, 100, 65}));
  add(shapes, Operator::kWkv, {kBf16}, lengths, {4, 16, 32, 64, 128, 512}, square({28, 196}));
  add(shapes, Operator::kWkv, {kFp32, kBf16}, lengths, {4, 16, 32, 64, 128, 512},
      square({31, 63, 201}));
  add(shapes, Operator::kWkv, {kMixed}, {1, 16, 54, 64, 96, 128, 512, 4096}, {1, 8, 32, 128, 512},
      square({64, 128, 256, 100, 65}));
  add(shapes, Operator::kWkv, {kFp32, kBf16}, {1, 16, 64, 128, 1024}, {4, 32, 128, 512},
      {{64, 256}, {256, 64}, {256, 512}, {48, 48}, {96, 96}, {192, 192}, {60, 60}, {300, 64}});
  add(shapes, Operator::kWkv, {kFp32, kBf16}, {1, 16, 64, 128, 1024},
      {4, 32, 128, 256, 384, 512, 768}, square({4, 8, 16}));
  // Lengths and heads between those of the fit, and past them.
  add(shapes, Operator::kWkv, {kFp32, kBf16},
      {2, 4, 40, 72, 112, 120, 160, 192, 200, 320, 640, 768, 1536, 2048}, {4, 24, 48, 96, 192},
      square({64, 128}));
  add(shapes, Operator::kWkv, {kFp32, kBf16}, {16384, 65536}, {1, 4, 16, 32, 64},
      square({64, 128}));
  add(shapes, Operator::kWkv, {kFp32, kBf16}, {1, 2, 16, 64}, {2048, 4096},
      square({32, 64, 128, 256}));
  add(shapes, Operator::kGla, {kFp32, kBf16}, {1, 16, 32, 54, 64, 96, 128, 256, 1024, 4096},
      {1, 8, 32, 64, 128, 256, 512}, {{64, 64}, {128, 128}, {256, 256}, {256, 512}, {100, 100}});
  add(shapes, Operator::kGla, {kMixed}, {1, 16, 64, 128, 1024}, {1, 32, 512},
      square({64, 128, 100}));
  add(shapes, Operator::kCausalDotProduct, {kFp32},
      {1, 2, 8, 16, 32, 54, 64, 128, 256, 512, 1024, 2048, 4096}, heads,
      square({32, 64, 128, 256, 100}));
  add(shapes, Operator::kLinearAttention, {kFp32}, {1, 8, 16, 32, 64, 128, 256, 512, 1024, 4096},
      heads, {{32, 32}, {64, 64}, {128, 128}, {256, 256}, {100, 100}, {36, 36}, {64, 256}});
  add(shapes, Operator::kLinearAttention, {kFp32}, {40, 100, 192, 320, 768, 2048},
      {2, 12, 24, 48, 96, 192}, square({64, 128}));
  // If time runs out, the missing shapes are a random choice.
  std::shuffle(shapes.begin(), shapes.end(), std::mt19937(1));
  return shapes;
}

// Not measured: the first CUDA chapters' kernels where they are hopelessly slow, and kernels that
// only pass a shape on to another one of these.
bool takes_part(const Implementation& i, const Shape& s) {
  const bool early = i.chapter < "06" || i.name == "wkv_shared_mem";
  const bool another = i.name == "wkv_recurrent" || i.name == "linear_attention_shared_mem" ||
                       i.name == "wkv_chunkwise_time_parallel";
  return i.device == ladder::DeviceKind::kCuda && (!early || s.T <= 64) && !another;
}

// ---- Memory: no cache holds the tensors of a call when it begins ----

class Pool {
 public:
  Pool(Device& device, std::size_t bytes)
      : base_(static_cast<unsigned char*>(device.allocate(bytes))), bytes_(bytes), ring_(bytes) {}

  template <typename Element>
  Element* take(std::int64_t count) {
    return reinterpret_cast<Element*>(base_ + ring_.take(count * sizeof(Element)));
  }
  void reserve(std::size_t bytes) { ring_.reserve(bytes); }
  // Filled with one block of elements, repeated.
  template <typename Element>
  void fill(Device& device, const std::vector<Element>& block) {
    const std::size_t block_bytes = block.size() * sizeof(Element);
    for (std::size_t begin = 0; begin < bytes_; begin += block_bytes)
      device.upload(base_ + begin, block.data(), std::min(block_bytes, bytes_ - begin));
  }

 private:
  unsigned char* base_;
  std::size_t bytes_;
  Ring ring_;
};

struct Memory {
  Pool fp32, bf16, fp32_decays, bf16_decays, outputs;

  Memory(Device& device, double scale)
      : fp32(device, size(3.0 * scale)),
        bf16(device, size(1.5 * scale)),
        fp32_decays(device, size(1.0 * scale)),
        bf16_decays(device, size(0.5 * scale)),
        outputs(device, size(1.5 * scale)) {
    constexpr std::size_t kBlock = (std::size_t{1} << 22) - 3;  // so that heads differ
    std::mt19937 random(1);
    std::uniform_real_distribution<float> value(-1, 1), raw(-4, -1);
    std::vector<float> values(kBlock), decays(kBlock);
    for (float& x : values)
      x = value(random);
    for (float& x : decays)
      x = ladder::log_decay_from_rwkv(raw(random));
    fp32.fill(device, values);
    fp32_decays.fill(device, decays);
    std::vector<bfloat16> half(kBlock);
    std::transform(values.begin(), values.end(), half.begin(), ladder::to_bfloat16);
    bf16.fill(device, half);
    std::transform(decays.begin(), decays.end(), half.begin(), ladder::to_bfloat16);
    bf16_decays.fill(device, half);
  }

  template <typename Element>
  Pool& values() {
    if constexpr (sizeof(Element) == sizeof(float)) {
      return fp32;
    } else {
      return bf16;
    }
  }
  template <typename Element>
  Pool& decays() {
    if constexpr (sizeof(Element) == sizeof(float)) {
      return fp32_decays;
    } else {
      return bf16_decays;
    }
  }

 private:
  static std::size_t size(double gigabytes) {
    return static_cast<std::size_t>(gigabytes * (1 << 30)) / 256 * 256;
  }
};

// ---- A shape's arguments ----

template <typename Args>
Args fresh_wkv(const Shape& s, Memory& memory) {
  using Element = ladder::Pointee<decltype(Args::q)>;
  using LogW = ladder::Pointee<decltype(Args::log_w)>;
  Args args;
  args.B = 1;
  args.T = s.T;
  args.H = s.H;
  args.K = s.K;
  args.V = s.V;
  const std::int64_t qk = s.T * s.H * s.K, v = s.T * s.H * s.V, state = s.H * s.K * s.V;
  Pool& values = memory.values<Element>();
  args.q = values.take<Element>(qk);
  args.k = values.take<Element>(qk);
  args.v = values.take<Element>(v);
  args.log_w = memory.decays<LogW>().template take<LogW>(qk);
  if (s.op == Operator::kWkv) args.u = values.take<Element>(s.H * s.K);
  memory.outputs.reserve(Ring::aligned(v * sizeof(Element)) +
                         (s.states() ? Ring::aligned(state * sizeof(float)) : 0));
  args.o = memory.outputs.take<Element>(v);
  if (s.states()) {
    args.initial_state = memory.fp32.take<float>(state);
    args.final_state = memory.outputs.take<float>(state);
  }
  args.log_w_stride_B = qk;
  args.log_w_stride_T = s.H * s.K;
  return args;
}

template <typename Args>
Args fresh_linear_attention(const Shape& s, Memory& memory) {
  using Element = ladder::Pointee<decltype(Args::q)>;
  Args args;
  args.B = 1;
  args.T_q = args.T_k = s.T;
  args.H = s.H;
  args.K = s.K;
  args.V = s.V;
  Pool& values = memory.values<Element>();
  args.q = values.take<Element>(s.T * s.H * s.K);
  args.k = values.take<Element>(s.T * s.H * s.K);
  args.v = values.take<Element>(s.T * s.H * s.V);
  args.o = memory.outputs.take<Element>(s.T * s.H * s.V);
  if (s.op == Operator::kCausalDotProduct) {
    args.feature_map = ladder::FeatureMap::kIdentity;
    args.normalize = false;
  }
  return args;
}

// ---- One shape ----

struct Result {
  std::string name;
  std::string refusal;  // empty if it ran
  double distance = 0;  // relative, between its outputs and the first implementation's
  Timing timing;
};

// The elements at either end of an output that are compared, at most.
constexpr std::int64_t kCompared = 1 << 15;

template <typename Element>
void append(Device& device, std::vector<float>& to, const Element* from, std::int64_t count) {
  std::vector<Element> ends(std::min(count, kCompared));
  for (const Element* part : {from, from + count - ends.size()}) {
    device.download(ends.data(), part, ends.size() * sizeof(Element));
    for (const Element x : ends)
      to.push_back(ladder::to_float(x));
  }
}

template <typename Element, typename LogW>
std::vector<float> outputs_of(Device& device, const ladder::BasicWkvArgs<Element, LogW>& args) {
  std::vector<float> outputs;
  append(device, outputs, args.o, args.T * args.H * args.V);
  if (args.final_state != nullptr)
    append(device, outputs, args.final_state, args.H * args.K * args.V);
  return outputs;
}
template <typename Element>
std::vector<float> outputs_of(Device& device,
                              const ladder::BasicLinearAttentionArgs<Element>& args) {
  std::vector<float> outputs;
  append(device, outputs, args.o, args.T_q * args.H * args.V);
  return outputs;
}

// Infinite if an output is not finite.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return INFINITY;
    difference += (1.0 * a[i] - b[i]) * (1.0 * a[i] - b[i]);
    size += 1.0 * b[i] * b[i];
  }
  return std::sqrt(difference / std::max(size, 1e-30));
}

// The least duration of a sample in seconds, and the limits of its number of calls.
constexpr double kSampleSeconds = 2e-4;
constexpr int kFewestCalls = 3, kMostCalls = 64;
// A kernel that is slower than the fastest by this factor gets only one sample.
constexpr double kHopeless = 2.5;
// Samples of the others, taken in turn; more for two that are as close as this.
constexpr int kRounds = 4, kMoreRounds = 7;
constexpr double kClose = 1.06;

template <typename Args>
std::vector<Result> measure(
    Device& device,
    const std::vector<std::pair<std::string, std::function<void(const Args&)>>>& candidates,
    const std::function<Args()>& fresh) {
  struct Runner {
    const std::function<void(const Args&)>& launch;
    Result& result;
    double estimate = 0;
    std::vector<double> samples = {};
  };
  std::vector<Result> results;
  results.reserve(candidates.size());
  std::vector<Runner> runners;
  const Args same = fresh();
  std::vector<float> first;
  const auto sample = [&](const Runner& runner, int calls) {
    const ladder::Recording recording = device.record([&] {
      for (int i = 0; i < calls; ++i)
        runner.launch(fresh());
    });
    return device.time(recording.replay) / calls;
  };
  for (const auto& [name, launch] : candidates) {
    Result& result = results.emplace_back();
    result.name = name;
    try {
      launch(same);  // loads the kernel
      device.synchronize();
    } catch (const std::invalid_argument& refusal) {
      result.refusal = refusal.what();
      continue;
    }
    const std::vector<float> outputs = outputs_of(device, same);
    if (first.empty()) first = outputs;
    result.distance = distance(outputs, first);
    Runner runner{launch, result};
    runner.estimate = sample(runner, 1);
    if (runner.estimate < kSampleSeconds) runner.estimate = sample(runner, 12);
    runners.push_back(runner);
  }
  if (runners.empty()) return results;
  double fastest = INFINITY;
  for (const Runner& runner : runners)
    fastest = std::min(fastest, runner.estimate);
  const int calls =
      std::clamp(static_cast<int>(kSampleSeconds / fastest) + 1, kFewestCalls, kMostCalls);
  const auto sample_rounds = [&](int rounds, double bound) {
    for (int round = 0; round < rounds; ++round)
      for (Runner& runner : runners)
        if (runner.estimate <= bound) runner.samples.push_back(sample(runner, calls));
  };
  const auto summarise = [&] {
    for (Runner& runner : runners) {
      runner.result.timing = ladder::program::summarise(
          runner.samples.empty() ? std::vector{runner.estimate} : runner.samples);
      runner.estimate = runner.result.timing.seconds;
    }
    fastest = INFINITY;
    for (const Runner& runner : runners)
      fastest = std::min(fastest, runner.estimate);
  };
  sample_rounds(kRounds, kHopeless * fastest);
  summarise();
  const auto close = std::count_if(runners.begin(), runners.end(),
                                   [&](const Runner& r) { return r.estimate <= kClose * fastest; });
  if (close > 1) {
    sample_rounds(kMoreRounds, kClose * fastest);
    summarise();
  }
  return results;
}

template <typename Args, typename LauncherOf>
std::vector<Result> measure(Device& device, const Shape& s, const std::function<Args()>& fresh,
                            const LauncherOf& launcher_of) {
  std::vector<std::pair<std::string, std::function<void(const Args&)>>> candidates;
  for (const Implementation& each : ladder::implementations())
    if (launcher_of(each) != nullptr && takes_part(each, s))
      candidates.emplace_back(each.name, launcher_of(each));
  return measure<Args>(device, candidates, fresh);
}

std::vector<Result> measure(Device& device, const Shape& s, Memory& memory) {
  if (s.op <= Operator::kGla) {
    const auto recurrence = s.op == Operator::kGla ? Recurrence::kGla : Recurrence::kWkv;
    return ladder::with_forward(recurrence, s.precision, [&]<typename Op, typename Args>() {
      return measure<Args>(
          device, s, [&] { return fresh_wkv<Args>(s, memory); },
          [](const Implementation& i) { return ladder::launcher<Op, Args>(i); });
    });
  }
  using Op = ladder::LinearAttention;
  return ladder::with_storage<Op>(to_string(s.precision), [&]<typename Args>() {
    return measure<Args>(
        device, s, [&] { return fresh_linear_attention<Args>(s, memory); },
        [](const Implementation& i) { return ladder::launcher<Op, Args>(i); });
  });
}

// ---- Reports ----

bool is_best(const std::string& name) {
  return name.rfind("best_", 0) == 0;
}

nlohmann::json to_json(const Shape& s, const std::vector<Result>& results) {
  nlohmann::json json = {{"operator", kOperatorNames[static_cast<int>(s.op)]},
                         {"precision", to_string(s.precision)},
                         {"B", 1},
                         {"T", s.T},
                         {"H", s.H},
                         {"K", s.K},
                         {"V", s.V},
                         {"states", s.states()},
                         {"rows", nlohmann::json::array()}};
  for (const Result& r : results) {
    nlohmann::json row = {{"implementation", r.name}};
    if (!r.refusal.empty()) {
      row["refusal"] = r.refusal;
    } else {
      row["seconds"] = r.timing.seconds;
      row["spread"] = r.timing.spread;
      row["samples"] = r.timing.samples;
      row["distance"] =
          std::isfinite(r.distance) ? nlohmann::json(r.distance) : nlohmann::json("infinite");
    }
    json["rows"].push_back(row);
  }
  return json;
}

const Result* fastest(const std::vector<Result>& results, bool best) {
  const Result* found = nullptr;
  for (const Result& r : results) {
    if (!r.refusal.empty() || is_best(r.name) != best) continue;
    if (found == nullptr || r.timing.seconds < found->timing.seconds) found = &r;
  }
  return found;
}

std::string markdown(const std::vector<std::pair<Shape, std::vector<Result>>>& measured) {
  auto sorted = measured;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Shape& s) {
      return std::tuple(s.op, s.precision, s.K, s.V, s.H, s.T);
    };
    return key(a.first) < key(b.first);
  });
  std::string text =
      "| shape | fastest | us | next | us | best_* | us | best / fastest |\n"
      "|---|---|---:|---|---:|---|---:|---:|\n";
  for (const auto& [shape, results] : sorted) {
    const Result* winner = fastest(results, false);
    if (winner == nullptr) continue;
    std::vector<Result> others;
    std::copy_if(results.begin(), results.end(), std::back_inserter(others),
                 [&](const Result& r) { return r.name != winner->name; });
    const Result* next = fastest(others, false);
    const Result* best = fastest(results, true);
    const auto cell = [](const Result* r) {
      return r == nullptr ? std::string("| - | - ")
                          : fmt::format("| {} | {:.2f} ", r->name, 1e6 * r->timing.seconds);
    };
    text += fmt::format(
        "| {} {}{}{}| {} |\n", to_string(shape), cell(winner), cell(next), cell(best),
        best == nullptr ? "-"
                        : fmt::format("{:.3f}", best->timing.seconds / winner->timing.seconds));
  }
  return text;
}

// How far two implementations may differ: with bf16 products on tensor cores, or with fp32 from
// three products.
double allowed_distance(Precision precision) {
  return precision == Precision::kFp32 ? 1e-4 : 2e-2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times what best_wkv, best_gla and best_linear_attention choose from.",
               "best_measure");
  std::string json_path = "best.json", table_path = "best.md", only;
  double most_seconds = 200, memory_scale = 1, allowed = 1.03;
  std::int64_t most_rows = INT64_MAX;
  std::map<std::string, std::string> conditions;
  const CLI::Option *json_option = app.add_option("--json", json_path, "Where all times go")
                                       ->capture_default_str(),
                    *table_option =
                        app.add_option("--table", table_path, "Where the table of winners goes")
                            ->capture_default_str();
  app.add_option("--operator", only,
                 "Only this one: wkv, gla, causal_dot_product, linear_attention");
  app.add_option("--seconds", most_seconds, "No new shape after so long")->capture_default_str();
  app.add_option("--memory", memory_scale, "Times 7.5 GiB on the device")->capture_default_str();
  app.add_option("--rows", most_rows, "Only shapes of at most so many rows T * H");
  app.add_option("--allowed", allowed, "best_* may take this times the fastest")
      ->capture_default_str();
  app.add_option("--condition", conditions, "key value, kept in the JSON (commit, driver, ...)");
  return ladder::program::run_program(app, argc, argv, [&] {
    ladder::program::require_writable(*json_option);
    ladder::program::require_writable(*table_option);
    Device& device = ladder::device(ladder::DeviceKind::kCuda);
    Memory memory(device, memory_scale);
    std::vector<Shape> shapes = all_shapes();
    std::erase_if(shapes, [&](const Shape& s) {
      return (!only.empty() && only != kOperatorNames[static_cast<int>(s.op)]) ||
             s.T * s.H > most_rows;
    });
    if (shapes.empty())
      throw std::invalid_argument(
          "--operator or --rows leaves no shape; allowed: wkv, gla, causal_dot_product, "
          "linear_attention, and rows from 1");
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    std::vector<std::pair<Shape, std::vector<Result>>> measured;
    nlohmann::json json = {{"schema", "kernel-ladder/best/1"}, {"date", ladder::program::today()},
                           {"device", device.name()},          {"back_end", device.back_end()},
                           {"conditions", conditions},         {"shapes", nlohmann::json::array()}};
    int wrong = 0, slower = 0, judged = 0;
    double worst = 0;
    for (const Shape& shape : shapes) {
      if (elapsed() > most_seconds) break;
      const std::vector<Result> results = measure(device, shape, memory);
      for (const Result& r : results) {
        if (r.refusal.empty() && !(r.distance <= allowed_distance(shape.precision))) {
          fmt::print("DIFFERS: {} on {}: {:.2e} from {}\n", r.name, to_string(shape), r.distance,
                     results.front().name);
          ++wrong;
        }
      }
      const Result *best = fastest(results, true), *winner = fastest(results, false);
      if (best != nullptr && winner != nullptr) {
        const double ratio = best->timing.seconds / winner->timing.seconds;
        worst = std::max(worst, ratio);
        ++judged;
        if (ratio > allowed) {
          ++slower;
          fmt::print("SLOWER: {} takes {:.2f} us on {}, {} {:.2f}: {:.3f}\n", best->name,
                     1e6 * best->timing.seconds, to_string(shape), winner->name,
                     1e6 * winner->timing.seconds, ratio);
        }
      }
      json["shapes"].push_back(to_json(shape, results));
      measured.emplace_back(shape, results);
      if (measured.size() % 100 == 0) {
        fmt::print("{} of {} shapes, {:.0f} s\n", measured.size(), shapes.size(), elapsed());
        std::fflush(stdout);
      }
    }
    fmt::print(
        "{} of {} shapes in {:.0f} s; {} results differ; best_* judged on {}, slower than {} x the "
        "fastest on {}, worst {:.3f}\n",
        measured.size(), shapes.size(), elapsed(), wrong, judged, allowed, slower, worst);
    ladder::program::write_file(json_path, json.dump(1) + "\n");
    ladder::program::write_file(table_path, markdown(measured));
    return wrong == 0 ? 0 : ladder::program::kWrongResult;
  });
}
