"""Writes small SVGs for the scripts in this folder. Elements of one style with nothing in between
that overlaps them become one element or one group. Text stays text, and the file is the same every
time."""
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
INK, GREY, LIGHT = "#222222", "#888888", "#f2f2f2"
NOTE = "#666666"  # colour of words beside a point
BLUE, DARK_BLUE, ORANGE, GREEN, RED = "#9fc5e8", "#2c6fbb", "#f6b26b", "#3a8a3a", "#c0392b"
PALE = ["#cfe2f3", "#d9ead3", "#fce5cd", "#ead1dc"]  # colours of repeated parts
# SVG's defaults
_INITIAL = {"fill": "#000", "stroke": "none", "stroke-width": "1", "text-anchor": "start"}


def number(value):
    return f"{round(value, 1) + 0:g}"


def _short(colour):
    return "#" + colour[1::2] if colour.startswith("#") and colour[1::2] == colour[2::2] else colour


def _attributes(style):
    return "".join(f' {name}="{value}"' for name, value in style.items() if value != _INITIAL.get(name))


def _overlap(one, other, gap=0.0):
    return one[0] < other[2] + gap and other[0] < one[2] + gap and one[1] < other[3] + gap and other[1] < one[3] + gap


def _pair(x, y):
    return f"{x}{y}" if y.startswith("-") else f"{x},{y}"


def _path(lines):
    """The path of several lines, each (points, whether it is closed). Every point is a step from
    the previous one, in tenths of a pixel."""
    at, text = (0, 0), ""
    for points, closed in lines:
        for n, (x, y) in enumerate((round(10 * x), round(10 * y)) for x, y in points):
            across, down = number((x - at[0]) / 10), number((y - at[1]) / 10)
            text += f"m{_pair(across, down)}" if n == 0 else f"h{across}" if down == "0" else f"v{down}" if across == "0" else f"l{_pair(across, down)}"
            at = (x, y)
            begin = at if n == 0 else begin
        if closed:
            text, at = text + "z", begin
    return text


class _Group:
    """Elements of one style: the tag of each, its content (for a path its lines), and the boxes of
    its parts."""

    def __init__(self, style):
        self.style, self.elements = style, []

    def boxes(self):
        return (box for _, _, boxes in self.elements for box in boxes)

    def add(self, tag, content, box):
        """Joins a part of a path to the previous path if they do not overlap, because a fill must
        not hide another part's edge."""
        last = self.elements[-1] if self.elements else (None, "", [])
        if tag == last[0] == "path" and "marker-end" not in self.style and not any(_overlap(box, each) for each in last[2]):
            self.elements[-1] = (tag, [*last[1], *content], [*last[2], box])
        else:
            self.elements.append((tag, content, [box]))

    def text(self):
        style = _attributes(self.style)
        alone = style if len(self.elements) == 1 else ""
        lines = [f'<path{alone} d="{_path(content)}"/>' if tag == "path" else f"<{tag}{alone} {content}" for tag, content, _ in self.elements]
        return "\n".join(lines if alone or not style else [f"<g{style}>", *lines, "</g>"])


class Drawing:
    """An SVG of the given size, in pixels; y grows downwards."""

    def __init__(self, width, height):
        self.size, self.groups = (width, height), []

    def _add(self, style, tag, content, box):
        """Adds to the last group of that style, unless a later drawing is below it; then to a new
        group."""
        for group in reversed(self.groups):
            if group.style == style:
                break
            gap = 0 if tag != "text" and group.style.get("stroke") == style["stroke"] and group.style.get("stroke-width") == style["stroke-width"] else 2.0
            if any(_overlap(box, each, gap) for each in group.boxes()):
                group = None
                break
        else:
            group = None
        if group is None:
            group = _Group(style)
            self.groups.append(group)
        group.add(tag, content, box)

    def _path(self, lines, closed, fill="none", edge="none", line=1.0, **more):
        style = {"fill": _short(fill), "stroke": _short(edge), "stroke-width": f"{line:g}" if edge != "none" else "1", **more}
        xs, ys = zip(*(point for points in lines for point in points))
        self._add(style, "path", [(points, closed) for points in lines], (min(xs), min(ys), max(xs), max(ys)))

    def box(self, x, y, width, height, colour="white", edge=INK, line=1):
        right, bottom = x + width, y + height
        self._path([((x, y), (right, y), (right, bottom), (x, bottom))], True, colour, edge, line)

    def polygon(self, points, colour):
        self._path([points], True, colour)

    def line(self, points, colour=INK, width=1.2, dashes="", arrow=False):
        more = {"stroke-dasharray": dashes} if dashes else {}
        self._path([points], False, "none", colour, width, **more, **({"marker-end": "url(#arrow)"} if arrow else {}))

    def lines(self, pairs, colour=INK, width=1.2):
        """Many straight lines, (start, end) of each."""
        self._path(list(pairs), False, "none", colour, width)

    def circle(self, x, y, radius, colour="white", edge=INK, line=1):
        style = {"fill": _short(colour), "stroke": _short(edge), "stroke-width": f"{line:g}"}
        self._add(style, "circle", f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>', (x - radius, y - radius, x + radius, y + radius))

    def text(self, x, y, words, size=13, anchor="middle", colour=INK, bold=False):
        style = {"font-size": f"{size:g}", "text-anchor": anchor, "fill": _short(colour), **({"font-weight": "bold"} if bold else {})}
        for i, line in enumerate(words.split("\n")):
            # at least as wide as in any font
            wide, top = 0.75 * size * len(line), y + 1.3 * size * i
            left = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
            if line.strip():
                self._add(style, "text", f'x="{number(x)}" y="{number(top)}">{escape(line, quote=False)}</text>', (left, top - size, left + wide, top + 0.3 * size))

    def save(self, name):
        width, height = self.size
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="DejaVu Sans, sans-serif">\n'
                + (f'<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0L10,5L0,10z" fill="{_short(INK)}"/></marker>\n'
                   if any("marker-end" in group.style for group in self.groups) else "")
                + '<path d="M0,0H{0}V{1}H0z" fill="white"/>\n'.format(width, height))
        (FOLDER / name).write_text(head + "\n".join(group.text() for group in self.groups) + "\n</svg>\n")
