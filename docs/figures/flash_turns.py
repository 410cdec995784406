"""Draws the pictures of chapter 08's lessons 12 to 14 beside this script. usage: python3 docs/figures/flash_turns.py"""
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
    """Who copies and who computes over time, with both barriers of a stage; and where the registers go."""
    d = Drawing(900, 620)
    d.text(20, 28, "11: all warpgroups meet, wait and compute together", 14.5, "start", bold=True)
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
    d.text(LEFT + 4, 124, "red: __syncthreads, before the next tile is asked for", 12, "start", RED)

    top = 158
    d.text(20, top, "12: one thread copies; each consumer goes at its own pace", 14.5, "start", bold=True)
    row(d, top + 16, "producer")
    row(d, top + 56, "stage 0")
    row(d, top + 88, "stage 1")
    row(d, top + 128, "consumer 0")
    row(d, top + 160, "consumer 1")
    asks, begins, arrives = (0, 44, 330, 528), (52, 256, 460), 92
    for tile, x in enumerate(asks):
        bar(d, LEFT + x, top + 16, 40, f"ask {tile}", COPY)
    d.text(LEFT + 96, top + 33, "waits for read of stage 0", 11.5, "start", RED)
    d.text(LEFT + 380, top + 33, "for stage 1", 11.5, "start", RED)
    bar(d, LEFT + 20, top + 56, 72, "K0 V0", COPY)
    bar(d, LEFT + 92, top + 56, 236, "is read", "white")
    bar(d, LEFT + 350, top + 56, 80, "K2 V2", COPY)
    bar(d, LEFT + 430, top + 56, 240, "is read", "white")
    bar(d, LEFT + 110, top + 88, 72, "K1 V1", COPY)
    bar(d, LEFT + 182, top + 88, 344, "is here, and is read", "white")
    bar(d, LEFT + 548, top + 88, 72, "K3 V3", COPY)
    for number, (shift, y) in enumerate(((0, top + 128), (40, top + 160))):
        for tile in range(3):
            x = LEFT + arrives + 4 + shift + 196 * tile
            bar(d, x, y, 54, f"Q K{tile}", BLUE)
            bar(d, x + 54, y, 84, "softmax", SOFTMAX)
            bar(d, x + 138, y, 54, f"P V{tile}", BLUE)
    d.line([(LEFT + 96, top + 69), (LEFT + 96, top + 126)], GREEN, 1.8, arrow=True)
    d.text(LEFT + 88, top + 124, "here", 12, "end", GREEN, bold=True)
    last = LEFT + arrives + 4 + 40 + 192
    d.line([(last, top + 158), (last, top + 46), (LEFT + 330, top + 46), (LEFT + 330, top + 44)], RED, 1.8)
    d.line([(LEFT + 330, top + 50), (LEFT + 330, top + 43)], RED, 1.8, arrow=True)
    d.text(last + 6, top + 124, "read: all warps of both consumers have arrived", 12, "start", RED, bold=True)
    legend(d, top + 204, ((COPY, "asked for and on its way"), (BLUE, "product on the tensor cores"), (SOFTMAX, "softmax")))

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
    d.text(20, 606, "Green: the producer's warpgroup. Blue: the consumers'. The times are a sketch, not measured.", 12, "start", NOTE)
    d.save("flash_producer_consumer.svg")


def ping_pong():
    """The turns of three consumers over time: the products of one beside the softmax of the others."""
    d = Drawing(900, 486)
    unit = 24  # a product that has the tensor cores to itself; three that share them take three

    def consumer(y, words, pieces):
        row(d, y, words)
        for x, width, kind, said in pieces:
            bar(d, LEFT + x, y, width, said, {"p": BLUE, "s": SOFTMAX}[kind])

    round_12, round_13 = 10 * unit, 6 * unit
    d.text(20, 28, "12: no consumer keeps an order. All can be at the same place at the same time", 14.5, "start", bold=True)
    for number in range(3):
        pieces = []
        for tile in range(3):
            x = round_12 * tile
            pieces += [(x, 3 * unit, "p", f"Q K{tile}"), (x + 3 * unit, 4 * unit, "s", f"softmax {tile}"), (x + 7 * unit, 3 * unit, "p", f"P V{tile}")]
        consumer(44 + 32 * number, f"consumer {number}", pieces)
    row(d, 150, "tensor cores")
    for tile in range(3):
        for x, width, words, colour in ((0, 3, "three share", BLUE), (3, 4, "idle", "white"), (7, 3, "three share", BLUE)):
            bar(d, LEFT + round_12 * tile + x * unit, 150, width * unit, words, colour, size=11)

    top = 222
    d.text(20, top, "13: a turn is two products, and hands on to the next consumer", 14.5, "start", bold=True)
    end = 3 * round_12
    for number in range(3):
        y, first = top + 16 + 44 * number, 2 * unit * number
        pieces = [(0, first, "s", "softmax 0" if number == 2 else "")] if number else []
        for turn in range(5):
            x = first + round_13 * turn
            pieces += [(x, min(2 * unit, end - x), "p", f"{turn}"), (x + 2 * unit, min(4 * unit, end - x - 2 * unit), "s", f"softmax {turn + 1}" if turn < 4 or number == 0 else "")]
        consumer(y, f"consumer {number}", [piece for piece in pieces if piece[1] > 0])
    for step in range(14):
        x, y = LEFT + 2 * unit * (step + 1), top + 16 + 44 * (step % 3)
        to = top + 16 + 44 * ((step + 1) % 3)
        d.line([(x, y + 26), (x, to)] if to > y else [(x, y), (x, to + 26)], RED, 2, arrow=True)
    row(d, top + 152, "tensor cores")
    for turn in range(15):
        bar(d, LEFT + 2 * unit * turn, top + 152, 2 * unit, f"of {turn % 3}", BLUE)
    legend(d, top + 200, ((BLUE, "products"), (SOFTMAX, "softmax")))
    d.line([(LEFT + 150, top + 208), (LEFT + 190, top + 208)], RED, 2, arrow=True)
    d.text(LEFT + 198, top + 213, "the turn is handed on (a named barrier): products are issued in this order", 12, "start")
    d.text(20, top + 236, "A turn t is P V(t) and Q K(t + 1). A sketch, not measured: a product alone takes 1, three that share take 3, a softmax takes 4.\n"
           "A round of three tiles, one for each consumer, then takes 10 above and 6 below, where the tensor cores are never idle.", 12, "start", NOTE)
    d.save("flash_ping_pong.svg")


def overlap():
    """A consumer's two products and its softmax over time: lesson 13, lesson 14 as it is written, and as ptxas has it."""
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
    strip(28, "13: both products are complete before the softmax begins",
          [(20, 140, "P V(j-1)"), (160, 140, "Q K(j)")],
          [(0, 20, "", green), (20, 280, "waits", "white"), (300, 190, "softmax(j)", SOFTMAX), (490, 70, "rescale O", ORANGE), (560, 60, "pack P", green)],
          [(300, "wait_products<0>", "start")])
    strip(180, "14, as it is written: only the scores are waited for",
          [(20, 140, "Q K(j)"), (160, 140, "P V(j-1)")],
          [(0, 20, "", green), (20, 140, "waits", "white"), (160, 190, "softmax(j)", SOFTMAX), (350, 70, "rescale O", ORANGE), (420, 60, "pack P", green)],
          [(160, "wait_products<1>", "end"), (350, "wait_products<0>", "start")])
    d.line([(LEFT + 160, 236), (LEFT + 300, 236)], GREEN, 3)
    d.text(LEFT + 358, 230, "green: at the same time", 12, "start", GREEN)
    strip(332, "14, as ptxas 13.0 puts it in order: the second wait stands before the exponentials",
          [(20, 140, "Q K(j)"), (160, 140, "P V(j-1)")],
          [(0, 20, "", green), (20, 280, "waits", "white"), (300, 190, "exponentials(j)", SOFTMAX), (490, 70, "rescale O", ORANGE), (560, 60, "pack P", green)],
          [(296, "DEPBAR.LE gsb0, 0x1", "end"), (302, "DEPBAR.LE gsb0, 0x0", "start")])
    legend(d, 474, ((BLUE, "product"), (SOFTMAX, "softmax: largest score, exponentials, sums"), (ORANGE, "O takes the factor"), (green, "issues, packs")))
    d.text(20, 522, "A sketch of one consumer; lengths are not measured. That both waits stand before the exponentials was read in the SASS.\n"
           "The registers of O and P belong to P V until its wait. So rescale and pack stand behind it in all three.", 12, "start", NOTE)
    d.save("flash_overlap.svg")


if __name__ == "__main__":
    producer_consumer()
    ping_pong()
    overlap()
