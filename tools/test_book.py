"""Tests of ./ladder book. Those of its pages need markdown-it and mkdocs, which CI installs."""
import importlib.util
import json
import re
import unittest
from pathlib import Path
from unittest import mock

from for_tests import InAFolder
from ladder_tools import book, place
from ladder_tools.pages import Slugs, anchors
from ladder_tools.place import Failed, Refused

if all(map(importlib.util.find_spec, ("markdown_it", "mkdocs", "pygments"))):
    from ladder_tools import book_pages
else:
    book_pages = None


class Addresses(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(book, place)
        self.write({"README.md": "", "04_a/README.md": "", "04_a/01_b/README.md": "", "04_a/kernel.cu": "", "docs/glossary.md": "", "docs/figures/x.svg": "",
                    "common/tiles/a.hpp": "", ".ci/check": ""})

    def test_every_kind_of_link_leads_into_the_site(self):
        for link, page, expected in (
                ("docs/glossary.md#tile", "README.md", "docs/glossary.html#tile"), ("../docs/glossary.md", "04_a/README.md", "../docs/glossary.html"),
                ("01_b/README.md#idea", "04_a/README.md", "01_b/index.html#idea"), ("../README.md", "04_a/01_b/README.md", "../index.html"),
                ("kernel.cu#L12-L20", "04_a/README.md", "kernel.cu.html#L12-L20"), ("../docs/figures/x.svg", "04_a/README.md", "../docs/figures/x.svg"),
                ("#idea", "04_a/README.md", "#idea"), ("../04_a/", "docs/glossary.md", "../04_a/index.html"), ("../common/tiles", "docs/glossary.md", "../common/tiles/index.html"),
                (".ci/check", "README.md", "ci/check.html"), ("https://x.org/a.md", "README.md", "https://x.org/a.md"), ("mailto:a@b.c", "README.md", "mailto:a@b.c")):
            self.assertEqual(book.rewritten(link, page), expected)

    def test_names_in_mkdocs_folder(self):
        self.assertEqual([book.staged_path(each) for each in ("README.md", "04_a/kernel.cu", "docs/figures/x.svg", ".ci/check", "common/tiles")],
                         ["README.md", "04_a/kernel.cu.md", "docs/figures/x.svg", "ci/check.md", "common/tiles/index.md"])


class Anchors(unittest.TestCase):
    def test_are_those_of_github(self):
        slugs = Slugs()
        self.assertEqual([slugs.of(each) for each in ("04 no_atomic: sum in a register, store once", "What next?", "What next?", "`walk`, 2 x 2", "主线")],
                         ["04-no_atomic-sum-in-a-register-store-once", "what-next", "what-next-1", "walk-2-x-2", "主线"])
        self.assertEqual(anchors("# A [b](c.md)\n\n<a id=\"gpu\"></a>\n\n```\n# no heading\n```\n<!-- # nor this -->\n"), {"a-b", "gpu"})


class TheBook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.book = book.Book()

    def test_holds_what_the_pages_link(self):
        self.assertIn("04_no_atomic/01_restrict/README.md", self.book.pages)
        self.assertIn("06_shared_mem/more/stages.md", self.book.pages)
        self.assertIn("04_no_atomic/exercise.cu", self.book.sources)
        self.assertIn("docs/figures/xray.svg", self.book.pictures)
        self.assertIn("common/cuda/tiles/swizzle.hpp", self.book.sources)
        self.assertFalse(set(self.book.pages) & set(self.book.sources))
        staged = [book.staged_path(each) for each in (*self.book.pages, *self.book.sources, *self.book.pictures, *self.book.folders)]
        self.assertEqual(len(staged), len(set(staged)))

    def test_the_story_comes_first_then_every_lesson_in_order(self):
        names = [next(iter(each)) for each in self.book.navigation()]
        self.assertEqual(names[:4], ["Start", "The story", "00 Warm-up", "01 Five loops"])
        self.assertEqual(names[-4:], ["Paths", "More", "Glossary", "中文"])
        story = self.book.navigation()[1]["The story"]
        self.assertEqual([next(iter(each))[:2] for each in story], [f"0{at}" for at in range(1, 9)])
        chapter = self.book.navigation()[2]["00 Warm-up"]
        self.assertEqual(chapter[:2], ["00_warmup/README.md", {"00.01 The first kernel": "00_warmup/01_first_kernel/README.md"}])

    def test_a_path_lists_its_lessons(self):
        page = self.book.made["paths/evening.md"]
        self.assertTrue(page.startswith("# An evening\n"))
        self.assertEqual(re.findall(r"\]\((.*?)\)", page), [f"../00_warmup/{each}/README.md" for each in ("01_first_kernel", "04_who_reads_what", "06_stencil")])

    def test_the_step_before_is_what_the_page_or_the_kernel_names(self):
        self.assertEqual(book.step_before("04_no_atomic"), ("03", "04"))
        self.assertEqual(book.step_before("07_chunkwise/13_tree"), ("07.12", "07.13"))
        self.assertIsNone(book.step_before("00_warmup/01_first_kernel"))


class Writing(InAFolder):
    def test_arguments_and_what_is_missing(self):
        self.assert_refused(lambda words: book.book(words, "default", "/"), ((["03"], "takes no arguments except --recordings"), (["--recordings", "03"], "takes no")))
        with mock.patch.object(book, "python_with", return_value=None), self.assertRaisesRegex(Failed, "apt-get install -y mkdocs-material"):
            book.book([], "default", "/")
        with mock.patch.object(book, "MATHJAX", Path("/none")), self.assertRaisesRegex(Failed, "libjs-mathjax"):
            book.copy_mathjax(self.root)

    def test_an_earlier_book_stays_until_the_new_one_is_whole(self):
        self.write({"place/site/index.html": "new", "book/index.html": "old"})
        with self.assertRaises(FileNotFoundError):
            book.put(self.root / "place/no_site", self.root / "book")
        self.assertEqual((self.root / "book/index.html").read_text(), "old")
        book.put(self.root / "place/site", self.root / "book")
        self.assertEqual((self.root / "book/index.html").read_text(), "new")

    def test_the_index_is_a_script_without_the_text_of_whole_pages(self):
        entries = [{"location": "a.html", "title": "A", "text": "all"}, {"location": "a.html#b", "title": "B", "text": "part"},
                   {"location": "k.cu.html", "title": "k.cu", "text": "k.cu"}]
        script = book.search_script(json.dumps({"docs": entries}), "worker")
        index, end = json.JSONDecoder().raw_decode(script.removeprefix("__book_index("))
        self.assertEqual([each["text"] for each in index["docs"]], ["", "part", "k.cu"])
        self.assertEqual(script[len("__book_index(") + end:], ', "worker")\n')


@unittest.skipIf(book_pages is None, "markdown-it or mkdocs is not installed")
class Pages(InAFolder):
    GLOSSARY = ('- <a id="sm"></a>**SM** (streaming multiprocessor, 多), also: *multiprocessor*: a core. It has four schedulers.\n'
                '- <a id="tile"></a>**Tile** (分块): the part that a `block` works on. Also: *patch*.\n- <a id="row"></a>**Row** (行): a row.\n')

    def rendered(self, text, page="04_no_atomic/README.md"):
        return book_pages.rendered(text, page)[0]

    def test_markdown_is_that_of_github(self):
        shown = self.rendered("# A `b`\n\nText:\n- one\n  - two\n\n<details><summary>Hint</summary>\n\nSay *this*.\n\n</details>\n\n<!-- code: k.cu -->\n| a | b |\n|---|--:|\n| 1 | ~~2~~ |\n")
        for part in ('<h1 id="a-b">A <code>b</code></h1>', "<li>one\n<ul>\n<li>two", "<summary>Hint</summary>\n<p>Say <em>this</em>.</p>", "<td style=\"text-align:right\"><s>2</s>"):
            self.assertIn(part, shown)
        self.assertNotIn("<!--", shown)

    def test_code_has_its_language(self):
        self.assertIn('<span class="k">return</span>', self.rendered("```cpp\nreturn 1;\n```\n"))
        self.assertIn('<span class="gi">+a</span>', self.rendered("```diff\n+a\n```\n"))
        self.assertIn('<span class="c1"># next</span>', self.rendered("```\n./ladder exercise 00.01   # next\n```\n"))
        self.assertIn('<span class="gp">$ </span>./ladder exercise 00.01', self.rendered("```\n$ ./ladder exercise 00.01\nSolved\n```\n"))
        self.assertIn("<code>a &lt; b\n</code>", self.rendered("```nonsense\na < b\n```\n"))

    def test_formulas_are_those_of_github(self):
        self.assertIn('<span class="math">\\(a_b &lt; c_d\\)</span>', self.rendered("So $a_b < c_d$ holds.\n"))
        self.assertIn('<span class="math display">\\[x\\]</span>', self.rendered("$$x$$\n"))
        self.assertIn('<span class="math display">\\[\\frac{a}{b}\\]</span>', self.rendered("```math\n\\frac{a}{b}\n```\n"))
        for text in ("It costs $5 and $6.", "`$a$`", "a $ b $ c"):
            self.assertNotIn("math", self.rendered(text))

    def test_the_clone_line_never_names_the_page_that_shows_it(self):
        with mock.patch.dict("os.environ", {"GITHUB_SERVER_URL": "https://x.org", "GITHUB_REPOSITORY": "a/b"}):
            self.assertIn("git clone https://x.org/a/b kernel", self.rendered("```\ngit clone <this page's address> kernel\n```\n"))

    def test_a_word_has_its_meaning_where_it_first_occurs(self):
        words, meanings = book_pages.glossary_of(self.GLOSSARY)
        self.assertEqual((words, meanings["sm"]), ({"SM": "sm", "multiprocessor": "sm", "Tile": "tile", "patch": "tile"}, "A core. It has four schedulers."))
        glossary = ({**words, "tile": "tile"}, meanings, re.compile(r"(?<![\w-])(SM|multiprocessor|[Tt]ile|patch)(s?)(?![\w-])"))
        def shown(text): return book_pages.with_terms(text, "04/index.html", glossary)
        link = '<a class="term" href="../docs/glossary.html#tile" title="The part that a block works on. Also: patch.">'
        self.assertEqual(shown("<h2>Tiles</h2><p><code>tile</code> two tiles, a tile, an sm</p>"), f"<h2>Tiles</h2><p><code>tile</code> two {link}tiles</a>, a tile, an sm</p>")
        self.assertEqual(shown('<p><a href="../docs/glossary.html#tile">a patch</a> and a tile</p>'), f"<p>{link}a patch</a> and a tile</p>")
        self.assertEqual(shown("<p>reptile tile-wise <a href='x'>tile</a></p>"), "<p>reptile tile-wise <a href='x'>tile</a></p>")

    def test_a_source_has_an_anchor_for_each_line(self):
        self.as_root_of(place, book)
        self.write({"04_a/kernel.cu": "/* a\n b */\nint x = 1 < 2;\n", "LICENSE": "MIT <x>\n"})
        shown = book_pages.source_page("04_a/kernel.cu")
        self.assertEqual(re.findall(r'id="(L\d+)"', shown), ["L1", "L2", "L3"])
        self.assertIn('<span id="L2"><span class="cm"> b */</span></span>', shown)
        self.assertIn('<span id="L1">MIT &lt;x&gt;</span>', book_pages.source_page("LICENSE"))

    def test_a_lesson_says_what_needs_the_clone(self):
        page = book_pages.with_box('<h1>A</h1><h2 id="your-turn">Your turn</h2><p>x', "04_no_atomic", "04_no_atomic/index.html")
        self.assertRegex(page, r'Your turn</h2><div class="admonition[^>]*>.*your clone</a>:</p>.*\./ladder exercise 04\n(?s:.*)href="exercise.cu.html".*04\.boss')
        self.assertIn("<h1>A</h1><div", book_pages.with_box("<h1>A</h1>", "04_no_atomic/01_restrict", "04_no_atomic/01_restrict/index.html"))

    def test_a_lesson_plays_its_recordings_below_the_x_rays_heading(self):
        text = '<h1>A</h1><h2 id="x-ray-before-and-after">X</h2><p>y<h2 id="what-next">?</h2>'
        page = book_pages.with_player(text, "07_chunkwise/09_ldmatrix_swizzle", [Path(f"07.{each}.js") for each in ("08_registers", "09_ldmatrix_swizzle", "09_ldmatrix_swizzle.mistake")])
        self.assertRegex(page, r'X</h2><p>A step(?s:.*?)</p>\n<xray-player names="[^"]*07\.09_ldmatrix_swizzle"></xray-player>\n<details class="played"><summary>The same kernel with a mistake, '
                               r'(?s:.*?)names="07\.09_ldmatrix_swizzle\.mistake 07(?s:.*?)</details>\n<details (?s:.*?)<xray-banks lesson="07.09"></xray-banks></details>\n<p>y')
        self.assertEqual(book_pages.with_player(text, "05_float4", []), text)

    def test_a_lesson_without_recordings_says_how_to_play_it(self):
        page = book_pages.with_player('<h2 id="idea">I</h2><h2 id="what-next">?</h2>', "05_float4", None)
        self.assertEqual(page, '<h2 id="idea">I</h2><p><code>./ladder xray 05 --play 05.html</code> plays this kernel step by step.</p>\n<h2 id="what-next">?</h2>')

    def test_the_player_comes_after_the_recordings_that_a_page_plays(self):
        self.assertEqual(book_pages.scripts_of([Path("out/recordings/05.js")]), ["assets/recordings/05.js", "assets/player.js"])
        self.assertEqual((book_pages.scripts_of(None), book_pages.scripts_of([])), ([], []))
        self.write({"out/05.js": "05", "assets/x": ""})
        with mock.patch.object(book_pages, "MADE", {Path("05"): [self.root / "out/05.js"], Path("06"): [self.root / "out/05.js"]}):
            book_pages.on_post_build({"site_dir": str(self.root)})
        self.assertEqual((self.root / "assets/recordings/05.js").read_text(), "05")
        self.assertIn("customElements.define", (self.root / "assets/player.js").read_text())

    def test_the_changes_are_in_the_section_that_names_the_command(self):
        page = '<h2 id="the-diff">The diff</h2><p>./ladder diff 05 06</p><h2 id="what-next">What next?</h2>'
        self.assertRegex(book_pages.with_diff(page, "06_shared_mem"), r"</p><details class=\"changes\"><summary>From 05 to 06: the \d+ lines(?s:.*)</details>\n<h2 id=\"what")
        self.assertEqual(book_pages.with_diff('<span class="gi">+a</span>', "06_shared_mem"), '<span class="gi">+a</span>')
        self.assertEqual(book_pages.with_diff(page, "00_warmup/01_first_kernel"), page)

    def test_headings_nest(self):
        self.assertEqual([each["id"] for each in book_pages.nested([(1, "a", "A"), (2, "b", "B"), (2, "c", "C"), (3, "d", "D")])[0]["children"]], ["b", "c"])


if __name__ == "__main__":
    unittest.main()
