#!/usr/bin/env python3
"""Checks that the links of all Markdown pages to files and headings inside the tree lead
somewhere."""
import argparse
import sys
import urllib.parse
from pathlib import Path

from nvcc import ROOT, files_here
from ladder_tools.pages import EXTERNAL, anchors, links


def broken(root, pages, known):
    """A sentence for each broken link inside the tree. `known`: the tree's files."""
    files = {Path(each) for each in known}
    folders = {folder for each in files for folder in each.parents}
    wrong = []
    for page in pages:
        text = (root / page).read_text()
        for target in links(text):
            if EXTERNAL.match(target):
                continue
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            try:
                place = Path(page) if not path else (root / Path(page).parent / path).resolve().relative_to(root.resolve())
            except ValueError:
                wrong.append(f"{page}: {target} leads out of the tree")
                continue
            if place not in files and place not in folders:
                wrong.append(f"{page}: {target}: there is no {place}")
            elif anchor and place.suffix == ".md" and anchor not in anchors((root / place).read_text()):
                wrong.append(f"{page}: {target}: {place} has no heading #{anchor}")
    return wrong


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    known = [each for each in files_here() if (ROOT / each).exists()]
    pages = [each for each in known if each.endswith(".md")]
    wrong = broken(ROOT, pages, known)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{len(pages)} pages, {len(wrong)} links lead nowhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
