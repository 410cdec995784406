"""Generated blocks of Markdown: text with placeholders, and below it the same text with what records/ says.

    <!-- generated from
    @run = h200_06_wkv_fp32_training
    | | time |
    |---|---:|
    | `wkv_float4` | {{run : wkv_float4}} |
    -->
    ...
    <!-- generated -->

A placeholder is {{RECORD : ROW : FIELD}}; FIELD may be left out. RECORD is a file of records/ without .json, or a case of
h200_compare*.json; @NAME = TEXT makes NAME stand for TEXT. A question mark at the end makes it empty where nothing was recorded.
RECORD may also be a table of transcribed.json (ROW its first cell, FIELD its column) or a recorded X-ray (ROW a kernel, FIELD a counter).
{{table NAME}} is such a table as a whole, {{sample NAME}} a recorded sample output,
{{ceilings DEVICE : KEY : FACTOR : DIGITS}} the range of a ceiling over all runs, {{all runs}} a row for each recorded run. A line that begins with [if RECORD : ROW] or [unless RECORD : ROW] is there only where
that row was, or was not, recorded. What belongs to a kernel that has changed since is marked with a ring, and a line says so."""
import hashlib
import re

from records import Missing

BLOCK = re.compile(r"<!-- generated from\n(?P<template>.*?)\n-->\n(?P<text>.*?)<!-- generated -->", re.S)
PLACEHOLDER = re.compile(r"\{\{(.+?)\}\}")
CONDITION = re.compile(r"\[(if|unless) ([^\]]+)\] ?")
OLD = "°"
NO_BREAK = "\u00a0"
TIMES = ("", "time", "sustained", "both", "call", "burst", "whole")
OLD_LINE = f"\n{OLD} An earlier version of this kernel."
STALE = "<!-- stale -->"


class Wrong(ValueError):
    """A template that means nothing, with its place."""


def _parts(text, names):
    parts = [part.strip() for part in text.split(" : ")]
    parts[0] = names.get(parts[0], parts[0])
    return parts + [""] * (3 - len(parts))


def _placeholder(text, names, records):
    if text.startswith("sample "):
        return "\n".join(records.sample(text.removeprefix("sample ").strip())["lines"])
    if text.startswith("table "):
        return "\n".join(records.table(text.removeprefix("table ").strip()))
    if text.startswith("ceilings "):
        device, key, scale, digits = text.removeprefix("ceilings ").split(" : ")
        return records.ceilings(device.strip(), key.strip(), float(scale), int(digits))
    if text.strip() == "all runs":
        return "\n".join(records.all_runs(OLD))
    optional = text.rstrip().endswith("?")
    name, row, field = _parts(text.rstrip().removesuffix("?"), names)[:3]
    try:
        value = records.value(name, row, field)
        about_a_row = row != "conditions" and not row.startswith("ceiling ") and name not in records.tables
        old = about_a_row and field in TIMES and records.is_old(name, row)
    except Missing:
        if optional:
            return ""
        raise
    # A number and its unit stay on one line of a narrow table.
    return (value.replace(" ", NO_BREAK) if about_a_row else value) + (OLD if old else "")


def _holds(kind, text, names, records):
    name, row, field = _parts(text, names)[:3]
    try:
        records.value(name, row, field)
        return kind == "if"
    except Missing:
        return kind == "unless"


def render(template, records):
    """The block's text. Wrong names every placeholder that stands for nothing, a line each."""
    names, lines, wrong = {}, [], []
    for line in template.split("\n"):
        if line.startswith("@"):
            name, equals, text = line[1:].partition(" = ")
            if not equals:
                raise Wrong(f"'{line}'; allowed: @NAME = TEXT")
            names[name.strip()] = text.strip()
            continue
        condition = CONDITION.match(line)
        if condition:
            if not _holds(condition[1], condition[2], names, records):
                continue
            line = line[condition.end():]
        try:
            lines.append(PLACEHOLDER.sub(lambda found: _placeholder(found[1], names, records), line))
        except (Missing, ValueError) as error:
            wrong.append(f"'{line}': {error.args[0]}")
    if wrong:
        raise Wrong("\n".join(wrong))
    text = "\n".join(lines)
    return text + (f"\n{OLD_LINE}" if OLD in text else "")


def rendered(page, records):
    """The page with all its blocks anew. Wrong names all that is wrong in all of them."""
    wrong = []

    def anew(block):
        try:
            text = render(block["template"], records)
        except Wrong as error:
            wrong.append(str(error))
            return block[0]
        return f"<!-- generated from\n{block['template']}\n-->\n{text}\n\n<!-- generated -->"

    result = BLOCK.sub(anew, page)
    if wrong:
        raise Wrong("\n".join(wrong))
    return result


CODE = re.compile(r"^```.*?^```", re.S | re.M)
WITH_UNIT = re.compile(r"\d\s*(?:ns|us|µs|ms|[GT]B/s|[GT]FLOP/s|TF/s|G/s)(?![\w/])")
UNIT_IN_HEAD = re.compile(r"(?<![\w/])(?:ns|us|µs|ms|[GT]B/s|[GT]FLOP/s)(?![\w/])")


def bare_figures(page, allowed=()):
    """(line number, first line) of each table outside of generated blocks that has measured times or rates, and of each line of a
    block's template that has some which are no placeholder. `allowed`: first cells of heads of tables that may have them."""

    def empty(text):
        return re.sub(r"[^\n]", "", text)

    found = []
    for block in BLOCK.finditer(page):
        begin = page.count("\n", 0, block.start("template")) + 1
        lines = PLACEHOLDER.sub("", block["template"]).split("\n")
        found += [(begin + number, line.strip()) for number, line in enumerate(lines) if WITH_UNIT.search(line)]
    text = CODE.sub(lambda code: empty(code[0]), BLOCK.sub(lambda block: empty(block[0]), page))
    lines, at = text.split("\n"), 0
    while at < len(lines):
        begin = at
        while at < len(lines) and lines[at].lstrip().startswith("|"):
            at += 1
        head, rows = lines[begin:begin + 1], lines[begin + 2:at]
        if rows and head[0].split("|")[1].strip() not in allowed:
            measured = UNIT_IN_HEAD.search(head[0]) and any(re.search(r"\|[^|]*\d", row) for row in rows)
            if measured or any(WITH_UNIT.search(row) for row in rows):
                found.append((begin + 1, head[0].strip()))
        at = max(at, begin + 1)
    return sorted(found)


def meaning_hash(page):
    """Of what an author wrote: the text of blocks left out, their templates kept."""
    kept = BLOCK.sub(lambda block: block["template"], page)
    return hashlib.sha256(kept.encode()).hexdigest()


TRANSLATES = re.compile(r"<!-- translates (?P<page>\S+) sha256:(?P<hash>[0-9a-f]{64}) -->\n")


def translation_marked(page, originals, stale_line):
    """A translation, with or without the line that says that its original has changed since. `originals` reads a page by name."""
    found = TRANSLATES.search(page)
    if not found:
        return page
    begin = found.end()
    rest = page[begin:]
    mark = f"{STALE}{stale_line}\n\n"
    if rest.startswith(STALE):
        rest = rest.partition("\n\n")[2]
    is_stale = meaning_hash(originals(found["page"])) != found["hash"]
    return page[:begin] + (mark if is_stale else "") + rest


def translation_stamped(page, originals):
    """The translation of the original as it is now."""
    return TRANSLATES.sub(lambda found: f"<!-- translates {found['page']} sha256:{meaning_hash(originals(found['page']))} -->\n", page, count=1)
