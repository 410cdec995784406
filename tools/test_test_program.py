"""Tests of what runs a test program for CTest. GoogleTest's side is played by scripts."""
import io

from for_tests import InAFolder
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
