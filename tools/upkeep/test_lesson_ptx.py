"""What lessons say of the instructions that nvcc makes of their kernels; skipped where there is no nvcc."""
import re
import unittest

import nvcc


@unittest.skipUnless(nvcc.find_tool("nvcc"), "there is no nvcc")
class Loads(unittest.TestCase):
    def counted(self, source):
        """(loads from memory that nothing writes, other loads) from global memory, of all the source's kernels."""
        with nvcc.tree_of(".") as tree:
            loads = re.findall(r"\bld\.global(\.nc)?\.", nvcc.Compiler().text(tree, source))
        return loads.count(".nc"), loads.count("")

    def test_one_promise_of_04_01_changes_every_load(self):
        before, after = self.counted("04_no_atomic/kernel.cu"), self.counted("04_no_atomic/01_restrict/kernel.cu")
        self.assertEqual(before[0], 0)
        self.assertGreater(before[1], 0)
        self.assertEqual(after, before[::-1])


if __name__ == "__main__":
    unittest.main()
