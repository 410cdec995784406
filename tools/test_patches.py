"""Exercises are made from kernels by patches."""
from pathlib import Path

from for_tests import InAFolder
from ladder_tools.patches import adopt, made
from ladder_tools.place import Exercise


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
