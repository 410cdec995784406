"""Draws the figure of 07_chunkwise/11b_decay_per_head."""
from math import exp

from drawing import DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, RED, Drawing

TOKENS = 16  # of a sub-chunk
LOG_W = [-0.05, -0.1, -0.02, -0.15, -0.08, -0.05, -0.2, -0.04, -0.1, -1.6, -0.06, -0.1, -0.03, -0.12, -0.05, -0.09]
QUERY, KEY = 12, 6  # the highlighted pair


def shade(factor):
    """From white to blue."""
    return "#" + "".join(f"{round(255 + (full - 255) * factor):02x}" for full in (0x6f, 0xa8, 0xdc))


def mask():
    """The factors of a sub-chunk's scores, with a column for the state before it, and the uses of
    rows and columns."""
    d = Drawing(900, 630)
    d.text(20, 28, "A sub-chunk of 16 tokens: the factor of each score, in percent", 15, "start",
           bold=True)
    cell, gap, left, top = 30, 14, 130, 96
    column = [left + cell + gap + cell * s for s in range(TOKENS)]
    d.text(left + cell / 2, top - 26, "state\nbefore", 11, colour=GREEN)
    d.text((column[0] + column[-1] + cell) / 2, top - 26, "key s", 12)
    d.text(left - 66, top - 26, "log_w\nof it", 11, colour=NOTE)
    d.text(left - 22, top - 26, "query\nl", 11)
    for s in range(TOKENS):
        d.text(column[s] + cell / 2, top - 8, str(s), 11, colour=NOTE)
    for query in range(TOKENS):
        y = top + cell * query
        strong = LOG_W[query] < -1
        d.text(left - 12, y + 20, str(query), 11, "end", NOTE)
        d.text(left - 66, y + 20, f"{LOG_W[query]:.2f}", 11, colour=RED if strong else NOTE, bold=strong)
        since = exp(sum(LOG_W[:query + 1]))
        d.box(left, y, cell, cell, shade(since), GREY, 0.7)
        d.text(left + cell / 2, y + 20, f"{100 * since:.0f}", 11)
        for s in range(TOKENS):
            if s > query:
                d.box(column[s], y, cell, cell, LIGHT, GREY, 0.4)
                continue
            factor = exp(sum(LOG_W[s + 1:query + 1]))
            d.box(column[s], y, cell, cell, shade(factor), GREY, 0.7)
            d.text(column[s] + cell / 2, y + 20, f"{100 * factor:.0f}", 11)
    bottom = top + cell * TOKENS
    d.box(left, top, cell, bottom - top - cell, "none", GREEN, 2.4)
    d.box(column[0], bottom - cell, cell * TOKENS, cell, "none", DARK_BLUE, 2.4)
    d.box(left, bottom - cell, cell, cell, "none", RED, 2.4)
    d.box(column[KEY], top + cell * QUERY, cell, cell, "none", INK, 2.4)
    d.text(column[11], top + cell * 3, "s > l:\nnot selected", 12, colour=NOTE)

    x = column[-1] + cell + 22
    d.text(x, top + 20, "Any cell is exp of the sum of log_w\nfrom s + 1 to l.", 12, "start")
    pair = LOG_W[KEY + 1:QUERY + 1]
    d.text(x, top + 66, f"Black: query {QUERY}, key {KEY}.\nsum of log_w from {KEY + 1} to {QUERY}: {sum(pair):.2f}\nexp of it: {100 * exp(sum(pair)):.0f} %", 12, "start")
    d.text(x, top + 134, "Token 9 forgets most of the past.\nFrom its row on, all keys before it\nare pale.", 12, "start")
    d.text(x, top + 214,
           "Green: the state before the\nsub-chunk is read like one more\nkey: the factor of row l "
           "of q S.", 12, "start", GREEN)
    d.text(x, top + 294,
           "Blue: the decay of token s until\nthe sub-chunk ends: the factor of\nv_s in the sum of "
           "k v.", 12, "start", DARK_BLUE)
    d.text(x, top + 374,
           "Red: the decay of the state in the\nwhole sub-chunk: the factor of S,\nto which k v is "
           "added.", 12, "start", RED)
    d.text(20, bottom + 40, "The kernel keeps 16 running sums c of log_w. A cell is exp(c_l - c_s), green is exp(c_l), blue is exp(c_15 - c_s), red is exp(c_15).", 12.5, "start")
    d.save("decay_per_head.svg")


mask()
