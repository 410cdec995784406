"""The check of the includes refuses what it must, and nothing else; each lesson has what a lesson has, or is listed as without."""
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


# Lessons without an exercise (and its hints) or without a planted mistake, and why.
_TO_READ = "to read: its step spreads over a long kernel, and no exercise has been cut out of it yet"
_MEASURED = "to read and measure: a variation of a lesson whose exercise has been solved by then"
_ON_THE_HOST = "functions of the host, whose parts have a test each; no mistake has been planted yet"
WITHOUT_EXERCISE = {
    "06_shared_mem/07_time_tiles": _MEASURED,
    "06_shared_mem/08_decode": _MEASURED,
    "06_shared_mem/09_packed_causal_product": _MEASURED,
    "06_shared_mem/10_prefix_causal_product": _MEASURED,
    "07_chunkwise/01_prefix_sum": "read first: its loop is written in lesson 02",
    "07_chunkwise/03_chunk_states": "the other way to do what is written in lesson 02",
    "07_chunkwise/04_numerics": "a measurement, not a kernel",
    "07_chunkwise/06_gla_layer": _TO_READ,
    "07_chunkwise/10_linear_attention": _TO_READ,
    "07_chunkwise/15_wkv_and_gla": _TO_READ,
    "07_chunkwise/20_backward": _TO_READ,
    "08_flash_attention/01_three_kernels": "what the chapter's other lessons are compared with",
    "08_flash_attention/04_scalar_tiles": "its rescaling is written in lesson 02",
    "08_flash_attention/05_tensor_cores": _TO_READ,
    "08_flash_attention/06_swizzled": _TO_READ,
    "08_flash_attention/15_hopper": "needs a Hopper GPU: neither the emulator nor the X-ray can check a solution",
    "08_flash_attention/16_backward_scalar": _TO_READ,
    "08_flash_attention/17_backward_two_kernels": _TO_READ,
    "08_flash_attention/18_backward": _TO_READ,
    "08_flash_attention/19_backward_hopper": "needs a Hopper GPU: neither the emulator nor the X-ray can check a solution",
}
_WITH_MISTAKES_ONLY = {"07_chunkwise/03_chunk_states", "08_flash_attention/04_scalar_tiles"}
WITHOUT_MISTAKES = {**{lesson: why for lesson, why in WITHOUT_EXERCISE.items() if lesson not in _WITH_MISTAKES_ONLY},
                    "08_flash_attention/02_online_softmax": _ON_THE_HOST}


def all_lessons():
    folders = [folder for chapter in chapters() for folder in (chapter, *(f"{chapter}/{lesson}" for lesson in lessons(chapter)))]
    return [folder for folder in folders if list((ROOT / folder).glob("kernel*.c*"))]


class Lessons(unittest.TestCase):
    def test_have_an_exercise_and_mistakes_or_are_listed_as_without(self):
        with_exercise = {str(each.folder) for each in exercises()}
        self.assertEqual({each for each in all_lessons() if each not in with_exercise}, set(WITHOUT_EXERCISE))
        self.assertEqual({each for each in all_lessons() if not list((ROOT / each).glob("mistakes/*.patch"))}, set(WITHOUT_MISTAKES))

    def test_their_chapters_page_says_which_are_without(self):
        for chapter in chapters():
            page = (ROOT / chapter / "README.md").read_text()
            for words, listed in (("Lessons without an exercise", WITHOUT_EXERCISE), ("[Ww]ithout a planted mistake", WITHOUT_MISTAKES)):
                said = re.search(rf"{words}: ([0-9., ]+)", page)
                numbers = [number[-2:] for number in re.findall(r"[0-9]{2}(?:\.[0-9]{2})?", said[1])] if said else []
                self.assertEqual(numbers, [lesson.split("/")[1][:2] for lesson in sorted(listed) if lesson.startswith(chapter)], f"{chapter}: {words}")

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
