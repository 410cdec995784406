"""Tests of the stub of a kernel from scratch: which lines more/scratch.holes removes, what it puts
there, and what is rejected."""
import subprocess
import sys
import unittest

from for_tests import InAFolder
from ladder_tools import place
from ladder_tools.patches import fault_of, holes_of
from ladder_tools.place import ROOT, exercise_of, exercises
from ladder_tools.scratch import stub_of

KERNEL = """void f() {
  int n = 4;
  for (int i = 0; i < n; ++i) {
    if (i > 2) {
      add(i);
    }
  }

  for (int j = 0; j < n; ++j) {
    add(j);
  }
  store(n);
}
void g() {
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    add(i);
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    add(2 * i);
  }
  store(3);
}
"""


def stub(*holes):
    return stub_of("".join(f"{line}\n" for line in holes), "more/scratch.holes", KERNEL, "kernel.cu")


class Lines(unittest.TestCase):
    def assert_left_out(self, cut, *lines):
        """Asserts that the cut removes exactly these lines of the kernel, counted from 1."""
        kept = [line for number, line in enumerate(KERNEL.splitlines(True), 1) if number not in lines]
        self.assertEqual([line for line in stub(cut, "  1: x").splitlines(True) if "TODO" not in line], kept, cut)

    def test_are_those_from_the_first_words_to_the_last(self):
        self.assert_left_out('"int n"', 2)
        self.assert_left_out('"int n = 4;" .. "for (int i"', 2, 3)
        self.assert_left_out('"for (int j" .. "store"', 9, 10, 11, 12)
        self.assert_left_out('"for (int i" .. ""', 3, 4, 5, 6, 7, 8)

    def test_end_with_the_bracket_that_closes_the_first_of_them(self):
        self.assert_left_out('"for (int i" .. "}"', 3, 4, 5, 6, 7)
        self.assert_left_out('"if (i" .. "}"', 4, 5, 6)
        self.assert_left_out('"add(i);" .. "}"', 5, 6)

    def test_go_by_way_of_a_line_between(self):
        self.assert_left_out('"for (int i" .. "for (int j" .. "}"', 3, 4, 5, 6, 7, 8, 9, 10, 11)

    def test_words_that_stand_in_several_lines_mean_the_next(self):
        first = ('"store"', "  1: x")
        self.assertEqual(stub(*first, '"for (int i" .. "}"', "  2: y"), KERNEL.replace("  store(n);", "  // TODO(1): x").replace(
            "#pragma unroll\n  for (int i = 0; i < 3; ++i) {\n    add(i);\n  }\n", "  // TODO(2): y\n"))
        self.assertEqual(stub(*first, *2 * ('"for (int i" .. "}"', "  2: y")).count("for (int i"), 1)
        self.assert_left_out('below "void g": "for (int i" .. "}"', 15, 16, 17, 18)
        self.assert_left_out('below "add(i);": "}"', 6)

    def test_a_pragma_goes_with_the_line_below_it_unless_it_is_said_to_stay(self):
        self.assert_left_out('below "void g": "for (int i" .. "add(i)"', 15, 16, 17)
        self.assert_left_out('below "#pragma": "for (int i" .. "add(i)"', 16, 17)


class Todos(unittest.TestCase):
    def test_stand_as_far_in_as_the_first_line(self):
        self.assertIn("\n    // TODO(3): roughly 3 lines; what;\n    // TODO(3): budget: none\n  }\n", stub('"if (i" .. "}"', "  3: roughly 3 lines; what;", "     budget: none"))
        self.assertIn("void g() {\n  // TODO(1): x\n#pragma", stub('below "void g": "for" .. "}"', "  1: x"))

    def test_several_stand_side_by_side(self):
        self.assertIn("\n  // TODO(1): a\n  // TODO(1): b\n  // TODO(2): c\n  for", stub('"int n"', "  1: a", "     b", "  2: c"))

    def test_a_line_of_code_may_stand_there_too(self):
        self.assertIn("\n  // TODO(1): a\n  int n = 0;  // until hole 1 is filled\n  // TODO(1): b\n  for", stub('"int n"', "  1: a", "  + int n = 0;  // until hole 1 is filled", "     b"))


class Refused(InAFolder):
    def assert_wrong(self, said, *holes):
        with self.assertRaises(ValueError) as wrong:
            stub(*holes)
        self.assertEqual(str(wrong.exception), f"more/scratch.holes:{said}")

    def test_words_that_begin_no_line_are_named_with_their_place(self):
        self.assert_wrong('1: no line of kernel.cu after line 0 begins with "int m"', '"int m"', "  1: x")
        self.assert_wrong('3: no line of kernel.cu after line 9 begins with "load"', '"int n"', "  1: x", '"for (int j" .. "load"', "  2: x")
        self.assert_wrong('1: no line of kernel.cu after line 0 begins with "n = 4"', '"n = 4"', "  1: x")

    def test_words_that_only_a_line_above_has_are_in_the_wrong_order(self):
        self.assert_wrong('3: no line of kernel.cu after line 12 begins with "int n", only an earlier one', '"store"', "  1: x", '"int n"', "  1: x")

    def test_what_is_neither_a_cut_nor_a_todo(self):
        for number, holes in ((1, ("  1: x",)), (1, ("int n",)), (1, ('"int n" "store"',)), (2, ('"int n"', "     further")), (2, ('"int n"', "  + int n;")), (2, ('"int n"', "1: x")), (3, ('"int n"', "  1: x", ""))):
            with self.assertRaisesRegex(ValueError, f'^more/scratch.holes:{number}: allowed: "words" .. "words"'):
                stub(*holes)

    def test_a_stale_one_is_a_fault_and_no_stub(self):
        self.as_root_of(place)
        files = {"03_x/kernel.cu": KERNEL, "03_x/more/scratch.holes": '"int n = 4;"\n  1: x\n'}
        self.write(files)
        one = exercise_of("03.scratch")
        self.assertEqual((fault_of(one), one.text), ("", KERNEL.replace("int n = 4;", "// TODO(1): x")))
        self.write({"03_x/kernel.cu": KERNEL.replace("int n = 4", "int n = 5")})
        self.assertEqual(fault_of(one), '03_x/more/scratch.holes:1: no line of 03_x/kernel.cu after line 0 begins with "int n = 4;"')
        with self.assertRaises(place.Failed):
            print(one.text)


class OfTheTree(InAFolder):
    def test_each_is_its_kernel_without_the_lines_at_its_todos(self):
        self.assertEqual(len(exercises("scratch")), 56)
        for each in exercises("scratch"):
            self.assertEqual(fault_of(each), "", each.name)
            self.assertTrue(holes_of(each).numbers(), each.name)

    def test_is_written_for_a_compiler_and_named_as_a_learners_copy(self):
        for name, file in (("01.scratch", "scratch.cpp"), ("06.scratch", "scratch.cu"), ("08.10.scratch", "scratch_sm90.cu")):
            one = exercise_of(name)
            self.assertEqual(one.mine.name, file)
            subprocess.run([sys.executable, ROOT / "tools/scratch", ROOT / one.stub, self.root], check=True)
            self.assertEqual((self.root / file).read_text(), one.text)
