"""Draws the pictures of chunks and prefix sums of chapters 06 and 07, and of the lessons beside
them."""
from itertools import accumulate

from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED, Drawing


def prefix_sum_carry():
    """Prefix sums in chunks: which thread adds what, and what a chunk passes to the next."""
    x, chunk = list(range(12)), 4
    chunks = [x[i:i + chunk] for i in range(0, len(x), chunk)]
    local = [list(accumulate(part)) for part in chunks]
    carry = [0, *accumulate(part[-1] for part in local[:-1])]
    d = Drawing(900, 440)
    left, cell, pitch = 190, 40, 196

    def row(y, name, parts, note):
        d.text(left - 16, y + 16, name, 14, "end", bold=True)
        d.text(left - 16, y + 33, note, 12, "end", NOTE)
        for i, part in enumerate(parts):
            for j, value in enumerate(part):
                d.box(left + pitch * i + cell * j, y, cell, cell, PALE[i])
                d.text(left + pitch * i + cell * (j + 0.5), y + 26, str(value), 15)

    row(34, "x", chunks, "in chunks of 4")
    for i in range(3):
        at = left + pitch * i
        d.text(at + 2 * cell, 22, f"chunk {i}", 13, colour=NOTE)
        d.line([(at + cell / 2, 96), (at + 3.6 * cell, 96)], DARK_BLUE, 1.6, arrow=True)
        d.text(at + 2 * cell, 90, f"thread {i}", 12, colour=DARK_BLUE)
    row(106, "1. local sums", local, "one thread for each chunk")
    d.text(left + 3 * pitch + 4, 131, "4 additions,\nsequential", 12, "start", NOTE)

    y = 220
    d.text(left - 16, y + 16, "2. carry", 14, "end", bold=True)
    d.text(left - 16, y + 33, "one thread", 12, "end", NOTE)
    for i, value in enumerate(carry):
        at = left + pitch * i
        d.box(at, y, cell, cell, "white", INK, 2)
        d.text(at + cell / 2, y + 26, str(value), 15)
        if i < 2:
            d.box(at + 3 * cell, 106, cell, cell, "none", RED, 3)
            d.line([(at + 3.5 * cell, 148), (at + pitch - 28, y + 13)], RED, 1.8, arrow=True)
            d.line([(at + cell + 2, y + 22), (at + pitch - 3, y + 22)], DARK_BLUE, 1.8, arrow=True)
            d.text(at + 2.4 * cell, y + 38, f"{value} + {local[i][-1]}", 13, colour=DARK_BLUE)
    d.text(left + 3 * pitch + 4, y + 12, "one addition\nfor each chunk\nbut the last", 12, "start", NOTE)

    for i, value in enumerate(carry):
        at = left + pitch * i
        for j in range(chunk):
            d.line([(at + cell / 2, y + cell + 3), (at + cell * (j + 0.5), 316)], GREY, 1, arrow=True)
    row(320, "3. adjusted", [[value + before for value in part] for part, before in zip(local, carry)], "one thread for each element")
    d.text(left + 3 * pitch + 4, 345, "one addition", 12, "start", NOTE)
    d.text(20, 392,
           "Red: the last local sum of a chunk is the sum of the whole chunk. Only this is passed "
           "on. The last chunk passes nothing on.\n"
           "The carry of chunk 2 is 6 + 22 = 28: the sum of all chunks before it, and not of chunk "
           "1 alone.", 13, "start")
    d.save("chunkwise_carry.svg")


def partition():
    """Chunks of 64 tokens in a chain, and one chunk's scores in sub-chunks of 16."""
    d = Drawing(900, 530)
    cell, pitch, count = 52, 212, 4
    d.text(20, 26, "Between chunks of 64 tokens: the state S is passed on once per chunk", 14.5,
           "start", bold=True)
    for i in range(4):
        x = 56 + pitch * i
        d.box(x, 44, 150, 46, PALE[i])
        d.text(x + 75, 63, f"chunk {i}", 13, bold=True)
        d.text(x + 75, 81, f"tokens {64 * i} to {64 * i + 63}", 11)
        d.line([(x + 75, 92), (x + 75, 110)], GREY, 1.4, arrow=True)
        d.box(x + 8, 112, 134, 40)
        d.text(x + 75, 129, "S decays, then adds", 11.5)
        d.text(x + 75, 145, "k v of all 64 tokens", 11.5)
        d.line([(x - 52, 132), (x + 5, 132)], INK, 1.6, arrow=True)
        d.text(x - 28, 124, f"S{i}", 13)
    d.line([(56 + 3 * pitch + 144, 132), (888, 132)], INK, 1.6, arrow=True)
    d.text(866, 124, "S4", 13)

    left, top, notes = 110, 256, 372
    d.text(20, 196, "Within a chunk: the scores of 64 queries and 64 keys, in sub-chunks of 16",
           14.5, "start", bold=True)
    for n in range(count):
        d.text(left + cell * (n + 0.5), top - 8, f"{16 * n}-{16 * n + 15}", 11, colour=NOTE)
        d.text(left - 8, top + cell * (n + 0.5) + 4, f"{16 * n}-{16 * n + 15}", 11, "end", NOTE)
        for s in range(count):
            d.box(left + cell * s, top + cell * n, cell, cell,
                  BLUE if s < n else LIGHT, INK if s < n else GREY, 0.8)
    d.text(left + cell * 2, top - 26, "key s", 13)
    d.text(20, top + cell * 2 + 4, "query t", 13, "start")
    for n in range(count):  # the other half of a block on the diagonal: keys after the query
        x, y = left + cell * n, top + cell * n
        d.polygon([(x, y), (x, y + cell), (x + cell, y + cell)], ORANGE)
        d.line([(x, y), (x, y + cell), (x + cell, y + cell), (x, y)], INK, 0.8)
    legend = (
        (top - 4, BLUE,
         "s in an earlier sub-chunk: a border is between s and t. The decay\n"
         "splits there in two factors, from s to the border and from the\n"
         "border to t. Neither exponent is above 0, so the block is a\n"
         "matrix product (lesson 05), or the state brings these keys\n"
         "to the border (lessons 11b to 15)."),
        (top + 102, ORANGE,
         "s in the sub-chunk of t: no border is between all pairs. The decay\n"
         "of each pair is computed on its own, or in a tree (lesson 13)."),
        (top + 158, LIGHT, "s after t: no score, because its exponent would be above 0."))
    for y, colour, words in legend:
        d.box(notes, y, 22, 22, colour)
        d.text(notes + 34, y + 16, words, 12.5, "start")
    d.text(20, 508,
           "A decay is at most 1, so its logarithm is at most 0. An exponent is above 0 only if a"
           " factor runs backwards in time, and then exp may overflow.", 12, "start", NOTE)
    d.save("chunk_partition.svg")


def chunk_walk():
    """Which keys reach a query through the state and which through scores, and a chunk's phases."""
    d = Drawing(900, 500)
    T, chunk, unit, left, top = 64, 16, 5, 60, 84
    now, query = 2, 38
    begin = chunk * now
    d.text(20, 28, f"Lesson 02: {T} tokens in chunks of {chunk}, and the block at chunk {now}", 15,
           "start", bold=True)
    d.text(left + T * unit / 2, 58, "key s", 12.5)
    d.text(12, top - 26, "query l", 12.5, "start")
    for row in range(0, T, chunk):
        d.text(left - 8, top + unit * row + 12, str(row), 11.5, "end", NOTE)
        d.text(left + unit * row, top - 6, str(row), 11.5, "start", NOTE)
        for column in range(0, T, chunk):
            x, y, side = left + unit * column, top + unit * row, unit * chunk
            d.box(x, y, side, side, PALE[0] if column < row else "white", GREY, 0.8)
            if column == row:
                for n in range(chunk):
                    d.box(x, y + unit * n, unit * (n + 1), unit, PALE[2], "none")
                d.box(x, y, side, side, "none", GREY, 0.8)
    y = top + unit * query
    d.box(left, y, unit * begin, unit, DARK_BLUE, "none")
    d.box(left + unit * begin, y, unit * (query - begin + 1), unit, "#e69138", "none")
    d.box(left, top + unit * begin, unit * (begin + chunk), unit * chunk, "none", INK, 1.8)
    y = top + unit * T
    d.text(left, y + 26, f"query {query}: keys 0 to {begin - 1} through S (blue),", 12.5, "start",
           DARK_BLUE)
    d.text(left, y + 46, f"keys {begin} to {query} through scores (orange)", 12.5, "start",
           "#b45f06")
    d.text(left, y + 66, "white: later keys, whose scores are set to 0", 12.5, "start", NOTE)

    x, high = 430, 62
    d.text(x, 62, f"The block's 128 threads, chunk {now}", 14, "start", bold=True)
    phases = (("fetch", f"q, k and v of tokens {begin} to {begin + chunk - 1}\nto shared memory",
               "white"),
              ("scores", "16 x 16 = 256, two per thread;\nthose of later keys are set to 0",
               PALE[2]),
              ("outputs", f"o = q S + scores v. S: keys 0 to {begin - 1}.\n"
               "A warp has 4 queries, a lane a column of v", PALE[1]),
              ("state", f"S += k^T v: keys {begin} to {begin + chunk - 1} are added.\n"
               "A warp has every 4th row of S, a lane a column", PALE[0]))
    for n, (name, words, colour) in enumerate(phases):
        y = top + (high + 22) * n
        d.box(x, y, 84, high, colour)
        d.text(x + 42, y + high / 2 + 4, name, 13, bold=True)
        d.text(x + 98, y + 27, words, 12.5, "start")
        d.line([(x - 10, y + high + 11), (x + 420, y + high + 11)], RED, 2)
    d.text(x + 420, top + (high + 22) * 4 + 8, "red: a barrier after each phase", 12.5, "end", RED)
    y = top + (high + 22) * 4
    d.text(x, y + 34, f"Now S contains keys 0 to {begin + chunk - 1}, and the block goes on with "
           f"chunk {now + 1}.\nThe outputs must read S before the chunk's own keys are in it.",
           12.5, "start")
    d.save("chunk_walk.svg")


def chunk_states():
    """Two ways to pass the state on: one block walks, or a scan processes all states in memory."""
    d = Drawing(900, 530)
    left, pitch, width, names = 136, 190, 144, "abcd"
    before = ["0", "a", "a + b", "a + b + c"]

    def block(x, y, words, colour, height=46):
        d.box(x, y, width, height, colour)
        for i, line in enumerate(words.split("\n")):
            d.text(x + width / 2, y + height / 2 + 5 + 16 * (i - words.count("\n") / 2), line, 12)

    d.text(20, 26, "Lesson 02: one block walks the chunks, S stays on chip", 15, "start", bold=True)
    for i in range(4):
        x = left + pitch * i
        block(x, 44, f"chunk {i}\nO from S, then K^T V", PALE[i])
        if i < 3:
            d.line([(x + width + 2, 67), (x + pitch - 3, 67)], RED, 2, arrow=True)
            d.text(x + (width + pitch) / 2, 60, before[i + 1].replace(" ", ""), 12, colour=RED)
    d.text(20, 72, "one block", 13, "start")

    d.text(20, 140, "Lesson 03: three kernels, a state for each chunk in global memory", 15, "start", bold=True)
    rows = (164, 262, 386)
    for y, name, who in zip(rows, ("sum_chunks", "scan_chunks", "answer_chunks"),
                            ("one block\nper chunk", "one thread\nper element",
                             "one block\nper chunk")):
        d.text(20, y + 18, name, 13, "start", bold=True)
        d.text(20, y + 35, who, 12, "start", NOTE)
    for i in range(4):
        x = left + pitch * i
        block(x, rows[0], f"chunk {i}\nK^T V = {names[i]}", PALE[i])
        block(x, rows[2], f"chunk {i}\nO from S = {before[i]}", PALE[i])
        d.line([(x + width / 2, rows[0] + 47), (x + width / 2, rows[1] - 3)], GREY, 1.2, arrow=True)
        d.line([(x + width / 2, rows[1] + 88), (x + width / 2, rows[2] - 3)], GREY, 1.2, arrow=True)
        d.box(x, rows[1], width, 84, "white", GREY)
        d.text(x + width / 2, rows[1] - 8 + 26, f"own sum: {names[i]}", 12)
        d.box(x + 6, rows[1] + 28, width - 12, 22, "white", RED, 1.6)
        d.text(x + width / 2, rows[1] + 44, before[i], 13, colour=RED)
        d.text(x + width / 2, rows[1] + 72, "overwrites it", 11, colour=NOTE)
        if i < 3:
            d.line([(x + width + 2, rows[1] + 39), (x + pitch + 3, rows[1] + 39)], RED, 2, arrow=True)
            d.text(x + (width + pitch) / 2, rows[1] + 32, f"+ {names[i]}", 12, colour=RED)
    d.text(20, 470,
           "Red: the chain. In the walk one step of it is a chunk's whole work. In the scan it is "
           "one addition, a load and a store.\n"
           "The chain is as long in both. A thread of the scan owns one element of the state, and "
           "adds it up over all chunks.\n"
           "sum_chunks stores each state, scan_chunks loads and stores it, and answer_chunks loads "
           "it.", 13, "start")
    d.save("chunkwise_states.svg")


def exclusive_scan_over_warps():
    """An iteration of four warps: each sums its own steps, a scan, each walks its steps."""
    d = Drawing(900, 470)
    left, pitch, width, names = 146, 166, 144, "abcd"
    before = ["S", "S + a", "S + a + b", "S + a + b + c"]
    d.text(20, 26, "One iteration of a block with four warps of eight steps", 15, "start",
           bold=True)
    rows = (52, 176, 330)
    for y, name, who in zip(rows, ("1. sums", "2. scan", "3. walk"), ("each warp, its steps", "each thread, its\nelements of the state", "each warp, its steps")):
        d.text(20, y + 16, name, 14, "start", bold=True)
        d.text(20, y + 34, who, 11, "start", NOTE)
    for w in range(4):
        x = left + pitch * w
        d.text(x + width / 2, 44, f"warp {w}", 13, colour=NOTE)
        for s in range(8):
            d.box(x + s * width / 8, rows[0], width / 8, 30, PALE[w], GREY, 0.6)
        d.text(x + width / 2, rows[0] + 20, f"steps {8 * w} to {8 * w + 7}", 12)
        d.line([(x + width / 2, rows[0] + 33), (x + width / 2, rows[1] - 24)], GREY, 1.2, arrow=True)
        d.text(x + width / 2 + 6, rows[0] + 56, f"k v summed: {names[w]}", 12, "start")
        d.box(x, rows[1] - 20, width, 74, "white", INK)
        d.text(x + width / 2, rows[1] - 2, f"slot {w}: {names[w]}", 12)
        d.box(x + 8, rows[1] + 12, width - 16, 26, "white", RED, 1.8)
        d.text(x + width / 2, rows[1] + 30, before[w], 13, colour=RED)
        d.text(x + width / 2, rows[1] + 50, "overwrites it", 11, colour=NOTE)
        d.line([(x + width / 2, rows[1] + 58), (x + width / 2, rows[2] - 6)], GREY, 1.2, arrow=True)
        d.text(x + width / 2 + 6, rows[2] - 34, "begins with it", 12, "start")
        for s in range(8):
            d.box(x + s * width / 8, rows[2], width / 8, 30, PALE[w], GREY, 0.6)
        d.text(x + width / 2, rows[2] + 20, "kv += k v, o += q kv", 12)
        if w < 3:
            d.line([(x + width - 6, rows[1] + 25), (x + pitch + 6, rows[1] + 25)], RED, 1.6, arrow=True)
            d.text(x + (width + pitch) / 2, rows[1] + 16, f"+{names[w]}", 12, colour=RED)
    d.line([(left + 4 * pitch - 26, rows[1] + 25), (left + 4 * pitch + 4, rows[1] + 25)], RED, 1.6, arrow=True)
    d.text(left + 4 * pitch - 6, rows[1] + 16, "+d", 12, "middle", RED)
    d.text(left + 4 * pitch + 8, rows[1] + 16, "carry:\nS of the next\niteration", 11, "start", RED)
    for y in (138, 254):
        d.line([(left - 6, y), (left + 4 * pitch - 14, y)], RED, 3)
        d.text(left - 12, y + 5, "barrier", 12, "end", RED)
    d.text(20, 396,
           "The slots are in shared memory. S is the state before the iteration. A thread keeps "
           "its elements of S in registers (carry).\n"
           "Slot w gets the sum of all warps before w, without warp w's own sum, because warp w "
           "adds its own k v once more when it walks.\n"
           "The source's kernel writes a, a + b, ... (an inclusive scan), and warp w reads slot w "
           "- 1.", 13, "start")
    d.save("shared_warp_scan.svg")


def packed_lanes():
    """Which lane of a row reads which 16 bytes, and from which banks: side by side, and with one
    lane's rows together."""
    d = Drawing(900, 480)
    left, cell = 150, 22
    d.text(20, 26, "K = 256: 32 lanes share the 256 words of k. A lane reads eight of them, in two loads of 16 bytes", 14, "start", bold=True)
    ways = (("side by side: lane l holds rows 4 l to 4 l + 3, and rows 128 + 4 l to 131 + 4 l (the "
             "first load is drawn)", 4, 62),
            ("together: lane l holds rows 8 l to 8 l + 7 (the first load is drawn)", 8, 242))
    for words, apart, y in ways:
        d.text(20, y, words, 14, "start", bold=True)
        for bank in range(32):
            if bank % 4 == 0:
                d.text(left + bank * cell + cell / 2, y + 50, str(bank), 11, colour=NOTE)
        d.text(left - 12, y + 50, "bank", 12, "end", NOTE)
        turns = [[], []]
        for lane in range(8):
            turns[lane * apart // 32].append(lane)
        for turn, lanes in enumerate(turns):
            if not lanes:
                continue
            row = y + 62 + 34 * turn
            d.text(left - 12, row + 19, f"lanes {lanes[0]} to {lanes[-1]}", 12, "end")
            for bank in range(32):
                d.box(left + bank * cell, row, cell, 28, "white", GREY, 0.6)
            for lane in lanes:
                bank = lane * apart % 32
                d.box(left + bank * cell, row, 4 * cell, 28, PALE[lane % 4], INK)
                d.text(left + (bank + 2) * cell, row + 19, f"lane {lane}", 12)
        end = y + 62 + 34 * sum(1 for lanes in turns if lanes)
        said = ("8 lanes, 32 banks, each once: one wavefront" if apart == 4 else "lanes 0 and 4 "
                "read the same banks, and so do 1 and 5, ...: two wavefronts")
        d.text(left, end + 20, said, 13, "start", GREEN if apart == 4 else RED)
    d.text(20, 424,
           "Shared memory serves the 16-byte loads of eight lanes in one wavefront if all 32 banks "
           "are different. Lanes 8 to 31 follow likewise.\n"
           "Only the order in which a sum's terms are added differs between the two ways. The "
           "loads of the second way take twice as long.\n"
           "A lane holds the same rows of q and of k, and two columns of the state, which makes 8 "
           "x 2 elements of the state in registers.", 13, "start")
    d.save("shared_packed_lanes.svg")


def decode():
    """Which thread holds which part of a head's state, and its nine loads over time."""
    d = Drawing(900, 440)
    d.text(20, 26, "K = V = 64: a block holds a head's state", 15, "start", bold=True)
    left, top, cell = 70, 62, 4.6
    size = 64 * cell
    for warp in range(8):
        d.box(left, top + 8 * warp * cell, size, 8 * cell, PALE[warp % 4], "none")
        d.text(left - 8, top + (8 * warp + 4) * cell + 4, f"warp {warp}", 11, "end")
    d.lines([((left, top + r * cell), (left + size, top + r * cell)) for r in range(4, 64, 4)], GREY, 0.5)
    d.lines([((left + c * cell, top), (left + c * cell, top + size)) for c in range(4, 64, 4)], GREY, 0.3)
    d.box(left, top, size, size, "none")
    d.box(left + 8 * cell, top + 20 * cell, 4 * cell, 4 * cell, RED, INK)
    d.text(left + size / 2, top - 8, "64 columns: sixteen lanes, four columns each", 12)
    d.text(20, top + size + 24,
           "Red: the 4 x 4 elements of one thread. It reads them in four\nloads of 16 bytes, and "
           "stores them to the same addresses.", 12, "start")
    x0 = 450
    d.text(x0, 26, "A thread's nine loads", 15, "start", bold=True)
    names = ("v", "state, row 0", "state, row 1", "state, row 2", "state, row 3", "q", "k", "log_w", "u")

    def loads(y, words, apart, wait):
        d.text(x0, y, words, 13, "start", bold=True)
        for n, name in enumerate(names):
            start = x0 + 84 + n * apart
            d.text(x0 + 78, y + 21 + 13 * n, name, 10.5, "end")
            d.box(start, y + 12 + 13 * n, wait, 10, PALE[0], GREY, 0.6)
        return x0 + 84 + 8 * apart + wait

    wait = 36
    end = loads(56, "Each load waits for the one before", wait + 2, wait)
    d.line([(end, 62), (end, 196)], RED, 2)
    d.text(end - 4, 214, "nine latencies of memory, then compute", 12, "end", RED)
    end = loads(250, "Every load before the first use", 3, wait)
    d.line([(end, 256), (end, 390)], GREEN, 2)
    d.text(end + 8, 330, "one latency, then compute", 12, "start", GREEN)
    d.text(x0, 420, "A box is a load, from its request to its value. Not to scale.", 12, "start",
           NOTE)
    d.save("shared_decode.svg")


for draw in (prefix_sum_carry, partition, chunk_walk, chunk_states, decode, packed_lanes,
             exclusive_scan_over_warps):
    draw()
