#!/usr/bin/env python3
"""Do the links of all Markdown pages lead somewhere? Files and headings inside the tree; with --external the addresses outside, too."""
import argparse
import subprocess
import sys
from pathlib import Path

import links

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--external", action="store_true", help="ask the addresses outside of the tree, too (needs a network)")
    options = parser.parse_args()
    known = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    known = [each for each in known if each and (ROOT / each).exists()]
    pages = [each for each in known if each.endswith(".md")]
    wrong = links.broken(ROOT, pages, known)
    if options.external:
        for address, where in links.external(ROOT, pages).items():
            status = links.status_of(address)
            print(f"{status}  {address}")
            if not isinstance(status, int) or status in (404, 410):
                wrong.append(f"{', '.join(sorted(set(where)))}: {address}: {status}")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{len(pages)} pages, {len(wrong)} links lead nowhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
