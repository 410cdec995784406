"""Reads from the sources what the ladder's programs show, so that a program contains only the
requested lessons."""
import re
from dataclasses import dataclass, replace

from ladder_tools.place import ABOVE_THE_CHAPTERS, ROOT, Place, chapters, in_lessons, lessons, number_of, place_of, registered_names, text_of

_NO_KERNEL = re.compile(r"(^|_)(test|operator|reference|main|exercise|measure|which)(_sm90)?\.")


@dataclass(frozen=True)
class Row:
    """A lesson that registers implementations: their names; all quoted names, which may be others'
    that it looks up when it runs; the operator types of its launchers; and whether it is in the
    ladder."""
    place: Place
    names: frozenset
    quoted: frozenset
    types: frozenset
    rung: bool

    @property
    def id(self):
        """CMake's name: 03, 07.02_chunk_walk, best."""
        if self.place.chapter == ABOVE_THE_CHAPTERS:
            return ABOVE_THE_CHAPTERS
        return number_of(self.place.chapter) + (f".{self.place.lesson}" if self.place.lesson else "")


def _sources(folder):
    """The sources of a place's kernels."""
    return [path for path in sorted((ROOT / folder).glob("*.c*")) if path.suffix in (".cpp", ".cu") and not _NO_KERNEL.search(path.name)]


def _types(text):
    return frozenset(re.findall(r"\blaunchers<(?:\w+::)*(\w+)(?:<\w+>)?>", text))


def rows():
    """All rows in reading order."""
    places = [Place(chapter, lesson) for chapter in chapters() for lesson in ("", *lessons(chapter))] + [Place(ABOVE_THE_CHAPTERS, "")]
    found = []
    for place in places:
        text = "".join(path.read_text() for path in _sources(place.folder))
        names = registered_names(text)
        if names:
            found.append(Row(place, frozenset(names), frozenset(re.findall(r'"([a-z]\w*)"', text)), _types(text), ".rung = true" in text))
    return found


@dataclass(frozen=True)
class Operator:
    """An operator: the type whose launchers compute it, its folder, and whether the ladder without
    options includes it."""
    type: str
    folder: str
    climbed: bool


def operators():
    """{name: Operator}. A type has kName, and may have the Key of another type's launchers; or a
    file makes an operator with with_types<...>."""
    found, climbed = {}, set()
    for source in [*ROOT.glob("common/operators/*/operator.[ch]pp"), *(ROOT / path for path in in_lessons("*_operator.[ch]pp"))]:
        text, folder = source.read_text(), str(source.parent.relative_to(ROOT))
        for struct in re.split(r"^struct (?=\w+\s*[:{])", text, flags=re.MULTILINE)[1:]:
            # a template's names depend on its parameter
            names = re.search(r"\bkName = ([^;]+);", struct)
            for name in re.findall(r'"(\w+)"', names[1] if names else ""):
                key = re.search(r"using Key = (\w+);", struct)
                found[name] = Operator(key[1] if key else re.match(r"\w+", struct)[0], folder, False)
        for type_, name in re.findall(r'with_(?:types|case)<\s*(?:\w+::)*(\w+)\b[^{]*\{\s*\.name = "(\w+)"', text):
            found[name] = Operator(type_, folder, False)
        climbed |= {type_ for type_, made in re.findall(r"operator_of<(\w+)>\(\) \{(.*?)return op;", text, re.DOTALL) if ".climbed = " in made}
    return {name: replace(each, climbed=each.type in climbed) for name, each in found.items()}


def members_of_cases():
    """The sizes for --shape, and the options for --options, of all operators."""
    sizes, options = set(), set()
    for source in [*ROOT.glob("common/operators/*/*.hpp"), *(ROOT / path for path in in_lessons("*.[ch]pp"))]:
        for body in re.findall(r"static void (?:fields|options)\(.*?\n  \}", source.read_text(), re.DOTALL):
            for name, least in re.findall(r'\bvisit\("(\w+)",\s*\w+\.\w+(?:,\s*(-?[0-9]+))?', body):
                (sizes if least or name[0].isupper() else options).add(name)
    return sizes, options


def _with_named(found, types):
    """The ids of these rows and of the rows that they name. If a row computes more than the types,
    only the named rows that compute one of the types."""
    known, result = rows(), []
    while found:
        row, found = found[0], found[1:]
        if row not in result:
            result.append(row)
            found = found + [each for each in known if each.names & row.quoted and (each.types & types or row.types <= types)]
    return [row.id for row in known if row in result]


def lessons_for(places, operator=None, names=(), variants=False, alone=False):
    """The ids of the lessons that a program needs for these places (all, if there are none), an
    operator, implementations, or variants. A single chapter is compared with the earlier kernels of
    the ladder, unless `alone`. None means all lessons."""
    known = operators()
    climbed = {each.type for each in known.values() if each.climbed}

    def is_of(row, place):
        return row.place.chapter == place.chapter and place.lesson in (None, row.place.lesson)

    def is_shown(row):
        return variants or row.rung or any(place.lesson is not None and is_of(row, place) for place in places)

    found = [row for row in rows() if not places or any(is_of(row, place) for place in places)]
    if names:
        found = [row for row in found if row.names & set(names)]
        return _with_named(found, {each for row in found for each in row.types})
    found = [row for row in found if is_shown(row)]
    if operator:
        found = [row for row in found if known[operator].type in row.types or known[operator].folder == row.place.folder]
    types = {known[operator].type} if operator else {each for row in found for each in row.types}
    if operator is None and types & climbed:
        types &= climbed
        found = [row for row in found if row.types & climbed]
        if not alone and len(places) == 1 and places[0].lesson is None and places[0].chapter in chapters():
            found = [row for row in rows() if row.rung and row.types & types and row.place.chapter < places[0].chapter] + found
    return _with_named(found, types) or None


@dataclass(frozen=True)
class Rung:
    """An implementation that ./ladder run shows without options, and its library in a program:
    06.00 for a chapter's own kernel, otherwise a lesson's id."""
    name: str
    source: str  # relative to ROOT
    library: str


def _rungs(folder, sources, library, type):
    """The registered implementations of the type. If there are several, only those marked as
    rungs."""
    found = []
    for source in sources:
        text = source.read_text()
        for registered in re.split(r"\bRegistration\b", text)[1:]:
            if type in (_types(registered) or _types(text)):
                found += [(".rung = true" in registered, Rung(name, f"{folder}/{source.name}", library)) for name in registered_names(registered)]
    return [rung for is_rung, rung in found if is_rung or not any(each for each, _ in found)]


def rungs_of(row, type):
    """A row's implementations of an operator's type."""
    return _rungs(row.place.folder, _sources(row.place.folder), row.id, type)


def own_kernels(type):
    """The kernels in the chapters' own folders, which are the story, in reading order."""
    return [rung for chapter in chapters()
            for rung in _rungs(chapter, [source for source in _sources(chapter) if source.stem == "kernel"], f"{number_of(chapter)}.00", type)]


def story():
    """[(operator, precision, shape, rungs, whether these are summits)]: the tables of
    tools/story.txt whose operators a chapter's own kernel computes."""
    tables, known = [], operators()
    for line in text_of("tools/story.txt").splitlines():
        if line.startswith("#"):
            continue
        operator, precision, shape, *summits = line.split()
        type = known[operator].type
        own = own_kernels(type)
        if not own:
            continue
        rungs = [] if summits else own
        for place in map(place_of, summits):
            row = next(row for row in rows() if row.place.folder == place.folder)
            rungs += rungs_of(row, type)
        tables.append((operator, precision, shape, rungs, bool(summits)))
    return tables


def lessons_of_story(with_summits):
    """The ids of the lessons in its program."""
    found = [rung for *_, rungs, summits in story() for rung in rungs if with_summits or not summits]
    own = [rung.library for rung in found if rung.library.endswith(".00")]
    wanted = [row for row in rows() if row.id in {rung.library for rung in found}]
    types = {operators()[operator].type for operator, *_ in story()}
    return own + _with_named(wanted, types)
