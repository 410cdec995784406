// 21 autotuner: C = act(A B + bias), by the fastest kernel for the sizes.
// Change: rewrite. Tile, side and depth are template parameters. A host class tries a list of
//         kernels, once for each key, and keeps the names of the fastest in a file.
// Why:    the best tile depends on the sizes and on the GPU, so it has to be measured.
// Needs:  any sizes. The first call for a key is not recorded in a CUDA graph.
//         LADDER_AUTOTUNER_FILE names the file. Without it no choice is kept.
// Costs:  the first call for a key launches every candidate six times. All candidates are compiled.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "00_warmup/21_autotuner/autotuner.hpp"
#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

// ---- The candidates of the matrix product ----

// Lesson 15b's kernel. A thread's rows and columns are kThreadsAcross apart.
template <int kTile, int kSide, int kDepth>
__global__ void __launch_bounds__(kTile / kSide * (kTile / kSide))
    matmul_candidate_kernel(const MatmulArgs args) {
  constexpr int kThreadsAcross = kTile / kSide, kThreads = kThreadsAcross * kThreadsAcross;
  __shared__ float a_smem[kTile][kDepth + 1], b_smem[kDepth][kTile];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const std::int64_t first_m = blockIdx.x / tiles_across * kTile;
  const std::int64_t first_n = blockIdx.x % tiles_across * kTile;
  const int row = threadIdx.x / kThreadsAcross, column = threadIdx.x % kThreadsAcross;

  float sum[kSide][kSide] = {};
  for (std::int64_t first_k = 0; first_k < K; first_k += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
      const std::int64_t m = first_m + i / kDepth, a_k = first_k + i % kDepth;
      const std::int64_t b_k = first_k + i / kTile, n = first_n + i % kTile;
      a_smem[i / kDepth][i % kDepth] = m < M && a_k < K ? args.a[m * K + a_k] : 0.0f;
      b_smem[i / kTile][i % kTile] = b_k < K && n < N ? args.b[b_k * N + n] : 0.0f;
    }
    __syncthreads();  // both tiles are complete, so all threads may read them
    for (int k = 0; k < kDepth; ++k) {
      float a[kSide], b[kSide];
      for (int i = 0; i < kSide; ++i) {
        a[i] = a_smem[row + i * kThreadsAcross][k];
        b[i] = b_smem[k][column + i * kThreadsAcross];
      }
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < kSide; ++j)
          sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const std::int64_t m = first_m + row + i * kThreadsAcross;
      const std::int64_t n = first_n + column + j * kThreadsAcross;
      if (m < M && n < N) args.c[m * N + n] = finished(args, sum[i][j], n);
    }
  }
}

template <int kTile, int kSide, int kDepth>
void matmul_candidate(const MatmulArgs& args) {
  constexpr int kThreads = (kTile / kSide) * (kTile / kSide);
  matmul_candidate_kernel<kTile, kSide, kDepth>
      <<<blocks_of_tiles(args, kTile, kTile), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <int kTile, int kSide, int kDepth>
constexpr std::pair<TileChoice, void (*)(const MatmulArgs&)> kKernel = {
    {kTile, kSide, kDepth}, matmul_candidate<kTile, kSide, kDepth>};

constexpr std::array kKernels = {kKernel<16, 1, 16>, kKernel<32, 1, 32>, kKernel<32, 2, 16>,
                                 kKernel<64, 4, 8>,  kKernel<64, 4, 16>, kKernel<64, 8, 8>,
                                 kKernel<128, 8, 8>, kKernel<128, 8, 16>};

constexpr const char* kEmulator = "CUDA emulator";  // a device whose times do not apply to a GPU
constexpr const char* kMagic = "kernel-ladder autotuner 1";  // the first line of its file

}  // namespace

// ---- The tuner ----

std::string key_of(const std::string& what, std::int64_t M, std::int64_t N, std::int64_t K,
                   const std::string& device) {
  std::int64_t rows = 1;
  // TODO(1): roughly 2 lines; make rows the least power of 2 that is M or more;
  // TODO(1): budget: no access to memory
  std::string key = what + " M<=" + std::to_string(rows);
  // TODO(1): roughly 1 line; append the other two sizes to key, as in " N=64 K=32", so that no two
  // TODO(1): pairs of them look the same
  return key + " on " + device;
}

Autotuner::Autotuner(std::string file) : file_(std::move(file)) {
  if (file_.empty() || !std::filesystem::exists(file_)) return;
  std::ifstream in(file_);
  std::string line;
  std::getline(in, line);
  ladder::require(line == kMagic, file_ + " does not begin with '" + kMagic +
                                      "'; allowed: a file of the autotuner, or a new one");
  while (std::getline(in, line)) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) names_[line.substr(0, tab)] = line.substr(tab + 1);
  }
}

std::size_t Autotuner::best(const std::string& key, const std::vector<Candidate>& candidates,
                            const Cost& cost) {
  ladder::require(!candidates.empty(), "candidates has 0 elements; allowed: 1 or more");
  // TODO(2): roughly 4 lines; if names_ has a candidate's name for this key, return the candidate's
  // TODO(2): index; budget: no call of cost
  std::size_t best = 0;
  // TODO(2): roughly 7 lines; otherwise make best the index of the candidate that costs least (the
  // TODO(2): first of equals), and record its name; budget: one call of cost for each candidate
  save();
  return best;
}

// Writes a second file first, so that a reader sees the old file or the new one, never a part.
void Autotuner::save() const {
  if (file_.empty()) return;
  const std::string beside = file_ + ".new";
  std::ofstream out(beside);
  out << kMagic << '\n';
  for (const auto& [key, name] : names_)
    out << key << '\t' << name << '\n';
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(beside, file_, error);
  ladder::require(out && !error, file_ +
                                     " cannot be written; allowed: a file in a folder that "
                                     "exists, or LADDER_AUTOTUNER_FILE not set");
}

double seconds_of(const std::function<void()>& launch) {
  constexpr int kCalls = 5;
  std::array<float, kCalls> milliseconds{};
  cudaEvent_t begin{}, end{};
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  launch();  // loads the kernel, and wakes the GPU
  for (float& each : milliseconds) {
    CUDA_CHECK(cudaEventRecord(begin));
    launch();
    CUDA_CHECK(cudaEventRecord(end));
    CUDA_CHECK(cudaEventSynchronize(end));
    CUDA_CHECK(cudaEventElapsedTime(&each, begin, end));
  }
  CUDA_CHECK(cudaEventDestroy(begin));
  CUDA_CHECK(cudaEventDestroy(end));
  std::nth_element(milliseconds.begin(), milliseconds.begin() + kCalls / 2, milliseconds.end());
  return milliseconds[kCalls / 2] / 1e3;
}

std::vector<std::pair<TileChoice, void (*)(const MatmulArgs&)>> tile_kernels() {
  return {kKernels.begin(), kKernels.end()};
}

double cycles_by_count(const TileChoice& choice, std::int64_t M, std::int64_t N, std::int64_t K) {
  constexpr double kMultiprocessors = 132, kWarp = 32;
  const auto up = [](std::int64_t size, int to) { return (size + to - 1) / to; };
  const auto blocks = static_cast<double>(up(M, choice.tile) * up(N, choice.tile));
  const double turns = std::ceil(blocks / kMultiprocessors);
  const double threads = choice.tile / choice.side * (choice.tile / choice.side);
  const auto steps = static_cast<double>(up(K, choice.depth) * choice.depth);
  const double multiply_adds = choice.tile * choice.tile / kWarp * steps;
  const double reads = 2.0 * choice.side * threads / kWarp * steps;
  return turns * std::max(multiply_adds / 4, reads);
}

std::size_t tuned(const std::string& what, std::int64_t M, std::int64_t N, std::int64_t K,
                  const std::vector<Candidate>& candidates, const Cost& by_count) {
  const char* file = std::getenv("LADDER_AUTOTUNER_FILE");
  static Autotuner tuner(file != nullptr ? file : "");
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  int device = 0;
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  const std::string name = properties.name;
  const Cost by_time = [&](std::size_t i) { return seconds_of(candidates[i].launch); };
  return tuner.best(key_of(what, M, N, K, name), candidates,
                    name == kEmulator ? by_count : by_time);
}

namespace {

// ---- Launcher ----

void matmul_tuned(const MatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  std::vector<Candidate> candidates;
  for (const auto& [choice, launch] : kKernels) {
    candidates.push_back({"tile " + std::to_string(choice.tile) + ", side " +
                              std::to_string(choice.side) + ", depth " +
                              std::to_string(choice.depth),
                          [&args, launch = launch] { launch(args); }});
  }
  const std::size_t best = tuned("matmul", args.M, args.N, args.K, candidates, [&](std::size_t i) {
    return cycles_by_count(kKernels[i].first, args.M, args.N, args.K);
  });
  candidates[best].launch();
}

const ladder::Registration matmul_tuned_registration{
    {.name = "matmul_tuned",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_tuned)}};

}  // namespace
}  // namespace warmup
