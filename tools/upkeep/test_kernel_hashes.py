"""Tests of kernel_hashes.py, with a compiler whose machine code is the text without comments, and a
program with listed launches."""
import json
from contextlib import contextmanager

import kernel_hashes
import launches
import nvcc
import ptx
from for_tests import InAFolder
from kernel_hashes import differing, renewed, stale_rows, stamp
from ladder_tools.recorded import RUNS, as_rows, launched_in
from records import Records
from sources import Tree

KERNEL = 'const ladder::Registration r{{.name = "one", .device = kCuda}};\n__global__ void k() {}\n__global__ void other() {}\n'
FILES = {"03_a/kernel.cu": '#include "h.hpp"\n' + KERNEL, "03_a/h.hpp": "constexpr int kN = 4;\n",
         "04_b/kernel.cu": KERNEL.replace("one", "two")}
EMPTY = {"schema": "kernel-ladder/kernels/2", "nvcc": "13.0", "sources": [], "launched": []}
MANGLED = "_ZN12_GLOBAL__N_11kEv"


class FakeCompiler:
    """A kernel's code does not change with a declaration, and `other` is another kernel of the
    file."""

    def __init__(self):
        self.compiled = []

    def kernels_of(self, tree, sources):
        self.compiled += sources
        return {source: [ptx.Kernel(name, ptx.short_hash(name + "".join(self._text(tree, each, name) for each in tree.closure(source))))
                         for name in (MANGLED, "_Z5otherv")] for source in sources}

    @staticmethod
    def _text(tree, file, name):
        lines = tree.code(file).replace("int unused;", "").split("\n")
        return "\n".join(line.strip() for line in lines if line.strip() and (" other()" not in line or "other" in name))

    def resources(self, tree, kernels):
        return {kernel.hash: {"code": f"code of {kernel.hash}"} for its in kernels.values() for kernel in its}


class FakeProgram:
    """The launches depend on T; "refused" launches nothing."""

    def __init__(self):
        self.asked = 0

    def launches(self, questions):
        self.asked += sum(len(each["implementations"]) for each in questions)
        return [{name: [launches.Launch(MANGLED, f"{each['shape']['T']},1,1 32,1,1 0")] if each["shape"]["T"] else "it has no launcher for this"
                 for name in each["implementations"]} for each in questions]


def run_of(name, T, implementations, commit="abc1234"):
    return {"name": name, "operator": "wkv", "precision": "fp32", "shape": {"T": T}, "conditions": {"commit": commit},
            "rows": [{"implementation": each, "back_end": "cuda", "seconds": 1e-3} for each in implementations]}


class WithRuns(InAFolder):
    def setUp(self):
        super().setUp()
        self.compiler, self.program = FakeCompiler(), FakeProgram()
        self.runs = [run_of("short", 1, ["one", "two"]), run_of("long", 9, ["one", "gone"]), run_of("empty", 0, ["one"])]
        self.record = self.renewed(EMPTY, self.tree())
        self.compiler.compiled.clear()
        self.program.asked = 0

    def tree(self, changes=()):
        files = FILES | dict(changes)
        self.write(files)
        return Tree(self.root, files)

    def rows(self, tree):
        self.write({"records/runs.json": as_rows({"schema": RUNS, "runs": self.runs})})
        return kernel_hashes.rows_of(Records(self.root), tree)

    def hasher(self, tree):
        return kernel_hashes.Hasher(tree, self.compiler, self.program)

    def renewed(self, record, tree, has_nvcc=True):
        return renewed(record, self.rows(tree), tree, self.hasher(tree) if has_nvcc else None)

    def differing(self, tree):
        return list(differing(self.record, self.rows(tree), tree, self.hasher(tree)))


class Hashes(WithRuns):
    def test_are_of_what_a_row_launches(self):
        launched = launched_in(self.record)
        self.assertEqual({name: sorted(its) for name, its in launched.items()}, {"short": ["one", "two"], "long": ["one"], "empty": ["one"]})
        self.assertIsNone(launched["empty"]["one"])
        self.assertRegex(launched["short"]["one"], "^[0-9a-f]{16}$")
        self.assertNotEqual(launched["short"]["one"], launched["long"]["one"])  # another grid

    def test_what_has_not_changed_is_neither_asked_nor_compiled(self):
        self.assertEqual(self.differing(self.tree()), [])
        self.assertEqual(self.differing(self.tree({"03_a/h.hpp": "// four\n" + FILES["03_a/h.hpp"]})), [])
        self.assertEqual((self.compiler.compiled, self.program.asked), ([], 0))

    def test_a_changed_header_makes_the_rows_of_its_kernel_stale_and_no_other(self):
        told = self.differing(self.tree({"03_a/h.hpp": "constexpr int kN = 5;\n"}))
        self.assertEqual(sorted(line.split(":")[1].strip() for line in told), ["long, one", "short, one"])
        self.assertEqual(self.compiler.compiled, ["03_a/kernel.cu"])

    def test_another_kernel_of_the_file_ages_nothing(self):
        changed = FILES["03_a/kernel.cu"].replace("other() {}", "other() { int x; }")
        self.assertEqual(self.differing(self.tree({"03_a/kernel.cu": changed})), [])
        self.assertEqual(self.compiler.compiled, ["03_a/kernel.cu"])

    def test_a_changed_text_with_the_same_code_is_right(self):
        self.assertEqual(self.differing(self.tree({"03_a/h.hpp": FILES["03_a/h.hpp"] + "int unused;\n"})), [])
        self.assertEqual(self.compiler.compiled, ["03_a/kernel.cu"])

    def test_another_configuration_is_another_launch(self):
        tree = self.tree({"03_a/h.hpp": FILES["03_a/h.hpp"] + "int unused;\n"})
        self.program.launches = lambda questions: [{name: [launches.Launch(MANGLED, "2,1,1 64,1,1 0")] for name in each["implementations"]} for each in questions]
        self.assertEqual(len(self.differing(tree)), 3)  # empty now launches something

    def test_a_kernel_that_nvcc_does_not_know_is_refused(self):
        self.program.launches = lambda questions: [{name: [launches.Launch("_Z7unknownv", "")] for name in each["implementations"]} for each in questions]
        with self.assertRaisesRegex(nvcc.ToolError, "launches _Z7unknownv, and nvcc has compiled 0 of that name"):
            self.renewed(EMPTY, self.tree())

    def test_a_new_run_is_not_hashed_yet_and_that_is_no_mistake(self):
        self.runs.append(run_of("new", 3, ["one"]))
        tree = self.tree()
        self.assertEqual([name for name, _, _ in stale_rows(self.record, self.rows(tree), tree)], ["new"])
        self.assertEqual(self.differing(tree), [])
        self.assertIn("new", launched_in(self.renewed(self.record, tree)))

    def test_without_nvcc_the_rows_of_a_changed_source_lose_their_hash(self):
        tree = self.tree({"03_a/h.hpp": "constexpr int kN = 5;\n"})
        record = self.renewed(self.record, tree, has_nvcc=False)
        self.assertEqual(launched_in(record), {"short": {"two": launched_in(self.record)["short"]["two"]}})
        self.assertEqual([source for source, _ in record["sources"]], ["04_b/kernel.cu"])


class Stamps(WithRuns):
    def stamped(self, tree, then):
        @contextmanager
        def tree_of(commit):
            if commit != "abc1234":
                raise nvcc.ToolError("no such commit")
            yield then
        written = stamp(self.root / "records", self.record, tree, tree_of)
        found = json.loads((self.root / "records/runs.json").read_text())["runs"]
        return written, {run["name"]: {row["implementation"]: row.get("code") for row in run["rows"]} for run in found}

    def test_a_row_of_the_same_text_gets_todays_hash(self):
        tree = self.tree()
        written, found = self.stamped(tree, tree)
        self.assertEqual([path.name for path in written], ["runs.json"])
        self.assertEqual(found["short"], launched_in(self.record)["short"])
        self.assertEqual(found["long"]["gone"], None)

    def test_one_of_another_text_or_of_no_known_commit_gets_none(self):
        class Then(Tree):
            def closure_hash(self, path):
                return "other" if path.startswith("03") else super().closure_hash(path)
        tree = self.tree()
        _, found = self.stamped(tree, Then(self.root, FILES))
        self.assertEqual((found["short"]["one"], found["short"]["two"]), (None, launched_in(self.record)["short"]["two"]))
        self.runs = [run_of("short", 1, ["one"], "copy-dirty")]
        self.rows(tree)
        written, found = self.stamped(tree, tree)
        self.assertEqual((written, found["short"]["one"]), ([], None))

    def test_a_hash_that_is_there_stays(self):
        self.runs[0]["rows"][0]["code"] = "then"
        tree = self.tree()
        self.rows(tree)
        self.assertEqual(self.stamped(tree, tree)[1]["short"]["one"], "then")
