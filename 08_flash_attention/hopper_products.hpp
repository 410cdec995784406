// Shared by lessons 11 to 14, from lesson 10 on. It contains tiles of panels in shared memory, and
// a warpgroup's two products, in bf16.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/cuda/hopper.hpp"
#include "common/cuda/storage.hpp"

namespace flash_attention {

namespace hopper = ladder::cuda::hopper;
using hopper::kPanel;
using hopper::Major;

constexpr int kRows = 64;   // rows of a warpgroup's products, its queries
constexpr int kKeys = 128;  // of a tile

// A tile of rows of kD elements, in panels of 64 columns.
template <int kD, int kTileRows>
struct alignas(hopper::kTileAlign) Tile {
  ladder::bfloat16 at[kD / kPanel][kTileRows][kPanel];
};

// The tensor maps of the operands.
struct Maps {
  CUtensorMap q, k, v;
};

// S = Q K^T, for the warpgroup's rows and a tile of keys. The index of the sum is contiguous in
// both operands.
template <int kD, int kQueries>
__device__ void multiply_q_k(float (&s)[kKeys / 2], const Tile<kD, kQueries>& q, int first_row,
                             const Tile<kD, kKeys>& k) {
#pragma unroll
  for (int i = 0; i < kD / 16; ++i) {
    const int panel = i / (kPanel / 16), within = i % (kPanel / 16) * hopper::kNextK;
    const auto a = hopper::matrix_descriptor(q.at[panel][first_row]),
               b = hopper::matrix_descriptor(k.at[panel]);
    hopper::wgmma<ladder::bfloat16, kKeys, Major::kK, Major::kK>(s, hopper::advance(a, within),
                                                                 hopper::advance(b, within), i > 0);
  }
  hopper::wgmma_commit_group();
}

// O += P V, with the weights in registers. V's channels, which are columns of o, are contiguous.
template <int kD>
__device__ void multiply_p_v(float (&o)[kD / 2], const std::uint32_t (&p)[kKeys / 16][4],
                             const Tile<kD, kKeys>& v) {
  const auto b = hopper::matrix_descriptor(v.at, sizeof v.at[0]);
#pragma unroll
  for (int i = 0; i < kKeys / 16; ++i)
    hopper::wgmma<ladder::bfloat16, kD, Major::kMN>(o, p[i],
                                                    hopper::advance(b, i * hopper::kNextMN));
  hopper::wgmma_commit_group();
}

}  // namespace flash_attention
