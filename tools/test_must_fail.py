"""Tests of must_fail: what it must reject. Scripts play the programs."""
import json
import os
from pathlib import Path
from unittest import mock

from for_tests import InAFolder, failed_launch, printed, wrong_result
from ladder_tools import hints, must_fail, place
from ladder_tools.place import ROOT, exercise_of

PATCH = "# mistake: the bonus is left out\n# diagnosis: the bonus forgotten\n--- a/x\n+++ b/x\n"
STUB = ROOT / exercise_of("03").stub


class MustFail(InAFolder):
    def file(self, name, text):
        self.write({name: text})
        return str(self.root / name)

    def ends(self, failures, status, facts=()):
        """A program with these failures, exit code and facts."""
        report = {"testsuites": [{"name": "s", "testsuite": [{"name": "t", "failures": [{"failure": text} for text in failures]}]}]}
        records = "".join(f"{json.dumps(fact)}\n" for fact in facts)
        return str(self.program(f"open(report, 'w').write({json.dumps(json.dumps(report))})\n"
                                f"open(os.environ['LADDER_FACTS'], 'w').write({records!r})\n"
                                f"sys.exit({status})\n"))

    def judge(self, *arguments):
        return printed(must_fail.main, list(arguments))

    def mistake(self, failures, status, patch=PATCH, facts=()):
        return self.judge("mistake", "mistake.03.x", self.ends(failures, status, facts),
                          self.file("x.patch", patch),
                          self.file("kernel.cu", '.name = "wkv_atomic"'))

    def test_a_mistake_must_be_noticed_with_its_diagnosis(self):
        self.assertEqual(self.mistake(["x.cpp:1\nequals the result with the bonus forgotten"], 1)[0], 0)
        for failures, status, patch, said in (([], 0, PATCH, "ends with 0"), (["WRONG RESULT"], 1, PATCH, "no failing test reports"),
                                              (["the bonus forgotten"], 3, PATCH, "ends with 3"),
                                              (["the bonus forgotten"], 1, "# mistake: x\n", "no line '# diagnosis"),
                                              (["the bonus forgotten"], 1, "# diagnosis: x\n", "no line '# mistake")):
            result = self.mistake(failures, status, patch)
            self.assertEqual(result[0], 1, said)
            self.assertIn(said, result[1])

    def test_what_failing_tests_say_instead_is_listed_once(self):
        names = ("It equals the transposed.", "It equals the transposed.", "It equals the sum.")
        facts = [wrong_result("", name=[name]) for name in names]
        said = self.mistake(["x.cpp:1\nWRONG RESULT in c"], 1, facts=facts)[1]
        self.assertIn("they report:\n  It equals the transposed.\n  It equals the sum.\n", said)
        self.assertNotIn("[  FAILED  ]", said)

    def test_a_stages_own_tests_are_asked_last(self):
        for with_them in (False, True):  # other tests print the diagnosis, then a stage's
            report = json.dumps({"testsuites": [{"name": "s", "testsuite": [{"name": "t", "failures": [{"failure": "the bonus forgotten"}]}]}]})
            program = self.program(f"said = any('*.Stage' in word for word in sys.argv) != {with_them}\n"
                                   f"open(report, 'w').write({report!r} if said else '{{\"testsuites\": []}}')\nsys.exit(said)\n")
            patch, kernel = self.file("x.patch", PATCH), self.file("kernel.cu", '.name = "wkv_atomic"')
            self.assertEqual(self.judge("mistake", "mistake.03.x", str(program), patch, kernel)[0], 0, with_them)

    def test_a_stub_must_fail_in_the_judges_words(self):
        deadlock = failed_launch("k.cu:5: deadlock: nobody ends this wait in kernel k", "deadlock")
        for failure in ("x\nWRONG RESULT in o", f"launch failure: {deadlock['message']}"):
            program = self.ends([failure], 1, [deadlock])
            self.assertEqual(self.judge("stub", "stub.03.kernel", program, str(STUB))[0], 0, failure)
        for failures, status, said in (([], 0, "ends with 0"), (["never written"], 1, "does not report WRONG RESULT"), (["WRONG RESULT"], 3, "ends with 3")):
            result = self.judge("stub", "stub.03.kernel", self.ends(failures, status), str(STUB))
            self.assertEqual(result[0], 1, said)
            self.assertIn(said, result[1])

    def test_holes_say_what_they_are_and_solving_only_adds_lines(self):
        self.write({"09_x/README.md": "**Hole 1: a hole**\n<details><summary>Nudge</summary>\ntext\n</details>\n",
                    "09_x/exercise.cu": "int a;\n// TODO(1): write it\nint b = 1;\n", "09_x/kernel.cu": "int a;\nint b = 2;\n"})
        self.as_root_of(must_fail, place, hints)
        faults = "\n".join(must_fail.faults_of_holes(must_fail.Exercise(Path("09_x/exercise.cu"))))
        for said in ("number of lines", "names no budget", "hints for hole 1 are ['Nudge']", "this line disappears: int b = 1;"):
            self.assertIn(said, faults)

    def test_what_is_not_built_is_skipped_in_plain_sight(self):
        log = self.root / "skips"
        with mock.patch.dict(os.environ, {"LADDER_SKIP_LOG": str(log)}):
            status, said = self.judge("stub", "stub.03.kernel", str(self.root / "none"), str(STUB))
        self.assertEqual((status, said[:8]), (0, "SKIPPED:"))
        self.assertIn("stub.03.kernel: not built", log.read_text())
