// A small autotuner that remembers, for each key, the fastest of several ways to compute the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "00_warmup/matmul.hpp"

namespace warmup {

// "int4_matmul M<=64 N=4096 K=4096 on NVIDIA H200". M, the number of rows, is rounded up to a power
// of 2 because it changes from call to call. N and K belong to a model, and are not rounded.
std::string key_of(const std::string& what, std::int64_t M, std::int64_t N, std::int64_t K,
                   const std::string& device);

struct Candidate {
  std::string name;  // one line, without tabs
  std::function<void()> launch;
};

// The cost of a candidate, to be minimised, in seconds or as a count.
using Cost = std::function<double(std::size_t candidate)>;

class Autotuner {
 public:
  // Reads `file`, if it exists. With an empty name no choice is kept. Throws std::invalid_argument
  // if the file is not an autotuner's, because it would be overwritten.
  explicit Autotuner(std::string file);

  // The index of the best candidate for this key. It is measured if the key is new, or if the file
  // names a candidate that is not among these. Throws std::invalid_argument without candidates, or
  // if the file cannot be written.
  std::size_t best(const std::string& key, const std::vector<Candidate>& candidates,
                   const Cost& cost);

 private:
  void save() const;

  std::string file_;
  std::map<std::string, std::string> names_;  // names of the best candidates, by key
};

// The median of some calls, in seconds, with CUDA events. The first call is not counted.
double seconds_of(const std::function<void()>& launch);

// The best candidate for these sizes, by the process's tuner, which uses `by_count` in the emulator
// and time elsewhere.
std::size_t tuned(const std::string& what, std::int64_t M, std::int64_t N, std::int64_t K,
                  const std::vector<Candidate>& candidates, const Cost& by_count);

// A kernel of this lesson, in which a tile of C is tile x tile, a thread computes side x side, and
// shared memory holds depth columns of A.
struct TileChoice {
  int tile, side, depth;
};
// All kernels, with the functions that launch them.
std::vector<std::pair<TileChoice, void (*)(const MatmulArgs&)>> tile_kernels();

// Counted cycles of the busiest of 132 SMs, one for 4 FMAs of a warp or a shared-memory request.
double cycles_by_count(const TileChoice& choice, std::int64_t M, std::int64_t N, std::int64_t K);

}  // namespace warmup
