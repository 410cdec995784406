"""The check of the includes refuses what it must, and nothing else; each lesson has what a lesson has, or says why not."""
import importlib.machinery
import importlib.util
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ladder_tools.place import ROOT, chapters, exercises, lessons  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("check_rooms", str(ROOT / ".ci/check_rooms"))
SPEC = importlib.util.spec_from_loader("check_rooms", LOADER)
ROOMS = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(ROOMS)


class Rooms(unittest.TestCase):
    def test_refuses_arrows_against_the_order(self):
        for path, included in (
            ("common/core/device.hpp", "common/judge/judging.hpp"),
            ("common/judge/judging.cpp", "common/operators/wkv/problem.hpp"),
            ("common/testing/xray.cpp", "common/program/climb.hpp"),
            ("common/operators/wkv/operator.cpp", "common/program/selection.hpp"),
            ("common/xray/run.cpp", "common/operators/wkv/operator.hpp"),
            ("common/emulator/src/runtime.cpp", "common/core/device.hpp"),
            ("common/core/registry.cpp", "03_cuda_baseline/kernel.hpp"),
            ("03_cuda_baseline/test.cpp", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("07_chunkwise/15_wkv_and_gla/test.cpp", "common/program/selection.hpp"),
            ("07_chunkwise/15_wkv_and_gla/kernel.cu", "Eigen/Dense"),
            ("03_cuda_baseline/exercise.cu", "gtest/gtest.h"),
            ("07_chunkwise/02_chunk_walk/kernel.cu", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
        ):
            self.assertTrue(ROOMS.wrong(path, included), (path, included))

    def test_allows_those_along_the_order(self):
        for path, included in (
            ("common/program/climb.cpp", "common/operators/precision.hpp"),
            ("07_chunkwise/02_chunk_walk/kernel.cu", "07_chunkwise/teaching_chunks.hpp"),
            ("07_chunkwise/limits_test.cpp", "07_chunkwise/06_gla_layer/gla_layer.hpp"),
            ("common/operators/wkv/suite.cpp", "common/testing/tests.hpp"),
            ("common/operators/wkv/operator.hpp", "common/operators/attention/problem.hpp"),
            ("07_chunkwise/15_wkv_and_gla/test.cpp", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("07_chunkwise/06_gla_layer/gla_layer_operator.cpp", "Eigen/Dense"),
            ("best/measure.cpp", "common/program/timing.hpp"),
            ("tests/90_open_operators/test.cpp", "common/testing/suite.hpp"),
        ):
            self.assertIsNone(ROOMS.wrong(path, included), (path, included))


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
        """In a line of the lesson's page: "*No exercise: REASON", "*No exercise, no planted mistake: REASON"."""
        with_exercise = {str(each.folder) for each in exercises()}
        for folder in all_lessons():
            reasons = re.search(r"^\*No (.+?): \w", (ROOT / folder / "README.md").read_text(), re.MULTILINE)
            lacks = [what for what, is_there in (("exercise", folder in with_exercise), ("planted mistake", list((ROOT / folder).glob("mistakes/*.patch"))))
                     if not is_there]
            self.assertEqual(reasons[1].split(", no ") if reasons else [], lacks, folder)

    def test_your_turn_comes_before_the_kernel_is_given_away(self):
        for each in exercises():
            page = (ROOT / each.folder / "README.md").read_text()
            turn, spoilers = page.find("\n## Your turn"), [found.start() for found in re.finditer(
                r"^## .*(walked through|[Dd]iff\b)|git diff|ladder diff", page, re.MULTILINE)]
            self.assertGreater(turn, 0, each.folder)
            self.assertLess(turn, min(spoilers, default=len(page)), f"{each.folder}: the solution is shown before 'Your turn'")

    def test_are_read_in_one_sitting(self):
        """Of what is prose: no code, no tables, no addresses of links."""
        for folder in all_lessons():
            text = re.sub(r"```.*?```|<!--.*?-->", "", (ROOT / folder / "README.md").read_text(), flags=re.DOTALL)
            prose = re.sub(r"\]\([^)]*\)|<[^>]*>|^\|.*$", " ", text, flags=re.MULTILINE)
            self.assertLessEqual(len(re.findall(r"[A-Za-z0-9][\w'.,-]*", prose)), 1800, folder)

if __name__ == "__main__":
    unittest.main()
