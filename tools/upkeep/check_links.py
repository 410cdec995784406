#!/usr/bin/env python3
"""Checks that the links of all Markdown pages to files and headings inside the tree lead
somewhere."""
import argparse
import re
import sys
import urllib.parse
from pathlib import Path

from marks import FENCED
from nvcc import ROOT, files_here

CODE_SPAN = re.compile(r"`[^`\n]*`")
COMMENT = re.compile(r"<!--.*?-->", re.S)
INLINE = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


def links(page):
    """Targets in the page's order, without those in code and comments."""
    text = COMMENT.sub("", CODE_SPAN.sub("", FENCED.sub("", page)))
    found = [(match.start(), match[1]) for pattern in (INLINE, HTML) for match in pattern.finditer(text)]
    return [target for _, target in sorted(found)]


def anchors(page):
    """The headings' anchors as GitHub makes them."""
    text = COMMENT.sub("", FENCED.sub("", page))
    names, seen = set(ANCHOR.findall(text)), {}
    for heading in HEADING.findall(text):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def broken(root, pages, known):
    """A sentence for each broken link inside the tree. `known`: the tree's files."""
    files = {Path(each) for each in known}
    folders = {folder for each in files for folder in each.parents}
    wrong = []
    for page in pages:
        text = (root / page).read_text()
        for target in links(text):
            if re.match(r"[a-z][a-z0-9+.\-]*:", target):  # an external address
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
