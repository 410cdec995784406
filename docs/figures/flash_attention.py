"""Draws chapter 08's figures."""
from math import exp

from drawing import (BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED,
                     Drawing)


def three_kernels():
    """Lesson 01: the arrays in global memory, as areas in the same scale."""
    d = Drawing(900, 560)
    matrix = 128  # the side of 2 GiB
    array = round((matrix * matrix / 2048 * 32) ** 0.5)  # the side of 32 MiB

    def small(x, y, name):
        d.box(x, y, array, array, PALE[0])
        d.text(x + array / 2, y - 6, name, 12, bold=True)

    def kernel(x, y, name, words, colour):
        d.box(x, y, 190, 52, colour)
        d.text(x + 95, y + 22, name, 13, bold=True)
        d.text(x + 95, y + 40, words, 11.5)

    d.text(20, 28, "B = 1, 32 heads, T = 4096, D = 128, bf16, scores in fp32. Areas are bytes, "
                   "to scale", 15, "start", bold=True)
    d.text(20, 58, "Three kernels", 14, "start", bold=True)
    tops, memory = 74, 210
    names = (("attention_scores", "S = scale q k^T, mask"),
             ("attention_softmax", "maximum, sum, weights"), ("attention_values", "o = weights v"))
    for n, (name, words) in enumerate(names):
        kernel(30 + 290 * n, tops, name, words, PALE[2])
    d.box(20, memory - 36, 860, 196, "#f7f7f7", GREY, 0.8)
    d.text(870, memory + 150, "global memory", 12.5, "end", DARK_BLUE, True)
    x = 320
    d.box(x, memory, matrix, matrix, ORANGE)
    d.text(x + matrix / 2, memory + 52, "scores,\nthen weights", 12.5, bold=True)
    d.text(x + matrix / 2, memory + 92, "2 GiB", 12.5)
    for name, left in (("q", 40), ("k", 90), ("v", 640), ("o", 760)):
        small(left, memory + 40, name)
    d.text(40, memory + 78, "32 MiB each", 11.5, "start", NOTE)
    for left in (48, 98):
        d.line([(left, memory + 22), (left, tops + 55)], arrow=True)
    d.line([(648, memory + 22), (648, tops + 55)], arrow=True)
    d.line([(768, tops + 54), (768, memory + 22)], arrow=True)
    d.line([(170, tops + 54), (170, memory + 64), (x - 3, memory + 64)], RED, 2.2, arrow=True)
    d.text(178, memory + 56, "written", 12.5, "start", RED)
    for n in range(3):
        d.line([(x + 14 + 20 * n, memory - 3), (x + 14 + 20 * n, tops + 55)], RED, 2.2, arrow=True)
    d.text(x + 2, memory - 66, "read\n3 times", 12.5, "end", RED)
    d.line([(x + 108, tops + 54), (x + 108, memory - 3)], RED, 2.2, arrow=True)
    d.text(x + 118, memory - 56, "written", 12.5, "start", RED)
    d.line([(x + matrix + 3, memory + 64), (620, memory + 64), (620, tops + 55)], RED, 2.2,
           arrow=True)
    d.text(x + matrix + 12, memory + 56, "read at least once", 12.5, "start", RED)

    top = 408
    d.text(20, top, "Flash attention (the chapter's other lessons)", 14, "start", bold=True)
    d.box(320, top + 14, 250, 52, PALE[1])
    d.text(445, top + 36, "one kernel", 13, bold=True)
    d.text(445, top + 54, "a tile of scores on chip at a time", 11.5)
    y = top + 96
    for name, left in (("q", 345), ("k", 405), ("v", 465), ("o", 525)):
        d.box(left, y, array, array, PALE[0])
        d.text(left + array + 8, y + 13, name, 12, "start", bold=True)
        ends = [(left + 8, y - 3), (left + 8, top + 69)]
        d.line(ends[::-1] if name == "o" else ends, arrow=True)
    d.text(600, y + 13, "no scores in global memory", 12.5, "start", GREEN)
    d.text(20, 544, "With T twice as large, the orange square has four times the area, and the "
                    "blue ones have twice theirs.", 12.5, "start", NOTE)
    d.save("flash_three_kernels.svg")


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
    d.text(x, 84,
           "it keeps its tile of q, and m, l and o of each query,\nand streams all tiles of k and "
           "v that its queries see.", 13, "start")
    for y, draw, words in ((142, "full",
                            "phase 1: every query sees every key,\nso no mask is needed"), (206,
                               "half",
                               "phase 2: on the diagonal, and where the keys end:\nscores of "
                               "unseen keys become -inf"), (270, "none",
                               "neither loaded nor computed")):
        d.box(x, y, 36, 36, BLUE if draw == "full" else LIGHT if draw == "none" else "white", GREY if draw == "none" else INK)
        if draw == "half":
            d.polygon([(x, y), (x, y + 36), (x + 36, y + 36)], ORANGE)
        d.text(x + 50, y + 15, words, 13, "start")
    d.text(x, 342, "for each tile of keys:", 13, "start", bold=True)
    d.text(x, 364, "s = q k^T, on the chip only\nm' = max(m, largest s); p = exp(s - m')\nl = exp(m - m') l + sum of p\no = exp(m - m') o + p v\nat the end: o / l, and lse = m + log l", 13, "start")
    d.save("flash_tiles.svg")


def online_softmax():
    """Twelve scores in three tiles, with m, l and the weights after each."""
    scores = [1.0, 0.2, 1.6, 0.6, 2.2, 1.1, 3.0, 1.8, 0.9, 2.4, 1.4, 2.0]
    tile, width = 4, 26
    d = Drawing(900, 440)

    # The scores and the running maximum.
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

    # The weights after each tile, relative to the running maximum.
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
    d.text(left - 4, base + 70,
           f"The whole row at once: m = {max(scores):.1f}, l = {whole:.2f}. It is the same.\no is "
           "updated like l: o so far times the factor, plus p v of the tile. Grey: the weights "
           "before the factor.", 13, "start")
    d.text(left - 4, 24,
           "Online softmax: when the maximum grows, the sums so far shrink by one factor", 14,
           "start", bold=True)
    d.save("online_softmax.svg")


def row_per_warp():
    """A warp with its row in registers, one key, and the four warps of a block over the keys."""
    d = Drawing(900, 560)
    left, cell, lanes, shown = 160, 19, 32, 5
    lane_x = [left + n * cell for n in range(lanes)]
    pale, green = "#fce5cd", "#d9ead3"

    def row(y, words, colour, height=20):
        d.text(left - 12, y + height / 2 + 4, words, 12.5, "end")
        for x in lane_x:
            d.box(x, y, cell, height, colour, INK, 0.7)

    d.text(20, 26,
           "One warp, one row (D = 64): a lane holds two channels of q and o, and reads the same "
           "two of each key", 15, "start", bold=True)
    d.text(left - 12, 54, "lane", 12.5, "end", GREY)
    for n in (0, shown, 31):
        d.text(lane_x[n] + cell / 2, 54, str(n), 12, colour=RED if n == shown else GREY)
    row(62, "k, channels 0 to 31", BLUE)
    row(84, "k, channels 32 to 63", BLUE)
    row(122, "q, in registers", "#e3eef8")
    row(142, "", "#e3eef8")
    row(180, "products, summed", "white")
    for n, distance in enumerate((16, 8, 4, 2, 1)):
        y = 209 + 17 * n
        d.text(left - 12, y + 12, f"+ lane xor {distance}", 12, "end", DARK_BLUE)
        a, b = sorted((lane_x[shown] + cell / 2, lane_x[shown ^ distance] + cell / 2))
        d.line([(a, y + 14), (a, y + 7), (b, y + 7), (b, y + 14)], DARK_BLUE, 1.6)
        d.text(lane_x[shown ^ distance] + cell / 2, y + 1 if distance > 2 else y + 2, str(shown ^ distance), 10.5, colour=DARK_BLUE)
    row(296, "score: in every lane", ORANGE)
    row(322, "m and l: in every lane", pale)
    row(348, "o, in registers", green)
    row(368, "", green)
    d.box(lane_x[shown] - 2, 58, cell + 4, 334, "none", RED, 2)
    x = left + lanes * cell + 14
    for y, words in ((88, "read from\nmemory"), (146, "read once"), (194, "q k, in\nthis lane"),
                     (246, "five shuffles;\nlane 5's are\ndrawn"), (306, "not kept\nafterwards"),
                     (362, "o adds v,\nread as k is")):
        d.text(x, y, words, 12, "start", GREY)

    top, keys, now, side = 440, 16, 6, 24
    d.text(20, 422, "The four warps of a block: each has its own query, and reads each key that this query sees", 14, "start", bold=True)
    for i in range(4):
        y = top + i * (side + 3)
        d.text(left - 12, y + 16, f"warp {i}: query {8 + i}", 12.5, "end")
        for j in range(keys):
            seen = j <= 8 + i
            colour = LIGHT if not seen else ORANGE if j == now else "#e3eef8" if j < now else "white"
            d.box(left + j * side, y, side - 3, side - 3, colour, INK if seen else "#dddddd")
    d.line([(left + now * side + side / 2 - 2, top - 12), (left + now * side + side / 2 - 2, top - 2)], RED, 2, arrow=True)
    d.text(left + now * side + side + 4, top - 4, f"key {now} now", 12, "start", RED)
    x = left + keys * side + 20
    for n, (colour, words) in enumerate((("#e3eef8", "done: it is in m, l and o"), ("white",
                                             "still to come"), (LIGHT,
                                             "causal: not seen, not read"))):
        d.box(x, top + n * 30, 20, 20, colour, "#dddddd" if colour == LIGHT else INK)
        d.text(x + 30, top + n * 30 + 15, words, 12.5, "start")
    d.save("flash_row_per_warp.svg")


for draw in (three_kernels, tiles, online_softmax, row_per_warp):
    draw()
