"""An SVG, written line by line: text stays text, the same file every time. The scripts beside this one draw with it."""
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
INK, GREY, LIGHT = "#222222", "#888888", "#f2f2f2"
BLUE, DARK_BLUE, ORANGE, GREEN, RED = "#9fc5e8", "#2c6fbb", "#f6b26b", "#3a8a3a", "#c0392b"


class Drawing:
    """An SVG of the given size, in pixels; y grows downwards."""

    def __init__(self, width, height):
        self.size, self.parts = (width, height), []

    def box(self, x, y, width, height, colour="white", edge=INK, line=1):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}" stroke="{edge}" stroke-width="{line:g}"/>')

    def polygon(self, points, colour):
        self.parts.append(f'<polygon points="{" ".join(f"{x:g},{y:g}" for x, y in points)}" fill="{colour}"/>')

    def line(self, points, colour=INK, width=1.2, dashes="", arrow=False):
        end = ' marker-end="url(#arrow)"' if arrow else ""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<polyline points="{" ".join(f"{x:g},{y:g}" for x, y in points)}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}{end}/>')

    def lines(self, pairs, colour=INK, width=1.2):
        """Many straight pieces as one element of the file: (start, end) of each."""
        path = "".join(f"M{a:g},{b:g}L{x:g},{y:g}" for (a, b), (x, y) in pairs)
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>')

    def circle(self, x, y, radius, colour="white", edge=INK, line=1):
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}" stroke="{edge}" stroke-width="{line:g}"/>')

    def text(self, x, y, words, size=13, anchor="middle", colour=INK, bold=False):
        weight = ' font-weight="bold"' if bold else ""
        for i, line in enumerate(words.split("\n")):
            self.parts.append(f'<text x="{x:g}" y="{y + 1.3 * size * i:g}" font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"{weight}>{escape(line)}</text>')

    def save(self, name):
        width, height = self.size
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="DejaVu Sans, sans-serif">\n'
                f'<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="{INK}"/></marker></defs>\n'
                f'<rect width="{width}" height="{height}" fill="white"/>\n')
        (FOLDER / name).write_text(head + "\n".join(self.parts) + "\n</svg>\n")
