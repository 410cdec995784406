"""Draws the picture of chapter 08's own page."""
from math import exp

from drawing import DARK_BLUE, GREEN, GREY, INK, LIGHT, ORANGE, RED, Drawing

PALE, QUERY, DONE = "#e3eef8", "#fce5cd", "#d9ead3"


def block(d):
    """128 threads, the tiles in shared memory, and the tiles to come."""
    d.text(20, 28, "One block: 128 threads with a query each. Tiles of 16 keys and values are streamed through shared memory", 15, "start", bold=True)
    left, wide = 190, 62
    for row, name in enumerate(("keys", "values")):
        d.text(left - 14, 74 + 28 * row, name, 13, "end")
        for tile in range(8):
            colour, edge = (LIGHT, "#dddddd") if tile > 5 else (ORANGE, INK) if tile == 2 else (DONE, INK) if tile < 2 else ("white", INK)
            d.box(left + wide * tile, 58 + 28 * row, wide - 6, 22, colour, edge)
            d.text(left + wide * (tile + 0.5) - 3, 74 + 28 * row, f"tile {tile}", 11.5, colour=GREY if tile > 5 else INK)
    d.text(left + 8 * wide + 8, 66, "green: done. orange: in shared memory.", 12, "start")
    d.text(left + 8 * wide + 8, 84, "white: to come, from memory.", 12, "start")
    d.text(left + 8 * wide + 8, 102, "grey: causal, no query of the block sees them.", 12, "start")
    x = left + 2.5 * wide - 3
    d.line([(x, 112), (x, 146)], DARK_BLUE, arrow=True)
    d.text(x + 12, 134, "all threads read the same 16 bytes", 12, "start", DARK_BLUE)


def thread(d):
    """The values that one thread holds, with their sizes."""
    left, top = 190, 158
    for row, (name, chosen) in enumerate((("thread 0: query 0", False), ("thread 1: query 1", True), ("...", False), ("thread 127: query 127", False))):
        y = top + 30 * row
        d.text(left - 14, y + 15, name, 12.5, "end", INK, chosen)
        if name == "...":
            continue
        for at, width, words, colour in ((0, 190, "q: 64 floats", QUERY), (196, 190, "o: 64 floats", DONE), (392, 116, "scores: 16 floats", ORANGE),
                                         (514, 62, "largest", PALE), (582, 50, "sum", PALE)):
            d.box(left + at, y, width, 22, colour if chosen else "white", INK if chosen else GREY)
            d.text(left + at + width / 2, y + 15, words, 12, colour=INK if chosen else GREY)
    d.box(left - 6, top + 24, 644, 34, "none", RED, 2)
    d.text(left + 650, top + 45, "all in registers", 12.5, "start", RED)
    d.text(left + 650, top + 75, "the next tile's 16 scores\nreuse these registers", 12, "start",
           GREY)


def larger(d):
    """Scores 1 and 3, then 5."""
    values, first, second = (10, 20, 30), (1, 3), 5
    sums, os = sum(exp(s - 3) for s in first), sum(exp(s - 3) * v for s, v in zip(first, values))
    shrink = exp(3 - second)
    end_sum, end_o = shrink * sums + 1, shrink * os + values[2]
    assert abs(end_sum - sum(exp(s - second) for s in (*first, second))) < 1e-12
    top = 316
    d.text(20, top, "A larger score arrives: scores 1 and 3, then 5, with values 10, 20 and 30", 15,
           "start", bold=True)
    base, unit = top + 140, 78
    for at, title, bars, ghosts, below in ((60, "after scores 1 and 3: largest = 3", [(exp(-2),
                                                    DONE), (1, DONE)], (),
                                            f"sum = {sums:.3f}, o = {os:.2f}"), (350,
                                               "5 arrives: both shrink by exp(3 - 5) = "
                                               f"{shrink:.3f}", [(exp(-4), DONE), (exp(-2), DONE)],
                                               (exp(-2), 1),
                                               f"sum = {shrink * sums:.3f}, o = {shrink * os:.2f}"),
                                           (640, "its weight 1 is added: largest = 5", [(exp(-4),
                                                    DONE), (exp(-2), DONE), (1, ORANGE)], (),
                                            f"sum = {end_sum:.3f}, o = {end_o:.2f}")):
        d.text(at, top + 34, title, 12.5, "start")
        for n, height in enumerate(ghosts):
            d.box(at + 20 + 50 * n, base - height * unit, 40, height * unit, "none", "#bbbbbb", 0.8)
        for n, (height, colour) in enumerate(bars):
            d.box(at + 20 + 50 * n, base - height * unit, 40, height * unit, colour, INK, 0.8)
            d.text(at + 40 + 50 * n, base + 15, str((1, 3, 5)[n]), 11.5, colour=GREY)
        d.line([(at + 8, base), (at + 186, base)], GREY)
        d.text(at, base + 40, below, 13, "start", GREEN if at > 600 else INK)
    d.text(60, base + 68, f"At the end o / sum = {end_o / end_sum:.2f}. The softmax of all three scores at once gives the same.", 13, "start")


drawing = Drawing(1000, 540)
block(drawing)
thread(drawing)
larger(drawing)
drawing.save("flash_thread.svg")
