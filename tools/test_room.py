"""Tests of the record of checks, of ./ladder learn --json and of ./ladder room."""
import contextlib
import io
import json
import re
import unittest
from unittest import mock

from for_tests import InAFolder, printed
from ladder_tools import learning, progress, room
from ladder_tools.patches import header
from ladder_tools.place import exercise_of, mistakes, text_of

FORMULA = """ladder: checking my/03_cuda_baseline/exercise.cu
In the emulator: WRONG RESULT in o
  It equals the result with the decay applied before the read.
  batch 0, step 1, head 0, column 0: yours -1.93, right -1.92
"""
DECAY = "It equals the result with the decay applied before the read."


class Mistakes(unittest.TestCase):
    def test_the_words_of_a_check_name_the_mistake(self):
        for said, words in (
            (FORMULA, DECAY),
            (
                (
                    "my/03/exercise.cu:44:3: error: 'x' was not declared\nmy/03/exercise.cu does"
                    " not compile. Fix the first error above.\n"
                ),
                "It does not compile.",
            ),
            (
                (
                    "In the emulator: WRONG RESULT. Holes 2, 3 are empty, and hole 1 is wrong on"
                    " its own.\nOur kernel with your lines of hole 1:\nIn the emulator: WRONG"
                    " RESULT: c[150] was written, but N is 150: the guard is missing\nX-ray: out of"
                    " bounds: load at my/x.cu:22\n"
                ),
                "c[150] was written, but N is 150: the guard is missing",
            ),
            (
                (
                    "In the emulator: WRONG RESULT in o\n  is NaN: 3348 of 3456 elements\n "
                    " xxxxx.\nX-ray: race: store at my/x.cu:9\n"
                ),
                "The X-ray finds: race.",
            ),
            (
                "In the emulator: WRONG RESULT in o\n  is NaN: 3348 of 3456 elements\n  xxxxx.\n",
                "A result is NaN.",
            ),
            (
                (
                    "In the emulator: WRONG RESULT in o\n  A change of q(b=1) alone changes nothing"
                    " in o; it should.\n  x..\n"
                ),
                "A change of q(b=1) alone changes nothing in o; it should.",
            ),
            (
                "In the emulator: WRONG RESULT: first bad element: o\n  1 for 2\nNext: hole 1.\n",
                "A wrong result without a name.",
            ),
            (
                (
                    "In the emulator: cudaGetLastError() failed at my/03/exercise.cu:65:"
                    " my/03/exercise.cu:63: an extent of the grid is 0\n"
                ),
                "cudaGetLastError() failed an extent of the grid is 0.",
            ),
            (
                (
                    "In the emulator: 20 of 20 tests pass\nX-ray: 257 of 65 global loads used  <-"
                    " too many\nRight, but over budget.\n"
                ),
                "It is over budget.",
            ),
            (
                (
                    "In the emulator: 20 of 20 tests pass\nEverything is right in the emulator, but"
                    " nvcc rejects it:\n"
                ),
                "nvcc rejects it.",
            ),
            ("On the CPU: the filled holes are right. Not filled in yet: hole 2\n", ""),
        ):
            with self.subTest(said):
                self.assertEqual(progress.mistake_in(said), words)


class Checks(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(progress)

    def test_checks_are_counted_with_the_last_one(self):
        self.write({"my/03_cuda_baseline/exercise.cu": ""})
        for text, is_solved in ((FORMULA, False), (FORMULA, False), ("", True)):
            progress.note_check("03", text, is_solved, "1")
        noted = progress.checks()["03"]
        self.assertEqual((noted["checks"], noted["mistakes"]), (3, {DECAY: 2}))
        self.assertEqual(
            {**noted["last"], "when": ""}, {"when": "", "solved": True, "mistake": "", "hole": ""}
        )

    def test_without_my_nothing_is_written_and_garbage_is_replaced(self):
        progress.note_check("03", FORMULA, False)
        self.assertEqual(list(self.root.iterdir()), [])
        self.write({"my/.checks.json": "garbage"})
        progress.note_check("03", FORMULA, False)
        self.assertEqual(list(progress.checks()), ["03"])

    def test_what_is_printed_is_heard_and_printed(self):
        def work():
            with progress.heard() as said:
                print("two words")
            return said.text

        self.assertEqual(printed(work), ("two words\n", "two words\n"))


def _checked(words, is_solved=False, when="2026-12-01T10:00:00", hole="1"):
    return {
        "checks": 2,
        "last": {"when": when, "solved": is_solved, "mistake": words, "hole": hole},
        "mistakes": {words: 2} if words else {},
    }


class Room(InAFolder):
    def of(self, *words):
        """(exit code, output, errors)"""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status, said = printed(room.room, list(words), "default", str(self.root))
        return status, said, errors.getvalue()

    def setUp(self):
        super().setUp()
        self.write(
            {
                "anna/my/.solved.json": json.dumps({"00.01_first_kernel": "2026-11-30"}),
                "anna/my/.checks.json": json.dumps({"03": _checked(DECAY)}),
                "ben/.checks.json": json.dumps(
                    {
                        "03": _checked(DECAY),
                        "05": _checked("A result is NaN.", when="2026-12-01T11:00:00"),
                    }
                ),
                "eve/my/.keep": "",
                "bad/.solved.json": "{",
                "wrong/.solved.json": '{"03": 7}',
                "other/README.md": "",
            }
        )

    def test_people_and_their_mistakes_are_shown(self):
        status, said, errors = self.of("anna", "ben", "eve")
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(said, r"(?m)^anna +1 +03 +1 +2 +2026-12-01 10:00 +It equals the result")
        self.assertRegex(said, r"(?m)^ben +0 +05 ")
        self.assertRegex(said, r"(?m)^eve +0 +00.01_first_kernel")
        self.assertIn(
            (
                f"  2 people, 4 checks, 03: {DECAY}\n      to show it: ./ladder exercise 03"
                " --mistake decay_first\n"
            ),
            said,
        )

    def test_garbage_is_named_and_the_others_are_shown(self):
        status, said, errors = self.of("anna", "bad", "wrong", "other", "absent")
        self.assertEqual(status, 1)
        self.assertIn("anna", said)
        for words in (
            "bad/.solved.json is no JSON",
            "wrong/.solved.json: 03 is 7; allowed",
            "other has neither",
            "absent does not exist",
        ):
            self.assertIn(words, errors)

    def test_numbers_and_texts_of_a_file_are_checked(self):
        for entry in (
            {"checks": -1, "last": {"solved": True}},
            {"checks": True, "last": {"solved": True}},
            {"checks": 1, "last": {"solved": 1}},
            {"checks": 1},
            7,
            {"checks": 1, "last": {"solved": True, "when": 3}},
            {"checks": 1, "last": {"solved": True}, "mistakes": []},
        ):
            self.write({"x/.checks.json": json.dumps({"03": entry})})
            with self.subTest(entry):
                self.assertEqual(self.of("x")[0], 1)
        self.write({"x/.checks.json": json.dumps({"99.unknown": _checked("", True)})})
        self.assertRegex(self.of("x")[1], r"(?m)^x +0 +00.01_first_kernel")
        self.write({"x/.checks.json": json.dumps({"03": _checked("\x1b[31mred" + "a" * 500)})})
        status, said, _ = self.of("x")
        self.assertEqual(status, 0)
        self.assertNotIn("\x1b", said)

    def test_json_has_the_same(self):
        found = json.loads(self.of("--json", "anna", "ben")[1])
        self.assertEqual([each["at"] for each in found["people"]], ["03", "05"])
        self.assertEqual(found["at"], {"03": 1, "05": 1})
        self.assertEqual(
            found["mistakes"][0],
            {
                "exercise": "03",
                "mistake": DECAY,
                "people": 2,
                "checks": 4,
                "shown_by": "./ladder exercise 03 --mistake decay_first",
            },
        )

    def test_what_learn_prints_is_read(self):
        with mock.patch.object(
            learning, "solved", lambda: {"03": "2026-11-30", "03.boss": "2026-12-01"}
        ), mock.patch.object(learning, "checks", lambda: {"03": _checked("", True)}):
            _, said = printed(learning.learn, ["--json"], "default", "")
        self.assertEqual(json.loads(said)["solved"], 1)
        self.write(
            {"cyd.json": said, "dan.json": '{"schema": "kernel-ladder/learn/1", "lessons": 3}'}
        )
        person = room.person_of(self.root / "cyd.json")
        self.assertEqual(
            (person.name, person.days, person.at()),
            ("cyd", {"03": "2026-11-30", "03.boss": "2026-12-01"}, "03.01_causal_dot_product"),
        )
        self.assertEqual(self.of("dan.json")[0], 1)

    def test_wrong_arguments_are_refused(self):
        self.assert_refused(
            room.arguments_of_room,
            (([], "allowed: copies of my/"), (["--jsn", "x"], "option is '--jsn'")),
        )
        self.assert_refused(
            learning.arguments_of_learn,
            (
                (["--json", "03"], "takes no arguments"),
                (["--path", "nonsense", "--json"], "path is 'nonsense'"),
            ),
        )
        self.assertEqual(learning.arguments_of_learn(["--json", "--path", "day"]), ("day", True))


class Page(unittest.TestCase):
    """docs/instructor.md."""

    PAGE = text_of("docs/instructor.md")

    def test_the_plans_have_no_gap(self):
        for heading, end in (("Half a day", 4 * 60), ("A day", 8 * 60)):
            section = self.PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
            now = 0
            for hour, minute, minutes in re.findall(r"^\| (\d+):(\d\d) \| (\d+) \|", section, re.M):
                self.assertEqual(int(hour) * 60 + int(minute), now, heading)
                now += int(minutes)
            self.assertEqual(now, end, heading)

    def test_the_mistakes_are_planted_and_get_these_reports(self):
        rows = re.findall(r"^\| ([0-9.]+) \| [^|]+ \| `(\w+)` \| ([^|]+) \|$", self.PAGE, re.M)
        self.assertGreater(len(rows), 10)
        for lesson, name, report in rows:
            patch = mistakes()[f"{exercise_of(lesson).lesson}.{name}"]
            self.assertIn(report, header(text_of(patch), "diagnosis"))


if __name__ == "__main__":
    unittest.main()
