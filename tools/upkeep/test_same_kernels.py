"""Tests of same_kernels.py on stored PTX, and with nvcc if it is installed."""
import re
import unittest
from pathlib import Path

import nvcc
import ptx
import same_kernels
from for_tests import InAFolder
from sources import Tree

SAMPLE = (Path(__file__).parent / "samples/two_kernels.ptx").read_text()
SOURCE = (Path(__file__).parent / "samples/two_kernels.cu.txt").read_text()
# Two anonymous namespaces' names from nvcc. 46 and 90 are both lengths, but of different things.
SPLIT = "_ZN9chapter0810split_keys46_GLOBAL__N__e641dd3d_13_split_keys_cu_7edf3bd06attendIfEEvT_"


def hashes(text):
    return [kernel.hash for kernel in ptx.kernels(text)]


class Normalisation(unittest.TestCase):
    def test_finds_both_kernels_and_tells_them_apart(self):
        self.assertEqual(len(hashes(SAMPLE)), 2)
        self.assertEqual(len(set(hashes(SAMPLE))), 2)

    def test_leaves_no_name_of_this_build(self):
        module = ptx._Module(SAMPLE)
        for name in module.entries:
            self.assertNotRegex(module.normalised(name, (name,)), r"_Z|GLOBAL|INTERNAL|BB\d")

    def test_what_does_not_count(self):
        build = "96b7385f_14_two_kernels_cu_c7416f4e"
        for what, text in (("comments, blanks and lines of sources", SAMPLE.replace("\tbar.sync ", "\t.loc 1 12 3\n\n  bar.sync   // a barrier\n")),
                           ("hashes of anonymous namespaces", SAMPLE.replace(build, "0123abcd_14_two_kernels_cu_89abcdef")),
                           ("the number of the function in labels", SAMPLE.replace("$L__BB0_", "$L__BB7_").replace("callseq 0", "callseq 9")),
                           ("who may call a kernel", SAMPLE.replace("\n.entry", "\n.visible .entry"))):
            with self.subTest(what):
                self.assertNotEqual(text, SAMPLE, "the change changes nothing")
                self.assertEqual(hashes(text), hashes(SAMPLE))

    def test_order_of_the_functions_does_not_count(self):
        first, second = re.findall(r"^\.entry.*?^}\n", SAMPLE, re.DOTALL | re.MULTILINE)
        swapped = SAMPLE.replace(first, "<>").replace(second, first).replace("<>", second)
        self.assertEqual(hashes(swapped), list(reversed(hashes(SAMPLE))))

    def test_what_counts(self):
        for what, old, new in (("a register", "add.s32 \t%r2, %r5, %r1", "add.s32 \t%r2, %r1, %r5"),
                               ("an instruction", "setp.ge.s32", "setp.gt.s32"),
                               ("a barrier", "bar.sync \t0;", ""),
                               ("a constant", "0f00000000", "0f3F800000"),
                               ("where a branch goes", "bra \t$L__BB0_4", "bra \t$L__BB0_2"),
                               ("launch bounds", ".maxntid 64", ".maxntid 128"),
                               ("a parameter's place", "Pfi_param_0];", "Pfi_param_1];"),
                               ("the size of shared memory", "tile[256]", "tile[512]"),
                               ("what a called function does", "add.f32 \t%f2, %f1, %f1", "mul.f32 \t%f2, %f1, %f1"),
                               ("a table in constant memory", "{0, 0, 128, 63,", "{0, 0, 128, 64,"),
                               ("the alignment of dynamic shared memory", ".extern .shared .align 16", ".extern .shared .align 128")):
            with self.subTest(what):
                self.assertIn(old, SAMPLE)
                self.assertNotEqual(hashes(SAMPLE.replace(old, new, 1))[0], hashes(SAMPLE)[0])

    def test_what_it_does_not_understand_it_says(self):
        with self.assertRaisesRegex(ValueError, "not understood"):
            ptx.kernels(SAMPLE + "\n.mystery thing;\n")


class Names(unittest.TestCase):
    def test_an_anonymous_namespace_has_one_name(self):
        self.assertEqual(ptx.without_build_hashes(SPLIT),
                         "_ZN9chapter0810split_keys12_GLOBAL__N_16attendIfEEvT_")
        self.assertEqual(ptx.without_build_hashes("_ZN9chapter084sm90" + SPLIT[25:]),
                         "_ZN9chapter084sm9012_GLOBAL__N_16attendIfEEvT_")

    def test_other_names_stay(self):
        for name in ("_Z6kernelv", "_ZN1a8_INTERNALEv", "12_GLOBAL__N_1"):
            self.assertEqual(ptx.without_build_hashes(name), name)

    def test_short_names_have_no_namespaces_and_no_arguments(self):
        self.assertEqual(same_kernels.short_name("void a::(anonymous namespace)::walk<a::Tile<64>, (b::Task)0>(a::Args)"),
                         "walk<Tile<64>, (Task)0>")
        self.assertEqual(same_kernels.short_name("chapter03::causal(ladder::Args<float>)"), "causal")


def kernel(name, hash):
    return ptx.Kernel(name, hash)


def compared(old, new):
    names = [each.name for its in (*old.values(), *new.values()) for each in its]
    return [(row.status, row.name) for row in same_kernels.compare(old, new, {name: name for name in names})]


class Comparison(unittest.TestCase):
    def test_one_kernel_before_and_after(self):
        for before, after, rows in ((("a.cu", "k", "1"), ("a.cu", "k", "1"), [("same", "k")]),
                                    (("a.cu", "k", "1"), ("a.cu", "k", "2"), [("changed", "k")]),
                                    (("a.cu", "k", "1"), ("a.cu", "l", "2"), [("gone", "k"), ("new", "l")]),
                                    (("a.cu", "k", "1"), ("b.cu", "k", "1"), [("moved", "k")]),
                                    (("a.cu", "k", "1"), ("b.cu", "k", "2"), [("changed", "k")]),
                                    (("a.cu", "k", "1"), ("a.cu", "l", "1"), [("moved", "l")]),
                                    (("a.cu", "x::k<1>()", "1"), ("a.cu", "y::z::k<1>()", "2"), [("changed", "y::z::k<1>()")])):
            with self.subTest(before=before, after=after):
                old, new = ({file: [kernel(name, hash)]} for file, name, hash in (before, after))
                self.assertEqual(compared(old, new), rows)

    def test_of_two_kernels_each_has_its_own(self):
        self.assertEqual(compared({"a.cu": [kernel("k", "1"), kernel("l", "2")]}, {"a.cu": [kernel("k", "1"), kernel("l", "3")]}),
                         [("same", "k"), ("changed", "l")])

    def test_equal_names_in_two_files_stay_with_their_files(self):
        files = {"a.cu": [kernel("k", "1")], "b.cu": [kernel("k", "2")]}
        self.assertEqual(compared(files, files), [("same", "k"), ("same", "k")])

    def test_report_names_registers_and_spills(self):
        rows = same_kernels.compare({"a.cu": [kernel("k", "1")]}, {"a.cu": [kernel("k", "2")]}, {"k": "k"})
        resources = {"1": {"registers": 96, "spill_stores": 0, "spill_loads": 0},
                     "2": {"registers": 128, "spill_stores": 8, "spill_loads": 12}}
        self.assertRegex("\n".join(same_kernels.report(rows, resources, False)),
                         r"changed +registers 96 -> 128 +spills 0 -> 20 +k")

    def test_ptxas_is_understood(self):
        told = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kv' for 'sm_90a'
ptxas info    : Function properties for _Z1kv
    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Function properties for _Z6calledv
    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
"""
        self.assertEqual(nvcc.resources_told(told),
                         {"_Z1kv": {"registers": 168, "spill_stores": 24, "spill_loads": 32, "stack": 16}})


class Revisions(unittest.TestCase):
    def test_an_unknown_revision_is_named(self):
        with self.assertRaisesRegex(nvcc.ToolError, "'no-such-revision' is no commit"):
            with nvcc.tree_of("no-such-revision"):
                pass


@unittest.skipIf(nvcc.find_tool("nvcc") is None, "no nvcc")
class WithNvcc(InAFolder):
    def test_a_moved_source_has_the_same_kernels_and_a_changed_one_has_not(self):
        compiler = nvcc.Compiler()
        compiler.cache = self.root / "cache"
        compiler.cache.mkdir()
        files = {"here/a.cu": SOURCE, "there/longer_name.cu": "// moved\n" + SOURCE.replace("namespace lesson", "namespace x"),
                 "here/changed.cu": SOURCE.replace("x * 2.f", "x * 3.f")}
        self.write(files)
        tree = Tree(self.root, files)
        found = compiler.kernels_of(tree, list(files))
        here, there, changed = ([k.hash for k in found[name]] for name in files)
        self.assertEqual(len(here), 2)
        self.assertEqual(here, there)
        self.assertFalse(set(here) & set(changed))
        resources = compiler.resources(tree, {"here/a.cu": found["here/a.cu"]})
        for each in resources.values():
            self.assertGreater(each["registers"], 4)
            self.assertEqual(each["spill_stores"], 0)
