"""Tests of the Python part of fuzz.py, with a program that crashes and one that never ends."""
import sys
import textwrap

import fuzz
import nvcc
from for_tests import InAFolder

PROGRAM = textwrap.dedent("""
    import json, os, sys, time
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    first, step, cases = (int(options[name]) for name in ("--first", "--step", "--cases"))
    for case in range(first, first + step * cases, step):
        print(json.dumps({"begins": case}), flush=True)
        print(json.dumps({"operator": "gla", "name": "B1_T5"}), flush=True)
        print(json.dumps({"implementation": f"of{case}", "schedule": "reverse"}), flush=True)
        if case == 3:
            os.abort()
        if case == 5:
            time.sleep(60)
        outcome = {1: "wrong", 2: "complaint", 4: "refused"}.get(case, "right")
        print(json.dumps({"case": case, "operator": "wkv", "name": "n", "seconds": 0, "runs": [
            {"implementation": "i", "schedule": "forward", "outcome": outcome, "error": case * 1e-8, "share": 0.5}]}), flush=True)
""")


class Driver(InAFolder):
    def records(self, jobs, cases=8):
        self.write({"program.py": PROGRAM})
        return fuzz.run_cases([sys.executable, str(self.root / "program.py")], 0, cases, jobs, 2.0, lambda record: None)

    def test_a_crash_and_a_case_without_an_end_cost_no_other_case(self):
        for jobs in (1, 3):
            records = self.records(jobs)
            self.assertEqual([record["case"] for record in records], list(range(8)))
            self.assertEqual([record["runs"][0]["outcome"] for record in records],
                             ["right", "wrong", "complaint", "crash", "refused", "time", "right", "right"])

    def test_a_crash_names_what_ran(self):
        crash = self.records(1, 4)[3]
        self.assertEqual((crash["operator"], crash["name"]), ("gla", "B1_T5"))
        self.assertEqual((crash["runs"][0]["implementation"], crash["runs"][0]["schedule"]), ("of3", "reverse"))

    def test_outcomes_are_counted(self):
        self.assertEqual(fuzz.outcomes_of(self.records(3)), {"right": 3, "refused": 1, "complaint": 1, "wrong": 1, "crash": 1, "time": 1})

    def test_a_program_that_does_not_begin_is_no_green_run(self):
        with self.assertRaisesRegex(nvcc.ToolError, "ended with 3: no such"):
            fuzz.run_cases(["bash", "-c", "echo no such device >&2; exit 3"], 0, 4, 2, 2.0, lambda record: None)

    def test_more_jobs_than_cases(self):
        self.assertEqual([record["case"] for record in self.records(5, 2)], [0, 1])

    def test_complaints_are_not_printed_and_wrong_results_are(self):
        records = self.records(1, 3)
        self.assertEqual([bool(fuzz.described(record, False)) for record in records], [False, True, False])
        self.assertTrue(all(fuzz.described(record, True) for record in records))
