#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "common/core/registry.hpp"

namespace {

struct Case {
  long B, T_q, T_k, H_q, H_kv, D;
  bool causal;
  float scale = 0;
};

void check(const char* name, const Case& c) {
  std::mt19937 r(1);
  std::normal_distribution<float> n;
  auto draw = [&](long count) {
    std::vector<float> x(count);
    for (auto& y : x)
      y = n(r);
    return x;
  };
  auto q = draw(c.B * c.T_q * c.H_q * c.D), k = draw(c.B * c.T_k * c.H_kv * c.D),
       v = draw(c.B * c.T_k * c.H_kv * c.D);
  auto up = [](const std::vector<float>& x) {
    float* p;
    cudaMalloc(&p, x.size() * 4 + 4);
    cudaMemcpy(p, x.data(), x.size() * 4, cudaMemcpyHostToDevice);
    return p;
  };
  ladder::AttentionArgs a;
  a.B = c.B;
  a.T_q = c.T_q;
  a.T_k = c.T_k;
  a.H_q = c.H_q;
  a.H_kv = c.H_kv;
  a.D = c.D;
  a.causal = c.causal;
  a.scale = c.scale ? c.scale : 1 / std::sqrt((float)c.D);
  a.q = up(q);
  a.k = up(k);
  a.v = up(v);
  std::vector<float> o(q.size()), lse(c.B * c.H_q * c.T_q);
  a.o = up(o);
  a.lse = up(lse);
  ladder::find_implementation(name).attention(a);
  ASSERT_EQ(cudaDeviceSynchronize(), 0);
  cudaMemcpy(o.data(), a.o, o.size() * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(lse.data(), a.lse, lse.size() * 4, cudaMemcpyDeviceToHost);
  double worst = 0, worst_lse = 0;
  for (long b = 0; b < c.B; ++b)
    for (long h = 0; h < c.H_q; ++h)
      for (long l = 0; l < c.T_q; ++l) {
        long hk = h / (c.H_q / c.H_kv),
             seen = c.causal ? std::max(0l, std::min(c.T_k, l + 1 + c.T_k - c.T_q)) : c.T_k;
        std::vector<double> s(seen);
        double m = -INFINITY, sum = 0;
        for (long t = 0; t < seen; ++t) {
          for (long d = 0; d < c.D; ++d)
            s[t] += (double)q[((b * c.T_q + l) * c.H_q + h) * c.D + d] *
                    k[((b * c.T_k + t) * c.H_kv + hk) * c.D + d];
          s[t] *= a.scale;
          m = std::max(m, s[t]);
        }
        for (auto x : s)
          sum += std::exp(x - m);
        double L = m + std::log(sum), got = lse[(b * c.H_q + h) * c.T_q + l];
        if (seen == 0) {
          ASSERT_EQ(got, -INFINITY);
        } else
          worst_lse = std::max(worst_lse, std::abs(got - L) / std::max(1.0, std::abs(L)));
        for (long d = 0; d < c.D; ++d) {
          double x = 0;
          for (long t = 0; t < seen; ++t)
            x += std::exp(s[t] - L) * v[((b * c.T_k + t) * c.H_kv + hk) * c.D + d];
          double e = std::abs(x - o[((b * c.T_q + l) * c.H_q + h) * c.D + d]);
          if (!(e <= worst)) worst = e;
        }
      }
  printf("%s T_q=%ld T_k=%ld D=%ld causal=%d scale=%g: o %.2g lse %.2g\n", name, c.T_q, c.T_k, c.D,
         c.causal, a.scale, worst, worst_lse);
  EXPECT_LT(worst, 1e-5 * std::max(1.f, a.scale));
  EXPECT_LT(worst_lse, 1e-5);
}

TEST(attention_scalar_tiles, Own) {
  for (const char* name : {"attention_scalar_tiles", "attention_three_kernels"}) {
    for (long D : {32, 64, 96, 128, 256})
      check(name, {1, 70, 75, 2, 1, D, true});
    check(name, {2, 37, 130, 4, 2, 64, false});
    check(name, {2, 130, 37, 4, 2, 64, true});
    check(name, {1, 1, 1, 1, 1, 64, true});
    check(name, {1, 16, 0, 1, 1, 64, true});
    check(name, {1, 50, 50, 1, 1, 64, true, 300});
  }
}

}  // namespace
