"""Draws the figure of 07_chunkwise/16_segments."""
from drawing import DARK_BLUE, GREEN, GREY, NOTE, PALE, RED, Drawing

STAGES = 8


def segments():
    """One head: the walk of one block, and the three launches that replace it."""
    d = Drawing(900, 590)
    left, width, segments = 168, 172, len(PALE)
    x = [left + width * i for i in range(segments + 1)]

    def name(y, words, note):
        d.text(20, y + 17, words, 13.5, "start", bold=True)
        d.text(20, y + 34, note, 12, "start", NOTE)

    def stages(y, begin, end, colour):
        cell = (end - begin) / 2
        for i in range(2):
            d.box(begin + cell * i, y, cell, 40, colour, GREY, 0.8)

    d.text(20, 28, f"One head, {STAGES} stages of 64 tokens. From left to right: the tokens", 15, "start", bold=True)
    name(52, "lesson 13", "one block")
    for i in range(segments):
        stages(52, x[i], x[i + 1], "#f2f2f2")
    d.line([(x[0] + 8, 72), (x[-1] - 8, 72)], DARK_BLUE, 2, arrow=True)
    d.text(left, 112, f"{STAGES} stages, sequentially", 12.5, "start", NOTE)

    name(152, "launch 1", "4 blocks")
    for i, colour in enumerate(PALE):
        stages(152, x[i] + 6, x[i + 1] - 6, colour)
        d.text(x[i] + width / 2, 144, f"block {i}, from zeros", 12, colour=DARK_BLUE)
        d.line([(x[i] + 16, 172), (x[i + 1] - 16, 172)], DARK_BLUE, 2, arrow=True)
        d.line([(x[i + 1] - 26, 194), (x[i + 1] - 26, 222)], RED, 1.8, arrow=True)
        d.text(x[i + 1] - 26, 240, f"leaves A{i},\ndecays d{i}", 12.5, colour=RED)

    name(306, "launch 2", "the scan")
    for i in range(segments + 1):
        d.circle(x[i], 326, 20, "white", GREEN, 2)
        d.text(x[i], 331, f"S{i}", 14, bold=True)
        if i < segments:
            d.line([(x[i] + 22, 326), (x[i + 1] - 24, 326)], GREEN, 2, arrow=True)
            d.text(x[i] + width / 2, 318, f"d{i} S{i} + A{i}", 13, colour=GREEN)
            d.line([(x[i + 1] - 26, 262), (x[i + 1] - 10, 304)], RED, 1.4, arrow=True)
    d.text(x[0] - 22, 298, "the initial state", 12, "start", GREEN)
    d.text(x[-1] + 20, 366, "the final state", 12, "end", GREEN)

    name(424, "launch 3", "4 blocks")
    for i, colour in enumerate(PALE):
        stages(424, x[i] + 6, x[i + 1] - 6, colour)
        d.line([(x[i], 348), (x[i] + 14, 420)], GREEN, 1.4, arrow=True)
        d.text(x[i] + width / 2 + 8, 416, f"block {i}, from S{i}", 12, colour=DARK_BLUE)
        d.line([(x[i] + 16, 444), (x[i + 1] - 16, 444)], DARK_BLUE, 2, arrow=True)
        d.text(x[i] + width / 2, 484, "outputs o", 12.5)
    d.text(20, 528,
           "Blocks of a launch run in parallel. A block computes 2 stages sequentially, in each of "
           "two launches: 4 instead of 8.\n"
           "The scan reads each number of the initial state before it writes that of the final "
           "state, and launch 3 reads neither.\n"
           "Initial state and final state may therefore be one array.", 13, "start")
    d.save("chunk_segments.svg")


segments()
