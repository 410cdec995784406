"""Tests of the tools that read the sources."""
import difflib
import unittest

import nvcc
from for_tests import InAFolder
from nvcc import ROOT
from sources import Tree, is_kernel_source, without_comments


class Sources(InAFolder):
    def tree(self, files, folder="one"):
        self.write({f"{folder}/{name}": text for name, text in files.items()})
        return Tree(self.root / folder, files)

    def test_exercises_and_the_emulators_own_are_no_kernel_sources(self):
        for path, is_one in {"03_x/kernel.cu": True, "03_x/exercise.cu": False, "03_x/exercise_sm90.cu": False, "03_x/kernel_sm90.cu": True, "03_x/dot_exercise.cu": False,
                             "common/cuda/d.cu": True, "common/emulator/test/a_test.cu": False,
                             "common/xray/test/a_test.cu": False, "03_x/a.cpp": False}.items():
            self.assertEqual(is_kernel_source(path), is_one, path)

    def test_comments_go_and_strings_and_lines_stay(self):
        self.assertEqual(without_comments('a "//no" // yes\nb /* c\nd */ e\'"\' f 64\'000 // 1\'0\n'),
                         'a "//no"  \nb  \n e\'"\' f 64000  \n')

    def test_the_hash_of_a_source_counts_its_headers_but_no_comments(self):
        files = {"c/a.cu": '#include "h.hpp"\nint a;\n', "c/h.hpp": '#include "common/d.hpp"\n', "common/d.hpp": "int d;\n",
                 "c/other.hpp": "int o;\n"}
        tree = self.tree(files)
        self.assertEqual(tree.closure("c/a.cu"), ("c/a.cu", "c/h.hpp", "common/d.hpp"))
        commented = self.tree(files | {"common/d.hpp": "// more\nint   d;  /* less */\n", "c/other.hpp": "int changed;\n"}, "commented")
        self.assertEqual(tree.closure_hash("c/a.cu"), commented.closure_hash("c/a.cu"))
        for name in ("c/a.cu", "c/h.hpp", "common/d.hpp"):
            changed = self.tree(files | {name: files[name] + "int more;\n"}, f"changed {name}")
            self.assertNotEqual(tree.closure_hash("c/a.cu"), changed.closure_hash("c/a.cu"), name)

    def test_finds_what_a_dispatcher_launches(self):
        tree = self.tree({
            "c/launchers.hpp": "namespace c {\nnamespace one {\ntemplate <typename T>\nvoid run(const T& args);\n}\nvoid two(int n);\n}\n",
            "c/one.cu": '#include "c/launchers.hpp"\nnamespace c::one {\ntemplate <typename T>\nvoid run(const T& args) { k<<<1, 1>>>(); }\n}\n',
            "c/two.cu": '#include "c/launchers.hpp"\nnamespace c {\nvoid two(int n) { if (n) { k<<<1, 1>>>(); } }\n}\n',
            "c/own.cu": "namespace c::own {\nvoid run(int args) {}\nvoid f() { run(1); }\n}\n",
            "c/either.cu": '#include "c/launchers.hpp"\nnamespace c {\nvoid f(int n) { if (n) return one::run(n); two(n); }\n'
                           'const ladder::Registration r{{.name = "either", .device = kCuda}};\n}\n',
            "best.cpp": 'const auto f = [](const char* name) { return find_implementation(name); };\nauto g = f("either");\n'
                        'const ladder::Registration r{make<kCuda>("best")};\n',
        })
        self.assertEqual(tree.called("c/either.cu"), ("c/one.cu", "c/two.cu"))
        self.assertEqual(tree.called("c/own.cu"), ())
        self.assertEqual(tree.registered(), {"either": "c/either.cu", "best": "best.cpp"})
        self.assertEqual(tree.reached("best.cpp"), ("best.cpp", "c/either.cu", "c/one.cu", "c/two.cu"))

    def test_a_list_registers_each_of_its_names(self):
        tree = self.tree({"c/split.cu": "__global__ void a() {}\nladder::Registration rung(const char* name) { return ladder::Registration({.name = name}); }\n"
                                        'const ladder::Registration registrations[] = {\n    rung("atomics", 1), with_stages<2>("two_stages")};\n'})
        self.assertEqual(tree.registered(), {"atomics": "c/split.cu", "two_stages": "c/split.cu"})

    def test_names_of_implementations_stand_in_the_source_of_a_header_too(self):
        tree = self.tree({
            "c/one.cu": '__global__ void a() {}\nconst ladder::Registration r{{.name = "one"}};\n',
            "rules.hpp": "const char* name();\n",
            "rules.cpp": 'const char* name() { return "one"; }\n',
            "best.cu": '#include "rules.hpp"\nauto f = find_implementation(name());\nconst ladder::Registration r{{.name = "best"}};\n',
        })
        self.assertEqual(tree.reached("best.cu"), ("best.cu", "c/one.cu"))

    def test_a_copy_without_its_repository_has_the_same_sources(self):
        tree = self.tree({"03_a/kernel.cu": "", "build-x/a.cu": "", "out/tree/b.cu": "", "my/c.cu": "", ".ci/run": "", "top.txt": ""})
        self.assertEqual(sorted(nvcc.files_here(tree.root)), ["03_a/kernel.cu", "top.txt"])

    def test_every_source_of_this_tree_that_registers_has_kernels_to_launch(self):
        with nvcc.tree_of(".") as tree:
            self.assertIn("wkv_atomic", tree.registered())
            for name, source in tree.registered().items():
                self.assertTrue(any("__global__" in tree.code(each) for path in tree.reached(source)
                                    for each in tree.closure(path)), f"{name}: {source} launches no kernel that could be found")


class Steps(unittest.TestCase):
    def test_change_their_idea_only(self):
        kernels = [[line.rstrip() for line in without_comments((ROOT / chapter / "kernel.cu").read_text()).split("\n") if line.strip()]
                   for chapter in ("03_cuda_baseline", "04_no_atomic", "05_float4")]
        for before, after, least in ((*kernels[:2], 0.91), (*kernels[1:], 0.80)):
            self.assertGreaterEqual(difflib.SequenceMatcher(None, before, after, autojunk=False).ratio(), least)
