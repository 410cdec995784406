"""Draws the figure of 07_chunkwise/19_gradient_products."""
from drawing import DARK_BLUE, GREEN, GREY, INK, NOTE, RED, Drawing

STEPS, MINE, SIDE = 8, 3, 27  # steps of the chunk; the step t; the side of a cell
# for a pair with no decay between its steps, with one, with more
SHADES = ["#e06666", "#f9cb9c", "#fff2cc"]


def pairs(d, x, y, name, words, holds):
    """All pairs of a key and a later query. Those in a sum are coloured."""
    d.text(x + STEPS * SIDE / 2, y - 58, name, 14.5, bold=True)
    d.text(x + STEPS * SIDE / 2, y - 40, words, 12.5, colour=NOTE)
    for n in range(STEPS):
        bold, colour = n == MINE, DARK_BLUE if n == MINE else INK
        d.text(x + (n + 0.5) * SIDE, y - 8, f"{n}", 12.5, colour=colour, bold=bold)
        d.text(x - 10, y + (n + 0.5) * SIDE + 4, f"{n}", 12.5, "end", colour, bold)
    for s in range(STEPS):
        for p in range(s + 1, STEPS):
            fill = SHADES[min(p - s - 1, 2)] if holds(s, p) else "white"
            d.box(x + p * SIDE, y + s * SIDE, SIDE, SIDE, fill, GREY, 0.7)
    d.line([(x + (MINE + 0.5) * SIDE, y - 4), (x + (MINE + 0.5) * SIDE, y + MINE * SIDE)], DARK_BLUE, 1.2, dashes="4,3")
    d.line([(x - 6, y + (MINE + 0.5) * SIDE), (x + (MINE + 1) * SIDE, y + (MINE + 0.5) * SIDE)], DARK_BLUE, 1.2, dashes="4,3")


def main():
    d = Drawing(900, 440)
    d.text(20, 28, f"One channel, eight steps: which pairs of a key and a later query are in d_log_w of step t = {MINE}", 15, "start", bold=True)
    left, gap, top = 62, 290, 124
    pairs(d, left, top, "sum of q dq", f"over the queries p > {MINE}", lambda s, p: p > MINE)
    pairs(d, left + gap, top, "sum of k dk", f"over the keys s ≥ {MINE}", lambda s, p: s >= MINE)
    pairs(d, left + 2 * gap, top, f"d_log_w of step {MINE}", f"the pairs with s < {MINE} < p", lambda s, p: s < MINE < p)
    middle = top + STEPS * SIDE / 2
    d.text(left + gap - 44, middle, "−", 26, bold=True)
    d.text(left + 2 * gap - 44, middle, "=", 26, bold=True)
    for n in range(3):
        d.text(left + n * gap - 30, top - 8, "s \\ p", 12, "middle", NOTE)
    low = top + STEPS * SIDE + 30
    for n, (shade, words) in enumerate(zip(SHADES, ["no decay between the two steps", "one decay", "two decays or more"])):
        x = left + [0, 262, 400][n]
        d.box(x, low, 18, 18, shade, GREY, 0.7)
        d.text(x + 26, low + 14, words, 12.5, "start")
    d.text(left, low + 46,
           "Where decays are strong, a pair is small when a decay is between its steps.", 12.5,
           "start", GREEN)
    d.text(left, low + 66,
           "Then both sums are almost only red pairs. These cancel, and their rounding errors "
           "remain beside a small result.", 12.5, "start", RED)
    d.save("gradient_difference.svg")


main()
