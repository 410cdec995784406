"""Tests of what other pages show of a lesson's page."""
from pathlib import Path

import lessons
import steps
from for_tests import InAFolder
from ladder_tools import learning, place


class Lessons(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(place, learning, steps)
        self.write({"03_x/README.md": "# 03 x: the first\n\n*Plan 20 minutes: 20 to read.*\n", "03_x/kernel.cu": "",
                    "03_x/01_a/README.md": "# 03.01 A kernel: in two parts\n\n[chapter 03](../README.md)\n\n*Plan 40 minutes: 10 to read, 30 for holes 1 and 2.*\n\n"
                                           "**In short**: a [word](../../docs/glossary.md#word), see [test.cpp](test.cpp).\n",
                    "03_x/01_a/exercise.cu": "// TODO(2): b\n// TODO(1): a\n", "03_x/02_b/README.md": "# 03.02 Another\n\n*Reference: general.*\n"})

    def test_are_rows_of_their_chapters_table(self):
        first = "| [01 A kernel](01_a/README.md) | a [word](../docs/glossary.md#word), see [test.cpp](01_a/test.cpp) | holes 1, 2 | 40 |"
        self.assertEqual(lessons.rows("03_x"), [first, "| [02 Another](02_b/README.md) | | | reference |"])
        self.assertEqual(lessons.rows("03_x", "00", "01"), [first])
        self.assertEqual((lessons.exercise("03_x/01_a"), lessons.exercise("03_x")), ("holes 1, 2", ""))
        self.assertEqual((lessons.count("03_x"), lessons.count("all"), lessons.minutes("03_x"), lessons.minutes("03_x", "01"), lessons.minutes("03_x", "00", "00")), (3, 3, 60, 40, 20))
        self.assertEqual((lessons.hours("03_x"), lessons.hours("03_x", "01"), lessons.hours("all")), ("1", "0.5", "1"))

    def test_say_what_their_kernels_refuse_where_they_have_a_suite(self):
        self.write({"03_x/01_a/kernel.cu": "// Needs:  K = 64;\n//         rows of 16 bytes.\n// Costs:  x\n", "03_x/02_b/kernel.cu": "// Needs:  y\n",
                    "03_x/01_a/test.cpp": 'register_suite("wkv", "a", {.storages = {"bf16",\n "fp16"}, .refuses = {"states", "K != V"}});'})
        self.assertEqual(lessons.refusals("03_x"), ["| [01](../03_x/01_a/README.md) | bf16, fp16 | states, K != V | K = 64; rows of 16 bytes |"])
        self.write({"03_x/01_a/test.cpp": 'register_suite("wkv", "a", {});'})
        self.assertEqual(lessons.refusals("03_x"), ["| [01](../03_x/01_a/README.md) | fp32 | | K = 64; rows of 16 bytes |"])

    def test_lead_to_the_ones_before_and_behind(self):
        text = (self.root / "03_x/01_a/README.md").read_text()
        way = "[chapter 03](../README.md) · previous: [03.00 the first](../README.md) · next: [03.02 Another](../02_b/README.md)"
        self.assertEqual(lessons.with_way(Path("03_x/01_a/README.md"), text), text.replace("[chapter 03](../README.md)", way))
        self.assertEqual(lessons.with_way(Path("03_x/02_b/README.md"), "[chapter](../README.md) old\n"),
                         "[chapter 03](../README.md) · previous: [03.01 A kernel](../01_a/README.md) · the chapter's last lesson\n")

    def paths(self, text):
        self.write({"docs/paths.txt": "# NAME: LESSON\n" + text})

    def test_are_on_paths_with_the_sum_of_their_minutes(self):
        self.paths("short: 03\nlong: short 03.01 03.02\n")
        self.assertEqual((lessons.path("short"), lessons.path("long")), ("03", "03, 03.01, 03.02"))
        self.assertEqual((lessons.hours("short"), lessons.hours("long")), ("0.5", "1"))
        self.write({"03_x/03_c/README.md": "# 03.03\n"})
        self.paths("long: 03.01 03.02 03.03 03\n")
        self.assertEqual(lessons.path("long"), "03.01–03.03, 03")

    def test_come_on_a_path_behind_what_they_need(self):
        self.paths("p: 03.01 03\n03.01 needs 03\n")
        with self.assertRaisesRegex(ValueError, "path p: 03.01 needs 03 before it"):
            lessons.path("p")
        self.paths("p: 03 03.01\n03.01 needs 03/03.02\n03.02 needs 03.01\n")
        self.assertEqual(lessons.faults_of_path("p"), [])
        self.paths("p: 03.01 03.01\n03.01 needs 03/03.02\n")
        self.assertEqual(lessons.faults_of_path("p")[0], "path p: 03.01 needs 03 or 03.02 before it")
        self.assertIn("path p: 03.01 comes twice", lessons.faults_of_path("p"))
        self.paths("p: 03.04\n")
        with self.assertRaisesRegex(ValueError, "docs/paths.txt: lesson is '03.04'"):
            lessons.path("p")
        (self.root / "03_x/kernel.cu").unlink()
        self.paths("p: 03\n")
        self.assertEqual(lessons.faults_of_path("p"), ["path p: 03 has no kernel of its own"])

    def test_need_the_lesson_that_their_kernel_changes(self):
        self.write({"03_x/01_a/kernel.cu": "// A.\n// Change: from 03.02: x.\n// Why: y\n", "03_x/02_b/kernel.cu": "// A.\n// Change: rewrite of 03.00: x.\n// Why: y\n"})
        self.paths("p: 03.02 03.01\nq: 03.01 03.02\n")
        self.assertEqual(lessons.faults_of_path("p"), [])
        self.assertEqual(lessons.faults_of_path("q"), ["path q: 03.01 needs 03.02 before it"])
