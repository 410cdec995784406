"""Tests of ./ladder's commands: arguments, exercises, hints, and the output of GoogleTest, ctest
and the sanitizers."""
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from for_tests import InAFolder, Refusals, wrong_result
from ladder_tools import building, cases, checking, compiler, exercise, gtest, hints, patches, place, programs, rows, telling, testing
from ladder_tools.place import ROOT, Refused, exercise_of, exercises, place_of


class Places(Refusals):
    def test_a_chapter_goes_by_its_number_or_its_folder(self):
        for text in ("3", "03", "03_cuda_baseline", "03_cuda_baseline/"):
            self.assertEqual((place_of(text).folder, place_of(text).room), ("03_cuda_baseline", "chapter03"))
        self.assertEqual((place_of("best").folder, place_of("best").room), ("library/best", "best"))
        self.assert_refused(place_of, ((text, "chapter is .*allowed: 00_warmup 01_naive_cpu") for text in ("", "99", "naive", "my/03_cuda_baseline", "003")))

    def test_a_lesson_goes_by_its_number_its_name_or_its_folder(self):
        for text in ("7.2", "07.02", "07.2", "07.02_chunk_walk", "07.chunk_walk", "07_chunkwise/02_chunk_walk/", "chunk_walk"):
            self.assertEqual((place_of(text).folder, place_of(text).room), ("07_chunkwise/02_chunk_walk", "chapter07.02_chunk_walk"))
        own = place_of("03.0")
        self.assertEqual((own.folder, own.room, own.word), ("03_cuda_baseline", "chapter03.00", "03.00"))
        self.assert_refused(place_of, (
            *((text, "lesson is .*allowed: 07.01_prefix_sum 07.02_chunk_walk") for text in ("07.99", "07.walk", "07_chunkwise/mistakes")),
            ("04.9", "allowed: 04.01_restrict"),
            ("linear_attention", "allowed: 01_naive_cpu/01_linear_attention 02_openmp/06_linear_attention")))

    def test_an_exercise_knows_its_files(self):
        second = exercise_of("3.causal_dot_product")
        self.assertEqual((second.name, str(second.solution), str(second.mine)),
                         ("03.01_causal_dot_product", "03_cuda_baseline/01_causal_dot_product/kernel.cu",
                          "my/03_cuda_baseline/01_causal_dot_product/exercise.cu"))
        self.assertTrue(second.needs_device)
        self.assertEqual(exercise_of("03_cuda_baseline/").holes(), list("1234567"))
        self.assertEqual(exercise_of("8").name, "08")
        scratch = exercise_of("3.scratch")
        self.assertEqual((scratch.name, scratch.lesson, str(scratch.mine), str(scratch.solution)),
                         ("03.scratch", "03", "my/03_cuda_baseline/scratch.cu", "03_cuda_baseline/kernel.cu"))
        self.assert_refused(exercise_of, (
            ("99.scratch", "exercise is '99.scratch'; allowed: .*01.scratch 02.scratch 02.05_register_tiles.scratch"),
            ("03.scrath", "did you mean 03.scratch"), ("07.chunk_wlk", "did you mean 07.chunk_walk"),
            *((name, "allowed: 00.01_first_kernel .* 01 01.01_linear_attention") for name in ("", "99", "03.no_such_idea", "best"))))

    def test_a_lesson_without_an_exercise_is_to_read(self):
        said = '^08.15_hopper is a lesson to read, without an exercise; its question: "[A-Z].* .*\\?"; next: ./ladder exercise 08.18b'
        with self.assertRaisesRegex(place.ToRead, said):
            exercise_of("08.15")
        with self.assertRaisesRegex(place.ToRead, "without an exercise; its question: .*; next: ./ladder exercise 08.16_backward_scalar.scratch$"):
            exercise_of("08.16")
        with_exercise = {exercise.folder for exercise in exercises("exercise")}
        to_read = {kernel.parent.relative_to(ROOT) for kernel in ROOT.glob("[0-9][0-9]_*/*/kernel*.c*")} - with_exercise
        self.assertGreater(len(to_read), 10)
        for folder in to_read:
            with self.assertRaisesRegex(place.ToRead, 'without an exercise; its question: ".*\\?"; next: '):
                exercise_of(place.lesson_of(folder))

    def test_every_help_fits_80_columns(self):
        for words in ([], ["run"], ["xray"], ["apply"], ["exercise"]):
            said = subprocess.run([ROOT / "ladder", *words, "--help"], capture_output=True, text=True, check=True).stdout
            self.assertLessEqual(max(map(len, said.splitlines())), 80, words)

    def test_a_lessons_number_may_have_a_letter(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(place, "ROOT", Path(folder)):
            for lesson in ("12_last", "11b_between", "11_first", "2_none", "11bc_none"):
                (Path(folder) / "07_x" / lesson).mkdir(parents=True)
                (Path(folder) / "07_x" / lesson / "exercise.cu").touch()
            self.assertEqual(place.lessons("07_x"), ["11_first", "11b_between", "12_last"])
            for word in ("07.11b", "7.11b", "07.between", "between", "07_x/11b_between/"):
                self.assertEqual(place_of(word).folder, "07_x/11b_between")
            self.assertEqual(place_of("07.11").lesson, "11_first")
            self.assertEqual([each.name for each in place.exercises()], ["07.11_first", "07.11b_between", "07.12_last"])
            self.assertEqual(place_of("07.11b").room, "chapter07.11b_between")

    def test_each_hole_has_three_hints(self):
        for each in exercises() + exercises("scratch"):
            for hole in each.holes():
                titles = [title for title, text in hints.Hints(each).texts(hole) if text]
                self.assertEqual(titles, ["Nudge", "Formula", "Nearly code"], hole)

    def test_stages_of_a_kernel_from_scratch_have_hints_and_tests_of_their_own(self):
        with_stages = [each for each in exercises("scratch") if each.piece == "stage"]
        self.assertEqual([each.name for each in with_stages if each.name[:2] == "06"][0], "06.scratch")
        for each in with_stages:
            tests = "sm90_test.cpp" if each.mine.name.endswith("_sm90.cu") else "test.cpp"
            test = (place.ROOT / each.folder / tests).read_text()
            self.assertLessEqual(3, len(each.holes()))
            self.assertEqual(re.findall(r'"Stage([0-9]+)[A-Z]', test), sorted(each.holes()), each.name)
            owners = {}
            # adjacent lines of two stages could not be told apart
            for at, stage, _ in patches.holes_of(each).places:
                self.assertEqual(owners.setdefault(at, stage), stage, each.name)
        # the holes of 03.scratch are the exercise's
        self.assertEqual((exercise_of("03.scratch").piece, exercise_of("06").piece), ("hole", "hole"))
        hole, stage = (hints.Hints(exercise_of(name)) for name in ("06", "06.scratch"))
        self.assertNotEqual(hole.texts("1"), stage.texts("1"))
        self.assertEqual((len(hole.texts("2")), len(stage.texts("5"))), (3, 3))
        self.assertNotEqual(hole._count("1"), stage._count("1"))

    def test_a_todo_of_several_lines_is_said_whole(self):
        one = exercise_of("07.2")
        with tempfile.TemporaryDirectory() as folder, mock.patch("ladder_tools.place.ROOT", Path(folder)):
            (Path(folder) / one.mine).parent.mkdir(parents=True)
            (Path(folder) / one.mine).write_text("int a;\n  // TODO(1): roughly 6 lines; add\n  // TODO(1): and send\n  // TODO(1): budget: one\n// TODO(2): x\n")
            self.assertEqual(one.first_todo(), ("1", f"{one.mine}:2: TODO(1): roughly 6 lines; add and send; budget: one"))
            for end, joined in ((";", ";"), (".", ";"), ("?", "?")):
                (Path(folder) / one.mine).write_text(f"// TODO(1): add{end}\n// TODO(1): budget: one\n")
                self.assertEqual(one.first_todo(), ("1", f"{one.mine}:1: TODO(1): add{joined} budget: one"))


class Arguments(Refusals):
    def test_of_run_are_handed_on_with_paths_from_where_the_caller_stands(self):
        given = programs.Arguments("run", ["3", "--shape", "T=8", "--all", "--json=x.json", "--patience=5"], "/tmp")
        self.assertEqual(given.words, ["03_cuda_baseline", "--shape=T=8", "--all", "--patience=5"])
        self.assertEqual(given.paths["--json"], Path("/tmp/x.json"))

    def test_of_run_with_ones_own_kernel_name_one_lesson_that_was_begun(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(exercise_of("03").__class__, "mine", Path(folder) / "exercise.cu", create=True):
            self.assert_refused(lambda words: programs.run(words, "default", "/"), (
                (["--mine"], "one lesson"), (["03", "04", "--mine"], "one lesson"), (["00.01", "--mine"], "is not one"),
                (["06.07", "--mine"], "06.07_time_tiles is a lesson to read"), (["03", "--mine", "--foo"], "option is '--foo'")))

    def test_of_run_that_are_wrong_are_refused(self):
        self.assert_refused(lambda words: programs.Arguments("run", words, "/tmp"), (
            (["--shaep", "T=8"], "option is '--shaep'; allowed: .*--shape"), (["--shape"], "--shape needs a value"),
            (["--json", "--all"], "--json is followed by '--all'"), (["--condition", "x"], "option is '--condition'"),
            (["--all=1"], "--all is followed by"), (["77"], "chapter is '77'"), (["--json", "none/x"], "--json is 'none/x'; allowed"),
            (["--operator", "atention"], "--operator is 'atention'; allowed: .*; did you mean attention\\?$"),
            (["--implementation=best_wvk"], "did you mean best_wkv"), (["--precision=bf17"], "allowed: fp32 bf16 bf16_fp32_decay fp16$"),
            (["--shape=trainig"], "did you mean training"), (["--shape=B=2,T=x"], "T is 'x'; allowed: a whole number"), (["--shape=T=１２"], "T is '１２'; allowed: a whole number from 1"),
            ([f"--shape=T={'9' * 23}"], "T is '9*'; allowed: a whole number from 1 to 2147483648"), (["--precision=fp32", "--precision=bf16"], "--precision is given twice; allowed: once"),
            (["--shape=Q=1"], "--shape is 'Q'"),
            (["--options", "revrse,scale=2"], "--options is 'revrse'; .*did you mean reverse"), (["--patience=long"], "--patience is 'long'")))
        programs.Arguments("run", ["--shape=llama3-8b", "--options=lengths=5+0+17,decay=strong", "--patience=.5"], "/tmp")

    def test_a_program_has_the_lessons_that_are_asked_for(self):
        climbed = rows.lessons_for([])
        below_03 = ["01", "02", "02.02_loop_order", "02.03_simd", "02.04_columns", "02.05_register_tiles", "03"]
        self.assertTrue({"01", "03", "07.15_wkv_and_gla", "08.08_pipelined", "best"} <= set(climbed), climbed)
        self.assertFalse({"00.09_sum", "03.01_causal_dot_product", "07.20_backward", "08.14_overlap"} & set(climbed), climbed)
        self.assertIn("08.20_split_keys", climbed)  # best_attention names it
        for words, lessons in ((["03"], below_03), (["03", "--shape=T=8"], ["03"]), (["05", "03"], ["03", "05"]), (["06.0"], ["06", "06.03_fused_recurrent", "06.07_time_tiles"]),
                               (["00.9"], ["00.09_sum"]), (["--operator", "softmax"], ["00.11_rows"]), (["--operator=gla_combine"], ["07.05_gla_steps"]),
                               (["01", "--operator=causal_dot_product"], ["01.01_linear_attention"]), (["07.06"], ["07.06_gla_layer", "07.15_wkv_and_gla"]),
                               (["--implementation", "wkv_atomic"], ["03"]), (["--implementation=sum_tree", "--implementation=matmul_naive"], ["00.09_sum", "00.13_matmul"]),
                               (["07.04"], None)):
            given = programs.Arguments("run", words, "/tmp")
            self.assertEqual(rows.lessons_for(given.asked, given.operator, given.names, given.variants, given.alone), lessons, words)

    def test_without_a_place_it_is_the_story(self):
        own = {rung.name: rung for *_, rungs, summits in rows.story() if not summits for rung in rungs}
        # the chapters' own kernels
        folders = [path for path in place.in_lessons("kernel.c*") if len(path.parts) == 2]
        self.assertEqual([Path(rung.source) for rung in own.values()], folders)
        self.assertEqual(own["wkv_shared_mem"].library, "06.00")
        self.assertNotIn("wkv_recurrent", own)  # in chapter 06's folder too, but not its kernel
        summits = {rung.name: rung for *_, rungs, summits in rows.story() if summits for rung in rungs}
        self.assertTrue({"wkv_openmp", "wkv_time_tiles", "wkv_chunkwise", "best_wkv"} <= summits.keys())
        self.assertNotIn("wkv_chunkwise_fused", summits)  # a variant in the same file
        here, on_gpu = rows.lessons_of_story(False), rows.lessons_of_story(True)
        self.assertEqual({lesson[2:] for lesson in here}, {".00"})
        self.assertTrue({"06.00", "07.15_wkv_and_gla", "best"} <= set(on_gpu))
        tables = programs.tables_of_story(here)
        self.assertIn("--table=summits: wkv fp32 B=1,T=1024,H=32,K=64,V=64 wkv_time_tiles=06_shared_mem/07_time_tiles/kernel.cu "
                      "wkv_chunkwise=07_chunkwise/15_wkv_and_gla/kernel.cu best_wkv=library/best/best.cu", tables)
        # the program contains all of them
        self.assertNotIn(".cu", " ".join(programs.tables_of_story(on_gpu)))

    def test_a_program_is_asked_for_once(self):
        with tempfile.TemporaryDirectory() as folder:
            asked = [programs.ask_for_program(programs.Arguments("run", words, "/tmp"), Path(folder)) for words in ([], ["03"], [], ["07.04"])]
            self.assertEqual(asked[0], asked[2])
            self.assertEqual(asked[3], "ladder")
            lines = (Path(folder) / "asked_programs.txt").read_text().splitlines()
            self.assertEqual(lines[0], f"{asked[1]} 01 02 02.02_loop_order 02.03_simd 02.04_columns 02.05_register_tiles 03")
            self.assertEqual(len(lines), 2)

    def test_of_test_are_chapters_then_ctests(self):
        given = testing.Arguments(["1", "best", "-R", "Repeat", "-j4", "-LE", "slow", "--verbose"])
        self.assertEqual(given.targets, ["chapter01_all", "best_all"])
        self.assertEqual(given.options, ["-L", "^chapter01(\\.|$)|^best(\\.|$)", "-R", "Repeat", "-j4", "--verbose", "-LE", "^(mistake|stub|boss)$|slow"])
        self.assertTrue(given.ctests_own_output)
        self.assertEqual(testing.Arguments([]).options, ["-LE", "^(mistake|stub|boss)$"])
        self.assertEqual(testing.Arguments(["mistake.05", "stubs"]).options, ["-R", r"^(mistake\.05\.|stub\.)"])
        self.assertEqual(testing.Arguments(["mistake.03.decay_first", "stub.03.kernel"]).targets, ["mistake.03.decay_first", "stub.03.kernel"])
        self.assert_refused(testing.Arguments, (
            (["mistake.03.none"], "test is 'mistake.03.none'; allowed: .*mistake.03.decay_first"),
            (["mistake.5"], "allowed: mistakes"), (["03", "stub.03"], "both given"),
            (["--foo"], "option is '--foo'; allowed"), (["-R"], "-R needs a value"), (["99"], "chapter is '99'"),
            (["-R", "x", "03"], "option is '03'")))

    def test_of_test_is_a_single_test(self):
        for words, target, label, test_filter in (
                (["chapter05.emulated.wkv_float4.IsRepeatable"], "chapter05.00_all", "^chapter05(\\.00)?$", "wkv_float4.IsRepeatable"),
                (["wkv_float4.IsRepeatable"], "chapter05.00_all", "^chapter05(\\.00)?$", "wkv_float4.IsRepeatable"),
                (["chapter07.02_chunk_walk.xray.A.B"], "chapter07.02_chunk_walk_all", "^chapter07(\\.02_chunk_walk)?$", "A.B"),
                (["best.emulated.A.B"], "best_all", "^best(\\.|$)", "A.B"), (["cuda.hopper.A.B"], "hopper_tests", "^cuda$", "A.B"),
                (["reference.A.B"], "reference_tests", "^reference$", "A.B"), (["7", "--gtest_filter=*A*-*B*"], "chapter07_all", "^chapter07(\\.|$)", "*A*-*B*")):
            given = testing.Arguments(words)
            self.assertEqual((given.targets, given.options[:2], given.filter), ([target], ["-L", label], test_filter))
        self.assertIsNone(testing.Arguments(["07.02"]).filter)
        self.assert_refused(testing.Arguments, ((["none_such.A"], "chapter is 'none_such.A'"), (["chapter07.99_x.emulated.A.B"], "lesson is"),
                                                (["--gtest_filter"], "option is '--gtest_filter'; allowed: --gtest_filter=PATTERN")))

    def test_of_exercise(self):
        given = exercise.Arguments(["--hint", "04.00.1"])
        self.assertEqual((given.exercise.name, given.action, given.hole), ("04", "hint", "1"))
        self.assertEqual(exercise.Arguments(["--hint", "7.2.1"]).exercise.name, "07.02_chunk_walk")
        self.assert_refused(exercise.Arguments, (
            (["03", "04"], "one name"), (["03", "--solve"], "option is '--solve'"), (["03", "--hint", "--reset"], "once"),
            (["03", "--hint", "9"], "hole is '9'; allowed for 03: 1")))


class Programs(InAFolder):
    """Scripts play GoogleTest's part."""

    def test_a_report_is_read(self):
        done = gtest.run(self.program("""
tests = [{'name': 'A', 'result': 'COMPLETED'}, {'name': 'B', 'result': 'SKIPPED'},
         {'name': 'C', 'result': 'COMPLETED', 'failures': [{'failure': 'x.cpp:1\\nwrong'}]}]
open(report, 'w').write(json.dumps({'testsuites': [{'name': 'suite', 'testsuite': tests}]}))
sys.exit(1)
"""), 10)
        self.assertEqual((done.status, done.passed(), done.skipped(), done.crashed), (1, 1, 1, False))
        self.assertEqual(done.first_failure()["name"], "suite.C")

    def test_a_crash_and_a_loop_leave_the_test_that_began_last(self):
        begin = "print('[ RUN      ] suite.A\\nso far', flush=True)\n"
        crash = gtest.run(self.program(begin + "os.kill(os.getpid(), signal.SIGSEGV)"), 10)
        self.assertTrue(crash.crashed)
        self.assertEqual(crash.how_it_ended(10), "the program crashed (SEGV)")
        self.assertEqual(crash.last_begun(), ("suite.A", ["so far"]))
        self.assertIn("an integer was divided by zero", gtest.run(self.program("os.kill(os.getpid(), signal.SIGFPE)"), 10).how_it_ended(10))
        loop = gtest.run(self.program(begin + "while True: pass"), 1)
        self.assertFalse(loop.crashed)
        self.assertEqual(loop.how_it_ended(1), "stopped after 1 seconds")
        self.assertEqual(loop.last_begun()[0], "suite.A")
        slow = "end = time.monotonic() + 1.5\nwhile time.monotonic() < end: sum(range(300_000)), time.sleep(0.05)"
        self.assertFalse(gtest.run(self.program(slow), 1).timed_out, "others may have kept the processors busy")
        self.assertTrue(gtest.run(self.program("time.sleep(60)"), 1).timed_out)

    @staticmethod
    def case(T, K, V, *options):
        test = gtest.Test(f"wkv.MatchesReference/T{T}_K{K}_V{V}_{'_'.join(options)}")
        test.case = f"B=2, T={T}, H=3, K={K}, V={V}; {', '.join(options)}; fp32"
        return test

    def test_a_small_and_plain_case_comes_first(self):
        refuses, smallest = gtest.Test("wkv.RefusesBadInput"), self.case(15, 4, 4)
        tests = [self.case(37, 64, 64, "decay=strong"), self.case(1, 4, 4), refuses, smallest, self.case(15, 64, 64), self.case(1000, 4, 4)]
        self.assertEqual(cases.smallest_case(tests), smallest)
        self.assertIsNone(cases.smallest_case([refuses]))
        of_a_hole = gtest.Test("wkv.Hole1Loads")
        of_a_hole.case = "; ; bf16"  # the case only names its numbers' format: hole.hpp
        self.assertIsNone(cases.smallest_case([of_a_hole]))
        self.assertEqual(cases.first_tests(tests), [smallest])
        plain = [gtest.Test("wkv.PlainCase"), gtest.Test("gla.GlaPlainCase")]
        self.assertEqual(cases.first_tests(tests + plain), ["wkv.PlainCase:gla.GlaPlainCase", smallest])
        self.assertEqual(cases.first_tests([refuses]), [])
        large = [self.case(T, K, K) for K in (64, 128) for T in (60, 61, 62, 63, 64)]
        self.assertEqual(cases.without_large_repeats(large), large[:7])

    def test_cases_that_fail_have_something_in_common(self):
        sizes = [(4, 4), (4, 64), (64, 4), (64, 64), (100, 4), (100, 64), (128, 64), (32, 64)]

        def all_with(*options):
            return [self.case(37, K, V, *options) for K, V in sizes]

        def said(tests, wrong):
            return cases.what_fails([each for each in tests if each not in wrong], wrong)
        plain, reverse, strong = all_with(), all_with("reverse"), all_with("decay=strong")
        tests = plain + reverse
        wider = [each for each in tests if dict(cases.sizes_of(each)[0])["K"] > dict(cases.sizes_of(each)[0])["V"]]
        self.assertEqual(said(tests, wider), "wrong in 8 of 16 cases: all those where K > V")
        self.assertEqual(said(tests, reverse), "wrong in 8 of 16 cases: all those with reverse")
        both = all_with("decay=strong", "reverse")
        self.assertEqual(said(tests + strong + both, both), "wrong in 8 of 32 cases: all those with decay=strong and with reverse")
        states = all_with("decay_per_head", "initial_state")
        self.assertEqual(said(plain + states, states), "wrong in 8 of 16 cases: all those with decay_per_head (or: with initial_state)")
        self.assertEqual(said(tests, [tests[0], tests[3], tests[6]]), "wrong in 3 of 16 cases")
        self.assertEqual(cases.sizes_of(strong[0]), ([("B", 2), ("T", 37), ("H", 3), ("K", 4), ("V", 4)], ["decay=strong"]))
        self.assertEqual(cases.what_fails(tests, []), "")
        # this case has columns for all its steps
        self.assertEqual(cases.plainest(reverse + wider), self.case(37, 100, 64))

    def test_a_hole_has_tests_of_its_own(self):
        names = ["fill.Hole2Launches", "fill.MatchesReference/N1", "fill.Hole1Indexes", "fill.Hole2Checks", "fill.Holes", "Hole3Tests.It"]
        self.assertEqual(telling.tests_of_holes(names), {"1": ["fill.Hole1Indexes"], "2": ["fill.Hole2Launches", "fill.Hole2Checks"]})
        self.assertEqual(telling.tests_of_holes([*names, "fill.Stage1Loads"], "stage"), {"1": ["fill.Stage1Loads"]})

    def test_a_failure_is_said_without_googletests_own_words(self):
        numbers = ["relative error 1 (limit 2), worst element at 9 of its limit: o(t=0, i=0)",
                   "first bad element: o(t=0, i=0) is 0, should be 1; 9 of 9 are bad"]
        message = "\n".join(["WRONG RESULT in o", "every element is zero.",
                             "step 0, column 0: yours 0, right 1", *numbers, ""])
        result = wrong_result(message, numbers=numbers, case="B2_T37_H3_K64_V64_mild")
        text = (f"../common/testing/suite.cpp:266\nValue of: is_right(x)\n  Actual: false ({message})\n"
                "Expected: true\nB2_T37_H3_K64_V64_mild\nGoogle Test trace:\n"
                "../common/testing/tests.cpp:35: order of threads: forward\n"
                f"{ROOT}/08_x/test.cpp:62: splits: 5")
        said = telling.words_of(gtest.Told(text, [result]))
        self.assertEqual(said, ["  WRONG RESULT in o", "  every element is zero.", "  step 0, column 0: yours 0, right 1", "  order of threads: forward", "  splits: 5"])

    def test_what_googletest_compared_is_said_behind_the_judges_words(self):
        said = telling.words_of("x.cpp:88\nExpected equality of these values:\n  blocks_for(257, 132)\n    Which is: 1\n  1 + 1\n    Which is: 2\n"
                                 "WRONG RESULT for one element more\n")
        self.assertEqual(said, ["  WRONG RESULT for one element more", "  blocks_for(257, 132) is 1, should be 2"])
        said = telling.words_of("x.cpp:9\nExpected equality of these values:\n  x\n    Which is: nan\n  1\nrow 0")
        self.assertEqual(said, ["  x is nan, should be 1", "  row 0"])
        self.assertEqual(telling.words_of("x.cpp:9\nExpected: (most - least) < (2 * 16), actual: 48 vs 32\n37 columns"),
                         ["  most - least is 48, should be less than 32", "  37 columns"])
        self.assertEqual(telling.words_of("x.cpp:9\nValue of: is_even(n)\n  Actual: false\nExpected: true\n"), ["  is_even(n) is false, should be true"])

    def test_of_a_failure_that_begins_as_the_one_before_what_is_new_is_said(self):
        said = telling.lines_of([f"x.cpp:9\nWRONG RESULT in {name}\nthe rule\nthe order" for name in ("o", "o", "lse")])
        self.assertEqual(said, ["  WRONG RESULT in o", "  the rule", "  the order", "  WRONG RESULT in lse", "  the rule", "  the order"])
        equal = "x.cpp:9\nExpected equality of these values:\n  f(x)\n    Which is: 2\n  n\n    Which is: 1\nWRONG RESULT: {}\n"
        self.assertEqual(telling.lines_of([equal.format(what) for what in ("one", "two")]),
                         ["  WRONG RESULT: one", "  f(x) is 2, should be 1", "  WRONG RESULT: two", "  f(x) is 2, should be 1"])
        self.assertEqual(telling.lines_of(["x.cpp:9\nWRONG RESULT in o\nrow 1", "x.cpp:9\nWRONG RESULT in o\nrow 2"]),
                         ["  WRONG RESULT in o", "  row 1", "  in another check: row 2"])

    def test_of_a_tests_name_its_hole_is_not_said(self):
        self.assertEqual(telling.shown_name("fill.Hole2Launches"), "fill.Launches")
        self.assertEqual(telling.shown_name("fill.Stage2Launches"), "fill.Launches")
        self.assertEqual(telling.shown_name("fill.Holes"), "fill.Holes")

    def test_of_a_run_its_first_failure_is_told_in_a_sentence_if_it_has_one(self):
        rows = ["right (.) and wrong (x), columns 0 to 2:", "steps 0 to 63    ...", "step 64  xx."]
        facts = [wrong_result("WRONG RESULT in o", map=rows)]
        for failure, told in (("x.cpp:1\nWRONG RESULT in o\nIt equals the result with the scale forgotten.\nbatch 0: yours 1, right 2", "It equals the result with the scale forgotten."),
                              ("x.cpp:1\nWRONG RESULT in o\nbatch 0: yours 1, right 2\nmore", "WRONG RESULT in o, batch 0: yours 1, right 2"),
                              ("\n".join(["x.cpp:1", "WRONG RESULT in o", "batch 0: yours 1, right 2", *rows]),
                               "WRONG RESULT in o, batch 0: yours 1, right 2"),
                              ("x.cpp:1\nWRONG RESULT in o\nA change of k alone changes nothing in x.", "A change of k alone changes nothing in x.")):
            done = gtest.Run(1, False, "", [{"name": "a.B", "failures": [failure]}], facts)
            self.assertEqual(telling.told_of(done, 9), told)
        self.assertEqual(telling.told_of(gtest.Run(-11, False, "", []), 9), "the program crashed (SEGV)")

    def test_what_the_compiler_found_strange_is_said_once(self):
        log = ("".join(f"{ROOT}/my/a.cu:46:11: warning: 'sum' may be used uninitialized [-Wmaybe-uninitialized]\n   46 | sum += x;\n" for _ in range(3))
               + f"/a tree/{ROOT}/my/a.cu:9:3: warning: unused variable 'q' [-Wunused-variable]\n{ROOT}/common/b.hpp:1:1: warning: no [-Wfoo]\n")
        used = "Compiler warning, line 46 of my/a.cu: 'sum' may be used uninitialized"
        unused = "Compiler warning, line 9 of my/a.cu: unused variable 'q'"
        for unfinished, warnings in ((True, {used: 46}), (False, {unused: 9, used: 46})):
            self.assertEqual(compiler.compiler_warnings(log, "my/a.cu", unfinished), warnings)

    def test_an_asan_report_becomes_a_line(self):
        text = ("==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\nREAD of size 4 at 0x1 thread T0\n"
                "    #0 0x5 in chapter01::step /home/x/my/01_naive_cpu/exercise.cpp:31\n"
                "    #1 0x6 in chapter01::wkv /home/x/my/01_naive_cpu/exercise.cpp:50\n    #2 0x7 in main /x/main.cpp:1\n\n"
                "0x1 is located 0 bytes to the right of 48-byte region [0x2,0x3)\n")
        self.assertEqual(telling.asan_finding(text),
                         "AddressSanitizer: heap-buffer-overflow at my/01_naive_cpu/exercise.cpp:31, called at "
                         "my/01_naive_cpu/exercise.cpp:50, read of 4 bytes, 0 bytes to the right of 48-byte region")
        guarded = text.replace("heap-buffer-overflow", "use-after-poison").replace("to the right of", "inside of")
        self.assertEqual(telling.asan_finding(guarded),
                         "AddressSanitizer: array access out of bounds at my/01_naive_cpu/exercise.cpp:31, called at "
                         "my/01_naive_cpu/exercise.cpp:50, read of 4 bytes")
        self.assertIsNone(telling.asan_finding("all is well"))

    def test_a_kernel_that_is_right_is_told_what_it_costs_more_than_ours(self):
        def counted(*cases):
            return [{"fact": "counters", "counts": each} for each in cases]

        ours = counted({"barriers": 4, "shared loads": 2000}, {"barriers": 8, "shared loads": 1})
        self.assertEqual(telling.more_than_ours(counted({"barriers": 6, "shared loads": 2000}, {"barriers": 8, "shared loads": 0}), ours), ["barriers 6 (ours 4)"])
        self.assertEqual(telling.more_than_ours(counted({"barriers": 0, "shared loads": 2030}, {"barriers": 8, "shared loads": 1}), ours), [])
        self.assertEqual(telling.more_than_ours([], ours), [])

    def test_of_many_findings_each_cause_is_shown_and_other_lines_in_short(self):
        def race(one, other, thread=0, missing="no __syncthreads() orders them", in_a_warp=False):
            parties = [["common/x.hpp:4", f"my/a.cu:{one}"], [f"my/a.cu:{other}", "my/a.cu:9"]]
            return gtest.Finding(f"race: {parties} by thread {thread}", ("race", missing), in_a_warp, parties, "race")

        def told(*findings, **most):
            return telling.most_telling(findings, Path("my/a.cu"), **most)

        unwritten = gtest.Finding("uninitialised read: load at my/a.cu:4", ("uninitialised read", ""), False, [["my/a.cu:4"]], "uninitialised read: load")
        first, again, elsewhere = race(5, 6), race(5, 6, thread=1), race(7, 6)
        self.assertEqual(told(first, again, elsewhere, unwritten), ([first, "  the same at lines 7 and 6", unwritten], 0))
        self.assertEqual(told(first, again), ([first], 0))
        other = race(5, 6, missing="nothing orders blocks of one launch")
        self.assertEqual(told(first, other), ([first, other], 0))
        self.assertEqual(told(first, unwritten, other, elsewhere, most=2), ([first, "  the same at lines 7 and 6", unwritten], 1))
        self.assertEqual(told(first, *(race(line, 6) for line in range(10, 15))), ([first, "  the same at lines 10 and 6, 11 and 6, 12 and 6"], 2))
        self.assertEqual(told(race(8, 6, in_a_warp=True), first), ([first, "  the same at lines 8 and 6"], 0))
        helpers = [gtest.Finding(f"race at {line}", ("race", "no"), False, [[f"common/x.hpp:{line}"]] * 2, "race") for line in (5, 4)]
        self.assertEqual(told(*helpers)[0][1], "  the same at lines common/x.hpp:4 and common/x.hpp:4")
        self.assertEqual(told("the host reads memory")[0], ["the host reads memory"])

    def test_what_is_within_the_budget_is_said_beside_it(self):
        check = checking.Check(exercise_of("03"), None)
        def used(used, allowed, what, per="", dearest=""):
            return {"fact": "budget", "used": used, "allowed": allowed, "what": what, "per": per, "implementation": "x", "dearest": dearest}

        done = gtest.Run(1, False, "", [], [used(0.375, 0.375, "global loads", "element of o"), used(16384, 1, "copies waited for at once", "launch", "most at a.cu:5"),
                                            used(4, 4, "loads of a thread used")])
        self.assertEqual(check._budget(done), ["budget 0.375, used 0.375: global loads, per element of o, x",
                                               "16384 of 1 copies waited for at once used, per launch, x  <- too many", "  most at a.cu:5",
                                               "budget 4, used 4: loads of a thread used"])
        self.assertTrue(done.is_dear())

    def test_a_diagnosis_that_ended_early_is_no_name(self):
        def unnamed(line, **facts):
            message = f"WRONG RESULT in o\n{line}o(b=0, t=1) is 1, should be 2\n"
            result = wrong_result(message, **{word: [line.strip()] for word in facts})
            return telling.is_unnamed(gtest.Told(f"x.cpp:1\n{message}", [result]))

        self.assertTrue(unnamed(""))
        ended = "The diagnosis ended with signal 11; the verdict above holds.\n"
        self.assertTrue(unnamed(ended, unnamed=True))
        self.assertFalse(unnamed("It equals the result with the bonus forgotten.\n", name=True))

    def test_of_the_build_the_compilers_messages_are_shown(self):
        log = f"[1/2] Building\nFAILED: a.o\n/usr/bin/c++ -c a.cpp\n{ROOT}/my/a.cpp:3: error: no\nninja: build stopped\n"
        self.assertEqual(compiler.compiler_messages(log), "my/a.cpp:3: error: no")
        self.assertEqual(compiler.compiler_messages("../my/a.cpp:3:7: error: no\n").splitlines()[0], "my/a.cpp:3:7: error: no")
        no_member = "my/a.cu:9:20: error: no match for 'operator*' (operand types are 'const uint3' and 'const dim3')"
        self.assertEqual(compiler.compiler_messages(no_member).splitlines(),
                         ["threadIdx, blockIdx, blockDim and gridDim are not numbers. Use their members .x, .y and .z.", no_member])

    def test_what_the_emulator_lacks_may_be_right(self):
        said = "my/a.cu:9:20: error: '__float2int_rn' was not declared in this scope; did you mean '__float_as_int'?"
        self.assertEqual(compiler.compiler_messages(said).splitlines()[0],
                         "The emulator has no __float2int_rn. If CUDA has it, your line may be right. "
                         "To check it here, do the same without __float2int_rn.")
        own = "my/a.cu:9:20: error: 'frist' was not declared in this scope; did you mean 'first'?"
        self.assertEqual(compiler.compiler_messages(own), own)

    def test_an_error_of_a_template_is_said_once(self):
        of_one = ("{0}/my/a.cu: In instantiation of 'void f(int) [with int n = {1}]':\n{0}/my/a.cu:60:22:   required from 'void g()'\n"
                  "{0}/my/a.cu:69:30:   required from here\n{0}/my/a.cu:45:16: error: no match for {1}\n"
                  "   45 |       atomicAdd(*o, x);\n      |       ~~~~~~~~~^~~~~~~\n{0}/common/x.hpp:9:1: note: candidate\n    9 | int x;\n")
        log = "[1/2] Building\nFAILED: a.o\n/usr/bin/c++ -c a.cu\n" + "".join(of_one.format(ROOT, n) for n in (4, 32, 64)) + "ninja: build stopped\n"
        self.assertEqual(compiler.compiler_messages(log).splitlines(),
                         ["my/a.cu:45:16: error: no match for 4", "   45 |       atomicAdd(*o, x);", "      |       ~~~~~~~~~^~~~~~~",
                          "(and 2 more of the same)"])
        in_a_helper = log.replace(f"{ROOT}/my/a.cu:45:16: error", f"{ROOT}/common/y.hpp:5:1: error")
        self.assertEqual(compiler.compiler_messages(in_a_helper).splitlines()[1], "my/a.cu:69:30:   required from here")


    def test_errors_come_in_the_order_of_the_learners_lines(self):
        error = "{0}/my/a.cu:{1}:7: error: {2}\n   {1} |   x;\n"
        launch = ("{0}/common/launch.hpp: In instantiation of 'void f()':\n{0}/my/a.cu:45:9:   required from here\n"
                  "{0}/common/launch.hpp:9:3: error: static assertion failed: too few\n")
        elsewhere = "{0}/common/z.hpp:1:1: error: odd\n"
        log = (elsewhere + error.replace("{1}", "49").replace("{2}", "follows") + launch + error.replace("{1}", "43").replace("{2}", "cause"))
        said = compiler.compiler_messages(log.replace("{0}", str(ROOT))).splitlines()
        self.assertEqual([line for line in said if "error" in line],
                         ["my/a.cu:43:7: error: cause", "common/launch.hpp:9:3: error: static assertion failed: too few",
                          "my/a.cu:49:7: error: follows", "common/z.hpp:1:1: error: odd"])

    def test_an_argument_of_another_type_is_a_sentence_at_the_launch(self):
        configured = ("{0}/launch.hpp: In instantiation of 'x':\n"
                      "{0}/launch.hpp:9:8:   required from 'void emulator::detail::Configured<x> [with y]'\n")
        refused = ("{0}/launch.hpp:9:2: error: static assertion failed: an argument of the launch has another type\n"
                   "    9 |  static_assert\n      |  ^~~~\n"
                   "{0}/launch.hpp:9:2: note: 'argument_fits<2, const double*, float*>' evaluates to false\n")
        in_template = "{0}/my/a.cu:5:32:   required from 'void f() [with int K = 4]'\n{0}/my/a.cu:9:14:   required from here\n"
        log = (configured + "{0}/my/a.cu:7:3:   required from here\n" + refused + 2 * (configured + in_template + refused)
               + "{0}/my/a.cu:8:7: error: cannot convert 'double*' to 'float*'\n    8 |   step(d);\n      |        ^\n"
               "{0}/my/a.cu:2:9: note:   initializing argument 1 of 'void step(float*)'\n    2 | void step(float*);\n")
        words = "error: argument 2 of the launch is const double*; the kernel takes float*"
        self.assertEqual(compiler.compiler_messages(log.replace("{0}", str(ROOT))).splitlines(),
                         [f"my/a.cu:5:32: {words}", "(and 1 more of the same)", f"my/a.cu:7:3: {words}",
                          "my/a.cu:8:7: error: cannot convert 'double*' to 'float*'", "    8 |   step(d);", "      |        ^",
                          "my/a.cu:2:9: note:   initializing argument 1 of 'void step(float*)'"])

    def test_of_what_a_kernel_prints_the_first_lines_are_shown(self):
        self.assertEqual(telling.printed_lines("", "x.log"), [])
        self.assertEqual(telling.printed_lines("a\nb\n", "x.log"), ["printed by the kernel:", "  a", "  b"])
        shown = telling.printed_lines("a\n" * 50, "x.log")
        self.assertEqual(len(shown), 22)
        self.assertEqual(shown[-1], "  ... 30 more lines in x.log")


class Builds(InAFolder):
    def test_what_is_not_the_compilers_complaint_is_said_as_what_it_is(self):
        (self.root / "bin").mkdir()
        build = building.Build("default")
        build.folder, build.log = self.root, self.root / "build.log"
        self.during(mock.patch.dict("os.environ", {"PATH": f"{self.root}/bin:/usr/bin:/bin"}), mock.patch.object(building.Progress, "show"))
        for said, words in (("-- missing: fmt is not installed, and", "^fmt is not installed, and"), ("CMake Error at x.cmake:3", "cmake could not configure"),
                            ("fatal error: No space left on device", "the disk is full")):
            self.write({"bin/cmake": f"#!/bin/sh\necho '{said}'\nexit 1\n"})
            (self.root / "bin/cmake").chmod(0o755)
            with self.assertRaisesRegex(place.Failed, words):
                build.compile("x")


class Reports(unittest.TestCase):
    def test_a_build_says_how_long_it_still_takes(self):
        self.assertEqual(building.time_left(13, 65, 20.0), ", about 80 s left")
        self.assertEqual(building.time_left(2, 65, 20.0), "")
        self.assertEqual(building.time_left(64, 65, 80.0), "")

    def test_a_line_a_chapter_and_the_names_of_what_fails(self):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            counts = Path(folder) / "counts"
            # emulator.C is one test and not a program's
            counts.write_text("chapter01.a 7 0 2 1\nchapter01.b 11 1 0 0\n")
            report = testing.Report(["chapter01.a", "chapter01.b", "emulator.C"], counts, out, testing.Progress(io.StringIO()))
            for line in ("Test project /x", "    Start 1: chapter01.a", "1/3 Test #1: chapter01.a .......   Passed    0.10 sec",
                         "2/3 Test #3: emulator.C ...***Skipped   0.00 sec", "3/3 Test #2: chapter01.b ...***Failed    0.25 sec",
                         "FAILED: chapter01.b.A.B", "WRONG RESULT in o", "", "", "67% tests passed, 1 tests failed out of 3", "", "The following tests FAILED:",
                         "\t  2 - chapter01.b (Failed)", "Errors while running CTest", "1 skipped (see above):"):
                report.line(line)
            self.assertEqual(report.tests(), 22)
        self.assertEqual([line.split() for line in out.getvalue().splitlines() if line],
                         [line.split() for line in ("emulator 1 skipped 0.0 s", "FAILED: chapter01.b", "FAILED: chapter01.b.A.B", "WRONG RESULT in o",
                                                    "chapter01 18 passed, 1 failed, 2 skipped 0.3 s", "67% tests passed, 1 tests failed out of 3",
                                                    "1 skipped (see above):")])

    def test_a_chapter_that_is_not_run_again_says_so(self):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            counts = Path(folder) / "counts"
            counts.write_text("chapter01.a 7 0 2 1\n")
            report = testing.Report(["chapter01.a", "chapter01.cuda"], counts, out, testing.Progress(io.StringIO()))
            for line in ("1/2 Test #1: chapter01.a ......   Passed    0.10 sec", "2/2 Test #2: chapter01.cuda ...***Skipped   0.00 sec",
                         "100% tests passed, 0 tests failed out of 2"):
                report.line(line)
            self.assertEqual(report.tests(), 10)
        self.assertRegex(out.getvalue(), r"chapter01 +7 passed, 3 skipped +0\.1 s, as before\n")

    def test_a_mistake_of_a_lesson_goes_by_its_number(self):
        self.assertEqual(testing.must_fail("mistake.7.2"), ("mistake.07.02_chunk_walk", "mistake\\.07\\.02_chunk_walk\\."))
        self.assertEqual(testing.must_fail("stub.07.2"), ("stub.07.02_chunk_walk", "stub\\.07\\.02_chunk_walk\\."))
        self.assertEqual(testing.must_fail("mistake.03.00")[0], "mistake.03")
        self.assertEqual(testing.must_fail("boss.06"), ("boss.06", "boss\\.06\\."))
        self.assertEqual(testing.must_fail("bosses"), ("bosses", "boss\\."))
        self.assertEqual(testing.must_fail("stub.03.scratch"), ("stub.03.scratch", "stub\\.03\\.scratch$"))
        for word, said in (("mistake.07.99", "lesson is"), ("stub.06.7", "06.07_time_tiles has no exercise$"), ("boss.07.02", "07.02_chunk_walk has no boss$"),
                           ("mistake.06.07_time_tiles", "06.07_time_tiles has no mistake$"), ("stub.06.7.x", "allowed: ")):
            with self.assertRaisesRegex(Refused, said):
                testing.must_fail(word)

    def test_a_signal_that_ends_a_program_is_said(self):
        self.assertEqual(building.run_program("sh", "-c", "exit 3"), 3)
        with self.assertRaisesRegex(place.Failed, "^sh was ended by SIGSEGV"):
            building.run_program("sh", "-c", "kill -SEGV $$")
        with self.assertRaisesRegex(place.Failed, "^a program needed a larger file than ulimit -f allows here"):
            building.run_program("sh", "-c", "kill -XFSZ $$")

    def test_limits_of_the_shell_are_told_where_something_failed(self):
        said = "from ladder_tools.place import limits_of_the_shell as said; print(said())"
        for limit, line in (("-f 1000", "ulimit -f 1000"), ("-s 256", "ulimit -s 256"), ("-s 8192", "")):
            done = subprocess.run(["bash", "-c", f"ulimit {limit}; exec {sys.executable} -c '{said}'"],
                                  env={"PYTHONPATH": str(place.ROOT / "tools")}, capture_output=True, text=True)
            self.assertIn(line, done.stdout)
            self.assertEqual(bool(line), "a limit of this shell may be the cause" in done.stdout, done.stderr)

    def test_a_failure_whose_reason_takes_several_lines_is_shown(self):
        out = io.StringIO()
        report = testing.Report(["open.a"], Path("none"), out, testing.Progress(io.StringIO()))
        for line in ("1/1 Test #1: open.a ....***Failed  Required regular expression not found. Regex=[x", "]  4.05 sec", "what it said",
                     "0% tests passed, 1 tests failed out of 1"):
            report.line(line)
        self.assertIn("FAILED: open.a\n    ]  4.05 sec\n    what it said\nopen ", out.getvalue())
