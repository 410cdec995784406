"""Draws the pictures of chapter 07's lessons 07 to 10."""
from drawing import DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, PALE, RED, Drawing

SIDE = 4  # blocks of 16 along a side
SHOWN = 6  # the lane in red


def chunk_products():
    """The three products of a chunk: which warp holds which blocks of their accumulators."""
    d = Drawing(900, 560)
    cell = 24
    size = SIDE * cell

    def matrix(x, y, name, colour, rows="", columns="", masked=False):
        for i in range(SIDE):
            for j in range(SIDE):
                fill = colour(i, j)
                d.box(x + cell * j, y + cell * i, cell, cell, fill or LIGHT, GREY, 0.7)
                if masked and i == j:
                    d.polygon([(x + cell * j + 1, y + cell * i + 1), (x + cell * (j + 1) - 1, y + cell * i + 1), (x + cell * (j + 1) - 1, y + cell * (i + 1) - 1)], GREY)
        d.box(x, y, size, size, "none")
        d.text(x + size / 2, y - 8, name, 13.5, bold=True)
        d.text(x + size / 2, y + size + 16, columns, 11, colour=NOTE)
        d.text(x - 5, y + size / 2 + 4, rows, 11, "end", NOTE)

    def sign(x, y, words):
        d.text(x, y + size / 2 + 6, words, 18)

    plain = lambda i, j: "white"
    by_row = lambda i, j: PALE[i] if j <= i else None
    by_column = lambda i, j: PALE[j]
    d.text(20, 28, "A chunk of 64 tokens: all matrices are 64 x 64, 4 x 4 blocks of 16 x 16. A colour is a warp", 15, "start", bold=True)
    for i, colour in enumerate(PALE):
        d.box(640 + 62 * i, 44, 14, 14, colour, GREY)
        d.text(658 + 62 * i, 56, f"warp {i}", 12, "start")
    left, tops = 100, (100, 262, 424)
    d.text(20, tops[0] - 30, "1. Scores: a warp computes 16 queries", 13.5, "start", DARK_BLUE,
           bold=True)
    matrix(left, tops[0], "Q", lambda i, j: PALE[i], "token", "channel")
    sign(left + size + 26, tops[0], "x")
    matrix(left + size + 62, tops[0], "K^T", plain, "", "token")
    sign(left + 2 * size + 88, tops[0], "=")
    matrix(left + 2 * size + 124, tops[0], "scores", by_row, "", "key", masked=True)
    d.text(left + 3 * size + 150, tops[0] + 22,
           "Light blocks: keys after the queries. They are neither\ncomputed nor read. In the "
           "blocks on the diagonal\n"
           "the mask sets the dark half to 0. Warp 0 computes one\nblock, warp 3 four. The scores "
           "go to shared memory.", 12, "start")
    y = tops[1]
    d.text(20, y - 30, "2. Outputs: a warp computes 16 value columns, for all queries", 13.5,
           "start", DARK_BLUE, bold=True)
    x = left
    for name, colour, then in (("Q", plain, "x"), ("S", by_column, "+"), ("scores", lambda i, j: "white" if j <= i else None, "x"), ("V", by_column, "="), ("o", by_column, "")):
        matrix(x, y, name, colour, "", "")
        sign(x + size + 20, y, then)
        x += size + 40
    d.text(left + size / 2, y + size + 16, "channel", 11, colour=NOTE)
    d.text(left + size * 1.5 + 40, y + size + 16, "value column", 11, colour=NOTE)
    d.text(left + size * 2.5 + 80, y + size + 16, "key", 11, colour=NOTE)
    d.text(left + size * 3.5 + 120, y + size + 16, "value column", 11, colour=NOTE)
    d.text(left + size * 4.5 + 160, y + size + 16, "value column", 11, colour=NOTE)
    y = tops[2]
    d.text(20, y - 30, "3. State: a warp keeps the same 16 value columns", 13.5, "start", DARK_BLUE,
           bold=True)
    matrix(left, y, "K^T", plain, "channel", "token")
    sign(left + size + 26, y, "x")
    matrix(left + size + 62, y, "V", by_column, "", "value column")
    sign(left + 2 * size + 90, y, "+=")
    matrix(left + 2 * size + 124, y, "S", by_column, "", "value column")
    d.text(left + 3 * size + 150, y + 22,
           "A warp reads and writes only its own columns of S.\nEach block of a result adds up to "
           "four products along\n"
           "its inner side. One product of 16 x 16 blocks is two\ninstructions, of 8 columns each.",
           12, "start")
    d.save("chunk_products.svg")


def sum_and_factor():
    """A block of S^T in the lanes as accumulators, and as two right factors."""
    d = Drawing(900, 580)
    d.text(20, 28, "One block of the state, 16 value columns and 16 channels: which lane holds which element", 15, "start", bold=True)
    cell, top = 24, 128

    def elements(lane, register):
        """(value column, channel) of S^T that an accumulator holds."""
        half, i = register // 4, register % 4
        return lane // 4 + i // 2 * 8, half * 8 + lane % 4 * 2 + i % 2

    def draw(left, title, across, down, place, width, height, registers):
        d.text(left, 66, title, 13.5, "start", bold=True)
        d.text(left + cell * 8, top - 24, across, 12, colour=NOTE)
        d.text(left - 34, top + cell * 8 + 4, down, 12, "end", NOTE)
        for i in range(16):
            d.text(left + cell * (i + 0.5), top - 7, str(i), 10, colour=NOTE)
            d.text(left - 8, top + cell * (i + 0.5) + 4, str(i), 10, "end", NOTE)
        for lane in range(32):
            for register in range(8):
                row, column = place(*elements(lane, register))
                mine = lane == SHOWN
                d.box(left + cell * column, top + cell * row, cell, cell, PALE[registers(register)], GREY, 0.5)
                d.text(left + cell * (column + 0.5), top + cell * (row + 0.66), str(lane), 10.5, bold=mine, colour=RED if mine else INK)
        for register in range(0, 8, 2):
            row, column = place(*elements(SHOWN, register))
            d.box(left + cell * column, top + cell * row, cell * width, cell * height, "none", RED, 2.4)
        d.box(left, top, cell * 16, cell * 16, "none")

    draw(76, "As accumulators: S^T, rows are value columns", "channel", "", lambda v, c: (v, c), 2,
         1, lambda r: r // 4 * 2 + r % 4 // 2)
    draw(502, "As an operand: S, columns are value columns", "value column", "",
         lambda v, c: (c, v), 1, 2, lambda r: r // 4 * 2 + r % 4 // 2)
    d.text(20, 92, "value\ncolumn", 11, "start", NOTE)
    d.text(462, 92, "channel", 11, "start", NOTE)
    d.line([(76 + cell * 8, top), (76 + cell * 8, top + cell * 16)], INK, 1.6)
    d.line([(502 + cell * 8, top), (502 + cell * 8, top + cell * 16)], INK, 1.6)
    d.text(76 + cell * 4, top - 40, "sum[0]", 12.5, bold=True)
    d.text(76 + cell * 12, top - 40, "sum[1]", 12.5, bold=True)
    d.text(502 + cell * 4, top - 40, "b[0]", 12.5, bold=True)
    d.text(502 + cell * 12, top - 40, "b[1]", 12.5, bold=True)
    d.text(20, top + cell * 16 + 26,
           "Red: lane 6. It accumulates S[4, 5][1], S[4, 5][9], S[12, 13][1], S[12, 13][9] "
           "(channel, value column), and its operand is the same pairs.\n"
           "A colour is a register of the operand. A lane therefore packs pairs of its own "
           "accumulators, and needs no value of another lane.", 12, "start")
    d.save("chunk_sum_and_factor.svg")


def four_loads():
    """The four ways of an operand in a tile: which matrix of ldmatrix becomes which register, and
    the form."""
    d = Drawing(900, 430)
    d.text(20, 28, "16 x 16 elements of a tile as an operand: which 8 x 8 matrix becomes which register", 15, "start", bold=True)
    cell, top = 66, 128
    down, along = ((0, 0), (1, 0), (0, 1), (1, 1)), ((0, 0), (0, 1), (1, 0), (1, 1))
    loads = (("load_a_mk", "rows m, columns k", "ldmatrix", "m", "k", down, ("a 0", "a 1", "a 2", "a 3"), "Q, scores"),
             ("load_b_kn", "rows k, columns n", "ldmatrix.trans", "k", "n", down, ("b[0] 0", "b[0] 1", "b[1] 0", "b[1] 1"), "K (for the state)"),
             ("load_a_km", "rows k, columns m", "ldmatrix.trans", "k", "m", along, ("a 0", "a 1", "a 2", "a 3"), "V^T"),
             ("load_b_nk", "rows n, columns k", "ldmatrix", "n", "k", along, ("b[0] 0", "b[0] 1", "b[1] 0", "b[1] 1"), "K^T (for scores)"))
    for number, (name, tile, form, rows, columns, order, registers, used) in enumerate(loads):
        left = 46 + 220 * number
        d.text(left, 62, name, 14, "start", bold=True)
        d.text(left, 82, f"tile: {tile}", 12, "start")
        d.text(left, 100, form, 12, "start", DARK_BLUE if "trans" in form else GREEN, bold=True)
        d.text(left + cell, top - 8, f"{columns} ->", 12, colour=NOTE)
        d.text(left - 8, top + 14, f"{rows}", 12, "end", NOTE)
        for i, (row, column) in enumerate(order):
            x, y = left + cell * column, top + cell * row
            d.box(x, y, cell, cell, PALE[i], INK)
            d.text(x + cell / 2, y + 26, registers[i], 13, bold=True)
            d.text(x + cell / 2, y + 48, f"lanes {8 * i}-{8 * i + 7}", 10.5, colour=NOTE)
        d.text(left, top + 2 * cell + 22, f"for {used}", 12, "start")
        d.text(left, top + 2 * cell + 42,
               "matrix 1 is below matrix 0" if order == down else "matrix 1 is right of matrix 0",
               12, "start", RED)
    d.text(20, top + 2 * cell + 84,
           "Lanes 8 i to 8 i + 7 hold the addresses of matrix i's eight rows. It becomes register "
           "i, with two neighbours along k. Where k runs\n"
           "along a row of the tile, the plain form loads them. Where k runs down, the transposed "
           "form does. The order of the matrices follows\n"
           "from the fragments: register 1 of an A holds the next eight m, register 1 of a B the "
           "next eight k.", 12, "start")
    d.text(20, top + 2 * cell + 140, "The same bytes of k are loaded in two ways: with rows as n for the scores, with rows as k for the state.", 12, "start", NOTE)
    d.save("chunk_four_loads.svg")


def copies_ahead():
    """A chunk over time: without copies ahead, and with them."""
    d = Drawing(900, 420)
    d.text(20, 28, "09: a chunk is loaded, then multiplied", 15, "start", bold=True)

    def bar(x, y, width, words, colour, height=30):
        d.box(x, y, width, height, colour)
        d.text(x + width / 2, y + height / 2 + 4.5, words, 12)

    def barrier(x, y, height=46):
        d.line([(x, y), (x, y + height)], RED, 3)

    fetch, scores, rest = 150, 76, 146
    x = 90
    d.text(20, 82, "block", 13, "start")
    for n in range(2):
        bar(x, 62, fetch, f"load chunk {n}: wait", PALE[3])
        barrier(x + fetch + 4, 54)
        bar(x + fetch + 8, 62, scores, "scores", PALE[1])
        barrier(x + fetch + scores + 12, 54)
        bar(x + fetch + scores + 16, 62, rest, "outputs, state", PALE[1])
        x += fetch + scores + rest + 20
        barrier(x, 54)
        x += 5
    d.text(20, 128,
           "Red lines are barriers, three per chunk. Nothing is multiplied while a chunk is in "
           "flight.", 12.5, "start", NOTE)
    d.text(20, 176, "09b: the next chunk is in flight", 15, "start", bold=True)
    rows = {"copies": 200, "block": 246, "stage 0": 316, "stage 1": 352}
    for name, y in rows.items():
        d.text(20, y + 20, name, 13, "start")
    x = 90
    bar(x, rows["copies"], 140, "chunk 0", PALE[0])
    starts = []
    x += 146
    for n in range(2):
        barrier(x, rows["block"] - 8)
        starts.append(x + 5)
        bar(x + 5, rows["block"], scores, "scores", PALE[1])
        barrier(x + scores + 9, rows["block"] - 8)
        bar(x + scores + 13, rows["block"], rest, "outputs, state", PALE[1])
        bar(x + 5, rows["copies"], 140, f"chunk {n + 1}", PALE[0])
        x += scores + rest + 18
    barrier(x, rows["block"] - 8)
    end = x
    bar(90, rows["stage 0"], starts[1] - 7 - 90, "chunk 0", PALE[0], 26)
    bar(starts[1], rows["stage 0"], end - starts[1], "chunk 2", PALE[0], 26)
    bar(starts[0], rows["stage 1"], end - starts[0], "chunk 1", PALE[3], 26)
    d.text(end + 10, rows["block"] + 4, "and so on", 12, "start", NOTE)
    d.text(20, 404,
           "After the first barrier of chunk 1 all warps have finished chunk 0. Its stage is free "
           "for chunk 2, so two barriers are enough.", 12.5, "start", NOTE)
    d.save("chunk_copies_ahead.svg")


def units():
    """Which scores of 64 tokens which warps compute, with chunks of 64 tokens and of 16."""
    d = Drawing(900, 400)
    d.text(20, 28, "The scores of 64 tokens, queries down and keys across, blocks of 16 x 16", 15, "start", bold=True)
    cell, top = 44, 88
    size = SIDE * cell
    for number, title in enumerate(("09b: a chunk of 64", "09c: four chunks of 16")):
        left = 60 + 440 * number
        d.text(left, 66, title, 13.5, "start", DARK_BLUE, bold=True)
        for i in range(SIDE):
            d.text(left - 8, top + cell * (i + 0.5) + 4, f"{16 * i}-{16 * i + 15}", 11, "end", NOTE)
            for j in range(SIDE):
                x, y = left + cell * j, top + cell * i
                scores = j <= i if number == 0 else i == j
                behind = j > i
                if number == 1 and scores:
                    for w in range(4):
                        d.box(x, y + cell / 4 * w, cell, cell / 4, PALE[w], GREY, 0.4)
                else:
                    d.box(x, y, cell, cell, LIGHT if behind else PALE[i] if scores else "white", GREY, 0.7)
                if i == j:
                    d.polygon([(x + 1, y + 1), (x + cell - 1, y + 1), (x + cell - 1, y + cell - 1)], GREY)
                if number == 1 and j < i:
                    d.text(x + cell / 2, y + cell / 2 + 5, "S", 15, bold=True)
        d.box(left, top, size, size, "none")
    x = 60 + size + 16
    d.text(x, top + 30,
           "Ten blocks, each by one\nwarp (its colour), and\npassed to the others\nthrough shared "
           "memory.\nEarlier chunks come\nthrough S.", 12, "start")
    x = 500 + size + 16
    d.text(x, top + 30, "Four blocks, each by\nall four warps, and kept\nin their registers.\nThe other six blocks\ncome through S too.", 12, "start")
    y = top + size + 36
    d.text(20, y, "Instructions of all four warps for 64 tokens:", 13, "start", bold=True)
    rows = (("", "scores", "scores V", "Q S", "state", "sum"), ("09b", "80", "80", "128", "128", "416"), ("09c", "128", "32", "128", "128", "416"))
    for i, row in enumerate(rows):
        for j, words in enumerate(row):
            d.text(60 + 110 * j, y + 26 + 22 * i, words, 12.5, colour=NOTE if i == 0 else INK, bold=j == 0)
    d.save("chunk_units.svg")


def own_columns():
    """Lesson 10: what one warp reads and computes of a sub-chunk of 16 tokens."""
    d = Drawing(900, 590)
    unit, chosen = 2.4, 1
    side, tall = 16 * unit, 64 * unit

    d.text(20, 28, "Lesson 10: a sub-chunk of 16 tokens, K = V = 64. A colour is a warp", 15,
           "start", bold=True)
    names = ("warp 0", "warp 1", "warp 2", "warp 3", "warp 4: the normaliser, if there is one")
    for i, words in enumerate(names):
        d.box(20 + 100 * i, 44, 14, 14, (*PALE, "#dddddd")[i], GREY)
        d.text(40 + 100 * i, 56, words, 12, "start")
    top = 106
    for x, name in ((20, "q"), (204, "k")):
        d.box(x, top, tall, side, "white")
        d.text(x + tall / 2, top - 8, f"{name}: 16 x K", 13, bold=True)
        d.text(x + tall / 2, top + side + 18, "all of it, by every warp", 11.5, colour=NOTE)
    values, state = 392, 660
    for x, high, name in ((values, side, "v: 16 x V, and ones"),
                          (state, tall, "S: K x V, in registers")):
        for n in range(5):
            d.box(x + side * n + (8 if n == 4 else 0), top, side, high, (*PALE, "#dddddd")[n], INK,
                  1)
        d.text(x + tall / 2 + 20, top - 8, name, 13, bold=True)
    d.text(values + tall / 2 + 20, top + side + 18,
           "a warp's own 16 columns;\nthe ones are never loaded", 11.5, colour=NOTE)
    d.text(state - 10, top + tall / 2 + 4, "K", 12, "end", NOTE)
    d.text(state + tall / 2 + 20, top + tall + 18, "kept transposed; a warp has all K rows", 11.5,
           colour=NOTE)

    d.text(20, 320, f"Warp {chosen}'s four products, in instructions of 16 x 8 sums of 16 terms "
                    "(bf16)", 14, "start", bold=True)
    own = PALE[chosen]
    rows = (("scores = q k^T, then the mask", ("q", tall, side, "white"),
             ("k^T", side, tall, "white"), "white", 8, "the same in every warp"),
            ("o = q S", ("q", tall, side, "white"), ("S", side, tall, own), own, 8, "own columns"),
            ("o += scores v", ("scores", side, side, "white"), ("v", side, side, own), own, 2,
             "own columns"),
            ("S += k^T v", ("k^T", side, tall, "white"), ("v", side, side, own), own, 8,
             "own columns"))
    x = 20
    for n, (title, left, right, colour, count, note) in enumerate(rows):
        y, scale = 352, 0.5
        d.text(x, y, title, 12.5, "start", DARK_BLUE, True)
        at = x
        for (name, wide, high, fill), sign in ((left, "x"), (right, "=")):
            d.box(at, y + 20, wide * scale, high * scale, fill)
            d.text(at + wide * scale / 2, y + 34 + high * scale, name, 11.5, colour=NOTE)
            at += wide * scale + 8
            d.text(at + 4, y + 36, sign, 14)
            at += 18
        high = tall if n == 3 else side
        d.box(at, y + 20, side * scale, high * scale, colour)
        d.text(x, y + 140, f"{count} instructions", 13, "start", bold=True)
        d.text(x, y + 160, note, 12, "start", RED if n == 0 else GREEN)
        x += 240 if n == 0 else 210
    d.text(20, 548, "8 + 8 + 2 + 8 = 26 instructions per warp, of which 8 compute scores that the "
                    "other warps compute too. The warps exchange", 12.5, "start")
    d.text(20, 568, "nothing but finished outputs, so one barrier per stage is enough.", 12.5,
           "start")
    d.save("chunk_own_columns.svg")


for draw in (chunk_products, sum_and_factor, four_loads, copies_ahead, units, own_columns):
    draw()
