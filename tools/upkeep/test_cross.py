"""Tests of the solutions that cross.py misses, the mutants that it draws, and those that it
excuses."""
import subprocess
from pathlib import Path
from unittest import mock

import cross
from for_tests import InAFolder
from ladder_tools import place

KERNEL = "void f(int n) {\n  for (int i = 0; i < n; ++i) {\n    x += 2 * i;\n  }\n}\n"
STUB = KERNEL.replace("    x += 2 * i;\n", "    // TODO(1): roughly 1 line; x\n")


class Solutions(InAFolder):
    def setUp(self):
        super().setUp()
        self.write({"03_x/kernel.cu": KERNEL, "03_x/exercise.cu": STUB})
        self.as_root_of(cross, place)
        self.one = place.Exercise(Path("03_x/exercise.cu"))

    def given(self, *texts):
        self.write({f"03_x/more/solutions/1{letter}.cu": text for letter, text in zip("abc", texts)})

    def test_three_that_differ_from_ours_and_each_other_are_needed(self):
        self.given("    x += i * 2;\n", "    x += i + i;\n")
        self.assertEqual(cross.missing(self.one), ["03_x/more/solutions/1c.cu is not there: hole 1 of 03 needs three right solutions written differently"])
        self.given("    x += i * 2;\n", "    x += i + i;\n", "    // Blanks and comments do not count.\n    x  += 2*i;\n")
        self.assertEqual(cross.missing(self.one), ["03_x/more/solutions/1c.cu is ours once more"])
        self.given("    x += i * 2;\n", "    x += i + i;\n", "    x += 2 * i;\n// ----\n    y;\n")
        self.assertEqual(cross.missing(self.one), ["03_x/more/solutions/1c.cu has lines for 2 places; hole 1 has 1"])
        self.given("    x += i * 2;\n", "    x += i + i;\n", "    x = x + 2 * i;\n")
        self.assertEqual(cross.missing(self.one), [])

    def test_mutants_are_in_the_holes_lines_and_have_their_excuse(self):
        self.given("    x += i * 2;\n", "    x += i + i;\n", "    x = x + 2 * i;\n")
        drawn = cross.drawn(self.one, cross.holes_of(self.one), "1")
        self.assertEqual({letter for letter, *_ in drawn}, {"ours", "a", "b", "c"})
        self.assertTrue(all(mutant.line(text) == 3 for _, text, mutant in drawn))
        keys = [cross.key_of("1", mutant, text) for _, text, mutant in drawn]
        self.assertIn("1: x += i + i; -> x += i - i;", keys)
        self.assertIn("1: x += 2 * i; -> ", keys)  # a statement is removed
        self.write({"03_x/more/solutions/equivalent.txt": "1: x += 2 * i; ->   # why not\n"})
        self.assertEqual(cross.excuses(self.one), {"1: x += 2 * i; -> ": "why not"})

    def test_an_exercise_is_changed_with_more_than_words_of_its_kernel_tests_or_solutions(self):
        self.given("    x += i * 2;\n// ----\n    // As a sum.\n    x += i + i;\n")
        self.write({"03_x/README.md": "x", "03_x/more/mistakes/a.patch": "x", "03_xy/kernel.cu": "x"})
        git = ["git", "-C", self.root, "-c", "user.name=x", "-c", "user.email=x"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
            subprocess.run([*git, *words], check=True)
        solution = "03_x/more/solutions/1a.cu"
        for name, text, is_changed in (
                ("03_x/README.md", "y", False), ("03_x/more/mistakes/a.patch", "y", False), ("03_xy/kernel.cu", "y", False),
                ("03_x/kernel.cu", KERNEL.replace("2", "3"), True), ("03_x/kernel.cu", "// A word.\n" + KERNEL, False),
                ("03_x/exercise.cu", STUB.replace("roughly 1 line", "one line\n    // TODO(1): of code"), False),
                ("03_x/exercise.cu", KERNEL.replace("    x += 2 * i;\n  }\n", "  }\n    // TODO(1): roughly 1 line; x\n"), True),
                (solution, "    x += i * 2;\n// ----\n    // As another.\n    x += i + i;\n", False),
                (solution, "    x += i * 2;\n    // As a sum.\n    x += i + i;\n// ----\n", True)):
            with self.subTest(name, text=text), mock.patch.object(cross, "exercises", return_value=[self.one]):
                self.write({name: text})
                self.assertEqual(cross.changed("HEAD"), [self.one] if is_changed else [])
                subprocess.run([*git, "checkout", "-q", "."], check=True)

    def test_holes_share_the_mutants_that_are_allowed_in_all(self):
        self.assertEqual([cross.share(12, most, holes) for most, holes in ((None, 50), (24, 1), (24, 6), (24, 50))], [12, 12, 4, 2])
