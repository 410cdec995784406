"""Exercises are made from kernels by patches."""
from pathlib import Path

from for_tests import InAFolder
from ladder_tools.checking import Check
from ladder_tools.patches import adopt, hole_of, made
from ladder_tools.place import Exercise, exercise_of, mistakes


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
                           ("00.01_first_kernel.never_freed", "3"), ("03.forgotten_zeros", ""), ("03.decay_first", "1")):
            one = exercise_of(name.rpartition(".")[0])
            self.assertEqual(hole_of(one, mistakes()[name]), hole, name)
        check = Check(exercise_of("00.01"), None)
        check._said = "as with 200 / 64 blocks of 64 threads, rounded down."
        self.assertEqual(check.diagnosed(), ["2"])
