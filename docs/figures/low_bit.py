"""Draws the figures of chapter 00's low-bit lessons and of its autotuner beside this script. usage: python3 docs/figures/low_bit.py"""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, ORANGE, RED, Drawing

NOTE = "#666666"
PALE = ["#cfe2f3", "#d9ead3", "#fce5cd", "#ead1dc"]


def quantisation():
    """The numbers of a group on the line of real numbers, and the whole numbers that stand for them, of both kinds."""
    d = Drawing(900, 520)
    d.text(20, 28, "A group of weights from -1.0 to 3.0, and the whole numbers from 0 to 255 that stand for them", 15, "start", bold=True)
    left, unit = 450, 100  # 0 of the real line, pixels of 1
    weights = (-1.0, -0.55, -0.2, 0.35, 0.8, 1.3, 2.2, 3.0)

    def kind(y, title, least, most, q_of, names):
        d.text(20, y - 44, title, 14, "start", bold=True)
        d.line([(left + unit * -3.4, y), (left + unit * 3.4, y)], GREY)
        for x in range(-3, 4):
            d.line([(left + unit * x, y - 4), (left + unit * x, y + 4)], GREY)
            d.text(left + unit * x, y - 26, str(x), 12, colour=NOTE)
        d.text(20, y + 4, "r", 13, "start")
        d.text(20, y + 84, "q", 13, "start")
        d.box(left + unit * least, y + 66, unit * (most - least), 26, LIGHT, GREY)
        for r in weights:
            d.circle(left + unit * r, y, 5, BLUE, DARK_BLUE)
            d.line([(left + unit * r, y + 7), (left + unit * r, y + 64)], GREY, 0.9, arrow=True)
            end = r == weights[0] or r == weights[-1]
            d.text(left + unit * r, y + 84, str(q_of(r)), 12, colour=RED if end else INK)
        for x, words in names:
            d.line([(left + unit * x, y + 94), (left + unit * x, y + 104)], GREY)
            d.text(left + unit * x, y + 118, words, 12, colour=NOTE)

    scale = 4 / 255
    zero = round(1 / scale)
    kind(110, "asymmetric: the range of q fits the group's range", -1, 3, lambda r: round(r / scale + zero), ((-1, "0"), (3, "255"), (0, f"zero = {zero}")))
    d.text(20, 256, "scale = (largest - smallest) / 255 = 4.0 / 255. The number that stands for 0 is stored, too: the zero point.", 13, "start")
    scale_symmetric = 3 / 127
    kind(340, "symmetric: 128 always stands for 0", -3, 3, lambda r: round(r / scale_symmetric) + 128, ((-3, "1"), (3, "255"), (0, "zero = 128")))
    d.text(20, 486, "scale = largest magnitude / 127 = 3.0 / 127: steps are 1.5 times as long, and no zero point is stored. A third of the numbers stays unused.\n"
           "Both kinds: q = round(r / scale) + zero, and back: r = scale * (q - zero), wrong by at most half a scale.", 12, "start")
    d.save("low_bit_quantisation.svg")


if __name__ == "__main__":
    for draw in (quantisation,):
        draw()
