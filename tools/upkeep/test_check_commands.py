"""Tests of which command lines on pages are rejected."""
import unittest

import check_commands
from for_tests import InAFolder
from nvcc import ROOT, files_here

FILES = [each for each in files_here() if (ROOT / each).exists()]
TREE = check_commands.Tree(ROOT, FILES)


def faults(text):
    with check_commands.looking_once():
        return check_commands.faults(text, TREE)


class Lines(unittest.TestCase):
    def test_are_those_of_fences_and_spans(self):
        page = ("Call `./ladder learn`, not `learn`.\n```\n$ ./ladder run 03   # words\nsaid\ncmake -S a \\\n  -B b\n```\n"
                "```cpp\n./ladder none;\n```\n`ladder`\n")
        self.assertEqual(check_commands.command_lines(page), [(1, "./ladder learn"), (3, "./ladder run 03   # words"), (5, "cmake -S a   -B b")])

    def test_are_cut_into_commands(self):
        for text, commands in {"A=1 ./ladder run 03 > x # y": [["./ladder", "run", "03"]], "git a && ./ladder b; ctest | cat": [["git", "a"], ["./ladder", "b"], ["ctest"], ["cat"]],
                               "./ladder run 06  decode: one step": [["./ladder", "run", "06"]], "./ladder run '08 x'": [["./ladder", "run", "08 x"]]}.items():
            self.assertEqual(check_commands.simple_commands(text), commands)


class Commands(unittest.TestCase):
    def assert_wrong(self, rows):
        for command, words in rows.items():
            with self.subTest(command):
                self.assertEqual(len(faults(f"`{command}`")), 1)
                self.assertIn(words, faults(f"`{command}`")[0])

    def test_name_what_is_not_there(self):
        self.assert_wrong({
            "./ladder exercise 03.01--hint": "exercise is '03.01--hint'", "./ladder exercise 03 --mistake none": "mistake is 'none'", "./ladder exercise 03 --hint 9": "hole is '9'",
            "./ladder exercise 99.boss": "boss is", "./ladder climb": "command is 'climb'", "./ladder run 99": "chapter is '99'", "./ladder run --shaep T=8": "option is '--shaep'",
            "./ladder xray 03 --operator wvk": "wvk", "./ladder xray my/99": "copy is 'my/99'", "./ladder test mistake.99": "test is 'mistake.99'", "./ladder test --mistakes wvk": "wvk",
            "./ladder diff 03": "diff takes two", "./ladder diff 03 99": "chapter is '99'", "./ladder which wvk": "operator is 'wvk'", "./ladder learn --path none": "path is 'none'",
            "./ladder learn 03": "--path NAME", "./ladder doctor now": "no arguments", "./ladder room --jsn x": "option is '--jsn'", "./ladder pack x.zip": "ends with .tar.gz", "./ladder learn --jsn": "takes no arguments", "./ladder prepare 99": "chapter is '99'", "./ladder compare --none": "option is '--none'",
            "./ladder apply --operator wvk --in a --out b": "wvk", "cmake --preset none": "preset is 'none'", "cmake --build build --target none_such": "no target is called none_such",
            "ctest --preset default -R none_such": "no test is called none_such", "build/none_such": "no target", "build/chapter99_tests": "no target", "nvcc -o a 03_cuda_baseline/none.cu": "there is no 03",
            "git diff --no-index 03_cuda_baseline/none.cu my/x.cu": "there is no 03", "tools/upkeep/none.py": "there is no tools", "./ladder run '03": "no shell reads it",
        })

    def test_that_mean_something_pass(self):
        for command in ("./ladder", "./ladder which", "./ladder --help", "./ladder exercise", "./ladder exercise 03.01 --hint", "./ladder exercise 03 --mistake decay_first", "./ladder exercise 03 --mistake",
                        "./ladder exercise 03.boss", "./ladder exercise 03.boss 12 race", "./ladder exercise NAME --hint [HOLE]", "./ladder exercise 03 --mistake NAME", "./ladder run 06.7 --emulator",
                        "./ladder run 03 --mine", "./ladder xray my/03_cuda_baseline", "./ladder xray 08.09 --operator attention --options causal,window=64", "./ladder test 03 -R xray --verbose", "./ladder test 07 --gtest_filter='*Hole*'", "./ladder test wkv_float4.IsRepeatable",
                        "./ladder doctor --json", "./ladder pack --path day", "./ladder room hall/*", "./ladder learn --path day --json", "./ladder apply --operator wkv --in a --out b --check", "./ladder which wkv B=8,T=4096", "OMP_NUM_THREADS=1 ./ladder run 02", "ctest --preset default -R chapter03",
                        "cmake --build build --target chapter07_cuda_tests", "git clone <this page's address> kernel-ladder", "nvcc -std=c++17 -o a 00_warmup/01_first_kernel/kernel.cu && ./a"):
            with self.subTest(command):
                self.assertEqual(faults(f"```\n{command}\n```\n"), [])

    def test_may_name_a_lesson_that_the_page_makes(self):
        page = "```\n./ladder new 06.99_my_idea --from 06.03\n./ladder test 06.99\n./ladder test mistake.06.99_my_idea\n```\n"
        self.assertEqual(faults(page), [])
        self.assertEqual(len(faults(page.replace("new", "doctor"))), 3)

    def test_that_are_cheap_are_run(self):
        for command, cheap in {"./ladder learn": True, "./ladder exercise 03 --hint": True, "./ladder run --help": True, "./ladder --emulator doctor": True, "./ladder": False,
                               "./ladder run 03": False, "./ladder exercise 03": False, "git clone x": False}.items():
            self.assertEqual(check_commands.is_cheap(command.split()), cheap, command)


class Runs(InAFolder):
    def test_what_is_cheap_and_names_what_fails_or_is_run_nowhere(self):
        self.write({"ladder": "#!/bin/sh\necho \"$@\" >> said\n[ $1 != diff ] || { echo no such chapter >&2; exit 2; }\n",
                    "page.md": "`./ladder learn` `./ladder learn` `./ladder diff 3 NAME`\n```\n./ladder diff 3 9 && ./ladder run 03\npython3 x\n```\n"})
        (self.root / "ladder").chmod(0o755)
        wrong, count = check_commands.run_cheap(["page.md"], self.root)
        self.assertEqual((self.root / "said").read_text(), "learn\ndiff 3 9\n")
        self.assertEqual((count, len(wrong)), (2, 2))
        self.assertIn("page.md:3: ./ladder diff 3 9 && ./ladder run 03\n    exit 2: no such chapter", wrong[0])
        self.assertIn("page.md:4: python3 x\n    runs nowhere", wrong[1])
