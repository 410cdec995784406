#!/usr/bin/env python3
"""Is every lesson a step that can be climbed? Counts code lines, against the lesson that the kernel's
`// Change:` names as 06.04: of the kernel and its chapter's headers at most a quarter is new,
wherever it stood before, and together they are at most 220, or 320 with Hopper's own instructions
or gradients on tensor cores; of a longer lesson a quarter of that is allowed, too. With a `Change:`
that begins with "none" or says "rewrite", and a page that says why, more is new. steps.txt lists the
lessons that are longer."""
import argparse
import difflib
import re
import sys
from pathlib import Path

from nvcc import ROOT
from ladder_tools.patches import with_name_of
from ladder_tools.place import Refused, in_lessons, lesson_of, place_of, text_of

LONGER = Path(__file__).with_suffix(".txt").relative_to(ROOT)
MOST_NEW = 0.25
MOST_LINES, MOST_LINES_OF_HARD_ONES = 220, 320


def code_lines(text):
    """Without comments, includes, and lines that hold brackets only."""
    lines = [re.sub(r"//.*", "", line).strip() for line in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines()]
    return [line for line in lines if re.search(r"\w", line) and not line.startswith("#include")]


def headers_of(kernel):
    """Those of its chapter that a kernel includes, and that these include."""
    found, left = [], [kernel]
    while left:
        file = left.pop()
        for name in re.findall(r'^#include "(.+)"', text_of(file), re.MULTILINE):
            header = next((each for each in (file.parent / name, Path(name)) if (ROOT / each).exists()), None)
            if header and header.parts[0] == kernel.parts[0] and header not in found:
                found.append(header)
                left.append(header)
    return sorted(found)


def is_of_operator(header):
    """Whether it says what arguments an operator of the chapter has, as common/operators does of others: the kernel's step is not in them."""
    return (ROOT / header).with_name(f"{header.stem}_operator.cpp").exists()


def head_of(kernel):
    """(what the first comment says that the kernel is, what it says that has changed)"""
    head = re.match(r"(?://.*\n)*", text_of(kernel))[0].replace("\n//", "\n")
    found = re.search(r"^// ?(.*?)\n\s*Change:(.*?)\n\s*Why:", head, re.DOTALL)
    return tuple(" ".join(part.split()) for part in found.groups()) if found else (head, "")


def kernel_of(number):
    """That of 06.04, and of 06.00; None without such a lesson."""
    try:
        folder = Path(place_of(number).folder)
    except Refused:
        return None
    return next((kernel for kernel in in_lessons("kernel*.c*") if kernel.parent == folder), None)


def lesson_named_by(kernel):
    """06.04, which its `// Change:` names; "" if it names none."""
    named = re.search(r"\b[0-9]{2}\.[0-9]{2}[a-z]?\b", head_of(kernel)[1])
    return named[0] if named else ""


def with_headers(kernel, written):
    """The code lines of a kernel, written like that, behind those of its chapter's headers that are no operator's arguments."""
    headers = [text_of(each) for each in headers_of(kernel) if not is_of_operator(each)]
    return code_lines("\n".join([*headers, written]))


def lines_new(kernel, before):
    """(how many are new, how many there are) of the lines of a kernel and of its chapter's headers,
    against those of the lesson before it, wherever they stand; all are new where there is none."""
    earlier = text_of(before) if before else ""
    lines = with_headers(kernel, with_name_of(text_of(kernel), earlier))
    known = with_headers(before, earlier) if before else []
    matcher = difflib.SequenceMatcher(None, known, lines, autojunk=False)
    return len(lines) - sum(block.size for block in matcher.get_matching_blocks()), len(lines)


def fault_of_change(kernel):
    """A sentence, if the header does not say what the kernel changes, or too much is new."""
    change = head_of(kernel)[1]
    named = lesson_named_by(kernel)
    before = kernel_of(named) if named else None
    if named and not before:
        return f"{kernel}: its Change: names {named}, and there is no such lesson"
    rewrite = re.search(r"\brewrite\b", change)
    if rewrite and "rewrite" not in text_of(kernel.parent / "README.md"):
        return f"{kernel}: its Change: says rewrite, and its page does not say why"
    if not before:
        first = re.match("none\\b", change)
        return "" if rewrite or first else f"{kernel}: its Change: should name the lesson that it changes, as 06.04, or say rewrite or none"
    new, together = lines_new(kernel, before)
    share = new / max(min(together, length_of(kernel)[1]), 1)
    if rewrite:
        return f"{kernel}: its Change: says rewrite, and only {share:.0%} of its lines are new against {named}" if share <= MOST_NEW else ""
    return f"{kernel}: {share:.0%} of its lines are new against {named}; allowed: {MOST_NEW:.0%}, or its Change: says rewrite" if share > MOST_NEW else ""


def length_of(kernel):
    """(its lines and its chapter's headers', how many are allowed)"""
    hard = kernel.stem.endswith("_sm90") or re.search(r"\bgradients\b.* on tensor cores", head_of(kernel)[0])
    lines = sum(len(code_lines(text_of(each))) for each in [kernel, *headers_of(kernel)])
    return lines, MOST_LINES_OF_HARD_ONES if hard else MOST_LINES


def longer():
    """{lesson: why it is allowed to be longer}"""
    rows = (line.split(None, 1) for line in text_of(LONGER).splitlines() if line and not line.startswith("#"))
    return {lesson: why for lesson, why in rows}


def faults(kernels, allowed):
    """A sentence for each."""
    unused = set(allowed)
    for kernel in kernels:
        lesson = lesson_of(kernel.parent)
        lines, most = length_of(kernel)
        yield fault_of_change(kernel)
        if lines > most and lesson not in allowed:
            yield f"{kernel}: {lines} code lines with its chapter's headers; allowed: {most}"
        if lines <= most and lesson in allowed:
            yield f"{LONGER}: {lesson} has only {lines} code lines of {most}; its line can go"
        unused.discard(lesson)
    yield from (f"{LONGER}: there is no lesson {lesson}" for lesson in sorted(unused))


def main():
    argparse.ArgumentParser(prog="tools/upkeep/steps.py", description=__doc__).parse_args()
    kernels, allowed = in_lessons("kernel*.c*"), longer()
    wrong = [fault for fault in faults(kernels, allowed) if fault]
    print("\n".join(wrong), file=sys.stderr, end="\n" * bool(wrong))
    print(f"{len(kernels)} kernels, {len(wrong)} of them no step; {len(allowed)} are longer than a step, for a reason")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
