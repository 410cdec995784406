"""Draws the pictures of chapter 08's lessons 16 to 18."""
from drawing import (BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED,
                     Drawing)

GROUND, NEXT, KEPT, PART = "#f7f7f7", "#fde9d0", "#d9ead3", "#f4cccc"
TILE, D = 64, 128  # keys, and queries, of a tile; channels
MINE, NOW = 1, 2  # the block's tile of keys, and its current tile of queries
KB = 1024


def shared_bytes():
    """The bytes of gradient_tiles.hpp's Memory: k and v; q and d_o twice; P and dS; lse and delta
    twice."""
    return 2 * TILE * D * 2 + 4 * TILE * D * 2 + 2 * TILE * TILE * 2 + 2 * 2 * TILE * 4


def strip(d, x, y, name, cells, wide, high, colours):
    """An array in global memory, cut into tiles."""
    d.text(x - 7, y + high / 2 + 5, name, 13, "end", bold=True)
    for cell in range(cells):
        d.box(x + cell * wide, y, wide, high, colours.get(cell, "white"), GREY, 0.8)


def tile(d, x, y, wide, high, words, note, colour):
    d.box(x, y, wide, high, colour, INK, 1.1)
    d.text(x + wide / 2, y + high / 2 - 3, words, 13, bold=True)
    d.text(x + wide / 2, y + high / 2 + 13, note, 11.5, colour=NOTE)


def launched_twice():
    """Lesson 16: the tiles of pairs that a block of each launch visits, and a thread's share."""
    d = Drawing(900, 600)
    side, cell, tiles = 32, 56, 4
    d.text(20, 28, f"Lesson 16: all pairs of {tiles * side} queries and {tiles * side} keys, "
                   f"causal, in tiles of {side} x {side}", 15, "start", bold=True)
    panels = ((90, "kKeysStay: keys stay, queries pass", 1, True),
              (520, "without it: queries stay, keys pass", 2, False))
    top = 92
    for left, title, block, keys_stay in panels:
        d.text(left, 60, title, 14, "start", bold=True)
        for row in range(tiles):
            d.text(left - 8, top + cell * (row + 0.5) + 5, f"{side * row}", 12, "end")
            d.text(left + cell * (row + 0.5), top - 6, f"{side * row}", 12)
            for column in range(tiles):
                mine = column <= row and (column if keys_stay else row) == block
                d.box(left + cell * column, top + cell * row, cell, cell,
                      ORANGE if mine else LIGHT if column > row else "white", GREY)
                if column > row:
                    d.text(left + cell * (column + 0.5), top + cell * (row + 0.5) + 4, "skipped",
                           10, colour=NOTE)
        d.text(left - 44, top + 2 * cell, "first\nquery", 12)
        d.text(left + tiles * cell + 8, top - 6, "first key", 12, "start")
        if keys_stay:
            x = left + cell * (block + 0.5)
            d.line([(x, top + cell * block + 8), (x, top + cell * tiles - 8)], INK, 1.6, arrow=True)
            d.box(left + cell * block, top + cell * tiles + 14, cell, 26, KEPT)
            d.text(x, top + cell * tiles + 31, "dk, dv", 12, bold=True)
            d.text(left + cell * (block + 1) + 8, top + cell * tiles + 24,
                   "of keys 32 to 63: sums over\nthe queries 32 to 127", 12, "start", GREEN)
            d.text(left + cell * tiles + 14, top + 70,
                   "block 1 computes\nS and dP, then\nadds to dv and dk:\n4 products", 12.5,
                   "start")
        else:
            y = top + cell * (block + 0.5)
            d.line([(left + 8, y), (left + cell * (block + 1) - 8, y)], INK, 1.6, arrow=True)
            d.box(left + cell * tiles + 14, y - 13, 40, 26, KEPT)
            d.text(left + cell * tiles + 34, y + 4, "dq", 12, bold=True)
            d.text(left + cell * tiles + 14, y + 34, "of queries\n64 to 95", 12, "start", GREEN)
            d.text(left, top + cell * tiles + 24,
                   "block 2 computes S and dP again, then adds to dq:\n"
                   "3 products. dq is a sum over the keys 0 to 95", 12.5, "start")

    top, unit, warp, lane = 410, 5, 2, 5
    d.text(20, top - 12, "One tile", 14, "start", bold=True)
    x = 90
    d.box(x, top, side * unit, side * unit, "white", GREY)
    for n in range(side // 4):
        d.box(x, top + 4 * unit * n, side * unit, 4 * unit, PALE[0] if n == warp else "none", GREY,
              0.8)
        d.text(x - 8, top + 4 * unit * n + 14, f"warp {n}", 10.5, "end")
    d.box(x + unit * lane, top + 4 * unit * warp, unit, 4 * unit, ORANGE, INK, 0.8)
    d.text(x + side * unit + 16, top + 24,
           "down: the 32 rows that stay; across: the 32 rows that pass, one per lane\n\n"
           f"orange: warp {warp}, lane {lane} computes p and ds of its 4 pairs, and stores them\n"
           "in shared memory. After __syncwarp it reads all 32 of each of the 4 rows,\n"
           f"and adds to channels {lane}, {lane + 32}, {lane + 64}, ... of the four rows' sums, "
           "in registers.", 12.5, "start")
    d.text(x + side * unit + 16, top + 134,
           "No sum is shared between blocks or warps, so there are no atomics.", 12.5, "start",
           GREEN)
    d.save("flash_launched_twice.svg")


def partners():
    """Lesson 17, D = 128: each warp's scores, and its channels of the accumulators."""
    d = Drawing(900, 622)
    colours, unit = (BLUE, ORANGE, PALE[0], PALE[2]), 3
    d.text(20, 28, f"Lesson 17, D = {D}: key_gradients, a block of four warps, {TILE} keys and a "
                   f"tile of {TILE} queries", 15, "start", bold=True)
    left, top, half = 96, 84, TILE // 2
    d.text(left, top - 12, "P^T (and dS^T): the warp that computes it", 13, "start", bold=True)
    for warp in range(4):
        x, y = left + unit * half * (warp % 2), top + unit * half * (warp // 2)
        d.box(x, y, unit * half, unit * half, colours[warp])
        d.text(x + unit * half / 2, y + unit * half / 2 + 4, f"warp {warp}", 13, bold=warp == 0)
    for n, words in enumerate(("keys\n0 to 31", "keys\n32 to 63")):
        d.text(left - 10, top + unit * half * (n + 0.5) - 2, words, 12, "end")
    for n, words in enumerate(("queries 0 to 31", "32 to 63")):
        d.text(left + unit * half * (n + 0.5), top + unit * TILE + 18, words, 11.5)
    sums = 440
    d.text(sums, top - 12, "dv (and dk): the warp that has it in registers", 13, "start", bold=True)
    for group in range(D // 16):
        for pair in range(2):
            warp = 2 * pair + group % 2
            d.box(sums + 16 * unit * group, top + unit * half * pair, 16 * unit, unit * half,
                  colours[warp])
            d.text(sums + 16 * unit * (group + 0.5), top + unit * half * (pair + 0.5) + 4,
                   str(warp), 12, bold=warp == 0)
        d.text(sums + 16 * unit * group, top + unit * TILE + 18, str(16 * group), 11.5, "start")
    d.text(sums + 8 * 16 * unit, top + unit * TILE + 36, "first channel of a group of 16", 11.5,
           "end", NOTE)
    d.text(20, top + unit * TILE + 60,
           "Warps 0 and 1 are partners: the same 32 keys. Each has half of the queries, but needs "
           "all of them for its channels of dv and dk:", 13, "start")

    top = 376
    d.text(20, top - 8, "Warp 0's dv += P^T d_o, for one tile", 13, "start", bold=True)
    halves = ((BLUE, "own half of P^T:\nqueries 0 to 31", "straight from registers",
               "before the barrier"),
              (ORANGE, "partner's half:\nqueries 32 to 63", "through shared memory",
               "after the barrier"))
    for n, (colour, words, way, when) in enumerate(halves):
        y = top + 8 + 68 * n
        d.box(96, y, 150, 50, colour)
        d.text(171, y + 21, words, 12)
        d.line([(250, y + 25), (476, y + 25)], INK if n == 0 else RED, 1.8, arrow=True)
        d.text(362, y + 18, way, 12.5, colour=INK if n == 0 else RED)
        d.text(362, y + 42, when, 12, colour=NOTE)
        d.box(480, y, 150, 50, PALE[1])
        d.text(555, y + 21, f"x d_o of queries\n{'0 to 31' if n == 0 else '32 to 63'}", 12)
        d.line([(634, y + 25), (690, y + (50 if n == 0 else 10))], arrow=True)
    d.box(694, top + 34, 180, 60, BLUE)
    d.text(784, top + 58, "dv of keys 0 to 31,\ngroups 0, 2, 4 and 6", 12)

    top = 548
    d.text(20, top, "query_gradients: 8 warps, 128 queries. A warp has 16 queries and all 64 keys "
                    "of a tile, so its dS", 13, "start")
    d.text(20, top + 20, "is already the first factor of its 16 rows of dq = dS k: no exchange.",
           13, "start")
    d.text(20, top + 56, "Each block of both kernels stores its own sums once: no atomics, and the "
                         "same bits in every run.", 12.5, "start", GREEN)
    d.save("flash_partners.svg")


def gradients():
    d = Drawing(900, 690)
    d.text(20, 26, f"Lesson 18, D = {D}: a block has {TILE} keys, and walks over all tiles of {TILE} queries", 15, "start", bold=True)
    for y, high, wide, words in ((42, 166, 860, "global memory: all blocks"), (262, 168, 524,
                                     f"shared memory: one block, {shared_bytes() // KB} KB"), (486,
                                     152, 860, "registers of 128 threads: accumulators in fp32")):
        d.box(20, y, wide, high, GROUND, GREY, 0.8)
        d.text(30, y + 18, words, 12.5, "start", DARK_BLUE, True)

    # Global memory.
    queries = {NOW: ORANGE, NOW + 1: NEXT}
    for n, name in enumerate(("k", "v")):
        strip(d, 54, 82 + 34 * n, name, 4, 25, 24, {MINE: BLUE})
    d.text(54, 164, "a cell: 64 keys\nblue: this block's", 11.5, "start", NOTE)
    for n, name in enumerate(("q", "d_o")):
        strip(d, 212, 72 + 32 * n, name, 7, 27, 24, queries)
    for n, name in enumerate(("lse", "delta")):
        strip(d, 212, 136 + 20 * n, name, 7, 27, 12, queries)
    d.text(212, 188, "a cell: 64 queries", 11.5, "start", NOTE)
    strip(d, 574, 82, "dq sums", 7, 18, 24, {NOW: PART})
    d.text(574, 124,
           "fp32, zeros before.\nWhen all blocks have\nfinished, round_dq\nrounds them to dq", 11.5,
           "start", NOTE)
    for n, name in enumerate(("dk", "dv")):
        strip(d, 752, 82 + 34 * n, name, 4, 27, 24, {MINE: KEPT})
    d.text(752, 164, "16 bits", 11.5, "start", NOTE)

    # From there to shared memory.
    d.line([(96, 208), (96, 258)], DARK_BLUE, 1.6, arrow=True)
    d.text(104, 230, "once, before\nthe first tile", 11.5, "start")
    d.line([(280, 208), (280, 258)], DARK_BLUE, 1.6, arrow=True)
    d.text(288, 230, "tile i + 1 is in flight\nwhile tile i is used", 11.5, "start")

    # Shared memory.
    for n, name in enumerate(("k", "v")):
        tile(d, 40, 296 + 52 * n, 106, 46, name, "stays", BLUE)
    for n, name in enumerate(("q", "d_o")):
        tile(d, 170, 296 + 44 * n, 82, 40, name, "tile i", ORANGE)
        tile(d, 258, 296 + 44 * n, 82, 40, name, "tile i + 1", NEXT)
    for x, colour in ((170, ORANGE), (258, NEXT)):
        d.box(x, 386, 82, 24, colour, INK, 1.1)
        d.text(x + 41, 402, "lse, delta", 12, bold=True)
    for n, name in enumerate(("P", "dS")):
        tile(d, 420, 296 + 52 * n, 106, 46, name, "tile i, 16 bits", "white")

    # Registers.
    for x, first, second in ((40, "S^T = k q^T", "P^T = exp2(c S^T - lse)"), (272, "dP^T = v d_o^T", "dS^T = P^T (dP^T - delta)")):
        d.box(x, 516, 212, 62, "white", INK, 1.1)
        d.text(x + 106, 538, first, 13, bold=True)
        d.text(x + 106, 562, second, 12.5)
    d.text(40, 600,
           "64 keys x 64 queries each: new for every tile i.\nA warp computes 32 keys and half of "
           "the queries of each.", 12, "start", NOTE)
    d.box(560, 516, 140, 62, PART, INK, 1.1)
    d.text(630, 538, "dq = dS k", 13, bold=True)
    d.text(630, 562, "64 queries x 128", 11.5, colour=NOTE)
    d.text(560, 600, "new for every tile i:\none part of many", 12, "start", RED)
    for n, words in enumerate(("dv += P^T d_o", "dk += dS^T q")):
        d.box(728, 500 + 44 * n, 140, 40, KEPT, INK, 1.1)
        d.text(798, 517 + 44 * n, words, 13, bold=True)
        d.text(798, 533 + 44 * n, "64 keys x 128", 11.5, colour=NOTE)
    d.text(728, 606, "kept from the first\ntile to the last", 12, "start", GREEN)

    # Between shared memory and registers.
    for x in (96, 220):
        d.line([(x, 430), (x, 482)], DARK_BLUE, 1.6, arrow=True)
    d.text(104, 454, "operands of\nS and dP", 11.5, "start")
    d.line([(440, 516), (440, 400)], INK, 1.6, arrow=True)
    d.text(432, 454, "a warp stores\nits half", 11.5, "end")
    d.line([(466, 394), (466, 510)], INK, 1.6, arrow=True)
    d.text(474, 454, "loads its partner's,\nfor dv and dk", 11.5, "start")
    d.line([(526, 368), (624, 368), (624, 510)], INK, 1.6, arrow=True)
    d.text(618, 388, "all of dS", 11.5, "end")

    # To global memory.
    d.line([(665, 516), (665, 212)], RED, 2.2, arrow=True)
    d.text(657, 228, "for every tile:\nadded atomically", 12, "end", RED)
    d.line([(806, 500), (806, 212)], GREEN, 2.2, arrow=True)
    d.text(798, 318, "stored once,\nafter the last\ntile", 12, "end", GREEN)
    d.text(20, 664,
           "Other blocks have other keys. They walk over the same queries, and add to the same "
           "sums of dq. Only one block computes dk and dv of a key.", 12, "start")
    d.save("flash_gradients.svg")


for draw in (launched_twice, partners, gradients):
    draw()
