"""Tests of tools/upkeep/kernel_hashes.py, with a compiler whose PTX is the text without comments."""
import kernel_hashes
import ptx
from for_tests import InAFolder
from sources import Tree

KERNEL = 'const ladder::Registration r{{.name = "one", .device = kCuda}};\n__global__ void k() {}\n'
FILES = {"03_a/kernel.cu": '#include "h.hpp"\n' + KERNEL, "03_a/h.hpp": "constexpr int kN = 4;\n",
         "04_b/kernel.cu": KERNEL.replace("one", "two")}


class FakeCompiler:
    release, architecture = "13.0", "sm_90a"

    def __init__(self):
        self.compiled = []

    def kernels_of(self, tree, sources):
        self.compiled += sources
        # A declaration alone makes no difference to a kernel.
        return {source: [ptx.Kernel("k", ptx.short_hash("".join(tree.code(each).replace("int unused;", "").strip()
                                                                for each in tree.closure(source))))]
                for source in sources}


class WithACompiler(InAFolder):
    def setUp(self):
        super().setUp()
        self.compiler = FakeCompiler()

    def tree(self, changes=()):
        files = FILES | dict(changes)
        self.write(files)
        return Tree(self.root, files)

    def checked(self, record, tree, compiler="the fake one"):
        chosen = self.compiler if compiler == "the fake one" else compiler
        lines, right = kernel_hashes.check(record, tree, lambda: chosen)
        return "\n".join(lines), right


class Check(WithACompiler):
    def setUp(self):
        super().setUp()
        self.record = kernel_hashes.record_of(self.tree(), self.compiler)
        self.compiler.compiled.clear()

    def test_the_record_has_the_agreed_form(self):
        self.assertEqual(self.record["schema"], "kernel-ladder/kernels/1")
        self.assertEqual((self.record["nvcc"], self.record["architecture"]), ("13.0", "sm_90a"))
        self.assertEqual(sorted(self.record["files"]), ["03_a/kernel.cu", "04_b/kernel.cu"])
        for value in self.record["files"].values():
            self.assertRegex(value, "^[0-9a-f]{16}$")

    def test_what_has_not_changed_is_right_and_not_compiled(self):
        told, right = self.checked(self.record, self.tree())
        self.assertTrue(right)
        self.assertEqual(self.compiler.compiled, [])

    def test_a_comment_changes_nothing(self):
        tree = self.tree({"03_a/h.hpp": "// four\n" + FILES["03_a/h.hpp"]})
        self.assertTrue(self.checked(self.record, tree)[1])
        self.assertEqual(self.compiler.compiled, [])

    def test_a_changed_header_makes_its_kernel_stale_and_no_other(self):
        told, right = self.checked(self.record, self.tree({"03_a/h.hpp": "constexpr int kN = 5;\n"}))
        self.assertFalse(right)
        self.assertIn("stale: 03_a/kernel.cu has other kernels now", told)
        self.assertEqual(self.compiler.compiled, ["03_a/kernel.cu"])

    def test_a_changed_text_with_the_same_kernels_is_right(self):
        told, right = self.checked(self.record, self.tree({"03_a/h.hpp": "constexpr int kN = 4;\nint unused;\n"}))
        self.assertTrue(right)
        self.assertIn("the same kernels from a changed text: 03_a/kernel.cu", told)

    def test_a_new_source_is_not_hashed_yet_and_that_is_no_mistake(self):
        told, right = self.checked(self.record, self.tree({"05_c/kernel.cu": KERNEL}), None)
        self.assertTrue(right)
        self.assertIn("not hashed yet: 05_c/kernel.cu\n2 sources are", told)

    def test_one_that_is_gone_is_stale(self):
        told, right = self.checked(self.record, Tree(self.root, [name for name in FILES if not name.startswith("04")]))
        self.assertFalse(right)
        self.assertIn("04_b/kernel.cu is gone", told)

    def test_without_nvcc_a_changed_source_loses_its_hash(self):
        tree = self.tree({"03_a/h.hpp": "constexpr int kN = 5;\n"})
        record = kernel_hashes.without_changed(self.record, tree)
        self.assertEqual((list(record["files"]), list(record["sources"])), (["04_b/kernel.cu"], ["04_b/kernel.cu"]))
        self.assertIn("not hashed yet: 03_a/kernel.cu", self.checked(record, tree)[0])

    def test_another_nvcc_skips_in_plain_sight(self):
        tree = self.tree({"03_a/h.hpp": "constexpr int kN = 5;\n"})
        self.compiler.release = "12.8"
        told, right = self.checked(self.record, tree)
        self.assertTrue(right)
        self.assertRegex(told, r"SKIPPED: 1 sources have changed, and there is nvcc 12.8(.|\n)*not checked: 03_a/kernel.cu")
        told, right = self.checked(self.record, tree, None)
        self.assertIn("no nvcc", told)
