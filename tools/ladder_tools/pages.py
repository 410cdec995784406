"""Facts about the Markdown pages that the book and upkeep's checks share: links, anchors, and the
published address."""
import re
from pathlib import Path

from ladder_tools.place import ROOT, text_of

# A fence ends at the next one of the same length, so code may contain a shorter one.
FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1`*[ \t]*$", re.S | re.M)
COMMENT = re.compile(r"<!--.*?-->", re.S)
EXTERNAL = re.compile(r"[a-z][a-z0-9+.\-]*:")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_INLINE = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


def links(page):
    """Targets in the page's order, without those in code and comments."""
    text = COMMENT.sub("", _CODE_SPAN.sub("", FENCED.sub("", page)))
    found = [(match.start(), match[1]) for pattern in (_INLINE, _HTML) for match in pattern.finditer(text)]
    return [target for _, target in sorted(found)]


class Slugs:
    """The anchors that GitHub gives to a page's headings, in order."""

    def __init__(self):
        self._seen = {}

    def of(self, heading):
        """The anchor of the next heading, from its text without links."""
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = self._seen.get(name, 0)
        self._seen[name] = count + 1
        return f"{name}-{count}" if count else name


def anchors(page):
    """All anchors of a page, those of its headings as GitHub makes them."""
    text, slugs = COMMENT.sub("", FENCED.sub("", page)), Slugs()
    headings = (re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in _HEADING.findall(text))
    return set(_ANCHOR.findall(text)) | {slugs.of(each) for each in headings}


def published_address(root=ROOT):
    """The address of the published repository in the tree's CITATION.cff, or ""."""
    found = re.search(r"^repository-code: *\"?([^\s\"]+)", text_of(Path(root) / "CITATION.cff"), re.MULTILINE)
    return found[1] if found else ""
