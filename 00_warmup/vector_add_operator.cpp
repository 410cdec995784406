// c = a + b as an operator, for the tests, the ladder and the X-ray.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "00_warmup/vector_add.hpp"
#include "common/core/poison.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct VectorAdd {
  static double fma_count(const VectorAddArgs& a) { return static_cast<double>(a.N); }
  static double additions(const VectorAddArgs&) { return 1; }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const VectorAddArgs& x = problem.args<VectorAddArgs>();
    ladder::Truth c;
    for (std::int64_t i = 0; i < x.N; ++i) {
      const double a = x.a[i], b = x.b[i];
      c.values.push_back(a + b);
      c.terms.push_back(std::hypot(a, b));
    }
    return {c};
  }

  static std::string explain(const ladder::Problem&, const ladder::Parts& outputs) {
    const std::vector<float>& c = *outputs[0].result;
    const auto N = static_cast<std::int64_t>(c.size());
    const auto is_right = [&](std::int64_t i) {
      return std::abs(c[i] - (*outputs[0].truth)[i]) <= 1e-6 * (*outputs[0].terms)[i];
    };
    std::int64_t first = 0;  // that is wrong
    while (first < N && is_right(first))
      ++first;
    if (std::any_of(c.begin() + first, c.end(), [](float x) { return !std::isnan(x); })) return "";
    return first == 0 ? of_nothing(c) : of_a_beginning(first, N);
  }

 private:
  // Every element is NaN.
  static std::string of_nothing(const std::vector<float>& c) {
    const auto is_new = [](float x) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &x, sizeof bits);
      return bits == 0xFFFFFFFF;  // the emulator's NaN, as outputs start with another one
    };
    if (std::all_of(c.begin(), c.end(), is_new)) {
      return "c holds what new device memory holds: a or b was not copied to the device, or the "
             "kernel wrote nothing, or c was copied back before it ran\n";
    }
    if (!std::all_of(c.begin(), c.end(), [](float x) { return ladder::is_never_written(x); }))
      return "";  // a part of an element was copied
    return "nothing was written to c: no kernel wrote it, or nothing was copied back\n";
  }

  // The first elements are right, and the others are NaN.
  static std::string of_a_beginning(std::int64_t written, std::int64_t N) {
    std::ostringstream text;
    text << "only the first " << written << " of " << N << " elements were written";
    for (const std::int64_t threads : {1024, 512, 256, 128, 64, 32}) {
      const std::int64_t blocks = (N + threads - 1) / threads;
      if (blocks > 1 && written == N / threads * threads && written > threads) {
        text << ": as with " << N << " / " << threads << " blocks of " << threads
             << " threads, rounded down\n";
        return text.str();
      }
      if (blocks > 1 && written == (blocks - 1) * blocks + threads) {
        text << ": as with blockIdx.x times the number of blocks, " << blocks
             << ", in place of the threads of a block, " << threads << "\n";
        return text.str();
      }
    }
    if (written == N / 4 * 4) {
      text << ": the last ones, which fill no vector of four, are missing\n";
    } else {
      text << ": as with a grid that is too small, or an index without the block\n";
    }
    return text.str();
  }
};

const ladder::OperatorRegistration vector_add_registration(
    ladder::with_types<VectorAdd, VectorAddSizes, VectorAddArgs, VectorAddArgs>({
        .name = "vector_add",
        .fma_count = ladder::of_host(VectorAdd::fma_count),
        .truth = VectorAdd::truth,
        .additions = ladder::of_host(VectorAdd::additions),
        .explain = VectorAdd::explain,
    }));

}  // namespace warmup
