"""Tests of exercises and mistakes, which are made from kernels by patches."""
import re
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

from for_tests import InAFolder, failed_launch, printed, wrong_result
from ladder_tools import blaming, checking, gtest, hints, looking, patches, place, telling
from ladder_tools.checking import Check
from ladder_tools.patches import Holes, fault_of, hole_of, holes_of, patched, without_lines_of
from ladder_tools.place import ROOT, Exercise, exercise_of, exercises, mistakes
from ladder_tools.telling import in_files_of


class Patches(InAFolder):
    def test_a_stub_is_the_kernel_with_lines_missing_at_its_todos(self):
        self.as_root_of(place)
        one = Exercise(Path("03_x/exercise.cu"))
        kernel = "int a;\nint b = 1;\nint c;\n"
        self.write({"03_x/kernel.cu": kernel})
        for stub, fault in (("int a;\n// TODO(1): write it\nint c;\n", ""), ("int a;\n// TODO(1): write it\nint d;\n", "this line disappears: int d;"),
                            ("int c;\n// TODO(1): write it\nint a;\n", "this line disappears: int a;"),
                            ("// TODO(1): write it\nint b = 1;\n", "at its TODOs, and 03_x/kernel.cu has others")):
            self.write({"03_x/exercise.cu": stub})
            self.assertEqual(bool(fault_of(one)), bool(fault), stub)
            self.assertIn(fault, fault_of(one))

    def test_a_line_that_goes_with_a_hole_stands_beside_its_todo_and_in_no_kernel(self):
        self.as_root_of(place)
        one = Exercise(Path("03_x/exercise.cu"))
        goes = "int b = 0;  // until hole 1 is filled\n"
        for kernel, stub, fault in (
                ("int a;\nconst int b = 1;\n", f"int a;\n{goes}// TODO(1): b\n", ""),
                ("int a;\nconst int b = 1;\n", f"int a;\n// TODO(1): b\n{goes}", ""),
                ("int a;\nconst int b = 1;\n", f"{goes}int a;\n// TODO(1): b\n", "`int b = 0;  // until hole 1 is filled` is not next to a TODO(1)"),
                ("int a;\nconst int b = 1;\n", f"int a;\n// TODO(2): b\n{goes}", "is not next to a TODO(1)"),
                ("int a;\nconst int b = 1;\n", "int a;\nint b = 0;\n// TODO(1): b\n", "this line disappears: int b = 0;"),
                (f"int a;\n{goes}b = 1;\n", f"int a;\n{goes}// TODO(1): b\n", "03_x/kernel.cu is the solution, but this line belongs in a stub: int b = 0;"),
                ("int a;\nconst int b = 1;\n", "int a;\n// until hole 1 is filled\n// TODO(1): b\n", "this line disappears: // until hole 1 is filled")):
            self.write({"03_x/kernel.cu": kernel, "03_x/exercise.cu": stub})
            self.assertEqual(bool(fault_of(one)), bool(fault), stub)
            self.assertIn(fault, fault_of(one))

    def test_an_exercise_of_hoppers_instructions_is_named_as_its_kernel_is(self):
        one = Exercise(Path("08_x/01_y/exercise_sm90.cu"))
        self.assertEqual((one.kind, one.name, str(one.solution)), ("exercise", "08.01_y", "08_x/01_y/kernel_sm90.cu"))

    def test_a_mistake_lies_in_the_hole_whose_lines_it_changes(self):
        for name, hole in (("00.01_first_kernel.forgotten_guard", "1"), ("00.01_first_kernel.grid_rounded_down", "2"),
                           ("00.01_first_kernel.never_freed", "3"), ("03.01_causal_dot_product.last_strip_dropped", ""), ("03.decay_first", "3")):
            one = exercise_of(name.rpartition(".")[0])
            self.assertEqual(hole_of(one, mistakes()[name]), hole, name)
        check = Check(exercise_of("00.01"), None)
        check._said = "as with 200 / 64 blocks of 64 threads, rounded down."
        self.assertEqual(check._diagnosed(), ["2"])


class Lines(unittest.TestCase):
    def test_a_hole_begins_at_its_first_line_of_code_though_the_line_stands_elsewhere_too(self):
        written = Holes("f() {\n  // TODO(1): x\n}\ng() {\n  // TODO(2): y\n}\n", "f() {\n  a();\n}\ng() {\n  a();\n}\n").of(
            "f() {\n  a();\n  a();\n}\ng() {\n  // why\n\n  a();\n}\n")
        self.assertEqual(written.numbers, {"1": [[2, 3]], "2": [[6, 7, 8]]})
        empty = Holes("f() {\n  // TODO(1): x\n}\n", "f() {\n  a();\n}\n").of("f() {\n  // why\n}\n")
        self.assertEqual(empty.numbers, {"1": [[2]]})


    def test_lines_that_are_not_as_ours_are_named_where_nearly_all_are(self):
        ours = ["  a();", "  b();  // why", "", "  c();", "  d();"]

        def apart(*lines):
            return Check._apart([list(enumerate(lines, 11))], [ours])

        self.assertEqual(apart("a();", "  b( );", "  c(2);", "  d();"), "; like ours except for line 13")
        self.assertEqual(apart("  a();", "  c();", "", "  d();"), "; like ours except for missing code after line 11")
        self.assertEqual(apart("  a();", "  c();", "  b();", "  d();"), "; its lines are ours, in another order from line 12 on")
        for lines in (("  a();", "  b();", "  c();", "  d();"), ("  a();", "  x();"), ("  e();", "  f();", "  c();"), ()):
            self.assertEqual(apart(*lines), "")
        # the lines at one place tell nothing about another place
        two = [list(enumerate(ours, 11)), []]
        self.assertEqual(Check._apart(two, [ours, ["x();"]]), "; like ours except for missing code elsewhere")
        self.assertEqual(Check._apart([[], [(21, "  c();"), (22, "  d();")]], [["  b();"], ["  c();", "  d();", "  e();"]]),
                         "; like ours except for missing code elsewhere and missing code after line 22")


class HolesOfACopy(InAFolder):
    STUB = "f() {\n  // TODO(1): roughly 1 line; x\n}\ng() {\n  // TODO(2): roughly 1 line; y\n}\n"

    def filled(self, one, two):
        """A check of a copy with these lines in its holes."""
        self.write({"my/03_x/exercise.cu": f"f() {{\n  {one}\n}}\ng() {{\n  {two}\n}}\n"})
        return Check(Exercise(Path("03_x/exercise.cu")), None)

    def setUp(self):
        super().setUp()
        self.as_root_of(place, hints)
        self.write({"03_x/exercise.cu": self.STUB, "03_x/kernel.cu": "f() {\n  x;\n}\ng() {\n  y;\n}\n"})

    def test_a_line_outside_the_holes_that_makes_ours_wrong_is_named(self):
        check = self.filled("x;", "y;")
        self.write({"my/03_x/exercise.cu": "f() {\n  x;\n}\nint wrong;\ng() {\n  y;\n}\n"})
        check._fault, check._names, check.failing = lambda target, text, *_: "It is wrong." * ("wrong;" in text), [], ""
        said = "The holes were not tested one by one, because with line 4, `int wrong;`, which is outside the holes, our own lines are wrong too."
        self.assertEqual(check._light_up("my03_emulated"), [said])
        check._xray_errors = True
        self.assertEqual(printed(check._verdict, False, True)[1], "Next: my/03_x/exercise.cu:4, which is outside the holes. "
                                                                  "Fix the finding of the X-ray first, because it may be the only mistake.\n")
        self.assertIn("found no mistake in any hole", printed(hints.Hints(check._exercise).give, "")[1])
        check._fault = lambda *_: "It is wrong."
        check._light_up("my03_emulated")
        self.assertIn("it may be the only mistake. Without your changes outside the holes something is still wrong, so check the holes too.\n",
                      printed(check._verdict, False, True)[1])

    def test_a_line_that_was_changed_outside_the_holes_is_the_next(self):
        stub, kernel = (f"head;\n{text}last;\nend;\n" for text in (self.STUB, "f() {\n  x;\n}\ng() {\n  y;\n}\n"))
        self.write({"03_x/exercise.cu": stub, "03_x/kernel.cu": kernel, "my/03_x/exercise.cu": kernel.replace("last", "lost").replace("y", "z")})
        check = Check(Exercise(Path("03_x/exercise.cu")), None)
        check._names, check.failing, check._build = [], "", mock.Mock()
        check._fault = lambda target, text, *_: "It is wrong." * ("lost" in text)
        self.assertIn("where the stub has `last;`, our own lines are wrong too", check._light_up("my03_emulated")[0])
        self.assertIn("Next: my/03_x/exercise.cu:8, where the stub has `last;`.\n", printed(check._verdict, False, True)[1])
        check._aside, check._fault = None, lambda target, text, *_: "It is wrong." * ("z;" in text)
        self.assertEqual(check._light_up("my03_emulated"), ["hole 1: green", "hole 2: red"], "and is no reason to look at no hole")

    def test_of_several_lines_outside_the_holes_the_one_that_makes_ours_wrong_is_named(self):
        stub, kernel = (f"// head\nfirst(one);\n{text}last(two);\nend;\n" for text in (self.STUB, "f() {\n  x;\n}\ng() {\n  y;\n}\n"))
        mine = kernel.replace("// head", "// mine").replace("one", " 1 ").replace("two", "2").replace("end", "int more;\nend")
        self.write({"03_x/exercise.cu": stub, "03_x/kernel.cu": kernel, "my/03_x/exercise.cu": mine})
        for wrong, said in (("last(2)", "line 9, `last(2);`, where the stub has `last(two);`"), ("int more;", "line 10, `int more;`, which is outside the holes"),
                            (" 1 ", "line 2, `first( 1 );`, where the stub has"), ("// mine\nfirst( 1 );\nf() {\n  x;\n}\ng() {\n  y;\n}\nlast(2)", "line 2, ")):
            check = Check(Exercise(Path("03_x/exercise.cu")), None)
            check._names, check.failing = [], ""
            check._fault = lambda target, text, *_, wrong=wrong: "It is wrong." if wrong in text else "it does not compile." if "last(two)" in text else ""
            self.assertIn(said, check._light_up("my03_emulated")[0])

    def test_a_hole_whose_lines_of_ours_mend_the_file_is_red_whatever_else_is_changed(self):
        stub, kernel = (f"int one;\n{text}end;\n" for text in (self.STUB, "f() {\n  x;\n}\ng() {\n  y;\n}\n"))
        self.write({"03_x/exercise.cu": stub, "03_x/kernel.cu": kernel, "my/03_x/exercise.cu": kernel.replace("one", "one = 2").replace("x;", "u;").replace("y;", "// why\n  z;\n  w;")})
        check, red = Check(Exercise(Path("03_x/exercise.cu")), None), "With our lines of hole 2 instead of yours, your file is right."
        for mended, fault, said, next_line in (
                ("one = 2;\nf() {\n  u;\n}\ng() {\n  y;\n}\nend", "it does not compile.", red, "Next: hole 2, the first red one (my/03_x/exercise.cu:7)"),
                ("nothing", "it does not compile.", "The holes were not tested one by one, because our own lines do not compile with line 1, `int one = 2;`, where the stub has `int one;`.", "The mistake may be in any hole, or outside them."),
                ("nothing", "It is wrong.", "where the stub has `int one;`, our own lines are wrong too.", "Next: my/03_x/exercise.cu:1, where the stub has")):
            check._names, check.failing, check._aside, check._red, check._green, check._unplaced = [], "", None, [], [], False
            check._fault = lambda target, text, *_, mended=mended, fault=fault: "" if mended in text else fault
            self.assertIn(said, check._light_up("my03_emulated")[0])
            self.assertIn(next_line, printed(check._verdict, False, True)[1])

    def test_a_brace_on_a_line_of_its_own_and_another_name_are_no_change(self):
        holes = Holes("first(const int one) {\n  // TODO(1): x\n  and_last_of_all(one);\n}\n", "first(const int one) {\n  if (one)\n    x(one);\n  and_last_of_all(one);\n}\n")
        ours = "first(const int one) {\n  if (one)\n    y(one);\n  and_last_of_all(one);\n}\n"
        for mine, numbers in (("first(const int one)\n{\n  if (one)\n  {\n    y(one);\n  }\n  and_last_of_all(one);\n}\n", [[2, 3, 4, 5, 6]]),
                              (ours.replace("one", "other"), [[2, 3]])):
            written = holes.of(mine)
            self.assertEqual((written.aside, written.numbers["1"], re.sub(r"[{}\s]", "", holes.with_lines_of(written, "1"))),
                             ([], numbers, re.sub(r"[{}\s]", "", ours)))
        for mine in (ours.replace("and_last_of_all(one)", "and_last_of_all(two)"), ours.replace("one", "x"), ours.replace("int one", "int two").replace("and_last_of_all(one)", "and_last_of_all(two)"),
                     ours.replace("and_last_of_all(", "stop("), ours.replace("and_last_of_all(one)", "and_last_of_all(one + 1)"), ours.replace("one)", "2)")):
            written = holes.of(mine)
            self.assertTrue(written.aside or written.holes is None, mine)
        self.assertEqual(patches._with_braces_behind("a; // b\n{\n#if x\n{\n  c;\n  {\n"), "a; // b\n{\n#if x\n{\n  c;\n  {\n")

    def test_a_line_at_another_place_is_next_only_where_its_own_place_mends_the_file(self):
        stub, kernel = (f"{text}one;\ntwo;\nthree;\nlast;\n" for text in (self.STUB, "f() {\n  x;\n}\ng() {\n  y;\n}\n"))
        self.write({"03_x/exercise.cu": stub, "03_x/kernel.cu": kernel})
        moved, lost = (kernel.replace("x;", "z;").replace("one;\ntwo;\nthree;", lines) for lines in ("two;\nthree;\none;", "two;\nthree;"))
        at_home = kernel.replace("x;", "z;").replace("one;\ntwo;", "one;\ntwo;")
        for mine, right, said, next_lines in (
                (moved, "one;\ntwo;", "`one;` is not where the stub has it", "Next: my/03_x/exercise.cu:7, before which the stub has `one;`.\n"),
                (moved, "nothing", "`one;` is not where the stub has it", "The mistake may be in any hole, or outside them."),
                (lost, "one;\ntwo;", "nothing is left where the stub has `one;`", "before which the stub has `one;`.\n"),
                (lost, "nothing", "nothing is left where the stub has `one;`", "the stub has `one;`. Without your changes outside")):
            self.write({"my/03_x/exercise.cu": mine})
            check = Check(Exercise(Path("03_x/exercise.cu")), None)
            check._names, check.failing = [], ""
            check._fault = lambda target, text, *_, right=right: "" if right in text else "It is wrong."
            self.assertIn(said, check._light_up("my03_emulated")[0])
            self.assertIn(next_lines, printed(check._verdict, False, True)[1])
        self.assertEqual(patches.put_back(moved, kernel, (7, "", "one;"))[0].replace("\n\n", "\n"), at_home.replace("\n\n", "\n"))

    def test_a_line_that_was_changed_beside_a_hole_is_known_by_its_likeness(self):
        holes = Holes("f() {\n  first(one, two);\n  // TODO(1): x\n  last(one, two);\n}\n", "f() {\n  first(one, two);\n  x;\n  last(one, two);\n}\n")
        written = holes.of("f() {\n  first(one, 2);\n  y;\n  // TODO(1): x\n  last(one, two);\n}\n")
        self.assertEqual((written.holes, written.aside), ({"1": [["  y;"]]}, [(2, "  first(one, 2);", "  first(one, two);")]))
        self.assertEqual(holes.with_lines_of(written, "1"), "f() {\n  first(one, 2);\n  y;\n  last(one, two);\n}\n")
        lost = holes.of("f() {\n  first(one, two);\n  y;\n}\n")
        self.assertEqual((lost.holes, lost.aside), (None, [(3, "  y;", "last(one, two);")]))
        self.assertEqual(holes.of("f() {\n  // TODO(1): x\n  last(one, two);\n}\n").aside, [(3, "", "first(one, two);")])

    def test_lines_beside_a_changed_line_are_sorted_with_the_stubs_line_back(self):
        stub, kernel = "f() {\n  // TODO(1): x\n  return sum;\n}\ng() {\n  // TODO(2): y\n}\n", "f() {\n  a;\n  sum /= n;\n  return sum;\n}\ng() {\n  b;\n}\n"
        holes, mine = Holes(stub, kernel), "f() {\n  a;\n  give(sum, over, n);\n}\ng() {\n  wrong;\n}\n"
        written = holes.of(mine)
        self.assertIsNone(written.holes)
        beside = patches.with_a_line_back(mine, kernel, written, holes)
        self.assertEqual(holes.with_ours_in(mine, beside, "2"), "f() {\n  a;\n  give(sum, over, n);\n}\ng() {\n  b;\n}\n")

    def test_a_wrong_hole_beside_a_line_that_hides_the_holes_is_next(self):
        stub, kernel = (self.STUB.replace("// TODO(1): roughly 1 line; x", f"{one}\n  return sum;").replace("// TODO(2): roughly 1 line; y", two)
                        for one, two in (("// TODO(1): x", "// TODO(2): y"), ("x;", "y;")))
        mine = kernel.replace("x;", "z;").replace("return sum;", "give(sum, over, n);")
        self.write({"03_x/exercise.cu": stub, "03_x/kernel.cu": kernel, "my/03_x/exercise.cu": mine})
        self.assertIsNone(holes_of(Exercise(Path("03_x/exercise.cu"))).of(mine).holes)
        for right, failure, said, next_line in (
                ("x;", "", "With our lines of hole 1 instead of yours, your file is right.", "Next: hole 1"),
                ("nothing", "failed at my/03_x/exercise.cu:6: it is wrong", "The failure is in hole 2.", "Next: hole 2"),
                ("nothing", "failed at my/03_x/exercise.cu:1: it is wrong", "The holes were not tested one by one", "Next: my/03_x/exercise.cu:3, where the stub has")):
            check = Check(Exercise(Path("03_x/exercise.cu")), None)
            check._names, check.failing, check._said = [], "", failure
            check._fault = lambda target, text, *_, right=right: "" if right in text else "It is wrong."
            self.assertIn(said, check._light_up("my03_emulated")[0])
            self.assertIn(next_line, printed(check._verdict, False, True)[1])

    def lit(self, one, two, faults):
        """The check of a copy with these lines, and its lights. Our kernel with a line of `faults`
        fails with this sentence, or in the last tests only for "all"."""
        check = self.filled(one, two)
        check._names, check.failing = [], ""
        check._fault = lambda target, text, tests, whole: next((said for line, said in faults.items() if line in text and (whole or said != "all")), "")
        check._is_found = lambda target, text: "found" in text
        return check, check._light_up("my03_emulated")

    def test_what_each_of_several_wrong_holes_does_by_itself_is_said(self):
        check, said = self.lit("a;\n  // TODO(1): x", "b;", {"a;": "A twice.", "b;": "B lost."})
        self.assertEqual(said, ["hole 1: red, in our kernel: A twice.", "hole 2: red, in our kernel: B lost."])
        self.assertEqual(self.lit("a;", "y;", {"a;": "A twice."})[1], ["hole 1: red", "hole 2: green"])

    def test_where_the_first_tests_blame_no_hole_all_others_do_and_the_xray(self):
        self.assertEqual(self.lit("a;", "b;", {"b;": "all"})[1], ["hole 1: green", "hole 2: red"])
        self.assertEqual(self.lit("found;", "b;", {})[1], ["hole 1: red", "hole 2: green"])

    def test_where_each_hole_is_right_by_itself_no_hint_is_offered_but_for_the_xrays_line(self):
        check, _ = self.lit("a;", "b;", {})
        said = printed(check._verdict, False, True)[1]
        self.assertIn("Each hole is right in our kernel", said)
        self.assertNotIn("hint", said)
        self.assertIn("found no mistake in any hole", printed(hints.Hints(check._exercise).give, "")[1])
        check._named_by_xray = "race: store at my/03_x/exercise.cu:5 by thread (0, 0, 0)"
        self.assertIn("Next: hole 2 (my/03_x/exercise.cu:5).\nA hint: ", printed(check._verdict, False, True)[1])
        self.assertEqual(check.blamed, ["2"])

    def test_of_what_is_right_no_hint_is_offered_though_nvcc_refuses_it(self):
        check = self.filled("a;", "b;")
        check._exercise.needs_device, check._named_by_xray = True, "  100 % of these loads are made at my/03_x/exercise.cu:5, 4 bytes at a time"
        self.during(mock.patch.object(checking.nvcc_rules, "asked", lambda *_: ({2: "max is a __host__ function"}, [])))
        self.assertIn("nvcc rejects it:\nmy/03_x/exercise.cu:2: max", printed(check._verdict, True, True)[1])
        self.assertIn("found no mistake in any hole", printed(hints.Hints(check._exercise).give, "")[1])

    def test_nvcc_is_asked_about_the_first_holes_too(self):
        check = self.filled("a;", "// TODO(2): y")
        check._exercise.needs_device = True
        for refused, said in (({}, []), ({2: "max is a __host__ function"},
                              ["They are right in the emulator, but nvcc rejects the file:",
                               "my/03_x/exercise.cu:2: max is a __host__ function"])):
            with mock.patch.object(checking.nvcc_rules, "asked", lambda *_, it=refused: (it, [])):
                self.assertEqual(check._right_so_far("On the CPU", ["2"], ["hole 1: green"]),
                                 ["On the CPU: the filled holes are right. Not filled in yet: hole 2",
                                  "hole 1: green", *said])

    def test_lines_that_are_one_of_the_lessons_mistakes_are_called_so(self):
        patch = "# mistake: x is forgotten\n--- a/03_x/kernel.cu\n+++ b/03_x/kernel.cu\n@@ -1,3 +1,3 @@\n f() {\n-  x;\n+  other();\n }\n"
        self.write({"03_x/more/mistakes/x_forgotten.patch": patch})
        self.during(mock.patch.object(blaming, "mistakes", lambda: {"03.x_forgotten": Path("03_x/more/mistakes/x_forgotten.patch")}),
                    mock.patch.object(blaming, "ROOT", self.root), mock.patch.object(blaming, "patched", lambda *given: patched(*given, self.root)))
        self.assertEqual(self.lit("other( );  // mine", "y;", {"other": "It is wrong."})[1],
                         ["hole 1: red, in our kernel: this lesson's mistake x_forgotten: x is forgotten", "hole 2: green"])

    def test_of_a_filled_hole_whose_todo_is_left_nothing_is_asked(self):
        check = self.filled("x;\n  // TODO(1): x", "// TODO(2): y")
        self.assertIn("TODO(2)", printed(check._verdict, False, True)[1])
        check = self.filled("x;\n  // TODO(1): x", "y;\n  // TODO(2): y")
        check._dearer = True
        self.assertNotIn("TODO", printed(check._verdict, True, False)[1])

    def test_the_holes_whose_lines_are_dear_by_themselves_are_named(self):
        for one, two, said in (("x;", "dear;", ["2"]), ("dear;", "other;", ["1"]), ("other;", "dear;", ["2"]), ("one;", "two;", []), ("dear;", "dear too;", ["1", "2"])):
            check = self.filled(one, two)
            check._is_dear = lambda _, text: "dear" in text
            self.assertEqual(check._holes_of(check._is_dear, "my03_xray"), said)

    def test_what_only_the_xray_has_found_is_not_blamed_on_the_next_todo(self):
        for red, said in (([], "The tests pass, but see the X-ray's lines above."), (["2"], "Next: hole 2 (my/03_x/exercise.cu:5).")):
            check = self.filled("// TODO(1): roughly 1 line; x", "y;")
            check._xray_errors, check._red = True, red
            text = printed(check._verdict, True, False)[1]
            self.assertIn(said, text)
            self.assertNotIn("TODO", text)

    def test_while_a_hole_is_empty_what_a_filled_one_does_alone_is_told(self):
        self.as_root_of(blaming, checking)
        check, made = self.filled("z;", "// TODO(2): roughly 1 line; y"), {}
        self.assertEqual(check._empty(), ["2"])

        class Alone:
            failing, _said, failures, _xray_errors = "a.Test", "", [], True

            def __init__(self, exercise, variant):
                self.mine, made["text"] = exercise.mine, variant.mine.read_text()

            def __call__(self):
                races = [gtest.Finding(f"race: load at {self.mine}:{line} by x, and store at {self.mine}:5 by y: no barrier", ("race", "no barrier"), False,
                                       [[f"{self.mine}:{line}"], [f"{self.mine}:5"]], "race") for line in (2, 1)]
                print("\n".join(f"X-ray: {line}" for line in self.told(races)[0]))
                return False

        check._red, check._build = ["1", "2"], mock.Mock(folder=self.root)
        self.during(mock.patch.object(checking, "_Alone", Alone))
        shown, said = printed(check._shows_alone, "1", ["2"], "In the emulator: WRONG RESULT", ["hole 1: red", "hole 2: red"])
        self.assertTrue(shown)
        self.assertEqual(made["text"], "f() {\n  z;\n}\ng() {\n  y;\n}\n")
        self.assertEqual(said, "In the emulator: WRONG RESULT. Hole 2 is empty, and hole 1 is wrong on its own.\nhole 1: red\nhole 2: red\n"
                               "Our kernel with your lines of hole 1:\n"
                               "X-ray: race: load at my/03_x/exercise.cu:2 by x, and store at 03_x/kernel.cu:5 by y: no barrier\n"
                               "X-ray:   the same at lines 1 and 03_x/kernel.cu:5\n")
        verdict = printed(check._verdict, False, False)[1]
        self.assertEqual(verdict, "Next: hole 1, the first red one (my/03_x/exercise.cu:2). Fix the finding of the X-ray first, because it may be the only mistake.\n"
                                  "A hint: ./ladder exercise 03 --hint\n")

    def test_what_only_the_xray_finds_in_a_filled_hole_is_told_while_another_is_empty(self):
        self.as_root_of(blaming, checking)
        check, made = self.filled("z;", "// TODO(2): y"), []

        class Variant:
            def __init__(self, build, exercise, text, folder):
                self.mine, self.folder = folder / "exercise.cu", folder
                made.append(text)

            def compile(self, target):
                return True

        def run(program, *_, **more):
            at = f"{Path(program).parent.relative_to(self.root)}/exercise.cu:2"
            party = {"file": at.rpartition(":")[0], "line": 2, "called_at": []}
            facts = {"race": [{"fact": "finding", "message": f"race: load at {at} by x, and store at y: no barrier", "kind": "race", "missing": "no barrier",
                               "in_a_warp": False, "without_places": "race", "party": party, "other": None}],
                     "dear": [{"fact": "budget", "used": 2, "allowed": 1, "what": "loads used, k", "per": "", "implementation": "", "dearest": ""}], "": []}
            return gtest.Run(0, False, "fine\n", [], facts[finds])

        check._exercise.needs_device, check._build = True, mock.Mock(folder=self.root)
        self.during(mock.patch.object(blaming, "Variant", Variant))
        self.during(mock.patch.object(checking.gtest, "run", run))
        for finds, told in (("race", ("1", ("the X-ray finds a mistake", "is wrong"), ["race: load at my/03_x/exercise.cu:2 by x, and store at y: no barrier"])),
                            ("dear", ("1", ("over budget", "is over budget"), ["2 of 1 loads used, k  <- too many"])), ("", None)):
            self.assertEqual(check._found_alone(["1"]), told)
        self.assertEqual(made, 3 * ["f() {\n  z;\n}\ng() {\n  y;\n}\n"])
        self.assertIsNone(check._found_alone([]))

    def test_of_an_empty_hole_before_the_wrong_one_nothing_is_said(self):
        check = self.filled("// TODO(1): x", "z;")
        self.assertEqual(check._empty(), ["1"])
        check._red = ["2", "1"]
        self.assertIn("Next: hole 2, which is red (my/03_x/exercise.cu:5).\n", printed(check._verdict, False, True)[1])
        self.assertEqual(self.filled("z;\n  // TODO(1): x", "// TODO(2): y")._empty(), ["2"], "one is begun")

    def test_what_follows_from_an_empty_hole_is_no_finding_to_mend(self):
        check = self.filled("// TODO(1): x", "// TODO(2): y")
        check._red, check._xray_errors = ["1", "2"], True
        said = printed(check._verdict, False, False)[1]
        self.assertNotIn("Fix the finding", said)
        self.assertIn("TODO(1)", said)
        check = self.filled("z;\n  // TODO(1): x", "// TODO(2): y")
        check._red, check._xray_errors = ["1", "2"], True
        self.assertEqual(printed(check._verdict, False, False)[1], "Next: hole 1, the first red one (my/03_x/exercise.cu:2). "
                         "Fix the finding of the X-ray first, because it may be the only mistake.\nA hint: ./ladder exercise 03 --hint\n")

    def test_where_more_than_what_the_xray_found_is_wrong_it_is_not_called_all(self):
        check = self.filled("a;", "b;")
        check._red, check._xray_errors = ["1", "2"], True
        self.assertIn("Next: hole 1, the first red one (my/03_x/exercise.cu:2).\n", printed(check._verdict, False, False)[1])
        check._red, check._aside = [], (1, "g() {", "f() {")
        check._named_by_xray = "out of bounds: load at my/03_x/exercise.cu:5 by thread (0, 0, 0)"
        self.assertIn("where the stub has `f() {`. The finding of the X-ray in hole 2 may follow from it, or be another mistake.\n", printed(check._verdict, False, False)[1])

    def test_a_test_that_dies_is_named_once_and_without_its_hole(self):
        check = self.filled("a;", "b;")
        done = gtest.Run(-11, False, "[ RUN      ] a.Hole2Checks\nso far\n", [])
        done.seconds = 1
        self.assertEqual(check._report("In the emulator", done), ["In the emulator: the program crashed (SEGV)", "  test: a.Checks", "  so far"])

    def test_of_a_hole_that_is_shown_alone_its_own_warnings_are_said(self):
        check = self.filled("a;", "b;")
        warnings = {"before": 1, "in hole 1": 2, "in hole 2": 5}
        self.assertEqual(check._within("1", warnings), ["in hole 1"])

    def test_of_a_test_that_makes_a_call_fail_no_kernel_is_looked_at(self):
        for injects in (True, False):
            check, looked = self.filled("x;", "z;"), []
            check._exercise.needs_device, check._build = True, mock.Mock(log=self.root / "build.log", has_xray=lambda: True, has_cuda=lambda: False)
            check._compile, check._light_up, check._left_beside = (lambda target: True), (lambda target: []), (lambda log="": [])
            check._xray, check._first_wrong = (lambda: looked.append("X-ray") or False), (lambda: looked.append("values"))
            done = gtest.Run(1, False, "", [{"name": "a.Hole2Checks", "failures": ["x.cpp:1\nWRONG RESULT: y"], "skipped": False, "injects": injects, "nan": False}])
            done.printed, done.seconds, check._test, check._first_nan = "", 1, lambda target: done, lambda: False
            said = printed(check)[1]
            self.assertIn("WRONG RESULT: y", said)
            self.assertEqual(looked, [] if injects else ["X-ray", "values"])

    def test_what_ends_a_launch_under_the_xray_only_is_a_finding(self):
        thrown = ('unknown file\nC++ exception with description "cudaGetLastError() failed at my/a.cu:9: cudaErrorLaunchFailure: unspecified launch failure: my/a.cu:5: '
                  'bulk_copy reads 512 bytes from 0x7e00 on, which is no allocation\'s, in kernel k, block (0, 0, 0), thread (0, 0, 0)\n'
                  '  launched at my/a.cu:7" thrown in the test body.')
        error = ("my/a.cu:5: bulk_copy reads 512 bytes from 0x7e00 on, which is no allocation's, "
                 "in kernel k, block (0, 0, 0), thread (0, 0, 0)")
        facts = [failed_launch("my/a.cu:5: deadlock in another test", "deadlock"),
                 failed_launch(error, "error")]
        for said, ends in ((thrown, error), ("WRONG RESULT in o", "")):
            done = gtest.Run(1, False, "", [{"name": "a.B", "failures": [said]}], facts)
            self.assertEqual(Check._ends(done), ends)
        self.assertEqual(Check._ends(gtest.Run(0, False, "", [])), "")
        self.assertEqual(telling.words_of(gtest.Told(thrown, facts)),
                         [f"  {error}", "    launched at my/a.cu:7"])

    def test_what_is_made_of_a_stray_read_may_equal_something_by_chance(self):
        check = self.filled("z;\n  // TODO(1): x", "// TODO(2): y")
        message = "It equals the result with a causal mask."
        result = wrong_result(message, equals="the result with a causal mask")
        check.failures = [gtest.Told(message, [result])]
        check._red, check._out_of_bounds = ["1", "2"], True
        self.assertIn("it may be the only mistake, and the result may equal that formula by chance.\n", printed(check._verdict, False, True)[1])

    def test_lines_of_a_mixed_kernel_are_said_as_those_that_it_is_made_of(self):
        mine, ours = {Path("my/a.cu"): "f() {\n\n  mine;\n}\n"}, {Path("a/kernel.cu"): "f() {\n  ours;\n}\n"}
        said = in_files_of(mine, ours, "f() {\n  mine;\n  ours;\n}\n", "build/x/my/a.cu",
                           "at build/x/my/a.cu:2, called at build/x/my/a.cu.cpp:3; line 2 of build/x/my/a.cu: odd; build/x/my/a.cu")
        self.assertEqual(said, "at my/a.cu:3, called at a/kernel.cu:2; line 3 of my/a.cu: odd; my/a.cu")

    def test_that_it_is_building_is_said_once(self):
        check = self.filled("x;", "y;")
        check._build = mock.Mock(log=self.root / "03_x/kernel.cu")
        check._build.name = "build"
        self.during(mock.patch.object(looking, "say"))
        check._compile("my03_emulated"), check._compile("my03_xray")
        looking.say.assert_called_once_with("building (build)")

    def test_a_line_of_a_compilers_error_lies_in_a_hole(self):
        check = self.filled("one;", "two;")
        self.assertEqual([check._holes_at([line]) for line in (1, 2, 5, 99)], [[], ["1"], ["2"], []])

    def test_what_an_earlier_check_found_is_forgotten(self):
        check = self.filled("one;", "two;")
        check._note_red(["2"])
        check._compile, check._build = (lambda target: False), mock.Mock(log=self.root / "build.log", has_cuda=lambda: False, has_xray=lambda: False)
        for error, red in (("common/x.hpp:2:1: error: no", ""), ("my/03_x/exercise.cu:2:3: error: no", "1")):
            self.write({"build.log": error + "\n"})
            with redirect_stdout(StringIO()):
                self.assertFalse(check())
            self.assertEqual((self.root / "my/03_x/.hints_red").read_text(), red)

    def test_holes_that_are_not_filled_in_yet_fail_as_they_must(self):
        for one, two, red, left in (("x;", "// TODO(2): y", ["2"], ["2"]), ("z;", "// TODO(2): y", ["1", "2"], []), ("z;", "y;", ["1"], []),
                                    ("// TODO(1): x", "// TODO(2): y", ["1", "2"], []), ("x;", "// TODO(2): y\n  z;", ["2"], [])):
            check = self.filled(one, two)
            check._red = red
            self.assertEqual(check._unfinished(), left)


class LinesThatGoWithAHole(InAFolder):
    GOES, RETURNS = "  int x = 0;  // until hole 1 is filled\n", "  return 0;  // until hole 2 is filled\n"
    STUB = f"f() {{\n{GOES}  // TODO(1): roughly 1 line; x\n  use(x);\n}}\ng() {{\n  // TODO(2): roughly 1 line; y\n{RETURNS}}}\n"
    KERNEL = "f() {\n  const int x = 1;\n  use(x);\n}\ng() {\n  return 2;\n}\n"

    def setUp(self):
        super().setUp()
        self.holes = Holes(self.STUB, self.KERNEL)
        self.as_root_of(place, hints)
        self.write({"03_x/exercise.cu": self.STUB, "03_x/kernel.cu": self.KERNEL})

    def check(self, mine):
        self.write({"my/03_x/exercise.cu": mine})
        return Check(Exercise(Path("03_x/exercise.cu")), None)

    def test_are_no_part_of_the_kernel_once_it_is_filled(self):
        self.assertEqual([self.holes.ours(hole) for hole in "12"], [[["  const int x = 1;"]], [["  return 2;"]]])
        self.assertEqual(self.holes.filled("1", [["  int x{1};"]]), (self.KERNEL.replace("const int x = 1", "int x{1}"), [2]))
        self.assertEqual(without_lines_of("2", self.STUB), self.STUB.replace(self.RETURNS, "").splitlines())

    def test_a_reader_may_delete_them_change_them_or_leave_them(self):
        for line in ("  const int x = 2;\n", "  int x = 2;  // until hole 1 is filled\n", f"{self.GOES}  x = 2;\n", "  int x = 0;\n  x = 2;\n"):
            written = self.holes.of(self.STUB.replace(f"{self.GOES}  // TODO(1): roughly 1 line; x\n", line))
            self.assertEqual(written.holes, {"1": [line.splitlines()], "2": [self.RETURNS.splitlines()]})
            self.assertEqual([written.begun(hole) for hole in "12"], [True, False])
            self.assertEqual(self.holes.filled("1", written.holes["1"])[0], self.KERNEL.replace("  const int x = 1;\n", line))

    def test_where_nothing_else_stands_the_hole_is_empty(self):
        self.assertEqual(self.check(self.STUB)._empty(), ["1", "2"])
        self.assertEqual(self.check(self.STUB.replace("  use(x);", "  x = 1;\n  use(x);"))._empty(), ["2"])

    def test_one_that_is_left_is_named_where_the_compiler_meets_it_or_nothing_behind_it_runs(self):
        left = self.STUB.replace("  // TODO(1)", "  const int x = 1;\n  // TODO(1)").replace("  // TODO(2)", "  return 3;\n  // TODO(2)")
        said = "Delete line 2 of my/03_x/exercise.cu, `int x = 0;`, now that hole 1 is filled."
        check = self.check(left)
        for log, words in ((f"{self.root}/my/03_x/exercise.cu:2:7: note: 'int x' previously declared here", [said]),
                           ("my/03_x/exercise.cu(2): error: x has already been declared", [said]), ("my/03_x/exercise.cu:22:7: error: no", [])):
            self.assertEqual(check._left_beside(log), words)
        self.assertEqual(check._left_beside(), ["Delete line 10 of my/03_x/exercise.cu, `return 0;`, now that hole 2 is filled."])
        self.assertEqual(self.check(self.STUB)._left_beside("my/03_x/exercise.cu:2:7: error: no"), [], "it is not filled yet")

    def test_one_that_has_its_todo_is_a_line_of_the_hole_and_no_beginning_of_it(self):
        holes = Holes("f() {\n  // TODO(1): roughly 1 line; x\n  use(x);\n  barrier();  // TODO(2): roughly 0 lines\n  end;\n}\n", "f() {\n  x;\n  use(x);\n  end;\n}\n")
        written = holes.of("f() {\n  barrier();\n  use(x);\n  barrier();  // TODO(2): roughly 0 lines\n  end;\n}\n")
        self.assertEqual(written.holes, {"1": [["  barrier();"]], "2": [["  barrier();"]]})
        self.assertEqual([written.begun(hole) for hole in "12"], [True, False])
        self.assertEqual(holes.with_lines_of(written, "2"), "f() {\n  x;\n  use(x);\n  barrier();\n  end;\n}\n")

    def test_are_spoken_of_when_the_exercise_begins(self):
        for stub, said in ((self.STUB, "The line `int x = 0;  // until hole 1 is filled` only lets the file compile. Delete it, and each line with the same ending, when you fill its hole."),
                           (self.STUB.replace(self.GOES, "").replace(self.RETURNS, ""), "")):
            self.check(stub)
            self.assertIn(said, printed(checking.introduce, Exercise(Path("03_x/exercise.cu")))[1])
        self.assertNotIn("lets the file compile", printed(checking.introduce, Exercise(Path("03_x/exercise.cu")))[1])

    def test_are_no_part_of_a_stage_either(self):
        self.assertEqual(Holes("// TODO(3): roughly 1 line\nint x = 0;  // until stage 3 is filled\n", "int x = 1;\n").ours("3"), [["int x = 1;"]])


class Kernels(unittest.TestCase):
    def test_give_no_variable_a_value_that_a_hole_overwrites(self):
        """Only a stub needs such a value, and its line ends with "until hole N is filled"."""
        declared = re.compile(r"( *)(?!const|return|using)[A-Za-z_][\w:<>]* (\w+ = [^;{]*(?:, \w+ = [^;{]*)*);(?:  //.*)?")

        def overwritten(lines):
            for at, line in enumerate(lines):
                found = declared.fullmatch(line)
                for name in re.findall(r"(\w+) = ", found[2]) if found else []:
                    first = next((each for each in lines[at + 1:] if re.search(rf"\b{name}\b", each.partition("//")[0])), "")
                    if re.match(rf"{found[1]}{name} = (?!.*\b{name}\b)", first):
                        yield line.strip()

        self.assertEqual(list(overwritten(["  int a = 0, b = 0;  // two", "  // why", "  b = 1;", "  a += b;"])), ["int a = 0, b = 0;  // two"])
        self.assertEqual(list(overwritten(["  int a = 0;", "  if (b) a = 1;", "  int c = 1;", "  c = a + c;"])), [])
        for one in exercises():
            self.assertEqual(list(overwritten((ROOT / one.solution).read_text().splitlines())), [], one.solution)


class WhereLinesAreMissing(unittest.TestCase):
    STUB = "f() {\n  // TODO(1): roughly 2 lines; x\n  // TODO(2): roughly 1 line; y\n}\ng() {\n  a;\n  // TODO(3): roughly 1 line, at two places; z\n  b;\n}\n"
    KERNEL = "f() {\n  x1;\n  x2;\n  y;\n}\ng() {\n  a;\n  z1;\n  b;\n  z2;\n}\n"

    def setUp(self):
        self.holes = Holes(self.STUB, self.KERNEL)

    def test_our_lines_are_known_by_their_todos_and_their_number(self):
        self.assertEqual([self.holes.ours(hole) for hole in "123"], [[["  x1;", "  x2;"]], [["  y;"]], [["  z1;"], ["  z2;"]]])
        self.assertEqual(self.holes.filled("2", self.holes.ours("2")), (self.KERNEL, [4]))
        self.assertEqual(self.holes.filled("3", [["  c;"]]), (self.KERNEL.replace("z1", "c").replace("  z2;\n", ""), [8, 10]))

    def test_a_readers_lines_are_those_at_the_todos(self):
        mine = self.STUB.replace("  // TODO(3): roughly 1 line, at two places; z\n", "  c;\n  b;\n", 1)
        self.assertEqual(self.holes.of(mine).holes, {"1": [[]], "2": [[]], "3": [["  c;", "  b;"], []]})
        self.assertIn("the lines of holes 1 and 2 are next to each other", self.holes.of(self.KERNEL).why)
        self.assertIn("nothing is left where the stub has `a;`", self.holes.of(self.STUB.replace("  a;\n", "")).why)
        self.assertIn("line 6 is `A;` where the stub has `a;`", self.holes.of(self.STUB.replace("  a;", "  A;")).why)

    def test_blanks_comments_and_lines_that_are_added_outside_the_holes_do_no_harm(self):
        mine = "// mine\nint before;\n" + self.STUB.replace("  a;\n", "    a; \n\n").replace("  b;\n", "  b;\n  more;\n").replace("g() {", "g()  {")
        mine = mine.replace("  // TODO(3): roughly 1 line, at two places; z\n", "  c;\n")
        written = self.holes.of(mine)
        self.assertEqual(written.holes["3"], [["", "  c;"], ["  more;"]], "z goes to two places")
        self.assertEqual(written.outside, {0: ["// mine", "int before;"]})
        text, begins = self.holes.filled("3", written.holes["3"], written.outside)
        self.assertEqual(text, "// mine\nint before;\n" + self.KERNEL.replace("  z1", "\n  c").replace("z2", "more"))
        self.assertEqual(begins, [10, 13])
        self.assertEqual(self.holes.of("// mine\n\n" + self.STUB + "// end\n").outside, {})

    def test_every_exercise_is_our_kernel_once_its_holes_are_filled(self):
        for one in exercises() + exercises("scratch"):
            kernel = (ROOT / one.solution).read_text()
            holes = holes_of(one)
            for hole in one.holes():
                self.assertEqual(holes.filled(hole, holes.ours(hole))[0], kernel, one.name)
            places = {(at, hole) for at, hole, _ in holes.places}
            if one.kind == "exercise":
                self.assertEqual(len({at for at, _ in places}), len(places), f"{one.name}: no line of code between two holes, which cannot be judged one by one")
        with self.assertRaisesRegex(ValueError, "only add lines"):
            Holes(self.STUB, self.KERNEL.replace("  a;\n", ""))
