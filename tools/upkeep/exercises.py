#!/usr/bin/env python3
"""Carries changes of a kernel into everything made from it: its stub and the holes of its scratch
version, its planted mistakes and its boss, the solutions of its holes, and the words of its pages.
A name that changed everywhere is renamed. Other changes are merged, with the kernel at a git
revision as the common base. Conflicts are listed, and those files stay unchanged."""
import argparse
import re
import subprocess
import sys
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

from cross import NEXT_PLACE, SOLUTIONS, fragment
from nvcc import ROOT
from sources import without_comments
from ladder_tools.patches import Holes, between, changes, fault_of, patched, under_head_of
from ladder_tools.place import MORE, Refused, bosses, exercises, in_lessons, mistakes, place_of, text_of
from ladder_tools.scratch import stub_of

# put after each line while git merges, so that changes of adjacent lines do not conflict
_BETWEEN = "\x1f\n"


def text_at(revision, path):
    """A file's text in a git revision, or ""."""
    return subprocess.run(["git", "show", f"{revision}:{path}"], cwd=ROOT, capture_output=True, text=True).stdout


def renames(before, after):
    """{old: new} for names in code that disappeared and have one new name in all places."""
    texts = [without_comments(text) for text in (before, after)]
    before_words, after_words = (set(re.findall(r"\b[A-Za-z_]\w*", text)) for text in texts)
    found, lines = {}, [text.splitlines() for text in texts]
    for at, to, instead in changes(*lines):
        old, new = (re.findall(r"\b[A-Za-z_]\w*", "\n".join(part)) for part in (lines[0][at:to], instead))
        for kind, begin, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "replace" and end - begin == last - first:
                for one, other in zip(old[begin:end], new[first:last]):
                    if one not in after_words and other not in before_words:
                        found.setdefault(one, set()).add(other)
    return {one: others.pop() for one, others in found.items() if len(others) == 1}


def renamed(text, names):
    return re.sub(rf"\b({'|'.join(map(re.escape, names))})\b", lambda found: names[found[0]], text) if names else text


def renamed_prose(text, names):
    """Renames in the code on a page or in a patch's head: in `code`, in code blocks, and words with
    an underscore."""
    longer = {old: new for old, new in names.items() if "_" in old}
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(renamed(part, names if at % 2 else longer) for at, part in enumerate(parts))


def merged(mine, base, new, *options):
    """(the text with both changes of `base`, whether they conflict)"""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("mine", "base", "new")]
        for file, text in zip(files, (mine, base, new)):
            file.write_text(text.replace("\n", "\n" + _BETWEEN))
        done = subprocess.run(["git", "merge-file", "-p", *options, *files], capture_output=True, text=True)
        return done.stdout.replace(_BETWEEN, ""), done.returncode != 0


class Carried:
    """The changes of a kernel, or of one of its headers, since a revision: the files to write,
    {path: text}, and the conflicts, {path: a sentence}."""

    def __init__(self, file, revision):
        self.file, self.revision, self.written, self.conflicts = file, revision, {}, {}
        self._before, self._now = text_at(revision, file), text_of(file)
        self._names = renames(self._before, self._now)
        self._base = renamed(self._before, self._names)

    def _write(self, path, text):
        if text != text_of(path):
            self.written[path] = text

    def stub(self, exercise):
        """Merges the change into the stub. Inside a hole the stub does not change."""
        text = text_of(exercise.stub)
        if exercise.begins_with == self.file:
            self._write(exercise.stub, under_head_of(text, self._now))
            return
        if exercise.kind == "scratch":
            self._scratch(exercise.stub, renamed(text, self._names))
        elif not exercise.begins_with:
            self._write(exercise.stub, merged(renamed(text, self._names), self._base, self._now, "--ours")[0])
        self._write(exercise.page, renamed_prose(text_of(exercise.page), self._names))

    def _scratch(self, path, holes):
        """A derived stub needs no merge, but the words of its holes may now match other lines, or
        none."""
        self._write(path, holes)
        try:
            before, now = (stub_of(holes, path, kernel, self.file) for kernel in (self._base, self._now))
        except ValueError:  # no match today, which faults() reports, or none before
            return
        if now != merged(before, self._base, self._now, "--ours")[0]:
            self.conflicts[path] = f"{path}: do its words still find the lines that they should? {self.file} has others there now"

    def solutions(self, exercise):
        """Merges a change of our kernel inside a hole into the hole's solutions."""
        try:
            now = Holes(self.written.get(exercise.stub, text_of(exercise.stub)), self._now)
            before = Holes(renamed(text_at(self.revision, exercise.stub), self._names), self._base)
        except ValueError:  # faults() reports a stale stub
            return
        for hole in now.numbers():
            ours, base = (["".join(f"{line}\n" for line in lines) for lines in each.ours(hole)] for each in (now, before))
            for letter in SOLUTIONS:
                path = fragment(exercise, hole, letter)
                parts = re.split(f"({NEXT_PLACE.pattern})", renamed(text_of(path), self._names), flags=re.MULTILINE)
                for place, (was, is_) in enumerate(zip(base, ours)):
                    if was != is_ and 2 * place < len(parts):
                        parts[2 * place], conflict = merged(parts[2 * place], was, is_)
                        if conflict:
                            self.conflicts[path] = f"{path}: hole {hole} has other lines in {self.file} now, where this solution has its own"
                            break
                else:
                    self._write(path, "".join(parts))
        path = exercise.folder / MORE / "solutions" / "equivalent.txt"
        lines = [line.partition("  # ") for line in text_of(path).splitlines(True)]
        self._write(path, "".join(renamed(key, self._names) + mark + why for key, mark, why in lines))

    def patch(self, path):
        head, _, _ = text_of(path).partition("--- a/")
        with tempfile.TemporaryDirectory() as folder:
            before = Path(folder) / "before"
            before.write_text(self._before)
            try:
                text, conflict = merged(renamed(patched(before, path, ROOT), self._names), self._base, self._now)
            except ValueError:  # the patch was made for today's file
                return
            if conflict:
                self.conflicts[path] = f"{path}: {self.file} has other lines now where it changes them"
                return
        self._write(path, renamed_prose(head, self._names) + between(self._now, text, self.file, self.file))


def changed_by(patch):
    return Path(re.search(r"^\+\+\+ b/(.+)$", text_of(patch), re.MULTILINE)[1])


def carry(revision, folders):
    """Carries all changes since the revision; returns the written paths and the conflicts."""
    names = subprocess.run(["git", "diff", "--name-only", "--diff-filter=M", revision, "--", "[0-9][0-9]_*"], cwd=ROOT, capture_output=True, text=True)
    if names.returncode:
        raise Refused(f"revision is '{revision}': {names.stderr.strip()}")
    written, conflicts = [], {}
    for file in map(Path, names.stdout.split()):
        one = Carried(file, revision)
        for each in exercises() + exercises("scratch"):
            if each.folder in folders and file in (each.solution, each.begins_with):
                one.stub(each)
                if each.kind == "exercise" and not each.begins_with:
                    one.solutions(each)
        for patch in [*mistakes().values(), *bosses().values()]:
            if changed_by(patch) == file:
                one.patch(patch)
        for path, text in one.written.items():
            (ROOT / path).write_text(text)
        written += one.written
        conflicts.update(one.conflicts)
    return written, conflicts


def faults(folders):
    """(path, a sentence) for each stub that is not its kernel with missing lines, and each patch
    that does not fit."""
    for each in exercises() + exercises("scratch"):
        if each.folder in folders and fault_of(each):
            yield each.stub, fault_of(each)
    for patch in [*mistakes().values(), *bosses().values()]:
        if patch.parents[1 + (patch.parent.name == "mistakes")] in folders:
            try:
                patched(changed_by(patch), patch, ROOT)
            except ValueError as error:
                yield patch, str(error).rstrip()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/exercises.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; ends with 1 when a stub or a patch does not fit its kernel")
    parser.add_argument("--since", default="HEAD", metavar="REF", help="the revision to compare the kernels with; default: %(default)s")
    parser.add_argument("lesson", nargs="?", help="such as 06.03; without it, all of them")
    options = parser.parse_args(arguments)
    try:
        folders = [page.parent for page in in_lessons("README.md") if not options.lesson or str(page.parent) == place_of(options.lesson).folder]
        written, conflicts = ([], {}) if options.check else carry(options.since, folders)
    except Refused as error:
        parser.error(str(error))
    wrong = {**dict(faults(folders)), **conflicts}
    print("".join(f"written: {path}\n" for path in written), end="")
    print("".join(f"exercises: {each}\n" for each in wrong.values()), end="", file=sys.stderr)
    if not wrong:
        print("every stub is its kernel with lines missing, and every patch fits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
