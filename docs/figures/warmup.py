"""Draws chapter 00's figures."""
import json
import sys
from math import log10

from drawing import (BLUE, DARK_BLUE, FOLDER, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED,
                     Drawing)

sys.path.append(str(FOLDER.parents[1] / "tools"))
from ladder_tools.recorded import runs  # noqa: E402

LANES = 32

# One H200. SMs, registers, shared memory and HBM are official; the others were measured for this
# repository.
MULTIPROCESSORS = 132
COPY, FMA = 4.26e12, 63e12  # bytes and fp32 operations per second
# One H100, lesson 12a: nanoseconds from a load to its value, while nothing else runs.
IDLE_LATENCY = {"register": 2.2, "shared memory": 14.3, "L1": 19.9, "L2": 142.2, "device memory": 348.8}


def machine():
    """A launch's blocks on the SMs, one block's threads, and one SM's schedulers."""
    d = Drawing(900, 640)
    elements, threads, shown = 1_000_000, 256, 2
    blocks = -(-elements // threads)
    warps, fits = threads // LANES, 2048 // threads
    d.text(20, 28,
           f"The grid: {elements:,} elements, {threads} threads per block, {blocks:,} blocks", 15,
           "start", bold=True)
    names = ["0", "1", "2", "3", "4", "5", "...", f"{blocks - 1:,}"]
    for i, name in enumerate(names):
        d.box(20 + 108 * i, 42, 98, 30, PALE[2] if i == shown else "white" if name != "..." else "none", INK if name != "..." else "none")
        d.text(69 + 108 * i, 62, f"block {name}" if name != "..." else name)
    d.text(450, 96, "in any order, each block to an SM that has room for it, where it stays", 13,
           colour=NOTE)
    for i, name in enumerate(("0", "1", "2", "3", "4", "5", "...", f"{MULTIPROCESSORS - 1}")):
        if name != "...":
            d.line([(69 + 108 * i, 102), (69 + 108 * i, 122)], GREY, arrow=True)
        d.box(20 + 108 * i, 124, 98, 30, PALE[0] if name != "..." else "none", INK if name != "..." else "none")
        d.text(69 + 108 * i, 144, f"SM {name}" if name != "..." else name)
    d.text(20, 178,
           f"An H200 has {MULTIPROCESSORS} SMs (multiprocessors) with room for 2,048 threads each: "
           f"at most {fits} such blocks at a time on each, "
           f"{fits * MULTIPROCESSORS:,} on all.", 13, "start")

    # One block, enlarged.
    left, top, cell = 92, 240, 10
    d.text(20, 220, f"Block {shown}: {threads} threads, {warps} warps of {LANES} lanes", 15, "start", bold=True)
    thread = 2 * LANES + 6
    for w in range(warps):
        y = top + 26 * w
        d.text(left - 10, y + 13, f"warp {w}", 13, "end")
        d.box(left, y, LANES * cell, 18, PALE[w % 4])
        d.lines([((left + lane * cell, y), (left + lane * cell, y + 18)) for lane in range(1, LANES)], GREY, 0.5)
    x, y = left + thread % LANES * cell, top + 26 * (thread // LANES)
    d.box(x, y, cell, 18, RED, INK)
    d.text(left, top + 26 * warps + 14, "lane 0", 12, colour=NOTE, anchor="start")
    d.text(left + LANES * cell, top + 26 * warps + 14, "lane 31", 12, colour=NOTE, anchor="end")
    d.text(20, 496, f"The red cell is thread {thread} of block {shown}:", 13, "start", RED)
    d.text(20, 518, f"warp = {thread} / 32 = {thread // LANES},  lane = {thread} % 32 = {thread % LANES}\n"
           "i = blockIdx.x * blockDim.x + threadIdx.x\n"
           f"  = {shown} * {threads} + {thread} = {shown * threads + thread}", 13, "start")
    last = elements - (blocks - 1) * threads
    d.text(20, 588, f"Block {blocks - 1:,} has {threads} threads too, but only {last}\nelements are left: the guard stops the others.", 13, "start")

    # One SM, enlarged.
    left, top, width = 450, 240, 104
    d.text(left, 220, "An SM: four schedulers", 15, "start", bold=True)
    d.box(left - 6, top - 6, 4 * width + 12, 372, "none", INK, 1.5)
    for s in range(4):
        x = left + width * s
        d.box(x + 4, top + 2, width - 8, 244, LIGHT, GREY)
        d.text(x + width / 2, top + 22, f"scheduler {s}", 13)
        for k, w in enumerate(range(s, warps, 4)):
            d.box(x + 12, top + 34 + 30 * k, width - 24, 24, PALE[w % 4])
            d.text(x + width / 2, top + 51 + 30 * k, f"warp {w}", 13)
        for k in range(2):
            d.box(x + 12, top + 98 + 30 * k, width - 24, 24, "white", GREY)
            d.text(x + width / 2, top + 115 + 30 * k, "other block", 11.5, colour=NOTE)
        d.text(x + width / 2, top + 170, "... up to 16", 12, colour=NOTE)
        d.text(x + width / 2, top + 194, "registers", 13)
        d.text(x + width / 2, top + 212, "64 KB", 13)
        d.text(x + width / 2, top + 234, "32 fp32 cores", 12)
    d.box(left + 4, top + 254, 4 * width - 8, 34, PALE[1], GREY)
    d.text(left + 2 * width, top + 276, "shared memory and L1 cache: 256 KB together", 13)
    d.text(left + 4, top + 310,
           "Each cycle a scheduler issues one instruction of one of its\nwarps, for all 32 lanes. "
           "While a warp waits for memory, the\n"
           "scheduler issues others. A warp stays on its scheduler.", 13, "start")
    d.save("warmup_machine.svg")


def view():
    """Three views of the same twelve floats: sizes, strides, first element."""
    d = Drawing(900, 480)
    cell, left = 46, 158
    d.text(20, 28, "Twelve floats in memory, three views of them: sizes and strides differ, nothing is copied", 15, "start", bold=True)
    d.text(left - 12, 75, "memory", anchor="end")
    for i in range(12):
        d.box(left + cell * i, 50, cell, 38, PALE[i // 4])
        d.text(left + cell * (i + 0.5), 74, str(i))
    for number, (title, rows, columns, row_stride, column_stride, first, formula) in enumerate((
            ("a: contiguous", 3, 4, 4, 1, 0, "a[i][j] at 4 i + j"),
            ("a transposed", 4, 3, 1, 4, 0, "t[i][j] at i + 4 j"),
            ("a's columns 1 and 2", 3, 2, 4, 1, 1, "c[i][j] at 1 + 4 i + j"))):
        x = (30, 340, 640)[number]
        d.text(x, 132, title, 14, "start", bold=True)
        d.text(x, 154, f"{rows} rows, {columns} columns\nstrides {row_stride} and {column_stride}, first element {first}\n{formula}", 13, "start")
        for i in range(rows):
            for j in range(columns):
                at = first + i * row_stride + j * column_stride
                d.box(x + cell * j, 206 + 38 * i, cell, 38, PALE[at // 4])
                d.text(x + cell * (j + 0.5), 230 + 38 * i, str(at))
    x = 640
    d.box(x + cell * 2, 206 + 38, cell, 38, "none", RED, 2)
    d.line([(x + cell * 2, 206 + 38), (x + cell * 3, 206 + 76)], RED, 1)
    d.line([(x + cell * 2, 206 + 76), (x + cell * 3, 206 + 38)], RED, 1)
    d.text(x, 352, "row 1, column 2", 13, "start", RED)
    d.text(20, 394,
           "Neighbours along a row are column_stride apart: 1 in a, 4 in a transposed. A warp that "
           "loads 32 neighbours of a row\n"
           "reads 4 sectors of a large a, but one sector per lane of its transpose.", 13, "start")
    d.text(20, 442,
           "A guard must test row and column, not the offset. Row 1, column 2 of the last view "
           "would be at 1 + 4 + 2 = 7. That index\n"
           "is inside the memory, but the view has only columns 0 and 1, so the element is not "
           "part of it.", 13, "start")
    d.save("warmup_view.svg")


def memory():
    """The memories of one H100: which threads reach each, its size, and how long a load takes."""
    d = Drawing(900, 560)
    d.text(20, 28,
           "Each memory is larger than the one above it, and a load from it takes longer (one "
           "H100)", 15, "start", bold=True)
    ns, middle, right, scale = IDLE_LATENCY, 215, 450, 0.86
    levels = (
        ("registers", PALE[2], 180, "one thread", "255 words of 4 bytes per thread, 256 KB per SM",
         (("register", "until a result can be used"),)),
        ("shared memory, L1", PALE[1], 240, "the threads of one block",
         "256 KB per SM, up to 228 KB of it shared", (("shared memory", "shared"), ("L1", "L1"))),
        ("L2", PALE[0], 310, "all threads of the grid", "50 MB, one for all SMs", (("L2", ""),)),
        ("device memory: HBM", PALE[3], 390, "all threads, and the host by copies", "80 GB",
         (("device memory", ""),)),
        ("host memory", LIGHT, 390, "the CPU", "as much as the computer has", ()),
    )
    between = ("load, store", "sectors of 32 bytes", "sectors of 32 bytes", "cudaMemcpy")
    for number, (name, colour, width, threads, size, loads) in enumerate(levels):
        y = 48 + 98 * number
        d.box(middle - width / 2, y, width, 68, colour)
        d.text(middle, y + 29, name, 15, bold=True)
        d.text(middle, y + 51, threads, 13)
        d.text(right, y + 16, size, 13, "start")
        if number + 1 < len(levels):
            d.line([(middle, y + 70), (middle, y + 96)], arrow=True)
            d.line([(middle - 10, y + 96), (middle - 10, y + 70)], arrow=True)
            d.text(middle + 12, y + 87, between[number], 12, "start", NOTE)
        for k, (level, words) in enumerate(loads):
            wide = scale * ns[level]
            d.box(right, y + 27 + 22 * k, wide, 15, BLUE, DARK_BLUE, 0.8)
            d.text(right + wide + 8, y + 39 + 22 * k, f"{ns[level]} ns{', ' * bool(words)}{words}",
                   13, "start", DARK_BLUE)
    d.text(right, y + 38, "no load: a kernel needs a copy in device memory", 13, "start", DARK_BLUE)
    d.text(20, 546,
           "Black: sizes, from NVIDIA's documents. Blue: the latency of one load, measured in "
           "lesson"
           " 12a while nothing else ran.", 12, "start", NOTE)
    d.save("warmup_memory.svg")


def sectors():
    """A warp's request in the five patterns of lesson 04, for the reader to count, and in a sixth
    as an example."""
    d = Drawing(900, 792)
    d.text(20, 28,
           "One request of a warp: 32 lanes above, sectors of 8 floats below. How many sectors "
           "does it touch?", 15, "start", bold=True)
    left, lane_width = 20, 20
    patterns = (("an example: lane i reads float 2 i, every second one", lambda lane: (2 * lane,), 10),
                ("broadcast: all lanes read the same float", lambda lane: (0,), 10),
                ("strided: lane i reads float 8 i", lambda lane: (8 * lane,), 2.5),
                ("misaligned: lane i reads float i + 1", lambda lane: (lane + 1,), 10),
                ("coalesced: lane i reads float i", lambda lane: (lane,), 10),
                ("vector: lane i reads floats 4 i to 4 i + 3, 16 bytes", lambda lane: range(4 * lane, 4 * lane + 4), 5))
    for number, (title, floats, word) in enumerate(patterns):
        y = 56 + 120 * number
        asked = {each for lane in range(LANES) for each in floats(lane)}
        touched = {each // 8 for each in asked}
        d.text(left, y + 6, title, 14, "start", bold=True)
        d.box(left, y + 16, LANES * lane_width, 16, LIGHT)
        d.lines([((left + lane * lane_width, y + 16), (left + lane * lane_width, y + 32)) for lane in range(1, LANES)], GREY, 0.6)
        middle = {lane: sum(floats(lane)) / len(floats(lane)) + 0.5 for lane in range(LANES)}
        d.lines([((left + (lane + 0.5) * lane_width, y + 32), (left + middle[lane] * word, y + 66)) for lane in range(LANES)], DARK_BLUE, 0.7)
        for s in range(round(LANES * lane_width / word / 8)):
            d.box(left + 8 * word * s, y + 66, 8 * word, 20, ORANGE if number == 0 and s in touched else "white")
        gap = 1.5 if word == 10 else 0.3
        for each in sorted(asked):
            d.box(left + word * each + gap, y + 70, word - 2 * gap, 12, DARK_BLUE, "none")
        x = left + LANES * lane_width + 24
        if number == 0:
            d.text(x, y + 30, f"{len(touched)} sectors", 17, "start", RED, bold=True)
            d.text(x, y + 54, f"{32 * len(touched)} bytes moved,\n{4 * len(asked)} of them used", 13, "start")
        else:
            d.text(x, y + 30, "? sectors", 17, "start", RED, bold=True)
        if word != 10:
            d.text(x, y + 54, "drawn smaller", 13, "start", NOTE)
    d.text(20, 782,
           "Blue: floats that a lane loads. A sector is fetched whole (orange in the example), and "
           "once for all lanes of the request that touch it.", 12, "start", NOTE)
    d.save("warmup_sectors.svg")


def divergence():
    """A warp whose lanes diverge, and two warps that each take one branch."""
    d = Drawing(900, 500)
    d.text(20, 28,
           "One row is a lane, one column is an instruction of the warp. White: the lane is idle",
           15, "start", bold=True)
    row, slot, top = 9, 27, 112

    def warp(x, y, parts, rows=LANES):
        at = x
        for slots, lanes, colour, name in parts:
            for lane in (each for each in lanes if each < rows):
                d.box(at, y + row * lane, slots * slot, row, colour, "none")
            d.text(at + slots * slot / 2, y - 8, name, 13, colour=INK)
            at += slots * slot
        d.lines([((x, y + row * k), (at, y + row * k)) for k in range(1, rows)], "#dddddd", 0.5)
        d.lines([((x + slot * k, y), (x + slot * k, y + row * rows)) for k in range(1, round((at - x) / slot))], GREY, 0.6)
        d.box(x, y, at - x, row * rows, "none")
        return at

    ahead, a, b, behind = 2, 4, 5, 2
    all_lanes, even, odd = range(LANES), range(0, LANES, 2), range(1, LANES, 2)
    x = 88
    d.text(20, 62, "if (i % 2 == 0) A; else B;", 14, "start", bold=True)
    end = warp(x, top, ((ahead, all_lanes, PALE[0], "before"), (a, even, ORANGE, "A"), (b, odd, "#a9d18e", "B"), (behind, all_lanes, PALE[0], "after")))
    d.text(x - 8, top + 9, "lane 0", 12, "end")
    d.text(x - 8, top + row * LANES, "lane 31", 12, "end")
    d.line([(x + slot * (ahead + a + b), top - 24), (x + slot * (ahead + a + b), top + row * LANES + 6)], RED, 1.6, "5 3")
    d.text(x + slot * (ahead + a + b), top - 30, "reconvergence", 12, colour=RED)
    d.line([(x, top + row * LANES + 16), (end, top + row * LANES + 16)], arrow=True)
    d.text((x + end) / 2, top + row * LANES + 34, f"time: {ahead} + {a} + {b} + {behind} = {ahead + a + b + behind} instructions", 13)

    x, gap = 560, 40
    rows = 14
    d.text(500, 62, "if (warp % 2 == 0) A; else B;", 14, "start", bold=True)
    one = warp(x, top, ((ahead, all_lanes, PALE[0], "before"), (a, all_lanes, ORANGE, "A"), (behind, all_lanes, PALE[0], "after")), rows)
    d.text(x - 8, top + row * rows / 2 + 4, "warp 0", 13, "end")
    two = warp(x, top + row * rows + gap, ((ahead, all_lanes, PALE[0], "before"), (b, all_lanes, "#a9d18e", "B"), (behind, all_lanes, PALE[0], "after")), rows)
    d.text(x - 8, top + row * rows + gap + row * rows / 2 + 4, "warp 1", 13, "end")
    d.line([(x, top + row * LANES + 16), (two, top + row * LANES + 16)], arrow=True)
    d.text((x + two) / 2, top + row * LANES + 34, f"warp 0: {ahead + a + behind} instructions, warp 1: {ahead + b + behind}", 13)
    d.text(20, 468,
           "Left: lane i computes element i. The warp executes A for its even lanes, then B for "
           "its odd lanes. Half of the lanes are idle.\n"
           "Right: a warp computes elements of one kind only. Its lanes do not diverge, so no lane "
           "is idle. (Fewer than 32 rows are drawn.)", 13, "start")
    d.save("warmup_divergence.svg")


def halo():
    """A block's tile of a one-dimensional stencil: loaded with its halo, read 2 R + 1 times."""
    d = Drawing(900, 430)
    radius, threads, cell, left, total, first = 2, 12, 36, 54, 22, 5
    d.text(20, 28,
           f"R = {radius}, blocks of {threads} threads: a block loads {threads} + 2 * {radius}"
           f" elements of x, and computes {threads} elements of y", 15, "start", bold=True)
    mine, tile = range(first, first + threads), range(first - radius, first + threads + radius)

    def middle(i):
        return left + cell * (i + 0.5)

    d.text(left, 92, "x, global memory", 13, "start")
    d.text(middle(tile[0]) - 10, 62, f"x[begin - {radius}]", 12)
    d.text(middle(first) + 14, 62, "x[begin]", 12)
    for i in (tile[0], first):
        d.line([(middle(i), 66), (middle(i), 98)], GREY, arrow=True)
    for i in range(total):
        d.box(left + cell * i, 100, cell, 30,
              BLUE if i in mine else ORANGE if i in tile else "white", INK if i in tile else GREY)
    for i in tile:
        d.line([(middle(i), 132), (middle(i), 160)], GREY, 0.9, arrow=True)
    d.text(20, 174, "tile_smem,\nshared memory", 13, "start")
    for i in tile:
        d.box(left + cell * i, 162, cell, 30, BLUE if i in mine else ORANGE)
        d.text(middle(i), 182, str(i - tile[0]), 12)
    for i, words in ((first - 1.5, "left halo"), (first + 2.5, "own elements"),
                     (first + threads + 0.5, "right halo")):
        d.text(middle(i), 210, words, 13, colour=RED if "halo" in words else INK)
    d.line([(20, 240), (850, 240)], RED, 2, "8 4")
    d.text(20, 232, "__syncthreads()", 13, "start", RED, bold=True)
    y, thread = 290, 8
    d.text(left, y + 20, "y, one element\nper thread", 13, "start")
    for i in mine:
        chosen = i - first == thread
        d.box(left + cell * i, y, cell, 30, GREEN if chosen else PALE[1], INK)
        d.text(middle(i), y + 20, str(i - first), 12, colour="white" if chosen else INK)
    for k in range(-radius, radius + 1):
        d.line([(middle(first + thread + k), 194), (middle(first + thread) + 3 * k, y - 2)], GREEN,
               1.3)
    d.text(left + cell * (first + threads) + 10, y + 12,
           f"thread {thread} reads\nindices {thread} to"
           f" {thread + 2 * radius}", 13, "start", GREEN)
    d.text(20, 360,
           f"Orange: the halo, {radius} elements on each side. The neighbouring blocks load them,"
           " too, as their own. Where x ends, a 0 is stored instead.\n"
           f"The barrier: thread {thread} reads elements that other threads have stored. No thread "
           "may"
           " read before all threads have stored.", 12.5, "start")
    d.text(20, 412,
           f"Without the tile, each blue element would be loaded {2 * radius + 1} times from"
           " global memory, by as many threads.", 12.5, "start", NOTE)
    d.save("warmup_halo.svg")


def banks():
    """A column of a 32 x 32 tile in the banks of shared memory, without and with padding."""
    d = Drawing(900, 590)
    d.text(20, 28, "Shared memory: 32 banks, words of 4 bytes. Lane r reads element (r, 0) of a 32 x 32 tile: a column", 15, "start", bold=True)
    cell, top = 12, 110
    for number, (title, row_length) in enumerate((("float tile[32][32]", 32), ("float tile[32][33]", 33))):
        left = (48, 490)[number]
        d.text(left, 66, title, 15, "start", bold=True)
        for bank in (0, 8, 16, 24, 31):
            d.text(left + cell * (bank + 0.5), top - 8, str(bank), 12, colour=NOTE)
        d.text(left + cell * 32, 84, "bank", 12, "end", NOTE)
        rows = 33 if row_length == 33 else 32
        d.box(left, top, cell * 32, cell * rows, "white")
        if row_length == 33:
            for r in range(32):  # the unused word after each row
                at = r * 33 + 32
                d.box(left + cell * (at % 32), top + cell * (at // 32), cell, cell, "#cccccc", "none")
        for r in range(32):
            at = r * row_length
            d.box(left + cell * (at % 32), top + cell * (at // 32), cell, cell, RED if row_length == 32 else GREEN, "none")
        d.lines([((left + cell * k, top), (left + cell * k, top + cell * rows)) for k in range(1, 32)], "#dddddd", 0.6)
        d.lines([((left, top + cell * k), (left + cell * 32, top + cell * k)) for k in range(1, rows)], "#dddddd", 0.6)
        y = top + cell * 33 + 22
        used = {r * row_length % 32 for r in range(32)}
        passes = 32 // len(used)
        if row_length == 32:
            d.text(left, y,
                   f"All 32 words are in bank 0: {passes} wavefronts,\none word in each. A bank "
                   "conflict.", 13, "start", RED)
        else:
            d.text(left, y, f"Element (r, 0) is word 33 r, in bank r: {passes} wavefront\nfor all 32 words. Grey: the unused word of each row.", 13, "start", GREEN)
    d.text(20, 578,
           "Word w is in bank w % 32. Each small square is a word. The words of a row are "
           "neighbours in memory.", 12.5, "start", NOTE)
    d.save("warmup_banks.svg")


def tree():
    """The sum of a warp by five shuffles, distances 16, 8, 4, 2, 1."""
    d = Drawing(900, 520)
    left, cell, gap, top = 26, 22, 72, 64
    d.text(20, 28, "The sum of 32 lanes in five shuffles: sum += __shfl_xor_sync(all, sum, distance)", 15, "start", bold=True)
    distances = (16, 8, 4, 2, 1)
    for level in range(6):
        y = top + gap * level
        needed = LANES >> level
        for lane in range(LANES):
            d.box(left + cell * lane, y, cell, 24, (ORANGE if level == 5 else BLUE) if lane < needed else "#fdeedd" if level == 5 else "#eef4fa", INK if lane < needed else GREY)
            if level == 0:
                d.text(left + cell * (lane + 0.5), y - 6, str(lane), 11, colour=NOTE)
            d.text(left + cell * (lane + 0.5), y + 17, str(1 << level), 12, colour=INK if lane < needed else NOTE)
        if level < 5:
            distance = distances[level]
            d.lines([((left + cell * (lane + distance + 0.5), y + 25), (left + cell * (lane + 0.5), y + gap - 1)) for lane in range(distance)], DARK_BLUE, 0.9)
            d.lines([((left + cell * (lane + 0.5), y + 25), (left + cell * (lane + 0.5), y + gap - 1)) for lane in range(distance)], GREY, 0.9)
            d.text(left + cell * 32 + 14, y + 52, f"distance {distance}", 14, "start", DARK_BLUE)
    d.text(20, 476,
           "The number in a lane is how many elements its sum contains. Lane i adds the sum of "
           "lane i ^ distance. Only the lines that lead to lane 0\n"
           "are drawn. The pale lanes do the same, so that after five shuffles all 32 lanes hold "
           "the sum of all 32. The sums stay in registers.", 12.5, "start")
    d.save("warmup_tree.svg")


def in_flight():
    """The same eight loads with one and with four in flight, over time, and how many are."""
    d = Drawing(900, 560)
    latency, issue, left, height, pitch = 86, 7, 96, 13, 16
    d.text(20, 28,
           "Eight loads of a thread over time: each bar is one load, from its request to its value",
           15, "start", bold=True)

    def loads(y, groups, colour):
        """Bars of loads, and below them the number in flight. Returns when the last one arrives."""
        now, number, spans = 0, 0, []
        for group in groups:
            for start in (now + issue * k for k in range(group)):
                d.box(left + start, y + number * pitch, latency, height, colour, GREY, 0.7)
                d.box(left + start, y + number * pitch, 4, height, DARK_BLUE, "none")
                d.text(left - 10, y + number * pitch + 11, f"load {number}", 11.5, "end")
                spans.append((start, start + latency))
                number += 1
            now = spans[-1][1] + 5
        base = y + 8 * pitch + 42
        d.text(left - 10, base - 12, "loads in\nflight", 11.5, "end")
        times = sorted({time for span in spans for time in span})
        for begin, end in zip(times, times[1:]):
            count = sum(a <= begin < b for a, b in spans)
            if count:
                d.box(left + begin, base - 8 * count, end - begin, 8 * count, BLUE, "none")
        d.line([(left, base), (left + 780, base)], arrow=True)
        d.text(left + 780, base + 16, "time", 12, "end")
        d.lines([((left + latency * k, base), (left + latency * k, base + 6)) for k in range(9)])
        d.text(left + latency / 2, base + 18, "one latency", 12)
        return spans[-1][1]

    d.text(20, 58, "One in flight: each value is used before the next load is requested", 14,
           "start", bold=True)
    end = loads(70, [1] * 8, PALE[2])
    d.text(left + end - 4, 88, "8 latencies, and never more than one load in flight", 13, "end",
           RED)
    d.text(20, 286, "Four in flight: four loads are requested, and then the first value is used",
           14, "start", bold=True)
    end = loads(298, [4, 4], PALE[1])
    d.text(left + end + 14, 298 + 7 * pitch + 11, "a little more than 2 latencies", 13, "start",
           GREEN)
    moved = COPY / 2  # the other half of a copy's bytes is stores, for which no thread waits
    idle = IDLE_LATENCY["device memory"] * 1e-9
    need = moved * idle
    d.text(20, 510, "Little's law: bytes in flight = bandwidth * latency. A copy loads"
           f" {moved / 1e12:.2f} TB/s (H200). An idle device memory has a latency of "
           f"{idle * 1e9:.0f} ns"
           f" (H100),\nso at least {need / 1e3:.0f} KB must be in flight, "
           f"{need / MULTIPROCESSORS / 1e3:.1f}"
           f" KB for each of {MULTIPROCESSORS} SMs. Under load the latency is longer, and more "
           "bytes are"
           " needed.", 12.5, "start")
    d.save("warmup_in_flight.svg")


# Operations and bytes of an element, from the definitions: name, operations, bytes, operator (in
# records/), the label's position.
KERNELS = (
    ("vector add, matrix add: 1 / 12", 1, 12, ("vector_add", "matrix_add"), "right"),
    ("scale: 1 / 8", 1, 8, ("scale",), "left"),
    ("sum, histogram: 1 / 4", 1, 4, ("sum", "histogram"), "right"),
    ("RMSNorm: 1 / 2", 4, 8, ("rms_norm",), "far_right"),
    ("softmax: 5 / 8", 5, 8, ("softmax",), "left"),
    ("mean of 9: 9 / 8", 9, 8, ("moving_mean",), "right"),
    ("matmul 8192^3, each matrix once: 1,365", 2 * 8192, 12, (), "left_below"),
)
PRODUCTS = (  # bytes that the threads load from global memory for each FMA
    ("matmul, naive: 1 / 4", 2, 8, ("matmul_naive",), "left"),
    ("matmul, tiles of 32 x 32: 8", 64, 8, ("matmul_tiles",), "left"),
    ("matmul, tiles of 128 x 128: 32", 256, 8, ("matmul_double_buffer",), "below"),
)


def measured():
    """{operator or implementation: bytes (or operations) per second of its fastest row}, from this
    chapter's records."""
    rates = {}
    for _, run in runs(FOLDER.parent.parent / "records"):
        for row in run["rows"] if run["name"].startswith("h200_00_") else []:
            if row.get("seconds") and "NVIDIA" in row.get("device", ""):
                operations = 2 * run["fma_count"] / row["seconds"]
                for name, rate in ((run["operator"], run["bytes"] / row["seconds"]), (row["implementation"], operations)):
                    rates[name] = max(rate, rates.get(name, 0))
    for case in json.loads((FOLDER.parent.parent / "records" / "h200_compare_warmup.json").read_text())["cases"]:
        for row in case["rows"]:
            if row["ours"] and row["burst"]:
                rates[row["name"]] = case["operations"] / row["burst"]["seconds"]
                rates[case["operator"]] = max(case["bytes"] / row["burst"]["seconds"], rates.get(case["operator"], 0))
    return rates


def roofline():
    """Operations per second against operations per byte: the roof, and the chapter's kernels below
    it."""
    d = Drawing(900, 600)
    left, right, top, bottom = 80, 870, 64, 500
    x_low, x_high, y_low, y_high = -1.5, 3.5, 10.9, 14.1
    rates = measured()

    def at(intensity, rate):
        return left + (log10(intensity) - x_low) / (x_high - x_low) * (right - left), bottom - (log10(rate) - y_low) / (y_high - y_low) * (bottom - top)

    d.text(20, 28, "The roofline of one H200 in fp32: how fast can a kernel be at most, by count?", 15, "start", bold=True)
    for exponent in (-1, 0, 1, 2, 3):
        x, _ = at(10.0**exponent, 1e12)
        d.line([(x, top), (x, bottom)], "#dddddd", 0.8)
        d.text(x, bottom + 18, f"{10.0**exponent:g}", 13)
    for exponent, name in ((11, "0.1"), (12, "1"), (13, "10"), (14, "100")):
        _, y = at(1, 10.0**exponent)
        d.line([(left, y), (right, y)], "#dddddd", 0.8)
        d.text(left - 8, y + 5, name, 13, "end")
    d.line([(left, bottom), (right, bottom)])
    d.line([(left, bottom), (left, top)])
    d.text((left + right) / 2, bottom + 40, "arithmetic intensity: operations per byte", 14)
    d.text(left - 50, top - 12, "TFLOP/s", 13, "start")
    ridge = FMA / COPY
    low = 10**x_low
    d.line([at(low, low * COPY), at(ridge, FMA), at(10**x_high, FMA)], INK, 2.5)
    x, y = at(ridge, FMA)
    d.line([(x, y), (x, bottom)], GREY, 1, "5 4")
    d.text(x - 8, bottom - 10, f"ridge: {ridge:.1f} operations per byte", 12.5, "end", NOTE)
    d.text(right - 4, y - 12, f"FMAs in registers: {FMA / 1e12:.0f} TFLOP/s (measured)", 13, "end")
    d.text(*_shift(at(1.6, 1.6 * COPY), -16, -6), f"a copy: {COPY / 1e12:.2f} TB/s (measured)", 13, "end")
    for kernels, colour, word in ((KERNELS, DARK_BLUE, "memory"), (PRODUCTS, RED, "products")):
        for name, operations, size, operators, place in kernels:
            intensity = operations / size
            bound = min(FMA, intensity * COPY)
            x, y = at(intensity, bound)
            d.circle(x, y, 8 if word == "memory" else 5, "none" if word == "memory" else "white", colour, 2.2)
            dx, dy, anchor = {"right": (12, 16, "start"), "left": (-12, -6, "end"), "left_below": (56, 72, "end"), "below": (-20, 48, "start"), "far_right": (12, 34, "start")}[place]
            d.text(x + dx, y + dy, name, 12.5, anchor, colour)
            for operator in operators:
                if operator in rates:
                    rate = rates[operator] * (intensity if word == "memory" else 1)
                    d.circle(*at(intensity, rate), 4, colour, colour, 1)
    d.box(left + 350, 330, 424, 96, "white", GREY)
    d.circle(left + 368, 350, 6, "white", DARK_BLUE, 2.2)
    d.text(left + 384, 355, "bytes that must move: every array once", 13, "start")
    d.circle(left + 368, 376, 6, "white", RED, 2.2)
    d.text(left + 384, 381, "bytes that the threads load from global memory", 13, "start")
    d.text(left + 360, 408, "Rings are bounds by count. " + ("Dots: measured." if rates else "They are not measurements."), 13, "start")
    d.text(20, 564,
           "Left of the ridge the bytes take longer than the operations, right of it the "
           "operations do. A copy and a transpose have no operations: their\n"
           "bound is the copy itself. exp counts as one operation. Additions of integers are "
           "counted, too (histogram), though other units execute them.\n"
           "A dot above its red ring: repeated loads hit a cache.", 12, "start", NOTE)
    d.save("warmup_roofline.svg")


def _shift(point, dx, dy):
    return point[0] + dx, point[1] + dy


def tiles():
    """A block's tile of C, and the tiles of A and B that move along K."""
    d = Drawing(900, 600)
    side, count, row, column = 44, 5, 2, 3
    d.text(20, 28,
           "C = A B in tiles: one block computes one tile of C. Its tiles of A and B move along K, "
           "step by step", 15, "start", bold=True)
    a_left, c_left, b_top = 60, 330, 80
    c_top = b_top + count * side + 40

    def matrix(x, y, rows, columns, name, colours):
        for i in range(rows):
            for j in range(columns):
                d.box(x + side * j, y + side * i, side, side, colours.get((i, j), "white"), GREY if (i, j) not in colours else INK)
        d.text(x, y - 8, name, 14, "start", bold=True)

    now = 1
    shades = [BLUE if k == now else "#e3eef8" for k in range(count)]
    matrix(a_left, c_top, 4, count, "A (M, K)", {(row, k): shades[k] for k in range(count)})
    matrix(c_left, b_top, count, 5, "B (K, N)", {(k, column): (ORANGE if k == now else "#fdeedd") for k in range(count)})
    matrix(c_left, c_top, 4, 5, "C (M, N)", {(row, column): PALE[1]})
    for k in range(count):
        d.text(a_left + side * (k + 0.5), c_top + side * (row + 0.5) + 5, str(k), 13)
        d.text(c_left + side * (column + 0.5), b_top + side * (k + 0.5) + 5, str(k), 13)
    y = c_top + side * 4 + 16
    d.line([(a_left, y), (a_left + side * count, y)], arrow=True)
    d.text(a_left + side * count / 2, y + 18, "steps along K", 13)
    x = c_left + side * 5 + 14
    d.line([(x, b_top), (x, b_top + side * count)], arrow=True)
    x = 590
    d.text(x, 96, "32 x 32 threads, in step 1:", 14, "start", bold=True)
    d.text(x, 122,
           "1. Each thread loads one element of\n    tile 1 of A and one of tile 1 of B,\n    and "
           "stores both in shared memory.\n"
           "2. Barrier: both tiles are complete.\n3. Each thread multiplies a row of A's\n    tile "
           "with a column of B's tile and adds\n    to its accumulator, a register.\n"
           "4. Barrier: no thread reads the tiles\n    any more, so step 2 may overwrite them.", 13,
           "start")
    d.box(x, 310, 62, 62, BLUE)
    d.box(x + 84, 310, 62, 62, ORANGE)
    d.box(x + 200, 310, 62, 62, PALE[1])
    d.lines([((x, 310 + 15), (x + 62, 310 + 15)), ((x, 310 + 25), (x + 62, 310 + 25))], INK, 0.8)
    d.lines([((x + 84 + 40, 310), (x + 84 + 40, 372)), ((x + 84 + 50, 310), (x + 84 + 50, 372))], INK, 0.8)
    d.box(x, 325, 62, 10, DARK_BLUE, INK, 0.8)
    d.box(x + 124, 310, 10, 62, "#b45f06", INK, 0.8)
    d.box(x + 240, 325, 10, 10, GREEN, INK, 0.8)
    d.line([(x + 152, 341), (x + 192, 341)], arrow=True)
    d.text(x + 73, 345, "x", 14)
    d.text(x + 73, 390, "shared memory", 13)
    d.text(x + 231, 390, "registers", 13)
    d.text(x, 424,
           "Tiles of 32 x 32: each element that is loaded\nis used 32 times, once by each thread of"
           " its\nrow or column. Without tiles every thread\nloads all of them from global memory."
           "\nIn partial tiles a 0 is stored past the end of\nA or B. It adds nothing to the sum.",
           13, "start")
    d.text(20, 590,
           "M, N and K are four, five and five tiles here. Every block has its own row of tiles of "
           "A and column of tiles of B.", 12, "start", NOTE)
    d.save("warmup_tiles.svg")


for draw in (machine, view, memory, sectors, divergence, halo, banks, tree, in_flight, roofline,
             tiles):
    draw()
