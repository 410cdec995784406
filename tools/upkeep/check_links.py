#!/usr/bin/env python3
"""Do the links of all Markdown pages lead somewhere? Files and headings inside the tree; with --external the addresses outside, too."""
import argparse
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from nvcc import ROOT, files_here

CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
COMMENT = re.compile(r"<!--.*?-->", re.S)
INLINE = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


def links(page):
    """Targets in the order of the page; those in code and comments are none."""
    text = COMMENT.sub("", CODE.sub("", page))
    found = [(match.start(), match[1]) for pattern in (INLINE, HTML) for match in pattern.finditer(text)]
    return [target for _, target in sorted(found)]


def anchors(page):
    """The headings' names as GitHub makes them."""
    text = COMMENT.sub("", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M))
    names, seen = set(ANCHOR.findall(text)), {}
    for heading in HEADING.findall(text):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def broken(root, pages, known):
    """A sentence for each link inside the tree that leads nowhere. `known`: the tree's files."""
    files = {Path(each) for each in known}
    folders = {folder for each in files for folder in each.parents}
    wrong = []
    for page in pages:
        text = (root / page).read_text()
        for target in links(text):
            if re.match(r"[a-z][a-z0-9+.\-]*:", target):  # an address outside
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


def status_of(address, seconds=20):
    """200 and the like, or what went wrong."""
    request = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except (urllib.error.URLError, OSError, ValueError) as error:
        return str(getattr(error, "reason", error))


def external(root, pages):
    """Address -> the pages that link to it."""
    found = {}
    for page in pages:
        for target in links((root / page).read_text()):
            if target.startswith(("http:", "https:")):
                found.setdefault(target.partition("#")[0], []).append(page)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--external", action="store_true", help="ask the addresses outside of the tree, too (needs a network)")
    options = parser.parse_args()
    known = [each for each in files_here() if (ROOT / each).exists()]
    pages = [each for each in known if each.endswith(".md")]
    wrong = broken(ROOT, pages, known)
    if options.external:
        for address, where in external(ROOT, pages).items():
            status = status_of(address)
            print(f"{status}  {address}")
            if not isinstance(status, int) or status in (404, 410):
                wrong.append(f"{', '.join(sorted(set(where)))}: {address}: {status}")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{len(pages)} pages, {len(wrong)} links lead nowhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
