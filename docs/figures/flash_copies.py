"""Draws the pictures of chapter 08's lessons 06 to 08."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED, Drawing
from flash_turns import LEFT, bar, legend, row

SHOWN = 2  # the vector column of the matrix
ROW = 3  # the highlighted row


def swizzle():
    """Which banks serve which row of a matrix, straight and swizzled; the positions in row 3."""
    d = Drawing(900, 640)
    d.text(20, 28,
           f"One 8 x 8 matrix of K: vector u{SHOWN} of eight rows. Which banks serve which row in "
           "each wavefront", 14.5, "start", bold=True)
    cell, height, top = 46, 26, 106
    for number, (title, turns) in enumerate((("Straight (05c): eight wavefronts",
                                              [{SHOWN: row} for row in range(8)]),
                                             ("Swizzled (06): one wavefront",
                                              [{SHOWN ^ row: row for row in range(8)}]))):
        left = 70 + 440 * number
        d.text(left, 62, title, 13.5, "start", bold=True)
        d.text(left - 8, top - 8, "bank", 10.5, "end", NOTE)
        for group in range(8):
            d.text(left + cell * (group + 0.5), top - 8, f"{4 * group}-{4 * group + 3}", 10.5, colour=NOTE)
        for turn in range(8):
            d.text(left - 8, top + height * (turn + 0.68),
                   f"{turn + 1}" if turn < len(turns) else "", 11, "end", NOTE)
            for group in range(8):
                row = turns[turn].get(group) if turn < len(turns) else None
                if turn < len(turns):
                    d.box(left + cell * group, top + height * turn, cell, height, "white" if row is None else ORANGE, GREY, 0.7)
                if row is not None:
                    d.text(left + cell * (group + 0.5), top + height * (turn + 0.7), f"row {row}", 11.5, bold=True)
    y = top + 8 * height + 26
    d.text(70, y,
           "28 of 32 banks are idle in each wavefront.\nldmatrix loads four such matrices: 32 "
           "wavefronts.", 12.5, "start", RED)
    d.text(510, top + 2 * height + 6, "All 32 banks work. Four matrices: 4 wavefronts.", 12.5,
           "start", GREEN)
    d.text(510, top + 3 * height + 26,
           f"Row r has its vector u{SHOWN} at position {SHOWN} ^ (r % 8):\nrows 0 to 7 at "
           "positions 2, 3, 0, 1, 6, 7, 4, 5.", 12.5, "start")

    y = 404
    d.text(20, y,
           f"Row {ROW} of a tile with D = 64: the position of each vector, and the addresses of a "
           f"lane of row {ROW}", 14.5, "start", bold=True)
    left, wide, top = 130, 84, y + 36
    for place in range(8):
        unit, steps = place ^ ROW, (place ^ ROW) % 2 == 0
        d.text(left + wide * (place + 0.5), top - 8, f"position {place}", 11, colour=NOTE)
        d.box(left + wide * place, top, wide, 34, ORANGE if steps else PALE[0], INK if steps else GREY, 1.2 if steps else 0.7)
        d.text(left + wide * (place + 0.5), top + 22, f"u{unit}", 13, bold=steps)
        if steps:
            x = left + wide * (place + 0.5)
            d.line([(x, top + 64), (x, top + 38)], DARK_BLUE, 1.6, arrow=True)
            d.text(x, top + 82, f"columns {8 * unit}", 12.5, colour=DARK_BLUE)
            d.text(x, top + 100, f"{ROW} ^ {unit} = {place}", 12.5, colour=DARK_BLUE)
    d.text(left - 10, top + 22, "row 3", 13, "end")
    d.text(20, top + 140,
           "The lane computes its position for columns 0 once: 0 ^ 3 = 3. For the block 16, 32 or "
           "48 columns further right it is 3 ^ 2, 3 ^ 4\n"
           "or 3 ^ 6, because (u ^ r) ^ c = (u ^ c) ^ r. Each later load therefore needs one "
           "exclusive or, and not the row again.", 12.5, "start")
    d.save("flash_swizzle.svg")


def asynchronous_copies():
    """The path of a 16-byte vector to shared memory: through registers, and past them."""
    d = Drawing(900, 560)

    def store(x, y, words, colour):
        d.box(x, y, 170, 62, colour)
        d.text(x + 85, y + 36, words, 13.5, bold=True)

    def bar(x, y, width, words, colour):
        d.box(x, y, width, 30, colour)
        d.text(x + width / 2, y + 20, words, 12)

    for number, title in enumerate(("06: through a register", "07: past the registers")):
        y = 28 + 128 * number
        d.text(20, y, title, 14.5, "start", bold=True)
        y += 24
        store(60, y, "global memory", LIGHT)
        store(670, y, "shared memory", PALE[0])
        if number == 0:
            d.box(340, y + 6, 220, 50, PALE[2])
            d.text(450, y + 27, "4 registers", 13.5, bold=True)
            d.text(450, y + 46, "of a thread, per vector", 11.5)
            d.line([(232, y + 31), (336, y + 31)], INK, 1.6, arrow=True)
            d.text(284, y + 22, "load", 12.5)
            d.line([(562, y + 31), (666, y + 31)], INK, 1.6, arrow=True)
            d.text(614, y + 22, "store", 12.5)
        else:
            d.line([(232, y + 31), (666, y + 31)], GREEN, 2.4, arrow=True)
            d.text(450, y + 22, "cp.async, 16 bytes", 12.5, colour=GREEN)
            d.text(450, y + 50,
                   "past the last row: nothing is read, and 16 bytes of zeros are written", 11.5,
                   colour=NOTE)
    d.line([(20, 282), (880, 282)], GREY, 0.8)

    left = 130
    for number, lesson in enumerate(("06", "07")):
        title = f"{lesson}: a thread's 16-byte vectors over time"
        y = 312 + 124 * number
        d.text(20, y, title, 14.5, "start", bold=True)
        for row, words in enumerate(("thread", "memory")):
            d.text(20, y + 32 + 36 * row, words, 12.5, "start")
        if number == 0:
            for group in range(2):
                x = left + 300 * group
                bar(x, y + 12, 60, "loads", PALE[2])
                bar(x + 20, y + 48, 180, "vectors in flight", BLUE)
                d.text(x + 130, y + 32, "must wait", 12, colour=RED)
                bar(x + 204, y + 12, 84, "stores", PALE[2])
            d.line([(left + 592, y + 4), (left + 592, y + 46)], RED, 3)
            d.text(left + 602, y + 32, "barrier", 12, "start", RED)
        else:
            bar(left, y + 12, 130, "issues all copies", PALE[1])
            bar(left + 20, y + 48, 290, "vectors in flight", BLUE)
            d.text(left + 140, y + 32, "may continue, but waits", 12, "start",
                   GREEN)
            d.line([(left + 350, y + 4), (left + 350, y + 46)], RED, 3)
            d.text(left + 360, y + 32, "wait, then barrier", 12, "start", RED)
    d.text(20, 548,
           "A sketch, not measured. The compiler and the free registers decide how many vectors a "
           "thread of 06 loads before it stores the first.", 12, "start", NOTE)
    d.save("flash_asynchronous_copies.svg")


def pipelined():
    """A block's products and its two buffers over time: all copies first, and copies ahead."""
    d = Drawing(900, 500)
    copies, products, softmax, ahead, tiles = 70, 60, 56, 50, 3
    tile = products + softmax + products

    def compute(x, y, n):
        for words, wide, colour in ((f"S {n}", products, BLUE), ("softmax", softmax, PALE[2]),
                                    (f"P V {n}", products, BLUE)):
            bar(d, x, y, wide, words, colour)
            x += wide

    def barrier(x, y, name=""):
        d.line([(x, y - 5), (x, y + 100)], RED, 2.4)
        d.text(x, y - 9, name, 11.5, colour=RED)

    for y, title in ((28, "07: both copies start, and the block waits for both"),
                     (218, "08: V arrives during S, the next K during softmax and P V")):
        d.text(20, y, title, 14.5, "start", bold=True)
        for n, words in enumerate(("warps", "K's buffer", "V's buffer")):
            row(d, y + 30 + 34 * n, words)

    y = 58
    for n in range(tiles):
        x = LEFT + (copies + tile) * n
        bar(d, x, y, copies, "wait", "white")
        compute(x + copies, y, n)
        bar(d, x, y + 34, copies, f"K {n}", PALE[1])
        bar(d, x + copies, y + 34, products, f"K {n}", PALE[0])
        bar(d, x, y + 68, copies, f"V {n}", PALE[1])
        bar(d, x + copies, y + 68, tile, f"V {n}", PALE[0])
        barrier(x, y)
        barrier(x + copies, y)
    y = 248
    bar(d, LEFT, y, copies, "wait", "white")
    bar(d, LEFT, y + 34, copies, "K 0", PALE[1])
    for n in range(tiles):
        x = LEFT + copies + tile * n
        compute(x, y, n)
        early = tile - products - ahead if n else 0
        bar(d, x - early, y + 34, products + early, "", PALE[0])
        d.text(x + products / 2, y + 51, f"K {n}", 11.5)
        bar(d, x, y + 68, ahead, f"V {n}", PALE[1])
        bar(d, x + ahead, y + 68, tile - ahead, f"V {n}", PALE[0])
        if n + 1 < tiles:
            bar(d, x + products, y + 34, ahead, f"K {n + 1}", PALE[1])
        barrier(x, y, "1")
        barrier(x + products, y, "2")
    legend(d, 366, ((PALE[1], "copy in flight"), (PALE[0], "tile has arrived"),
                    (BLUE, "product on tensor cores"), (PALE[2], "softmax")))
    d.text(20, 412, "Red: a barrier. 07 and 08 have two per tile.", 12.5, "start", RED)
    d.text(20, 434, "Barrier 1 of 08: this K has arrived, and the previous V has been read, so its "
                    "buffer may be refilled.", 12.5, "start", RED)
    d.text(20, 456, "Barrier 2 of 08: this V has arrived, and this K has been read, so its buffer "
                    "may be refilled.", 12.5, "start", RED)
    d.text(20, 486, "A sketch of one block; lengths are not measured.", 12, "start", NOTE)
    d.save("flash_pipelined.svg")


for draw in (swizzle, asynchronous_copies, pipelined):
    draw()
