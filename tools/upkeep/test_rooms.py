"""Tests that the check of includes rejects the right ones, that HACKING.md lists all rooms and only
existing names, and that each lesson has its parts or explains why not."""
import importlib.machinery
import importlib.util
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import minutes
from nvcc import ROOT, files_here
from ladder_tools.place import MORE, chapters, exercises, in_lessons, lessons

LOADER = importlib.machinery.SourceFileLoader("check_rooms", str(ROOT / ".ci/check_rooms"))
SPEC = importlib.util.spec_from_loader("check_rooms", LOADER)
ROOMS = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(ROOMS)


class Rooms(unittest.TestCase):
    """Small trees, which the compiler reads like ours."""

    def complaints(self, tree):
        with tempfile.TemporaryDirectory() as folder:
            for path, included in tree.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(f"#pragma once  // {path}\n" + "".join(f"#include {name}\n" for name in included))
            files = set(tree)
            return list(ROOMS.complaints(ROOMS.inclusions(folder, sorted(files)), files))

    def refused(self, tree, *said):
        complaints = self.complaints(tree)
        self.assertEqual(len(complaints), 1, complaints)
        for words in said:
            self.assertIn(words, complaints[0])

    def test_refuses_an_arrow_between_rooms_against_the_order(self):
        for path, included in (
            ("common/core/device.hpp", "common/judge/judging.hpp"),
            ("common/judge/judging.cpp", "common/diagnosis/shares.hpp"),
            ("common/judge/judging.cpp", "common/operators/wkv/problem.hpp"),
            ("common/operators/wkv/suite.cpp", "common/testing/tests.hpp"),
            ("common/operators/wkv/operator.cpp", "common/program/selection.hpp"),
            ("common/diagnosis/shares.cpp", "common/operators/wkv/wkv.hpp"),
            ("common/diagnosis/shares.cpp", "common/testing/tests.hpp"),
            ("common/testing/suite.cpp", "common/operators/wkv/wkv.hpp"),
            ("common/testing/xray.cpp", "common/program/climb.hpp"),
            ("common/program/main.cpp", "common/operators/wkv/wkv.hpp"),
            ("common/judge/judging_test.cpp", "common/program/climb.hpp"),
            ("common/xray/run.cpp", "common/operators/wkv/operator.hpp"),
            ("common/cuda/check.hpp", "common/operators/wkv/wkv.hpp"),
            ("common/emulator/src/runtime.cpp", "common/core/device.hpp"),
            ("common/emulator/src/observed.hpp", "common/xray/recorder.hpp"),
            ("common/core/registry.cpp", "03_cuda_baseline/kernel.hpp"),
            ("common/testing/suite.cpp", "library/best/rules.hpp"),
            ("common/xray/recorder.hpp", "common/emulator/src/observed.hpp"),
            ("03_cuda_baseline/test.cpp", "common/emulator/src/observed.hpp"),
            ("03_cuda_baseline/test.cpp", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("07_chunkwise/15_wkv_and_gla/test.cpp", "common/program/selection.hpp"),
            ("07_chunkwise/15_wkv_and_gla/test.cpp", "library/best/wkv.hpp"),
            ("07_chunkwise/02_chunk_walk/kernel.cu", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("07_chunkwise/11b_decay_per_head/kernel.cu", "07_chunkwise/11_linear/tiles.hpp"),
            ("03_cuda_baseline/kernel.cu", "common/testing/tests.hpp"),
            ("03_cuda_baseline/kernel.cu", "common/judge/judging.hpp"),
            ("03_cuda_baseline/kernel.cu", "common/operators/wkv/operator.hpp"),
            ("library/best/best.hpp", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("library/abi/check.cpp", "common/judge/judging.hpp"),
            ("library/include/kernel_ladder.h", "common/core/device.hpp"),
            ("tests/large_arrays_test.cpp", "common/program/climb.hpp"),
            ("tools/scratch/main.cpp", "common/judge/judging.hpp"),
        ):
            with self.subTest(path, included=included):
                self.refused({path: [f'"{included}"'], included: []}, f"{path} includes {included}: ")

    def test_allows_arrows_along_it(self):
        for path, included in (
            ("common/program/climb.cpp", "common/xray/run.hpp"),
            ("common/testing/suite.cpp", "common/diagnosis/shares.hpp"),
            ("common/diagnosis/shares.cpp", "common/judge/judging.hpp"),
            ("common/diagnosis/shares_test.cpp", "common/operators/wkv/wkv.hpp"),
            ("common/operators/wkv/operator.hpp", "common/operators/attention/problem.hpp"),
            ("common/operators/wkv/operator.hpp", "common/operators/precision.hpp"),
            ("common/xray/test/xray_test.cu", "common/emulator/test/device_vector.hpp"),
            ("common/emulator/test/rewrite_test.cpp", "common/emulator/rewrite/rewrite.hpp"),
            ("07_chunkwise/02_chunk_walk/kernel.cu", "07_chunkwise/teaching_chunks.hpp"),
            ("07_chunkwise/limits_test.cpp", "07_chunkwise/06_gla_layer/gla_layer.hpp"),
            ("07_chunkwise/15_wkv_and_gla/test.cpp", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("03_cuda_baseline/kernel.cu", "common/operators/wkv/wkv.hpp"),
            ("tests/large_arrays_test.cpp", "00_warmup/matmul.hpp"),
            ("tools/upkeep/fuzz_program/main.cpp", "common/program/climb.hpp"),
            ("tests/90_open_operators/test.cpp", "common/testing/suite.hpp"),
        ):
            with self.subTest(path, included=included):
                self.assertEqual(self.complaints({path: [f'"{included}"'], included: []}), [])

    def test_refuses_what_core_once_included_unseen(self):
        """Headers of the emulator are in an include folder of their own, and those of the X-ray
        once were, so core could include them unnoticed."""
        emulator = "common/emulator/include/emulator"
        for name, file in (("emulator/threads.hpp", f"{emulator}/threads.hpp"), ("emulator/observer.hpp", f"{emulator}/observer.hpp"),
                           ("observer.hpp", "common/emulator/src/observer.hpp"), ("recorder.hpp", "common/xray/recorder.hpp"),
                           ("common/xray/recorder.hpp", "common/xray/recorder.hpp"), ("../xray/recorder.hpp", "common/xray/recorder.hpp")):
            with self.subTest(name):
                self.refused({"common/core/device.hpp": [f'"{name}"'], file: []}, "common/core/device.hpp includes ", file)

    def test_an_arrow_is_blamed_on_who_draws_it(self):
        tree = {"03_cuda_baseline/kernel.cu": ['"common/core/lists.hpp"'], "common/core/lists.hpp": ['"common/core/arrays.hpp"'],
                "common/core/arrays.hpp": ['"common/judge/limits.hpp"'], "common/judge/limits.hpp": []}
        self.refused(tree, "common/core/arrays.hpp includes common/judge/limits.hpp: common/core may include nothing")

    def test_a_kernel_includes_no_eigen_and_no_googletest_through_a_header_either(self):
        for kernel in ("07_chunkwise/15_wkv_and_gla/kernel.cu", "01_naive_cpu/exercise.cpp", "08_flash_attention/x_sm90.cu"):
            self.refused({kernel: ["<Eigen/Core>"]}, f"{kernel} includes Eigen/Core: a kernel file")
        self.refused({"03_cuda_baseline/kernel.cu": ['"teaching.hpp"'], "03_cuda_baseline/teaching.hpp": ["<gtest/gtest.h>"]},
                     "03_cuda_baseline/teaching.hpp includes gtest/gtest.h: a kernel file", "this is in 03_cuda_baseline/kernel.cu")
        self.assertEqual(self.complaints({"common/xray/test/xray_test.cu": ["<gtest/gtest.h>"], "03_x/x_operator.cpp": ["<Eigen/Core>"]}), [])

    def test_what_only_one_compiler_sees_counts(self):
        tree = {"03_cuda_baseline/kernel.cu": ['"teaching.hpp"'], "03_cuda_baseline/teaching.hpp": [], "04_no_atomic/x.hpp": []}
        for condition in ("defined(__CUDACC__)", "!defined(__CUDACC__)", "__CUDA_ARCH__ >= 900", "defined(EMULATOR_XRAY)"):
            with self.subTest(condition):
                hidden = f'"teaching.hpp"\n#if {condition}\n#include "04_no_atomic/x.hpp"\n#endif'
                self.refused({**tree, "03_cuda_baseline/kernel.cu": [hidden]}, "a chapter includes no other chapter")

    def test_what_is_only_declared_counts(self):
        plan = {"common/judge/plan.hpp": "struct Plan {\n};\n"}
        self.assertEqual(ROOMS.foreign_declarations({**plan, "common/core/device.hpp": "struct Plan;\n"}), {"common/core/device.hpp": ["Plan"]})
        self.assertEqual(ROOMS.foreign_declarations({**plan, "common/diagnosis/probe.hpp": "struct Plan;\n"}), {})
        self.assertEqual(ROOMS.foreign_declarations({**plan, "common/core/device.hpp": "struct CUstream_st;\n"}), {})

    def test_files_do_not_include_each_other(self):
        self.refused({"common/xray/a.hpp": ['"b.hpp"'], "common/xray/b.hpp": ['"a.hpp"']}, "common/xray/a, common/xray/b include each other")
        # A header and its source count as one.
        self.refused({"common/xray/a.hpp": [], "common/xray/a.cpp": ['"a.hpp"', '"b.hpp"'], "common/xray/b.hpp": ['"a.hpp"']},
                     "common/xray/a, common/xray/b include each other")
        self.refused({"common/emulator/include/emulator/a.hpp": [], "common/emulator/src/a.cpp": ['"emulator/a.hpp"', '"b.hpp"'],
                      "common/emulator/src/b.hpp": ['"emulator/a.hpp"']}, "common/emulator/a, common/emulator/b include each other")
        self.refused({"common/core/a.cpp": ['"b.hpp"'], "common/core/b.cpp": ['"c.hpp"'], "common/core/c.cpp": ['"a.hpp"'],
                      "common/core/a.hpp": [], "common/core/b.hpp": [], "common/core/c.hpp": []}, "core/a, common/core/b, common/core/c include")

    def test_without_a_compiler_it_says_what_it_needs(self):
        with mock.patch.object(ROOMS.shutil, "which", lambda name: None), self.assertRaisesRegex(SystemExit, "needs a C\\+\\+ compiler"):
            self.complaints({"common/core/device.hpp": []})

    def test_what_operators_share_includes_none_of_them(self):
        tree = {"common/operators/judge.hpp": ['"wkv/problem.hpp"'], "common/operators/wkv/problem.hpp": []}
        self.refused(tree, "common/operators/judge.hpp includes common/operators/wkv/problem.hpp: what operators share")


class TheMap(unittest.TestCase):
    """Tests of HACKING.md."""

    @classmethod
    def setUpClass(cls):
        cls.page = (ROOT / "HACKING.md").read_text()
        cls.files = [Path(each) for each in files_here()]

    def test_has_each_room_of_common_and_what_it_may_include(self):
        rows = re.findall(r"^\| `(\w+)` \|.*\| ([a-z, ]+) \|$", self.page, re.MULTILINE)
        self.assertEqual({room: set(included.split(", ")) - {"nothing"} for room, included in rows},
                         {room: included for room, included in ROOMS.ALLOWED.items() if "/" not in room})
        self.assertEqual({room for room, _ in rows}, {each.parts[1] for each in self.files if each.parts[0] == "common"})

    def test_has_each_folder_at_the_top(self):
        folders = {each.parts[0] for each in self.files if len(each.parts) > 1} - {".github", ".devcontainer"}
        self.assertEqual({each for each in folders if not ROOMS.NUMBERED.match(each)} - set(re.findall(r"`([\w.]+)/`", self.page)), set())

    def test_walks_through_functions_that_their_files_define(self):
        steps = re.findall(r"^[│├└ ]*(\w+) {2,}(\S+\.\w+) {2,}\S", self.page, re.MULTILINE)
        self.assertGreater(len(steps), 20)
        for function, file in steps:
            with self.subTest(function, file=file):
                self.assertRegex((ROOT / file).read_text(), rf"(?m)^(?! *return\b)[\w :<>,*&]*(?<=[ :*&]){function}\(")

    def test_names_files_that_are_there(self):
        """A file may be named by its whole path or its end; a lesson's own files are named without
        the folder."""
        spans = re.findall(r"`([^`\n ]+)`", self.page)
        paths = [span for span in spans if re.search(r"/|\.(\w{2,3}|txt|json)$", span) and not re.search(r"NN|NAME|^\./", span)]
        here = {f"/{each}" for path in self.files for each in (path, *path.parents)}
        self.assertGreater(len(paths), 60)
        self.assertEqual([path for path in paths if not any(each.endswith("/" + path.rstrip("/")) for each in here)], [])


class Tools(unittest.TestCase):
    def test_the_learners_loop_imports_nothing_of_upkeep(self):
        upkeep = "|".join(path.stem for path in (ROOT / "tools/upkeep").rglob("*.py"))
        for path in (*(ROOT / "tools").glob("*"), *(ROOT / "tools/ladder_tools").glob("*.py")):
            if path.is_file():
                self.assertIsNone(re.search(rf"^(import|from) (upkeep|{upkeep})\b", path.read_text(), re.MULTILINE), path)


def all_lessons():
    folders = [folder for chapter in chapters() for folder in (chapter, *(f"{chapter}/{lesson}" for lesson in lessons(chapter)))]
    return [folder for folder in folders if list((ROOT / folder).glob("kernel*.c*"))]


class Lessons(unittest.TestCase):
    def test_have_an_exercise_and_mistakes_or_say_why_not(self):
        """The page has a line "*No exercise: REASON" or "*No exercise, no planted mistake:
        REASON"."""
        with_exercise = {str(each.folder) for each in exercises()}
        for folder in all_lessons():
            reasons = re.search(r"^\*No (.+?): \w", (ROOT / folder / "README.md").read_text(), re.MULTILINE)
            lacks = [what for what, is_there in (("exercise", folder in with_exercise), ("planted mistake", list((ROOT / folder).glob(f"{MORE}/mistakes/*.patch"))))
                     if not is_there]
            self.assertEqual(reasons[1].split(", no ") if reasons else [], lacks, folder)

    def test_launch_on_the_stream_of_the_call_if_they_know_it(self):
        """A test sees a launch on another stream, but not that all of them are."""
        for path in files_here(ROOT):
            if not re.match(r"(\d\d_|library/).*\.(cu|hpp)$", path) or f"/{MORE}/" in path or "exercise" in path:
                continue
            source = (ROOT / path).read_text()
            if "common/cuda/call.hpp" in source:
                for launch in re.findall(r"<<<(?:.|\n)*?>>>|\bcudaMem(?:cpy|set)\w*\((?:.|\n)*?;", source):
                    self.assertIn("stream", launch, path)

    def test_a_folder_has_at_most_six_entries(self):
        """The six do not include an operator's files, headers, kernels of further ideas and the
        folders of lessons; everything else of a lesson belongs in its more/."""
        besides = re.compile(r"\.|[0-9]{2}[a-z]?_|.*(_operator|_reference|_suite)\.cpp$|.*\.hpp$|(?!(kernel|exercise)(_sm90)?\.).*\.cu$")
        pages = [page.parent for page in in_lessons("README.md")]
        self.assertGreater(len(pages), 100)
        for folder in pages:
            entries = sorted(path.name for path in (ROOT / folder).iterdir() if not besides.match(path.name))
            self.assertLessEqual(len(entries), 6, f"{folder} has {', '.join(entries)}; what is not read first belongs to its {MORE}/")

    def test_your_turn_comes_before_the_kernel_is_given_away(self):
        for each in exercises():
            page = (ROOT / each.folder / "README.md").read_text()
            turn, spoilers = page.find("\n## Your turn"), [found.start() for found in re.finditer(
                r"^## .*(walked through|[Dd]iff\b)|git diff|ladder diff", page, re.MULTILINE)]
            self.assertGreater(turn, 0, each.folder)
            self.assertLess(turn, min(spoilers, default=len(page)), f"{each.folder}: the solution is shown before 'Your turn'")

    def test_are_read_in_one_sitting(self):
        for folder in all_lessons():
            self.assertLessEqual(minutes.words((ROOT / folder / "README.md").read_text()), 1600, folder)
