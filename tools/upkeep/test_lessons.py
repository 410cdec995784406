"""Tests of what other pages take from a lesson's page."""
from pathlib import Path

import lessons
from for_tests import InAFolder
from ladder_tools import learning, place


class Lessons(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(place, learning)
        self.write({"03_x/README.md": "# 03 x: the first\n", "03_x/kernel.cu": "",
                    "03_x/01_a/README.md": "# 03.01 A kernel: in two parts\n\n[chapter 03](../README.md)\n\n*Plan 40 minutes, with 02: 10 to read.*\n\n"
                                           "**In short**: a [word](../../docs/glossary.md#word), see [test.cpp](test.cpp).\n",
                    "03_x/01_a/exercise.cu": "// TODO(2): b\n// TODO(1): a\n", "03_x/02_b/README.md": "# 03.02 Another\n"})

    def test_are_rows_of_their_chapters_table(self):
        first = "| [01 A kernel](01_a/README.md) | a [word](../docs/glossary.md#word), see [test.cpp](01_a/test.cpp) | holes 1, 2 | 40, with 02 |"
        self.assertEqual(lessons.rows("03_x"), [first, "| [02 Another](02_b/README.md) | | | |"])
        self.assertEqual(lessons.rows("03_x", "00", "01"), [first])
        self.assertEqual((lessons.count("03_x"), lessons.minutes("03_x")), (2, 40))

    def test_say_what_their_kernels_refuse_where_they_have_a_suite(self):
        self.write({"03_x/01_a/kernel.cu": "// Needs:  K = 64;\n//         rows of 16 bytes.\n// Costs:  x\n", "03_x/02_b/kernel.cu": "// Needs:  y\n",
                    "03_x/01_a/test.cpp": 'register_suite("wkv", "a", {.storages = {"bf16",\n "fp16"}, .refuses = {"states", "K != V"}});'})
        self.assertEqual(lessons.refusals("03_x"), ["| [01](01_a/README.md) | bf16, fp16 | states, K != V | K = 64; rows of 16 bytes |"])
        self.write({"03_x/01_a/test.cpp": 'register_suite("wkv", "a", {});'})
        self.assertEqual(lessons.refusals("03_x"), ["| [01](01_a/README.md) | fp32 | | K = 64; rows of 16 bytes |"])

    def test_lead_to_the_ones_before_and_behind(self):
        text = (self.root / "03_x/01_a/README.md").read_text()
        way = "[chapter 03](../README.md) · previous: [03.00 the first](../README.md) · next: [03.02 Another](../02_b/README.md)"
        self.assertEqual(lessons.with_way(Path("03_x/01_a/README.md"), text), text.replace("[chapter 03](../README.md)", way))
        self.assertEqual(lessons.with_way(Path("03_x/02_b/README.md"), "[chapter](../README.md) old\n"),
                         "[chapter 03](../README.md) · previous: [03.01 A kernel](../01_a/README.md) · the chapter's last lesson\n")
