"""Tests of what runs a test program for CTest. GoogleTest's side is played by scripts."""
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from ladder_tools import test_program

_HEAD = r"""
import re, signal, sys, os, time
flags = open(sys.argv[1].partition("=")[2]).read()
wanted, _, without = re.search("--gtest_filter=(.*)", flags)[1].partition("-")
def test(name, result="OK", text="", do=None):
    if name in without.split(":"): return
    print(f"[ RUN      ] {name}", flush=True)
    if text: print(text)
    if do: do()
    print(f"[{result:>9} ] {name} (3 ms)", flush=True)
"""


class Programs(unittest.TestCase):
    def run_script(self, body, chosen=None):
        with tempfile.TemporaryDirectory() as folder:
            script, out = Path(folder) / "script.py", io.StringIO()
            script.write_text(_HEAD + body)
            counts, as_expected = test_program.run("room.emulated", ["python3", script], chosen, out)
            return counts, as_expected, out.getvalue()

    def test_what_passed_and_was_skipped_is_counted(self):
        counts, as_expected, said = self.run_script('test("A.a")\ntest("A.b", "SKIPPED", "no GPU")\ntest("A.c")\n')
        self.assertEqual((counts["OK"], counts["SKIPPED"], counts["FAILED"], as_expected, said), (2, 1, 0, True, ""))

    def test_what_failed_says_its_words_and_its_whole_name(self):
        counts, as_expected, said = self.run_script('test("A.a", text="not this")\ntest("A.b", "FAILED", "WRONG RESULT")\nsys.exit(1)\n')
        self.assertEqual((counts["OK"], counts["FAILED"], as_expected), (1, 1, True))
        self.assertEqual(said, "FAILED: room.emulated.A.b\nWRONG RESULT\n")

    def test_after_a_crash_the_others_run(self):
        die = 'test("A.b", do=lambda: os.kill(os.getpid(), signal.SIGSEGV))'
        counts, as_expected, said = self.run_script(f'test("A.a")\n{die}\ntest("A.c")\ntest("A.d", "FAILED", "x")\nsys.exit(1)\n')
        self.assertEqual((counts["OK"], counts["FAILED"], as_expected), (2, 2, True))
        self.assertIn("FAILED: room.emulated.A.b\nthe program crashed: SIGSEGV\n", said)

    def test_an_exit_code_that_no_test_explains_is_a_failure(self):
        for body in ('test("A.a")\nsys.exit(3)\n', 'test("A.a")\nsys.exit(1)\n', 'test("A.a", "FAILED")\n'):
            _, as_expected, said = self.run_script(body)
            self.assertFalse(as_expected)
            self.assertIn("the program ended with", said)

    def test_a_test_that_hangs_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            script, said = Path(folder) / "script.py", []
            script.write_text('print("[ RUN      ] A.a", flush=True)\nimport time\ntime.sleep(600)\n')
            process = test_program.Process(["python3", script], lambda test, lines: said.append((test, lines)), seconds=8)
        self.assertEqual(process.died, ("A.a", "stopped after 8 seconds"))
        self.assertEqual(said, [("A.a", ["the program was stopped after 8 seconds"])])


class AsBefore(unittest.TestCase):
    """A program that has passed whole is not run again while it and its environment are the same."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program, self.runs = self.folder / "tests", self.folder / "runs"
        self.write('test("A.a")\ntest("A.b", "SKIPPED", "no GPU")')

    def write(self, body):
        skip = 'open(os.environ["LADDER_SKIP_LOG"], "a").write("A.b: no GPU\\n")'
        self.program.write_text(f'#!/usr/bin/env python3\n{_HEAD}\nopen("{self.runs}", "a").write("run\\n")\n{skip}\n{body}\n')
        self.program.chmod(0o755)

    def run_entry(self, name="room.emulated", **environment):
        """(exit code, how often the program has run, line of counts, skips)"""
        logs = {"LADDER_SKIP_LOG": self.folder / "skips", "LADDER_TEST_COUNTS": self.folder / "counts"}
        for log in logs.values():
            log.unlink(missing_ok=True)
        with mock.patch.dict(os.environ, {key: str(value) for key, value in {**logs, **environment}.items()}), \
                mock.patch("sys.argv", ["run_tests", name, str(self.program)]), mock.patch("sys.stdout", io.StringIO()):
            status = test_program.main()
        return status, self.runs.read_text().count("run"), *(log.read_text() for log in (logs["LADDER_TEST_COUNTS"], logs["LADDER_SKIP_LOG"]))

    def test_what_passed_is_said_again(self):
        self.assertEqual(self.run_entry(), (0, 1, "room.emulated 1 0 1 0\n", "A.b: no GPU\n"))
        self.assertEqual(self.run_entry(), (0, 1, "room.emulated 1 0 1 1\n", "A.b: no GPU\n"))

    def test_it_runs_when_something_is_new_or_asked_for(self):
        self.run_entry()
        for n, environment in enumerate(({"LADDER_TEST_AGAIN": "1"}, {"GTEST_FILTER": "A.*"}, {"LADDER_DRAW": "7"}, {"OMP_NUM_THREADS": "3"})):
            self.assertEqual(self.run_entry(**environment)[1], n + 2)
        self.write('test("A.c")')
        self.assertEqual(self.run_entry()[1:3], (6, "room.emulated 1 0 0 0\n"))

    def test_a_failure_is_not_kept(self):
        self.write('test("A.a", "FAILED")\nsys.exit(1)')
        for n in (1, 2):
            self.assertEqual(self.run_entry()[:3], (1, n, "room.emulated 0 1 0 0\n"))

    def test_a_gpus_tests_and_chosen_ones_are_not_kept(self):
        for n, (name, environment) in enumerate([("room.cuda", {})] * 2 + [("room.emulated", {"GTEST_FILTER": "A.a"})] * 2):
            self.assertEqual(self.run_entry(name, **environment)[1], n + 1)


if __name__ == "__main__":
    unittest.main()
