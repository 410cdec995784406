// A small autotuner: of several ways to compute the same it remembers the fastest, for each key.
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

// "int4_matmul M<=64 N=4096 K=4096 on NVIDIA H200". M, the number of rows, is rounded up to a power of 2: it changes from call to call.
// N and K belong to a model, and are kept as they are.
std::string key_of(const std::string& what, std::int64_t M, std::int64_t N, std::int64_t K,
                   const std::string& device);

struct Candidate {
  std::string name;  // one line, without tabs
  std::function<void()> launch;
};

// What a candidate costs: the less the better. Seconds, or a count.
using Cost = std::function<double(std::size_t candidate)>;

class Autotuner {
 public:
  // Reads what `file` has, if there is such a file; with an empty name nothing is kept. std::invalid_argument if it is a file of
  // something else, which would be overwritten.
  explicit Autotuner(std::string file);

  // The number of the best candidate for this key. It is measured when the key is new, or when the file names a candidate that is not
  // among these. std::invalid_argument without candidates, or if the file cannot be written.
  std::size_t best(const std::string& key, const std::vector<Candidate>& candidates,
                   const Cost& cost);

 private:
  void save() const;

  std::string file_;
  std::map<std::string, std::string> names_;  // of the best candidates, by key
};

// The median of some calls, in seconds, with CUDA events; the first call is not counted.
double seconds_of(const std::function<void()>& launch);

// The best of these for these sizes, by the one tuner of the process: by time, in the emulator by count.
std::size_t tuned(const std::string& what, std::int64_t M, std::int64_t N, std::int64_t K,
                  const std::vector<Candidate>& candidates, const Cost& by_count);

// A kernel of this lesson: a tile of C has tile x tile elements, a thread side x side of them, and shared memory depth columns of A.
struct TileChoice {
  int tile, side, depth;
};
// All of them, with the functions that launch them.
std::vector<std::pair<TileChoice, void (*)(const MatmulArgs&)>> tile_kernels();

// What its busiest multiprocessor of 132 needs, by count, in cycles: 4 multiply-adds of a warp, or one request to shared memory, in each.
double cycles_by_count(const TileChoice& choice, std::int64_t M, std::int64_t N, std::int64_t K);

}  // namespace warmup
