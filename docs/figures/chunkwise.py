"""Draws chapter 07's figures of decays beside this script. usage: python3 docs/figures/chunkwise.py"""
from math import cos, exp, inf

from drawing import DARK_BLUE, GREEN, GREY, INK, RED, Drawing

PALE = ["#e8f0fa", "#edf5ea", "#fef3e8", "#f4e8ee"]  # of the four sub-chunks
SCALE = ["#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"]  # of 0 to 1
CHUNK, SUB_CHUNK = 64, 16


def decayed_scores():
    d = Drawing(860, 436)
    cell, top, lefts = 5, 40, (60, 416)
    mild = [-0.35 if step % 7 == 3 else -0.06 for step in range(CHUNK)]
    total = [*mild[:40], -inf, *mild[41:]]
    for left, log_w, title in zip(lefts, (mild, total), ("mild decay", "the same, and step 40 forgets everything")):
        d.text(left + CHUNK * cell / 2, 26, title)
        for query in range(CHUNK):
            colours = [SCALE[round(10 * exp(sum(log_w[key + 1:query + 1])))] for key in range(query + 1)]
            starts = [key for key in range(query + 1) if key == 0 or colours[key] != colours[key - 1]]
            for key, end in zip(starts, [*starts[1:], query + 1]):
                d.box(left + cell * key, top + cell * query, cell * (end - key), cell, colours[key], "none")
        for border in range(0, CHUNK, SUB_CHUNK):
            at = cell * border
            if border:
                d.line(((left, top + at), (left + at, top + at)), "white", 1)
                d.line(((left + at, top), (left + at, top + CHUNK * cell)), GREY, 0.6)
            d.text(left + at, top + CHUNK * cell + 18, str(border), 12)
            d.text(left - 8, top + at + 8, str(border), 12, "end")
        d.box(left, top, CHUNK * cell, CHUNK * cell, "none", GREY)
        d.text(left + 230, top + 70, "s > t:\nnot selected", colour=GREY)
        d.text(left + CHUNK * cell / 2, top + CHUNK * cell + 38, "key s")
    d.text(20, 30, "query t", anchor="start")
    for level, colour in enumerate(SCALE):
        d.box(760, 320 - 26 * level, 22, 26, colour, "none")
        if level % 5 == 0:
            d.text(790, 338 - 26 * level, f"{level / 10:.1f}", 12, "start")
    d.text(20, 424, "Colour: the decay of key s until step t, exp(G(t) - G(s))", anchor="start")
    d.save("decayed_scores.svg")


def sub_chunk_anchor():
    """Two plots, one below the other, of the same steps."""
    d = Drawing(860, 600)
    left, wide = 90, 11.5
    log_w = [-2 + 0.5 * cos(0.9 * step) for step in range(CHUNK)]
    G = [sum(log_w[:step + 1]) for step in range(CHUNK)]
    first = 48  # of the queries' sub-chunk
    border = G[first - 1]

    def x(step):
        return left + wide * (step + 0.5)

    def curve(y, steps, values, colour):
        d.line([(x(step), y(value)) for step, value in zip(steps, values)], colour)
        for step, value in zip(steps, values):
            d.circle(x(step), y(value), 1.8, colour, "none")

    def axes(y, low, high, ticks):
        for n, colour in enumerate(PALE):
            d.box(left + wide * SUB_CHUNK * n, y(high), wide * SUB_CHUNK, y(low) - y(high), colour, "none")
        d.line(((left, y(high)), (left, y(low)), (left + wide * CHUNK, y(low))), GREY)
        for tick in ticks:
            d.text(left - 8, y(tick) + 4, str(tick), 12, "end")
        d.line(((left + wide * first, y(high)), (left + wide * first, y(low))))

    def upper(value):
        return 60 - 1.8 * value

    def below(value):
        return 450 - 0.95 * value

    d.text(20, 24,
           "A score's decay, split at the border before the query's sub-chunk (log_w about -2)", 15,
           "start", bold=True)
    axes(upper, -135, 5, range(0, -121, -20))
    d.text(20, 46, "G: log decay since the chunk began", 12, "start")
    curve(upper, range(CHUNK), G, INK)
    key, query = 21, 57
    for at, colour, ends in ((key, DARK_BLUE, (G[key], border)), (query, GREEN, (border, G[query]))):
        d.line(((x(at), upper(border)), (left + wide * first, upper(border))), GREY, 1, "2 3")
        d.line([(x(at), upper(value)) for value in ends], colour, 1.6, arrow=True)
    d.text(x(key) - 8, upper(-68), "k decays from s to the border:\nG(border) - G(s) is at most 0", 13, "end", DARK_BLUE)
    d.text(left + wide * first - 8, upper(-114), "q from the border to t:\nG(t) - G(border) is at most 0", 13, "end", GREEN)
    d.text(left + wide * first - 8, upper(-4), "border", anchor="end")
    axes(below, -105, 135, range(-100, 101, 50))
    d.text(20, below(135) - 6, "exponent", 12, "start")
    d.line(((left, below(0)), (left + wide * CHUNK, below(0))), GREY, 0.8)
    d.line(((left, below(88.7)), (left + wide * CHUNK, below(88.7))), RED, 1, "5 4")
    d.text(left + 14, below(93), "above 88.7, exp is infinite in fp32", anchor="start", colour=RED)
    curve(below, range(CHUNK), [-value for value in G], RED)
    curve(below, range(first), [border - value for value in G[:first]], DARK_BLUE)
    curve(below, range(first, CHUNK), [value - border for value in G[first:]], GREEN)
    for y, colour, words in ((18, RED, "k anchored at the chunk's beginning: -G(s)"), (-64, DARK_BLUE, "k anchored at the border: G(border) - G(s)"),
                             (-88, GREEN, "q anchored at the border: G(t) - G(border)")):
        d.text(left + wide * 47, below(y), words, 12, "end", colour)
    for tick in range(0, CHUNK, SUB_CHUNK):
        d.text(x(tick), below(-105) + 18, str(tick), 12)
    d.text(left + wide * CHUNK / 2, below(-105) + 38, "step of the chunk")
    d.save("sub_chunk_anchor.svg")


decayed_scores()
sub_chunk_anchor()
