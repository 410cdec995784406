"""Tests of mutate.py: which mutants it plants, in which order, and what an interrupted run
keeps."""
import collections
import unittest

import mutants
import mutate
import nvcc
from for_tests import InAFolder
from sources import Tree

KERNEL = '''// a * comment < with - operators
#include <cuda_runtime.h>
namespace chapter09 {
constexpr int kThreads = 32 * 2;
template <int kRows, bool kFirst = (1 < 2)>
__global__ void scale(const Args args) {
  static_assert(kRows % 4 == 0);
  const int i = blockIdx.x * kThreads + threadIdx.x;
  float sum = 0.0f;
  for (int j = 0; j < args.K; ++j) sum += args.q[i * args.K + j] * args.scale;
  __syncthreads();  // all of it
  if (i < args.T && sum > 1.5f) {
    args.o[i] = sum - load<float>(args.v + i * args.V);
  }
}
void launch(const Args& args) {
  ladder::require(args.K <= 256, "K is - too large");
  scale<4><<<(args.T + 3) / 4, kThreads>>>(args);
}
const ladder::Registration registration{{.name = "a - b"}};
}  // namespace chapter09
'''


def planted(kind, text=KERNEL):
    return {(text.split("\n")[each.line(text) - 1].strip(), text[each.start:each.end], each.text)
            for each in mutants.mutants_of("k.cu", text) if each.kind == kind}


def changes(kind):
    return {(before, after) for _, before, after in planted(kind)}


class Sites(unittest.TestCase):
    def test_of_each_kind(self):
        for kind, some in (
            ("stride", {(" * args.K", ""), (" * kThreads", ""), (" * args.V", ""), ("args.K", "args.V")}),
            ("bound", {("<", "<="), ("", " - 1"), ("", " + 1"), (">", ">="), ("<=", "<")}),
            ("scale", {(" * args.scale", ""), ("1.5f", "0.75f"), ("0.0f", "1.0f")}),
            ("dropped term", {(" + threadIdx.x", ""), (" + j", ""), (" - load<float>(args.v + i * args.V)", ""),
                              ("sum += args.q[i * args.K + j] * args.scale", "")}),
            ("sign", {("+", "-"), ("-", "+")}),
            ("guard", {("i < args.T && sum > 1.5f", "true"), ("i < args.T && sum > 1.5f", "false"), (" && sum > 1.5f", "")}),
            ("precision", {("args.q[i * args.K + j] * args.scale",
                            "__uint_as_float((__float_as_uint(args.q[i * args.K + j] * args.scale) + 0x8000u) & 0xffff0000u)")}),
        ):
            with self.subTest(kind):
                self.assertLessEqual(some, changes(kind))

    def test_barriers(self):
        self.assertEqual(changes("barrier"), {("__syncthreads()", "")})
        waits = planted("barrier", KERNEL.replace("__syncthreads()", "__pipeline_wait_prior(1)"))
        self.assertEqual({after for _, _, after in waits}, {"", "1 + 1"})

    def test_nothing_is_planted_where_no_code_runs(self):
        lines = {line for kind in mutants.KINDS for line, _, _ in planted(kind)}
        for line in lines:
            self.assertNotRegex(line, "comment|include|static_assert|^template|Registration|constexpr")
        self.assertFalse(any("too large" in before for kind in mutants.KINDS for before, _ in changes(kind)))

    def test_a_block_too_many_is_no_mutant(self):
        ceil = KERNEL.replace("(args.T + 3) / 4", "(args.T + kThreads - 1) / kThreads")
        self.assertIn((" + kThreads", ""), {(before, after) for _, before, after in planted("dropped term", ceil)})
        self.assertFalse({(" - 1", ""), ("-", "+")} & {(before, after) for line, before, after in planted("sign", ceil)
                                                       | planted("dropped term", ceil) if line.startswith("scale<4>")})

    def test_kernels_and_launchers_are_told_apart(self):
        where = {KERNEL.split("\n")[each.line(KERNEL) - 1].strip()[:6]: each.where for each in mutants.mutants_of("k.cu", KERNEL)}
        self.assertEqual(where["const "], "device")
        self.assertEqual(where["ladder"], "host")

    def test_the_cpus_kernels_are_kernels_and_are_rounded_without_cudas_words(self):
        loop = "void add(const float* q, float* o, int n) {\n  float sum = 0.0f;\n  for (int i = 0; i < n; ++i) sum += q[i];\n  o[0] = sum;\n}\n"
        of_the_cpu = mutants.mutants_of("02_x/kernel.cpp", loop)
        self.assertEqual({each.where for each in of_the_cpu}, {"device"})
        self.assertEqual({each.kind for each in of_the_cpu} & {"scale"}, {"scale"})
        texts = {each.text for each in mutants.mutants_of("02_x/kernel.cpp", loop.replace("sum += q[i];", "{ sum = q[i]; }"))
                 if each.kind == "precision"}
        self.assertIn("__builtin_bit_cast(float, (__builtin_bit_cast(unsigned, float(q[i])) + 0x8000u) & 0xffff0000u)", texts)

    def test_each_changes_its_place_only(self):
        for each in mutants.mutants_of("k.cu", KERNEL):
            changed = each.apply(KERNEL)
            self.assertNotEqual(changed, KERNEL)
            self.assertEqual((changed[:each.start], changed[each.start + len(each.text):]), (KERNEL[:each.start], KERNEL[each.end:]))
            self.assertIn("@@", each.diff(KERNEL))


class Drawing(unittest.TestCase):
    def test_the_same_seed_draws_the_same_and_another_another(self):
        sources = {"k.cu": KERNEL}
        self.assertEqual(mutants.drawn(sources, "1/09"), mutants.drawn(sources, "1/09"))
        self.assertNotEqual(mutants.drawn(sources, "1/09"), mutants.drawn(sources, "2/09"))

    def test_no_place_is_changed_twice(self):
        drawn = mutants.drawn({"k.cu": KERNEL}, 1)
        for at, each in enumerate(drawn):
            for other in drawn[:at]:
                self.assertFalse(each.start < other.end and other.start < each.end, (each, other))

    def test_this_trees_chapters_have_enough_of_each_kind(self):
        kinds = collections.Counter()
        with nvcc.tree_of(".") as tree:
            for chapter in mutate.ROOMS:
                sources = mutate.mutable_sources(tree, chapter, gpu=False)
                self.assertFalse(any(path.endswith(("exercise.cu", "test.cpp")) for path in sources))
                drawn = mutants.drawn(sources, f"1/{chapter}")[:35]
                self.assertGreaterEqual(len(drawn), 30, chapter)
                kinds.update(each.kind for each in drawn)
        for kind in mutants.KINDS:
            self.assertGreaterEqual(kinds[kind], 12, kind)


class Running(InAFolder):
    def setUp(self):
        super().setUp()
        self.write({"09_x/kernel.cu": KERNEL})
        self.tree = Tree(self.root, ["09_x/kernel.cu"])
        self.shop = type("Shop", (), {"tree": self.tree, "gpu": False})()

    def result(self, mutant, status):
        return {"id": mutate.identity(mutant, KERNEL), "chapter": "09", "file": mutant.file, "line": mutant.line(KERNEL),
                "kind": mutant.kind, "status": status, "diff": mutant.diff(KERNEL)}

    def run_of(self, quotas, known=()):
        return mutate.Run(mutate.drawn_queues(self.shop, 1, quotas), quotas, dict(known))

    def finished(self, run, status_of):
        tried = []
        while (got := run.next(self.shop)) is not None:
            self.assertNotEqual(got, "wait")
            tried.append(got[1])
            run.done(self.result(got[1], status_of(len(tried))))
        return tried

    def test_what_does_not_compile_is_replaced_by_another(self):
        run = self.run_of({"09": 6})
        tried = self.finished(run, lambda n: "does not compile" if n <= 3 else "killed")
        self.assertEqual(len(tried), 9)
        self.assertEqual(run.counted["09"], 6)

    def test_an_interrupted_run_goes_on_where_it_was(self):
        first = self.run_of({"09": 3})
        began = self.finished(first, lambda n: "killed")
        known = {each["id"]: each for each in first.results}
        whole = self.finished(self.run_of({"09": 8}), lambda n: "killed")
        rest = self.finished(self.run_of({"09": 8}, known), lambda n: "killed")
        self.assertEqual(began + rest, whole)

    def test_two_at_a_time_draw_no_more_than_one_at_a_time(self):
        run = self.run_of({"09": 2})
        got = [run.next(self.shop), run.next(self.shop)]
        self.assertEqual(run.next(self.shop), "wait")
        for _, mutant in got:
            run.done(self.result(mutant, "killed"))
        self.assertIsNone(run.next(self.shop))

    def test_survivors_are_found_again_where_lines_have_moved(self):
        mutant = next(each for each in mutants.mutants_of("09_x/kernel.cu", KERNEL) if each.kind == "barrier")
        wanted = {mutate.identity(mutant, KERNEL): self.result(mutant, "survived")}
        moved = "// one line more\n" + KERNEL
        self.write({"09_x/kernel.cu": moved})
        self.shop.tree = Tree(self.root, ["09_x/kernel.cu"])
        self.assertEqual([moved[each.start:each.end] for each in mutate.queues_of(self.shop, wanted)["09"]], ["__syncthreads()"])

    def test_a_line_that_was_not_finished_is_left_out(self):
        path = self.root / "results.jsonl"
        path.write_text('{"id": "a", "status": "killed"}\n{"id": "a", "status": "survived"}\n{"id": "b", "sta')
        self.assertEqual(mutate.read_results(path), {"a": {"id": "a", "status": "survived"}})

    def test_the_summary_shows_each_survivors_change(self):
        run = self.run_of({"09": 4})
        self.finished(run, lambda n: "survived" if n == 2 else "killed")
        self.shop.commit = "abc1234"
        text = mutate.summary(run.results, self.shop, 1)
        self.assertIn("| 09 | 4 | 3 | 1 |", text)
        survivor = next(each for each in run.results if each["status"] == "survived")
        self.assertIn(survivor["diff"].rstrip("\n"), text)

    def test_a_program_that_never_ends_is_ended(self):
        status, told = mutate.limited(["bash", "-c", "echo begun; sleep 60"], 1, "/")
        self.assertIsNone(status)
        self.assertEqual(told, "begun\n")


class WhichTestsSee(InAFolder):
    FILES = {"07_x/02_walk/kernel.cu": 'const ladder::Registration r{{.name = "walk", .device = kCuda}};\n__global__ void k() {}\n',
             "07_x/02_walk/test.cpp": 'TEST(Walk, IsRight) {}\nbool b = register_wkv_suite("walk", {});\n',
             "07_x/02_walk/xray_test.cpp": 'TEST(WalkSeen, Reads) {}\n', "07_x/03_other/test.cpp": 'TEST(Other, IsRight) {}\n',
             "01_y/kernel.cpp": "void f() {}\n", "01_y/test.cpp": 'TEST(Y, IsRight) {}\n',
             "library/best/best.cu": 'const ladder::Registration r{{.name = "best", .device = kCuda}};\n', "library/best/rules.cpp": "int f() { return 1; }\n",
             "library/best/rules_test.cpp": "TEST(Rules, Hold) {}\n", "library/best/test.cpp": 'bool b = register_suite("wkv", "best", {});\n',
             "07_x/more/nan_test.cpp": 'TEST(Nan, Stays) { find("walk"); }\n', "07_x/15_hopper/sm90_test.cpp": "TEST(Hopper, Runs) {}\n"}

    def setUp(self):
        super().setUp()
        self.write(self.FILES)
        self.tree = Tree(self.root, self.FILES)

    def test_folders_with_tests_have_programs(self):
        self.assertEqual(mutate.test_folders(self.tree, "07", "emulated"), ["07_x", "07_x/02_walk", "07_x/03_other", "07_x/15_hopper"])
        self.assertEqual(mutate.test_folders(self.tree, "07", "xray"), ["07_x/02_walk"])
        self.assertEqual(mutate.target_of("07_x", "xray"), "chapter07_xray_tests")
        self.assertEqual(mutate.target_of("07_x/02_walk", "emulated"), "chapter07.02_walk_emulated_tests")

    def test_the_cpus_chapters_and_best_have_programs_of_their_own(self):
        self.assertEqual(set(mutate.mutable_sources(self.tree, "01", False)), {"01_y/kernel.cpp"})
        self.assertEqual(set(mutate.mutable_sources(self.tree, "library/best", False)), {"library/best/best.cu", "library/best/rules.cpp"})
        self.assertEqual(set(mutate.mutable_sources(self.tree, "library/best", False, r"/rules\.")), {"library/best/rules.cpp"})
        self.assertEqual(mutate.target_of("01_y", "cpu"), "chapter01_cpu_tests")
        self.assertEqual(mutate.suites_that_see(self.tree, "01_y/kernel.cpp", "01_y", "cpu"), {"Y"})
        self.assertEqual([mutate.target_of("library/best", each) for each in ("cpu", "emulated")], ["library/best/best_tests", "library/best/best_emulated_tests"])
        self.assertEqual(mutate.suites_that_see(self.tree, "library/best/rules.cpp", "library/best", "cpu"), {"Rules"})
        self.assertEqual(mutate.suites_that_see(self.tree, "library/best/best.cu", "library/best", "emulated"), {"best", "wkv"})
        self.assertEqual(mutate.test_folders(self.tree, "library/best", "xray"), [])

    def test_a_lessons_own_tests_see_its_kernel_and_others_that_name_it(self):
        def seen(folder, back_end="emulated"):
            return mutate.suites_that_see(self.tree, "07_x/02_walk/kernel.cu", folder, back_end)

        self.assertEqual(seen("07_x/02_walk"), {"Walk", "walk"})
        self.assertEqual(seen("07_x/02_walk", "xray"), {"WalkSeen"})
        self.assertEqual(seen("07_x"), {"Nan", "walk"})
        self.assertEqual(seen("07_x/03_other"), set())
