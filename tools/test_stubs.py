"""A learner's copies from before the lessons are found."""
from pathlib import Path

from for_tests import InAFolder
from ladder_tools import exercise, hints, place


class CopiesFromBeforeTheLessons(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(place, exercise, hints)

    def test_go_to_their_lesson_and_their_holes_are_renamed(self):
        self.write({"my/07_chunkwise/gla_steps_exercise.cu": "// TODO(07.3): roughly\n// TODO(07.3): budget\nint solved;\n"})
        one = place.Exercise(Path("07_chunkwise/05_gla_steps/exercise.cu"))
        exercise.bring_up_to_date(one)
        self.assertEqual((self.root / one.mine).read_text(), "// TODO(1): roughly\n// TODO(1): budget\nint solved;\n")
        self.assertFalse((self.root / "my/07_chunkwise/gla_steps_exercise.cu").exists())

    def test_of_a_chapters_own_kernel_stay_where_they_are(self):
        self.write({"my/06_shared_mem/exercise.cu": "// TODO(06.2): a\n// TODO(06.1): b\n"})
        one = place.Exercise(Path("06_shared_mem/exercise.cu"))
        exercise.bring_up_to_date(one)
        self.assertEqual((self.root / one.mine).read_text(), "// TODO(2): a\n// TODO(1): b\n")

    def test_never_overwrite_a_new_one(self):
        self.write({"my/08_flash_attention/exercise.cu": "old\n", "my/08_flash_attention/08_pipelined/exercise.cu": "new\n"})
        exercise.bring_up_to_date(place.Exercise(Path("08_flash_attention/08_pipelined/exercise.cu")))
        self.assertEqual((self.root / "my/08_flash_attention/08_pipelined/exercise.cu").read_text(), "new\n")
        self.assertEqual((self.root / "my/08_flash_attention/exercise.cu").read_text(), "old\n")
