"""Draws the figures of 07_chunkwise/12_pairs, 13_tree, 14_places_used_again, 15_wkv_and_gla,
20_backward and 20b_reverse_tree."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, ORANGE, RED, Drawing

TOKENS = 16  # of a sub-chunk
QUERY, KEY = 11, 5  # the highlighted pair
LEVELS = {8: "#9fc5e8", 4: "#b6d7a8", 2: "#f9cb9c", 1: "#d5a6bd"}  # size of the blocks, colour
OWN = "#ffe599"


def pairs():
    """Which tokens' decays are in a score's term, in q~ and in k~, for one channel of a
    sub-chunk."""
    d = Drawing(900, 350)
    d.text(20, 28, "One channel of a sub-chunk: which decays are between two moments", 15, "start",
           bold=True)
    cell, left, top = 44, 150, 96
    x = [left + cell * t for t in range(TOKENS + 1)]
    d.text(left - 14, top + 20, "decay of\ntoken t", 12, "end", NOTE)
    for t in range(TOKENS):
        colour = ORANGE if t == QUERY else BLUE if t == KEY else LIGHT
        d.box(x[t], top, cell, 34, colour, GREY, 0.7)
        d.text(x[t] + cell / 2, top + 22, f"w{t}", 12)
    d.text(x[KEY] + cell / 2, top - 10, "key s = 5", 12, colour=DARK_BLUE)
    d.text(x[QUERY] + cell / 2, top - 10, "query l = 11", 12)
    d.text(left, top - 32, "state before\nthe sub-chunk", 11, colour=GREEN)
    d.text(x[-1], top - 32, "state after\nthe sub-chunk", 11, colour=RED)

    def span(begin, end, y, colour, name, words):
        d.line([(x[begin], y), (x[end], y)], colour, 4)
        for edge in (begin, end):
            d.line([(x[edge], y - 7), (x[edge], y + 7)], colour, 2)
        d.text(left - 14, y + 5, name, 13, "end", colour, True)
        d.text(x[end] + 8 if end < 13 else x[begin] - 8, y + 5, words, 12, "start" if end < 13 else "end", colour)

    span(KEY + 1, QUERY, top + 66, INK, "the pair", "exp(c11 - c6)")
    span(0, QUERY, top + 104, GREEN, "q~ of 11", "exp(c11)")
    span(KEY + 1, TOKENS, top + 142, DARK_BLUE, "k~ of 5", "exp(c16 - c6)")
    span(0, TOKENS, top + 180, RED, "the state", "")
    d.text(x[4], top + 172, "exp(c16)", 12, colour=RED)
    d.text(20, top + 220,
           "c_t is the sum of log_w of the tokens before t, from c_0 = 0 to c_16: one table of 17 "
           "rows holds both ends of every bar.", 12.5, "start")
    d.text(20, top + 240,
           "The bars of key 5 begin after its own w5, because k v is added to the state after w5 "
           "is applied. Query 11 reads the state before w11.", 12.5, "start")
    d.save("decay_pairs.svg")


def tree():
    """The four levels of blocks, and which scores come from which level's product."""
    d = Drawing(900, 800)
    d.text(20, 28, "A sub-chunk of 16 tokens: four levels of blocks, a matrix product for each", 15,
           "start", bold=True)
    cell, left, top = 44, 150, 78
    x = [left + cell * t for t in range(TOKENS + 1)]
    for t in range(TOKENS):
        d.text(x[t] + cell / 2, top - 10, str(t), 12, colour=NOTE)
    for row, size in enumerate((1, 2, 4, 8)):
        y = top + 58 * row
        d.text(left - 14, y + 21, f"blocks of {size}", 13, "end", INK, True)
        for first in range(0, TOKENS, 2 * size):
            d.box(x[first], y, cell * size, 32, LIGHT, GREY, 0.7)
            d.box(x[first + size], y, cell * size, 32, LEVELS[size], GREY, 0.7)
            middle = x[first + size]
            d.line([(middle, y - 4), (middle, y + 36)], RED, 2.6)
            d.text(middle - cell * size / 2, y + 21, "k", 12)
            d.text(middle + cell * size / 2, y + 21, "q", 12)
    y = top + 58 * 3
    d.line([(x[KEY + 1], y + 44), (x[8], y + 44)], DARK_BLUE, 3)
    d.line([(x[8], y + 44), (x[QUERY], y + 44)], GREEN, 3)
    d.text(x[KEY + 1] - 8, y + 49, "key 5: decays 6, 7", 12, "end", DARK_BLUE)
    d.text(x[QUERY] + 8, y + 49, "query 11: decays 8, 9, 10", 12, "start", GREEN)
    d.text(x[8], y + 66, "anchor", 12, colour=RED)

    cell, left, top = 23, 70, top + 58 * 4 + 86
    d.text(left + cell * 8, top - 26, "key s", 12)
    d.text(left - 38, top + cell * 8, "query\nl", 12)
    for l in range(TOKENS):
        d.text(left - 8, top + cell * l + 16, str(l), 11, "end", NOTE)
        d.text(left + cell * l + cell / 2, top - 8, str(l), 11, colour=NOTE)
        for s in range(TOKENS):
            size = 1 << ((l ^ s).bit_length() - 1) if l != s else 0
            d.box(left + cell * s, top + cell * l, cell, cell, OWN if l == s else LEVELS[size] if s < l else "white", GREY, 0.6)
    d.box(left + cell * KEY, top + cell * QUERY, cell, cell, "none", INK, 2.4)

    words = left + cell * TOKENS + 40
    d.text(words, top + 8, "Which scores a level's product gives", 14, "start", bold=True)
    legend = [(8, "8 queries and 8 keys: 64 scores"), (4, "twice 4 and 4: 32 scores"),
              (2, "four times 2 and 2: 16 scores"), (1, "eight neighbours: 8 scores")]
    for row, (size, what) in enumerate(legend):
        d.box(words, top + 26 + 26 * row, 18, 18, LEVELS[size], GREY, 0.7)
        d.text(words + 28, top + 40 + 26 * row, f"blocks of {size}: {what}", 12.5, "start")
    d.box(words, top + 130, 18, 18, OWN, GREY, 0.7)
    d.text(words + 28, top + 144, "the query's own key, with the bonus: 16 scores", 12.5, "start")
    d.box(words, top + 156, 18, 18, "white", GREY, 0.7)
    d.text(words + 28, top + 170, "later keys: 0", 12.5, "start")
    d.text(words, top + 208,
           "Black: query 11, key 5.\nNo block of 8 or less holds both of them.\nBut two blocks of "
           "8 are neighbours, with\nkey 5 in the left one and query 11 in the right one.", 12.5,
           "start")
    d.text(words, top + 292,
           "Each product computes all 16 x 16 results.\nOnly those of its own colour are used.",
           12.5, "start")
    d.save("decay_tree.svg")


def places():
    """Two stages over time: what each buffer holds; then one, two and three blocks on an SM."""
    d = Drawing(900, 704)
    d.text(20, 28, "One block: what each buffer holds while a stage is prepared and walked", 15,
           "start", bold=True)
    left, half, gap = 128, 182, 8
    starts = [left + (half + gap) * n for n in range(4)]  # prepare 0, walk 0, prepare 1, walk 1
    coming, used, sent = "#fff2cc", BLUE, "#f4cccc"

    def bar(x, y, width, words, colour, height=28):
        d.box(x, y, width, height, colour)
        d.text(x + width / 2, y + height / 2 + 4.5, words, 12)

    rows = {"the block": 66, "q, k: buffer 0": 112, "q, k: buffer 1": 146, "log_w": 188, "v": 230}
    for name, y in rows.items():
        d.text(20, y + 19, name, 13, "start", bold=name == "the block")
    for n, x in enumerate(starts):
        bar(x, rows["the block"], half, ("prepare", "walk")[n % 2] + f" {n // 2}", LEVELS[4] if n % 2 else LEVELS[2])
        d.line([(x - gap / 2, 54), (x - gap / 2, 266)], RED, 2.6)
    d.line([(starts[3] + half + gap / 2, 54), (starts[3] + half + gap / 2, 266)], RED, 2.6)
    whole = 2 * half + gap
    for n, place in ((0, 0), (1, 1)):
        y, other = rows[f"q, k: buffer {place}"], rows[f"q, k: buffer {1 - place}"]
        bar(starts[2 * n], y, whole, f"q {n} and k {n}, then q~ and k~", used)
        bar(starts[2 * n], other, whole, f"q {n + 1} and k {n + 1} in flight", coming)
        bar(starts[2 * n], rows["log_w"], half, f"log_w {n}, then q u", used)
        bar(starts[2 * n + 1], rows["log_w"], half, f"log_w {n + 1} in flight", coming)
        send = 52 * n  # the first iteration has no outputs to send yet
        if send:
            d.box(starts[2], rows["v"], send, 28, sent)
            d.text(starts[2] + send / 2, rows["v"] + 18, "store o", 12)
        bar(starts[2 * n] + send, rows["v"], half - send, f"v {n} in flight", coming)
        bar(starts[2 * n + 1], rows["v"], half, f"v {n}, then o {n} over it", used)
    d.text(20, 292,
           "Red lines are barriers. After each, all warps have finished the half before it. Only "
           "then a buffer is refilled.", 12.5, "start", NOTE)
    legend = ((used, "in use"), (coming, "filled by asynchronous copies"),
              (sent, "outputs are stored to global memory"),
              (LEVELS[2], "the block prepares a stage"), (LEVELS[4], "the block walks a stage"))
    for i, (colour, words) in enumerate(legend):
        x, y = 20 + (0, 220, 490)[i % 3], 306 + 24 * (i // 3)
        d.box(x, y, 16, 16, colour, GREY)
        d.text(x + 24, y + 13, words, 12.5, "start")
    d.text(20, 368,
           "q, k, v: inputs of a stage of 64 tokens. o: its outputs. The number is that of the "
           "stage. u: the bonus. q u: for the bonus.", 12.5, "start")
    d.text(20, 388,
           "q~: q with the decays of its sub-chunk before it. k~: k with the decays of its "
           "sub-chunk after it.", 12.5, "start")

    d.text(20, 430, "An SM with one, two and three blocks (a sketch: lengths are not measured)", 15,
           "start", bold=True)
    work, wait, shift = 92, 46, 46
    y = 454
    for blocks in (1, 2, 3):
        d.text(20, y + 13 + 11 * (blocks - 1) + 3, f"{blocks} block" + "s" * (blocks > 1), 13, "start", bold=True)
        for block in range(blocks):
            x, n = left + shift * block, 0
            top = y + 24 * block
            while x + work < 880:
                d.box(x, top, work, 20, LEVELS[4] if n % 2 else LEVELS[2], GREY, 0.8)
                d.text(x + work / 2, top + 14.5, ("prepare", "walk")[n % 2] + f" {n // 2}", 12)
                if x + work + wait < 880:
                    d.line([(x + work + 3, top + 10), (x + work + wait - 3, top + 10)], GREY, 1.4, "3 3")
                x, n = x + work + wait, n + 1
        y += 24 * blocks + 22
    d.text(20, 670,
           "Dashes: the block's warps wait, for a barrier or for results of earlier instructions. "
           "With one block the SM is idle then.", 12.5, "start", NOTE)
    d.text(20, 690,
           "With more blocks another one runs meanwhile. Each needs shared memory and registers of "
           "its own.", 12.5, "start", NOTE)
    d.save("places_used_again.svg")


def level_products():
    """Lesson 15: each level as one 8 x 8 product, and where its useful blocks go."""
    d = Drawing(900, 560)
    cell, top = 22, 104
    d.text(20, 28, f"A sub-chunk of {TOKENS} tokens: one 8 x 8 product per level. Coloured blocks "
                   "are used", 15, "start", bold=True)
    for n, size in enumerate((2, 4, 8)):
        left = 60 + 290 * n
        queries = [start + size + i for start in range(0, TOKENS, 2 * size) for i in range(size)]
        keys = [start + i for start in range(0, TOKENS, 2 * size) for i in range(size)]
        blocks = "one block" if size == 8 else f"{8 // size} blocks"
        d.text(left - 40, 62, f"halves of {2 * size}: {blocks} of {size} x {size}", 13.5, "start",
               bold=True)
        d.text(left + 4 * cell, top - 22, "keys", 11.5, colour=NOTE)
        d.text(left - 28, top + 8 * cell + 14, "queries", 11.5, "start", NOTE)
        for row in range(8):
            d.text(left - 6, top + cell * (row + 0.5) + 4, str(queries[row]), 11, "end")
            d.text(left + cell * (row + 0.5), top - 6, str(keys[row]), 11)
            for column in range(8):
                used = row // size == column // size
                d.box(left + cell * column, top + cell * row, cell, cell,
                      LEVELS[size] if used else "white", GREY, 0.7)
        d.text(left, top + 8 * cell + 32, f"{8 * size} of 64 results are scores", 12, "start")

    left, top, cell = 60, 362, 11
    d.text(20, top - 20, "Where they go in the 16 x 16 scores", 13.5, "start", bold=True)
    for query in range(TOKENS):
        for key in range(TOKENS):
            size = 1
            while query // (2 * size) != key // (2 * size):
                size *= 2
            colour = "white" if key > query else OWN if key == query else LEVELS[size]
            d.box(left + cell * key, top + cell * query, cell, cell, colour, GREY, 0.6)
    words = ((LEVELS[8], "halves of 16: 64 scores"), (LEVELS[4], "halves of 8: 32"),
             (LEVELS[2], "halves of 4: 16"),
             (LEVELS[1], "neighbours 2i and 2i + 1: 8, no decay between them"),
             (OWN, "the bonus, on the diagonal: 16"), ("white", "later keys: 0"))
    for n, (colour, line) in enumerate(words):
        d.box(300, top + 6 + 28 * n, 16, 16, colour, GREY, 0.8)
        d.text(326, top + 19 + 28 * n, line, 12.5, "start")
    d.save("decay_level_products.svg")


def spans():
    """Lesson 20: the decays that each row of a level contains, and the ones that add them up."""
    d = Drawing(900, 558)
    level, half, cell, top = 2, 4, 34, 120

    def one(t, r):
        """The same as make_span of decay_tree.hpp, for WKV."""
        is_query = t >> level & 1
        return t >> level == r >> level and (r > t if is_query else r < t)

    d.text(20, 28, f"Level {level} of WKV: the factors w_t in each row of X, and the gradients of "
                   "their logarithms", 15, "start", bold=True)
    left = 170
    d.text(left, 62, "Row r of X contains w_t (green)", 13.5, "start", bold=True)
    d.text(left - 12, top - 28, "step t", 12, "end", NOTE)
    for t in range(2 * half):
        d.text(left + cell * (t + 0.5), top - 28, str(t), 12, colour=NOTE)
    for r in range(2 * half):
        is_query, y = r >= half, top + cell * r
        words = "".join(f" w{t}" for t in range(2 * half) if one(t, r))
        d.text(left - 12, y + 22, f"X{r} = {'q' if is_query else 'k'}{r}{words}", 12, "end")
        for t in range(2 * half):
            d.box(left + cell * t, y, cell, cell, LEVELS[4] if one(t, r) else "white", GREY, 0.8)
            if t == r:
                d.text(left + cell * (t + 0.5), y + 22, "q" if is_query else "k", 12.5, bold=True)
    d.line([(left + cell * half, top - 16), (left + cell * half, top + 2 * half * cell + 10)], RED,
           2.4)
    d.text(left + cell * half, top + 2 * half * cell + 26, "the middle", 12, colour=RED)
    x, cell = 540, 19
    d.text(x, 62, "spans[2]: a 1 in row t, column r (orange)", 13.5, "start", bold=True)
    d.text(x - 12, top - 8, "t", 12, "end", NOTE)
    for r in range(TOKENS):
        d.text(x + cell * (r + 0.5), top - 8, str(r), 10, colour=NOTE)
        d.text(x - 8, top + cell * (r + 0.5) + 4, str(r), 10, "end", NOTE)
        for t in range(TOKENS):
            d.box(x + cell * r, top + cell * t, cell, cell, ORANGE if one(t, r) else "white",
                  "#cccccc", 0.7)
    d.text(x + cell * TOKENS + 8, top - 8, "r", 12, "start", NOTE)
    for t in (2, 5):
        d.box(x, top + cell * t, cell * 2 * half, cell, "none", DARK_BLUE, 2)
    y = top + cell * TOKENS + 30
    sums = [" + ".join(f"X{r} dX{r}" for r in range(TOKENS) if one(t, r)) for t in (2, 5)]
    assert sums == ["X0 dX0 + X1 dX1", "X6 dX6 + X7 dX7"]
    for n, (t, words) in enumerate(zip((2, 5), sums)):
        d.text(x, y + 20 * n, f"d_log_w of step {t}: {words}", 12.5, "start", DARK_BLUE)
    d.text(20, 520, "dX is the gradient of X, by channel. For w_t the keys before t count, and the "
                    "queries after t. Level 1 has triangles of", 12.5, "start")
    d.text(20, 540, "2 steps, level 3 of 8, and level 0 has none in WKV. In GLA a query's row "
                    "contains its own w_t, too.", 12.5, "start")
    d.save("decay_spans.svg")


def reverse():
    """One join in detail: the decays that gradients lack, the decays' own gradients, and the last
    additions."""
    d = Drawing(900, 452)
    d.text(20, 28, "A join is taken apart: from the gradients of the joined block to those of its halves", 15, "start", bold=True)
    left, middle, right, top = 150, 500, 850, 62
    d.box(left, top, right - left, 40, LIGHT, GREY, 0.7)
    d.text((left + middle) / 2, top + 25, "the joined block: dq and dk of its tokens,", 12.5)
    d.text((middle + right) / 2, top + 25, "and Λ, for the logarithm of its decay", 12.5)
    low = 356
    for begin, end, name, colour in ((left, middle, "left block L: decay W_L", "#d9e7f6"), (middle, right, "right block R: decay W_R", LEVELS[4])):
        d.box(begin, low, end - begin, 40, colour, GREY, 0.7)
        d.text((begin + end) / 2, low + 25, name, 13, bold=True)
    d.line([(middle, top - 6), (middle, low + 46)], RED, 2.4)
    rows = [(134, "1", "dq and dk are\nmultiplied",
             "dk_s = W_R dk_s\nfor each key s of L",
             "dq_p = W_L dq_p\nfor each query p of R", INK),
            (206, "2", "each decay gets\nits gradient",
             "Λ_L = Λ + sum of q_p dq_p\nover the queries of R",
             "Λ_R = Λ + sum of k_s dk_s\nover the keys of L", GREEN),
            (278, "3", "the pairs of\nthis join",
             "dk_s = dk_s + sum of G[p,s] q_p\nover the queries of R",
             "dq_p = dq_p + sum of G[p,s] k_s\nover the keys of L", DARK_BLUE)]
    for y, number, what, of_left, of_right, colour in rows:
        d.text(24, y + 20, number, 16, "start", colour, True)
        d.text(46, y + 12, what, 12, "start", colour)
        d.box(left + 10, y - 8, middle - left - 20, 52, "white", colour, 1)
        d.box(middle + 10, y - 8, right - middle - 20, 52, "white", colour, 1)
        d.text((left + middle) / 2, y + 12, of_left, 13, colour=colour)
        d.text((middle + right) / 2, y + 12, of_right, 13, colour=colour)
    d.text(20, 424,
           "q and k are those before the join. dq of L and dk of R do not change. Step 2 comes "
           "before step 3: between the tokens of such a", 12.5, "start")
    d.text(20, 442,
           "pair are only some of L's decays and some of R's. The deeper joins compute their "
           "gradients.", 12.5, "start")
    d.save("decay_reverse.svg")


for draw in (pairs, tree, places, level_products, spans, reverse):
    draw()
