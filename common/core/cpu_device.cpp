// The CPU as a device, with plain memory, a steady clock, and ceilings measured on all cores.
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "common/core/device.hpp"

namespace ladder {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr int kRepeats = 5;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The width of one register. If a vector needed two, the chains would not fit into 16 registers.
#if defined(__AVX512F__)
constexpr int kVecBytes = 64;
#elif defined(__AVX__)
constexpr int kVecBytes = 32;
#else
constexpr int kVecBytes = 16;
#endif
using Vec = float __attribute__((vector_size(kVecBytes)));

// Independent chains hide the latency of an FMA. 2 pipes x 4 to 5 cycles need 8 to 10 of them.
constexpr int kChains = 12;

float fma_loop(std::int64_t steps) {
  Vec chain[kChains];
  for (int i = 0; i < kChains; ++i)
    chain[i] = Vec{} + static_cast<float>(i);
  const Vec factor = Vec{} + 0.999f;
  const Vec term = Vec{} + 0.1f;
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
      chain[i] = chain[i] * factor + term;
  }
  float sum = 0;
  for (int i = 0; i < kChains; ++i)
    sum += chain[i][0];
  return sum;
}

double measured_fma_per_second() {
  constexpr std::int64_t kSteps = 4'000'000;
  double best = 0;
  float sink = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    int threads = 1;
    const double seconds = seconds_of([&] {
#pragma omp parallel reduction(+ : sink)
      {
        sink += fma_loop(kSteps);
#pragma omp single
        threads = omp_get_num_threads();
      }
    });
    const double lanes = sizeof(Vec) / sizeof(float);
    best = std::max(best, kSteps * kChains * lanes * threads / seconds);
  }
  volatile float keep = sink;
  (void)keep;
  return best;
}

double measured_bytes_per_second() {
  constexpr std::int64_t kElements = 32 << 20;  // 128 MiB per array, several times any cache
  std::vector<float> from(kElements, 1.0f), to(kElements, 0.0f);
  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double seconds = seconds_of([&] {
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < kElements; ++i)
        to[i] = from[i];
    });
    best = std::max(best, 2.0 * kElements * sizeof(float) / seconds);
  }
  return best;
}

class CpuDevice : public Device {
 public:
  std::string name() const override {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
      const auto colon = line.find(": ");
      if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
        return line.substr(colon + 2) + " (" + std::to_string(omp_get_max_threads()) + " threads)";
      }
    }
    return "CPU (" + std::to_string(omp_get_max_threads()) + " threads)";
  }
  std::string back_end() const override { return "cpu"; }

  void* allocate(std::size_t bytes) override {
    void* pointer =
        std::aligned_alloc(kPageBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
    if (pointer == nullptr) throw std::bad_alloc();
    std::memset(pointer, 0xFF, bytes);
    return pointer;
  }
  void release(void* pointer) override { std::free(pointer); }
  void upload(void* to, const void* from_host, std::size_t bytes) override {
    std::memcpy(to, from_host, bytes);
  }
  void download(void* to_host, const void* from, std::size_t bytes) override {
    std::memcpy(to_host, from, bytes);
  }
  void synchronize() override {}
  double time(const std::function<void()>& work) override { return seconds_of(work); }
  std::size_t cache_bytes() const override {
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  Ceilings measure_ceilings() override {
    Ceilings ceilings;
    ceilings.fma_per_second = measured_fma_per_second();
    ceilings.bytes_per_second = measured_bytes_per_second();
    return ceilings;
  }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() {
  return std::make_unique<CpuDevice>();
}

}  // namespace ladder
