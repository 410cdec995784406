"""Tests of new copies, and of copies from before the lessons."""
from pathlib import Path
from unittest import mock

from for_tests import InAFolder
from ladder_tools import exercise, hints, patches, place


class CopiesFromBeforeTheLessons(InAFolder):
    def test_go_to_their_lesson_with_todays_holes_and_never_over_a_new_one(self):
        self.as_root_of(place, exercise, hints)
        for stub, before, after in (
                ("07_chunkwise/05_gla_steps/exercise.cu", {"07_chunkwise/gla_steps_exercise.cu": "// TODO(07.3): roughly\n// TODO(07.3): budget\nint solved;\n"},
                 {"07_chunkwise/05_gla_steps/exercise.cu": "// TODO(1): roughly\n// TODO(1): budget\nint solved;\n"}),
                ("06_shared_mem/exercise.cu", {"06_shared_mem/exercise.cu": "// TODO(06.2): a\n"}, {"06_shared_mem/exercise.cu": "// TODO(2): a\n"}),
                ("08_flash_attention/08_pipelined/exercise.cu", both := {"08_flash_attention/exercise.cu": "old\n",
                                                                        "08_flash_attention/08_pipelined/exercise.cu": "new\n"}, both)):
            self.write({f"my/{path}": text for path, text in before.items()})
            exercise.bring_up_to_date(place.Exercise(Path(stub)))
            folder = self.root / "my" / Path(stub).parts[0]
            self.assertEqual({str(path.relative_to(self.root / "my")): path.read_text() for path in folder.rglob("*.cu")}, after)


class ExercisesThatBeginWithTheStepBefore(InAFolder):
    KERNEL = '// {0}\n// Change: {0}\n#include <x>\nvoid {0}();\n{1}R r{{.name = "{0}"}};\n'

    def setUp(self):
        super().setUp()
        self.as_root_of(place, exercise, hints)
        self.write({"03_x/kernel.cu": self.KERNEL.format("slow", "  add();\n"), "03_x/exercise.cu": "// TODO(1): write it\n",
                    "04_y/kernel.cu": self.KERNEL.format("fast", "  sum;\n  store();\n"),
                    "04_y/exercise.cu": '// 04 y: fast; begins with 03_x/kernel.cu.\n// TODO(1): make it fast\n#include <x>\nvoid fast();\n  add();\nR r{.name = "fast"};\n'})
        self.one = place.Exercise(Path("04_y/exercise.cu"))

    def begun(self, *solved):
        with mock.patch.object(exercise, "solved", lambda: dict.fromkeys(solved, "2026-01-02")):
            return exercise.fresh(self.one)

    def test_ours_where_the_reader_has_not_solved_that_one(self):
        stub = place.text_of("04_y/exercise.cu")
        self.assertEqual(self.begun("03"), (stub, "our kernel of 03, renamed for this lesson"))
        self.write({"my/03_x/exercise.cu": self.KERNEL.format("slow", "  mine();\n")})
        self.assertEqual(self.begun()[0], stub)

    def test_the_readers_own_under_this_lessons_name(self):
        self.write({"my/03_x/exercise.cu": self.KERNEL.format("slow", "  mine();\n")})
        text, what = self.begun("03")
        self.assertEqual(text, '// 04 y: fast; begins with 03_x/kernel.cu.\n// TODO(1): make it fast\n#include <x>\nvoid fast();\n  mine();\nR r{.name = "fast"};\n')
        self.assertIn("your own kernel of 03", what)

    def test_their_one_hole_is_what_the_kernel_has_instead(self):
        holes = patches.holes_of(self.one)
        self.assertEqual(holes.ours("1"), [["  sum;", "  store();"]])
        self.assertEqual(holes.filled("1", [["  a;"]])[0], self.KERNEL.format("fast", "  a;\n"))

    def test_a_stub_that_is_another_kernel_is_noticed(self):
        self.assertEqual(patches.fault_of(self.one), "")
        self.write({"03_x/kernel.cu": self.KERNEL.format("slow", "  other();\n")})
        self.assertIn("under a comment", patches.fault_of(self.one))
