"""Draws the figures of chapter 06."""
from drawing import DARK_BLUE, GREEN, GREY, INK, NOTE, ORANGE, PALE, RED, Drawing

CHANNELS, STEPS = 64, 16


def bar(d, x, y, width, words, colour, height=30):
    d.box(x, y, width, height, colour)
    d.text(x + width / 2, y + height / 2 + 5, words, 12)


def barrier(d, x, y, height):
    d.line([(x, y), (x, y + height)], RED, 3)


def staging():
    """A step's row of q, loaded by every thread, or loaded once and shared; and the two barriers of
    a step."""
    d = Drawing(900, 500)
    cell, cells = 22, 16

    def row(x, y, colour, edge=INK):
        for i in range(cells):
            d.box(x + cell * i, y, cell, 24, colour, edge, 0.8)

    for x, title in ((20, "05: every thread loads the whole row"), (500, "06: every thread loads one element")):
        d.text(x, 28, title, 15, "start", bold=True)
        d.text(x, 58, "q[0..63] in global memory", 12, "start", NOTE)
        row(x, 66, PALE[3])
        row(x, 266, PALE[1])
        d.text(x, 308, "the 64 threads of a head (16 drawn)", 12, "start", NOTE)
    middle = cell * cells / 2
    d.lines([((20 + cell * (i + 0.5), 92), (20 + cell * (j + 0.5), 264)) for i in range(cells) for j in range(cells)], GREY, 0.35)
    d.text(20 + middle, 334, "64 threads x 64 elements, and 4,096 exp of log_w", 13, colour=RED)
    d.lines([((500 + cell * (i + 0.5), 92), (500 + cell * (i + 0.5), 154)) for i in range(cells)], DARK_BLUE, 1.4)
    row(500, 156, PALE[0])
    d.text(492, 172, "q_smem", 12, "end", NOTE)
    for k in range(4):
        d.box(500 + cell * k, 156, cell, 24, ORANGE)
    d.lines([((500 + cell * 2, 182), (500 + cell * (j + 0.5), 264)) for j in range(cells)], ORANGE, 1.1)
    d.text(500 + cell * cells, 204, "16 bytes go to all threads at once", 12.5, "end")
    d.text(500 + middle, 334, "64 elements, and 64 exp of log_w", 13, colour=GREEN)

    d.text(20, 384, "A step of 06 over time", 15, "start", bold=True)
    x = 20
    for n, width in ((0, 430), (1, 430)):
        barrier(d, x + 3, 398, 46)
        bar(d, x + 8, 406, 176, f"store q, k, w of step {n}", PALE[0])
        barrier(d, x + 189, 398, 46)
        bar(d, x + 194, 406, 230, f"read them; state and o of step {n}", PALE[1])
        x += width
    d.text(23, 468, "first barrier (before the blue): all threads have", 12.5,
           "start", RED)
    d.text(23, 485, "read the previous step, so it may be overwritten", 12.5, "start", RED)
    d.text(455, 468, "second barrier (before the green): all threads have", 12.5, "start", RED)
    d.text(455, 485, "stored this step, so it may be read", 12.5, "start", RED)
    d.save("shared_staging.svg")


def one_barrier():
    """Two steps of one thread: with two barriers and a wait for memory, and with one barrier and
    loads ahead."""
    d = Drawing(900, 380)
    d.text(20, 28, "06: a step loads its rows, and waits for them", 15, "start", bold=True)
    x = 20
    for n in range(2):
        barrier(d, x + 3, 44, 46)
        bar(d, x + 8, 52, 210, f"rows of step {n}: load, wait, store", PALE[3])
        barrier(d, x + 223, 44, 46)
        bar(d, x + 228, 52, 196, f"compute step {n}", PALE[1])
        x += 430
    d.text(20, 112,
           "Red lines are barriers. Nothing is computed between the first and the second one.", 13,
           "start", NOTE)
    d.text(20, 160,
           "06.02: a step stores the rows that have arrived, and loads the next step's before it "
           "computes", 15, "start", bold=True)
    x = 20
    for n in range(3):
        bar(d, x, 220, 60, f"store {n}", PALE[2])
        barrier(d, x + 65, 212, 46)
        bar(d, x + 70, 220, 196, f"compute step {n}", PALE[1])
        if n < 2:
            d.line([(x + 62, 192), (x + 272, 192)], DARK_BLUE, 2, arrow=True)
            d.text(x + 166, 186, f"rows of step {n + 1} in flight to registers", 12,
                   colour=DARK_BLUE)
        x += 272
    for i, words in enumerate(("buffer 0: rows of step 0, then of step 2",
                               "buffer 1: rows of step 1")):
        d.text(20, 300 + 30 * i, words.split(":")[0], 13, "start")
        spans = ((0, 0), (544, 2)) if i == 0 else ((272, 1),)
        for at, n in spans:
            d.box(20 + at + (70 if at else 70), 286 + 30 * i, 266 if at < 500 else 250, 20, PALE[0])
            d.text(20 + at + 190, 301 + 30 * i, f"step {n}'s rows are read", 12)
    d.text(20, 362,
           "A slow thread may still read step 0 while a fast one stores step 1 in the other "
           "buffer. No thread stores step 2 before all have finished step 0.", 12, "start", NOTE)
    d.save("shared_one_barrier.svg")


def fused_tiles():
    """The grid of the fused recurrent tiles at B = H = 4, K = V = 100: the state of each of 16
    heads in 4 x 4 tiles."""
    d = Drawing(900, 390)
    d.text(20, 28, "B = H = 4, K = V = 100: a grid of 4 x 4 x 16 blocks, one warp each", 15, "start", bold=True)
    edges, scale = (0, 32, 64, 96, 100), 2.1
    for sheet in range(15, -1, -1):
        x, y = 150 + 7 * sheet, 140 - 5.5 * sheet
        for i in range(4):
            for j in range(4):
                at, size = (x + scale * edges[j], y + scale * edges[i]), (scale * (edges[j + 1] - edges[j]), scale * (edges[i + 1] - edges[i]))
                d.box(*at, *size, PALE[i] if sheet == 0 else "white", INK if sheet == 0 else GREY, 0.9 if sheet == 0 else 0.5)
                if sheet == 0 and i < 3 and j < 3:
                    d.text(at[0] + size[0] / 2, at[1] + size[1] / 2 + 5, f"({j}, {i})", 12)
    d.text(138, 250, "key rows\n0 to 99", 13, "end")
    d.text(150 + scale * 50, 372, "value columns 0 to 99", 13)
    notes = 560
    d.text(notes, 92, "One sheet: the state of one batch and head,\n100 x 100 elements. 16 sheets: blockIdx.z.", 13, "start")
    d.text(notes, 150, "One tile: one block. (1, 0) is blockIdx.x = 1,\nvalue columns 32 to 63, blockIdx.y = 0,\nkey rows 0 to 31.", 13, "start")
    d.text(notes, 226, "The last tiles have 4 rows or 4 columns.\nLanes past the end are masked.",
           13, "start")
    d.text(notes, 284, "A row of tiles (one colour) gives one part\nof o. The second pass adds the four parts.", 13, "start")
    d.text(notes, 342, "Each block walks through all T steps.", 13, "start")
    d.save("shared_fused_tiles.svg")


def copies_ahead():
    """Tiles of sixteen steps over time: copies, preparation, steps, and the two buffers."""
    d = Drawing(900, 330)
    d.text(20, 28, f"Tiles of {STEPS} steps: one wait and one barrier for each", 15, "start", bold=True)
    names = ("copies", "block", "buffer 0", "buffer 1")
    rows = (52, 108, 190, 232)
    for name, y in zip(names, rows):
        d.text(20, y + 20, name, 13, "start")
    x, prepare, steps = 90, 72, 156
    bar(d, x, rows[0], 74, "tile 0", PALE[0])
    x += 80
    for n in range(3):
        bar(d, x, rows[1], prepare, f"prepare {n}", PALE[2])
        barrier(d, x + prepare + 4, rows[1] - 8, 46)
        start = x + prepare + 9
        for s in range(STEPS):
            d.box(start + s * steps / STEPS, rows[1], steps / STEPS, 30, PALE[1], GREY, 0.6)
        d.text(start + steps / 2, rows[1] + 50, f"{STEPS} steps of tile {n}", 12)
        if n < 2:
            bar(d, start, rows[0], 120, f"tile {n + 1}", PALE[0])
        first = 90 if n == 0 else x - steps - 4
        bar(d, first, rows[2 + n % 2], start + steps - first, f"tile {n}", PALE[n % 2 * 3], 26)
        x = start + steps + 4
    d.text(20, 286,
           "The copies need no thread and no register while they are in flight. prepare: exp and "
           "the bonus, by all threads in parallel.", 12, "start", NOTE)
    d.text(20, 308,
           "After the barrier all threads have prepared tile n and finished tile n - 1, which the "
           "copies of tile n + 1 may then overwrite.", 12, "start", NOTE)
    d.save("shared_copies_ahead.svg")


def shared_columns():
    """The state of a head by threads, and how four lanes add up sixteen sums."""
    d = Drawing(940, 480)
    d.text(20, 28, "A head's state, 64 key rows x 64 columns", 15, "start", bold=True)
    left, top, cell = 40, 60, 4.6
    size = CHANNELS * cell
    for group in range(CHANNELS // 4):
        d.box(left, top + group * 4 * cell, size, 4 * cell, PALE[group % 4], "none")
    d.box(left, top, size, size, "none")
    d.lines([((left + c * cell, top), (left + c * cell, top + size)) for c in range(4, CHANNELS, 4)], GREY, 0.4)
    d.line([(left + size / 2, top - 4), (left + size / 2, top + size + 4)], INK, 2)
    d.text(left + size / 4, top - 8, "warp 0", 13)
    d.text(left + 3 * size / 4, top - 8, "warp 1", 13)
    for group in range(4):
        d.box(left + 8 * cell, top + (4 * group + 1) * 4 * cell, 4 * cell, 4 * cell, RED, INK)
    d.text(left, top + size + 22, "Colours: row lane 0, 1, 2, 3. Four lanes share four columns.\n"
           "Red: the 16 x 4 elements of one thread, row lane 1.\n"
           "In a step it reads 4 x 16 bytes of q, of k and of w, and\n16 bytes of v. Each number "
           "is used four times or more.", 12, "start")
    x0 = 480
    d.text(x0, 28, "Sixteen sums of four lanes, swapped by halves", 15, "start", bold=True)
    stages = (("each lane: its part of all sums", 4), ("after 8 shuffles, lanes 2 apart", 2), ("after 4 more, lanes 1 apart", 1))
    for i, (words, have) in enumerate(stages):
        y = 60 + 118 * i
        d.text(x0, y, words, 13, "start")
        for lane in range(4):
            x = x0 + 112 * lane
            d.text(x + 48, y + 20, f"lane {lane}", 12, colour=NOTE)
            first = 0 if have == 4 else lane // have * have
            for step in range(4):
                mine = first <= step < first + have
                d.box(x, y + 28 + 15 * step, 96, 15, PALE[step] if mine else "white", GREY, 0.6)
                if mine:
                    d.text(x + 48, y + 40 + 15 * step, f"step {step}: 4 columns", 10.5)
    d.text(x0, 424,
           "A lane passes one half of its sums to its partner, and gets the\npartner's part of the "
           "other half: 12 shuffles in all. Each lane\n"
           "ends with the whole sums of one step, 16 bytes of o.", 12, "start")
    d.save("shared_columns.svg")


def four_steps():
    """From where the outputs and the state of a step group get their data."""
    d = Drawing(900, 400)
    d.text(20, 28, "Four steps a, b, c, d at once: what each result reads", 15, "start", bold=True)
    columns = ("S before them", "v_a", "v_b", "v_c", "v_d")
    widths, left, top, row = (230, 130, 130, 130, 130), 130, 64, 40
    x = left
    for name, width in zip(columns, widths):
        d.text(x + width / 2, top - 8, name, 13, bold=True)
        x += width
    decays = ("q_a", "q_b w_a", "q_c w_a w_b", "q_d w_a w_b w_c")
    middle = {(1, 0): "q_b k_a", (2, 0): "q_c w_b k_a", (2, 1): "q_c k_b", (3, 0): "q_d w_b w_c k_a", (3, 1): "q_d w_c k_b", (3, 2): "q_d k_c"}
    for a, name in enumerate("abcd"):
        y = top + row * a
        d.text(left - 14, y + 25, f"o_{name}", 14, "end", bold=True)
        d.box(left, y, widths[0], row, PALE[0])
        d.text(left + widths[0] / 2, y + 25, decays[a], 13)
        for b in range(4):
            x = left + widths[0] + 130 * b
            colour = PALE[1] if b < a else PALE[2] if b == a else "white"
            d.box(x, y, 130, row, colour)
            d.text(x + 65, y + 25, middle.get((a, b), f"q_{name} u k_{name}" if a == b else "0"), 12.5)
    y = top + row * 4 + 24
    d.text(left - 14, y + 25, "S after them", 14, "end", bold=True)
    d.box(left, y, widths[0], row, PALE[0])
    d.text(left + widths[0] / 2, y + 25, "w_a w_b w_c w_d", 13)
    for b, words in enumerate(("k_a w_b w_c w_d", "k_b w_c w_d", "k_c w_d", "k_d")):
        x = left + widths[0] + 130 * b
        d.box(x, y, 130, row, PALE[3])
        d.text(x + 65, y + 25, words, 12.5)
    legend = (
        (PALE[0], "blue: per key row and column. q with the decays since step a reads S, and all"
         " four decays scale S"),
        (PALE[1], "green, orange: the scores, sums over the key rows, one number for all columns."
         " Orange is the bonus"),
        (PALE[3], "pink: per key row and column. k with the decays of the later steps is added to"
         " S"))
    for i, (colour, words) in enumerate(legend):
        d.box(20, y + 62 + 24 * i, 14, 14, colour, GREY)
        d.text(42, y + 74 + 24 * i, words, 12.5, "start")
    d.save("shared_four_steps.svg")


def time_tiles():
    """The three buffers of a block's tiles over time, and how a head's state is cut."""
    d = Drawing(940, 604)
    d.text(20, 28, "One buffer for the copies (raw), two for the prepared tiles (ready)", 15,
           "start", bold=True)
    rows = (46, 84, 122, 160)
    for name, y in zip(("raw", "block", "ready 0", "ready 1"), rows):
        d.text(20, y + 20, name, 13, "start")
    x, prepare, steps = 90, 76, 170
    bar(d, x, rows[0], 70 + prepare, "tile 0", PALE[0])
    x += 70
    for n in range(3):
        bar(d, x, rows[1], prepare, f"prepare {n}", PALE[2])
        barrier(d, x + prepare + 4, rows[1] - 6, 42)
        start = x + prepare + 9
        bar(d, start, rows[1], steps, f"steps of tile {n}", PALE[1])
        if n < 2:
            bar(d, start, rows[0], steps + 4 + prepare, f"tile {n + 1}", PALE[0])
        bar(d, x, rows[2 + n % 2], prepare + 9 + steps, f"tile {n}", PALE[n % 2 * 3], 26)
        x = start + steps + 4
    d.text(20, 212,
           "Copies may overwrite raw as soon as a tile is prepared, because each thread prepares "
           "what it copied itself. After the barrier (red) all\n"
           "threads have prepared tile n and finished tile n - 1, whose ready buffer the next one "
           "may use.", 12, "start", NOTE)
    d.text(20, 268, "A head's state, 64 key rows x 64 columns, cut by three of the eleven tilings", 15, "start", bold=True)
    cell, top = 3.0, 312
    size = CHANNELS * cell
    cuts = (("Few64: 4 blocks of 16 columns", 4, 4, 4, 2, 16), ("Many64: one block of 4 warps", 1, 4, 8, 4, 8), ("Crowd64: one block of 2 warps", 1, 2, 16, 4, 4))
    for i, (name, blocks, warps, rows_of, columns, row_lanes) in enumerate(cuts):
        left = 40 + 300 * i
        d.text(left + size / 2, top - 14, name, 13, bold=True)
        for group in range(CHANNELS // 4):
            d.box(left, top + group * 4 * cell, size, 4 * cell, PALE[group % row_lanes % 4], "none")
        wide = size / blocks / warps
        d.lines([((left + n * wide, top), (left + n * wide, top + size)) for n in range(1, blocks * warps)], GREY, 0.8)
        d.lines([((left + n * size / blocks, top - 8), (left + n * size / blocks, top + size + 8)) for n in range(blocks + 1)], INK, 2)
        for part in range(rows_of // 4):
            d.box(left + 2 * columns * cell, top + (part * row_lanes + 1) * 4 * cell, columns * cell, 4 * cell, RED, INK, 0.8)
        d.text(left, top + size + 28,
               f"a thread: {rows_of} x {columns} elements,\n{row_lanes} lanes share its columns",
               12, "start")
    d.text(20, 576, "Black lines are borders of blocks, grey ones of warps. Colours are groups of four key rows. Red: the elements of one thread, which is\nthe second of the lanes that share its columns.", 12, "start", NOTE)
    d.save("shared_time_tiles.svg")


for draw in (staging, one_barrier, fused_tiles, copies_ahead, shared_columns, four_steps,
             time_tiles):
    draw()
