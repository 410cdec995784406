// Softmax attention from C++. One query over five equal keys gives the mean of the values.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <kernel_ladder.hpp>
#include <numeric>
#include <span>
#include <vector>

int main() {
  constexpr std::int64_t T_k = 5, D = 32;
  std::vector<float> q(D, 1.0f), k(T_k * D, 0.5f), v(T_k * D), o(D), lse(1);
  std::iota(v.begin(), v.end(), 0.0f);

  kernel_ladder::Attention call;
  call.B = call.T_q = call.H_q = call.H_kv = 1, call.T_k = T_k, call.D = D;
  call.scale = 1.0f / std::sqrt(static_cast<float>(D));
  call.q = kernel_ladder::array("q", std::span<const float>(q), {1, 1, 1, D});
  call.k = kernel_ladder::array("k", k, {1, T_k, 1, D});
  call.v = kernel_ladder::array("v", v, {1, T_k, 1, D});
  call.o = kernel_ladder::array("o", o, {1, 1, 1, D});
  call.lse = kernel_ladder::array("lse", lse, {1, 1, 1});
  std::vector<std::byte> workspace(call.workspace_needed());
  call.workspace = workspace.data(), call.workspace_bytes = workspace.size();
  call.run();

  double worst = 0.0;
  for (std::int64_t i = 0; i < D; ++i)
    worst = std::max(worst, std::fabs(static_cast<double>(o[i]) - (2.0 * D + i)));
  std::printf("C++: %s, %s: largest error %.1e\n", kl_back_end(), call.chosen().c_str(), worst);

  try {
    call.k = kernel_ladder::array("k", k, {1, T_k + 1, 1, D});
  } catch (const kernel_ladder::Error& error) {
    std::printf("refused: %s\n", error.what());
    return worst < 1e-3 ? 0 : 1;
  }
  return 1;
}
