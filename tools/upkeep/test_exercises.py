"""Tests of exercises.py, which carries a change of a kernel into its stub, patches and solutions,
lists conflicts, and rejects a stale stub."""
import contextlib
import io
import subprocess

import cross
import exercises
from for_tests import InAFolder
from ladder_tools import place

KERNEL = "".join(f"{line}\n" for line in (
    "// 03 x", "void f() {", "  int old_sum = 0;", "  int n = 4;", "  old_sum += n;", "  old_sum += 2;", "  store(old_sum);", "}"))
STUB = KERNEL.replace("  old_sum += n;\n  old_sum += 2;\n", "  // TODO(1): roughly 2 lines; add them\n")
SOLUTIONS = {"1a": "  old_sum += 2 + n;\n", "1b": "  old_sum += n;\n  ++old_sum;\n  ++old_sum;\n", "1c": "  old_sum = n + 2;\n"}
HOLES = '"old_sum += n;" .. "store("\n  1: roughly 3 lines; add them to old_sum\n'
PATCH = ("# mistake: n is old\n--- a/03_x/kernel.cu\n+++ b/03_x/kernel.cu\n@@ -2,5 +2,5 @@\n void f() {\n   int old_sum = 0;\n"
         "-  int n = 4;\n+  int n = 5;\n   old_sum += n;\n   old_sum += 2;\n")


class Carry(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(place, exercises, cross)
        self.write({"03_x/README.md": "The n in `old_sum += n`.\n", "03_x/kernel.cu": KERNEL, "03_x/exercise.cu": STUB,
                    "03_x/more/mistakes/n.patch": PATCH, **{f"03_x/more/solutions/{name}.cu": text for name, text in SOLUTIONS.items()}})
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
            subprocess.run(["git", *words], cwd=self.root, check=True)

    def carried(self, *replaced):
        """(exit code, faults) after these changes of the kernel."""
        text = (self.root / "03_x/kernel.cu").read_text()
        for old, new in replaced:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write({"03_x/kernel.cu": text})
        wrong = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(wrong):
            return exercises.main([]), wrong.getvalue()

    def now(self, path):
        return (self.root / "03_x" / path).read_text()

    def test_a_renamed_word_has_its_new_name_everywhere(self):
        self.assertEqual(self.carried(("old_sum", "total"), ("int n ", "int terms "), ("+= n", "+= terms")), (0, ""))
        self.assertEqual(self.now("exercise.cu"), STUB.replace("old_sum", "total").replace("int n", "int terms"))
        self.assertEqual(self.now("more/solutions/1c.cu"), "  total = terms + 2;\n")
        self.assertIn("\n-  int terms = 4;\n+  int terms = 5;\n", self.now("more/mistakes/n.patch"))
        self.assertEqual(self.now("README.md"), "The n in `total += terms`.\n")
        self.assertEqual(self.carried(), (0, ""), "once more changes nothing")

    def test_a_changed_line_beside_a_hole_and_beside_a_mistake(self):
        self.assertEqual(self.carried(("  store(old_sum);", "  store(&old_sum);"), ("int old_sum = 0;", "long old_sum = 0;")), (0, ""))
        self.assertEqual(self.now("exercise.cu"), STUB.replace("store(", "store(&").replace("int old_sum", "long old_sum"))
        self.assertIn("   long old_sum = 0;\n-  int n = 4;\n+  int n = 5;\n", self.now("more/mistakes/n.patch"))

    def test_a_line_that_goes_with_its_hole_stays_in_the_stub(self):
        stub = STUB.replace("  // TODO(1)", "  int more = 0;  // until hole 1 is filled\n  // TODO(1)")
        self.write({"03_x/exercise.cu": stub})
        self.assertEqual(self.carried(("  store(old_sum);", "  store(&old_sum);")), (0, ""))
        self.assertEqual(self.now("exercise.cu"), stub.replace("store(", "store(&"))

    def test_what_has_changed_in_a_hole_concerns_its_solutions(self):
        status, said = self.carried(("  old_sum += n;", "  old_sum += +n;"))
        self.assertEqual((status, self.now("exercise.cu")), (1, STUB))
        self.assertEqual(self.now("more/solutions/1b.cu"), SOLUTIONS["1b"].replace("+= n", "+= +n"))
        for name in ("1a", "1c"):
            self.assertIn(f"03_x/more/solutions/{name}.cu: hole 1 has other lines", said)
            self.assertEqual(self.now(f"more/solutions/{name}.cu"), SOLUTIONS[name])

    def test_a_renamed_word_has_its_new_name_in_the_holes_of_a_kernel_from_scratch(self):
        self.write({"03_x/more/scratch.holes": HOLES})
        self.assertEqual(self.carried(("old_sum", "total")), (0, ""))
        self.assertEqual(self.now("more/scratch.holes"), HOLES.replace("old_sum", "total"))

    def test_lines_of_a_kernel_from_scratch_that_are_gone_or_others_are_listed(self):
        self.write({"03_x/more/scratch.holes": HOLES})
        status, said = self.carried(("  store(old_sum);", "  return;"))
        self.assertEqual(status, 1)
        self.assertIn('03_x/more/scratch.holes:1: no line of 03_x/kernel.cu after line 5 begins with "store("\n', said)
        status, said = self.carried(("  return;", "  store(old_sum);"), ("  int n = 4;\n", "  old_sum += n;\n  int n = 4;\n"))
        self.assertEqual(status, 1)
        self.assertIn("03_x/more/scratch.holes: do its words still find the lines that they should?", said)
        self.assertEqual(self.now("more/scratch.holes"), HOLES)

    def test_a_mistake_in_a_line_that_has_changed_is_listed_and_left(self):
        status, said = self.carried(("int n = 4;", "int n = 6;"))
        self.assertEqual(status, 1)
        self.assertIn("03_x/more/mistakes/n.patch: 03_x/kernel.cu has other lines now", said)
        self.assertEqual(self.now("more/mistakes/n.patch"), PATCH)

    def test_the_check_refuses_what_is_stale(self):
        self.write({"03_x/kernel.cu": KERNEL.replace("store(old_sum)", "store(&old_sum)").replace("int n = 4", "int n = 6")})
        wrong = io.StringIO()
        with contextlib.redirect_stderr(wrong):
            self.assertEqual(exercises.main(["--check"]), 1)
        self.assertRegex(wrong.getvalue(), r"this line disappears: int n = 4;\n(?s:.*)n.patch does not fit")
        self.assertEqual(self.now("exercise.cu"), STUB)
