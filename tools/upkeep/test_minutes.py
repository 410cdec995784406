"""Tests of the minutes to read on lessons' pages."""
import re
import unittest
from pathlib import Path

import minutes
import steps
from for_tests import InAFolder, printed
from ladder_tools import place
from ladder_tools.learning import is_reference

PAGE = "# 03.01 A kernel\n\n[chapter 03](../README.md)\n\n{plan}{reference}" + "word [one](two.md) 3 " * 50 + """

| a table | of words |

```
code of many words
```

<details><summary>Nudge</summary>

hints of many words

</details>
<!-- a comment -->
"""


class Minutes(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(place, minutes, steps)
        self.write({"03_x/kernel.cu": "// One.\n// Change: none.\n// Why: x\n", "03_x/01_a/kernel.cu": "// One.\n// Change: none.\n// Why: x\n" + "int a;\n" * 100})

    def page(self, plan="", reference=""):
        self.write({"03_x/01_a/README.md": PAGE.format(plan=plan, reference=reference)})
        return (self.root / "03_x/01_a/README.md").read_text()

    def planned(self, plan, reference=""):
        return minutes.planned(Path("03_x/01_a"), self.page(plan, reference)).split("\n")[4]

    def test_words_are_those_of_prose(self):
        self.assertEqual(minutes.words(PAGE.format(plan="*Plan 40 minutes: 4 to read.*\n", reference="*No exercise: no words.*\n")), 150)

    def test_lines_are_those_that_the_lesson_before_has_not(self):
        self.page()
        self.assertEqual(minutes.to_read(Path("03_x/01_a"), self.page()), 2 + 10)
        self.write({"03_x/kernel.cu": "// One.\n// Change: none.\n// Why: x\n" + "int a;\n" * 80,
                    "03_x/01_a/kernel.cu": "// One.\n// Change: from 03.00: x.\n// Why: x\n" + "int a;\n" * 100})
        self.assertEqual(minutes.to_read(Path("03_x/01_a"), self.page()), 2 + 2)

    def test_a_plan_is_changed_only_where_it_is_wrong_by_a_fifth_and_by_three(self):
        for plan, wanted in (("*Plan 25 minutes: 15 to read, 10 for the exercise.*", "*Plan 25 minutes: 15 to read, 10 for the exercise.*"),
                             ("*Plan 26 minutes: 16 to read, 10 for holes 1 to 3.*", "*Plan 20 minutes: 10 to read, 10 for holes 1 to 3.*"),
                             ("*Plan 14 minutes: 8 to read, 6 to break things.*", "*Plan 20 minutes: 14 to read, 6 to break things.*"),
                             ("*Plan 99 minutes: 12 to read, 6 to break things.*", "*Plan 18 minutes: 12 to read, 6 to break things.*"),
                             ("*Plan 40 minutes, reading only.*", "*Plan 10 minutes: 10 to read.*")):
            self.assertEqual(self.planned(plan + "\n\n"), wanted)

    def test_a_reference_has_no_minutes_to_read(self):
        mark = "*Reference: a general kernel.*\n\n"
        self.assertEqual(self.planned("*Plan 30 minutes: 12 to read, 18 for hole 1.*\n\n", mark), "*Plan 18 minutes: 18 for hole 1.*")
        self.assertEqual(self.planned("", mark), mark.strip())
        with self.assertRaisesRegex(minutes.Wrong, "take out its line"):
            self.planned("*Plan 30 minutes: 30 to read.*\n\n", mark)

    def test_a_page_without_a_plan_is_named_with_what_to_write(self):
        self.page()
        code, said = printed(minutes.main, ["--check"])
        self.assertEqual(code, 1)
        self.assertIn("03_x/01_a/README.md: it has no line like *Plan 35 minutes: 12 to read", said)
        self.page("*Plan 40 minutes: 30 to read, 10 for the exercise.*\n\n")
        self.assertEqual(printed(minutes.main, ["--check"])[0], 1)
        self.assertIn("30 to read", (self.root / "03_x/01_a/README.md").read_text())
        self.assertEqual(printed(minutes.main, [])[0], 0)
        self.assertEqual(printed(minutes.main, ["--check"])[0], 0)
        self.assertIn("*Plan 20 minutes: 10 to read, 10 for the exercise.*", (self.root / "03_x/01_a/README.md").read_text())


class References(unittest.TestCase):
    def test_have_a_map_of_what_is_in_their_kernels(self):
        pages = [page for page in place.in_lessons("README.md") if is_reference(place.text_of(page))]
        self.assertTrue(pages)
        for page in pages:
            rows = re.search(r"^\| in the kernel \| functions \| taught in \|\n\|.*\n((?:\|.*\n)+)", place.text_of(page), re.MULTILINE)
            self.assertTrue(rows, page)
            sources = "".join(place.text_of(path) for path in place.in_lessons("*.[chc]*") if path.parent in (page.parent, page.parent.parent))
            for name in re.findall(r"`(\w+)`", "".join(row.split("|")[2] for row in rows[1].splitlines())):
                self.assertRegex(sources, rf"\b{name}\b", f"{page}: {name} is not in its kernel")
