"""Draws chapter 00's figures of the order of threads and blocks."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED, Drawing


def stride():
    """A grid that fills the GPU covers an array in iterations."""
    d = Drawing(900, 470)
    elements, threads, each, multiprocessors = 1_000_000, 256, 8, 132
    blocks = each * multiprocessors
    step = blocks * threads
    rounds = -(-elements // step)
    d.text(20, 28,
           f"A grid for the GPU: {each} blocks for each of {multiprocessors} SMs, {blocks:,} "
           f"blocks, {step:,} threads", 15, "start", bold=True)
    left, width, shown = 20, 98, 2
    names = ("0", "1", "2", "3", "4", "5", "...", f"{multiprocessors - 1}")
    for i, name in enumerate(names):
        x = left + 108 * i
        if name == "...":
            d.text(x + width / 2, 90, name)
            continue
        d.box(x, 44, width, 84, LIGHT, GREY)
        d.text(x + width / 2, 62, f"SM {name}", 13)
        for k in range(each):
            d.box(x + 9 + 20.5 * (k % 4), 72 + 25 * (k // 4), 18, 20, ORANGE if (i, k) == (0, shown) else PALE[0])
    d.text(left, 150,
           "All blocks run at once, because each SM has room for eight of 256 threads. (The GPU "
           "chooses which block goes to which SM.)", 13, "start", NOTE)

    scale = 740 / elements
    left, top = 130, 196
    d.text(20, 180, f"{elements:,} elements in {rounds} iterations", 15, "start", bold=True)
    for r in range(rounds):
        y, count = top + 44 * r, min(step, elements - r * step)
        x = left + scale * r * step
        d.text(left - 10, y + 19, f"iteration {r}", 13, "end")
        d.box(left, y, scale * elements, 28, "white", "#cccccc", 0.8)
        d.box(x, y, scale * count, 28, PALE[0])
        d.box(x + 6, y, 5, 28, ORANGE)
        d.text(x + scale * count / 2 + 6, y + 19, f"{r * step:,} to {r * step + count - 1:,}", 11.5)
        if r + 1 < rounds:
            d.line([(x + 8.5, y + 30), (x + 8.5 + scale * step - 2, y + 43)], INK, 1.2, arrow=True)
    y = top + 44 * rounds + 18
    first = shown * threads + 6
    d.text(20, y,
           f"Thread 6 of block {shown} (orange) begins with element {shown} * {threads} + 6 = "
           f"{first}, and goes on by the stride, {step:,}:\n"
           f"{', '.join(f'{first + r * step:,}' for r in range(rounds))}. The next one, "
           f"{first + rounds * step:,}, is past the end, and the loop ends.\n"
           "The stride is the number of threads of the whole grid, so each element is computed "
           "exactly once.", 13, "start")
    d.text(20, y + 66, f"Lesson 01 has {-(-elements // threads):,} blocks for the same array: {-(-elements // threads) - blocks:,} of them wait until others have ended.", 13, "start", NOTE)
    d.save("warmup_stride.svg")


def race():
    """Two threads and one word: two orders without a barrier, and the order that two barriers
    enforce."""
    d = Drawing(900, 478)
    d.text(20, 28,
           "One step of the running sum, s = 1: thread 2 reads the word that thread 1 changes", 15,
           "start", bold=True)
    d.text(20, 50, "x = 1, 2, 3: sum_smem[1] is 2 at the beginning, and thread 2 should get 2 + 3 = 5. The right y[2] is 6.", 13, "start", NOTE)
    row, top = 42, 138
    panels = (("no barrier: thread 2 is first", GREEN, 5, ((2, "reads"), (2, "stores"), (1, "reads"), (1, "stores"))),
              ("no barrier: thread 1 is first", RED, 6, ((1, "reads"), (1, "stores"), (2, "reads"), (2, "stores"))),
              ("a barrier between reads and stores", GREEN, 5, ((1, "reads"), (2, "reads"), (0, ""), (1, "stores"), (2, "stores"))))
    for number, (title, colour, result, events) in enumerate(panels):
        left = 20 + 296 * number
        d.text(left, 82, title, 14, "start", bold=True)
        at = {1: left + 46, 2: left + 224}
        word = left + 135
        end = top + row * 5 + 6
        for thread, x in at.items():
            d.text(x, 112, f"thread {thread}", 13)
            d.line([(x, 120), (x, end)], GREY, 1)
        d.text(word, 112, "sum_smem[1]", 13)
        d.box(word - 17, top - 16, 34, end - top + 16, LIGHT, GREY)
        value, y, wrong = 2, top, False
        d.text(word, y + 2, "2", 13)
        for thread, what in events:
            y += row if thread else 0
            if thread == 0:
                d.line([(left, y + 20), (left + 270, y + 20)], RED, 2, "8 4")
                d.text(word + 44, y + 34, "barrier", 12, colour=RED)
                continue
            x = at[thread]
            d.circle(x, y, 5, PALE[0] if what == "reads" else ORANGE)
            if what == "reads" and thread == 1:
                d.text(x + 9, y - 5, "reads\n0 and 1", 11, "start", NOTE)
            elif what == "stores" and thread == 2:
                d.text(x + 4, y + 22, f"stores {result}\nat index 2", 12, colour=colour,
                       bold=result == 6)
            elif what == "reads":
                d.line([(word + 18, y), (x - 7, y)], DARK_BLUE, 1.4, arrow=True)
                wrong = value != 2
                d.text((word + x) / 2 + 8, y - 6, f"reads {value}", 12, colour=RED if wrong else DARK_BLUE)
            else:
                value = 3
                d.line([(x + 7, y), (word - 19, y)], INK, 1.4, arrow=True)
                d.text((word + x) / 2 - 4, y - 6, "stores 3", 12)
                d.text(word, y + 5, "3", 13, colour=RED)
        d.text(left, end + 28, f"step s = 2 adds 1: y[2] = {result + 1}, {'right' if result == 5 else '1 is added twice'}", 12.5, "start", colour)
    d.line([(10, top - 10), (10, top + row * 5)], arrow=True)
    d.text(4, top - 18, "time", 12, "start", NOTE)
    d.text(20, 438,
           "In the first two pictures only the order of the two threads differs, and nothing in "
           "the code decides it. This is a race.\n"
           "The barrier lets no thread store before all have read. A second barrier, after the "
           "stores, protects the next step's reads.", 13, "start")
    d.save("warmup_race.svg")


def contention():
    """The same additions to one bin over time, to one word for all blocks, and to a word per
    block."""
    d = Drawing(900, 424)
    blocks, values, slot, left = 3, 8, 28, 150
    d.text(20, 28,
           f"{blocks} blocks count {values} equal values each. Additions to one word are "
           "sequential, so the others wait", 15, "start", bold=True)
    d.text(20, 66, f"One array for all: {blocks * values} additions, sequential", 14, "start",
           bold=True)
    y = 80
    d.text(left - 10, y + 20, "counts[3], L2", 13, "end")
    for turn in range(blocks * values):
        block = (turn * 2 + turn // 3) % blocks
        d.box(left + slot * turn, y, slot, 30, PALE[block])
        d.text(left + slot * (turn + 0.5), y + 20, str(block), 12)
    d.line([(left, y + 44), (left + slot * blocks * values + 16, y + 44)], arrow=True)
    d.text(left + slot * blocks * values + 12, y + 62, "time", 13, "end")
    d.text(left, y + 62, "the number in a box: the block of the addition. Their order is not fixed",
           12, "start", NOTE)

    y = 196
    d.text(20, y - 14, f"Private bins: {values} additions, in parallel, then one for each block",
           14, "start", bold=True)
    for block in range(blocks):
        d.text(left - 10, y + 36 * block + 20, f"block {block}'s bin 3", 13, "end")
        for turn in range(values):
            d.box(left + slot * turn, y + 36 * block, slot, 30, PALE[block])
            d.text(left + slot * (turn + 0.5), y + 36 * block + 20, str(block), 12)
    x = left + slot * values + 10
    d.line([(x, y - 6), (x, y + 36 * blocks + 40)], RED, 2, "8 4")
    d.text(x + 8, y + 14, "__syncthreads() in each block:\nall of its values are counted", 12, "start", RED)
    d.text(left - 10, y + 36 * blocks + 20, "counts[3], L2", 13, "end")
    for turn in range(blocks):
        d.box(x + 10 + slot * turn, y + 36 * blocks, slot, 30, PALE[turn])
        d.text(x + 10 + slot * (turn + 0.5), y + 36 * blocks + 20, f"+{values}", 12)
    axis = y + 36 * (blocks + 1) + 8
    d.line([(left, axis), (left + slot * blocks * values + 16, axis)], arrow=True)
    d.text(left + slot * blocks * values + 12, axis + 18, "time", 13, "end")
    d.text(20, axis + 46,
           f"A block's additions still wait for each other, but not for other blocks: {values} + "
           f"{blocks} = {values + blocks} boxes instead of {blocks * values}.\n"
           "A box is one addition, not a time. An addition in shared memory is also faster than "
           "one in the L2 cache.", 13, "start")
    d.save("warmup_contention.svg")


def block_tree():
    """The tree of a block of 16 threads in shared memory, with the barriers between its levels."""
    d = Drawing(900, 480)
    threads, cell, gap, left, top = 16, 36, 84, 120, 70
    d.text(20, 28, f"A tree in shared memory, drawn for {threads} threads: in each level half as many threads add", 15, "start", bold=True)
    levels = threads.bit_length()
    for level in range(levels):
        y, working = top + gap * level, threads >> level
        for t in range(threads):
            adds = t < working
            last = level == levels - 1 and t == 0
            if level == levels - 1 and t > 0:
                continue
            d.box(left + cell * t, y, cell, 26, ORANGE if last else BLUE if adds else "white", INK if adds else "#cccccc")
            if level == 0:
                d.text(left + cell * (t + 0.5), y - 6, str(t), 11, colour=NOTE)
            if adds:
                d.text(left + cell * (t + 0.5), y + 18, str(1 << level), 13)
        if level + 1 < levels:
            half = working // 2
            d.line([(left - 8, y + 42), (left + cell * threads + 8, y + 42)], RED, 1.8, "8 4")
            d.text(left + cell * threads + 14, y + 46, "__syncthreads()", 12, "start", RED)
            d.lines([((left + cell * (t + half + 0.5), y + 27), (left + cell * (t + 0.5), y + gap - 1)) for t in range(half)], DARK_BLUE, 1)
            d.lines([((left + cell * (t + 0.5), y + 27), (left + cell * (t + 0.5), y + gap - 1)) for t in range(half)], GREY, 1)
            d.text(left - 14, y + gap + 17, f"half = {half}", 13, "end", DARK_BLUE)
        else:
            d.text(left + cell + 12, y + 18,
                   "thread 0 holds the block's sum, and adds it to y by one atomic", 13, "start")
    d.text(left - 14, top + 17, "sums_smem", 13, "end")
    d.text(20, 452,
           "The number in a box is how many elements its sum contains. Blue line: a thread reads "
           "the other half, which another thread has\n"
           "written. All threads therefore wait between two levels, also those that add nothing "
           "any more. 256 threads have 8 levels.", 12.5, "start")
    d.save("warmup_block_tree.svg")


for draw in (stride, race, contention, block_tree):
    draw()
