// What the tests of chapter 02 count where a result is right either way: the calls of exp, by thread, and what the compiler says of loops.
// For test.cpp alone: a program has one.
#pragma once

#include <omp.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace openmp {

constexpr int kMostThreads = 64;

// exp calls of each thread of an OpenMP team, by its number.
inline std::array<std::atomic<long>, kMostThreads> exp_calls{};

// Runs the implementation once with so many threads, and judges the result. Returns the number of exp calls of each thread.
inline std::array<long, kMostThreads> calls_of_exp(const std::string& implementation,
                                                   const ladder::WkvCase& c, int threads) {
  const auto problem = ladder::make_problem(c);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  for (auto& count : exp_calls)
    count = 0;
  const auto outputs = ladder::run(ladder::find_implementation(implementation), problem);
  std::array<long, kMostThreads> counted{};
  for (int n = 0; n < kMostThreads; ++n)
    counted[n] = exp_calls[n];
  omp_set_num_threads(before);
  EXPECT_TRUE(ladder::testing::is_right(problem, outputs));
  return counted;
}

inline long all(const std::array<long, kMostThreads>& calls) {
  long sum = 0;
  for (const long count : calls)
    sum += count;
  return sum;
}

inline int threads_that_worked(const std::array<long, kMostThreads>& calls) {
  int threads = 0;
  for (const long count : calls)
    threads += count > 0;
  return threads;
}

// A count is part of what is asked for.
inline void expect_count(const std::string& what, long yours, long right) {
  if (yours != right)
    ADD_FAILURE() << "WRONG RESULT in the number of " << what << ": yours " << yours << ", right "
                  << right;
}

// {bytes of a vector}, for each loop of the implementation's file that the compiler has turned into vector instructions without a check at
// run time whether arrays overlap. Compiles the file again, for its report. std::runtime_error where there is no g++ to ask.
inline std::map<int, std::set<int>> vector_loops(const std::string& implementation,
                                                 const std::string& repository) {
  namespace fs = std::filesystem;
  const fs::path program = fs::canonical("/proc/self/exe").parent_path();
  const auto found = [&](const std::string& file) {  // a compiler's cache may have made it relative
    return fs::path(file).is_absolute() ? fs::path(file) : fs::weakly_canonical(program / file);
  };
  const fs::path file = found(ladder::find_implementation(implementation).file);
  const fs::path root = found(repository).parent_path().parent_path().parent_path();
  const char* compiler = std::getenv("CXX");
  const std::string command = std::string(compiler != nullptr ? compiler : "c++") +
                              " -std=c++20 -O3 -march=native -fopenmp -fopt-info-vec-optimized -S"
                              " -o /dev/null -I '" +
                              root.string() + "' '" + file.string() + "' 2>&1";
  std::string report;
  std::array<char, 4096> piece;
  FILE* pipe = popen(command.c_str(), "r");
  while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe) != nullptr)
    report += piece.data();
  if (pipe == nullptr || pclose(pipe) != 0)
    throw std::runtime_error("no report of the compiler's: " + command + "\n" + report);

  std::map<int, std::set<int>> loops;
  std::set<int> checked;
  std::istringstream lines(report);
  const std::regex vectorized(
      "^(.*):([0-9]+):[0-9]+: optimized: +loop vectorized using ([0-9]+) byte"),
      versioned(
          "^(.*):([0-9]+):[0-9]+: optimized: +loop versioned for vectorization because of possible "
          "aliasing");
  for (std::string line; std::getline(lines, line);) {
    std::smatch part;
    if (std::regex_search(line, part, vectorized) && part[1] == file.string())
      loops[std::stoi(part[2])].insert(std::stoi(part[3]));
    else if (std::regex_search(line, part, versioned) && part[1] == file.string())
      checked.insert(std::stoi(part[2]));
  }
  for (const int line : checked)
    loops.erase(line);
  return loops;
}

}  // namespace openmp

// In the place of the C library's, which std::exp of a float calls: the same value, counted.
extern "C" float expf(float x) noexcept {
  const int thread = omp_get_thread_num();
  if (thread < openmp::kMostThreads) ++openmp::exp_calls[thread];
  return static_cast<float>(std::exp(static_cast<double>(x)));
}
