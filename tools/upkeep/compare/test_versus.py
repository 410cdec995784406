"""Tests of versus.py. Scripts play the programs."""
import compare  # finds for_tests
import versus
from for_tests import InAFolder, printed


class Versus(InAFolder):
    def program(self, name, seconds, old_form=False):
        row = '{"right": False, "message": "WRONG RESULT"}'
        if seconds:
            row = f'{{"right": True, "seconds": {seconds}}}'
        run = f'{{"rows": [{row}]}}' if old_form else f'{{"runs": [{{"rows": [{row}]}}]}}'
        return str(self.executable(name, '#!/usr/bin/env python3\nimport json, sys\n'
                                   'if "unknown" in sys.argv: sys.exit("allowed: others")\n'
                                   'file = sys.argv[sys.argv.index("--json") + 1]\n'
                                   f'open(file, "w").write(json.dumps({run}))\n'))

    def compared(self, old, new, cases="--implementation x\n"):
        self.write({"cases": cases})
        files = [f"--{name}={self.root / name}" for name in ("cases", "out")]
        return printed(versus.main, [old, new, *files])

    def test_slower_is_by_more_than_three_percent_in_all_pairs(self):
        self.assertEqual(versus.verdict([(100, 104), (100, 105), (100, 103.5)]), "slower")
        self.assertEqual(versus.verdict([(100, 104), (100, 105), (100, 102)]), "")
        self.assertEqual(versus.verdict([(100, 96), (100, 95), (100, 90)]), "faster")

    def test_a_slower_build_is_an_error_and_an_equal_one_is_none(self):
        old = self.program("old", 10e-6, old_form=True)
        status, said = self.compared(old, self.program("new", 11e-6))
        self.assertEqual(status, 1)
        self.assertIn("10 -> 11 us, 10 -> 11 us, 10 -> 11 us  <- slower", said)
        self.assertEqual(self.compared(old, self.program("same", 10.1e-6))[0], 0)

    def test_what_is_not_measured_is_said(self):
        old, wrong = self.program("old", 10e-6), self.program("wrong", None)
        self.assertIn("WRONG RESULT", self.compared(old, wrong)[1])
        status, said = self.compared(old, old, "--implementation unknown\n--implementation x\n")
        self.assertEqual(status, 0)
        self.assertIn("allowed: others", said)
        self.assertIn("2 cases, 0 slower, 1 not measured", said)

    def test_every_case_has_one_implementation(self):
        cases = versus.cases_of(versus.CASES.read_text())
        self.assertGreater(len(cases), 5)
        self.assertEqual({case.count("--implementation") for case in cases}, {1})
