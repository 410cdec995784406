"""Exercises are made from kernels by patches."""
import unittest
from pathlib import Path

from for_tests import InAFolder
from ladder_tools.checking import Check
from ladder_tools.patches import Holes, adopt, hole_of, holes_of, made
from ladder_tools.place import ROOT, Exercise, exercise_of, exercises, mistakes


class Patches(InAFolder):
    def test_an_exercise_is_what_kernel_and_patch_give(self):
        root, one = self.root, Exercise(Path("03_x/exercise.cu"))
        kernel, stub = root / one.solution, root / one.stub
        kernel.parent.mkdir()
        kernel.write_text("int a;\nint b = 1;\nint c;\n")
        stub.write_text("int a;\n// TODO(1): write it\nint c;\n")
        adopt(one, root)
        self.assertEqual(made(one, root), stub.read_text())
        kernel.write_text("int first;\nint a;\nint b = 1;\nint c;\n")  # what changes elsewhere comes to the exercise
        self.assertEqual(made(one, root), "int first;\nint a;\n// TODO(1): write it\nint c;\n")
        kernel.write_text("int a;\nint b = 2;\nint c;\n")
        with self.assertRaisesRegex(ValueError, "exercise.patch does not fit 03_x/kernel.cu: .*FAILED; edit 03_x/exercise.cu, then .*--adopt 03$"):
            made(one, root)

    def test_a_mistake_lies_in_the_hole_whose_lines_it_changes(self):
        for name, hole in (("00.01_first_kernel.forgotten_guard", "1"), ("00.01_first_kernel.grid_rounded_down", "2"),
                           ("00.01_first_kernel.never_freed", "3"), ("03.01_causal_dot_product.last_strip_dropped", ""), ("03.decay_first", "3")):
            one = exercise_of(name.rpartition(".")[0])
            self.assertEqual(hole_of(one, mistakes()[name]), hole, name)
        check = Check(exercise_of("00.01"), None)
        check._said = "as with 200 / 64 blocks of 64 threads, rounded down."
        self.assertEqual(check._diagnosed(), ["2"])


class WhereLinesAreMissing(unittest.TestCase):
    STUB = "f() {\n  // TODO(1): roughly 2 lines; x\n  // TODO(2): roughly 1 line; y\n}\ng() {\n  a;\n  // TODO(3): roughly 1 line, at two places; z\n  b;\n}\n"
    KERNEL = "f() {\n  x1;\n  x2;\n  y;\n}\ng() {\n  a;\n  z1;\n  b;\n  z2;\n}\n"

    def setUp(self):
        self.holes = Holes(self.STUB, self.KERNEL)

    def test_our_lines_are_known_by_their_todos_and_their_number(self):
        self.assertEqual([self.holes.ours(hole) for hole in "123"], [[["  x1;", "  x2;"]], [["  y;"]], [["  z1;"], ["  z2;"]]])
        self.assertEqual(self.holes.filled("2", self.holes.ours("2")), (self.KERNEL, [4]))
        self.assertEqual(self.holes.filled("3", [["  c;"]]), (self.KERNEL.replace("z1", "c").replace("  z2;\n", ""), [8, 10]))

    def test_a_readers_lines_are_those_at_the_todos(self):
        mine = self.STUB.replace("  // TODO(3): roughly 1 line, at two places; z\n", "  c;\n  b;\n", 1)
        self.assertEqual(self.holes.of(mine).holes, {"1": [[]], "2": [[]], "3": [["  c;", "  b;"], []]})
        self.assertIn("the holes 1 and 2 stand side by side", self.holes.of(self.KERNEL).why)
        self.assertIn("nothing is left where the stub has `a;`", self.holes.of(self.STUB.replace("  a;\n", "")).why)
        self.assertIn("line 6 is `A;` where the stub has `a;`", self.holes.of(self.STUB.replace("  a;", "  A;")).why)

    def test_blanks_comments_and_lines_that_are_added_outside_the_holes_do_no_harm(self):
        mine = "// mine\nint before;\n" + self.STUB.replace("  a;\n", "    a; \n\n").replace("  b;\n", "  b;\n  more;\n").replace("g() {", "g()  {")
        mine = mine.replace("  // TODO(3): roughly 1 line, at two places; z\n", "  c;\n")
        written = self.holes.of(mine)
        self.assertEqual(written.holes["3"], [["", "  c;"], ["  more;"]], "z goes to two places")
        self.assertEqual(written.outside, {0: ["// mine", "int before;"]})
        text, begins = self.holes.filled("3", written.holes["3"], written.outside)
        self.assertEqual(text, "// mine\nint before;\n" + self.KERNEL.replace("  z1", "\n  c").replace("z2", "more"))
        self.assertEqual(begins, [10, 13])
        self.assertEqual(self.holes.of("// mine\n\n" + self.STUB + "// end\n").outside, {})

    def test_every_exercise_is_our_kernel_once_its_holes_are_filled(self):
        for one in exercises() + exercises("scratch"):
            kernel = (ROOT / one.solution).read_text()
            holes = holes_of(one)
            for hole in one.holes():
                self.assertEqual(holes.filled(hole, holes.ours(hole))[0], kernel, one.name)
        with self.assertRaisesRegex(ValueError, "only add lines"):
            Holes(self.STUB, self.KERNEL.replace("  a;\n", ""))
