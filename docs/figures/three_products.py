"""Draws the figures of 07_chunkwise/11_three_products."""
import struct

from drawing import GREEN, GREY, INK, LIGHT, NOTE, PALE, RED, Drawing

X = 0x3f9e0d53  # its bits; the products need twelve of the last 13
KEPT, HALF = 0xffffe000, 0x1000
SHOWN = 6  # the lane in red


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def value(pattern):
    return struct.unpack("<f", struct.pack("<I", pattern))[0]


def single(x):
    return value(bits(x))


def split():
    """One float's bits, those of its two parts, and the four products of two such sums."""
    d = Drawing(900, 560)
    d.text(20, 28, "A float as the sum of two tf32", 15, "start", bold=True)
    left, cell = 130, 15
    x = value(X)
    big = value((bits(x) + HALF) & KEPT)
    rest = single(x - big)
    small = value(bits(rest) & KEPT)

    def row(y, name, number, words):
        pattern = bits(number)
        d.text(20, y + 15, name, 13, "start", bold=True)
        for i in range(32):
            bit = pattern >> 31 - i & 1
            colour = PALE[3] if i == 0 else PALE[2] if i < 9 else PALE[0] if i < 19 else LIGHT
            d.box(left + cell * i, y, cell, 20, colour, GREY, 0.6)
            d.text(left + cell * (i + 0.5), y + 14, str(bit), 10, colour=INK if i < 19 or bit else GREY)
        d.text(left + cell * 32 + 12, y + 15, words, 12, "start")

    for i, (name, width) in enumerate((("sign", 1), ("exponent", 8), ("kept by tf32: 10 bits", 10), ("not kept: 13 bits", 13))):
        at = (0, 1, 9, 19)[i]
        d.text(left + cell * (at + width / 2), 56 if i else 46, name, 11, colour=NOTE)
    row(64, "x", x, f"{x:.7f}")
    row(112, "big", big, f"{big:.7f}, x rounded")
    row(160, "x - big", rest, f"{rest:.3e}, exact")
    row(208, "small", small, f"{small:.3e}, cut off")
    d.text(20, 98, "add half of the last kept bit, then clear what is not kept", 12, "start", GREEN)
    d.text(20, 146, "an ordinary subtraction of two floats", 12, "start", GREEN)
    d.text(20, 194, "clear what is not kept", 12, "start", GREEN)
    d.text(20, 254, f"x - big needs at most 12 bits, and small keeps 11: at most the last bit of x is lost. Here it is 2^-23 = {x - big - small:.1e}.", 12.5, "start")

    top, width = 292, 84
    d.text(20, top + 4, "a b, with a = big + small and b = big + small", 15, "start", bold=True)
    names = (("big", 112), ("small", 62))
    y = top + 46
    for i, (row_name, height) in enumerate(names):
        at = 120
        for j, (column_name, _) in enumerate(names):
            wide = 150 if j == 0 else 100
            if i == 0:
                d.text(at + wide / 2, top + 36, f"b {column_name}", 12)
            colour = PALE[0] if i + j == 0 else PALE[1] if i + j == 1 else LIGHT
            d.box(at, y, wide, height, colour, RED if i + j == 2 else INK, 1.2)
            size = ("1", "2^-12", "2^-24")[i + j]
            d.text(at + wide / 2, y + height / 2 - 4, f"{row_name} {column_name}", 12.5, bold=i + j == 0)
            d.text(at + wide / 2, y + height / 2 + 14, f"about {size}", 12, colour=RED if i + j == 2 else NOTE)
            at += wide
        d.text(110, y + height / 2 + 4, f"a {row_name}", 12, "end")
        y += height
    x0 = 420
    for n, (words, colour) in enumerate((("1.  small big  is added first,", INK),
                                         ("2.  then  big small,", INK),
                                         ("3.  then  big big: the largest comes last.", INK),
                                         ("small small is below the last bit, and is skipped.",
                                          RED))):
        d.text(x0, top + 66 + 24 * n, words, 13, "start", colour)
    d.text(x0, top + 176,
           "Each of the three is two instructions m16n8k8,\nfor 16 k: six instead of one of bf16.",
           13, "start", NOTE)
    d.save("three_products.svg")


def fragments():
    """Which lane holds which elements of A, B and C in one m16n8k8 instruction."""
    d = Drawing(900, 520)
    cell, top, lane4, pair = 23, 92, SHOWN // 4, SHOWN % 4
    d.text(20, 28, "One m16n8k8 instruction: a lane holds 4 floats of A, 2 of B and 4 of C. The numbers are lanes", 15, "start", bold=True)

    def matrix(left, name, rows, place, count):
        d.text(left, top - 26, name, 14, "start", bold=True)
        for column in range(8):
            d.text(left + cell * (column + 0.5), top - 7, str(column), 10, colour=NOTE)
        for row in range(rows):
            d.text(left - 8, top + cell * (row + 0.5) + 4, str(row), 10, "end", NOTE)
        for lane in range(32):
            for i in range(count):
                row, column = place(lane, i)
                special = lane == SHOWN
                d.box(left + cell * column, top + cell * row, cell, cell, PALE[i], GREY, 0.7)
                d.text(left + cell * (column + 0.5), top + cell * (row + 0.5) + 4, str(lane), 11, bold=special, colour=RED if special else INK)
        for i in range(count):
            row, column = place(SHOWN, i)
            d.box(left + cell * column, top + cell * row, cell, cell, "none", RED, 2.4)
        d.box(left, top, cell * 8, cell * rows, "none")

    matrix(54, "A: 16 rows, 8 columns (k)", 16, lambda lane, i: (lane // 4 + i % 2 * 8, lane % 4 + i // 2 * 4), 4)
    matrix(354, "B: 8 rows (k), 8 columns", 8, lambda lane, i: (lane % 4 + i * 4, lane // 4), 2)
    matrix(654, "C: 16 rows, 8 columns", 16, lambda lane, i: (lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2), 4)
    for i in range(4):
        y = top + cell * (10 + i)
        d.box(354, y, 16, 16, PALE[i], GREY)
        d.text(378, y + 13, f"register {i}", 12, "start")
    d.text(20, top + cell * 16 + 32, f"Red: lane {SHOWN}, with lane / 4 = {lane4} and pair = lane % 4 = {pair}. In A its k are {pair} in registers 0 and 1, {pair + 4} in registers 2 and 3.\n"
           f"In B its k are {pair} in register 0 and {pair + 4} in register 1. C is as in m16n8k16: its registers 0 and 1 are neighbours in a row.", 12.5, "start")
    d.save("three_products_fragments.svg")


split()
fragments()
