"""Tests of which part of a command's output is kept, and of the comparison with today's."""
import json
from unittest import mock

import samples
from for_tests import InAFolder, printed
from ladder_tools import patches, place

STUB = "int main() {\n  // TODO(1): roughly 1 line;\n  // TODO(1): budget: none\n  // TODO(2): roughly 1 line\n}\n"
KERNEL = "int main() {\n  ours(1);\n  ours(2);\n}\n"


class Shown(InAFolder):
    def test_leaves_out_cuts_and_wraps(self):
        said = "ladder: building\nright\n  a line that is long (twice)\nhint\n\n"
        self.assertEqual(samples.shown({}, said), ["right", "  a line that is long (twice)", "hint"])
        self.assertEqual(samples.shown({"without": "^ladder|^hint", "cut": r" \(.*", "columns": 14}, said), ["right", "  a line that", "    is long"])


class Samples(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(samples, place, patches)
        self.during(mock.patch.object(samples.nvcc, "commit_here", lambda: "abc1234"))
        self.write({"00_x/exercise.cu": STUB, "00_x/kernel.cu": KERNEL, "records/samples.json": "{}"})
        self.sample = {"command": "cat my/00_x/exercise.cu", "writes": {"exercise": "00", "hole": "1", "lines": ["  mine(1);"]}}

    def keep(self, **sampled):
        self.write({"records/samples.json": json.dumps({"samples": sampled})})

    def kept(self):
        return json.loads((self.root / "records/samples.json").read_text())["samples"]

    def test_a_learners_file_has_its_lines_in_the_hole_and_the_others_as_the_stub_or_ours(self):
        self.assertEqual(samples.taken(self.sample)["lines"], ["int main() {", "  mine(1);", "  // TODO(2): roughly 1 line", "}"])
        self.sample["writes"]["others"] = "ours"
        self.assertEqual(samples.taken(self.sample)["lines"], ["int main() {", "  mine(1);", "  ours(2);", "}"])

    def test_a_line_that_goes_with_the_hole_is_gone(self):
        self.write({"00_x/exercise.cu": STUB.replace("  // TODO(2)", "  int x;  // until hole 1 is filled\n  int y;  // until hole 2 is filled\n  // TODO(2)")})
        self.assertEqual(samples.taken(self.sample)["lines"], ["int main() {", "  mine(1);", "  int y;  // until hole 2 is filled", "  // TODO(2): roughly 1 line", "}"])

    def test_what_a_learner_has_is_there_again_afterwards(self):
        self.write({"my/00_x/exercise.cu": "mine", "my/.solved.json": "{}"})
        self.sample["command"] = "ls -A my; echo x > my/.solved.json"
        self.assertEqual(samples.taken(self.sample)["lines"], ["00_x"])
        self.assertEqual([(self.root / "my" / name).read_text() for name in ("00_x/exercise.cu", ".solved.json")], ["mine", "{}"])

    def test_one_that_says_something_else_today_is_named(self):
        self.keep(a={"command": "echo new", "lines": ["old"]}, b={"command": "echo same", "lines": ["same"]})
        wrong, = samples.changed(["a", "b"])
        self.assertIn("a: echo new prints\n  new\nbut records/samples.json has\n  old\n", wrong)
        with self.assertRaisesRegex(samples.Wrong, "sample is 'c'; allowed: a, b"):
            samples.changed(["c"])
        printed(samples.record, ["a"])
        self.assertEqual((self.kept()["a"]["lines"], self.kept()["a"]["commit"], samples.changed(["a", "b"])), (["new"], "abc1234", []))

    def test_what_must_be_there_before_may_fail(self):
        with self.assertRaisesRegex(samples.Wrong, "not built"):
            samples.taken({"before": "echo not built >&2; false", "command": "true"})

    def test_an_xray_is_compared_by_its_json(self):
        self.write({"x.json": json.dumps({"counters": [{"name": "barriers"}], "kernels": []})})
        self.keep(x={"command": "true", "json": "x.json", "counters": ["barriers"], "counts": {"one": {}}})
        self.assertEqual(len(samples.changed(["x"], self.root / "x.json")), 1)
        printed(samples.record, ["x"])
        self.assertEqual(samples.changed(["x"], self.root / "x.json"), [])
