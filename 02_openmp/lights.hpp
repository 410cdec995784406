// Counters of chapter 02's tests, for exp calls per thread and the compiler's reports on loops.
// Include it in test.cpp only, because it defines expf.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
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
#include <thread>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace openmp {

constexpr int kMostThreads = 64;

// exp calls per thread, in the order in which the threads first called this. (OpenMP's own number
// is 0 in each team of one thread, as a nested parallel region has.)
inline std::array<std::atomic<long>, kMostThreads> exp_calls{};
inline int number_of_thread() {
  static std::atomic<int> threads{0};
  thread_local const int number = threads++;
  return number;
}

// Threads that have called exp, and how many of them a thread waits for in its first call.
inline std::atomic<int> arrived{0}, awaited{0};

// A second is enough for threads that have work. With fewer, the test goes on and counts them.
inline void wait_for_the_others() {
  using Clock = std::chrono::steady_clock;
  ++arrived;
  for (const auto end = Clock::now() + std::chrono::seconds(1);
       arrived < awaited && Clock::now() < end;)
    std::this_thread::yield();
}

// Runs the implementation once with that many threads, and judges the result. Returns each thread's
// exp calls. With `at_once`, no thread passes its first exp before all threads have called it, so
// that all are inside a head at the same time.
inline std::array<long, kMostThreads> calls_of_exp(const std::string& implementation,
                                                   const ladder::WkvCase& c, int threads,
                                                   bool at_once = false) {
  const auto problem = ladder::make_problem(c);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  for (auto& count : exp_calls)
    count = 0;
  arrived = 0;
  awaited = at_once ? threads : 0;
  const auto outputs = ladder::run(ladder::find_implementation(implementation), problem);
  awaited = 0;
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

// Fails the test if a count differs, because it is a part of the task.
inline void expect_count(const std::string& what, long yours, long right) {
  if (yours != right)
    ADD_FAILURE() << "WRONG RESULT in the number of " << what << ": yours " << yours << ", right "
                  << right;
}

// The compiler's report on an implementation's file, which is compiled once more for it.
struct VectorReport {
  // Loops without a run-time check for overlapping arrays. Maps a line to the number of its loops
  // by vector size in bytes. A line has a loop for each of the file's kernels, and one for the rest
  // after the last vector.
  std::map<int, std::map<int, int>> unchecked;
  std::set<int> checked;  // lines of loops with such a check, compiled in two versions
  int widest = 0;         // bytes, of all loops
  std::string text;
};

// `test` is the __FILE__ of the lesson's test. Throws std::runtime_error if there is no g++.
inline VectorReport vector_report(const std::string& implementation, const std::string& test) {
  const std::string file = ladder::find_implementation(implementation).file;
  const auto lesson = std::filesystem::path(ladder::whole_path(test)).parent_path();
  const char* compiler = std::getenv("CXX");
  const std::string command = std::string(compiler != nullptr ? compiler : "c++") +
                              " -std=c++20 -O3 -march=native -fopenmp -fopt-info-vec-optimized -S" +
                              " -o /dev/null -I '" + lesson.parent_path().parent_path().string() +
                              "' '" + file + "' 2>&1";
  VectorReport report;
  std::array<char, 4096> piece;
  FILE* pipe = popen(command.c_str(), "r");
  while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe) != nullptr)
    report.text += piece.data();
  if (pipe == nullptr || pclose(pipe) != 0)
    throw std::runtime_error("no report of the compiler's: " + command + "\n" + report.text);

  std::istringstream lines(report.text);
  const std::regex loop("^(.*):([0-9]+):[0-9]+: optimized: +loop (vectorized|versioned)(.*)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch part;
    if (!std::regex_search(line, part, loop) || part[1] != file) continue;
    const int number = std::stoi(part[2]);
    const std::string words = part[4];
    int bytes = 0;
    if (part[3] == "versioned") {
      report.checked.insert(number);
    } else if (std::sscanf(words.c_str(), " using %d byte", &bytes) == 1) {
      ++report.unchecked[number][bytes];
      report.widest = std::max(report.widest, bytes);
    }
  }
  for (const int line : report.checked)
    report.unchecked.erase(line);
  return report;
}

}  // namespace openmp

// Replaces the C library's expf, which std::exp of a float calls, by the same value with a count.
extern "C" float expf(float x) noexcept {
  const int thread = openmp::number_of_thread();
  if (thread < openmp::kMostThreads && openmp::exp_calls[thread]++ == 0)
    openmp::wait_for_the_others();
  return static_cast<float>(std::exp(static_cast<double>(x)));
}
