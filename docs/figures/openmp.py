"""Draws chapter 02's figures."""
from drawing import BLUE, GREY, NOTE, ORANGE, PALE, RED, Drawing

LINE = 16  # floats of a cache line


def threads():
    """A team of four threads shares the heads of two batches, and all wait at the end."""
    d = Drawing(900, 330)
    heads, team = [(b, h) for b in range(2) for h in range(4)], 4
    each = len(heads) // team
    d.text(20, 28,
           "parallel for collapse(2): 2 batches of 4 heads are one list of 8, shared by 4 threads",
           15, "start", bold=True)
    d.line([(20, 176), (110, 176)], width=3)
    d.text(64, 164, "thread 0", 13)
    for t in range(team):
        y = 76 + 66 * t
        d.line([(110, 176), (150, y)], GREY, 1.5)
        d.text(196, y + 5, f"thread {t}", 13)
        for n, (b, h) in enumerate(heads[t * each:(t + 1) * each]):
            d.box(240 + 190 * n, y - 20, 180, 40, PALE[t])
            d.text(330 + 190 * n, y + 5, f"b = {b}, h = {h}: all T steps", 13)
        d.line([(620, y), (690, 176)], GREY, 1.5)
    d.line([(690, 60), (690, 290)], RED, 3)
    d.text(700, 74, "all wait for the last", 13, "start", RED)
    d.line([(690, 176), (860, 176)], width=3)
    d.text(790, 164, "thread 0 goes on", 13)
    d.text(20, 318,
           "time goes to the right. Each box has a state of its own, so no thread waits for "
           "another one before the end.", 13, "start", NOTE)
    d.save("openmp_threads.svg")


def loop_order():
    """The order in which a step visits the state, before and after the loops are swapped."""
    d = Drawing(900, 400)
    rows, columns, cell = 4, 8, 40
    for x, title, walk, exps in ((30, "iv outside, ik inside", [(j, i) for i in range(columns) for j in range(rows)], f"{rows * columns} exps: one for each element"),
                                 (490, "ik outside, iv inside", [(j, i) for j in range(rows) for i in range(columns)], f"{rows} exps: one for each key row")):
        y = 96
        d.text(x, 30, title, 15, "start", bold=True)
        d.text(x, 54, exps, 13, "start", RED)
        for n, (j, i) in enumerate(walk):
            d.box(x + 40 + cell * i, y + cell * j, cell, cell, PALE[j])
            d.text(x + 40 + cell * (i + 0.5), y + cell * (j + 0.62), str(n), 14)
        for j in range(rows):
            d.text(x + 32, y + cell * (j + 0.62), f"w[{j}]", 12, "end")
        d.text(x + 40 + cell * columns / 2, y - 12, "value columns iv", 12, colour=NOTE)
        d.text(x, y + cell * rows + 34, "in memory, one row after the other:", 13, "start")
        order = {at: n for n, at in enumerate(walk)}
        small = 380 / (rows * columns)
        for n in range(rows * columns):
            j, i = divmod(n, columns)
            d.box(x + small * n, y + cell * rows + 46, small, 26, PALE[j], GREY, 0.6)
            d.text(x + small * (n + 0.5), y + cell * rows + 63, str(order[j, i]), 8)
    d.text(20, 372,
           "A number is the time at which the step visits the element. Left: neighbours in time "
           "are a whole row apart in memory.\n"
           "Right: neighbours in time are neighbours in memory.", 13, "start", NOTE)
    d.save("openmp_loop_order.svg")


def simd():
    """37 columns of a row in vectors of 4, 8 and 16 lanes."""
    d = Drawing(900, 350)
    columns, cell, left = 37, 21, 100
    d.text(20, 28,
           f"A row of {columns} columns. One box is one FMA instruction for so many columns", 15,
           "start", bold=True)
    for n, lanes in enumerate((1, 4, 8, 16)):
        y = 66 + 62 * n
        whole, rest = divmod(columns, lanes)
        d.text(left - 12, y + 22, f"{lanes} lane{'s' * (lanes > 1)}", 13, "end")
        for v in range(whole):
            d.box(left + cell * lanes * v, y, cell * lanes, 34, PALE[0])
        for i in range(columns - rest, columns):
            d.box(left + cell * i, y, cell, 34, ORANGE)
        count = f"{whole} + {rest} = {whole + rest}" if rest else str(whole)
        d.text(left, y + 52, f"{count} instructions", 13, "start", NOTE)
    d.text(20, 330,
           "Orange: the remainder, drawn one by one. The compiler often computes a part of it with "
           "a narrower vector.", 13, "start", NOTE)
    d.save("openmp_simd.svg")


def columns():
    """A row of 64 floats, four cache lines, cut into three parts."""
    d = Drawing(900, 310)
    V, parts, cell, left = 64, 3, 12, 66
    d.text(20, 28, f"A row of o: {V} floats in {V // LINE} cache lines of {LINE}, shared by {parts} threads", 15, "start", bold=True)
    cuts = (("equal parts", [part * V // parts for part in range(parts + 1)]),
            ("whole cache lines", [part * (V // LINE) // parts * LINE for part in range(parts + 1)]))
    for n, (title, borders) in enumerate(cuts):
        y = 92 + 116 * n
        d.text(left, y - 16, title, 14, "start", bold=True)
        for part in range(parts):
            first, end = borders[part], borders[part + 1]
            d.box(left + cell * first, y, cell * (end - first), 34, PALE[part])
            d.text(left + cell * (first + end) / 2, y + 22, f"thread {part}: {first} to {end - 1}", 13)
        for line in range(V // LINE):
            shared = any(line * LINE < border < (line + 1) * LINE for border in borders)
            d.box(left + cell * LINE * line + 1, y + 40, cell * LINE - 2, 20, "#f4b6ae" if shared else "white", RED if shared else GREY)
            d.text(left + cell * LINE * (line + 0.5), y + 55, f"line {line}: {'two threads write' if shared else 'one thread writes'}", 12, colour=RED if shared else NOTE)
    d.text(20, 296,
           "A core must own a cache line before it writes to it. A red line moves from core to "
           "core in every step.", 13, "start", NOTE)
    d.save("openmp_columns.svg")


def tile():
    """A register tile and its walk through time."""
    d = Drawing(900, 380)
    d.text(20, 28, "The state of one head, K = V = 64, and one register tile of 8 rows x 2 vectors of 16 columns", 15, "start", bold=True)
    cell_x, cell_y, left, top = 112, 30, 30, 66
    for i in range(2):
        for j in range(8):
            first = i == 0 and j == 0
            d.box(left + cell_x * i, top + cell_y * j, cell_x, cell_y, ORANGE if first else "white")
            d.text(left + cell_x * (i + 0.5), top + cell_y * (j + 0.66), f"{8 * i + j}", 12)
    d.text(left + cell_x, top - 10, "tiles, in the order of the loops", 13, colour=NOTE)
    x, y = 390, 84
    for step in (2, 1, 0):
        d.box(x + 12 * step, y - 12 * step, 300, 200, PALE[2] if step == 0 else "white", GREY if step else "#222222")
    for c in range(2):
        for r in range(8):
            d.box(x + 110 + 90 * c, y + 12 + 22 * r, 84, 18, ORANGE)
    for r in (0, 1, 7):
        d.text(x + 100, y + 26 + 22 * r, f"q[{r}] k[{r}] w[{r}]", 11, "end")
    d.text(x + 60, y + 90, "...", 13)
    d.text(x + 152, y + 26, "16 columns", 11)
    d.text(x + 242, y + 26, "16 columns", 11)
    for c in range(2):
        d.line([(x + 152 + 90 * c, y + 202), (x + 152 + 90 * c, y + 238)], arrow=True)
    d.text(x + 197, y + 258, "o[t] += the sum over these 8 rows", 13)
    d.text(x + 350, y + 60, "32 steps in time:\nthe tile stays in\nregisters; q, k, w,\nv and o change", 13, "start", RED)
    d.line([(left + cell_x, top + 15), (x - 6, y + 60)], GREY, 1.2, arrow=True)
    d.text(20, 366,
           "Load a tile, walk it through 32 steps, store it, load the next one. Boxes of the state "
           "are not to scale.", 13, "start", NOTE)
    d.save("openmp_tile.svg")


def passes():
    """The traffic of each step through the cache: the classic loop, and a tile of 32 steps."""
    d = Drawing(900, 250)
    d.text(20, 28, "Linear attention, K = V = 64: bytes of the state through the cache, for 32 steps of a head", 15, "start", bold=True)
    state = 64 * 64 * 4
    rows = (("classic loop: add the key (read, write), then read for the query", 3 * 32 * state),
            ("a tile walks through 32 steps: read once, written once", 2 * state))
    for n, (name, size) in enumerate(rows):
        y = 66 + 78 * n
        d.text(20, y, name, 13, "start")
        d.box(20, y + 12, 700 * size / rows[0][1], 26, (ORANGE, BLUE)[n])
        d.text(30 + 700 * size / rows[0][1], y + 31, f"{size:,}", 13, "start")
    d.text(20, 232, "Counted from the loops, not measured. Scratch copies of q, k, v and o are not counted.", 13, "start", NOTE)
    d.save("openmp_passes.svg")


for draw in (threads, loop_order, simd, columns, tile, passes):
    draw()
