"""Draws the figure of 07_chunkwise/17_two_walks beside this script. usage: python3 docs/figures/gradient_walks.py"""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, ORANGE, RED, Drawing

NOTE = "#666666"
STEPS = 4
CELLS, SIDE, MINE = 8, 13, 3  # of the small pictures of S and D; thread n's row and column


def box(d, x, y, words, colour):
    d.box(x, y, 76, 44, colour, INK, 1.2)
    d.text(x + 38, y + 28, words, 15, bold=True)


def matrix(d, x, y, name, row, column):
    """A state of which a thread has a row, and perhaps a column."""
    d.text(x + CELLS * SIDE / 2, y - 24, name, 14, bold=True)
    d.text(x + CELLS * SIDE / 2, y - 8, "value columns i", 10.5, colour=NOTE)
    for j in range(CELLS):
        for i in range(CELLS):
            d.box(x + i * SIDE, y + j * SIDE, SIDE, SIDE, row if j == MINE else column if i == MINE else "white", GREY, 0.6)
    d.text(x - 8, y + MINE * SIDE + 11, "n", 12, "end", bold=True)
    if column != "white":
        d.text(x + (MINE + 0.5) * SIDE, y + CELLS * SIDE + 15, "n", 12, bold=True)


def walks():
    """Four steps: S from left to right, D from right to left, and which gradient is made where."""
    d = Drawing(900, 590)
    d.text(20, 28, "The gradients of four steps: S forward in time, then D backward in time", 15, "start", bold=True)
    left, width, top, low = 74, 142, 112, 376
    x = [left + width * t for t in range(STEPS)]
    for t in range(STEPS):
        d.box(x[t] - 20, 52, 116, 446, "#f7f7f7", "none")
        d.text(x[t] + 38, 68, f"step {t}", 12, colour=NOTE)
        box(d, x[t], top, f"S{t - 1}" if t else "0", BLUE)
        box(d, x[t], low, f"D{t}" if t < STEPS - 1 else "0", ORANGE)
        # What each step makes of it.
        d.line([(x[t] + 38, top), (x[t] + 38, top - 16)], DARK_BLUE, 1.4, arrow=True)
        d.text(x[t] + 38, top - 22, f"dq{t}, du", 12.5, colour=DARK_BLUE)
        d.line([(x[t] + 38, top + 44), (x[t] + 38, low)], GREEN, 1.6, dashes="5,4", arrow=True)
        d.text(x[t] + 38, low + 86, f"dk{t}, dv{t}", 12.5, colour=RED)
        d.text(x[t] + 38, low + 106, f"d_log_w{t}", 12.5, colour=GREEN)
        d.line([(x[t] + 38, low + 44), (x[t] + 38, low + 68)], RED, 1.4, arrow=True)
    for t in range(STEPS - 1):
        middle = x[t] + 38 + width / 2
        d.line([(x[t] + 76, top + 22), (x[t + 1], top + 22)], INK, 1.8, arrow=True)
        d.text(middle, top + 66, f"times w{t},\nplus k{t} v{t}", 11)
        d.line([(x[t + 1], low + 22), (x[t] + 76, low + 22)], INK, 1.8, arrow=True)
        d.text(middle, low - 30, f"times w{t + 1},\nplus q{t + 1} d_o{t + 1}", 11)
    d.text(x[0] + 109, top + 118, "kept in\nmemory:\n16 KB a\nstep", 11.5, colour=GREEN)
    d.box(x[1] - 6, 268, 372, 56, "white", GREY, 1)
    d.text(x[1] + 10, 290, "Walk 1 goes with time:", 12.5, "start")
    d.line([(x[1] + 176, 286), (x[1] + 340, 286)], INK, 1.8, arrow=True)
    d.text(x[1] + 10, 312, "Walk 2 goes against it:", 12.5, "start")
    d.line([(x[1] + 340, 308), (x[1] + 176, 308)], INK, 1.8, arrow=True)

    right = 702
    matrix(d, right, 122, "S", BLUE, "white")
    d.text(right - 26, 254, "Walk 1: thread n has row n.\nA sum over the row needs\nno other thread:\n  with d_o: dq", 12, "start")
    matrix(d, right, 376, "D", ORANGE, "#f9dcc0")
    d.text(right - 26, 516, "Walk 2: row n and column n.\n  row with v: dk\n  row with S: d_log_w\n  column with k: dv", 12, "start")
    d.save("gradient_walks.svg")


walks()
