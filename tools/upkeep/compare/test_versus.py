"""Tests of what compares two builds. The programs are scripts."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import versus


class Versus(unittest.TestCase):
    def program(self, name, seconds, old_form=False):
        path = Path(self.folder) / name
        row = f'{{"right": True, "seconds": {seconds}}}' if seconds else '{"right": False, "message": "WRONG RESULT"}'
        run = f'{{"rows": [{row}]}}' if old_form else f'{{"runs": [{{"rows": [{row}]}}]}}'
        path.write_text(f'#!/usr/bin/env python3\nimport json, sys\nif "unknown" in sys.argv: sys.exit("allowed: others")\n'
                        f'open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps({run}))\n')
        path.chmod(0o755)
        return str(path)

    def compared(self, old, new, cases="--implementation x\n"):
        file, said = Path(self.folder) / "cases", io.StringIO()
        file.write_text(cases)
        with contextlib.redirect_stdout(said):
            status = versus.main([old, new, "--cases", str(file), "--out", str(Path(self.folder) / "out.json")])
        return status, said.getvalue()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

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
