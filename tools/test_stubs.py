"""A learner's copies from before the lessons are found."""
from pathlib import Path

from for_tests import InAFolder
from ladder_tools import exercise, hints, place


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
