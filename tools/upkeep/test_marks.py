"""Tests of the code on pages: the lines that a mark selects, and the error if it selects none."""
import re
import subprocess
import unittest

import blocks
import check_links
import marks
from for_tests import InAFolder
from ladder_tools import learning, place
from nvcc import ROOT, files_here

KERNEL = """\
// 04 no_atomic: "a }" in a comment {
#include <cstdint>
#define OPENS {

constexpr int kThreads = 1'024;

/* struct Tile { */
struct alignas(16) Tile {
  float a[4];  // }
};

template <int kHeadSize>
__global__ void __launch_bounds__(kThreads) wkv_no_atomic(const Args args) {
  const auto fetch = [&](int i) {
    return args.q[i];
  };
  for (int ik = 0; ik < kHeadSize; ++ik) {
    float sum = fetch(ik);

    if (ik < 1'024 && ik != '{') sum = 0.0f;
  }
  for (;;) {
    TODO(1);
  }
}

void launch(const Args& args) {
  print("} // {", R"(" })");
  wkv_no_atomic<4><<<1, kThreads>>>(args);
}

void launch(const Tile& tile) {
  if (tile.a[0] > 0) launch(tile.args());
}

const Registration registration{{.name = "wkv_no_atomic",
                                 .launchers = launchers<Wkv>(launch)}};
"""


class Code(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(marks, learning, place)
        self.write({"04_no_atomic/kernel.cu": KERNEL})

    def lines(self, what):
        fence, *lines, last = marks.code("04_no_atomic/README.md", what).rstrip("\n").split("\n")
        self.assertEqual((fence, last), ("```cpp", "```"))
        return lines

    def assert_wrong(self, what, *words):
        with self.assertRaises(marks.Wrong) as caught:
            marks.code("04_no_atomic/README.md", what)
        for each in (*words, "allowed: "):
            self.assertIn(each, str(caught.exception))

    def test_of_whole_definitions(self):
        for name, first, last, count in (
                ("wkv_no_atomic", "template <int kHeadSize>", "}", 14), ("Tile", "struct alignas(16) Tile {", "};", 3),
                ("fetch", "const auto fetch = [&](int i) {", "};", 3), ("launch#2", "void launch(const Tile& tile) {", "}", 3),
                ("launch#1", "void launch(const Args& args) {", "}", 4),
                ("registration", 'const Registration registration{{.name = "wkv_no_atomic",', " " * 33 + ".launchers = launchers<Wkv>(launch)}};", 2)):
            with self.subTest(name):
                lines = self.lines(f"kernel.cu:{name}")
                self.assertEqual((lines[0], lines[-1], len(lines)), (first, last, count))

    def test_of_ranges_without_their_margin(self):
        self.assertEqual(self.lines('kernel.cu:wkv_no_atomic "for (int" .. "}"'),
                         ["for (int ik = 0; ik < kHeadSize; ++ik) {", "  float sum = fetch(ik);", "", "  if (ik < 1'024 && ik != '{') sum = 0.0f;", "}"])
        self.assertEqual(len(self.lines('kernel.cu:launch#2 "launch" .. "launch"')), 2)
        self.assertEqual(self.lines('kernel.cu "constexpr"'), ["constexpr int kThreads = 1'024;"])

    def test_of_a_todo_to_its_end(self):
        self.write({"04_no_atomic/exercise.cu": "f() {\n  // TODO(1): add a,\n  // TODO(1): then b\n  // TODO(2): c\n}\n"})
        self.assertEqual(self.lines('exercise.cu "f()" .. "TODO(1)"'),
                         ["f() {", "  // TODO(1): add a,", "  // TODO(1): then b"])

    def test_of_several_ranges_with_a_line_between_unless_they_touch(self):
        self.assertEqual(self.lines('kernel.cu:wkv_no_atomic "const auto" .. "return" and "if (ik" and "}" .. "for"'),
                         ["const auto fetch = [&](int i) {", "  return args.q[i];", "  // ...", "  if (ik < 1'024 && ik != '{') sum = 0.0f;", "}", "for (;;) {"])

    def test_of_another_folder_or_language(self):
        self.write({"a/b.py": "def f():\n  x = 1\n  y = 2\n  return x\n", "c.md": "````\n"})
        self.assertEqual(marks.code("04_no_atomic/README.md", '../a/b.py "def" and "return"'), "```python\ndef f():\n  # ...\n  return x\n```\n")
        self.assertEqual(marks.code("README.md", "c.md"), "`````\n````\n`````\n")
        self.assert_wrong("../a/b.py:f", "a/b.py is not C++")

    def test_name_what_is_gone(self):
        for what, words in (
                ("kernel.cu:none", ("04_no_atomic/kernel.cu defines no none", "allowed: Tile, wkv_no_atomic, fetch, launch, registration")),
                ("kernel.cu:print", ("defines no print",)), ("kernel.cu:launch", ("launch 2 times", "launch#1 (line 27), launch#2 (line 32)")),
                ("kernel.cu:launch#3", ("launch 2 times",)), ("none.cu:f", ("there is no 04_no_atomic/none.cu",)), ("../../x.cu:f", ("there is no ../x.cu",)),
                ('kernel.cu:fetch "for (int"', ('"for (int" is in no line of fetch in 04_no_atomic/kernel.cu', "14 to 16")),
                ('kernel.cu:wkv_no_atomic "for (;;)" .. "for (int"', ('"for (int" is in no line', 'below "for (;;)"', "wrong order")),
                ("kernel.cu for", ("FILE:NAME",)), ('kernel.cu "for" .. "x', ("FILE:NAME",)), ('kernel.cu "for" "x"', ("FILE:NAME",))):
            with self.subTest(what):
                self.assert_wrong(what, *words)

    def test_of_a_whole_file_only_if_it_is_short(self):
        self.write({"04_no_atomic/short.hpp": "x\n" * 40, "04_no_atomic/long.hpp": "x\n" * 41})
        self.assertEqual(len(self.lines("short.hpp")), 40)
        self.assert_wrong("long.hpp", "long.hpp has 41 lines", "at most 40")

    def test_that_would_end_its_block_is_refused(self):
        self.write({"04_no_atomic/end.hpp": "// <!-- end -->\n"})
        self.assert_wrong("end.hpp", "an `<!-- end -->` of their own")


class OfTheTree(unittest.TestCase):
    def test_every_kernel_is_found(self):
        found = 0
        for path in (each for each in files_here() if re.match(r"\d\d_.*/(kernel|exercise)\.cu$", each)):
            bare = marks._bare((ROOT / path).read_text())
            for each in set(re.findall(r"__global__\s+void\s+(?:__launch_bounds__\(.*\)\s+)?((?!__)\w+)\(", bare)):
                self.assertTrue(marks.definitions(bare, each), f"{path}:{each}")
                found += 1
        self.assertGreater(found, 150)

    def test_the_steps_of_the_story_have_a_diff(self):
        with_kernel = [each for each in place.chapters() if list((ROOT / each).glob("kernel.c*"))]
        for before, after in zip(with_kernel, with_kernel[1:]):
            done = subprocess.run([ROOT / "ladder", "diff", before[:2], after[:2]], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("\n@@ ", done.stdout, f"{before} {after}")


class Diffs(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(marks, learning, place)

    def diff(self, before, after, lesson="03", page="04_no_atomic/README.md"):
        self.write({"03_cuda_baseline/kernel.cu": before, "04_no_atomic/kernel.cu": after, "05_float4/README.md": "", "06_x/01_y/kernel.cpp": "x\n" * 30})
        return marks.diff(page, lesson)

    def kernel(self, head, name, lines):
        return f'// {head}\n\nvoid {name}() {{\n{lines}\n}}\n\nR r{{.name = "{name}"}};\n'

    def test_have_no_names_and_no_first_comment(self):
        before, after = (self.kernel(*each) for each in (("03 is this", "wkv_atomic", "  a;\n  b;\n  c;\n  d;"), ("04 is that", "wkv_no_atomic", "  a;\n  b;\n  e;\n  d;")))
        self.assertEqual(self.diff(before, after), "```diff\n@@ void wkv_no_atomic() {\n   b;\n-  c;\n+  e;\n   d;\n```\n")
        with self.assertRaisesRegex(marks.Wrong, "is that of 03, names aside; allowed"):
            self.diff(self.kernel("x", "wkv_atomic", "  a;"), self.kernel("y", "wkv_no_atomic", "  a;"))

    def test_of_more_than_25_lines_are_a_command(self):
        for added, words in ((23, "```diff\n@@"), (24, "`./ladder diff 03 04` shows the 24 lines that change.\n")):
            text = self.diff("x;\n", "x;\n" + "y;\n" * added)
            self.assertTrue(text.startswith(words), text)
        self.assertEqual(self.diff("x;\n", "y;\n", page="06_x/01_y/README.md"), "`./ladder diff 03 06.01` shows the 31 lines that change.\n")

    def test_are_between_lessons_with_a_kernel(self):
        for lesson, page, words in (("77", "04_no_atomic/README.md", "chapter is '77'"), ("05", "04_no_atomic/README.md", "lesson is '05'; allowed"),
                                    ("03", "05_float4/README.md", "there is no kernel beside the page"), ("03", "README.md", "there is no kernel beside the page")):
            with self.subTest(words), self.assertRaisesRegex(marks.Wrong, words):
                self.diff("x;\n", "y;\n", lesson, page)


class Pages(InAFolder):
    MARK = "<!-- code: a.hpp -->\n"

    def setUp(self):
        super().setUp()
        self.as_root_of(marks, place)
        self.write({"a.hpp": "int a;\n", "b.md": "```\n[x](none.md)\n```\n"})

    def test_are_filled_and_the_rest_is_kept(self):
        page = f"before `<!-- code: x -->`\n{self.MARK}old\n<!-- end -->\nafter\n\n<!-- code: b.md -->\n<!-- end -->\n"
        filled = marks.filled("README.zh-CN.md", page)
        self.assertEqual(filled, f"before `<!-- code: x -->`\n{self.MARK}```cpp\nint a;\n```\n<!-- end -->\nafter\n\n"
                                 "<!-- code: b.md -->\n````\n```\n[x](none.md)\n```\n````\n<!-- end -->\n")
        self.assertEqual(marks.filled("README.zh-CN.md", filled), filled)
        self.assertEqual(check_links.links(filled), [])

    def test_name_all_marks_that_are_wrong(self):
        with self.assertRaises(marks.Wrong) as caught:
            marks.filled("README.md", "<!-- code: none.hpp -->\n<!-- end -->\n<!-- diff: 03 -->\n<!-- end -->\n")
        self.assertRegex(str(caught.exception), r"\A<!-- code: none.hpp -->: there is no .*\n<!-- diff: 03 -->: there is no kernel beside the page.*\Z")

    def test_of_marks_that_are_not_closed_are_refused(self):
        for page in (f"{self.MARK}words\n{self.MARK}<!-- end -->\n", f"{self.MARK}words\n<!-- table: x -->\n<!-- end -->\n", self.MARK, f"words {self.MARK}<!-- end -->\n"):
            with self.subTest(page), self.assertRaisesRegex(marks.Wrong, "<!-- code: a.hpp -->: is not closed"):
                marks.filled("README.md", page)

    def test_are_the_same_to_a_translation_whatever_the_code(self):
        class Definitions:
            def of(self, name):
                return name
        empty, filled, other = (blocks.meaning_hash(f"{mark}{body}<!-- end -->\n", Definitions()) for mark, body in (
            (self.MARK, ""), (self.MARK, "```cpp\nint b;\n```\n"), (self.MARK.replace("a.hpp", "b.md"), "")))
        self.assertEqual(empty, filled)
        self.assertNotEqual(empty, other)

    def test_have_no_links_and_figures_in_a_long_fence(self):
        page = "````\n```\n| a |\n|---|\n| 3 ms |\n[x](none.md)\n```\n| b |\n|---|\n| 3 ms |\n[y](none.md)\n````\n"
        self.assertEqual((check_links.links(page), blocks.bare_figures(page)), ([], []))
