"""./ladder new: writes a lesson as a copy of another one, with new names."""
import re
import shutil
import subprocess
from pathlib import Path

from ladder_tools import patches
from ladder_tools.building import say
from ladder_tools.place import MORE, ROOT, Refused, chapters, idea_of, lesson_of, lessons, number_of, place_of, refused, registered_names, text_of
from ladder_tools.rows import operators

_PLAIN = {".cu": "04", ".cpp": "01"}  # the default source of a copy
_WITH_OPERATOR = Path("tests/90_open_operators")
_OF_A_LESSON = ("kernel.*", "exercise.*", "test.cpp", "xray_test.cpp", f"{MORE}/mistakes/*.patch")
# all files of a lesson that is not a chapter's own folder
_OF_ITS_FOLDER = ("*.cu", "*.cpp", "*.hpp", f"{MORE}/*.*")
_OF_THE_OPERATOR = ("matmul.hpp", "matmul_operator.cpp")

_PAGE = """# {title}

[chapter {number}](../README.md)

*Plan 45 minutes: 20 to read, 15 for the exercise, 10 to break things.*

**In short**: say it in one sentence.

## Idea

What changes, and why. One picture.

{turn}
{walk}
## X-ray, before and after

## Break it

{mistakes}
## Numbers

Not measured yet.

## What next?
"""
_DIFF = """## The diff, and the kernel walked through

```
git diff --no-index {source}/{kernel} {folder}/{kernel}
```
"""
_REWRITE = """## The kernel walked through

A rewrite, because the operator is new.
"""
_TURN = """## Your turn

```
./ladder exercise {name}
```

{holes}
"""


class Arguments:
    def __init__(self, words):
        words, self.source, self.with_operator, name = list(words), None, False, ""
        while words:
            word = words.pop(0)
            if word == "--operator":
                self.with_operator = True
            elif word == "--from":
                if not words:
                    raise Refused("--from needs a lesson, such as 06.07")
                self.source = words.pop(0)
            elif word.startswith("-"):
                raise refused("option", word, ("--from", "--operator"))
            elif name:
                raise Refused(f"new takes one name, not '{name}' and '{word}'")
            else:
                name = word
        if self.source and self.with_operator:
            raise Refused("--from and --operator are both given; allowed: one of them (--from copies an operator with its lesson)")
        parts = re.fullmatch(r"([0-9]{2})\.([0-9]{2}[a-z]?)_([a-z][a-z0-9_]*[a-z0-9])", name)
        if not parts or parts[2] == "00":
            raise Refused(f"lesson is '{name}'; allowed: chapter, number and words of two letters or more, "
                          "such as 06.11_my_idea or 07.11b_my_idea")
        number, lesson, self.slug = parts.groups()
        self.chapter = next((each for each in chapters() if number_of(each) == number), None)
        if not self.chapter:
            raise refused("chapter", number, [number_of(each) for each in chapters()])
        taken = [each for each in lessons(self.chapter) if number_of(each) == lesson or idea_of(each) == self.slug]
        if taken:
            raise Refused(f"lesson is '{name}', but {self.chapter} has {taken[0]}; allowed: a number and words that are free")
        self.folder = Path(self.chapter) / f"{lesson}_{self.slug}"


class Source:
    """The lesson to copy: its files and the names in them."""

    def __init__(self, arguments):
        if arguments.with_operator:
            self.folder, patterns = _WITH_OPERATOR, _OF_A_LESSON + _OF_THE_OPERATOR
        else:
            kind = ".cpp" if list((ROOT / arguments.chapter).glob("kernel.cpp")) else ".cu"
            place = place_of(arguments.source or _PLAIN[kind])
            self.folder = Path(place.folder)
            patterns = _OF_ITS_FOLDER + _OF_A_LESSON if place.lesson else _OF_A_LESSON
        root = ROOT / self.folder
        self.files = sorted({path.relative_to(root) for pattern in patterns for path in root.glob(pattern)})
        if not any(file.stem == "kernel" for file in self.files):
            raise Refused(f"lesson is '{arguments.source}'; allowed: those with a kernel.cu or kernel.cpp of their own")
        self.texts = {file: (root / file).read_text() for file in self.files}
        # Its own operators, from their file names, and the namespaces of its own headers.
        self.operators = {re.sub("_operator$", "", file.stem) for file in self.files if file.stem.endswith("_operator")}
        headers = "".join(text for file, text in self.texts.items() if file.suffix == ".hpp")
        self.namespaces = set(re.findall(r"^namespace ((?!ladder)[\w:]+) \{$", headers, re.MULTILINE))
        self.declared = set(re.findall(r"\b(?:struct|class|enum class) (\w+)|\b(\w+)\(", headers))
        self.declared = {name for names in self.declared for name in names}
        included = {include for text in self.texts.values() for include in re.findall(r'#include "([0-9]{2}_[^"]*)"', text)}
        shared = sorted(include for include in included if not include.startswith(arguments.chapter)
                        and include not in {f"{self.folder}/{file}" for file in self.files})
        if shared:
            raise Refused(f"{self.folder} includes {', '.join(shared)}; allowed: a lesson whose headers a lesson of {arguments.chapter} may include")


def _camel(slug):
    return "".join(word.capitalize() for word in slug.split("_"))


def _renamed(text, source, arguments):
    """A file's text with the new lesson's names."""
    # Paths of its own files change; headers shared with other lessons keep theirs.
    for file in source.files:
        text = text.replace(f"{source.folder}/{file}", f"{arguments.folder}/{file}")
    text = re.sub(r"^// (?:[0-9.a-z]+ )?[a-z0-9_]+: ", f"// {arguments.slug}: ", text, count=1)
    # The original lesson declares the same names as its headers' copy, so the namespace must
    # change.
    for space in source.namespaces:
        new = f"{space.rpartition('::')[0]}::{arguments.slug}" if "::" in space else f"{space}::{arguments.slug}"
        text = re.sub(rf"^((?:\}}  // )?namespace ){space}(?= \{{$|$)", rf"\1{new}", text, flags=re.MULTILINE)
        text = re.sub(rf"\b{space}::(\w+)", lambda found, new=new: f"{new}::{found[1]}" if found[1] in source.declared else found[0], text)
    # An operator X is in X.hpp and X_operator.cpp and has the types X, XArgs, ... The same word
    # elsewhere is a member, as in matrix.transpose().
    for own in source.operators:
        text = re.sub(rf"(?<![A-Za-z0-9_.>:]){own}(?=_|\b)", arguments.slug, text)
        text = re.sub(rf"(?<![A-Za-z0-9_]){_camel(own)}(?![a-z])", _camel(arguments.slug), text)
    # If there are several implementations, each keeps its word.
    names = registered_names(source.texts[next(file for file in source.files if file.stem == "kernel")])
    if len(names) == 1:
        text = re.sub(r"^ *\.step = [0-9]+,\n", "", text, flags=re.MULTILINE)
    for name in names:
        new = arguments.slug if len(names) == 1 else f"{arguments.slug}_{name}"
        text = re.sub(rf"\b{name}\b", new, text)
    return text


def _holes_of(folder):
    """The page's section about its exercise's holes, with the hints."""
    found = re.search(r"^\*\*Hole .*^</details>\n", text_of(folder / "README.md"), re.MULTILINE | re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\(#[^)]*\)", r"\1", found[0] if found else "")
    # as seen from a lesson's folder
    return text if len(folder.parts) > 1 else text.replace("](../", "](../../")


def _page(source, arguments):
    """The lesson's page, with only what is known now."""
    mistakes = [file.stem for file in source.files if file.parent.name == "mistakes"]
    has_exercise = any(file.stem == "exercise" for file in source.files)
    turn = _TURN.format(name=lesson_of(arguments.folder), holes=_holes_of(source.folder)) if has_exercise else ""
    without = [what for what, there in (("exercise", has_exercise), ("planted mistake", mistakes)) if not there]
    if without:
        turn = f"*No {', no '.join(without)}: not written yet.*\n\n{turn}"
    planted = "".join(f"- `./ladder exercise {lesson_of(arguments.folder)} --mistake {name}`\n" for name in mistakes)
    walk = _REWRITE if arguments.with_operator else _DIFF.format(
        source=source.folder, kernel=next(file for file in source.files if file.stem == "kernel"), folder=arguments.folder)
    return _PAGE.format(title=arguments.slug.replace("_", " ").capitalize(), number=number_of(arguments.chapter), turn=turn, walk=walk,
                        mistakes=planted and planted + "\n")


def _format(folder, files):
    """Formats the sources with clang-format, if it is installed, because names of other lengths
    break lines elsewhere. The patches are made anew to fit."""
    paths = [folder / file for file in sorted(files)]
    wrong = {}
    for patch in (path for path in paths if path.parent.name == "mistakes"):
        head, _, rest = (ROOT / patch).read_text().partition("--- a/")
        changed = Path(rest.split("\n")[0])
        wrong[patch] = (head, changed, patches.patched(changed, patch, ROOT))

    def formatted(text, path):
        done = subprocess.run(["clang-format", f"--assume-filename={ROOT / path}"], input=text, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else text

    if shutil.which("clang-format"):
        for path in paths:
            if path.suffix in (".cu", ".cpp", ".hpp"):
                (ROOT / path).write_text(formatted((ROOT / path).read_text(), path))
        for patch, (head, changed, text) in wrong.items():
            patch_text = patches.between((ROOT / changed).read_text(), formatted(text, changed), changed, changed)
            (ROOT / patch).write_text(head + patch_text)


def new(words, preset, caller):
    """Writes the lesson's folder and changes nothing else. Refuses if the names are taken."""
    del preset, caller
    arguments = Arguments(words)
    source = Source(arguments)
    written = {}
    for file, text in source.texts.items():
        own = re.sub("_operator$", "", file.stem)
        name = file.name.replace(own, arguments.slug, 1) if own in source.operators else file.name
        written[file.with_name(name)] = _renamed(text, source, arguments)
    sources = [path for path in ROOT.glob("**/*.c*") if not re.match(r"build|out/|my/|\.", str(path.relative_to(ROOT)))]
    implementations = {name for path in sources for name in registered_names(path.read_text(errors="replace"))}
    kernel = "".join(text for file, text in written.items() if file.stem == "kernel")
    for what, taken in (("implementation", implementations & set(registered_names(kernel))),
                        ("operator", operators().keys() & set(re.findall(r'with_types<[^{]*\{\s*\.name = "(\w+)"', "".join(written.values()))))):
        if taken:
            raise Refused(f"'{min(taken)}' is an {what} already; allowed: words that are free")
    for file, text in {**written, Path("README.md"): _page(source, arguments)}.items():
        path = ROOT / arguments.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    _format(arguments.folder, written)
    name = lesson_of(arguments.folder)
    say(f"{arguments.folder} is a copy of {source.folder} under new names. Begin with kernel.cu and its header, and run ./ladder test {name}. "
        "docs/adding-a-chapter.md explains each file")
    return 0
