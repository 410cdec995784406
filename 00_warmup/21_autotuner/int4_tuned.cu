// 21 autotuner, step 2: C = A W with 4-bit weights, by the fastest kernel for the sizes.
// Change: the candidates are the launchers of lessons 20b and 20c.
// Why:    whether K is split, and how splits are added, depends on the sizes and on the GPU.
// Needs:  as 20b. The first call for a key is not recorded in a CUDA graph.
// Costs:  as step 1. A result is repeatable only if the best candidate's is.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "00_warmup/21_autotuner/autotuner.hpp"
#include "00_warmup/int4_kernel.hpp"
#include "00_warmup/low_bit.hpp"
#include "00_warmup/split_k_kernel.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"

namespace warmup {
namespace {

// Both accept the same groups.
constexpr std::pair<const char*, void (*)(const LowBitArgs<4>&)> kLowBitKernels[] = {
    {"a row", int4_row},
    {"splits, atomics", int4_split_atomic},
    {"splits, second pass", int4_split_second_pass}};

void int4_tuned(const LowBitArgs<4>& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  std::vector<Candidate> candidates;
  for (const auto& [name, launch] : kLowBitKernels)
    candidates.push_back({name, [&args, launch = launch] { launch(args); }});
  // Counts the k of the busiest block slot, of two per SM. A further launch counts as kLaunch.
  const auto by_count = [&](std::size_t i) {
    constexpr std::int64_t kPlaces = 2 * 132, kSplit = 1024, kLaunch = 1024;
    const std::int64_t blocks = args.M * ((args.N + 31) / 32), most = args.K / kSplit + 1;
    const auto launches = static_cast<std::int64_t>(i);  // after the first
    const std::int64_t splits =
        launches == 0 ? 1 : std::clamp<std::int64_t>(kPlaces / blocks, 1, most);
    const std::int64_t turns = (blocks * splits + kPlaces - 1) / kPlaces;
    return static_cast<double>(turns * (args.K / splits) + launches * kLaunch);
  };
  candidates[tuned("int4_matmul", args.M, args.N, args.K, candidates, by_count)].launch();
}

const ladder::Registration int4_tuned_registration{
    {.name = "int4_tuned",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<LowBit<4>>(int4_tuned)}};

}  // namespace
}  // namespace warmup
