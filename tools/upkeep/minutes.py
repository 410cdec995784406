#!/usr/bin/env python3
"""Keeps the minutes on each lesson's page up to date: "*Plan 35 minutes: 12 to read, 15 for holes 1
and 2, 8 to break things.*" The minutes to read are counted: 75 words of prose per minute, and ten
new lines of its kernels per minute. The author estimates the others: two minutes per line to write,
and the time for other tasks. A reference has no minutes to read, because readers look things up in
it. A number changes if it is wrong by more than a fifth and by more than 3 minutes; the total is
then a multiple of 5."""
import argparse
import re
import sys

import steps  # finds ladder_tools
from ladder_tools.learning import is_reference
from ladder_tools.place import ROOT, in_lessons, text_of

WORDS, LINES = 75, 10  # per minute
_PLAN = re.compile(r"^\*Plan .*\*$", re.MULTILINE)
_PARTS = re.compile(r"\b([0-9]+) (to read|(?:for|to) [^,.*]+)")
_NO_PROSE = re.compile(r"<!--.*?-->|<details>.*?</details>|^```.*?^```|^(?:#|\||\[chapter |\*(?:Plan|Reference|No) ).*?$|\]\([^)\s]*\)",
                       re.DOTALL | re.MULTILINE)


class Wrong(ValueError):
    """A page without the lines that its author must write."""


def words(text):
    """The words of a page's prose, without code, tables, headings, hints and answers."""
    return sum(any(map(str.isalnum, word)) for word in _NO_PROSE.sub(" ", text).split())


def kernels_of(folder):
    return [folder / path.name for path in sorted((ROOT / folder).glob("kernel*.c*"))]


def to_read(folder, text):
    """The minutes to read a lesson's page, by the rule above."""
    new = sum(steps.lines_new(kernel, steps.kernel_of(steps.lesson_named_by(kernel)))[0] for kernel in kernels_of(folder))
    return words(text) / WORDS + new / LINES


def planned(folder, text):
    """A lesson's page with today's minutes to read in its plan."""
    found = _PLAN.search(text)
    parts = [(int(minutes), what) for minutes, what in _PARTS.findall(found[0])] if found else []
    others = [part for part in parts if part[1] != "to read"]
    if is_reference(text):
        parts = others
        if found and not others:
            raise Wrong("it is a reference, which has no minutes to read: take out its line *Plan")
    else:
        rule = to_read(folder, text)
        if not found:
            raise Wrong(f"it has no line like *Plan {round(rule) + 23} minutes: {round(rule)} to read, 15 for the exercise, 8 to break things.*")
        said, together = sum(minutes for minutes, what in parts if what == "to read"), sum(minutes for minutes, _ in others)
        if abs(said - rule) > max(3, rule / 5):
            said = max(5 * round((rule + together) / 5) - together, 1)
        parts = [(said, "to read"), *others]
    if not found:
        return text
    line = f"*Plan {sum(minutes for minutes, _ in parts)} minutes: {', '.join(f'{minutes} {what}' for minutes, what in parts)}.*"
    return text[:found.start()] + line + text[found.end():]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/minutes.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; end with 1 where a page is not up to date")
    options = parser.parse_args(arguments)
    wrong, stale = [], []
    # A chapter's page without a kernel only leads to its lessons.
    pages = [page for page in in_lessons("README.md") if len(page.parts) == 3 or kernels_of(page.parent)]
    for page in pages:
        text = text_of(page)
        try:
            new = planned(page.parent, text)
        except Wrong as error:
            wrong.append(f"{page}: {error}")
            continue
        if new != text:
            stale.append(f"{page}: {_PLAN.search(text)[0]} should be {_PLAN.search(new)[0]}")
            if not options.check:
                (ROOT / page).write_text(new)
    for sentence in wrong + stale:
        print(sentence)
    if options.check and stale:
        print("run tools/upkeep/minutes.py, then tools/upkeep/render.py", file=sys.stderr)
    print(f"{len(pages)} lessons; of {len(stale)} the minutes to read were wrong, {len(wrong)} have no plan")
    return 1 if wrong or options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
