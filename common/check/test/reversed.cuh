#pragma once

__device__ int mirrored(int t, int n) {
  return n - t - 1;
}
