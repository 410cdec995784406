#!/usr/bin/env python3
"""Lists the numbers that the prose of pages has lost (-) and gained (+) since a revision, so that
an edit of words changes no fact. Tables, code and links are left out."""
import argparse
import re
import sys
from collections import Counter

from nvcc import ROOT, ToolError, git

_LEFT_OUT = re.compile(r"^(```|~~~).*?^\1|<!--.*?-->|^\|.*?$|\]\([^)]*\)|^ {4,}.*?$|<[^>]*>", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")


def numbers_of(text):
    return Counter(number.rstrip(",") for number in _NUMBER.findall(_LEFT_OUT.sub(" ", text)))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/prose_numbers.py", description=__doc__)
    parser.add_argument("revision", help="the revision to compare the working tree with")
    options = parser.parse_args(arguments)
    changed = 0
    try:
        pages = git("diff", "--name-only", "--diff-filter=M", options.revision, "--", "*.md").split()
    except ToolError as error:
        sys.exit(f"prose_numbers.py: revision is '{options.revision}': {error}")
    for page in pages:
        before = numbers_of(git("show", f"{options.revision}:{page}"))
        now = numbers_of((ROOT / page).read_text())
        words = [f"-{number}" for number in (before - now).elements()] + [f"+{number}" for number in (now - before).elements()]
        changed += bool(words)
        if words:
            print(f"{page}: {' '.join(words)}")
    print(f"{changed} pages with other numbers")


if __name__ == "__main__":
    main()
