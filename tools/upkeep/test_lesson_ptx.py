"""Tests of the pages' statements about the instructions that nvcc generates; skipped without
nvcc."""
import re
import unittest

import nvcc


@unittest.skipUnless(nvcc.find_tool("nvcc"), "there is no nvcc")
class Loads(unittest.TestCase):
    def counted(self, source):
        """(loads from memory that nothing writes, other loads) from global memory in all kernels of
        the source."""
        with nvcc.tree_of(".") as tree:
            loads = re.findall(r"\bld\.global(\.nc)?\.", nvcc.Compiler().text(tree, source))
        return loads.count(".nc"), loads.count("")

    def test_one_promise_of_04_01_changes_every_load(self):
        before, after = self.counted("04_no_atomic/kernel.cu"), self.counted("04_no_atomic/01_restrict/kernel.cu")
        self.assertEqual(before[0], 0)
        self.assertGreater(before[1], 0)
        self.assertEqual(after, before[::-1])


@unittest.skipUnless(nvcc.find_tool("nvcc"), "there is no nvcc")
class Instructions(unittest.TestCase):
    def test_the_cheap_split_of_07_11_needs_no_cvt_and_is_longer_in_ptx(self):
        with nvcc.tree_of(".") as tree:
            text = nvcc.Compiler().text(tree, "07_chunkwise/11_three_products/kernel.cu")
        kernels = {re.search(r"ProductsE(\d)", each).group(1): re.findall(r"^\s+\{?\s*([a-z][\w.]*)\s", each, re.MULTILINE)
                   for each in re.split(r"\.entry\s", text)[1:]}
        nearest, cheap = kernels["1"], kernels["2"]
        for kernel in nearest, cheap:
            self.assertEqual(sum(each.startswith("mma.sync") for each in kernel), 312)
        # two for each of 288 floats
        self.assertGreaterEqual(nearest.count("cvt.rna.tf32.f32"), 2 * 288)
        self.assertEqual(cheap.count("cvt.rna.tf32.f32"), 0)
        self.assertGreater(len(cheap), len(nearest))
