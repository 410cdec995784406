"""Tests of run_tests. Scripts play GoogleTest's part."""
import io
import os
import shutil
import unittest
from unittest import mock

from for_tests import InAFolder, printed
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


class Programs(InAFolder):
    def run_script(self, body, chosen=None):
        script, out = self.root / "script.py", io.StringIO()
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
        script, said = self.root / "script.py", []
        script.write_text('print("[ RUN      ] A.a", flush=True)\nimport time\ntime.sleep(600)\n')
        process = test_program.Process(["python3", script], lambda *failed: said.append(failed), 8)
        self.assertEqual(process.died, ("A.a", "stopped after 8 seconds"))
        self.assertEqual(said, [("A.a", ["the program was stopped after 8 seconds"])])


class AsBefore(InAFolder):
    """A program whose tests have all passed does not run again while it and its environment are the
    same."""

    def setUp(self):
        super().setUp()
        self.runs = self.root / "runs"
        self.plays('test("A.a")\ntest("A.b", "SKIPPED", "no GPU")')

    def plays(self, body):
        skip = 'open(os.environ["LADDER_SKIP_LOG"], "a").write("A.b: no GPU\\n")'
        self.program = self.executable("tests", "\n".join((
            "#!/usr/bin/env python3", _HEAD, f'open("{self.runs}", "a").write("run\\n")', skip, body)))

    def run_entry(self, name="room.emulated", **environment):
        """(exit code, number of runs, line of counts, skips)"""
        logs = {"LADDER_SKIP_LOG": self.root / "skips", "LADDER_TEST_COUNTS": self.root / "counts"}
        for log in logs.values():
            log.unlink(missing_ok=True)
        variables = {key: str(value) for key, value in {**logs, **environment}.items()}
        words = ["run_tests", name, str(self.program)]
        with mock.patch.dict(os.environ, variables), mock.patch("sys.argv", words):
            status, _ = printed(test_program.main)
        counts, skips = logs["LADDER_TEST_COUNTS"].read_text(), logs["LADDER_SKIP_LOG"].read_text()
        return status, self.runs.read_text().count("run"), counts, skips

    def test_what_passed_is_said_again(self):
        self.assertEqual(self.run_entry(), (0, 1, "room.emulated 1 0 1 0\n", "A.b: no GPU\n"))
        self.assertEqual(self.run_entry(), (0, 1, "room.emulated 1 0 1 1\n", "A.b: no GPU\n"))

    def test_it_runs_when_something_is_new_or_asked_for(self):
        self.run_entry()
        changed = {"LADDER_TEST_AGAIN": "1", "GTEST_FILTER": "A.*", "LADDER_DRAW": "7",
                   "OMP_NUM_THREADS": "3"}
        for n, (variable, value) in enumerate(changed.items()):
            self.assertEqual(self.run_entry(**{variable: value})[1], n + 2)
        self.plays('test("A.c")')
        self.assertEqual(self.run_entry()[1:3], (6, "room.emulated 1 0 0 0\n"))

    @unittest.skipIf(shutil.which("ldd") is None, "there is no ldd")
    def test_it_depends_on_the_libraries_that_it_loads(self):
        found = test_program.libraries_of(shutil.which("sh"))
        self.assertTrue(any("libc" in library for library in found), found)
        before = test_program.key_of(self.program)
        for libraries in ([self.program], [self.root]):
            with mock.patch.object(test_program, "libraries_of", lambda _, its=libraries: its):
                self.assertNotEqual(test_program.key_of(self.program), before)

    def test_a_failure_is_not_kept(self):
        self.plays('test("A.a", "FAILED")\nsys.exit(1)')
        for n in (1, 2):
            self.assertEqual(self.run_entry()[:3], (1, n, "room.emulated 0 1 0 0\n"))

    def test_a_gpus_tests_and_chosen_ones_are_not_kept(self):
        chosen = {"GTEST_FILTER": "A.a"}
        entries = [("room.cuda", {})] * 2 + [("room.emulated", chosen)] * 2
        for n, (name, environment) in enumerate(entries):
            self.assertEqual(self.run_entry(name, **environment)[1], n + 1)
