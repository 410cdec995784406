"""Tests of ./ladder learn, prepare and diff, and of the record of solved exercises."""
import datetime
import json
import multiprocessing
import os
import re
import unittest
from pathlib import Path
from unittest import mock

from for_tests import InAFolder, Refusals, printed
from ladder_tools import exercise as exercise_module
from ladder_tools import learning, recorded
from ladder_tools.hints import Hints
from ladder_tools.place import Refused, bosses, exercise_of, exercises


class Indices(unittest.TestCase):
    OURS = ("  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
            "  const std::int64_t blocks = (N + kThreads - 1) / kThreads;\n  const int column = blockIdx.y * kColumns;\n  int lane = 0;\n")

    def said_of(self, mine):
        return learning.too_narrow(mine, self.OURS)

    def test_a_number_of_32_bits_is_named_where_ours_has_64(self):
        for mine, words in (("\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n", "Line 2 fails for a larger problem, which no test here can show, because i has 32 bits and overflows at 2,147,483,648."),
                            ("  const auto i = blockIdx.x * blockDim.x + threadIdx.x;\n", "i has 32 bits and overflows at 4,294,967,296."),
                            ("  for (int i = first; i < N; i += stride)\n", "i has 32 bits and overflows at 2,147,483,648"),
                            ("  const int blocks = (static_cast<int>(N) + kThreads - 1) / kThreads;\n", "blocks has 32 bits"),
                            ("  const int i = warp / 2 * 64 + lane;\n", "Ours is a std::int64_t.")):
            self.assertIn(words, self.said_of(f"{mine}  const std::int64_t first = 0, warp = 0;\n  void of(const float* a, std::int64_t N);\n"))

    def test_a_product_of_32_bits_is_named_whatever_takes_it(self):
        for mine in ("  place.col = blockIdx.x * kColumns + threadIdx.x;\n", "  x = static_cast<std::int64_t>(blockIdx.x * blockDim.x + threadIdx.x);\n",
                     "  const std::int64_t n = kThreads * blockIdx.x + threadIdx.x;\n"):
            self.assertIn("is a product of 32 bits", self.said_of("  const int column = blockIdx.y * kColumns;\n" + mine))

    def test_nothing_is_said_of_what_is_wide_enough_or_as_narrow_as_ours(self):
        for mine in (self.OURS, "  int lane = threadIdx.x % 32;\n", "  int i = column + 3;\n", "  auto blocks = static_cast<unsigned>(N / kThreads);\n", "  auto i = std::int64_t{blockIdx.x} * blockDim.x;\n",
                     "  const int column = blockIdx.y * kColumns;\n", "  auto i = blockIdx.x * args.N;\n".replace("auto", "std::int64_t")):
            self.assertEqual(self.said_of(mine), "")
        self.assertEqual(learning.too_narrow("  int b = blockIdx.x;\n", "  const int b = blockIdx.x;\n"), "")

    def test_a_loop_that_counts_in_32_bits_up_to_what_ours_counts_in_64_is_named(self):
        ours = "  for (std::int64_t t = 0; t < args.T; ++t) {\n  for (int c = 0; c < kColumns; ++c) {\n"
        for mine in ("  for (int i = 0; i < args.T; ++i) {\n", "  for (auto t = 0; t < T; ++t) {\n", "  for (unsigned t = lane; t < args.T; t += 32) {\n"):
            self.assertIn("has 32 bits, and ", learning.too_narrow(mine, ours))
        for mine in ("  for (int i = 0; i < kColumns; ++i) {\n", "  for (long t = 0; t < args.T; ++t) {\n", "  for (auto t = first; t < args.T; ++t) {\n",
                     "  for (int v = 0; v < args.V; ++v) {\n"):
            self.assertEqual(learning.too_narrow(mine, ours), "")

    def test_a_call_whose_error_is_lost_is_named_where_ours_looks_at_each(self):
        ours = "  check(cudaFree(a));\n"
        self.assertIn("Line 2 ignores the error that cudaMalloc returns", learning.unchecked("\n  cudaMalloc(&a, bytes);\n  check(cudaFree(a));\n", ours))
        self.assertEqual(learning.unchecked(ours, ours), "")
        self.assertEqual(learning.unchecked("  cudaFree(a);\n", "  cudaFree(a);\n"), "")

    def test_elements_that_are_counted_for_bytes_are_named(self):
        for call, size in (("check(cudaMalloc(&a, N), \"a\");", "N"), ("cudaMemcpy(device_a, a + f(1, 2), N - 1, cudaMemcpyHostToDevice);", "N - 1"),
                           ("CUDA_CHECK(cudaMemsetAsync(args.o, 0, args.T * channels));", "args.T * channels"), ("cudaMalloc(&a, bytes);", ""),
                           ("cudaMalloc(&a, N * sizeof(float));", ""), ("cudaMemcpy(a, b, size, kind);", "")):
            said = learning.counts_elements(f"const std::size_t size = N * sizeof(float);\n  {call}\n", "")
            self.assertEqual([f" {size} * sizeof(float)."] if size else [], [line.partition("For floats, pass")[2] for line in said])
        self.assertEqual(learning.counts_elements("  cudaMalloc(&a, N);\n", "cudaMalloc(&a, N);\n"), [])

    def test_a_kernel_makes_no_call_of_the_host(self):
        mine = "__global__ void copy(float* a) {\n  if (a) {\n    cudaMemcpyAsync(a, a + 4, 16, kind);\n  }\n}\nvoid launch() {\n  cudaMemcpy(a, b, bytes, kind);\n}\n"
        said = learning.called_by_kernels(mine, "")
        self.assertEqual(len(said), 1)
        self.assertIn("Line 3: cudaMemcpyAsync is called in a kernel, but only the host may call it. The kernel's threads copy", said[0])
        self.assertEqual(learning.counts_elements(mine, ""), [])
        self.assertEqual(learning.called_by_kernels(mine, mine), [])

    def test_an_array_that_only_its_thread_has_is_named_where_ours_is_shared(self):
        ours = "  __shared__ float a_smem[kTile][kTile], b_smem[8];\n  float held[4];\n"
        for mine, names in ((ours, []), (ours.replace("__shared__ ", ""), ["a_smem", "b_smem"]), (ours.replace("held", "kept"), []),
                            ("  __shared__ float a_smem[8];\n  float mine[kTile + 1];\n  float held[4];\n", ["mine"]),
                            ("  __shared__ float tiles[2][64];\n  float held[4] = {};\n", [])):
            said = learning.own_arrays(mine, ours)
            self.assertEqual([line.partition(": ")[2].partition(" is not __shared__")[0] for line in said], names)

    def test_an_array_without_a_size_of_its_own_is_named_where_no_launch_gives_one(self):
        ours, launch = "  __shared__ float a_smem[8];\n", "k<<<blocks, 32>>>(x);\n"
        mine = "\n  extern __shared__ float a_smem[];\n"
        self.assertEqual([line.partition(", so")[0] for line in learning.without_size(mine + launch, ours + launch)], ["Line 2: a_smem is extern"])
        for each, of_ours in ((mine + "k<<<blocks, 32, bytes>>>(x);\n", ours), (ours + launch, ours), (mine + launch, mine)):
            self.assertEqual(learning.without_size(each, of_ours), [])


class HintsOfTheTree(unittest.TestCase):
    def test_say_what_they_say_without_the_page(self):
        for one in exercises() + exercises("scratch"):
            for hole in one.holes():
                for title, text in Hints(one).texts(hole):
                    self.assertNotRegex(text, r"\b[Ll]ines? \d|table above|under the picture", f"{one.name}, hole {hole}, {title}")


class Solved(InAFolder):
    """Tests with a my/ of their own."""

    def setUp(self):
        super().setUp()
        self.path, self.names = self.root / ".solved.json", [each.name for each in exercises()]
        self.during(mock.patch.object(learning, "_SOLVED", self.path))

    def test_the_next_exercise_is_the_first_behind_the_last_one_that_was_solved(self):
        self.assertEqual(learning.next_exercise(), self.names[0])
        learning.note_solved(self.names[2])
        learning.note_solved("03.boss")
        self.assertEqual(learning.next_exercise(), self.names[3])
        learning.note_solved(self.names[0])
        self.assertEqual(learning.next_exercise(), self.names[1])
        self.assertEqual(learning.next_exercise(after=self.names[1]), self.names[3])
        learning.note_solved(self.names[0], False)
        self.assertEqual(learning.next_exercise(), self.names[3])

    def test_behind_the_last_one_what_was_left_out_comes_and_then_nothing(self):
        for name in self.names[1:]:
            learning.note_solved(name)
        self.assertEqual(learning.next_exercise(after=self.names[-1]), self.names[0])
        learning.note_solved(self.names[0])
        self.assertIsNone(learning.next_exercise())
        self.path.write_text(json.dumps({**learning.solved(), "03": "2026-01-02"}))
        self.assertIn(f"on 2 days from 2026-01-02 to {datetime.date.today().isoformat()}", printed(learning.learn, [], "default", "/")[1])
        self.assertIn("climbed the whole ladder", printed(learning.learn, [], "default", "/")[1])

    def test_behind_what_is_written_from_scratch_the_next_lesson_comes(self):
        self.assertEqual(learning.next_exercise(after="03.scratch"), "03.01_causal_dot_product")
        # 16 to 18 have no exercise
        self.assertEqual(learning.next_exercise(after="08.16.scratch"), "08.18b_gradients_wgmma")
        self.assertEqual(learning.more_of("03"), ["03.scratch", "03.boss"])
        self.assertEqual(learning.more_of("03.01_causal_dot_product"), [])

    @staticmethod
    def begun(work, arguments):
        """Starts a process for each argument."""
        terminals = [multiprocessing.get_context("fork").Process(target=work, args=(each,)) for each in arguments]
        for terminal in terminals:
            terminal.start()
        return terminals

    def test_several_terminals_lose_nothing(self):
        terminals = self.begun(learning.note_solved, self.names)
        while any(terminal.is_alive() for terminal in terminals):
            self.assertTrue(not self.path.exists() or learning.solved(), "a part of the file was read")
        self.assertEqual(set(learning.solved()), set(self.names))

    def test_hints_in_several_terminals_leave_a_count(self):
        one = exercise_of("03")
        with mock.patch.object(one, "mine", self.path.with_name("exercise.cu")), mock.patch("builtins.print"):
            terminals = self.begun(Hints(one).give, ["1"] * 8)
            for terminal in terminals:
                terminal.join()
            self.assertEqual([terminal.exitcode for terminal in terminals], [0] * 8)
            self.assertIn(Hints(one).given("1"), (1, 2, 3))
        self.assertEqual([path.name for path in self.path.parent.iterdir()], [".hints_1"])

    def test_a_broken_file_is_none(self):
        for text in ("{", "[]", ""):
            self.path.write_text(text)
            self.assertEqual(learning.solved(), {})

    def test_learn_shows_every_exercise_and_what_is_done(self):
        learning.note_solved("03")
        text = printed(learning.learn, [], "default", "/")[1]
        self.assertIn("[x] 03  ", text)
        self.assertIn("[ ] 04  ", text)
        self.assertEqual(text.count("[x]") + text.count("[ ]"), len(self.names) + len(exercises("scratch")) + len(bosses()))
        self.assertRegex(text, r"\n03_cuda_baseline: [0-9.]+ h\n  \[x\] 03 +[0-9]+ min  one thread per output channel  \[ \] scratch  \[ \] boss\n")
        self.assertRegex(text, r"\n +07.15_wkv_and_gla +reference  WKV and GLA\n")
        # a reference with an exercise
        self.assertRegex(text, r" 08.20_split_keys +[0-9]+ min  Split keys \(reference\)")
        minutes = sum(int(each) for each in re.findall(r"  ([0-9]+) min  ", text))
        self.assertIn(f"\n{learning.hours(minutes)} h in all. 1 of ", text)
        today = datetime.date.today().isoformat()
        self.assertIn(f"1 of {len(self.names)} exercises are solved, 0 of {len(exercises('scratch'))} written from scratch, 0 of {len(bosses())} bosses found, on {today}.", text)
        self.assertIn("./ladder exercise 03.01_causal_dot_product", text)

    def test_a_path_shows_its_lessons_and_what_is_next_on_it(self):
        name = next(iter(learning.paths()))
        folders = learning.folders_of(name)
        on_it = [each.name for each in exercises() if str(each.folder) in folders]
        learning.note_solved(on_it[0])
        # the next one of all lessons comes after it, the path's does not
        learning.note_solved("03")
        text = printed(learning.learn, ["--path", name], "default", "/")[1]
        self.assertEqual(re.findall(r"^  \[.\] (\S+)", text, re.MULTILINE), on_it)
        minutes = sum(map(learning.minutes_of, folders))
        self.assertIn(f"{name}: {learning.hours(minutes)} h in all. 1 of {len(on_it)} exercises are solved.\nNext: read ", text)
        self.assertIn(f"./ladder exercise {on_it[1]} ", text)
        for each in on_it:
            learning.note_solved(each)
        self.assertIn("You have solved this whole path", printed(learning.learn, ["--path", name], "default", "/")[1])

    def test_arguments_of_learn(self):
        self.assert_refused(lambda words: learning.learn(words, "default", "/"), (
            (["03"], "no arguments except --path"), (["--path"], "takes one name; allowed: evening day"), (["--path", "evening", "day"], "takes one name"),
            (["--path", "nonsense"], "path is 'nonsense'; allowed: evening day week story flash linear"), (["--path", "evenin"], "did you mean evening")))

    def test_hours_are_no_more_exact_than_minutes(self):
        self.assertEqual([learning.hours(each) for each in (0, 20, 50, 75, 185, 600, 645, 5040)], ["0.5", "0.5", "1", "1", "3", "10", "11", "84"])


class Diff(Refusals):
    def test_names_are_no_difference(self):
        before = 'void wkv_atomic();\nR r{.name = "wkv_atomic"};'
        after = 'void wkv_no_atomic();\nR r{.name = "wkv_no_atomic"};'
        self.assertEqual(learning.with_name_of(before, after), after)

    def test_arguments(self):
        self.assert_refused(lambda words: learning.diff(words, "default", "/"), (
            (["03"], "takes two"), (["03", "77"], "chapter is '77'"), (["03", "00"], "lesson is '00'; allowed")))


class Prepare(unittest.TestCase):
    def test_builds_the_stubs_of_what_is_named(self):
        built = []
        with mock.patch.object(learning, "Build") as build:
            build.return_value.has_xray.return_value = True
            build.return_value.build.side_effect = lambda *targets: built.extend(targets)
            learning.prepare(["03.01"], "default", "/")
            self.assertEqual(built, ["stub.03.01_causal_dot_product.kernel", "ladder_xray_testing"])
            built.clear()
            learning.prepare(["01"], "default", "/")
            self.assertEqual(built, ["stub.01.kernel", "stub.01.01_linear_attention.kernel"])
        with self.assertRaisesRegex(Refused, "allowed: "):
            learning.prepare(["06.07"], "default", "/")


class Rewards(InAFolder):
    def test_a_step_that_was_measured_is_told_with_its_file(self):
        said = learning.recorded_step(exercise_of("04"))
        if said:  # there may be no record with both
            self.assertRegex(said, r"^on NVIDIA H200 wkv_no_atomic takes [0-9.]+ ms, [0-9.]+ % of the bound, and wkv_atomic took [0-9.]+ ms, at .*\(h200_[\w.-]+, records/h200_wkv.json[,)]")
            runs = {run["name"]: run for _, run in recorded.runs(Path(learning.ROOT) / "records")}
            names = {row["implementation"] for row in runs[re.search(r"\((h200_[\w.-]+),", said)[1]]["rows"]}
            self.assertIn("wkv_no_atomic", names)
        self.assertEqual(learning.recorded_step(exercises()[0]), "")
        # a kernel for decoding
        self.assertIn("T_q=1", learning.recorded_step(exercise_of("08.20")))

    def test_budgets_are_read_as_cpp_computes_them(self):
        self.assertEqual([learning.budget_of(exercise_of(name)).get("loads") for name in ("03", "05", "06", "01", "00.14")],
                         # 01 has no such budget, and 00.14's is for another shape
                         [257, 65, 4.2, None, None])

    def test_the_line_says_the_learners_counts_ours_and_those_of_the_step_before(self):
        with mock.patch.object(learning, "recorded_step", return_value=""):
            used = [{"used": used, "allowed": allowed, "what": f"global {what}", "per": "element of o", "implementation": implementation}
                    for used, allowed, what, implementation in ((64, 65, "loads", "wkv_float4"), (1, 1, "stores", "wkv_float4"), (3, 3, "loads", "another"))]
            self.assertEqual(learning.reward(exercise_of("05"), used), "64 loads per element of o, 04 needed 257.")
            self.assertEqual(learning.reward(exercise_of("04"), used), "")
            self.assertEqual(learning.reward(exercise_of("04"), []), "")


class OfALesson(InAFolder):
    def test_a_kernel_from_scratch_of_a_lesson_in_a_chapter_is_checked(self):
        calls = [mock.patch.object(exercise_module, name) for name in ("bring_up_to_date", "begin", "check_and_draw", "note_check", "Build", "say")]
        copy = self.root / "mine.cu"
        copy.write_text("// mine\n")
        self.during(*calls, mock.patch.object(type(exercise_of("03")), "mine", property(lambda _: copy, lambda *_: None), create=True))
        for name in ("00.06.scratch", "02.05_register_tiles.scratch", "03.scratch"):
            self.assertEqual(printed(exercise_module.exercise, [name], "default", "/")[0], 0, name)


class Watch(InAFolder):
    def test_checks_when_the_file_changes_and_goes_on_to_what_the_lesson_has_more(self):
        copies = {name: self.root / f"{name}.cu" for name in ("03", "03.scratch", "03.01_causal_dot_product")}
        for name, copy in copies.items():
            copy.write_text(exercise_of(name).text)
        saved, checks = iter(("03", "03.scratch")), []

        class Stop(Exception):
            pass

        def save(_):  # between two checks of the file
            name = next(saved, None)
            if name is None:
                raise Stop
            os.utime(copies[name], ns=(0, copies[name].stat().st_mtime_ns + 10**9))

        def check(command, **_):
            checks.append(command[-1])
            return mock.Mock(returncode=int(checks == ["03"]))
        one = exercise_of("03")
        self.during(mock.patch.object(learning, "_SOLVED", self.root / ".solved.json"), mock.patch.object(exercise_module, "say"),
                    mock.patch.object(type(one), "mine", property(lambda each: copies[each.name], lambda *_: None), create=True),
                    mock.patch.object(exercise_module.subprocess, "run", check), mock.patch.object(exercise_module.time, "sleep", save),
                    mock.patch("builtins.input", side_effect=EOFError))
        with self.assertRaises(Stop):
            printed(exercise_module.watch, one, "default", "/")
        self.assertEqual(checks, ["03", "03", "03.scratch", "03.boss"])
