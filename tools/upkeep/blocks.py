"""Renders blocks of Markdown. A page names a block, records/tables/NAME.txt is a text with
placeholders, and the page gets this text with the values from records/:

    <!-- table: NAME -->
    ...
    <!-- end -->

    @run = h200_06_wkv_fp32_training
    | | time |
    |---|---:|
    | `wkv_float4` | {{run : wkv_float4}} |

A placeholder is {{RECORD : ROW : FIELD}}, where FIELD is optional. RECORD is the name of a run in
records/, a case of h200_compare*.json, a table of transcribed.json (ROW is its first cell, FIELD
its column), or a recorded X-ray (ROW is a kernel, FIELD a counter). With a question mark at the
end, it is empty if there is no record. @NAME = TEXT lets NAME stand for TEXT.

    {{sample NAME}}                               a recorded sample output
    {{wrote NAME}}                                the lines that a sample's learner writes
    {{ceilings DEVICE : KEY : FACTOR : DIGITS}}   the range of a ceiling over all runs
    {{fastest kernels}}                           the fastest kernels of WKV by shape
    {{lessons CHAPTER : FROM : TO}}               a row per lesson (all without numbers)
    {{exercise FOLDER}}                           the holes of a lesson's exercise
    {{refusals CHAPTER}}                          what each lesson's kernel rejects
    {{number of lessons CHAPTER}}, {{minutes CHAPTER : FROM : TO}}, {{hours CHAPTER : FROM : TO}}
    {{path NAME}}, {{hours NAME}}, {{hours all}}  a path's lessons, its hours, all hours
    {{number of WHAT}}                            a count of the whole tree (lessons.numbers)
    {{address WORDS}}                             the published repository, or <WORDS>
    {{RECORD : conditions}}                       the record's commit and day
    {{conditions}}                                those of all other figures in the block

A block that names conditions must name those of all its figures. A line that begins with
[if RECORD : ROW] or [unless RECORD : ROW] appears only if that row was, or was not, recorded. A
time whose kernel's machine code has changed since is marked with a ring, and a line names the
commit.

A NAME without such a file is a table of transcribed.json as a whole. On a page X.LANGUAGE.md the
lines "TEXT = TRANSLATION" of NAME.LANGUAGE.txt replace their texts."""
import hashlib
import re
from pathlib import Path, PurePath

import lessons
import marks
import plots
from ladder_tools.pages import published_address
from records import Missing

FOLDER = Path("records/tables")

BLOCK = re.compile(r"<!-- table: (?P<name>.*?) -->\n(?P<text>.*?)<!-- end -->", re.S)
PLACEHOLDER = re.compile(r"\{\{(.+?)\}\}")
CONDITION = re.compile(r"\[(if|unless) ([^\]]+)\] ?")
OLD = "°"
NO_BREAK = "\u00a0"
TIMES = ("", "time", "sustained", "both", "call", "burst", "whole")
OLD_LINES = {"": "Measured at commit {}; the kernel's machine code has changed since.", "zh-CN": "在提交 {} 测得，此后该核函数的机器码已改变。"}
STALE = "<!-- stale -->"
_OTHER_CONDITIONS = "\0"  # known after all lines have been read


class Wrong(ValueError):
    """A template with an error, and its place."""


def _parts(text, names):
    parts = [part.strip() for part in text.split(" : ")]
    parts[0] = names.get(parts[0], parts[0])
    return parts + [""] * (3 - len(parts))


class _Said:
    """Collects, in order, the commits of old times, the conditions that a block names, and those of
    all its figures."""

    def __init__(self):
        self.old, self.named, self.conditions = {}, {}, {}


def _placeholder(text, names, records, said):
    if text == "conditions":
        return _OTHER_CONDITIONS
    if text.startswith("sample "):
        return "\n".join(records.sample(text.removeprefix("sample ").strip())["lines"])
    if text.startswith("ceilings "):
        device, key, scale, digits = text.removeprefix("ceilings ").split(" : ")
        return records.ceilings(device.strip(), key.strip(), float(scale), int(digits))
    if text == "fastest kernels":
        return "\n".join(plots.fastest(records.root))
    if text.startswith("lessons "):
        return "\n".join(lessons.rows(*text.removeprefix("lessons ").split(" : ")))
    if text.startswith("refusals "):
        return "\n".join(lessons.refusals(text.removeprefix("refusals ")))
    if text.startswith("number of lessons "):
        return str(lessons.count(text.removeprefix("number of lessons ")))
    if text.startswith("number of "):
        return str(lessons.numbers()[text.removeprefix("number of ")])
    if text.startswith("wrote "):
        return "\n".join(records.sample(text.removeprefix("wrote "))["writes"]["lines"])
    if text.startswith("address"):
        return published_address(records.root) or f"<{text.removeprefix('address').strip()}>"
    if text.startswith("minutes "):
        return str(lessons.minutes(*text.removeprefix("minutes ").split(" : ")))
    if text.startswith("hours "):
        return lessons.hours(*text.removeprefix("hours ").split(" : "))
    if text.startswith("exercise "):
        return lessons.exercise(text.removeprefix("exercise "))
    if text.startswith("path "):
        return lessons.path(text.removeprefix("path "))
    optional = text.rstrip().endswith("?")
    name, row, field = _parts(text.rstrip().removesuffix("?"), names)[:3]
    try:
        value = records.value(name, row, field)
        if row == "conditions":
            said.named[value] = True
        about_a_row = row != "conditions" and not row.startswith("ceiling ") and name not in records.tables
        old = about_a_row and field in TIMES and records.is_old(name, row)
    except Missing:
        if optional:
            return ""
        raise
    if about_a_row and name in records.runs | records.cases:
        said.conditions[records.value(name, "conditions", "")] = True
    if old:
        said.old[records.commit(name)] = True
    # A number and its unit stay on one line in a narrow table.
    return (value.replace(" ", NO_BREAK) if about_a_row else value) + (OLD if old else "")


def _joined(conditions):
    """"commit abc1234, 2026-01-02", or "commits abc1234 (2026-01-02) and def5678 (2026-01-03)"."""
    if len(conditions) < 2:
        return "".join(conditions)
    *most, last = [re.sub(r"commit (\w+), (\S+)", r"\1 (\2)", each) for each in conditions]
    return f"commits {', '.join(most)} and {last}"


def _holds(kind, text, names, records):
    name, row, field = _parts(text, names)[:3]
    try:
        records.value(name, row, field)
        return kind == "if"
    except Missing:
        return kind == "unless"


def render(template, records, language=""):
    """The block's text. Wrong lists the placeholders without a value, one per line."""
    names, lines, wrong, said = {}, [], [], _Said()
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
            lines.append(PLACEHOLDER.sub(lambda found: _placeholder(found[1], names, records, said), line))
        except (Missing, ValueError) as error:
            wrong.append(f"'{line}': {error.args[0]}")
    if wrong:
        raise Wrong("\n".join(wrong))
    text = "\n".join(lines)
    others = _joined([each for each in said.conditions if each not in said.named])
    if said.named and others and _OTHER_CONDITIONS not in text:
        raise Wrong(f"it names the conditions {', '.join(said.named)}, but has times of {others} too; allowed: {{{{conditions}}}} for these")
    text = text.replace(_OTHER_CONDITIONS, others)
    return text + (f"\n\n{OLD} {OLD_LINES[language].format(', '.join(said.old))}" if said.old else "")


class Definitions:
    """The texts with placeholders, by name, and which of them are in use."""

    def __init__(self, root, records):
        self._texts = {path.stem: path.read_text().removesuffix("\n") for path in (Path(root) / FOLDER).glob("*.txt")}
        self._records, self._used = records, set()

    def of(self, name, language=""):
        """The definition; raises Missing if there is none."""
        if name not in self._texts:
            return "\n".join(self._records.table(name))
        self._used.add(name)
        text, words = self._texts[name], f"{name}.{language}"
        if words in self._texts:
            self._used.add(words)
            for line in self._texts[words].split("\n"):
                said, _, translated = line.partition(" = ")
                if said not in text:
                    raise Missing(f"{words} translates '{said}', which {name} does not say")
                text = text.replace(said, translated)
        return text

    def names(self):
        return sorted(self._texts)

    def unused(self):
        return sorted(set(self._texts) - self._used)

    def with_figures(self):
        """(name, line number, line) of each line with measured figures that are not
        placeholders."""
        return [(name, number, line) for name, text in sorted(self._texts.items())
                for number, line in enumerate(PLACEHOLDER.sub("", text).split("\n"), 1) if WITH_UNIT.search(line)]


def language_of(page):
    """"zh-CN" for README.zh-CN.md, otherwise ""."""
    return PurePath(page).suffixes[-2].lstrip(".") if len(PurePath(page).suffixes) > 1 else ""


def rendered(page, records, definitions, language=""):
    """The page with all its blocks rendered. Wrong lists all errors."""
    wrong = []

    def anew(block):
        try:
            text = render(definitions.of(block["name"], language), records, language)
        except (Wrong, Missing, ValueError) as error:
            wrong.append(str(error.args[0]))
            return block[0]
        return f"<!-- table: {block['name']} -->\n{text}\n\n<!-- end -->"

    result = BLOCK.sub(anew, page)
    if wrong:
        raise Wrong("\n".join(wrong))
    return result


WITH_UNIT = re.compile(r"\d\s*(?:ns|us|µs|ms|[GT]B/s|[GT]FLOP/s|TF/s|G/s)(?![\w/])")
UNIT_IN_HEAD = re.compile(r"(?<![\w/])(?:ns|us|µs|ms|[GT]B/s|[GT]FLOP/s)(?![\w/])")


def bare_figures(page, allowed=()):
    """(line number, first line) of each table outside the blocks that has measured times or rates.
    `allowed`: first head cells of tables that may have them."""

    def empty(found):
        return re.sub(r"[^\n]", "", found[0])

    found = []
    lines, at = marks.FENCED.sub(empty, BLOCK.sub(empty, page)).split("\n"), 0
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
    return found


def meaning_hash(page, definitions):
    """A hash of the author's words: a block's definition and a mark count, the rendered text does
    not."""
    kept = BLOCK.sub(lambda block: definitions.of(block["name"]), marks.emptied(page))
    return hashlib.sha256(kept.encode()).hexdigest()


TRANSLATES = re.compile(r"<!-- translates (?P<page>\S+) sha256:(?P<hash>[0-9a-f]{64}) -->\n")


def translation_marked(page, hash_of, stale_line):
    """A translation with or without the line that marks it as outdated. `hash_of` maps a page's
    name to its hash."""
    found = TRANSLATES.search(page)
    if not found:
        return page
    rest = page[found.end():]
    if rest.startswith(STALE):
        rest = rest.partition("\n\n")[2]
    mark = "" if hash_of(found["page"]) == found["hash"] else f"{STALE}{stale_line}\n\n"
    return page[:found.end()] + mark + rest


def translation_stamped(page, hash_of):
    """The translation, stamped as up to date with its original."""
    return TRANSLATES.sub(lambda found: f"<!-- translates {found['page']} sha256:{hash_of(found['page'])} -->\n", page, count=1)
