"""Tests of which kernels steps.py accepts as steps."""
from pathlib import Path

import steps
from for_tests import InAFolder
from ladder_tools import patches, place

HEAD = "// A kernel.\n// Change: {0}\n// Why:    because.\n"
CODE = "".join(f"int a{at};\n" for at in range(8))


class Steps(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(steps, place, patches)
        self.write({"06_x/01_a/kernel.cu": HEAD.format("none, this is the first.") + CODE, "06_x/02_b/README.md": "A rewrite, because.\n"})
        self.kernel = Path("06_x/02_b/kernel.cu")

    def faults(self, change, code, allowed=()):
        self.write({str(self.kernel): HEAD.format(change) + code})
        return [fault for fault in steps.faults([self.kernel], dict.fromkeys(allowed, "a reason")) if fault]

    def test_a_quarter_of_the_lines_may_be_new(self):
        self.assertEqual(self.faults("from 06.01: two more.", CODE + "int b;\nint c;\n"), [])
        self.assertEqual(self.faults("from 06.01: three more.", CODE + "int b;\nint c;\nint d;\n"),
                         ["06_x/02_b/kernel.cu: 27% of its lines are new against 06.01; allowed: 25%, or rewrite in its Change:"])

    def test_what_is_no_code_counts_nothing(self):
        self.assertEqual(self.faults("from 06.01: no more.", CODE + "// b\n\n}\n/* c\n d */\n#include <e>\n" * 9), [])

    def test_a_line_with_the_implementations_name_is_not_new(self):
        names = ['void {0}();\n', 'Registration r{{.name = "{0}"}};\n']
        self.write({"06_x/01_a/kernel.cu": HEAD.format("none.") + CODE + "".join(names).format("wkv_a")})
        self.assertEqual(self.faults("from 06.01: a name.", CODE + "".join(names).format("wkv_b")), [])

    def test_a_rewrite_and_a_first_kernel_may_be_all_new(self):
        for change in ("rewrite of 06.01's loop.", "none, this is the first.", "a loop.\n//         A rewrite of 06.01."):
            self.assertEqual(self.faults(change, "int b;\n"), [])

    def test_a_page_says_why_it_is_a_rewrite(self):
        self.write({"06_x/02_b/README.md": "A page.\n"})
        self.assertEqual(self.faults("rewrite of 06.01's loop.", "int b;\n"),
                         ["06_x/02_b/kernel.cu: its Change: contains rewrite, but its page does not give the reason"])

    def test_a_step_is_not_called_a_rewrite(self):
        self.assertEqual(self.faults("rewrite of 06.01's loop.", CODE + "int b;\n"),
                         ["06_x/02_b/kernel.cu: its Change: contains rewrite, but only 11% of its lines are new against 06.01"])

    def test_a_header_names_a_lesson_that_there_is(self):
        self.assertEqual(self.faults("02 in two places.", CODE),
                         ["06_x/02_b/kernel.cu: its Change: should name the lesson that it changes, as 06.04, or contain rewrite or none"])
        self.assertEqual(self.faults("from 06.09: nothing.", CODE), ["06_x/02_b/kernel.cu: its Change: names 06.09, but there is no such lesson"])

    def test_new_lines_in_a_header_of_the_chapter_count(self):
        self.write({"06_x/both.hpp": "int x;\n" * 9, "06_x/one.hpp": "int b;\n" * 9, "common/cuda/all.hpp": "int y;\n" * 99})
        include = '#include "{0}"\n'.format
        shared = include("06_x/both.hpp") + include("common/cuda/all.hpp")
        self.write({"06_x/01_a/kernel.cu": HEAD.format("none.") + shared + CODE})
        self.assertEqual(self.faults("from 06.01: nothing.", shared + CODE), [])
        self.assertRegex(self.faults("from 06.01: a header.", shared + include("06_x/one.hpp") + CODE)[0], "35% of its lines are new")

    def test_lines_that_a_header_takes_over_are_not_new(self):
        """The total, of which the new lines are a share, does not shrink either."""
        shared, own = "int x;\n" * 30, "int a;\n" * 12
        self.write({"06_x/both.hpp": shared, "06_x/01_a/kernel.cu": HEAD.format("none.") + shared + own})
        code = '#include "06_x/both.hpp"\n' + own + "int b;\n" * 12
        self.assertEqual(self.faults("from 06.01: b.", code), [])

    def test_a_quarter_is_one_of_the_longest_lesson_that_is_allowed(self):
        self.write({"06_x/both.hpp": "int x;\n" * 400})
        include = '#include "06_x/both.hpp"\n'
        self.write({"06_x/01_a/kernel.cu": HEAD.format("none.") + include + CODE})
        self.assertEqual(self.faults("from 06.01: b.", include + CODE + "int b;\n" * 55, ["06.02_b"]), [])
        self.assertRegex(self.faults("from 06.01: b.", include + CODE + "int b;\n" * 56, ["06.02_b"])[0],
                         "25% of its lines are new")

    def test_arguments_of_an_operator_are_no_part_of_the_step(self):
        self.write({"06_x/02_b/sum.hpp": "int b;\n" * 9})
        code = '#include "06_x/02_b/sum.hpp"\n' + CODE
        self.assertRegex(self.faults("from 06.01: an operator.", code)[0], "53% of its lines are new")
        self.write({"06_x/02_b/sum_operator.cpp": ""})
        self.assertEqual(self.faults("from 06.01: an operator.", code), [])
        self.assertEqual(steps.length_of(self.kernel)[0], 17)

    def test_long_lessons_are_listed_and_no_others(self):
        def long(lines):
            return self.faults("rewrite.", "int a;\n" * lines, allowed)
        allowed = []
        self.assertEqual(long(220), [])
        self.assertEqual(long(221), ["06_x/02_b/kernel.cu: 221 code lines with its chapter's headers; allowed: 220"])
        allowed = ["06.02_b"]
        self.assertEqual(long(221), [])
        self.assertEqual(long(220), [f"{steps.LONGER}: 06.02_b has only 220 code lines of 220; its line can go"])
        allowed = ["06.02_b", "06.03_c"]
        self.assertEqual(long(221), [f"{steps.LONGER}: there is no lesson 06.03_c"])

    def test_hopper_and_gradients_on_tensor_cores_may_be_longer(self):
        hard = ["// 06 x: the gradients of it on tensor cores.\n// Change: none.\n// Why: so.\n", "// 06 x: the gradients of it.\n// Change: none.\n// Why: so.\n"]
        for path, head, most in (("kernel_sm90.cu", hard[1], 320), ("kernel.cu", hard[0], 320), ("kernel.cu", hard[1], 220)):
            self.write({f"06_x/02_b/{path}": head + "int a;\n" * 300})
            self.assertEqual(steps.length_of(Path("06_x/02_b") / path), (300, most))
