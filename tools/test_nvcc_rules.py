#!/usr/bin/env python3
"""What nvcc rejects is reported with its line, and nothing else is."""
import unittest
from pathlib import Path
from unittest import mock

from for_tests import InAFolder
from ladder_tools import learning, nvcc_rules
from ladder_tools.place import ROOT

KERNEL = """#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>
float plus(float x, float y) { return x + y; }
__device__ float twice(float x) { return x + x; }
constexpr int three() { return 3; }
int of_the_host = 3;
%s
__global__ void begins(float* a) { a[threadIdx.x] = twice(a[0]); }
void launch(float* a) { %s }
"""
# {line 9 of the file: a part of the sentence}
REFUSED = {
    "__global__ void k(float* a) { a[0] = plus(a[1], a[2]); }": "plus is a __host__ function called from a __global__ function; it needs __device__",
    "__device__ float helps(float x) { return plus(x, x); }": "plus is a __host__ function called from a __device__ function",
    "__global__ void k(float* a) { a[0] = std::max(a[1], a[2]); }": "max is a __host__ function",
    "__global__ void k(float* a) { a[0] = -std::numeric_limits<float>::infinity() + a[1]; }":
        "__host__ function 'infinity'",
    "__global__ void k(float* a) { a[0] = std::accumulate(a, a + 4, 0.0f); }":
        "accumulate is a __host__ function",
    "__global__ void k(float* a, std::int64_t n) { a[0] = min(n, 64); }":
        "CUDA has no min of long and int",
    "__global__ void k(float* a) { a[0] = max(0, a[1]); }":
        "CUDA has no max of int and float",
    "__global__ void k(float* a, std::int64_t n) { a[0] = min(blockDim.x, n); }":
        "CUDA has no min of unsigned int and long",
    "__global__ void k(float* a) { a[0] = three(); }": "three is a __host__ function",
    "__global__ void k(float* a, int n) { float row[n]; row[0] = a[0]; a[1] = row[0]; }": "variable-length arrays",
    "__global__ void k(float* a, int n) { std::vector<float> row(n); a[0] = row[0]; }": "std::vector<float> is a __host__ function",
    "__global__ void k(float* a) { a[0] = of_the_host; }": "__host__ variable 'of_the_host'",
    "__global__ int k(float* a) { a[0] = 1; return 1; }": "void return type",
    "__global__ void k(float* a) { if (a[0] > 1) throw 1; }": "'throw'",
}
TAKEN = """constexpr float kMost = std::numeric_limits<float>::max();
__global__ void __launch_bounds__(128) k(float* a, int n) {
  __shared__ alignas(16) float smem[128];
  extern __shared__ float more[];
  smem[threadIdx.x] = sqrtf(a[0]) + std::exp(a[1]) + max(n, 3) + fmaxf(a[2], more[0]) + min(a[0], 1.0f);
  __syncthreads();
  a[blockIdx.x * blockDim.x] = __shfl_xor_sync(0xffffffff, smem[0], 16) + atomicAdd(a + 1, __expf(2.0f));
  printf("%d %f\\n", n, a[0]);
  for (float x : {1.0f, 2.0f})
    a[2] = std::move(x) + std::abs(x) + max(a[0], 1.0f) + min(n, 4u) + min(long{n}, 4l);
  a[3] = kMost;
}"""


@unittest.skipUnless(nvcc_rules.clang() or nvcc_rules.nvcc(), "neither clang nor nvcc is here")
class NvccRules(InAFolder):
    def asked(self, line, launch="begins<<<1, 32>>>(a);"):
        self.write({"kernel.cu": KERNEL % (line, launch)})
        return nvcc_rules.asked(self.root / "kernel.cu", self.root)

    @unittest.skipUnless(nvcc_rules.clang(), "clang is not here")
    def test_each_rule(self):
        for line, sentence in REFUSED.items():
            with self.subTest(line):
                refused, _ = self.asked(line)
                self.assertEqual(list(refused), [9])
                self.assertIn(sentence, refused[9])

    def test_a_kernel_without_its_qualifier(self):
        self.assertEqual(list(self.asked("void k(float* a) { a[0] = 1; }", "k<<<1, 32>>>(a);")[0]), [11])

    @unittest.skipUnless(nvcc_rules.nvcc(), "nvcc is not here")
    def test_nvcc_where_clang_is_not(self):
        with mock.patch.object(nvcc_rules, "clang", lambda: None):
            self.assertEqual(list(self.asked("__global__ void k(float* a) { a[0] = std::max(a[1], a[2]); }")[0]), [9])
            self.assertEqual(self.asked(TAKEN), ({}, []))

    def test_neither_compiler(self):
        with mock.patch.object(nvcc_rules, "clang", lambda: None), mock.patch.object(nvcc_rules, "nvcc", lambda: None):
            self.assertIsNone(self.asked(TAKEN))

    def test_nothing_of_what_nvcc_takes(self):
        self.assertEqual(self.asked(TAKEN), ({}, []))
        for kernel in ("03_cuda_baseline/kernel.cu", "07_chunkwise/20_backward/kernel.cu", "08_flash_attention/19_backward_hopper/kernel_sm90.cu"):
            self.assertEqual(nvcc_rules.asked(Path(kernel), ROOT / Path(kernel).parent), ({}, []))

    @unittest.skipUnless(nvcc_rules.clang(), "clang is not here")
    def test_double_arithmetic_is_remarked(self):
        refused, doubles = self.asked("__global__ void k(float* a) { a[0] = 2.0 * a[1]; }")
        self.assertEqual((refused, doubles), ({}, [9]))
        self.assertIn("In line 2 a float becomes a double", learning.in_double("a\nb\n", "a\n", [1, 2]))
        self.assertEqual(learning.in_double("a\nb\n", "a\nb\n", [1, 2]), "")
        self.assertIn("In line 1 a float becomes a double", learning.in_double("double s;\ns += x;\n", "float s;\ns += x;\n", [2]))
