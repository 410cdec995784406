"""Draws chapter 08's figures beside this script. usage: python3 docs/figures/flash_attention.py"""
from math import exp

from drawing import BLUE, DARK_BLUE, GREY, INK, LIGHT, ORANGE, RED, Drawing


def tiles():
    """A block's tile of queries against all tiles of keys, in two phases."""
    d = Drawing(900, 470)
    left, top, side, count, mine = 130, 120, 52, 6, 3
    d.text(left + count * side / 2, 28, "keys and values, tile by tile", bold=True)
    for j in range(count):
        colour = LIGHT if j > mine else "#d9ead3"
        d.box(left + j * side, 44, side - 4, 20, colour, GREY if j > mine else INK)
        d.text(left + j * side + side / 2 - 2, 59, f"k {j}", 11, colour=GREY if j > mine else INK)
        d.box(left + j * side, 68, side - 4, 20, colour, GREY if j > mine else INK)
        d.text(left + j * side + side / 2 - 2, 83, f"v {j}", 11, colour=GREY if j > mine else INK)
    d.line([(left, 104), (left + (mine + 1) * side - 6, 104)], arrow=True)
    for i in range(count):
        d.box(left - 70, top + i * side, 52, side - 4, "#fce5cd" if i == mine else "white", INK if i == mine else GREY)
        d.text(left - 44, top + i * side + 29, f"q {i}", 11, colour=INK if i == mine else GREY)
        for j in range(count):
            x, y, edge = left + j * side, top + i * side, side - 4
            if j > i:
                d.box(x, y, edge, edge, LIGHT, "#dddddd")
            elif j == i:
                d.box(x, y, edge, edge, "white", INK if i == mine else GREY)
                d.polygon([(x, y), (x, y + edge), (x + edge, y + edge)], ORANGE if i == mine else "#fbe3cc")
            else:
                d.box(x, y, edge, edge, BLUE if i == mine else "#e3eef8", INK if i == mine else GREY)
    d.box(left - 78, top + mine * side - 6, count * side + 84, side + 8, "none", RED, 2)
    d.text(left - 44, top + count * side + 18, "queries", bold=True)
    x = left + count * side + 34
    d.text(x, 60, "The framed row is one block:", 14, "start", bold=True)
    d.text(x, 84, "it keeps its tile of q, and m, l and o of each query,\nwhile all tiles of k and v that its queries see come past.", 13, "start")
    for y, draw, words in ((142, "full", "phase 1: every query sees every key,\nno mask is looked at"),
                           (206, "half", "phase 2: on the diagonal, and where the keys end:\nscores of unseen keys become -inf"),
                           (270, "none", "never fetched, never computed")):
        d.box(x, y, 36, 36, BLUE if draw == "full" else LIGHT if draw == "none" else "white", GREY if draw == "none" else INK)
        if draw == "half":
            d.polygon([(x, y), (x, y + 36), (x + 36, y + 36)], ORANGE)
        d.text(x + 50, y + 15, words, 13, "start")
    d.text(x, 342, "for each tile of keys:", 13, "start", bold=True)
    d.text(x, 364, "s = q k^T, on the chip only\nm' = max(m, largest s); p = exp(s - m')\nl = exp(m - m') l + sum of p\no = exp(m - m') o + p v\nat the end: o / l, and lse = m + log l", 13, "start")
    d.save("flash_tiles.svg")


def online_softmax():
    """Twelve scores in three tiles, with what stands for them after each."""
    scores = [1.0, 0.2, 1.6, 0.6, 2.2, 1.1, 3.0, 1.8, 0.9, 2.4, 1.4, 2.0]
    tile, width = 4, 26
    d = Drawing(900, 440)

    # The scores, and the maximum so far.
    left, base, unit = 130, 190, 45
    d.text(left - 16, base - 100, "scores s", anchor="end")
    d.text(left - 16, base - 78, "m so far", anchor="end", colour=RED)
    m = -1.0
    for c, s in enumerate(scores):
        x = left + c * width + c // tile * 110
        d.box(x, base - s * unit, width - 6, s * unit, BLUE)
        if c % tile == 0:
            m = max(m, *scores[c:c + tile])
            d.line([(x - 8, base - m * unit), (x + tile * width + 2, base - m * unit)], RED, 1.6, "5 3")
            d.text(x + tile * width / 2 - 3, base + 20, f"tile {c // tile}", colour=GREY)
            d.text(x + tile * width + 6, base - m * unit + 4, f"m = {m:.1f}", 12, "start", RED)
    d.line([(left - 10, base), (left + 12 * width + 2 * 110 + 6, base)], GREY)

    # The weights as they stand after each tile: relative to the maximum so far.
    base, unit = 340, 90
    d.text(left - 16, base - 72, "weights\nexp(s - m)\nafter the tile", anchor="end")
    m, l = None, 0.0
    for t in range(len(scores) // tile):
        new = max(scores[:(t + 1) * tile])
        factor = 0.0 if m is None else exp(m - new)
        added = sum(exp(s - new) for s in scores[t * tile:(t + 1) * tile])
        x0 = left + t * (tile * width + 110)
        step = (tile * width + 20) / ((t + 1) * tile)
        for c, s in enumerate(scores[:(t + 1) * tile]):
            height = exp(s - new) * unit
            old = c < t * tile
            if old and m != new:
                before = exp(s - m) * unit
                d.box(x0 + c * step, base - before, step - 2, before, "none", "#bbbbbb", 0.8)
            d.box(x0 + c * step, base - height, step - 2, height, "#d9ead3" if old else ORANGE, INK, 0.8)
        d.line([(x0 - 8, base), (x0 + tile * width + 26, base)], GREY)
        before = l
        l = factor * l + added
        first = "l = %.2f" % added if m is None else f"l = {factor:.2f} · {before:.2f} + {added:.2f} = {l:.2f}"
        d.text(x0 - 4, base + 22, first, 12.5, "start")
        if m is not None:
            d.text(x0 - 4, base + 42, f"factor exp({m:.1f} - {new:.1f}) = {factor:.2f}", 12, "start", DARK_BLUE)
        m = new
    whole = sum(exp(s - max(scores)) for s in scores)
    assert abs(l - whole) < 1e-12
    d.text(left - 4, base + 70, f"The whole row at once: m = {max(scores):.1f}, l = {whole:.2f}. It is the same.\no goes with l: what was summed before times the factor, plus p v of the tile. Grey: the weights before the factor.", 13, "start")
    d.text(left - 4, 24, "Online softmax: when the maximum grows, what was summed before shrinks by one factor", 14, "start", bold=True)
    d.save("online_softmax.svg")


if __name__ == "__main__":
    tiles()
    online_softmax()
