"""Draws the figures of 07_chunkwise/17_two_walks and 18_chunk_gradients."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, NOTE, ORANGE, RED, Drawing

STEPS = 4
CELLS, SIDE, MINE = 8, 13, 3  # cells of the small pictures of S and D; thread n's row and column


def box(d, x, y, words, colour):
    d.box(x, y, 76, 44, colour, INK, 1.2)
    d.text(x + 38, y + 28, words, 15, bold=True)


def matrix(d, x, y, name, row, column):
    """A state; a thread owns a row, and perhaps a column."""
    d.text(x + CELLS * SIDE / 2, y - 24, name, 14, bold=True)
    d.text(x + CELLS * SIDE / 2, y - 8, "value columns i", 12.5, colour=NOTE)
    for j in range(CELLS):
        for i in range(CELLS):
            d.box(x + i * SIDE, y + j * SIDE, SIDE, SIDE, row if j == MINE else column if i == MINE else "white", GREY, 0.6)
    d.text(x - 8, y + MINE * SIDE + 11, "n", 13, "end", bold=True)
    if column != "white":
        d.text(x + (MINE + 0.5) * SIDE, y + CELLS * SIDE + 15, "n", 13, bold=True)


def walks():
    """Four steps: S from left to right, D from right to left, and where each gradient is
    computed."""
    d = Drawing(900, 590)
    d.text(20, 28, "The gradients of four steps: S forward in time, then D backward in time", 15, "start", bold=True)
    left, width, top, low = 74, 142, 112, 376
    x = [left + width * t for t in range(STEPS)]
    for t in range(STEPS):
        d.box(x[t] - 20, 52, 116, 446, "#f7f7f7", "none")
        d.text(x[t] + 38, 68, f"step {t}", 13, colour=NOTE)
        box(d, x[t], top, f"S{t - 1}" if t else "0", BLUE)
        box(d, x[t], low, f"D{t}" if t < STEPS - 1 else "0", ORANGE)
        # The gradients of each step.
        d.line([(x[t] + 38, top), (x[t] + 38, top - 16)], DARK_BLUE, 1.4, arrow=True)
        d.text(x[t] + 38, top - 22, f"dq{t}, du", 13, colour=DARK_BLUE)
        d.line([(x[t] + 38, top + 44), (x[t] + 38, low)], GREEN, 1.6, dashes="5,4", arrow=True)
        d.text(x[t] + 38, low + 86, f"dk{t}, dv{t}", 13, colour=RED)
        d.text(x[t] + 38, low + 106, f"d_log_w{t}", 13, colour=GREEN)
        d.line([(x[t] + 38, low + 44), (x[t] + 38, low + 68)], RED, 1.4, arrow=True)
    for t in range(STEPS - 1):
        middle = x[t] + 38 + width / 2
        d.line([(x[t] + 76, top + 22), (x[t + 1], top + 22)], INK, 1.8, arrow=True)
        d.text(middle, top + 66, f"times w{t},\nplus k{t} v{t}", 12.5)
        d.line([(x[t + 1], low + 22), (x[t] + 76, low + 22)], INK, 1.8, arrow=True)
        d.text(middle, low - 30, f"times w{t + 1},\nplus q{t + 1} d_o{t + 1}", 12.5)
    d.text(x[0] + 109, top + 118, "kept in\nmemory:\n16 KB a\nstep", 12.5, colour=GREEN)
    d.box(x[1] - 6, 268, 372, 56, "white", GREY, 1)
    d.text(x[1] + 10, 290, "Walk 1 goes with time:", 13, "start")
    d.line([(x[1] + 176, 286), (x[1] + 340, 286)], INK, 1.8, arrow=True)
    d.text(x[1] + 10, 312, "Walk 2 goes against it:", 13, "start")
    d.line([(x[1] + 340, 308), (x[1] + 176, 308)], INK, 1.8, arrow=True)

    right = 702
    matrix(d, right, 122, "S", BLUE, "white")
    d.text(right - 26, 254,
           "Walk 1: thread n owns row n.\nA sum over the row needs\nno other thread:\n  with d_o: "
           "dq", 13, "start")
    matrix(d, right, 376, "D", ORANGE, "#f9dcc0")
    d.text(right - 26, 516, "Walk 2: row n and column n.\n  row with v: dk\n  row with S: d_log_w\n  column with k: dv", 13, "start")
    d.save("gradient_walks.svg")


def chunk():
    """One key of a chunk: the decayed key to the right, its gradient back to the left."""
    d = Drawing(900, 430)
    d.text(20, 28,
           "One key of a chunk: the decayed key (left) goes right, its gradient (d_left) comes "
           "back", 15, "start", bold=True)
    key, steps, left, width = 1, 6, 168, 100
    x = [left + width * t for t in range(steps)]
    d.box(44, 52, 84, 40, BLUE)
    d.text(86, 70, "S before\nthe chunk", 13)
    d.box(x[-1] + width + 24, 52, 84, 40, ORANGE)
    d.text(x[-1] + width + 66, 70, "D after\nthe chunk", 13)
    for t in range(steps):
        d.box(x[t] + 4, 52, width - 8, 40, "#f2f2f2", GREY)
        d.text(x[t] + width / 2, 77, f"step {t}", 13, bold=t == key)
    y, back = 150, 270
    d.text(20, y + 20, "left", 13.5, "start", DARK_BLUE, True)
    d.text(20, back + 20, "d_left", 13.5, "start", RED, True)
    names = ["k1", "k1 w2", "k1 w2 w3", "k1 w2 w3 w4"]
    for t in range(key + 1, steps):
        d.box(x[t] + 4, y, width - 8, 30, BLUE, INK)
        d.text(x[t] + width / 2, y + 20, names[t - key - 1], 12.5)
        d.line([(x[t] + width / 2, y), (x[t] + width / 2, y - 20)], DARK_BLUE, 1.4, arrow=True)
        d.text(x[t] + width / 2, y - 26, f"dq{t}", 13, colour=DARK_BLUE)
        d.box(x[t] + 4, back, width - 8, 30, ORANGE, INK)
        d.text(x[t] + width / 2, back + 20, f"times w{t}", 13)
        d.line([(x[t] + width / 2 - 12, y + 30), (x[t] + width / 2 - 12, back)], GREEN, 1.4, dashes="5,4")
        d.text(x[t] + width / 2 - 4, (y + 30 + back) / 2 + 5, f"d_log_w{t}", 12.5, "start", GREEN)
        d.text(x[t] + width / 2, back + 48, f"then plus\nG[{t},{key}] q{t}", 12.5, colour=RED)
    d.text(x[key] + width / 2, y + 20, "k1", 14, bold=True)
    d.line([(x[key] + width / 2 + 16, y + 15), (x[key + 1] + 4, y + 15)], INK, 1.6, arrow=True)
    d.line([(x[-1] + width - 4, y + 15), (x[-1] + width + 24, y + 15)], INK, 1.6, arrow=True)
    d.text(x[-1] + width + 28, y + 12, "left is\nmultiplied\nby D: dv1", 12.5, "start")
    d.line([(x[-1] + width + 24, back + 15), (x[-1] + width - 4, back + 15)], INK, 1.6, arrow=True)
    d.text(x[-1] + width + 28, back + 12, "begins as\nD v1", 12.5, "start")
    d.line([(x[key + 1] + 4, back + 15), (x[key] + width / 2 + 16, back + 15)], INK, 1.6, arrow=True)
    d.text(x[key] + width / 2, back + 20, "dk1", 14, colour=RED, bold=True)
    d.text(20, 366, "G[5,1] is the gradient of the score of query 5 and key 1: scale times the sum of d_o5 v1.", 13, "start")
    d.text(20, 390, "Green: d_log_w of a step grows by left times d_left, after \"times w\" and before \"then plus\".", 13, "start", GREEN)
    d.text(20, 414,
           "The state before the chunk is one more key, before step 0, where left is 1. Its d_left "
           "begins as the sum of S D over the row.", 13, "start")
    d.save("gradient_chunk.svg")


walks()
chunk()
