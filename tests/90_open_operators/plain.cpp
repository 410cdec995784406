// C = A B on the CPU in three loops.
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "tests/90_open_operators/matmul.hpp"

namespace {

void matmul_plain(const ladder::MatmulArgs<float>& args) {
  ladder::validate_lists(args);
  for (std::int64_t m = 0; m < args.M; ++m) {
    for (std::int64_t n = 0; n < args.N; ++n) {
      float sum = 0;
      for (std::int64_t k = 0; k < args.K; ++k)
        sum += args.a[m * args.K + k] * args.b[k * args.N + n];
      args.c[m * args.N + n] = sum;
    }
  }
}

const ladder::Registration plain_registration{
    {.name = "matmul_plain",
     .step = 1,
     .device = ladder::DeviceKind::kCpu,
     .rung = true,
     .launchers = ladder::launchers<ladder::Matmul>(matmul_plain)}};

}  // namespace
