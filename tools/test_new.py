"""./ladder new writes a lesson under new names, or refuses before anything is written."""
import re
import shutil
from pathlib import Path

from for_tests import InAFolder
from ladder_tools import hints, new, patches, place, rows

_FOLDERS = ("00_warmup", "03_cuda_baseline", "04_no_atomic", "06_shared_mem", "07_chunkwise", "tests/90_open_operators")


class New(InAFolder):
    def setUp(self):
        super().setUp()
        for each in _FOLDERS:
            shutil.copytree(place.ROOT / each, self.root / each)
        shutil.copy(place.ROOT / ".clang-format", self.root)
        self.as_root_of(place, new, patches, hints, rows)

    def files(self):
        return {path.relative_to(self.root): path.read_bytes() for path in self.root.glob("**/*") if path.is_file()}

    def written(self, *words):
        """The files of the new lesson, after checking that exercise, patches and hints fit together
        and nothing else changed."""
        before = self.files()
        self.assertEqual(new.new(list(words), "default", "/"), 0)
        after = self.files()
        self.assertEqual({path: text for path, text in after.items() if path in before}, before)
        folder, = {path.parents[-3] for path in after.keys() - before.keys()}
        texts = {path.relative_to(folder).as_posix(): text.decode() for path, text in after.items() if path.is_relative_to(folder)}
        for each in place.exercises() + place.exercises("scratch"):
            if each.folder == folder:
                self.assertEqual(patches.fault_of(each), "")
                for hole in each.holes():
                    self.assertEqual(len(hints.Hints(each).texts(hole)), 3)
        for name, text in texts.items():
            if name.startswith("more/mistakes/"):
                changed = re.search(r"^--- a/(.*)$", text, re.MULTILINE)[1]
                self.assertTrue(Path(changed).is_relative_to(folder))
                patches.patched(changed, folder / name, self.root)
        return texts

    def test_a_lesson_begins_as_a_copy_of_a_plain_one(self):
        texts = self.written("06.77b_tried_idea")
        self.assertEqual(place.place_of("06.77b").folder, "06_shared_mem/77b_tried_idea")
        self.assertIn('.name = "tried_idea"', texts["kernel.cu"])
        self.assertIn("void __launch_bounds__(kThreads) tried_idea(", texts["kernel.cu"])
        self.assertNotIn("no_atomic", "".join(texts[name] for name in texts if name != "README.md"))
        self.assertIn("./ladder exercise 06.77b_tried_idea", texts["README.md"])
        self.assertNotIn("more/boss.patch", texts)

    def test_one_with_an_operator_of_its_own(self):
        texts = self.written("00.77_mean_of_mine", "--operator")
        self.assertIn("struct MeanOfMineArgs", texts["mean_of_mine.hpp"])
        self.assertIn('.name = "mean_of_mine"', texts["mean_of_mine_operator.cpp"])
        self.assertIn("00_warmup/77_mean_of_mine/mean_of_mine.hpp", texts["kernel.cu"])
        self.assertIn("more/mistakes/last_term_forgotten.patch", texts)
        self.assertNotIn("matmul", "".join(texts.values()).lower())
        self.assertNotIn("git diff", texts["README.md"])
        self.assertNotIn(".step", texts["kernel.cu"])

    def test_a_copy_has_new_names_everywhere(self):
        texts = self.written("00.77_turn", "--from", "00.08")
        self.assertIn("namespace warmup::turn {", texts["turn.hpp"])
        self.assertIn('.name = "turn_tiled"', texts["kernel.cu"])
        self.assertIn("using warmup::register_hole;", texts["test.cpp"])
        self.assertIn("warmup::turn::TurnArgs", texts["test.cpp"])
        self.assertIn(".transpose()", texts["turn_operator.cpp"])
        self.assertFalse([name for name, text in texts.items() if "00_warmup/08_transpose" in text and name != "README.md"])
        texts = self.written("07.77_walk_again", "--from", "07.2")
        self.assertIn("07_chunkwise/teaching_chunks.hpp", texts["kernel.cu"])
        self.assertIn('.name = "walk_again"', texts["kernel.cu"])
        texts = self.written("06.78_read_only", "--from", "06.07")
        self.assertIn("\n*No exercise, no planted mistake: not written yet.*\n", texts["README.md"])

    def test_what_is_wrong_is_refused_before_anything_is_written(self):
        before = self.files()
        self.assert_refused(lambda words: new.new(words, "default", "/"), (
            ([], "lesson is ''; allowed: .*06.11_my_idea"), (["tried_idea"], "lesson is 'tried_idea'; allowed"),
            (["06.00_x1"], "lesson is '06.00_x1'; allowed"), (["06.77_My"], "allowed"), (["06.77"], "allowed"), (["06.77_x"], "words of two letters or more"),
            (["06.77_../x"], "allowed"), (["55.11_tried_idea"], "chapter is '55'; allowed: 00 03 04 06 07"),
            (["06.07_tried_idea"], "06_shared_mem has 07_time_tiles"), (["06.77_decode"], "06_shared_mem has 08_decode"),
            (["06.77_wkv_time_tiles"], "'wkv_time_tiles' is an implementation already"), (["06.77_aa", "06.78_bb"], "one name"),
            (["06.77_moving_mean", "--operator"], "'moving_mean' is an operator already"),
            (["06.77_tried_idea", "--from"], "--from needs"), (["06.77_tried_idea", "--from", "99"], "chapter is '99'"),
            (["06.77_tried_idea", "--from", "00"], "allowed: those with a kernel.cu"),
            (["06.77_tried_idea", "--from", "07.2"], "includes 07_chunkwise/teaching_chunks.hpp"),
            (["06.77_tried_idea", "--from", "04", "--operator"], "both given"), (["06.77_tried_idea", "--all"], "option is '--all'")))
        self.assertEqual(self.files(), before)
