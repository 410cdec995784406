"""Draws the picture of chapter 08's lesson 18 beside this script. usage: python3 docs/figures/flash_gradients.py"""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, NOTE, ORANGE, RED, Drawing

GROUND, NEXT, KEPT, PART = "#f7f7f7", "#fde9d0", "#d9ead3", "#f4cccc"
TILE, D = 64, 128  # keys, and queries, of a tile; channels
MINE, NOW = 1, 2   # the block's tile of keys, and the tile of queries that it is at
KB = 1024


def shared_bytes():
    """Of gradient_tiles.hpp's Memory: k and v; q and d_o twice; P and dS; lse and delta twice."""
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


gradients()
