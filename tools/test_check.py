"""./ladder check: its words, and what it makes of the programs' facts."""
import contextlib
import io
import unittest
from pathlib import Path

from for_tests import Refusals
from ladder_tools import check
from ladder_tools.place import ROOT

PROGRAMS = ROOT / "common/check/test"


def finding(kind, line, other=None, block=0, file="common/check/test/race.cu"):
    def party(at, of):
        return {"file": file, "line": at, "block": [of, 0, 0]}
    return {"fact": "finding", "kind": kind, "space": "global", "buffer": "x", "without_places": f"{kind} of x",
            "party": party(line, 0), "other": party(other, block) if other else None}


def kernel(**other):
    return {"fact": "kernel", "name": "k", "launches": 1, "grid": [1, 1, 1], "block": [64, 1, 1], "atomics": False, "cut_short": False, **other}


class Words(Refusals):
    def test_that_are_wrong_are_refused(self):
        self.assert_refused(lambda words: check.Asked(words, PROGRAMS), (
            ([], "check needs a file"), (["none.cu"], "allowed: one that exists"), (["race.txt"], r"allowed: \.cu"),
            (["race.cu", "-lcurand"], "asks for a library"), (["race.cu", "--schedules=0"], "a whole number from 1"),
            (["race.cu", "--schedules"], "needs a value"), (["race.cu", "--frobnicate"], "option is '--frobnicate'"), (["race.cu", "-I"], "-I needs a value")))

    def test_of_nvcc_are_understood(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            asked = check.Asked(["race.cu", "-I", "..", "-DN=4", "-std=c++17", "-arch", "sm_80", "-O3", "--", "--help", "3"], PROGRAMS)
        self.assertEqual(asked.arguments, ["--help", "3"])
        self.assertEqual(asked.folders, [PROGRAMS.parent])
        self.assertIn("-DN=4", asked.options)
        self.assertIn("-O3 is skipped", said.getvalue())
        self.assertEqual([file.name for file in asked.files], ["race.cu"])


class Report(unittest.TestCase):
    def of(self, *facts, schedules=("forward",)):
        findings = check.Findings(Path("/"))
        for schedule in schedules:
            findings.add(facts, schedule)
        return findings

    def test_names_a_pair_of_lines_once(self):
        found = self.of(kernel(), finding("race", 8, 9), finding("race", 9, 8), schedules=("forward", "reverse")).sorted()
        self.assertEqual(len(found), 1)
        self.assertIn("every schedule", check.Findings(Path("/")).text_of(*found[0], 2))

    def test_takes_a_race_between_blocks_as_a_note_only_beside_atomics(self):
        between = finding("race", 8, 9, block=1)
        self.assertFalse(self.of(kernel(), between).sorted()[0][3])
        self.assertTrue(self.of(kernel(atomics=True), between).sorted()[0][3])
        fenced = finding("race", 8, 9, block=1, file="common/check/test/ticket.cu")
        self.assertTrue(self.of(kernel(), fenced).sorted()[0][3])
        self.assertFalse(self.of(kernel(atomics=True), finding("race", 8, 9)).sorted()[0][3])

    def test_leaves_out_what_follows_from_a_launch_that_ended(self):
        found = self.of(kernel(), finding("out of bounds", 5), finding("uninitialised read", 7)).sorted()
        self.assertEqual([each[0]["kind"] for each in found], ["out of bounds"])


if __name__ == "__main__":
    unittest.main()
