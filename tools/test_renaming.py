"""A learner's object is linked beside ours: what is renamed in it, and what must not be."""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from ladder_tools import renaming

LISTED = """_ZN9chapter033wkvEv T 0 1
_ZN9chapter036launchILi4EEEvv W 0 1
_ZSt4swapIN9chapter034ThatEEvv W 0 1
_ZNSt6vectorIfSaIfEE4dataEv W 0 1
_ZL12registration b 0 1
lesson_main T 0 1
"""
SOURCE = """
#include <cstdio>
namespace chapter03 {
template <int n> __attribute__((noinline)) int twice() { return NUMBER * n; }
int launch() { return twice<2>(); }
struct Says { Says() { std::printf("%d ", launch()); } } says;
}
"""


class Renaming(unittest.TestCase):
    def test_what_only_the_learners_file_means_gets_a_new_name(self):
        self.assertEqual(set(renaming.new_names(LISTED, "chapter03")), {"_ZN9chapter033wkvEv", "_ZN9chapter036launchILi4EEEvv",
                                                                       "_ZSt4swapIN9chapter034ThatEEvv", "lesson_main"})

    @unittest.skipUnless(shutil.which("c++") and shutil.which("objcopy"), "needs c++ and objcopy")
    def test_two_files_with_the_same_names_are_linked_and_each_calls_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            source, main = Path(folder) / "x.cpp", Path(folder) / "main.cpp"
            source.write_text(SOURCE)
            main.write_text("int main() {}\n")
            for name, number in (("ours", 10), ("mine", 21)):
                subprocess.run(["c++", "-c", f"-DNUMBER={number}", "-o", f"{folder}/{name}.o", source], check=True)
            self.assertEqual(renaming.main([f"{folder}/mine.o", f"{folder}/yours.o", "chapter03"]), 0)
            subprocess.run(["c++", "-o", f"{folder}/program", main, f"{folder}/ours.o", f"{folder}/yours.o"], check=True)
            said = subprocess.run([f"{folder}/program"], capture_output=True, text=True).stdout
        self.assertEqual(sorted(said.split()), ["20", "42"])


if __name__ == "__main__":
    unittest.main()
