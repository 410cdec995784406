"""Draws the pictures of chapter 08's lessons 12 to 14 beside this script.
usage: python3 docs/figures/flash_turns.py"""
from drawing import BLUE, GREEN, INK, NOTE, ORANGE, RED, Drawing

COPY, SOFTMAX = "#d9ead3", "#fce5cd"
LEFT = 150


def bar(d, x, y, width, words, colour, height=26, size=11.5):
    d.box(x, y, width, height, colour, INK, 0.9)
    d.text(x + width / 2, y + height / 2 + 4, words, size)


def row(d, y, words, height=26):
    d.text(20, y + height / 2 + 4, words, 12.5, "start")


def legend(d, y, entries):
    x = 20
    for colour, words in entries:
        d.box(x, y, 18, 16, colour, INK, 0.9)
        d.text(x + 26, y + 13, words, 12, "start")
        x += 50 + 6.6 * len(words)


def producer_consumer():
    """The producer and the consumers over time, with a stage's barriers and their registers."""
    d = Drawing(900, 620)
    d.text(20, 28, "Lesson 11: all warpgroups synchronize, wait and compute together", 14.5,
           "start", bold=True)
    row(d, 44, "warpgroup 0")
    row(d, 76, "warpgroup 1")
    for tile in range(3):
        x = LEFT + 236 * tile
        d.line([(x, 38), (x, 108)], RED, 3)
        for number, y in enumerate((44, 76)):
            ends = 210 - 24 * ((tile + number) % 2)
            bar(d, x + 6, y, 54, f"Q K{tile}", BLUE)
            bar(d, x + 60, y, 84, "softmax", SOFTMAX)
            bar(d, x + 144, y, ends - 144, f"P V{tile}", BLUE)
            if ends < 210:
                d.text(x + ends + 22, y + 17, "waits", 11, colour=RED)
    d.text(LEFT + 4, 124, "red: __syncthreads, before the next tile is loaded", 12, "start", RED)

    top = 158
    d.text(20, top, "Lesson 12: one thread copies, and each consumer goes at its own pace", 14.5,
           "start", bold=True)
    row(d, top + 16, "producer")
    row(d, top + 56, "stage 0")
    row(d, top + 88, "stage 1")
    row(d, top + 128, "consumer 0")
    row(d, top + 160, "consumer 1")
    asks, begins, arrives = (0, 44, 330, 528), (52, 256, 460), 92
    last = LEFT + arrives + 4 + 40 + 192
    d.line([(last, top + 158), (last, top + 46), (LEFT + 330, top + 46), (LEFT + 330, top + 44)],
           RED, 1.8)
    d.line([(LEFT + 330, top + 50), (LEFT + 330, top + 43)], RED, 1.8, arrow=True)
    for tile, x in enumerate(asks):
        bar(d, LEFT + x, top + 16, 40, f"TMA {tile}", COPY)
    d.text(LEFT + 96, top + 33, "waits: empty[0]", 11.5, "start", RED)
    d.text(LEFT + 380, top + 33, "waits: empty[1]", 11.5, "start", RED)
    bar(d, LEFT + 20, top + 56, 72, "K0 V0", COPY)
    bar(d, LEFT + 92, top + 56, 236, "full", "white")
    bar(d, LEFT + 350, top + 56, 80, "K2 V2", COPY)
    bar(d, LEFT + 430, top + 56, 240, "full", "white")
    bar(d, LEFT + 110, top + 88, 72, "K1 V1", COPY)
    bar(d, LEFT + 182, top + 88, 344, "full", "white")
    bar(d, LEFT + 548, top + 88, 72, "K3 V3", COPY)
    for number, (shift, y) in enumerate(((0, top + 128), (40, top + 160))):
        for tile in range(3):
            x = LEFT + arrives + 4 + shift + 196 * tile
            bar(d, x, y, 54, f"Q K{tile}", BLUE)
            bar(d, x + 54, y, 84, "softmax", SOFTMAX)
            bar(d, x + 138, y, 54, f"P V{tile}", BLUE)
    d.line([(LEFT + 96, top + 69), (LEFT + 96, top + 126)], GREEN, 1.8, arrow=True)
    d.text(LEFT + 88, top + 124, "full", 12, "end", GREEN, bold=True)
    d.text(last + 6, top + 124, "empty: all warps of both consumers have arrived", 12, "start", RED,
           bold=True)
    legend(d, top + 204, ((COPY, "issued, in flight"), (BLUE, "MMAs on the tensor cores"),
                          (SOFTMAX, "softmax")))

    top = 416
    d.text(20, top, "Registers of a thread, and of the block (65,536 in all)", 14.5, "start", bold=True)
    scale = 0.98
    for number, (words, before, after) in enumerate((("D = 128: 384 threads", [168] * 3, [24, 240, 240]), ("D = 64: 512 threads", [128] * 4, [32, 160, 160, 160]))):
        y = top + 24 + 84 * number
        d.text(20, y + 32, words, 12.5, "start")
        for line, (when, parts) in enumerate((("at the start", before), ("after setmaxnreg", after))):
            x = LEFT + 130
            d.text(x - 10, y + 17 + 34 * line, when, 12, "end", NOTE)
            for part, each in enumerate(parts):
                bar(d, x, y + 34 * line, each * scale, str(each), COPY if part == 0 else "#e3eef8")
                x += each * scale
            d.text(x + 8, y + 17 + 34 * line, f"{128 * sum(parts):,}", 12, "start", NOTE)
    d.text(20, 606,
           "Green: the producer's warpgroup. Blue: the consumers'. The times are chosen, not "
           "measured.", 12, "start", NOTE)
    d.save("flash_producer_consumer.svg")


def ping_pong():
    """Three consumers over time: all at once, and in ping-pong without idle tensor cores."""
    d = Drawing(900, 560)
    unit = 24  # a product alone on the tensor cores; three that share them take 3 units
    all_at_once, in_turns, end = 10 * unit, 6 * unit, 30 * unit

    def span(y, width, words):
        """An iteration's length, below the tensor cores."""
        d.line([(LEFT + width - 2, y), (LEFT + 2, y)], INK, 1, arrow=True)
        d.line([(LEFT + 2, y), (LEFT + width - 2, y)], INK, 1, arrow=True)
        d.lines([((LEFT + x, y - 6), (LEFT + x, y + 6)) for x in (0, width)], INK, 1)
        d.text(LEFT + width + 8, y + 4, words, 12, "start")

    d.text(20, 28, "Lesson 12: all consumers multiply at once, and then all compute their softmax",
           14.5, "start", bold=True)
    for number in range(3):
        y = 44 + 32 * number
        row(d, y, f"consumer {number}")
        for tile in range(3):
            x = LEFT + all_at_once * tile
            bar(d, x, y, 3 * unit, f"Q K{tile}", BLUE)
            bar(d, x + 3 * unit, y, 4 * unit, f"softmax {tile}", SOFTMAX)
            bar(d, x + 7 * unit, y, 3 * unit, f"P V{tile}", BLUE)
    row(d, 152, "tensor cores")
    for tile in range(3):
        for at, width, words, colour in ((0, 3, "all three", BLUE), (3, 4, "idle", "white"),
                                         (7, 3, "all three", BLUE)):
            bar(d, LEFT + all_at_once * tile + at * unit, 152, width * unit, words, colour, size=11)
    span(194, all_at_once, "one tile of each consumer: 10")

    top = 246
    d.text(20, top, "Lesson 13: one consumer multiplies, the other two compute their softmax", 14.5,
           "start", bold=True)
    for turn in range(4):  # from the last consumer to the first, drawn below the bars of the other
        x = LEFT + in_turns * (turn + 1)
        d.line([(x, top + 104), (x, top + 43)], RED, 2, arrow=True)
    for number in range(3):
        y, first = top + 16 + 44 * number, LEFT + 2 * unit * number
        row(d, y, f"consumer {number}")
        if number:
            bar(d, LEFT, y, 2 * unit * number, "softmax 0" if number == 2 else "", SOFTMAX)
        for turn in range(1, 6):
            x = first + in_turns * (turn - 1)
            bar(d, x, y, unit, "PV", BLUE, size=10.5)
            bar(d, x + unit, y, unit, "QK", BLUE, size=10.5)
            left = min(4 * unit, LEFT + end - x - 2 * unit)
            if left:
                bar(d, x + 2 * unit, y, left, f"softmax {turn}" if left == 4 * unit else "",
                    SOFTMAX)
    for step in range(14):
        if step % 3 < 2:
            x, y = LEFT + 2 * unit * (step + 1), top + 42 + 44 * (step % 3)
            d.line([(x, y), (x, y + 18)], RED, 2, arrow=True)
    row(d, top + 152, "tensor cores")
    for turn in range(15):
        bar(d, LEFT + 2 * unit * turn, top + 152, 2 * unit, f"{turn % 3}", BLUE, size=11)
    d.text(20, top + 186, "(of which consumer)", 11.5, "start", NOTE)
    span(top + 194, in_turns, "one tile of each consumer: 6. The tensor cores are never idle.")
    legend(d, top + 222, ((BLUE, "products"), (SOFTMAX, "softmax")))
    d.line([(LEFT + 110, top + 230), (LEFT + 150, top + 230)], RED, 2, arrow=True)
    d.text(LEFT + 158, top + 235, "the turn is passed on by a named barrier", 12, "start")
    d.text(20, top + 266,
           "PV and QK are one turn: turn t computes P V of tile t - 1, then Q K of tile t."
           " The lengths are chosen, not measured: a product\nthat has the tensor cores alone takes"
           " 1, three that share them take 3, and a softmax takes 4, as for D = 64.", 12, "start",
           NOTE)
    d.save("flash_ping_pong.svg")


def overlap():
    """A consumer's two products and its softmax over time: lesson 13, lesson 14 as in the source,
    and lesson 14 as scheduled by ptxas."""
    d = Drawing(900, 560)

    def strip(y, title, cores, thread, waits):
        d.text(20, y, title, 14.5, "start", bold=True)
        row(d, y + 22, "tensor cores")
        row(d, y + 62, "its threads")
        for x, width, words in cores:
            bar(d, LEFT + x, y + 22, width, words, BLUE)
        for x, width, words, colour in thread:
            bar(d, LEFT + x, y + 62, width, words, colour)
        for x, words, anchor in waits:
            d.line([(LEFT + x, y + 16), (LEFT + x, y + 100)], RED, 2.4)
            d.text(LEFT + x + (5 if anchor == "start" else -5), y + 112, words, 11.5, anchor, RED)

    green = "#d9ead3"
    strip(28, "Lesson 13: both products are complete before the softmax begins", [(20, 140,
                  "P V(j-1)"), (160, 140, "Q K(j)")], [(0, 20, "", green), (20, 280, "waits",
                  "white"), (300, 190, "softmax(j)", SOFTMAX), (490, 70, "rescale O", ORANGE), (560,
                  60, "pack P", green)], [(300, "wgmma_wait_group<0>", "start")])
    strip(180, "Lesson 14, as written: the threads wait only for the scores", [(20, 140, "Q K(j)"),
              (160, 140, "P V(j-1)")], [(0, 20, "", green), (20, 140, "waits", "white"), (160, 190,
                                            "softmax(j)", SOFTMAX), (350, 70, "rescale O", ORANGE),
                                        (420, 60, "pack P", green)], [(160, "wgmma_wait_group<1>",
                  "end"), (350, "wgmma_wait_group<0>", "start")])
    d.line([(LEFT + 160, 236), (LEFT + 300, 236)], GREEN, 3)
    d.text(LEFT + 358, 230, "green: in parallel", 12, "start", GREEN)
    strip(332, "Lesson 14, as ptxas 13.0 orders it: the second wait comes before the exponentials",
          [(20, 140, "Q K(j)"), (160, 140, "P V(j-1)")], [(0, 20, "", green), (20, 280, "waits",
                  "white"), (300, 190, "exponentials(j)", SOFTMAX), (490, 70, "rescale O", ORANGE),
              (560, 60, "pack P", green)], [(296, "DEPBAR.LE gsb0, 0x1", "end"), (302,
                                                "DEPBAR.LE gsb0, 0x0", "start")])
    legend(d, 474, ((BLUE, "product"), (SOFTMAX, "softmax: maximum, exponentials, sums"), (ORANGE,
                        "O is multiplied by the factor"), (green, "issues, packs")))
    d.text(20, 522,
           "A sketch of one consumer; lengths are not measured. We found both waits before the "
           "exponentials in the SASS.\n"
           "The registers of O and P belong to P V until its wait. In all three, rescaling and "
           "packing therefore come after it.", 12, "start", NOTE)
    d.save("flash_overlap.svg")


if __name__ == "__main__":
    producer_consumer()
    ping_pong()
    overlap()
