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

    def test_lead_to_the_ones_before_and_behind(self):
        text = (self.root / "03_x/01_a/README.md").read_text()
        way = "[chapter 03](../README.md) · previous: [03.00 the first](../README.md) · next: [03.02 Another](../02_b/README.md)"
        self.assertEqual(lessons.with_way(Path("03_x/01_a/README.md"), text), text.replace("[chapter 03](../README.md)", way))
        self.assertEqual(lessons.with_way(Path("03_x/02_b/README.md"), "[chapter](../README.md) old\n"),
                         "[chapter 03](../README.md) · previous: [03.01 A kernel](../01_a/README.md) · the chapter's last lesson\n")
