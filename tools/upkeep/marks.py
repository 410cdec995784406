"""Renders code on Markdown pages. A mark selects lines of today's tree, which follow below it:

    <!-- code: kernel.cu:wkv_no_atomic -->            a whole function, kernel, struct, lambda or
                                                      initialised variable
    <!-- code: kernel.cu:launch "if (" .. "}" -->     its lines from the first that contains the one
                                                      to the next that contains the other
    <!-- code: kernel.cu:launch "switch" and "a" .. "b" -->
                                                      further lines of it, after a line `// ...`;
                                                      `"words"` is one line
    <!-- code: ../../cmake/Cuda.cmake "function(" .. ")" -->
                                                      lines of the whole file, without a name
    <!-- diff: 04 -->                                 the changes from that lesson's kernel to the
                                                      kernel in this page's folder
    <!-- end -->

A mark is alone on its line, and its path is relative to the page. launch#2 is the second of several
definitions of one name. A whole file may have at most 40 lines, and a diff at most 25; a longer
diff is replaced by a sentence with the command."""
import difflib
import posixpath
import re
from pathlib import Path

import nvcc  # finds ladder_tools
from ladder_tools.learning import kernel_of
from ladder_tools.pages import FENCED
from ladder_tools.patches import with_name_of
from ladder_tools.place import ROOT, Refused, lesson_of
from sources import closed_at

MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_DIFF = 40, 25

_MARK = re.compile(r"^<!-- (?P<kind>code|diff): (?P<what>.*?) -->\n(?P<body>.*?)^<!-- end -->$", re.S | re.M)
_ANY_MARK = re.compile(r"<!-- (?:code|diff|table):")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_WHAT = re.compile(r'(?P<file>[^\s:"]+)(?::(?P<name>\w+(?:::\w+)*)(?:#(?P<number>\d+))?)?(?: (?P<ranges>".*"))?')
_RANGE = re.compile(r'"([^"]+)"(?: \.\. "([^"]+)")?(?: and (?="))?')
_LANGUAGES = {".cu": "cpp", ".cuh": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".cmake": "cmake", ".txt": "cmake", ".ptx": "ptx"}


class Wrong(ValueError):
    """A mark without code."""


# Everything that is not code in C++: comments, strings, characters, and preprocessor lines. A
# number with separators is code.
_NO_CODE = re.compile(r"""(?P<number>\b\d[\w.']*)|//[^\n]*|/\*.*?\*/|R"(?P<r>\w*)\(.*?\)(?P=r)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|"""
                      r"""^[ \t]*(?P<directive>\#(?:\\\n|[^\n])*)""", re.S | re.M)
_ACCESS = re.compile(r"\b(?:public|private|protected)\s*:")


def _bare(text):
    """`text` with blanks instead of everything that is not code, at the same positions. The end of
    the text before a definition gets a semicolon."""
    def blank(found):
        if found["number"]:
            return found[0]
        blanks = re.sub(r"[^\n]", " ", found[0])
        return ";" + blanks[1:] if found["directive"] and not blanks.startswith("\n") else blanks
    return _ACCESS.sub(lambda found: ";" + re.sub(r"[^\n]", " ", found[0][1:]), _NO_CODE.sub(blank, text))


_AFTER_PARAMETERS = re.compile(r"[^;{}(),=?]*\{")
_LAMBDA = re.compile(r"\s*=\s*\[[^\];]*\]\s*(?:<[^;{}()]*>)?\s*(\()?")
_INITIALISED = re.compile(r"(?:\[[^\]]*\])*\s*(?:=\s*)?\{")
_TYPE = re.compile(r"\b(?:struct|class|union|enum|enum class|namespace)\s+(?:alignas\s*\([^;{}]*?\)\s*)?$")
_BODY_OF_TYPE = re.compile(r"[^;{}()=]*\{")
_BEFORE_A_USE = re.compile(r"(?:\b(?:return|else|new|throw|case|do|goto|co_return)|[^\w\s>*&)\]:]|->|[^:]:|^)\s*$")


def _body(bare, name):
    """A match of the brace that opens the definition of `name`; None if it is only used."""
    line = bare[max(bare.rfind(each, 0, name.start()) for each in ";{}") + 1:name.start()]
    if _TYPE.search(line):
        found = _BODY_OF_TYPE.match(bare, name.end())
        return found and found.end() - 1
    if _BEFORE_A_USE.search(line):
        return None
    found = _LAMBDA.match(bare, name.end())
    if found:
        end = closed_at(bare, found.start(1)) if found[1] else found.end() - 1
    else:
        found = _INITIALISED.match(bare, name.end())
        if found:
            return found.end() - 1
        found = re.compile(r"\s*(?:<[^;{}()]*>)?\s*\(").match(bare, name.end())
        if not found:
            return None
        end = closed_at(bare, found.end() - 1)
    found = end is not None and _AFTER_PARAMETERS.match(bare, end + 1)
    return found.end() - 1 if found else None


def definitions(bare, name):
    """(first line, line after the last), from 0 on, of all definitions of that name."""
    found = []
    for each in re.finditer(rf"\b{name}\b", bare):
        opens = _body(bare, each)
        closes = None if opens is None else closed_at(bare, opens)
        if closes is not None:
            begin = max(bare.rfind(before, 0, each.start()) for before in ";{}") + 1
            begin += len(bare[begin:]) - len(bare[begin:].lstrip())
            found.append((bare.count("\n", 0, begin), bare.count("\n", 0, closes) + 1))
    return found


def _part(text, where, name, number):
    """(first line, line after the last) of a definition."""
    bare = _bare(text)
    found = definitions(bare, name)
    if not found:
        known = dict.fromkeys(each for each in re.findall(r"\b[A-Za-z_]\w*", bare) if definitions(bare, each))
        raise Wrong(f"{where} defines no {name}; allowed: {', '.join(known) or 'words of its lines, it defines nothing'}")
    if not (1 <= int(number or 1) <= len(found)) or len(found) > 1 and not number:
        lines = ", ".join(f"{name}#{at} (line {begin + 1})" for at, (begin, _) in enumerate(found, 1))
        raise Wrong(f"{where} defines {name} {len(found)} times; allowed: {lines}")
    return found[int(number or 1) - 1]


def _whole_todo(lines, at):
    """The line after the last of the TODO(n) lines that continue the line `at`."""
    todo = re.match(r"\s*// TODO\(\d+\): ", lines[at])
    at += 1
    while todo and at < len(lines) and lines[at].startswith(todo[0]):
        at += 1
    return at


def _ranges(lines, begin, end, ranges, of):
    """[(first line, line after the last)], between the lines begin and end. A TODO comment is
    shown to its end."""
    found, at, before = [], begin, None
    for first, last in _RANGE.findall(ranges):
        for words in filter(None, (first, last)):
            place = next((each for each in range(at, end) if words in lines[each]), None)
            if place is None and any(words in line for line in lines[begin:end]):
                raise Wrong(f'"{words}" is in no line of {of} below "{before}": the words are in the wrong order; allowed: words of a line below it')
            if place is None:
                raise Wrong(f'"{words}" is in no line of {of}; allowed: words of its lines {begin + 1} to {end}')
            if words is first:
                found.append((place, place + 1))
            found[-1] = (found[-1][0], _whole_todo(lines, place))
            at, before = found[-1][1], words
    return found


def _fenced(lines, language):
    text = "\n".join(lines)
    if "<!-- end -->" in text:
        raise Wrong("the lines hold an `<!-- end -->` of their own; allowed: lines without it")
    fence = "`" * max([3, *(len(each) + 1 for each in re.findall("`{3,}", text))])
    return f"{fence}{language}\n{text}\n{fence}\n"


def code(page, what):
    """The fenced lines that a mark selects."""
    mark = _WHAT.fullmatch(what)
    if not mark or mark["ranges"] and _RANGE.sub("", mark["ranges"]):
        raise Wrong('allowed: FILE:NAME, and after it, or after FILE, "first" .. "last" or "words", further ones after `and`')
    file = Path(posixpath.normpath((Path(page).parent / mark["file"]).as_posix()))
    if file.parts[0] == ".." or not (ROOT / file).is_file():
        raise Wrong(f"there is no {file}; allowed: files of the tree, from the page's folder on")
    text = (ROOT / file).read_text()
    lines = text.expandtabs().splitlines()
    language = _LANGUAGES.get(file.suffix, "")
    begin, end = 0, len(lines)
    if mark["name"]:
        if language not in ("cpp", "c"):
            raise Wrong(f'{file} is not C++; allowed: {mark["file"]} "first" .. "last"')
        begin, end = _part(text, str(file), mark["name"], mark["number"])
    elif not mark["ranges"] and end > MOST_LINES_OF_A_FILE:
        raise Wrong(f"{file} has {end} lines; allowed: files of at most {MOST_LINES_OF_A_FILE}, or {mark['file']}:NAME, or words of its lines")
    shown, last = [], None
    of = f"{mark['name']} in {file}" if mark["name"] else str(file)
    for first, behind in _ranges(lines, begin, end, mark["ranges"], of) if mark["ranges"] else [(begin, end)]:
        if last is not None and first > last:
            indent = len(lines[first]) - len(lines[first].lstrip())
            shown.append(" " * indent + ("# ..." if language in ("python", "cmake") else "// ..."))
        shown += lines[first:behind]
        last = behind
    margin = min((len(line) - len(line.lstrip()) for line in shown if line.strip()), default=0)
    return _fenced([line[margin:].rstrip() for line in shown], language)


def _hunks(before, after):
    """The lines of a diff with one line of context. Each hunk begins with the line by which git
    would name it."""
    shown = []
    for line in list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]:
        if line.startswith("@@"):
            first = int(re.search(r"\+(\d+)", line)[1])
            heads = [each for each in after[:max(0, first - 1)] if re.match(r"[A-Za-z_]", each) and not re.match("template|using", each)]
            line = f"@@ {heads[-1] if heads else ''}".rstrip()
        shown.append(line)
    return shown


def diff(page, lesson):
    """The fenced changes from that lesson's kernel to the one beside the page, or a sentence with
    the command. First comments and the kernels' names do not count."""
    folder = Path(page).parent
    if not list((ROOT / folder).glob("kernel*.c*")):
        raise Wrong("there is no kernel beside the page; allowed: on the page of a lesson with a kernel.cu, kernel_sm90.cu or kernel.cpp")
    try:
        before, after = (kernel_of(each).read_text() for each in (lesson, str(folder)))
    except Refused as error:
        raise Wrong(error.args[0]) from None
    sides = [re.sub(r"\A(?://.*\n)*", "", each).splitlines() for each in (with_name_of(before, after), after)]
    shown = _hunks(*sides)
    if not shown:
        raise Wrong(f"the kernel is that of {lesson}, names aside; allowed: a lesson whose kernel differs")
    if len(shown) <= MOST_LINES_OF_A_DIFF:
        return _fenced(shown, "diff")
    changed = sum(not line.startswith(("@@", " ")) for line in shown)
    return f"`./ladder diff {lesson} {lesson_of(folder).partition('_')[0]}` shows the {changed} lines that change.\n"


def filled(page, text):
    """The page's text with the lines of all its marks. Wrong lists all errors."""
    wrong = []

    def anew(mark):
        head = mark[0].partition("\n")[0]
        try:
            if _ANY_MARK.search(FENCED.sub("", mark["body"])):
                raise Wrong("is not closed; allowed: a mark, its lines and `<!-- end -->`, each on a line of its own")
            body = code(page, mark["what"]) if mark["kind"] == "code" else diff(page, mark["what"])
        except Wrong as error:
            wrong.append(f"{head}: {error}")
            return mark[0]
        return f"{head}\n{body}<!-- end -->"

    result = _MARK.sub(anew, text)
    for stray in re.finditer(r"<!-- (?:code|diff):.*", _CODE_SPAN.sub("", FENCED.sub("", _MARK.sub("", text)))):
        wrong.append(f"{stray[0]}: is not closed, or not alone on its line; allowed: a mark, its lines and `<!-- end -->`, each on a line of its own")
    if wrong:
        raise Wrong("\n".join(wrong))
    return result


def emptied(text):
    """The page's text with its marks but without the rendered lines."""
    return _MARK.sub(lambda mark: f"<!-- {mark['kind']}: {mark['what']} -->\n<!-- end -->", text)
