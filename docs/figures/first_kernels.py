"""Draws the figures of chapters 03 to 05."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, NOTE, ORANGE, PALE, RED, Drawing

WARP = 32

# One H200, and chapter 03's launch at B=1, H=32, V=64.
MULTIPROCESSORS, SCHEDULERS = 132, 4
B, H, V = 1, 32, 64


def schedulers():
    """One cell for each scheduler of the GPU. Those with a warp of the launch are filled."""
    warps = B * H * V // WARP
    per_row, cell, gap = 22, 8, 40
    d = Drawing(900, 470)
    d.text(20, 28, f"Chapter 03 at B={B}, H={H}, V={V}: {B * H * V:,} channels, {warps} blocks of one warp", 15, "start", bold=True)
    d.text(20, 54,
           f"An H200 has {MULTIPROCESSORS} SMs (frames) with {SCHEDULERS} schedulers each (cells): "
           f"{MULTIPROCESSORS * SCHEDULERS}. A scheduler issues one instruction\n"
           "of one of its warps per cycle. Filled: a scheduler that has a warp of this launch.", 13,
           "start")
    borders = []
    for m in range(MULTIPROCESSORS):
        x, y = 20 + gap * (m % per_row), 100 + 44 * (m // per_row)
        d.box(x, y, 4 * cell + 2, 32, "white", INK if m < warps else GREY, 1)
        if m < warps:
            d.box(x + 1, y + 1, cell, 30, ORANGE, "none")
        borders += [((x + 1 + cell * s, y), (x + 1 + cell * s, y + 32)) for s in range(1, SCHEDULERS)]
    d.lines(borders, GREY, 0.6)
    idle = MULTIPROCESSORS * SCHEDULERS - warps
    d.box(20, 384, 12, 14, ORANGE, GREY)
    d.text(40, 396,
           f"{warps} schedulers have one warp each. While it waits for memory, they have no other "
           "warp to issue.", 13, "start")
    d.box(20, 410, 12, 14, "white", GREY)
    d.text(40, 422,
           f"{idle} schedulers have no warp at all: {100 * idle / (idle + warps):.0f} % of the "
           "GPU. A scheduler has room for 16 warps.", 13, "start")
    d.text(20, 452, "Drawn with one block per SM. The hardware may distribute them otherwise.", 12,
           "start", NOTE)
    d.save("first_schedulers.svg")


def register_sum():
    """A step of one thread: an atomic for each product, and a sum in a register with one store."""
    d = Drawing(900, 420)
    rows, top, step = ("0", "1", "2", "...", "63"), 92, 42
    for x, title in ((20, "03: an atomic for each key row"), (480, "04: a sum in a register, one store")):
        d.text(x, 28, title, 15, "start", bold=True)
        d.text(x + 52, 64, "term of row ik", 13, colour=NOTE)
    d.text(330, 64, "global memory", 13, colour=NOTE)
    d.text(672, 64, "register", 13, colour=NOTE)
    d.text(826, 64, "global memory", 13, colour=NOTE)
    d.box(290, top, 80, step * len(rows) - 10, PALE[3])
    d.text(330, top + 104, "o[iv]", 15, bold=True)
    d.box(632, top, 80, step * len(rows) - 10, PALE[1])
    d.text(672, top + 104, "sum", 15, bold=True)
    d.box(786, top, 80, step * len(rows) - 10, PALE[3])
    d.text(826, top + 104, "o[iv]", 15, bold=True)
    for i, row in enumerate(rows):
        y = top + step * i + 16
        for x in (20, 480):
            if row == "...":
                d.text(x + 52, y + 5, row, 15)
                continue
            d.box(x, y - 14, 104, 28, PALE[2])
            d.text(x + 52, y + 5, f"ik = {row}", 13)
        if row == "...":
            continue
        d.line([(126, y), (288, y)], RED, 1.6, arrow=True)
        d.text(207, y - 5, "atomicAdd", 12, colour=RED)
        d.line([(586, y), (630, y)], DARK_BLUE, 1.6, arrow=True)
        d.text(608, y - 5, "+", 13, colour=DARK_BLUE)
    d.line([(714, top + 98), (784, top + 98)], GREEN, 1.8, arrow=True)
    d.text(749, top + 90, "store", 12, colour=GREEN)
    y = top + step * len(rows) + 22
    d.text(20, y, "A step of one thread, K = 64: 64 atomics, each of which\nreads, adds and writes in global memory.", 13, "start")
    d.text(480, y, "The same 64 terms: 64 additions in a register,\nand one store when the step's sum is complete.", 13, "start")
    d.text(20, y + 56,
           "No other thread adds to this element of o, so the thread can accumulate it in a "
           "register.", 13, "start", NOTE)
    d.save("first_register_sum.svg")


def wide_loads():
    """Four requests for 4 bytes against one for 16, of the same sector."""
    d = Drawing(900, 430)
    cell, left = 74, 150
    d.text(20, 28,
           "A sector of q: 32 bytes, key rows ik to ik + 7. All 32 lanes of a warp load from the "
           "same address", 15, "start", bold=True)
    for y, name, size, colour in ((86, "04", 1, PALE[2]), (250, "05", 4, PALE[1])):
        d.text(20, y + 22, name, 15, "start", bold=True)
        d.text(20, y + 42, f"{4 * size} bytes\na request", 13, "start")
        for i in range(8):
            d.box(left + cell * i, y, cell, 36, BLUE)
            d.text(left + cell * (i + 0.5), y + 23, f"q{i}", 14)
        for number in range(8 // size):
            x = left + cell * size * number
            d.box(x + 5, y + 52, cell * size - 10, 26, colour)
            d.text(x + cell * size / 2, y + 70, f"request {number + 1}" if size > 1 else f"{number + 1}", 13)
            d.line([(x + cell * size / 2, y + 52), (x + cell * size / 2, y + 38)], arrow=True)
        d.text(left + 8 * cell + 14, y + 70, f"{8 // size} requests", 14, "start", RED if size == 1 else GREEN, bold=True)
    d.text(left, 190,
           "Each of the 8 requests moves this one sector from the cache to the warp. Requests 2 to "
           "8 hit\nthe cache: each costs a request, but no traffic with memory.", 13, "start")
    d.text(left, 354, "2 requests, each for half of the sector. The same bytes arrive with a quarter of the requests,\nand four key rows arrive at the same time.", 13, "start")
    d.text(20, 410, "The four terms of a request go to four sums: at K = 64 four chains of 16 additions instead of one chain of 64.", 13, "start", NOTE)
    d.save("first_wide_loads.svg")


def strips():
    """A head's state in strips of 8 key rows: a block for each, and an atomic from each into one
    output."""
    d = Drawing(900, 400)
    d.text(20, 28, "One head, K = 64: its state in 8 strips of 8 key rows, a block of V threads for each", 15, "start", bold=True)
    names = ("0 to 7", "8 to 15", "16 to 23", "...", "56 to 63")
    d.text(98, 66, "key rows", 13, colour=NOTE)
    d.text(330, 66, "strip of the state, in shared memory", 13, colour=NOTE)
    d.text(770, 66, "o of step t, global memory", 13, colour=NOTE)
    for i, name in enumerate(names):
        y = 80 + 48 * i
        if name == "...":
            d.text(98, y + 20, name, 15)
            d.text(330, y + 20, name, 15)
            continue
        d.text(98, y + 22, name, 13)
        d.box(160, y, 340, 34, PALE[i % 3])
        d.lines([((160 + 34 * k, y), (160 + 34 * k, y + 34)) for k in range(1, 10)], GREY, 0.5)
        d.text(330, y + 22, f"block {i if i < 3 else 7}: 8 x V floats", 13)
        d.line([(502, y + 17), (668, 196)], RED, 1.4, arrow=True)
    d.text(590, 92, "atomicAdd", 13, colour=RED)
    d.box(670, 180, 200, 34, PALE[3])
    d.text(770, 202, "one row of V outputs", 13)
    d.text(20, 344,
           "Each thread owns one column of its block's strip: no thread reads what another one has "
           "written there. But 8 blocks hold\n"
           "parts of the same outputs. They run at the same time and in any order, so their parts "
           "are added by atomics.", 13, "start")
    d.save("first_strips.svg")


def block_sizes():
    """The same 64 warps in blocks of 32, 64 and 128 threads on the SMs of one GPU."""
    d = Drawing(900, 400)
    warps, cell, gap = B * H * V // WARP, 5, 26
    d.text(20, 28,
           f"The same {warps} warps in blocks of 32, 64 and 128 threads, on {MULTIPROCESSORS} SMs "
           f"of {SCHEDULERS} schedulers", 15, "start", bold=True)
    for n, per_block in enumerate((1, 2, 4)):
        top = 56 + 104 * n
        blocks = warps // per_block
        d.text(20, top + 12, f"{32 * per_block} threads: {blocks} blocks of {per_block} warp{'s' * (per_block > 1)}", 13, "start", bold=True)
        d.text(880, top + 12, f"{blocks} SMs have work, and {warps} schedulers", 13, "end", NOTE)
        borders = []
        for m in range(MULTIPROCESSORS):
            x, y = 20 + gap * (m % 33), top + 20 + 17 * (m // 33)
            if m < blocks:
                d.box(x + 1, y, cell * per_block, 13, ORANGE, "none")
            d.box(x, y, 4 * cell + 2, 13, "none", INK if m < blocks else GREY, 0.8)
            borders += [((x + 1 + cell * s, y), (x + 1 + cell * s, y + 13)) for s in range(1, SCHEDULERS)]
        d.lines(borders, GREY, 0.5)
    d.text(20, 384,
           "Each warp has a scheduler of its own in all three. What differs is how many warps "
           "share an SM's L1 cache.", 12.5, "start")
    d.save("first_block_sizes.svg")


def promise():
    """Two steps of one thread: the loads of the second before and after the store of the first."""
    d = Drawing(900, 430)
    left, unit = 190, 34
    d.text(20, 28, "Two steps of one thread over time: what may begin when?", 15, "start", bold=True)

    def row(y, name, boxes):
        d.text(20, y + 20, name, 13, "start")
        for at, length, words, colour in boxes:
            d.box(left + unit * at, y, unit * length, 30, colour)
            d.text(left + unit * (at + length / 2), y + 20, words, 12.5)

    d.text(20, 66, "04: the compiler must assume that o may alias q, k, v, log_w or u", 14, "start",
           bold=True)
    row(80, "step t", ((0, 4, "loads", PALE[0]), (4, 4, "sum, state", PALE[1]), (8, 2, "store o", PALE[3])))
    row(120, "step t + 1", ((10, 4, "loads", PALE[0]), (14, 4, "sum, state", PALE[1]), (18, 2, "store o", PALE[3])))
    d.line([(left + unit * 10, 74), (left + unit * 10, 160)], RED, 1.4, "4 3")
    d.text(left + unit * 10 + 6, 96, "no load of step t + 1 may move before this store,", 12.5,
           "start", RED)
    d.text(left + unit * 10 + 6, 112, "because the store may change what is loaded", 12.5, "start",
           RED)

    d.text(20, 216, "04.01: __restrict__ promises that o aliases none of them", 14, "start",
           bold=True)
    row(230, "step t", ((0, 4, "loads", PALE[0]), (4, 4, "sum, state", PALE[1]), (8, 2, "store o", PALE[3])))
    row(270, "step t + 1", ((4, 4, "loads", PALE[0]), (8, 4, "sum, state", PALE[1]), (12, 2, "store o", PALE[3])))
    d.text(left + unit * 10 + 6, 246, "these loads may begin as soon as", 12.5, "start", GREEN)
    d.text(left + unit * 10 + 6, 262, "there are registers for their values", 12.5, "start", GREEN)
    d.line([(left, 324), (left + unit * 20, 324)], arrow=True)
    d.text(left + unit * 20, 344, "time", 13, "end")
    d.text(20, 374,
           "A drawing of what is allowed, not a measurement. The loads in the lower half are in "
           "flight while the thread computes, and\n"
           "need registers for their values. The compiler chooses how many it issues ahead.", 13,
           "start", NOTE)
    d.save("first_promise.svg")


for draw in (schedulers, strips, register_sum, wide_loads, promise, block_sizes):
    draw()
