"""The pages of ./ladder book, as hooks of mkdocs. markdown-it renders them, because it reads
Markdown as GitHub does. mkdocs contributes the theme, the navigation and the search."""
import functools
import html
import os
import re
import shutil
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt
from mkdocs.structure.toc import get_toc
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from ladder_tools import book as plan
from ladder_tools import recordings
from ladder_tools.learning import changes, kernel_of, more_of
from ladder_tools.pages import COMMENT, Slugs, published_address
from ladder_tools.place import ROOT, text_of

PLAYER = "assets/player.js"
_LONG = 150_000  # characters of a source that are shown without colours
_FORMAT = HtmlFormatter(nowrap=True)
_MATH = re.compile(r"\$\$(?P<display>.+?)\$\$|\$(?P<inline>(?![\s$])[^$]*?(?<![\s\\]))\$(?!\d)",
                   re.S)
_TAG = re.compile(r"(<[^>]+>)")
# Between these tags a word stays as it is.
_UNTOUCHED = ("a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "summary", "button", "svg")
# Words of the glossary that pages use in their everyday sense, too.
_EVERYDAY = {
    "bound", "carry", "delta", "event", "filter", "full", "graph", "group", "level", "limit",
    "loss", "page", "phase", "profile", "program", "reference", "request", "row", "slope", "step",
    "tap", "terms", "turns", "unit", "view", "window", "word"
}

# Markdown


def _coloured(text, lexer):
    """The text with colours. Names and blanks have none in the theme, so their marks can go. So can
    those of brackets and commas, which the theme shows paler, because they would be a seventh of
    the book. In a shell, 00.01 is no number but a lesson."""
    plain = "n|w|p|m[if]?" if lexer.name.startswith("Bash") else "n|w|p"
    return re.sub(rf'<span class="(?:{plain})">([^<]*)</span>', r"\1",
                  highlight(text, lexer, _FORMAT))


def code_block(text, language):
    """A block of code with colours. A block without a language is a console's if it begins with a
    prompt, and a shell's if it begins with a command."""
    if not language:
        begin = re.match(r"(\$ )|(\./ladder |git clone )", text)
        language = "text" if not begin else "console" if begin[1] else "bash"
    try:
        shown = _coloured(text, get_lexer_by_name(language, stripnl=False))
    except ClassNotFound:
        shown = html.escape(text, quote=False)
    return f'<div class="highlight"><pre><code>{shown}</code></pre></div>\n'


def _fence(renderer, tokens, index, options, env):
    language = tokens[index].info.strip().partition(" ")[0]
    if language == "math":
        return formula(tokens[index].content.strip(), display=True)
    return code_block(tokens[index].content, language)


def _indented(renderer, tokens, index, options, env):
    return code_block(tokens[index].content, "text")


def _formula(renderer, tokens, index, options, env):
    return formula(tokens[index].content, tokens[index].block)


def formula(text, display):
    """A formula for MathJax, which finds it by its class."""
    text = html.escape(text, quote=False)
    if display:
        return f'<span class="math display">\\[{text}\\]</span>'
    return f'<span class="math">\\({text}\\)</span>'


def _read_formula(state, silent):
    found = _MATH.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.block = found["display"] or found["inline"], bool(found["display"])
    state.pos = found.end()
    return True


def _reader():
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.inline.ruler.before("escape", "formula", _read_formula)
    reader.add_render_rule("fence", _fence)
    reader.add_render_rule("code_block", _indented)
    reader.add_render_rule("formula", _formula)
    return reader


READER = _reader()


def without_tags(text):
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def with_anchors(text):
    """(the page with GitHub's anchors on its headings, [(level, anchor, title)])"""
    slugs, found = Slugs(), []

    def anchored(heading):
        level, title = int(heading[1]), without_tags(heading[2])
        found.append((level, slugs.of(title), title))
        return f'<h{level} id="{found[-1][1]}">{heading[2]}</h{level}>'

    return re.sub(r"<h([1-6])>(.*?)</h\1>", anchored, text, flags=re.S), found


def nested(headings):
    """The headings as mkdocs wants them, each with its children."""
    top = []
    for level, anchor, title in headings:
        children = top
        while children and children[-1]["level"] < level:
            children = children[-1]["children"]
        children.append({"level": level, "id": anchor, "name": html.escape(title), "children": []})
    return top


def with_links(text, page):
    """The page with links to other pages of the book."""
    return re.sub(r'(<(?:a|img|source)\b[^>]*? (?:href|src|srcset)=")([^"]+)"',
                  lambda tag: f'{tag[1]}{plan.rewritten(tag[2], page)}"', text)


def address_of_the_clone():
    """The published address, or that of the repository whose workflow writes the book, or ""."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return published_address() or (f"{server}/{name}" if server and name else "")


def rendered(text, page):
    """(HTML, headings) of a page's Markdown."""
    for said, otherwise in (("<this page's address>", "<the repository's address>"),
                            ("<本页的网址>", "<仓库的网址>")):
        text = text.replace(said, address_of_the_clone() or otherwise)
    text, headings = with_anchors(COMMENT.sub("", READER.render(text)))
    return with_links(text, page), headings


# What the book adds to a page


def _shortened(text, most=220):
    """As many whole sentences as fit, at least one."""
    first, *others = re.split(r"(?<=[.?]) (?=[A-Z])", text)
    for each in others:
        if len(first) + len(each) >= most:
            break
        first += f" {each}"
    return first


_ENTRY = re.compile(r'^- ((?:<a id="[^"]+"></a>)+)\*\*(.+?)\*\*(?: \([^)]*\))?'
                    r'(,[^:]*? also: (?:\*[^*]+\*,? ?(?:and |or )?)+)?[^:]*?: (.+)$', re.M)


def glossary_of(text):
    """({word: anchor}, {anchor: what it means}) of the glossary's entries."""
    words, meanings = {}, {}
    for anchors, names, also, meaning in _ENTRY.findall(text):
        anchors = re.findall('id="(.+?)"', anchors)
        names = names.replace("`", "").split(", ")
        names += re.findall(r"\*([^*]+)\*", also) + re.findall(r"Also: \*([^*]+)\*", meaning)
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", meaning)
        meanings.update(dict.fromkeys(anchors, _shortened(f"{plain[0].upper()}{plain[1:]}")))
        for name in names:
            if name.lower() not in _EVERYDAY:
                words.setdefault(name, anchors[0])
    return words, meanings


@functools.lru_cache(None)
def _glossary():
    words, meanings = glossary_of(text_of(plan.GLOSSARY))
    found = {}
    for word, anchor in words.items():
        found[word] = anchor
        if word[1:] == word[1:].lower():  # else an abbreviation
            found[word.lower()] = anchor
    longest_first = "|".join(map(re.escape, sorted(found, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w-])({longest_first})(s?)(?![\w-])")
    return found, meanings, pattern


def with_terms(text, page, glossary=None):
    """The page with the meaning of a word of the glossary where it first occurs, as a link. Links
    that the page has keep their text."""
    words, meanings, pattern = glossary or _glossary()
    address = plan.relative(plan.site_path(plan.GLOSSARY), page)
    seen, open_tags, parts = set(), [], []

    def link(anchor, shown):
        seen.add(anchor)
        meaning = html.escape(meanings[anchor])
        return f'<a class="term" href="{address}#{anchor}" title="{meaning}">{shown}'

    def first(word):
        anchor = words[word[1]]
        return word[0] if anchor in seen else f"{link(anchor, word[0])}</a>"

    for part in _TAG.split(text):
        linked = re.fullmatch(rf'<a href="{re.escape(address)}#([\w-]+)">', part)
        tag = re.match(r"<(/?)(\w+)", part)
        if linked and linked[1] in meanings:
            part = link(linked[1], "")
        elif not tag and not open_tags:
            part = pattern.sub(first, part)
        if tag and tag[2] in _UNTOUCHED:
            if not tag[1]:
                open_tags.append(tag[2])
            elif open_tags and open_tags[-1] == tag[2]:
                open_tags.pop()
        parts.append(part)
    return "".join(parts)


def after_heading(text, anchor, inserted):
    """The page with something below one of its headings, or below its title if it has no such
    heading."""
    place = re.search(rf'<h2 id="{anchor}">.*?</h2>', text, re.S) or re.search("</h1>", text)
    return text[:place.end()] + inserted + text[place.end():]


def link_to(path, shown, page):
    """A link to a file of the tree from a page of the site."""
    return f'<a href="{plan.relative(plan.site_path(path), page)}">{shown}</a>'


def box(words, line, more, page):
    """What a page cannot do itself: a line for a shell in the reader's clone."""
    clone = f'<a href="{plan.relative("index.html#start", page)}">your clone</a>'
    return ('<div class="admonition tip" role="note" aria-label="In your clone">'
            '<p class="admonition-title">In your clone</p>'
            f"<p>{words} Paste this line into a shell in {clone}:</p>"
            f"{code_block(line, 'bash')}{more}</div>")


def with_box(text, folder, page):
    """A lesson's page with the line that checks the reader's code, or with its first command if it
    has no exercise."""
    exercise = BOOK.by_folder.get(folder)
    if exercise is None:
        command = re.search(r"(?:^|`)(\./ladder [^`#\n]+)", text_of(f"{folder}/README.md"), re.M)
        if command is None:
            return text
        words = "The commands of this page run kernels, which it cannot."
        return after_heading(text, "", box(words, f"{command[1].strip()}\n", "", page))
    stub, solution = (link_to(path, path.name, page) for path in (exercise.stub, exercise.solution))
    more = ", ".join(f"<code>./ladder exercise {name}</code>" for name in more_of(exercise.name))
    files = f"The stub is {stub}, and our solution {solution}."
    after = f" After it: {more}." if more else ""
    words = "This page shows the exercise, but it cannot compile your lines."
    line = f"./ladder exercise {exercise.name.partition('_')[0]}\n"
    return after_heading(text, "your-turn", box(words, line, f"<p>{files}{after}</p>", page))


def diff_of(before, after):
    """The folded changes from one lesson's kernel to another's."""
    text = changes(kernel_of(before), kernel_of(after), "--unified=3", capture_output=True,
                   text=True).stdout
    hunks = text[text.find("\n@@") + 1:] if "\n@@" in text else ""
    if not hunks:
        return ""
    lines = sum(line[:1] in "+-" for line in hunks.splitlines())
    return (f'<details class="changes"><summary>From {before} to {after}: the {lines} lines that '
            f'change in the kernel</summary>\n{code_block(hunks, "diff")}</details>\n')


def with_diff(text, folder):
    """A lesson's page with the changes from the step before, unless it shows them. They are at the
    end of the section that names the command, or before the last question."""
    step = plan.step_before(folder)
    if step is None or '<span class="gi">' in text or '<span class="gd">' in text:
        return text
    named = text.find(f"./ladder diff {step[0]} {step[1]}")
    end = text.find("<h2", named) if named >= 0 else text.find('<h2 id="what-next">')
    end = len(text) if end < 0 else end
    return text[:end] + diff_of(*step) + text[end:]


_FOLDED = {"mistake": "The same kernel with a mistake, step by step",
           "banks": "An index of your own, and the banks that it uses"}


def player_of(folder, made):
    """A lesson's players. Those after the first are folded."""
    first, *others = recordings.players(folder, made).splitlines()
    parts = ["<p>A step is one request of a warp. Space plays and pauses, and the arrow keys go "
             f"one step.</p>\n{first}\n"]
    for each in others:
        words = _FOLDED["banks" if each.startswith("<xray-banks") else "mistake"]
        parts.append(f'<details class="played"><summary>{words}</summary>\n{each}</details>\n')
    return "".join(parts)


def with_player(text, folder, made):
    """A lesson's page with players of the recordings `made`, or with the line that makes a page of
    them if that is None. They are below the X-ray's heading, or before the last question."""
    if made is None:
        number = recordings.lesson_number(folder)
        line = f"./ladder xray {number} --play {number}.html"
        part = f"<p><code>{line}</code> plays this kernel step by step.</p>\n"
    elif not made:  # a program that launches no kernel
        return text
    else:
        part = player_of(folder, made)
    heading = re.search(r'<h2 id="([\w-]*x-ray[\w-]*)">', text)
    if heading:
        return after_heading(text, heading[1], part)
    end = text.find('<h2 id="what-next">')
    return text[:end] + part + text[end:] if end >= 0 else text + part


def with_ways(text):
    """The front page with links to the pages of the paths."""
    names = "|".join(PurePosixPath(page).stem for page in BOOK.made)
    return re.sub(rf"<code>({names})</code>(?=</td>)", r'<a href="paths/\1.html">\g<0></a>', text)


def source_page(path):
    """A source with an anchor for each line, #L12."""
    text = text_of(path)
    try:
        name = "kernel.cpp" if path.endswith((".cu", ".hpp", ".h", ".inc")) else path
        lexer = get_lexer_for_filename(name, stripnl=False) if len(text) < _LONG else None
    except ClassNotFound:
        lexer = None
    lines = _coloured(text, lexer) if lexer else html.escape(text, quote=False)
    numbered = "\n".join(f'<span id="L{number}">{line}</span>'
                         for number, line in enumerate(lines.rstrip("\n").split("\n"), 1))
    return f'<div class="highlight source"><pre><code>{numbered}\n</code></pre></div>'


def listing(folder):
    """The files of a folder that has no page."""
    page = plan.site_path(folder)
    files = (link_to(each, PurePosixPath(each).name, page) for each in plan.files_in(folder))
    return f"<ul>{''.join(f'<li>{file}</li>' for file in files)}</ul>"


def way_to(path):
    """The page of the nearest folder above a source, as a link."""
    above = next(each for each in PurePosixPath(path).parents
                 if (ROOT / each / "README.md").exists())
    page = f"{above}/README.md" if str(above) != "." else plan.FRONT
    title = html.escape(plan.name_of(above) if str(above) != "." else "Kernel Ladder")
    return f"<p>{link_to(page, title, plan.site_path(path))}</p>"


# mkdocs' hooks

BOOK = plan.Book()
PLAYED = recordings.lessons_played()
MADE = recordings.made_before(PLAYED)
_TREE = {plan.staged_path(path): path for path in (*BOOK.pages, *BOOK.sources, *BOOK.folders)}


def _path(page):
    """The path in the tree of one of mkdocs' pages, or in the book if only the book has it."""
    return _TREE.get(page.file.src_path, page.file.src_path)


def on_page_markdown(markdown, page, config, files):
    del markdown, config, files
    path = _path(page)
    page.meta = {}
    if path in BOOK.sources or path in BOOK.folders:
        page.title, page.meta = path, {"template": "source.html"}
    elif path in BOOK.pages and path not in (plan.FRONT, plan.TRANSLATED):
        page.title = plan.heading_of(path).partition(": ")[0]
    return ""  # otherwise Python-Markdown would read it


def on_page_content(text, page, config, files):
    del text, config, files
    path = _path(page)
    if path in BOOK.sources or path in BOOK.folders:
        return f"<h1>{html.escape(path)}</h1>"
    result, headings = rendered(BOOK.made.get(path) or text_of(path), path)
    page.toc = get_toc(nested(headings))
    page.meta["math"] = '<span class="math' in result
    return result


def on_page_context(context, page, config, nav):
    """Adds what the search need not find."""
    del config, nav
    path = _path(page)
    folder = str(PurePosixPath(path).parent)
    if path in BOOK.sources:
        page.content = way_to(path) + page.content + source_page(path)
    elif path in BOOK.folders:
        page.content = way_to(path) + page.content + listing(path)
    else:
        if path in (plan.FRONT, plan.TRANSLATED):
            page.content = with_ways(page.content)
        if path not in (plan.GLOSSARY, plan.TRANSLATED):
            page.content = with_terms(page.content, plan.site_path(path))
        if path == f"{folder}/README.md" and folder in BOOK.lessons:
            page.content = with_box(with_diff(page.content, folder), folder, plan.site_path(path))
            if Path(folder) in PLAYED:
                made = MADE.get(Path(folder))
                page.content = with_player(page.content, folder, made)
                page.meta["scripts"] = scripts_of(made)
    return context


def scripts_of(made):
    """What a page with these recordings runs, the player last."""
    return [*(f"assets/recordings/{each.name}" for each in made), PLAYER] if made else []


def on_post_build(config):
    """Adds the recordings that the pages play."""
    place = Path(config["site_dir"]) / "assets" / "recordings"
    for script in {each for made in MADE.values() for each in made}:
        place.mkdir(exist_ok=True)
        shutil.copyfile(script, place / script.name)
    if MADE:
        (Path(config["site_dir"]) / PLAYER).write_text(recordings.player_script())


def on_post_page(output, page, config):
    """Without the blanks of the theme's templates, a quarter of a page, and with names that a
    screen reader needs. The theme's icons are all that is an svg here."""
    del config
    output = output.replace("<svg ", '<svg aria-hidden="true" ').replace(
        'role="dialog"', 'role="dialog" aria-label="Search"')
    parts = re.split(r"(<pre>.*?</pre>)", output, flags=re.S)
    output = "".join(part if part.startswith("<pre>") else re.sub(r"\s*\n\s*", "\n", part)
                     for part in parts)
    if _path(page) == plan.TRANSLATED:
        output = output.replace('<html lang="en"', '<html lang="zh-CN"', 1)
    return output
