"""./ladder book: writes the pages of the tree, with their figures and sources, as a static site."""
import fcntl
import html
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path, PurePosixPath

from ladder_tools import recordings
from ladder_tools.building import require_writable, say
from ladder_tools.learning import (folders_of, hours, lesson_named_by, lessons_of, minutes_of,
                                   paths, title_of)
from ladder_tools.pages import EXTERNAL, links
from ladder_tools.place import (ROOT, Failed, Refused, chapters, exercises, in_lessons, kernel_in,
                                lesson_of, number_of, text_of)
from ladder_tools.programs import python_with

FRONT, TRANSLATED, GLOSSARY = "README.md", "README.zh-CN.md", "docs/glossary.md"
_HERE = Path(__file__).parent
_PICTURES = (".svg", ".png")
MATHJAX = Path("/usr/share/javascript/mathjax")
# Of MathJax only what a formula needs whose glyphs are paths of an SVG, with MathML for screen
# readers: no web font, no menu.
MATHJAX_PARTS = ("MathJax.js", "config/TeX-AMS_SVG.js", "jax/output/SVG", "jax/element",
                 "jax/input/TeX", "extensions/TeX", "extensions/tex2jax.js",
                 "extensions/MathEvents.js", "extensions/AssistiveMML.js", "extensions/toMathML.js")
MATHJAX_WITHOUT = ("Asana-Math", "Gyre-Pagella", "Gyre-Termes", "Latin-Modern", "Neo-Euler",
                   "STIX-Web")


def site_path(path):
    """The path in the site of a page, a figure, a source or a folder of the tree. mkdocs would omit
    names that begin with a point."""
    path = PurePosixPath(*(part.lstrip(".") for part in PurePosixPath(path).parts))
    if path.name == "README.md":
        return str(path.with_name("index.html"))
    if path.suffix == ".md":
        return str(path.with_suffix(".html"))
    if path.suffix in _PICTURES:
        return str(path)
    return f"{path}/index.html" if (ROOT / path).is_dir() else f"{path}.html"


def relative(target, page):
    """The address of one page of the site as seen from another."""
    return os.path.relpath(target, os.path.dirname(page) or ".")


def target_of(link, page):
    """(the path in the tree, the anchor) of a link on a page; (None, "") if it leads elsewhere."""
    if EXTERNAL.match(link):
        return None, ""
    path, _, anchor = urllib.parse.unquote(html.unescape(link)).partition("#")
    path = os.path.normpath(PurePosixPath(page).parent / path) if path else page
    if (ROOT / path).is_dir() and (ROOT / path / "README.md").exists():
        path = os.path.normpath(f"{path}/README.md")
    return path, anchor


def rewritten(link, page):
    """A link of a page of the tree, as it must be in the site."""
    path, anchor = target_of(link, page)
    if path is None:
        return link
    address = "" if path == page and anchor else relative(site_path(path), site_path(page))
    return urllib.parse.quote(address) + (f"#{anchor}" if anchor else "")


def files_in(folder):
    """The files of a folder that a page links as a whole."""
    files = (path for path in (ROOT / folder).iterdir() if path.is_file())
    return sorted(path.relative_to(ROOT).as_posix() for path in files if path.name[0] != ".")


def step_before(folder):
    """(the lesson before, this one), as words of ./ladder diff: those that the page names, or else
    the lesson that the kernel's Change: names; None without one."""
    here = lesson_of(folder).partition("_")[0]
    for before, after in re.findall(r"\./ladder diff (\S+) ([\w.]+)",
                                    text_of(f"{folder}/README.md")):
        if after == here:
            return before, after
    kernel = kernel_in(Path(folder))
    named = lesson_named_by(kernel) if kernel else ""
    return (named.removesuffix(".00"), here) if named else None


class Book:
    """What the site consists of: `pages` (Markdown), `sources` and `pictures` of the tree, and the
    `folders` without a page that some page links. `made` are pages that only the book has, with
    their text."""

    def __init__(self):
        self.pages, self.sources, self.pictures, self.folders = [], [], [], []
        for page in (FRONT, TRANSLATED, *map(str, in_lessons("README.md"))):
            self._follow(page)
        for each in exercises():
            self._add(self.sources, str(each.solution))
            self._add(self.sources, str(each.stub))
        self.lessons = [each for chapter in chapters() for each in lessons_of(chapter)]
        self.by_folder = {str(each.folder): each for each in exercises()}
        self.made = {f"paths/{name}.md": text for name, text in self._path_pages()}

    @staticmethod
    def _add(to, path):
        new = path not in to
        if new:
            to.append(path)
        return new

    def _follow(self, first):
        left = [first]
        while left:
            page = left.pop()
            if not self._add(self.pages, page):
                continue
            for link in links(text_of(page)):
                path, _ = target_of(link, page)
                if path is None:
                    continue
                if (ROOT / path).is_dir():
                    if self._add(self.folders, path):
                        for each in files_in(path):
                            self._add(self.pictures if each.endswith(_PICTURES) else self.sources,
                                      each)
                elif path.endswith(".md"):
                    left.append(path)
                elif (ROOT / path).exists():
                    self._add(self.pictures if path.endswith(_PICTURES) else self.sources, path)

    def _path_pages(self):
        rows = re.findall(r"^\| (.+?): `(\w+)` \| (.+?) \|", text_of(FRONT), re.MULTILINE)
        words = {name: (title, whom) for title, name, whom in rows}
        for name in paths():
            title, whom = words.get(name, (name, ""))
            folders = folders_of(name)
            together = hours(sum(map(minutes_of, folders)))
            lines = [f"# {title}", "",
                     f"{whom} The path has {len(folders)} lessons and takes {together} hours.", "",
                     "| | lesson | what it is about | minutes |", "|---:|---|---|---:|"]
            for at, each in enumerate(folders, 1):
                lesson, about = name_of(each), title_of(each)
                lines.append(f"| {at} | [{lesson}](../{each}/README.md) | "
                             f"{'' if about in lesson else about} | {minutes_of(each) or ''} |")
            lines += ["", f"In your clone, `./ladder learn --path {name}` shows which of them "
                      "you have solved.", ""]
            yield name, "\n".join(lines)

    def navigation(self):
        """mkdocs' list: the story, the chapters, the paths, the other pages."""
        def page_of(folder):
            return staged_path(f"{folder}/README.md")
        rows = re.findall(r"^\| (\d\d) \| \[(.+?)\]\((\w+)/README\.md\)", text_of(FRONT),
                          re.MULTILINE)
        names = {**dict(zip(chapters(), chapters())),
                 **{folder: f"{number} {name}" for number, name, folder in rows}}
        story = [{names[each]: site_path(f"{each}/README.md")} for each in folders_of("story")]
        of_chapters = [{names[chapter]: [page_of(chapter), *({name_of(each): page_of(each)}
                                                             for each in lessons_of(chapter)
                                                             if each != chapter)]}
                       for chapter in chapters()]
        ways = [{text.partition("\n")[0].removeprefix("# "): page}
                for page, text in self.made.items()]
        others = [page for page in self.pages if page not in (FRONT, TRANSLATED, GLOSSARY)
                  and not number_of(PurePosixPath(page).parts[0])]
        others.sort(key=lambda page: (not page.startswith("docs/"), page.count("/"), page))
        return [{"Start": FRONT}, {"The story": story}, *of_chapters, {"Paths": ways},
                {"More": [{heading_of(page): staged_path(page)} for page in others]},
                {"Glossary": GLOSSARY}, {"中文": TRANSLATED}]


def heading_of(page):
    """The page's title, without marks; its path if it has none."""
    found = re.search(r"^# (.*)", text_of(page), re.MULTILINE)
    return re.sub(r"[*`]", "", found[1]) if found else page


def name_of(folder):
    """A lesson's name on its own page, before the colon: "07.02 Chunk walk"."""
    return heading_of(f"{folder}/README.md").partition(": ")[0]


def staged_path(path):
    """The path of a page or a source in mkdocs' folder."""
    path = str(PurePosixPath(*(part.lstrip(".") for part in PurePosixPath(path).parts)))
    if path.endswith((".md", *_PICTURES)):
        return path
    return f"{path}/index.md" if (ROOT / path).is_dir() else f"{path}.md"


def stage(book, folder):
    """Links the tree's files into mkdocs' folder, and writes the pages that only the book has."""
    for path in (*book.pages, *book.pictures, *book.sources):
        link = folder / staged_path(path)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(ROOT / path)
    for path, text in (*book.made.items(), *((staged_path(each), "") for each in book.folders)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _palette(scheme, prefers, icon, other):
    return {"scheme": scheme, "media": f"(prefers-color-scheme: {prefers})",
            "primary": "blue grey", "accent": "indigo" if prefers == "light" else "light blue",
            "toggle": {"icon": f"material/{icon}", "name": f"Switch to {other} mode"}}


_CONFIGURATION = {
    "site_name": "Kernel Ladder",
    "site_description": "Learn to write fast GPU programs by writing them",
    "site_url": "",
    "use_directory_urls": False,  # a page opened from a folder needs each file's name
    "theme": {"name": "material", "custom_dir": str(_HERE / "book_theme"), "language": "en",
              "font": False, "icon": {"logo": "material/stairs"},
              "features": ["navigation.indexes", "navigation.top"],
              "palette": [_palette("default", "light", "weather-night", "dark"),
                          _palette("slate", "dark", "weather-sunny", "light")]},
    "plugins": [{"search": {"lang": "en", "separator": r"[\s\-_.,:;()\[\]<>=`]+"}}],
    "hooks": [str(_HERE / "book_pages.py")],
    "extra_css": ["assets/book.css"],
    "extra_javascript": ["assets/book.js"],
    "extra": {"generator": False,
              "alternate": [{"name": "English", "link": "index.html", "lang": "en"},
                            {"name": "中文", "link": "README.zh-CN.html", "lang": "zh-CN"}]},
}


def configuration(book, place):
    """mkdocs.yml, as JSON, which YAML contains."""
    return json.dumps({**_CONFIGURATION, "docs_dir": str(place / "pages"),
                       "site_dir": str(place / "site"), "nav": book.navigation()})


def search_script(index, worker):
    """mkdocs' index of the search and the text of its worker as a script, because a page opened
    from a folder may load nothing else. An entry for a whole page needs no text, since search.js
    takes it from those for its sections."""
    found = json.loads(index)
    addresses = (entry["location"].partition("#") for entry in found["docs"])
    with_sections = {page for page, _, section in addresses if section}
    for entry in found["docs"]:
        if entry["location"] in with_sections:
            entry["text"] = ""
    index = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return f"__book_index({index}, {json.dumps(worker)})\n"


def copy_mathjax(folder):
    """Copies what formulas need of MathJax."""
    if not MATHJAX.exists():
        raise Failed(f"a page has a formula, but there is no {MATHJAX}: "
                     "sudo apt-get install -y libjs-mathjax")
    for part in MATHJAX_PARTS:
        source, target = MATHJAX / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*MATHJAX_WITHOUT))
        else:
            shutil.copyfile(source, target)


def finish(site):
    """Turns mkdocs' folder into the book: nothing that only a server needs, and the search's index
    as a script."""
    index = site / "search" / "search_index.json"
    worker = next((site / "assets" / "javascripts" / "workers").glob("search*.js"))
    worker = re.sub(r"\n//# sourceMappingURL.*", "", worker.read_text())
    index.with_suffix(".js").write_text(search_script(index.read_text(), worker))
    index.unlink()
    for pattern in ("404.html", "sitemap.xml*", "assets/javascripts/lunr", "**/*.map"):
        for path in site.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if any('<span class="math' in page.read_text() for page in site.rglob("*.html")):
        copy_mathjax(site / "assets" / "mathjax")


def put(site, out):
    """Puts the finished book where an earlier one may be."""
    old = site.parent / "old"
    if out.exists():
        out.rename(old)
    try:
        site.rename(out)
    except BaseException:  # an interrupt, too
        if old.exists():
            old.rename(out)
        raise


def arguments_of_book(words):
    """Whether to make recordings."""
    if words not in ([], ["--recordings"]):
        raise Refused("book takes no arguments except --recordings")
    return bool(words)


def book(words, preset, caller):
    """Writes out/book. With --recordings it makes those that are missing; the pages play all that
    are there."""
    del caller
    makes_recordings = arguments_of_book(words)
    python = python_with("mkdocs", "markdown_it", "pygments")
    if python is None:
        raise Failed("the book needs mkdocs-material and markdown-it-py: "
                     "sudo apt-get install -y mkdocs-material python3-markdown-it")
    if shutil.which("git") is None:
        raise Failed("git is not installed, and the book's diffs need it")
    require_writable("out")
    if makes_recordings:
        recordings.recordings(recordings.lessons_played(), recordings.build_for_xray(preset))
    out, place = ROOT / "out" / "book", ROOT / "out" / ".book"
    with open(ROOT / "out" / ".book.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(place, ignore_errors=True)  # an earlier run's that was interrupted
        try:
            the_book = Book()
            stage(the_book, place / "pages")
            (place / "mkdocs.yml").write_text(configuration(the_book, place))
            pages = len(the_book.pages) + len(the_book.made)
            say(f"writing {pages} pages and {len(the_book.sources)} sources")
            command = [python, "-m", "mkdocs", "build", "--quiet", "--config-file"]
            done = subprocess.run([*command, place / "mkdocs.yml"], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "tools"),
                                       "PYTHONDONTWRITEBYTECODE": "1"})
            warnings = [line for line in done.stderr.splitlines() if "WARNING" in line]
            print("\n".join(warnings), file=sys.stderr, end="\n" * bool(warnings))
            if done.returncode != 0:
                raise Failed(f"mkdocs failed:\n{(done.stdout + done.stderr)[-3000:].rstrip()}")
            finish(place / "site")
            put(place / "site", out)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    say(f"out/book/index.html ({size / 1e6:.0f} MB): open it in a browser")
    return 0
