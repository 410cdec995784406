"""Draws the figures of chapter 00 about time."""
from drawing import DARK_BLUE, GREY, LIGHT, NOTE, RED, Drawing

PALE = ["#cfe2f3", "#fce5cd"]  # colours of the two buffers


def streams():
    """The host, the stream of copies and the stream of kernels over time. Lengths are
    illustrative."""
    d = Drawing(900, 500)
    left, row, high = 116, 92, 40
    rows = {name: 70 + row * i for i, name in enumerate(("host", "copies", "kernels"))}
    d.text(20, 28,
           "Four pieces, two buffers (blue: 0, orange: 1). Lengths are chosen, not measured.", 15,
           "start", bold=True)
    for name, y in rows.items():
        d.text(left - 12, y + 25, name if name == "host" else f"stream\n{name}", 13, "end")
        d.line([(left, y + high + 8), (left + 760, y + high + 8)], "#dddddd", 1)
    for piece in range(4):
        d.box(left + 30 * piece, rows["host"], 28, high, LIGHT)
        d.text(left + 30 * piece + 14, rows["host"] + 25, str(piece))
    d.text(left + 130, rows["host"] + 16,
           "the host puts all work into the two queues, piece by piece,", 13, "start")
    d.text(left + 130, rows["host"] + 34, "and at the end it waits for the stream of kernels", 13,
           "start")
    copy, kernel, back = 130, 50, 60
    copied, free, empty = 40, 0, {}
    arrows = []
    for piece in range(4):
        begin = max(copied, empty.get(piece - 2, 0))
        d.box(left + begin, rows["copies"], copy, high, PALE[piece % 2])
        d.text(left + begin + copy / 2, rows["copies"] + 25, f"copy a, b of {piece}")
        copied = begin + copy
        start = max(copied, free)
        arrows.append((copied, rows["copies"] + high, start, rows["kernels"], DARK_BLUE))
        d.box(left + start, rows["kernels"], kernel, high, PALE[piece % 2])
        d.text(left + start + kernel / 2, rows["kernels"] + 25, f"add {piece}", 12)
        d.box(left + start + kernel, rows["kernels"], back, high, "white")
        d.text(left + start + kernel + back / 2, rows["kernels"] + 25, f"c of {piece}", 12)
        empty[piece] = start + kernel
        free = start + kernel + back
        if piece < 2:
            arrows.append((start + kernel, rows["kernels"], copied + copy, rows["copies"] + high, RED))
    for x0, y0, x1, y1, colour in arrows:
        d.line([(left + x0, y0), (left + x1, y1)], colour, 2, arrow=True)
    end = left + free
    d.line([(end, rows["kernels"] + high), (end, rows["kernels"] + high + 34)], GREY, 1, "3 3")
    d.text(end, rows["kernels"] + high + 50, "the host continues", 13, "end")
    axis = 372
    d.line([(left, axis), (left + 760, axis)], arrow=True)
    d.text(left + 760, axis + 18, "time", 13, "end")
    d.line([(40, 408), (76, 408)], DARK_BLUE, 2, arrow=True)
    d.text(86, 413, "event `full`: both copies of the piece have arrived, so its kernel may begin",
           13, "start")
    d.line([(40, 434), (76, 434)], RED, 2, arrow=True)
    d.text(86, 439,
           "event `empty`: the kernel has read its buffer, so the next piece but one may be copied "
           "into it", 13, "start")
    d.text(20, 474,
           "In one stream the same work would be sequential: each copy would begin after the "
           "kernel and the copy of c before it have ended.", 13, "start", NOTE)
    d.save("warmup_streams.svg")


streams()
