#!/usr/bin/env python3
"""Checks that every lesson is a small step. Counts the code lines of the kernel and its chapter's
headers. At most a quarter may be new against the lesson that the kernel's `// Change:` names, as
06.04, wherever the lines were before. Together they may be at most 220, or 320 with Hopper's own
instructions or gradients on tensor cores; in a longer lesson a quarter of that limit may be new.
More may be new if `Change:` begins with "none" or contains "rewrite", and the page explains why.
steps.txt lists the longer lessons."""
import argparse
import difflib
import re
import sys
from pathlib import Path

from nvcc import ROOT
from ladder_tools.learning import head_of, lesson_named_by
from ladder_tools.patches import with_name_of
from ladder_tools.place import Refused, in_lessons, lesson_of, place_of, text_of

LONGER = Path(__file__).with_suffix(".txt").relative_to(ROOT)
MOST_NEW = 0.25
MOST_LINES, MOST_LINES_OF_HARD_ONES = 220, 320


def code_lines(text):
    """The lines without comments, includes, and lines with only brackets."""
    lines = [re.sub(r"//.*", "", line).strip() for line in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines()]
    return [line for line in lines if re.search(r"\w", line) and not line.startswith("#include")]


def headers_of(kernel):
    """The headers of its chapter that a kernel includes, directly or not."""
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
    """Whether the header declares the arguments of an operator of the chapter, like
    common/operators for others. It is not a part of the kernel's step."""
    return (ROOT / header).with_name(f"{header.stem}_operator.cpp").exists()


def kernel_of(number):
    """The kernel of lesson 06.04, or of 06.00; None if there is no such lesson."""
    try:
        folder = Path(place_of(number).folder)
    except Refused:
        return None
    return next((kernel for kernel in in_lessons("kernel*.c*") if kernel.parent == folder), None)


def with_headers(kernel, written):
    """The code lines of a kernel with the text `written`, after those of its chapter's headers,
    without headers of operators' arguments."""
    headers = [text_of(each) for each in headers_of(kernel) if not is_of_operator(each)]
    return code_lines("\n".join([*headers, written]))


def lines_new(kernel, before):
    """(new lines, all lines) of a kernel and its chapter's headers, compared with the previous
    lesson's wherever they were; all are new without a previous lesson."""
    earlier = text_of(before) if before else ""
    lines = with_headers(kernel, with_name_of(text_of(kernel), earlier))
    known = with_headers(before, earlier) if before else []
    matcher = difflib.SequenceMatcher(None, known, lines, autojunk=False)
    return len(lines) - sum(block.size for block in matcher.get_matching_blocks()), len(lines)


def fault_of_change(kernel):
    """A sentence if the first comment does not give the kernel's change, or too much is new."""
    change = head_of(kernel)[1]
    named = lesson_named_by(kernel)
    before = kernel_of(named) if named else None
    if named and not before:
        return f"{kernel}: its Change: names {named}, but there is no such lesson"
    rewrite = re.search(r"\brewrite\b", change)
    if rewrite and "rewrite" not in text_of(kernel.parent / "README.md"):
        return f"{kernel}: its Change: contains rewrite, but its page does not give the reason"
    if not before:
        first = re.match("none\\b", change)
        return "" if rewrite or first else f"{kernel}: its Change: should name the lesson that it changes, as 06.04, or contain rewrite or none"
    new, together = lines_new(kernel, before)
    share = new / max(min(together, length_of(kernel)[1]), 1)
    if rewrite:
        return f"{kernel}: its Change: contains rewrite, but only {share:.0%} of its lines are new against {named}" if share <= MOST_NEW else ""
    return f"{kernel}: {share:.0%} of its lines are new against {named}; allowed: {MOST_NEW:.0%}, or rewrite in its Change:" if share > MOST_NEW else ""


def length_of(kernel):
    """(the lines of the kernel and its chapter's headers, the limit)"""
    hard = kernel.stem.endswith("_sm90") or re.search(r"\bgradients\b.* on tensor cores", head_of(kernel)[0])
    lines = sum(len(code_lines(text_of(each))) for each in [kernel, *headers_of(kernel)])
    return lines, MOST_LINES_OF_HARD_ONES if hard else MOST_LINES


def longer():
    """{lesson: the reason why it may be longer}"""
    rows = (line.split(None, 1) for line in text_of(LONGER).splitlines() if line and not line.startswith("#"))
    return {lesson: why for lesson, why in rows}


def faults(kernels, allowed):
    """A sentence for each fault, or ""."""
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
