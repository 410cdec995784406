"""Draws the pictures of chapter 00's lessons 16 and 17."""
from drawing import BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED, Drawing

SHOWN = 6  # the lane in red


def fragments():
    """Which lane holds which elements of A, B and C in one m16n8k16 instruction."""
    d = Drawing(900, 560)
    cell, top = 23, 104
    d.text(20, 28, "C += A B in one instruction: each lane holds 8 elements of A, 4 of B and 4 of C. The numbers are lanes", 15, "start", bold=True)

    def place_in_a(lane, i):
        return lane // 4 + i % 2 * 8, lane % 4 * 2 + i // 2 * 8

    def place_in_b(lane, i):
        return lane % 4 * 2 + i * 8, lane // 4

    def place_in_c(lane, i):
        return lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2

    def matrix(left, name, columns, place, count, width, height):
        d.text(left, top - 26, name, 14, "start", bold=True)
        for column in range(columns):
            d.text(left + cell * (column + 0.5), top - 7, str(column), 10, colour=NOTE)
        for lane in range(32):
            for i in range(count):
                row, column = place(lane, i)
                special = lane == SHOWN
                d.box(left + cell * column, top + cell * row, cell * width, cell * height, PALE[i], GREY, 0.7)
                d.text(left + cell * (column + width / 2), top + cell * (row + height / 2) + 4, str(lane), 11, bold=special, colour=RED if special else INK)
        for i in range(count):
            row, column = place(SHOWN, i)
            d.box(left + cell * column, top + cell * row, cell * width, cell * height, "none", RED, 2.4)
        d.box(left, top, cell * columns, cell * 16, "none")

    lefts = 44, 474, 690
    for row in range(16):
        d.text(lefts[0] - 8, top + cell * (row + 0.5) + 4, str(row), 10, "end", NOTE)
        d.text(lefts[1] - 8, top + cell * (row + 0.5) + 4, str(row), 10, "end", NOTE)
        d.text(lefts[2] - 8, top + cell * (row + 0.5) + 4, str(row), 10, "end", NOTE)
    matrix(lefts[0], "A: 16 rows, 16 columns (k)", 16, place_in_a, 4, 2, 1)
    matrix(lefts[1], "B: 16 rows (k), 8 wide", 8, place_in_b, 2, 1, 2)
    matrix(lefts[2], "C: 16 rows, 8 wide", 8, place_in_c, 4, 1, 1)
    y = top + cell * 16 + 22
    for i in range(4):
        d.box(lefts[0] + 98 * i, y - 12, 16, 16, PALE[i], GREY)
        d.text(lefts[0] + 98 * i + 22, y + 1, f"register {i}", 12, "start")
    d.text(20, y + 34,
           f"Red: lane {SHOWN}. It holds A[1][4, 5], A[9][4, 5], A[1][12, 13], A[9][12, 13]; B[4, "
           "5][1], B[12, 13][1]; C[1][4], C[1][5], C[9][4], C[9][5].\n"
           "A register of A or B is one box of two bf16 elements, neighbours in a row of A, in a "
           "column of B. A register of C is one fp32 element.", 12.5, "start")
    d.save("warmup_fragments.svg")


def tensor_tiles():
    """A block's tile of C, its four warps, and one warp's 16 fragments of a step."""
    d = Drawing(900, 525)
    d.text(20, 28, "A block computes 128 x 128 elements of C, each of its four warps 64 x 64", 15,
           "start", bold=True)
    unit = 1.75  # pixels per element
    tile, depth, warp = 128 * unit, 64 * unit, 64 * unit
    a_left, c_left, b_top = 30, 30 + depth + 26, 84
    c_top = b_top + depth + 26
    # The tiles in shared memory, with the 16 columns or rows of one step.
    d.text(a_left, c_top - 8, "A's tile: 128 x 64", 13, "start", bold=True)
    d.text(c_left, b_top - 8, "B's tile: 64 x 128", 13, "start", bold=True)
    d.box(a_left, c_top, depth, tile, PALE[0])
    d.box(c_left, b_top, tile, depth, PALE[2])
    d.box(a_left + 16 * unit, c_top, 16 * unit, tile, BLUE, INK, 0.8)
    d.box(c_left, b_top + 16 * unit, tile, 16 * unit, ORANGE, INK, 0.8)
    for i in range(4):
        x, y = c_left + i % 2 * warp, c_top + i // 2 * warp
        d.box(x, y, warp, warp, PALE[1] if i != 1 else "#b6d7a8")
        d.text(x + warp / 2, y + warp / 2 + 5, f"warp {i}", 13, bold=i == 1)
    d.text(c_left + tile / 2, c_top + tile + 20, "C's tile", 13)
    d.text(a_left, c_top + tile + 20, "16 columns per step", 12, "start", NOTE)
    # One warp, enlarged.
    x0, y0, block = 470, 210, 42
    d.line([(c_left + tile, c_top), (x0 - 66, y0)], GREY, 0.9, "3 3")
    d.line([(c_left + tile, c_top + warp), (x0 - 66, y0 + 4 * block)], GREY, 0.9, "3 3")
    d.text(x0 - 60, 66, "Warp 1 in one step: 12 fragments, 32 MMAs", 14, "start", bold=True)
    for i in range(4):
        d.box(x0 - 60, y0 + block * i, block, block, BLUE)
        d.text(x0 - 60 + block / 2, y0 + block * i + 26, f"A{i}", 13)
    for j in range(8):
        d.box(x0 + block * j, y0 - 60, block, block, ORANGE)
        d.text(x0 + block * (j + 0.5), y0 - 60 + 26, f"B{j}", 13)
    for i in range(4):
        for j in range(8):
            special = (i, j) == (2, 5)
            d.box(x0 + block * j, y0 + block * i, block, block, GREEN if special else PALE[1], INK if special else GREY)
    d.text(x0 + block * 5.5, y0 + block * 2.5 + 5, "C", 13, colour="white", bold=True)
    d.line([(x0 - 60 + block, y0 + block * 2.5), (x0 + block * 5 - 3, y0 + block * 2.5)], arrow=True)
    d.line([(x0 + block * 5.5, y0 - 60 + block), (x0 + block * 5.5, y0 + block * 2 - 3)], arrow=True)
    d.text(x0 + block * 4, y0 + block * 4 + 24, "C[2][5] += A2 * B5: one instruction", 14, colour=GREEN, bold=True)
    d.text(x0 - 60, y0 + block * 4 + 58,
           "A fragment of A is 16 x 16 elements, one of B and of C 16 x 8 (all drawn\nas squares). "
           "Each fragment of A is used for eight MMAs, each\nfragment of B for four. The 32 "
           "fragments of C are 128 registers of a lane.", 12.5, "start")
    d.text(20, 510,
           "After four steps of 16 the block loads the next tiles along K, as in lessons 14 to "
           "15d.", 12.5, "start", NOTE)
    d.save("warmup_tensor_tiles.svg")


def ldmatrix():
    """Which row each lane addresses, and what each lane receives, with and without .trans."""
    d = Drawing(900, 570)
    d.text(20, 28,
           "ldmatrix: 32 lanes address the 32 rows of four 8 x 8 matrices, and each receives two "
           "elements of each", 15, "start", bold=True)
    cell, left, top = 21, 70, 92
    corners = ((0, 0), (8, 0), (0, 8), (8, 8))
    d.text(left, 64, "Lane l passes the address of a row", 13.5, "start",
           bold=True)
    for i, (row, column) in enumerate(corners):
        x, y = left + cell * column, top + cell * row
        for r in range(8):
            lane = 8 * i + r
            d.box(x, y + cell * r, 8 * cell, cell, PALE[i], GREY, 0.7)
            d.text(x + 4 * cell, y + cell * (r + 0.72), f"row of lane {lane}", 11,
                   bold=i == 1 and r == 1, colour=RED if i == 1 and r == 1 else INK)
        d.box(x, y, 8 * cell, 8 * cell, "none", INK, 1.6)
    for i, (row, column) in enumerate(corners):
        d.text(left + cell * (column + 4), top - 6 if row == 0 else top + cell * 16 + 16, f"matrix {i}", 12, colour=NOTE)
    for row in (0, 7, 8, 15):
        d.text(left - 8, top + cell * (row + 0.7), str(row), 11, "end", NOTE)
    d.text(left, top + cell * 16 + 42,
           "16 x 16 elements of a tile in shared memory. Lane 9 (red)\naddresses row 1 of "
           "matrix 1. Matrix i becomes\nregister i of all lanes.", 12.5, "start")
    # The values of a matrix that lane 9 receives.
    x0, small = 500, 20
    for number, (title, words, place) in enumerate((("Received: ldmatrix",
                "Lane l receives two elements of\nrow l / 4, from column 2 (l % 4) on:\ntwo "
                "neighbours of a row, as in\na register of A.", lambda lane, e: (lane // 4,
                    lane % 4 * 2 + e)), ("Received: ldmatrix.trans",
                                         "Lane l receives two elements of\ncolumn l / 4, from row "
                                         "2 (l % 4) on:\ntwo neighbours of a column, as in\na "
                                         "register of B.", lambda lane, e: (lane % 4 * 2 + e,
                                             lane // 4)))):
        y0 = 92 + 236 * number
        d.text(x0, y0 - 28, title, 13.5, "start", bold=True)
        for lane in range(32):
            for e in range(2):
                row, column = place(lane, e)
                mine = lane == 9
                d.box(x0 + small * column, y0 + small * row, small, small, "#f4b6ae" if mine else "white", GREY, 0.6)
                d.text(x0 + small * (column + 0.5), y0 + small * (row + 0.72), str(lane), 10, bold=mine, colour=RED if mine else INK)
        d.box(x0, y0, 8 * small, 8 * small, "none", INK, 1.6)
        d.text(x0 + 8 * small + 16, y0 + 40, words, 12.5, "start")
        d.text(x0, y0 + 8 * small + 18, "one 8 x 8 matrix; the numbers are the lanes that receive an element", 11.5, "start", NOTE)
    d.text(20, 556,
           "The lane that addresses a row does not receive it. The hardware distributes the "
           "elements of all four matrices to all 32 lanes.", 12.5, "start")
    d.save("warmup_ldmatrix.svg")


def swizzle():
    """The slots of the vectors of eight rows, straight and swizzled, over the 32 banks."""
    d = Drawing(900, 560)
    d.text(20, 28,
           "Eight rows of A's tile, 8 vectors of 16 bytes each, over the 32 banks. A matrix: "
           "one vector of each row", 14, "start", bold=True)
    unit, height, shown = 46, 34, 2
    for number, (title, change) in enumerate((("Straight: vector u of row r is in slot u",
                                               lambda row, u: u),
                                              ("Swizzled: vector u of row r is in slot u ^ (r % 8)",
                                               lambda row, u: u ^ row))):
        left, top = 50 + 440 * number, 116
        d.text(left, 66, title, 13.5, "start", bold=True)
        for place in range(8):
            d.text(left + unit * (place + 0.5), top - 8, f"{4 * place}-{4 * place + 3}", 10.5, colour=NOTE)
        d.text(left - 8, top - 8, "bank", 10.5, "end", NOTE)
        for row in range(8):
            d.text(left - 8, top + height * (row + 0.62), f"r = {row}" if number == 0 else str(row), 11, "end", NOTE)
            for u in range(8):
                place = change(row, u)
                mine = u == shown
                d.box(left + unit * place, top + height * row, unit, height, ORANGE if mine else PALE[0] if u % 2 else "white", INK if mine else GREY, 1.4 if mine else 0.7)
                d.text(left + unit * (place + 0.5), top + height * (row + 0.62), f"u{u}", 12, bold=mine)
        d.box(left, top, unit * 8, height * 8, "none")
    y = 116 + height * 8 + 26
    d.text(50, y,
           "All eight vectors u2 are in banks 8 to 11: 8 wavefronts\nfor one matrix, 32 for the "
           "four of a load.", 13, "start", RED)
    d.text(490, y,
           "The eight vectors u2 are in 32 different banks:\n1 wavefront for one matrix, 4 for a "
           "load.", 13, "start", GREEN)
    d.text(20, y + 62,
           "Orange: the vectors of one 8 x 8 matrix, columns 16 to 23. A row is 64 bf16 elements, "
           "128 bytes: once around the banks.\n"
           "u ^ r swaps the vectors within a row, so each slot is used once. For one u, eight rows "
           "use eight different slots.\n"
           "A vector stays whole, so 16-byte stores still work, and a row that is stored still "
           "uses every bank once.", 12, "start")
    d.save("warmup_swizzle.svg")


def copies_ahead():
    """The tile in each of three stages over time, with copies and products."""
    d = Drawing(900, 470)
    d.text(20, 28, "Three stages: while tile t is multiplied, tiles t + 1 and t + 2 are in flight",
           15, "start", bold=True)
    left, top, width, height, stages, tiles = 130, 96, 108, 54, 3, 7
    for t in range(-1, tiles - 1):
        d.text(left + width * (t + 1.5), top - 26, "before the loop" if t < 0 else f"t = {t}", 13, bold=True)
    for s in range(stages):
        d.text(left - 12, top + height * (s + 0.5) + 5, f"stage {s}", 13, "end")
        d.box(left, top + height * s, width * tiles, height, LIGHT, GREY, 0.8)
    colours = {"copy": PALE[2], "use": "#b6d7a8"}
    for tile in range(8):
        stage, asked = tile % stages, max(tile - stages + 1, -1)
        first, used = left + width * (asked + 1), left + width * (tile + 1)
        end = left + width * tiles
        begin = first + (8 if tile >= stages - 1 else 20)
        if begin < end:
            stop = min(used, end)
            d.box(begin, top + height * stage + 10, stop - begin, height - 20, colours["copy"], "#b45f06", 0.9)
            if stop - begin > 60:
                # left of the next dashed line
                d.text(begin + 8, top + height * (stage + 0.5) + 5, f"copy tile {tile}", 12, "start")
        if used < end:
            d.box(used, top + height * stage + 4, width, height - 8, colours["use"], GREEN, 1.6)
            d.text(used + width / 2, top + height * (stage + 0.5) + 5, f"multiply tile {tile}", 12, bold=True)
    for t in range(1, tiles):
        d.line([(left + width * t, top - 12), (left + width * t, top + height * stages + 10)], INK, 1.0, "4 3")
    y = top + height * stages + 34
    d.text(left + width, y,
           "each dashed line: issue the copies of tile t + 2, commit, wait for all groups but the "
           "newest two, barrier", 12.5, "start", NOTE)
    d.text(20, y + 40,
           "At t = 0 the groups are: tile 0, tile 1, tile 2. wait_prior(2) does not wait for the "
           "newest two, and tile 0 has arrived.\n"
           "At t = 1 the groups are: tile 0, tile 1, tile 2, tile 3. wait_prior(2) does not wait "
           "for the newest two, and tile 1 has arrived.", 12.5, "start")
    d.text(20, y + 96,
           "Tile 3 overwrites tile 0 in stage 0. Its copies may start only after the barrier, when "
           "all warps have finished tile 0.\n"
           "At the end there is nothing left to copy. Empty groups keep the count right, and the "
           "newest two are then empty ones.", 12.5, "start")
    d.save("warmup_copies_ahead.svg")


def grouped_order():
    """The order in which blocks compute tiles of C: by rows, and in groups of rows."""
    d = Drawing(900, 440)
    down, across, wave, cell, top = 10, 8, 16, 31, 112
    d.text(20, 28,
           "Which block computes which tile of C: 10 x 8 tiles, 16 blocks run in parallel (orange: "
           "the first 16)", 14, "start", bold=True)

    def by_rows(block):
        return block // across, block % across

    def grouped(block):
        whole = 4 * across
        first, rest = block // whole * 4, block % whole
        rows = min(down - first, 4)
        return first + rest % rows, rest // rows

    for number, (title, place) in enumerate((("Row order: tile (block / 8, block % 8)", by_rows), ("Groups of 4 rows; the last group has 2", grouped))):
        left = 60 + 440 * number
        d.text(left - 30, 64, title, 13.5, "start", bold=True)
        rows, columns = {place(b)[0] for b in range(wave)}, {place(b)[1] for b in range(wave)}
        for i in range(down):
            d.box(left - 16, top + cell * i, 9, cell, BLUE if i in rows else "white", GREY, 0.7)
        for j in range(across):
            d.box(left + cell * j, top - 16, cell, 9, GREEN if j in columns else "white", GREY, 0.7)
        for block in range(down * across):
            row, column = place(block)
            d.box(left + cell * column, top + cell * row, cell, cell, ORANGE if block < wave else "white", GREY, 0.7)
            d.text(left + cell * (column + 0.5), top + cell * (row + 0.66), str(block), 11)
        if number == 1:
            for row in (4, 8):
                d.line([(left, top + cell * row), (left + cell * across, top + cell * row)], INK, 2)
        x = left + cell * across + 14
        d.text(x, top + 40, f"{len(rows)} rows of A\n{len(columns)} columns\nof B:\n{len(rows) + len(columns)} strips", 13, "start", RED, bold=True)
    d.save("warmup_grouped_order.svg")


for draw in (fragments, tensor_tiles, ldmatrix, swizzle, copies_ahead, grouped_order):
    draw()
