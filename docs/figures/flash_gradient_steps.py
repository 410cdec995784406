"""Draws the pictures of chapter 08's lessons 18b to 18d beside this script.
usage: python3 docs/figures/flash_gradient_steps.py"""
from drawing import BLUE, DARK_BLUE, GREEN, INK, LIGHT, ORANGE, RED, Drawing
from flash_turns import LEFT, NOTE, bar, legend, row

SHARED, REGISTERS, COPY, MADE = "#e3eef8", "#fce5cd", "#d9ead3", "#fff2cc"


def factor(d, x, y, wide, high, name, order, colour):
    """An operand. The arrow is along the index that is contiguous in shared memory."""
    d.box(x, y, wide, high, colour, INK, 1)
    d.text(x + wide / 2, y + high / 2 + 4, name, 12.5, bold=True)
    if order == "row":
        d.line([(x + 4, y + high + 7), (x + wide - 4, y + high + 7)], DARK_BLUE, 1.4, arrow=True)
    if order == "column":
        d.line([(x - 7, y + 4), (x - 7, y + high - 4)], DARK_BLUE, 1.4, arrow=True)


def products():
    """One warpgroup's step: the operands of the five products, and the use of their results."""
    d = Drawing(900, 640)
    d.text(20, 26, "One warpgroup, one step: 64 keys, 64 queries, 128 channels. Five products", 15, "start", bold=True)
    for x, words in ((150, "first operand A"), (420, "second operand B"), (650,
                         "result: fp32, in registers")):
        d.text(x, 52, words, 12.5, "start", DARK_BLUE, True)
    # (name, A: words, width, height, order, colour; B the same; result, note)
    rows = (("S^T = k q^T", ("k", 96, 48, "row", SHARED), ("q^T", 48, 64, "column", SHARED), ("S^T", 48, 48), "-> P^T = exp2(S^T c - lse)"),
            ("dP^T = v d_o^T", ("v", 96, 48, "row", SHARED), ("d_o^T", 48, 64, "column", SHARED), ("dP^T", 48, 48), "-> dS^T = P^T (dP^T - delta)"),
            ("dv += P^T d_o", ("P^T", 48, 48, "", REGISTERS), ("d_o", 96, 48, "row", SHARED), ("dv", 96, 48), "stays for all steps"),
            ("dk += dS^T q", ("dS^T", 48, 48, "", REGISTERS), ("q", 96, 48, "row", SHARED), ("dk", 96, 48), "stays for all steps"),
            ("dq = dS k", ("dS", 72, 48, "column", MADE), ("half k", 60, 72, "row", SHARED), ("dq", 60, 48), "-> added to memory"))
    for n, (name, a, b, result, note) in enumerate(rows):
        y = 74 + 106 * n
        d.text(20, y + 30, name, 13, "start", bold=True)
        for x, (words, wide, high, order, colour) in ((150, a), (420, b)):
            factor(d, x, y, wide, high, words, order, colour)
        words, wide, high = result
        d.box(650, y, wide, high, REGISTERS, INK, 1)
        d.text(650 + wide / 2, y + high / 2 + 4, words, 12.5, bold=True)
        d.text(758, y + 22, note.replace(" = ", "\n= ") if n < 2 else note, 11.5, "start", NOTE)
        d.text(360, y + 30, "x", 14)
        d.text(590, y + 30, "=", 14)
    d.text(258, 190 - 106, "64 keys x\n128 channels", 11.5, "start", NOTE)
    d.text(510, 190 - 106, "128 channels x\n64 queries", 11.5, "start", NOTE)
    d.text(206, 86 + 212, "64 keys x 64 queries,\nwhere S^T is", 11.5, "start", NOTE)
    d.text(206, 86 + 318, "64 keys x 64 queries,\nwhere dP^T is", 11.5, "start", NOTE)
    d.text(230, 86 + 424, "64 queries x\n128 keys, of both\nwarpgroups", 11.5, "start", NOTE)
    d.text(488, 92 + 424, "128 keys x\n64 channels", 11.5, "start", NOTE)
    legend(d, 594, ((SHARED, "shared memory, loaded by TMA"), (MADE,
                        "shared memory, stored by the warps"), (REGISTERS, "registers")))
    d.text(20, 630,
           "Arrow: elements that are side by side in shared memory. Along the index that is summed "
           "over: Major::kK. Along the other: Major::kMN.", 11.5, "start", NOTE)
    d.save("flash_gradient_products.svg")


def producer():
    """Steps of 18b and of 18c over time, with the warps' waits."""
    d = Drawing(900, 500)
    step = 232
    d.text(20, 28, "18b: all warps wait for each tile of queries", 14.5, "start", bold=True)
    row(d, 44, "TMA")
    row(d, 78, "warpgroup 0")
    row(d, 110, "warpgroup 1")
    for i in range(3):
        x = LEFT + step * i
        bar(d, x + 4, 44, 60, f"q{i} d_o{i}", COPY)
        for y in (78, 110):
            bar(d, x + 4, y, 60, "waits", "white")
            bar(d, x + 64, y, 108, "S P dP dS dv dk", BLUE)
            bar(d, x + 176, y, 46, "dq", BLUE)
        for at in (174, 226):
            d.line([(x + at, 74), (x + at, 140)], RED, 3)
    d.text(LEFT + 4, 158, "red: __syncthreads, for dS, and before the next tile is loaded", 12,
           "start", RED)

    top = 198
    d.text(20, top, "18c: a producer loads ahead, into a ring of two stages", 14.5, "start",
           bold=True)
    row(d, top + 16, "stage 0")
    row(d, top + 48, "stage 1")
    row(d, top + 88, "consumer 0")
    row(d, top + 120, "consumer 1")
    work, ring = 172, 68
    for i in range(4):
        x = LEFT + ring + work * i
        y = top + 16 + 32 * (i % 2)
        begins = LEFT + 4 if i == 0 else LEFT + 70 if i == 1 else LEFT + ring + work * (i - 2) + 112
        bar(d, begins, y, 60, f"q{i} d_o{i}", COPY)
        ends = min(x + 110, 888)
        bar(d, begins + 60, y, ends - begins - 60, "full", "white")
        if i < 4 and x + 168 <= 892:
            for y in (top + 88, top + 120):
                bar(d, x, y, 108, f"S P dP dS dv dk ({i})", BLUE, size=10)
                bar(d, x + 114, y, 52, f"dq ({i})", BLUE, size=11)
            for at in (111, 169):
                d.line([(x + at, top + 84), (x + at, top + 150)], ORANGE, 3)
    d.text(LEFT + 4, top + 168,
           "orange: a named barrier of the consumers only, when dS is complete and when it has "
           "been read", 12, "start", "#b45f06")
    legend(d, top + 188, ((COPY, "a copy in flight"), (BLUE, "products, and the work between them"),
                          ("white", "waiting, or in use")))

    top = 430
    d.text(20, top, "Registers of a thread", 13, "start", bold=True)
    for n, (when, parts) in enumerate((("18c, at the start", (168, 168, 168)), ("after setmaxnreg", (24, 240, 240)))):
        x = LEFT + 150
        d.text(x - 10, top + 4 + 30 * n, when, 12, "end", NOTE)
        for part, each in enumerate(parts):
            bar(d, x, top - 14 + 30 * n, each * 0.9, str(each), COPY if part == 0 else SHARED)
            x += each * 0.9
    d.text(20, 490, "A sketch: lengths are not measured.", 12, "start", NOTE)
    d.save("flash_gradient_producer.svg")


def overlap():
    """One consumer's products and its threads over time: 18c, and 18d."""
    d = Drawing(900, 430)
    d.text(20, 28, "18c: one product at a time; the threads wait for each, the tensor cores wait for the threads", 14.5, "start", bold=True)
    row(d, 44, "tensor cores")
    row(d, 78, "its threads")
    x = LEFT
    for cores, threads, colour in (("S", "", ""), ("", "P", REGISTERS), ("dP", "", ""), ("", "dS",
                                       REGISTERS), ("dv", "", ""), ("dk", "", ""), ("",
                                       "store dS, sync", MADE), ("dq", "", ""), ("", "add dq, sync",
                                       COPY)):
        wide = 68 if cores else {"P": 84, "dS": 60}.get(threads, 104)
        wide = min(wide, 104)
        if cores:
            bar(d, x, 44, wide, cores, BLUE)
            bar(d, x, 78, wide, "waits", "white")
        else:
            bar(d, x, 44, wide, "idle", LIGHT)
            bar(d, x, 78, wide, threads, colour, size=10.5)
        x += wide

    top = 160
    d.text(20, top, "18d: step i. Products are issued ahead, and dq a step late", 14.5, "start",
           bold=True)
    row(d, top + 16, "tensor cores")
    row(d, top + 50, "its threads")
    x = LEFT
    for words, wide, colour in (("dk(i-1)", 60, BLUE), ("S(i)", 68, BLUE), ("dP(i)", 68, BLUE), ("idle", 110, LIGHT), ("dv(i)", 68, BLUE), ("dq(i-1)", 68, BLUE), ("dk(i)", 68, BLUE), ("S(i+1)", 68, BLUE), ("dP(i+1)", 68, BLUE)):
        bar(d, x, top + 16, wide, words, colour)
        x += wide
    for at, wide, words, colour in ((0, 60, "waits", "white"), (60, 68, "waits", "white"), (128, 84, "P(i)", REGISTERS), (212, 52, "dS(i)", REGISTERS), (264, 42, "store", MADE), (306, 136, "waits", "white"), (442, 74, "add dq(i-1)", COPY), (516, 62, "waits", "white"), (578, 68, "P(i+1)", REGISTERS)):
        bar(d, LEFT + at, top + 50, wide, words, colour, size=10.5)
    for at, words, anchor in ((60, "wait<1>: dk", "middle"), (128, "wait<1>: S", "start"), (212, "wait<0>: dP", "start"), (442, "wait<1>: dq", "middle")):
        d.line([(LEFT + at, top + 12), (LEFT + at, top + 84)], RED, 2)
        d.text(LEFT + at, top + 98, words, 11, anchor, RED)
    y = top + 128
    d.text(20, y,
           "The two consumers do not wait for each other. Green: dq(i) reads the other's half of "
           "dS(i) only a step later.", 12.5, "start")
    row(d, y + 14, "consumer 0")
    row(d, y + 46, "consumer 1")
    for n, shift in enumerate((0, 90)):
        for at, wide, words, colour in ((0, 110, "S(i) dP(i)", BLUE), (110, 100, "P(i) dS(i)", REGISTERS), (210, 160, "dv(i) dq(i-1) dk(i)", BLUE), (370, 110, "S dP (i+1)", BLUE), (480, 100, "P dS (i+1)", REGISTERS), (580, 160, "dv(i+1) dq(i) dk(i+1)", BLUE)):
            bar(d, LEFT + at + shift, y + 14 + 32 * n, min(wide, 744 - at - shift), words if wide + at + shift < 760 else "dv(i+1) ..", colour, size=10.5)
    d.line([(LEFT + 296, y + 46), (LEFT + 640, y + 41)], GREEN, 2, arrow=True)
    legend(d, y + 92, ((BLUE, "product"), (REGISTERS, "in registers"), (MADE, "to shared memory"), (COPY, "to global memory")))
    d.text(20, 422, "A sketch of one consumer, and of both: lengths are not measured.", 12, "start", NOTE)
    d.save("flash_gradient_overlap.svg")


def barriers():
    """Lesson 19: the barriers of a stage, for a whole tile of queries and for a partial one."""
    d = Drawing(900, 640)
    d.text(20, 28, "Lesson 19: one stage of q and d_o, from the copies to the products", 15,
           "start", bold=True)

    def step(x, y, wide, words, colour):
        d.box(x, y, wide, 34, colour)
        d.text(x + wide / 2, y + 21, words, 11.5)

    def arrive(x, begin, end, words):
        d.line([(x, begin), (x, end)], RED, 1.8, arrow=True)
        d.text(x + 6, (begin + end) / 2 + 4, words, 11.5, "start", RED)

    titles = ((64, "A whole tile"),
              (272, "A partial tile: 36 of 64 queries belong to the sequence"))
    for y, title in titles:
        d.text(20, y, title, 14, "start", bold=True)
        for n, words in enumerate(("producer warp", "TMA", "consumers")):
            row(d, y + 14 + 56 * n, words, 34)
    y = 78
    step(LEFT, y, 110, "wait: free", "white")
    step(LEFT + 110, y, 100, "start copies", LIGHT)
    step(LEFT + 210, y + 56, 90, "q, lse, delta", COPY)
    step(LEFT + 300, y + 56, 70, "d_o", COPY)
    arrive(LEFT + 300, y + 92, y + 110, "q_here")
    arrive(LEFT + 370, y + 92, y + 110, "d_o_here")
    x = LEFT + 300
    for words, wide, colour in (("S", 70, BLUE), ("dP", 60, BLUE), ("P, dS", 70, REGISTERS),
                                ("dv, dq, dk", 100, BLUE)):
        step(x, y + 112, wide, words, colour)
        x += wide
    d.line([(x, y + 129), (x + 24, y + 129), (x + 24, y + 17), (x + 46, y + 17)], GREEN, 1.8,
           arrow=True)
    d.text(x + 32, y + 84, "free: all\n256 threads", 11.5, "start", GREEN)
    step(x + 48, y, 80, "next copies", LIGHT)

    y = 286
    step(LEFT, y, 110, "wait: free", "white")
    step(LEFT + 110, y, 100, "start copies", LIGHT)
    step(LEFT + 210, y + 56, 90, "q, lse, delta", COPY)
    step(LEFT + 300, y + 56, 70, "d_o", COPY)
    d.line([(LEFT + 370, y + 54), (LEFT + 370, y + 37)], RED, 1.8, arrow=True)
    d.text(LEFT + 364, y + 50, "ragged_here", 11.5, "end", RED)
    step(LEFT + 210, y, 160, "wait: ragged_here", "white")
    step(LEFT + 370, y, 150, "rows 36 to 63 = 0", MADE)
    arrive(LEFT + 520, y + 36, y + 110, "q_here and d_o_here")
    x = LEFT + 520
    for words, wide, colour in (("S", 70, BLUE), ("dP", 60, BLUE), ("P, dS", 60, REGISTERS)):
        step(x, y + 112, wide, words, colour)
        x += wide
    d.text(LEFT + 210, y + 128, "rows 36 to 63 came from the next sequence,", 11.5, "start", NOTE)
    d.text(LEFT + 210, y + 143, "and may contain NaN", 11.5, "start", NOTE)

    y = 464
    d.text(20, y, "Barrier", 12.5, "start", bold=True)
    d.text(150, y, "arrivals", 12.5, "start", bold=True)
    d.text(240, y, "completed means", 12.5, "start", bold=True)
    table = (("keys_here", "1, and bytes", "the block's k and v have arrived"),
             ("q_here [2]", "1, and bytes",
              "q, lse and delta of the stage have arrived, so S may begin"),
             ("d_o_here [2]", "1, and bytes", "d_o of the stage has arrived, so dP may begin"),
             ("ragged_here", "2, and bytes",
              "a partial tile has arrived; only the producer waits for it"),
             ("free [2]", "256 threads",
              "both warpgroups have finished the stage; it may be refilled"),
             ("ds_here [2]", "8 warps",
              "dS is complete, and the buffer of the dS before may be overwritten"))
    for n, words in enumerate(table):
        for x, cell in zip((20, 150, 240), words):
            d.text(x, y + 22 + 20 * n, cell, 12, "start", RED if x == 20 else INK)
    d.text(20, 628, "A sketch of the order: lengths are not measured.", 12, "start", NOTE)
    d.save("flash_gradient_barriers.svg")


for draw in (products, producer, overlap, barriers):
    draw()
