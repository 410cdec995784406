"""Draws the figures of chapter 00's low-bit lessons and of its autotuner beside this script.
usage: python3 docs/figures/low_bit.py"""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED, Drawing


def quantisation():
    """A group's numbers on the real line, and the whole numbers of both kinds that encode them."""
    d = Drawing(900, 520)
    d.text(20, 28,
           "A group of weights from -1.0 to 3.0, and the whole numbers from 0 to 255 that encode "
           "them", 15, "start", bold=True)
    left, unit = 450, 100  # position of 0, pixels per 1
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
            inside = {least: 10, most: -16}.get(r, 0)  # in the box, not on its border
            d.text(left + unit * r + inside, y + 84, str(q_of(r)), 12, colour=RED if end else INK)
        for x, words in names:
            d.line([(left + unit * x, y + 94), (left + unit * x, y + 104)], GREY)
            d.text(left + unit * x, y + 118, words, 12, colour=NOTE)

    scale = 4 / 255
    zero = round(1 / scale)
    kind(110, "asymmetric: the range of q fits the group's range", -1, 3, lambda r: round(r / scale + zero), ((-1, "0"), (3, "255"), (0, f"zero = {zero}")))
    d.text(20, 256,
           "scale = (largest - smallest) / 255 = 4.0 / 255. The number that encodes 0 is stored, "
           "too: the zero point.", 13, "start")
    scale_symmetric = 3 / 127
    kind(340, "symmetric: 128 always encodes 0", -3, 3, lambda r: round(r / scale_symmetric) + 128,
         ((-3, "1"), (3, "255"), (0, "zero = 128")))
    d.text(20, 486, "scale = largest magnitude / 127 = 3.0 / 127: steps are 1.5 times as long, and no zero point is read. A third of the numbers stays unused.\n"
           "Both kinds: q = round(r / scale + zero), and back: r = scale * (q - zero), wrong by at most half a scale.", 12, "start")
    d.save("low_bit_quantisation.svg")


def packed():
    """A word with its eight nibbles, and how a block's threads share the words of 32 columns."""
    d = Drawing(900, 640)
    d.text(20, 28, "One word of 32 bits: eight weights of a column", 15, "start", bold=True)
    left, cell = 130, 88
    for nibble in range(8):
        x = left + cell * (7 - nibble)
        d.box(x, 62, cell, 34, PALE[0] if nibble < 6 else PALE[2])
        d.text(x + cell / 2, 84, f"q of k + {nibble}", 13)
        d.text(x + cell / 2, 54, f"bits {4 * nibble + 3} to {4 * nibble}", 11, colour=NOTE)
    d.text(left - 10, 84, "word(k / 8, n)", 13, "end")
    d.box(left + 2 * cell, 128, 6 * cell, 30, "white", GREY)
    d.box(left + 4 * cell, 128, cell, 30, GREEN, INK)
    d.text(left + 4.5 * cell, 148, "q", 13, colour="white", bold=True)
    for at in (2, 3, 5, 6, 7):
        d.text(left + (at + 0.5) * cell, 148, "0000", 12, colour=NOTE)
    d.box(left, 128, 2 * cell, 30, "white", GREY)
    d.text(left + cell, 148, "00000000", 12, colour=NOTE)
    d.text(20, 186,
           "word & (15 << 12): nibble 3 alone, where it is. Read as a float it is q * 4096 * "
           "2^-149, so no conversion is needed. This is true of\n"
           "nibbles 0 to 5 (blue), whose bits are below bit 24. Nibbles 6 and 7 (orange) are "
           "shifted down by 24 bits first.", 12.5, "start")
    d.text(20, 250, "A block: 32 columns, all of K. 256 threads: 8 side by side, 32 above each other", 15, "start", bold=True)
    x0, y0, wide, high = 130, 300, 40, 17
    d.text(x0 + 4 * wide, 274, "8 threads x 4 words x 4 bytes = 128 bytes", 12, colour=NOTE)
    d.line([(x0, 284), (x0 + 8 * wide, 284)], GREY, arrow=True)
    rows = [("part 0", 0, "slice 0"), ("part 1", 1, "slice 1"), ("part 2", 2, "slice 2"), ("...", None, ""), ("part 31", 3, "slice 31"), ("part 32", 0, "slice 0"), ("...", None, "")]
    y = y0
    for name, colour, owner in rows:
        if colour is None:
            d.text(x0 + 4 * wide, y + 14, "...", 14)
            y += 24
            continue
        for w in range(4):
            for t in range(8):
                d.box(x0 + wide * t, y + high * w, wide, high, PALE[colour], GREY, 0.6)
        if name == "part 0":
            d.box(x0 + wide * 2, y, wide, 4 * high, "none", RED, 2)
        d.box(x0, y, 8 * wide, 4 * high, "none", INK)
        d.text(x0 - 10, y + 2.4 * high, name, 13, "end")
        d.text(x0 + 8 * wide + 10, y + 2.4 * high, owner, 13, "start")
        y += 4 * high + 4
        if y > 590:
            break
    x = 560
    d.text(x, 316,
           "Red: what one thread loads of a part:\n4 loads of 16 bytes, each with the words\nof 4 "
           "columns. 4 rows of words are 32 k,\nand all of them have the same group.\n\n"
           "A thread requests two parts, 8 loads,\nbefore it multiplies the first.\n\nThe four "
           "slices of a warp read four times\n128 bytes, all in whole sectors.", 13, "start")
    d.text(x, 524,
           "At the end each slice holds a sum for each\nof 32 columns. Shuffles add up the four "
           "of\na warp, shared memory the eight warps.", 13, "start")
    d.save("low_bit_packed.svg")


def split_k():
    """Four blocks for the same columns of W, and two ways to add their sums."""
    d = Drawing(900, 470)
    d.text(20, 28, "32 columns of W, K in four splits: four blocks, each with a partial sum for the same elements of C", 15, "start", bold=True)
    x0, y0, wide, high = 130, 62, 110, 74
    d.text(x0 - 60, y0 + 2 * high, "K", 14)
    d.line([(x0 - 40, y0), (x0 - 40, y0 + 4 * high)], GREY, arrow=True)
    for s in range(4):
        y = y0 + (high + 4) * s
        d.box(x0, y, wide, high, PALE[s])
        d.text(x0 + wide / 2, y + 32, f"block {s}", 13, bold=True)
        d.text(x0 + wide / 2, y + 52, f"split {s}", 12, colour=NOTE)
        d.line([(x0 + wide + 4, y + high / 2), (x0 + wide + 44, y + high / 2)], arrow=True)
        d.box(x0 + wide + 48, y + high / 2 - 11, 100, 22, PALE[s])
    d.text(x0 + wide + 98, y0 + 4 * high + 32, "32 sums of each", 12, colour=NOTE)
    left = 470
    d.text(left, 82, "By atomics", 14, "start", bold=True)
    for s in range(4):
        d.line([(left + 20 + 66 * s, 100), (left + 96 + 18 * s, 134)], GREY, arrow=True)
        d.box(left + 66 * s, 92, 52, 12, PALE[s], GREY)
    d.box(left + 60, 138, 120, 24, ORANGE)
    d.text(left + 120, 155, "C, 0 before", 12)
    d.text(left, 190, "Each block adds when it ends: in any order.\nThe last bits may differ from call to call.", 13, "start")
    d.text(left, 254, "By a second pass", 14, "start", bold=True)
    for s in range(4):
        d.box(left + 60, 270 + 22 * s, 120, 20, PALE[s])
        d.text(left + 120, 285 + 22 * s, f"partial, split {s}", 11.5)
    d.line([(left + 120, 360), (left + 120, 388)], arrow=True)
    d.text(left + 136, 380, "a second kernel: 0 + 1 + 2 + 3, in this order", 12, "start", DARK_BLUE)
    d.box(left + 60, 392, 120, 24, ORANGE)
    d.text(left + 120, 409, "C", 13)
    d.text(left, 446, "The same bits each time, for one launch more.", 13, "start")
    d.save("low_bit_split_k.svg")


def autotuner():
    """A call of the autotuner: the key, the list of candidates, the file."""
    d = Drawing(900, 430)
    d.text(20, 28, "A call with M = 100, N = 4096, K = 4096", 15, "start", bold=True)
    d.box(20, 56, 250, 44, PALE[0])
    d.text(145, 76, "key_of", 13, bold=True)
    d.text(145, 93, "matmul M<=128 N=4096 K=4096 on GPU", 11)
    d.line([(145, 102), (145, 136)], arrow=True)
    d.box(20, 140, 250, 44, PALE[1])
    d.text(145, 160, "names: is the key in it, and", 13)
    d.text(145, 177, "is its name one of the candidates?", 13)
    d.line([(145, 186), (145, 340)], GREEN, 1.6, arrow=True)
    d.text(135, 250, "yes", 13, "end", GREEN, bold=True)
    d.line([(272, 162), (346, 162)], RED, 1.6, arrow=True)
    d.text(308, 154, "no", 13, colour=RED, bold=True)
    d.text(352, 76, "each candidate six times, with events:", 13, "start")
    for n, (name, time) in enumerate((("tile 16, side 1, depth 16", 150), ("tile 32, side 2, depth 16", 96), ("tile 64, side 4, depth 8", 62), ("tile 64, side 8, depth 8", 48), ("tile 128, side 8, depth 8", 80))):
        y = 92 + 34 * n
        d.box(350, y, 190, 26, "white" if time != 48 else ORANGE, GREY)
        d.text(445, y + 18, name, 12)
        d.box(552, y + 5, time, 16, ORANGE if time == 48 else LIGHT, GREY)
    d.text(716, 108, "time (drawn,\nnot measured)", 12, "start", NOTE)
    d.line([(445, 264), (445, 296)], arrow=True)
    d.box(350, 300, 400, 44, PALE[2])
    d.text(550, 319, "the file, one line for each key:", 13)
    d.text(550, 336, "matmul M<=128 N=4096 K=4096 on GPU [tab] tile 64, side 8, depth 8", 11)
    d.line([(348, 366), (276, 366)], RED, 1.6, arrow=True)
    d.line([(445, 346), (445, 366), (348, 366)], RED, 1.6)
    d.box(20, 344, 250, 44, ORANGE)
    d.text(145, 371, "launch the best one", 13, bold=True)
    d.text(20, 416, "The next process reads the file and measures nothing. A key is new for another N or K, for M above 128 or up to 64, on another GPU.", 12.5, "start")
    d.save("autotuner.svg")


for draw in (quantisation, packed, split_k, autotuner):
    draw()
