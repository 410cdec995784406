"""Draws the pictures of chapter 00's lessons 11, 13 and 15a to 15d."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, NOTE, ORANGE, RED, Drawing

PALE_BLUE, PALE_GREEN, PALE_ORANGE = "#cfe2f3", "#d9ead3", "#fce5cd"
SIDE = 8  # rows and columns of a thread's results


def rows():
    """The elements of a row that one lane loads, in a warp that reads the row three times, and in
    one that reads it once."""
    d = Drawing(900, 560)
    left, unit, N, lane = 150, 2.8, 256, 1

    def strip(y, first, width, count, name):
        """The row, cut where a request of the warp ends, with the lane's elements in orange."""
        d.text(left - 12, y + 18, name, 12.5, "end")
        for n in range(0, N, count):
            d.box(left + unit * n, y, unit * count, 26, PALE_BLUE if n // count % 2 else "#e8f0fa")
        for n in range(first, N, count):
            d.box(left + unit * n, y, unit * width, 26, ORANGE, "none")

    d.text(20, 28, f"One row of {N} elements, one warp. Orange: lane {lane}'s elements", 15,
           "start", bold=True)
    d.text(20, 60, "Step 1, softmax_warp: 4 bytes per lane, the row is loaded three times", 14,
           "start", bold=True)
    passes = (("maximum", "warp_max: 5 shuffles"), ("sum of exp", "warp_sum: 5 shuffles"),
              ("output", "8 requests per pass, so 24, and 1 for x[0]"))
    for i, (name, words) in enumerate(passes):
        y = 88 + 56 * i
        strip(y, lane, 1, 32, name)
        d.text(left + unit * N, y + 44, words, 12.5, "end", DARK_BLUE)
    for n in range(0, N, 32):
        d.text(left + unit * n, 80, str(n), 11.5, "start", NOTE)
    d.text(left, 132, f"lane {lane}: elements {lane}, {lane + 32}, {lane + 64}, ..., {lane + 224}",
           12.5, "start", "#b45f06")

    y = 300
    d.text(20, y - 32, "Step 2, softmax_rows: 16 bytes per lane, the row is loaded once", 14,
           "start", bold=True)
    strip(y, 4 * lane, 4, 128, "load_row")
    for n in range(0, N, 128):
        d.text(left + unit * n, y - 6, str(n), 11.5, "start", NOTE)
    d.text(left + unit * N, y - 6, "2 requests", 12.5, "end", DARK_BLUE)
    cell, top = 22, 396
    d.text(left - 12, top + 19, f"lane {lane}'s x[32]", 12.5, "end")
    for i in range(32):
        vector = i // 4
        column = (vector * 32 + lane) * 4 + i % 4
        held = column < N
        d.box(left + cell * i, top, cell, 28, ORANGE if held else "#eeeeee", INK if held else GREY,
              0.8)
        d.text(left + cell * (i + 0.5), top + 19, str(column) if held else "-inf", 9.5)
    for vector in range(2):
        n = (vector * 32 + lane) * 4 + 2
        d.line([(left + unit * n, y + 28), (left + cell * (4 * vector + 2), top - 4)], arrow=True)
    d.text(left + cell * 20, top - 10, "vectors 2 to 7 are past the row's end: fill", 12.5,
           colour=NOTE)
    uses = ("maximum, then warp_max", "exp and sum, then warp_sum", "x / sum, stored: 2 requests")
    for i, words in enumerate(uses):
        x = left + 244 * i
        d.box(x, 474, 216, 30, PALE_GREEN)
        d.text(x + 108, 494, words, 12.5)
        d.line([(x + 108, top + 30), (x + 108, 471)], arrow=True)
        if i < 2:
            d.line([(x + 218, 489), (x + 241, 489)], arrow=True)
    d.text(20, 538, "The lane keeps 32 floats, so a warp holds rows of up to 1,024 elements.", 12.5,
           "start", NOTE)
    d.save("warmup_rows.svg")


def elements_of_a_warp():
    """The elements that one warp loads and stores for one k, with threadIdx.x as the column, and as
    the row."""
    d = Drawing(900, 574)
    M, N, K, unit, k = 16, 64, 24, 6, 5
    d.text(20, 28, "One warp, one k: the elements that its 32 lanes load and store", 15, "start",
           bold=True)

    def matrices(left, top, rows, columns, depth, a, b, c):
        """A, B and C with the (first row, first column, rows, columns) that the warp touches."""
        c_left, c_top = left + unit * depth + 30, top + unit * depth + 30
        for name, x, y, high, wide, touched in (("A", left, c_top, rows, depth, a),
                                                ("B", c_left, top, depth, columns, b),
                                                ("C", c_left, c_top, rows, columns, c)):
            d.box(x, y, unit * wide, unit * high, "#fafafa", GREY)
            row, column, down, across = touched
            d.box(x + unit * column, y + unit * row, unit * across, unit * down,
                  RED if down * across == 1 else ORANGE, INK, 0.7)
            d.text(x, y - 7, f"{name}: {high} x {wide}", 13, "start", bold=True)
        return c_left, c_top

    d.text(20, 58, "threadIdx.x counts columns (this kernel)", 14, "start", GREEN, True)
    block, warp = 1, 2
    first = 32 * (block % 2)
    left, top = 20, 92
    x, y = matrices(left, top, M, N, K, (warp, k, 1, 1), (k, first, 1, 32), (warp, first, 1, 32))
    for n in range(4):
        at = (x + 32 * unit * (n % 2), y + 8 * unit * (n // 2))
        d.box(*at, 32 * unit, 8 * unit, "none", DARK_BLUE, 1.4)
        d.text(at[0] + 16 * unit, at[1] + 37, f"block {n}", 12.5, colour=DARK_BLUE)
    words = ((y + 120, "a block is 8 rows x 32 columns of C, a warp is one of its rows"),
             (y + 140, f"here block {block}, threadIdx.y = {warp}: m = {warp}, "
                       f"n = {first} to {first + 31}"))
    for at, line in words:
        d.text(x, at, line, 12.5, "start", DARK_BLUE if at < y + 130 else "#b45f06")
    words = (("A", "the same element in all lanes, a broadcast: 1 sector"),
             ("B", "32 neighbours in row k, coalesced: 4 sectors"),
             ("C", "32 neighbours in row m, coalesced: 4 sectors"))
    for i, (name, line) in enumerate(words):
        d.text(20, 486 + 22 * i, name, 13, "start", bold=True)
        d.text(40, 486 + 22 * i, line, 12.5, "start")

    left = 640
    d.text(left, 58, "threadIdx.x counts rows", 14, "start", RED, True)
    matrices(left, top, 32, 8, K, (0, k, 32, 1), (k, 3, 1, 1), (0, 3, 32, 1))
    words = ("32 rows, K apart: 32 sectors", "a broadcast: 1 sector",
             "32 rows, N apart: 32 sectors")
    for i, line in enumerate(words):
        d.text(left, 486 + 22 * i, "ABC"[i], 13, "start", bold=True)
        d.text(left + 20, 486 + 22 * i, line, 12.5, "start")
    d.text(20, 558, f"M = {M}, N = {N}, K = {K} as in the X-ray; on the right a part of larger "
           f"matrices, and k = {k}. A sector has 32 bytes, 8 floats.", 12, "start", NOTE)
    d.save("warmup_warp_elements.svg")


def eight_results():
    """One thread's eight results: a value of B in a register, eight values of A."""
    d = Drawing(900, 590)
    d.text(20, 28,
           "A thread computes eight results of a column. For one k it reads 1 value of B and 8 of "
           "A", 15, "start", bold=True)
    unit, depth, tile = 4, 32, 64
    a_left, b_top = 30, 96
    c_left, c_top = a_left + depth * unit + 26, b_top + depth * unit + 26
    k, row, column = 12, 24, 40
    d.text(a_left, c_top - 8, "A: 64 x 32", 13, "start", bold=True)
    d.text(c_left, b_top - 8, "B: 32 x 64, in shared memory as A's tile is", 13, "start", bold=True)
    d.box(a_left, c_top, depth * unit, tile * unit, PALE_BLUE)
    d.box(c_left, b_top, tile * unit, depth * unit, PALE_ORANGE)
    d.box(c_left, c_top, tile * unit, tile * unit, PALE_GREEN)
    d.box(c_left + 32 * unit, c_top + row * unit, 32 * unit, SIDE * unit, "#b6d7a8", INK, 0.8)
    d.box(a_left + k * unit, c_top + row * unit, unit, SIDE * unit, DARK_BLUE, INK, 0.6)
    d.box(c_left + 32 * unit, b_top + k * unit, 32 * unit, unit, ORANGE, INK, 0.6)
    d.box(c_left + column * unit, b_top + k * unit, unit, unit, RED, INK, 0.6)
    d.box(c_left + column * unit, c_top + row * unit, unit, SIDE * unit, GREEN, INK, 0.6)
    d.text(c_left + 4, c_top + tile * unit + 18, "C: 64 x 64, 16 warps. Darker: one of them", 12.5, "start")
    # The thread, enlarged.
    x0, y0, side = 560, 170, 34
    for corner, target in (((column + 1, row), (x0, y0)), ((column + 1, row + SIDE), (x0, y0 + SIDE * side))):
        d.line([(c_left + corner[0] * unit, c_top + corner[1] * unit), target], GREY, 0.9, "3 3")
    d.text(x0 - 62, 66, "one thread, one k", 14, "start", bold=True)
    d.box(x0, y0 - 52, side + 22, side, ORANGE)
    d.text(x0 + (side + 22) / 2, y0 - 30, "b", 13)
    for i in range(SIDE):
        d.box(x0 - 62, y0 + side * i, side, side, BLUE)
        d.text(x0 - 62 + side / 2, y0 + side * i + 22, f"a{i}", 13)
        d.box(x0, y0 + side * i, side + 22, side, GREEN if i == 2 else PALE_GREEN, INK if i == 2 else GREY)
        d.text(x0 + (side + 22) / 2, y0 + side * i + 22, f"sum[{i}]", 12, colour="white" if i == 2 else INK)
    d.line([(x0 - 62 + side, y0 + side * 2.5), (x0 - 3, y0 + side * 2.5)], arrow=True)
    d.line([(x0 + side + 34, y0 - 52 + side / 2), (x0 + side + 34, y0 + side * 2.5), (x0 + side + 25, y0 + side * 2.5)], arrow=True)
    d.text(x0 - 62, y0 + side * SIDE + 26, "sum[2] += a2 * b", 14, "start", GREEN, bold=True)
    x = x0 + side + 60
    d.text(x, y0 - 44, "1 read: b stays in a\nregister, for all eight", 13, "start")
    d.text(x, y0 + 66, "8 reads: each a\nis used once", 13, "start")
    d.text(x, y0 + 132, "9 reads for\n8 FMAs", 13, "start", bold=True)
    d.text(x, y0 + 198, "lesson 14:\n16 reads for 8", 13, "start")
    d.text(20, 556,
           "The 32 lanes of a warp compute the same eight rows of 32 neighbouring columns. All "
           "lanes therefore read the same a, a broadcast,\n"
           "and their b are 32 neighbours of a row of B's tile, each in its own bank.", 12.5,
           "start", NOTE)
    d.save("warmup_eight_results.svg")


def lane_place(lane):
    """Row and column of a lane's first vector of four rows and of four columns."""
    return lane // 16 * 2 + lane % 2, lane % 16 // 2


def register_blocks():
    """A block's warps, the vectors of four of a warp's lanes, and one lane's outer product."""
    d = Drawing(900, 580)
    shown = 9
    d.text(20, 28, "A thread keeps 8 x 8 results in registers. One step of K: 16 reads, 64 FMAs",
           15, "start", bold=True)
    left, top, unit = 24, 96, 1.6
    d.text(left, 62, "A block: 128 x 128", 14, "start", bold=True)
    d.text(left, 82, "8 warps, 32 x 64 each", 13, "start")
    for warp in range(8):
        x, y = left + warp % 2 * 64 * unit, top + warp // 2 * 32 * unit
        d.box(x, y, 64 * unit, 32 * unit, "#b6d7a8" if warp == 1 else PALE_GREEN)
        d.text(x + 32 * unit, y + 16 * unit + 5, f"warp {warp}", 13, bold=warp == 1)
    # A warp: each cell is 4 x 4 elements.
    x0, y0, cell = 270, 96, 19
    d.text(x0, 62, "A warp: which lane holds which elements?", 14, "start", bold=True)
    d.text(x0, 82, "a square is 4 x 4 elements, the number is the lane", 13, "start")
    for lane in range(32):
        row, column = lane_place(lane)
        for half in range(4):
            x, y = x0 + cell * (column + half % 2 * 8), y0 + cell * (row + half // 2 * 4)
            d.box(x, y, cell, cell, GREEN if lane == shown else PALE_GREEN, GREY, 0.7)
            d.text(x + cell / 2, y + 13, str(lane), 10, colour="white" if lane == shown else INK, bold=lane == shown)
    d.line([(left + 128 * unit, top), (x0, y0)], GREY, 0.9, "3 3")
    d.line([(left + 128 * unit, top + 32 * unit), (x0, y0 + 8 * cell)], GREY, 0.9, "3 3")
    d.line([(x0 + 8 * cell, y0 - 4), (x0 + 8 * cell, y0 + 8 * cell + 4)], INK, 1.6)
    d.line([(x0 - 4, y0 + 4 * cell), (x0 + 16 * cell + 4, y0 + 4 * cell)], INK, 1.6)
    d.text(x0, y0 + 8 * cell + 22,
           "16 rows further down and 32 columns further right\nthe order of lanes repeats, so a "
           "lane holds\n4 + 4 rows and 4 + 4 columns.", 12.5, "start")
    # The lane's outer product.
    x0, y0, side = 665, 170, 24
    d.text(x0 - 40, 62, f"Lane {shown}: the products of one k", 14, "start", bold=True)
    for k in range(SIDE):
        gap = 6 * (k >= 4)
        d.box(x0 - 40, y0 + side * k + gap, side, side, BLUE)
        d.text(x0 - 40 + side / 2, y0 + side * k + gap + 16, f"a{k}", 11)
        d.box(x0 + side * k + gap, y0 - 40, side, side, ORANGE)
        d.text(x0 + side * k + gap + side / 2, y0 - 40 + 16, f"b{k}", 11)
    for i in range(SIDE):
        for j in range(SIDE):
            special = (i, j) == (2, 5)
            d.box(x0 + side * j + 6 * (j >= 4), y0 + side * i + 6 * (i >= 4), side, side, GREEN if special else PALE_GREEN, INK if special else GREY)
    d.line([(x0 - 40 + side, y0 + side * 2.5), (x0 + side * 5 + 3, y0 + side * 2.5)], arrow=True)
    d.line([(x0 + side * 5.5 + 6, y0 - 40 + side), (x0 + side * 5.5 + 6, y0 + side * 2 - 3)], arrow=True)
    d.text(x0 - 40, y0 + side * 8 + 32, "sum[2][5] += a2 * b5", 14, "start", GREEN, bold=True)
    d.text(x0 - 40, y0 - 74, "8 reads from a row of B's tile:", 12.5, "start")
    d.text(x0 - 40, y0 + side * 8 + 56, "8 reads from a column of A's tile.\nEach a is used for 8 products, and\neach b for 8.", 12.5, "start")
    d.text(20, 360, "What a thread reads for 64 FMAs:", 14, "start", bold=True)
    for at, (name, reads) in enumerate((("14: one result a thread", 128), ("15a: eight results", 72), ("15b: 8 x 8 results", 16))):
        y = 384 + 34 * at
        d.text(20, y + 16, name, 13, "start")
        d.box(190, y, reads * 2.4, 22, BLUE, GREY)
        d.text(196 + reads * 2.4, y + 16, f"{reads} reads", 13, "start", bold=at == 2)
    d.text(20, 536,
           "All products of a column and a row are their outer product. The loop over k repeats "
           "this for each k of the tiles;\n"
           "then the next tiles of A and B are loaded.", 12.5, "start", NOTE)
    d.save("warmup_register_blocks.svg")


def wide_loads():
    """The transposed tile of A, and which lanes' 16 bytes are in one wavefront."""
    d = Drawing(900, 640)
    d.text(20, 28,
           "The tile of A is stored transposed: a thread loads four floats of a row, and reads "
           "four of a column", 15, "start", bold=True)
    cell, top = 22, 92
    left, right = 60, 420
    d.text(left, 64, "A's tile in global memory: rows m, columns k", 13, "start", bold=True)
    d.text(right, 64, "in shared memory: rows k, columns m", 13, "start", bold=True)
    for m in range(8):
        for k in range(8):
            mine, wanted = m == 2 and k < 4, m >= 4 and k == 5
            colour = ORANGE if mine else BLUE if wanted else "white"
            d.box(left + cell * k, top + cell * m, cell, cell, colour, INK if mine or wanted else GREY, 0.8)
            d.box(right + cell * m, top + cell * k, cell, cell, colour, INK if mine or wanted else GREY, 0.8)
    for at in range(8):
        d.text(left - 8, top + cell * at + 16, str(at), 11, "end", NOTE)
        d.text(right - 8, top + cell * at + 16, str(at), 11, "end", NOTE)
        d.text(left + cell * (at + 0.5), top - 6, str(at), 11, colour=NOTE)
        d.text(right + cell * (at + 0.5), top - 6, str(at), 11, colour=NOTE)
    d.text(left + cell * 8 + 10, top + cell * 2 + 16, "loaded: one\nload of 16 bytes", 12.5,
           "start")
    d.text(left + cell * 8 + 10, top + cell * 5 + 8, "used for one k:\nhere a column", 12.5,
           "start")
    d.text(right + cell * 8 + 10, top + cell * 1 + 16, "stored: four stores of 4 bytes", 12.5, "start")
    d.text(right + cell * 8 + 10, top + cell * 5 + 8,
           "used for one k: here four floats of a row,\none load of 16 bytes", 12.5, "start")
    d.text(left, top + cell * 8 + 20, "(8 of the 128 rows)", 11.5, "start", NOTE)

    y = 330
    d.text(20, y,
           "Which 16 bytes do 16 lanes load? Half a warp, one load. A square is 16 bytes, four "
           "banks", 15, "start", bold=True)
    box = 40

    def half_warp(top, name, unit_of, units, result):
        d.text(20, top + 24, name, 13, "start", bold=True)
        x = 200
        for unit in range(8):
            if unit < units:
                d.box(x + box * (2 * unit + 0.5), top + 62, box, 24, PALE_BLUE if unit % 2 else BLUE)
                d.text(x + box * (2 * unit + 1), top + 79, f"{4 * unit}..{4 * unit + 3}", 11)
        for lane in range(16):
            d.box(x + box * lane, top + 6, box - 2, 24, PALE_ORANGE, GREY)
            d.text(x + box * (lane + 0.5), top + 23, str(lane), 12)
            unit = unit_of(lane)
            d.line([(x + box * (lane + 0.5), top + 31), (x + box * (2 * unit + 1) + (lane % 8 - 3.5) * 4, top + 61)], DARK_BLUE if lane < 8 else RED, 1)
        d.text(20, top + 104, result, 12.5, "start")

    half_warp(y + 10, "b: floats of a row", lambda lane: lane % 16 // 2, 8,
              "Neighbouring lanes load the same 16 bytes, so lanes 0 to 7 and lanes 8 to 15 are "
              "served together: one wavefront.")
    half_warp(y + 124, "a: floats of a row", lambda lane: lane % 2, 2,
              "Every second lane loads the same 16 bytes: one wavefront again. The other half of "
              "the warp needs a second one.")
    d.text(20, 586, "blue: lanes 0 to 7, red: lanes 8 to 15", 12.5, "start", NOTE)
    d.text(20, 610,
           "If lanes 0 to 7 were side by side, lane 8 would load the same as lane 0, which is no "
           "neighbour of lane 8.\nThen b would need four wavefronts per warp, not two.", 12.5,
           "start", NOTE)
    d.save("warmup_wide_loads.svg")


def double_buffer():
    """One block over time, with one pair of tiles and with two."""
    d = Drawing(900, 580)
    d.text(20, 28, "One block over time: one pair of tiles in shared memory, and two. Lengths are not measured", 15, "start", bold=True)
    fetch, store, products, left = 92, 26, 118, 150
    colours = [BLUE, ORANGE, "#b6d7a8", "#ead1dc"]

    def bar(x, y, width, colour, words):
        d.box(x, y, width, 28, colour, INK, 0.8)
        d.text(x + width / 2, y + 19, words, 12)

    def barrier(x, y, height):
        d.line([(x, y - 6), (x, y + height)], RED, 2.2)

    y = 84
    d.text(20, 62, "15c: the tiles are loaded, then multiplied", 14, "start", bold=True)
    for name, at in (("loads in flight", 0), ("stores", 1), ("FMAs", 2), ("shared memory", 3)):
        d.text(20, y + 40 * at + 19, name, 13, "start")
    x = left
    for tile in range(3):
        bar(x, y, fetch, colours[tile], f"tiles {tile}")
        bar(x + fetch, y + 40, store, colours[tile], str(tile))
        bar(x + fetch + store, y + 80, products, colours[tile], f"tiles {tile}")
        bar(x + fetch + store, y + 120, products, colours[tile], f"tiles {tile}")
        barrier(x + fetch + store, y, 154)
        x += fetch + store + products
        barrier(x, y, 154)
    d.text(left, y + 176,
           "Two barriers for each pair of tiles. While tiles are in flight, no thread of the block "
           "multiplies.", 12.5, "start")

    y = 330
    d.text(20, 300, "15d: the next tiles are loaded while these are multiplied", 14, "start",
           bold=True)
    for name, at in (("loads in flight", 0), ("stores", 1), ("FMAs", 2), ("buffer 0", 3),
                     ("buffer 1", 4)):
        d.text(20, y + 40 * at + 19, name, 13, "start")
    bar(left, y, fetch, colours[0], "tiles 0")
    bar(left + fetch, y + 40, store, colours[0], "0")
    x = left + fetch + store
    barrier(x, y, 194)
    step = products + store
    for tile in range(3):
        if tile < 2:
            bar(x, y, fetch, colours[tile + 1], f"tiles {tile + 1}")
            bar(x + products, y + 40, store, colours[tile + 1], str(tile + 1))
        bar(x, y + 80, products, colours[tile], f"tiles {tile}")
        bar(x, y + 120 + 40 * (tile % 2), products, colours[tile], f"tiles {tile}")
        x += step if tile < 2 else products
        barrier(x, y, 194)
    d.text(x + 16, y + 60, "Red: a barrier, one for\neach pair of tiles and\none at the beginning.", 12.5, "start", RED)
    d.text(x + 16, y + 134,
           "Tiles 2 overwrite tiles 0.\nAt the barrier between, all\nthreads have finished\ntiles "
           "0.", 12.5, "start")
    d.text(20, 558,
           "Between the load and the store the next tiles are in registers: four floats of A and "
           "four of B in each thread.", 12.5, "start", NOTE)
    d.save("warmup_double_buffer.svg")


for draw in (rows, elements_of_a_warp, eight_results, register_blocks, wide_loads, double_buffer):
    draw()
