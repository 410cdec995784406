#!/usr/bin/env python3
"""Brings everything that is made from records/ and from kernels up to date: blocks and code in
pages, pictures, the page of comparisons, translations."""
import argparse
import re
import sys
from pathlib import Path

import blocks
import lessons
import marks
import nvcc
import pictures
import plots
import samples
from ladder_tools.place import Refused
from records import Missing, Records

RESULTS = Path("records")
STALE_LINE = "> **本页可能已过时**：英文版 [README.md](README.md) 在本页翻译之后有改动，请以英文版为准。(This page is older than the English one.)"
# {page: first head cells of tables with times that are not measurements}, with the reason. None:
# the whole page is generated.
MAY_HAVE_FIGURES = {
    Path("records/h200_compare.md"): None,  # tools/upkeep/compare makes it from its JSON
    Path("records/README.md"): ("field",),  # the stopwatch's waits and loads
}


def pages_of(root):
    return [Path(name) for name in nvcc.files_here(root) if name.endswith(".md") and (root / name).exists()]


def wanted(root, pages, compare_page):
    """{path: text} of everything generated. blocks.Wrong names the page, and definitions that no
    page uses."""
    records = Records(root)
    definitions = blocks.Definitions(root, records)
    result, wrong = {}, []
    for page in pages:
        try:
            text = (root / page).read_text()
            text = lessons.with_way(page, text) if re.match("[0-9][^/]*/[0-9][^/]*/README.md$", str(page)) else text
            text = blocks.rendered(text, records, definitions, blocks.language_of(page))
            result[page] = marks.filled(page, text)
        except (blocks.Wrong, marks.Wrong) as error:
            wrong += [f"{page}: {line}" for line in str(error).split("\n")]
    wrong += [f"{blocks.FOLDER}/{name}.txt: no page has this table" for name in definitions.unused()]
    if wrong:
        raise blocks.Wrong("\n".join(wrong))
    for page in pages:
        result[page] = blocks.translation_marked(result[page], lambda name: blocks.meaning_hash(result[Path(name)], definitions), STALE_LINE)
    result[RESULTS / "h200_compare.md"] = compare_page
    result[Path("docs/figures/ladder.svg")] = pictures.ladder(records)
    result |= {Path("docs/figures") / name: text for name, text in plots.drawn(root, records).items()}
    result[Path("docs/figures/xray.svg")] = pictures.xray(records.sample("xray_picture"))
    return result


def bare_figures(root, pages):
    """A sentence for each table of measured figures, and each line of a table's definition, that
    does not come from records/."""
    wrong = [f"{blocks.FOLDER}/{name}.txt:{line}: figures that no record has: {text}"
             for name, line, text in blocks.Definitions(root, None).with_figures()]
    for page in pages:
        allowed = MAY_HAVE_FIGURES.get(page, ())
        if allowed is not None:
            wrong += [f"{page}:{line}: figures that no record has: {head}" for line, head in blocks.bare_figures((root / page).read_text(), allowed)]
    return wrong


def compare_page(root):
    sys.path.insert(0, str(root / "tools/upkeep/compare"))
    import tables
    return tables.page(sorted((root / RESULTS).glob("h200_compare*.json")), root)


def shown(name, records, definitions):
    """A run's or a case's rows, a page's table, or a table of transcribed figures; without a name
    all runs."""
    if not name or name in records.runs or name in records.cases:
        return "\n".join(records.all_rows(name, blocks.OLD) if name else records.all_runs(blocks.OLD))
    try:
        return blocks.render(definitions.of(name), records)
    except Missing:
        known = [*records.runs, *records.cases, *records.tables, *definitions.names()]
        raise Refused(f"--show {name}: no run, case or table; allowed: --show alone lists all runs, records/tables/ has the pages' tables", name, known) from None


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/render.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; end with 1 where something is not up to date")
    parser.add_argument("--show", nargs="?", const="", metavar="NAME", help="print a run's or a case's rows, or a page's table; without a name all runs")
    parser.add_argument("--record", nargs="*", metavar="SAMPLE", help="first run the sample outputs' commands anew (all, or those named)")
    parser.add_argument("--translated", action="store_true", help="README.zh-CN.md translates today's README.md: record that")
    options = parser.parse_args(arguments)
    root = nvcc.ROOT
    try:
        if options.show is not None:
            records = Records(root)
            print(shown(options.show, records, blocks.Definitions(root, records)))
            return 0
        if options.record is not None:
            samples.record(options.record)
        if options.translated:
            path, definitions = root / "README.zh-CN.md", blocks.Definitions(root, Records(root))
            path.write_text(blocks.translation_stamped(path.read_text(), lambda name: blocks.meaning_hash((root / name).read_text(), definitions)))
        result = wanted(root, pages_of(root), compare_page(root))
    except (ValueError, Refused) as error:  # blocks.Wrong, or an invalid record
        print(error, file=sys.stderr)
        return 2
    stale = [path for path, text in result.items() if not (root / path).exists() or (root / path).read_text() != text]
    bare = bare_figures(root, pages_of(root))
    for sentence in bare:
        print(f"{sentence}\n  put it into records/ and render it (tools/README.md, render)", file=sys.stderr)
    if options.check:
        for path in stale:
            print(f"{path} is out of date with records/, the lessons or their kernels: run tools/upkeep/render.py, and review its changes", file=sys.stderr)
        print(f"{len(result)} generated files, {len(stale)} not up to date; {len(bare)} tables of figures without a record")
        return 1 if stale or bare else 0
    for path in stale:
        (root / path).write_text(result[path])
        print(f"written: {path}")
    for path, text in result.items():
        if blocks.STALE in text and path.suffix == ".md" and blocks.TRANSLATES.search(text):
            print(f"{path} is marked as stale: translate the changes, then tools/upkeep/render.py --translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
