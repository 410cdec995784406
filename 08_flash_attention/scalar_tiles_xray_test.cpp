#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <vector>
#include "common/core/registry.hpp"
#include "xray.hpp"
using namespace emulator::xray;
TEST(Probe, All) {
  for (const char* name : {"attention_scalar_tiles", "attention_three_kernels"}) for (long T : {64, 128}) for (bool c : {false, true}) for (int bf : {0, 1}) {
    const long D = 64, H = 2, n = T * H * D;
    std::vector<float> x(n, 0.5f);
    auto up = [&] { float* p; cudaMalloc((void**)&p, n * 4); cudaMemcpy(p, x.data(), n * 4, cudaMemcpyHostToDevice); return p; };
    auto go = [&](auto a, auto f) {
    using E = std::remove_const_t<std::remove_pointer_t<decltype(a.q)>>;
    a.B = 1; a.T_q = a.T_k = T; a.H_q = a.H_kv = H; a.D = D; a.causal = c;
    a.q = (E*)up(); a.k = (E*)up(); a.v = (E*)up(); a.o = (E*)up(); a.lse = up();
    take();
    f(a); cudaDeviceSynchronize(); };
    auto i = ladder::find_implementation(name);
    if (bf) go(ladder::AttentionBf16Args{}, i.attention_bf16); else go(ladder::AttentionArgs{}, i.attention);
    for (auto& k : take()) {
      printf("%s T=%ld causal=%d bf=%d %s: load bytes %lu store bytes %lu shared load wf %lu conflicts %lu store wf %lu conflicts %lu barriers %lu shuffles %lu\n", name, T, c, bf, k.name.c_str(), k[kGlobalLoadBytesMoved], k[kGlobalStoreBytesMoved], k[kSharedLoadWavefronts], k[kSharedLoadBankConflicts], k[kSharedStoreWavefronts], k[kSharedStoreBankConflicts], k[kBarriers], k[kShuffles]);
      for (auto& b : k.buffers) printf("   %s: load %.1f..%.1f  st %.1f sectors %lu %lu\n", b.name.c_str(), (double)b.loads().accesses_per_element.least, (double)b.loads().accesses_per_element.most, (double)b.stores().accesses_per_element.most, b.loads().sectors, b.stores().sectors);
      for (auto& a : k.accesses) if (a.bank_conflicts) printf("   CONFLICT %lu of %lu: %s %s\n", a.bank_conflicts, a.wavefronts, a.where.text().c_str(), a.code.c_str());
      for (auto& e : k.errors) printf("  ERROR %s\n", e.message.c_str());
    }
  }
}
