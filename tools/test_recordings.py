"""Tests of the recordings that the X-ray's player plays."""
import json
from pathlib import Path
from unittest import mock

from for_tests import InAFolder
from ladder_tools import recordings, place

KERNEL = '// {0}\n// Change: {1}\n// Why: x\n#include "common/cuda/a.hpp"\nR r{{.name = "{0}"}};\n'
STEP = [0, 0, 128, 0, 4]


def play(steps=1, errors=(), file="04_y/kernel.cu"):
    party = {"file": file, "line": 3}
    return {"reported": "WRONG RESULT.", "kernel": "fast<64>", "steps_of_block": steps,
            "lines": [{"file": file, "line": 3, "operation": "global load"}],
            "steps": [list(STEP) for _ in range(steps)], "first": 0,
            "errors": [{"message": f"race at {file}:3", "party": party, "other": None, "space": "",
                        "buffer": "", "offset": 0, "bytes": 4, "size": 8, "step": 1}
                       for _ in errors]}


class FakeBuild:
    name = "build"

    def __init__(self, root):
        self.folder, self.built = root / "build", []

    def build(self, *targets):
        self.built += targets


class Recordings(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(place, recordings)
        self.write({"common/cuda/a.hpp": "int a;\n",
                    "03_x/kernel.cu": KERNEL.format("slow", "none"), "03_x/xray_test.cpp": "",
                    "04_y/kernel.cu": KERNEL.format("fast", "from 03.00, a loop."),
                    "04_y/xray_test.cpp": "",
                    "04_y/more/mistakes/a.patch": "# mistake: it is never seen\n",
                    "04_y/more/mistakes/b.patch": "# mistake: it reads too far\n# played\n",
                    "05_z/kernel.cu": KERNEL.format("third", "from 04.00.")})
        self.enterContext(mock.patch.object(recordings, "FOLDER", self.root / "out"))
        self.enterContext(mock.patch.object(recordings.gtest, "names_of", lambda program: [
            "other.KeepsItsBudget", "fast.Other", "fast.StaysInBounds/wkv", "fast.KeepsItsBudget",
            "slow.KeepsItsBudget"]))
        self.runs = []
        self.plays = {}
        self.enterContext(mock.patch.object(recordings, "_run", self.run_test))
        self.build = FakeBuild(self.root)

    def run_test(self, program, test):
        self.runs.append((program.name, test))
        return self.plays.get(test, play(steps=2 if program.name.startswith("played") else 1))

    def made(self, lesson="04_y"):
        return recordings.recordings([lesson], self.build)[Path(lesson)]

    def test_of_the_step_before_the_lesson_and_its_mistake(self):
        scripts = self.made()
        self.assertEqual([path.name for path in scripts], ["03.js", "04.js", "04.mistake.js"])
        self.assertEqual(self.build.built, ["chapter03_xray_tests", "chapter04_xray_tests",
                                            "played.04"])
        self.assertEqual(recordings.players("04_y", scripts),
                         '<xray-player names="03 04"></xray-player>\n'
                         '<xray-player names="04.mistake 04"></xray-player>')
        self.assertIn(("chapter04_xray_tests", "fast.KeepsItsBudget"), self.runs)

    def test_are_made_once_until_a_file_changes(self):
        self.made()
        runs, self.build.built = len(self.runs), []
        self.made()
        self.assertEqual((len(self.runs), self.build.built), (runs, []))
        self.write({"04_y/more/mistakes/b.patch": "# mistake: another\n# played\n"})
        self.made()
        self.assertEqual(self.build.built, ["played.04"])
        self.write({"common/cuda/a.hpp": "int b;\n"})
        self.build.built = []
        self.made()
        self.assertEqual(len(self.build.built), 3)

    def test_a_lesson_is_left_out_until_all_that_it_plays_is_made(self):
        lessons = ["03_x", "04_y"]
        self.assertEqual(recordings.made_before(lessons), {})
        self.made("03_x")
        self.assertEqual(list(recordings.made_before(lessons)), [Path("03_x")])
        scripts, runs = self.made(), len(self.runs)
        self.assertEqual(recordings.made_before(lessons)[Path("04_y")], scripts)
        self.assertEqual(len(self.runs), runs)
        self.write({"04_y/more/mistakes/b.patch": "# mistake: another\n# played\n"})
        self.assertEqual(list(recordings.made_before(lessons)), [Path("03_x")])

    def test_of_a_mistake_seek_the_test_that_finds_it(self):
        planted = "build/played/04/04_y/kernel.cu"
        self.plays["fast.StaysInBounds/wkv"] = play(errors=[1], file=planted)
        self.write({planted: "\n\nwrong;\n"})
        text = self.made()[2].read_text()
        self.assertNotIn("build/", text)
        shown = json.loads(text.partition(" = ")[2].removesuffix(";\n"))
        self.assertEqual(shown["source"], [{"file": "04_y/kernel.cu", "first": 1,
                                            "changed": [1, 2, 3], "text": ["", "", "wrong;"]}])
        self.assertEqual(shown["about"], "The mistake: it reads too far. ")
        self.assertEqual(shown["errors"][0]["message"], "race at 04_y/kernel.cu:3")

    def test_of_a_mistake_without_an_error_tell_what_the_test_reports(self):
        text = self.made()[2].read_text()
        self.assertIn("it reads too far. The X-ray finds no error. "
                      "The test reports: WRONG RESULT. ", text)
        self.assertNotIn("WRONG RESULT", self.made()[1].read_text())

    def test_of_what_runs_no_kernel_are_empty(self):
        self.write({"04_y/more/mistakes/b.patch": "# mistake: b\n"})
        self.plays = dict.fromkeys(["slow.KeepsItsBudget", "other.KeepsItsBudget", "fast.Other",
                                    "fast.StaysInBounds/wkv", "fast.KeepsItsBudget"], {})
        self.assertEqual(self.made(), [])
        self.assertEqual(recordings.players("04_y", []), "")

    def test_only_a_marked_mistake_is_played(self):
        self.assertEqual(recordings.played_mistake("04_y")[0].stem, "b")
        self.write({"04_y/more/mistakes/b.patch": "# mistake: b\n--- a/x\n"})
        self.assertEqual(recordings.played_mistake("04_y"), (None, None))
        self.assertEqual([path.name for path in self.made()], ["03.js", "04.js"])

    def test_the_mark_may_name_the_test_that_both_play(self):
        self.write({"04_y/more/mistakes/b.patch": "# mistake: b\n# played: in fast.Other\n"})
        self.made()
        self.assertEqual(self.runs[-2:], [("chapter04_xray_tests", "fast.Other"),
                                          ("played.04", "fast.Other")])
        before = recordings.Recording("04_y").key()
        self.write({"04_y/more/mistakes/b.patch": "# mistake: b\n# played: in fast.Budget\n"})
        self.assertNotEqual(recordings.Recording("04_y").key(), before)

    def test_a_played_mistake_must_show_something(self):
        self.write({"04_y/more/mistakes/b.patch": "# mistake: b\n# played: in fast.Other\n"})
        self.enterContext(mock.patch.object(recordings, "_run", lambda program, test: play()))
        with self.assertRaisesRegex(place.Failed, "b.patch is marked as played, but"):
            self.made()

    def test_another_access_shows_a_mistake(self):
        right, wrong = play(3), play(3)
        for each in (right, wrong):
            each |= {"patterns": [[0, 32, 0, 4]], "steps_of_block": 3}
            each["lines"][0]["bytes"] = 4
        self.assertFalse(recordings.shows_a_mistake(wrong, right))
        wrong["steps"][1][2] = 64
        self.assertTrue(recordings.shows_a_mistake(wrong, right))
        wrong["steps"] = wrong["steps"][:1]  # an earlier end of the recording shows nothing
        self.assertFalse(recordings.shows_a_mistake(wrong, right))
        self.assertTrue(recordings.shows_a_mistake({**wrong, "steps_of_block": 1}, right))

    def test_a_page_needs_nothing_else(self):
        self.assertIsNone(recordings.step_before("03_x"))
        player = Path(__file__).parents[1] / "common" / "xray" / "player"
        with mock.patch.object(recordings, "_PLAYER", player):
            text = recordings.page("a < b", "<xray-player></xray-player>", self.made())
        self.assertIn("<title>a &lt; b</title>", text)
        self.assertNotRegex(text, r'(src|href)="(?!data:)|https?://(?!www\.w3\.org)|<!--')


class Fitted(InAFolder):
    def sized(self, steps, wrong=None):
        one = play(steps)
        if wrong is not None:
            one["steps"][wrong].append({"errors": [0]})
        text = recordings.fitted(one)
        self.assertLess(len(text), recordings.MOST_BYTES)
        return json.loads(text)

    def test_a_short_recording_is_whole(self):
        self.assertEqual(len(self.sized(1000)["steps"]), 1000)

    def test_a_long_one_keeps_its_first_steps(self):
        found = self.sized(9000)
        self.assertEqual(found["first"], 0)
        self.assertGreater(len(found["steps"]), 3000)

    def test_the_steps_around_an_error_are_kept(self):
        for wrong in (10, 5000, 8999):
            found = self.sized(9000, wrong)
            self.assertTrue(any(isinstance(step[-1], dict) for step in found["steps"]), wrong)
            self.assertGreater(len(found["steps"]), 3000)
