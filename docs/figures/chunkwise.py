"""Draws chapter 07's figures of decays, and of the GLA layer."""
from math import cos, exp, inf

from drawing import DARK_BLUE, GREEN, GREY, INK, NOTE, RED, Drawing

PALE = ["#e8f0fa", "#edf5ea", "#fef3e8", "#f4e8ee"]  # of the four sub-chunks
# of 0 to 1
SCALE = ["#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"]
CHUNK, SUB_CHUNK = 64, 16


def decayed_scores():
    d = Drawing(860, 436)
    cell, top, lefts = 5, 40, (60, 416)
    mild = [-0.35 if step % 7 == 3 else -0.06 for step in range(CHUNK)]
    total = [*mild[:40], -inf, *mild[41:]]
    for left, log_w, title in zip(lefts, (mild, total), ("mild decay", "the same, and step 40 forgets everything")):
        d.text(left + CHUNK * cell / 2, 26, title)
        for query in range(CHUNK):
            colours = [SCALE[round(10 * exp(sum(log_w[key + 1:query + 1])))] for key in range(query + 1)]
            starts = [key for key in range(query + 1) if key == 0 or colours[key] != colours[key - 1]]
            for key, end in zip(starts, [*starts[1:], query + 1]):
                d.box(left + cell * key, top + cell * query, cell * (end - key), cell, colours[key], "none")
        for border in range(0, CHUNK, SUB_CHUNK):
            at = cell * border
            if border:
                d.line(((left, top + at), (left + at, top + at)), "white", 1)
                d.line(((left + at, top), (left + at, top + CHUNK * cell)), GREY, 0.6)
            d.text(left + at, top + CHUNK * cell + 18, str(border), 12)
            d.text(left - 8, top + at + 8, str(border), 12, "end")
        d.box(left, top, CHUNK * cell, CHUNK * cell, "none", GREY)
        d.text(left + 230, top + 70, "s > t:\nnot selected", colour=GREY)
        d.text(left + CHUNK * cell / 2, top + CHUNK * cell + 38, "key s")
    d.text(20, 30, "query t", anchor="start")
    for level, colour in enumerate(SCALE):
        d.box(760, 320 - 26 * level, 22, 26, colour, "none")
        if level % 5 == 0:
            d.text(790, 338 - 26 * level, f"{level / 10:.1f}", 12, "start")
    d.text(20, 424, "Colour: the decay of key s until step t, exp(G(t) - G(s))", anchor="start")
    d.save("decayed_scores.svg")


def sub_chunk_anchor():
    """Two plots of the same steps."""
    d = Drawing(860, 600)
    left, wide = 90, 11.5
    log_w = [-2 + 0.5 * cos(0.9 * step) for step in range(CHUNK)]
    G = [sum(log_w[:step + 1]) for step in range(CHUNK)]
    first = 48  # of the queries' sub-chunk
    border = G[first - 1]

    def x(step):
        return left + wide * (step + 0.5)

    def curve(y, steps, values, colour):
        d.line([(x(step), y(value)) for step, value in zip(steps, values)], colour)
        for step, value in zip(steps, values):
            d.circle(x(step), y(value), 1.8, colour, "none")

    def axes(y, low, high, ticks):
        for n, colour in enumerate(PALE):
            d.box(left + wide * SUB_CHUNK * n, y(high), wide * SUB_CHUNK, y(low) - y(high), colour, "none")
        d.line(((left, y(high)), (left, y(low)), (left + wide * CHUNK, y(low))), GREY)
        for tick in ticks:
            d.text(left - 8, y(tick) + 4, str(tick), 12, "end")
        d.line(((left + wide * first, y(high)), (left + wide * first, y(low))))

    def upper(value):
        return 60 - 1.8 * value

    def below(value):
        return 450 - 0.95 * value

    d.text(20, 24,
           "A score's decay, split at the border before the query's sub-chunk (log_w about -2)", 15,
           "start", bold=True)
    axes(upper, -135, 5, range(0, -121, -20))
    d.text(20, 46, "G: log decay since the chunk began", 12, "start")
    curve(upper, range(CHUNK), G, INK)
    key, query = 21, 57
    for at, colour, ends in ((key, DARK_BLUE, (G[key], border)), (query, GREEN, (border, G[query]))):
        d.line(((x(at), upper(border)), (left + wide * first, upper(border))), GREY, 1, "2 3")
        d.line([(x(at), upper(value)) for value in ends], colour, 1.6, arrow=True)
    d.text(x(key) - 8, upper(-68), "k decays from s to the border:\nG(border) - G(s) is at most 0", 13, "end", DARK_BLUE)
    d.text(left + wide * first - 8, upper(-114), "q from the border to t:\nG(t) - G(border) is at most 0", 13, "end", GREEN)
    d.text(left + wide * first - 8, upper(-4), "border", anchor="end")
    axes(below, -105, 135, range(-100, 101, 50))
    d.text(20, below(135) - 6, "exponent", 12, "start")
    d.line(((left, below(0)), (left + wide * CHUNK, below(0))), GREY, 0.8)
    d.line(((left, below(88.7)), (left + wide * CHUNK, below(88.7))), RED, 1, "5 4")
    d.text(left + 14, below(93), "above 88.7, exp is infinite in fp32", anchor="start", colour=RED)
    curve(below, range(CHUNK), [-value for value in G], RED)
    curve(below, range(first), [border - value for value in G[:first]], DARK_BLUE)
    curve(below, range(first, CHUNK), [value - border for value in G[first:]], GREEN)
    for y, colour, words in ((18, RED, "k anchored at the chunk's beginning: -G(s)"), (-64, DARK_BLUE, "k anchored at the border: G(border) - G(s)"),
                             (-88, GREEN, "q anchored at the border: G(t) - G(border)")):
        d.text(left + wide * 47, below(y), words, 12, "end", colour)
    for tick in range(0, CHUNK, SUB_CHUNK):
        d.text(x(tick), below(-105) + 18, str(tick), 12)
    d.text(left + wide * CHUNK / 2, below(-105) + 38, "step of the chunk")
    d.save("sub_chunk_anchor.svg")


def anchors():
    """Lesson 04: the exponents of both factors of a score, for four choices of anchor."""
    d = Drawing(900, 640)
    wide, high, most, limit, clamp = 5.6, 170, 330, 88.7, 80
    decays = ((-2, ""), (-5, "4 3"))
    forms = (("anchor at the chunk's beginning", -1, None, "both decays overflow"),
             ("anchor at the centre", 31, None, "-2 fits, -5 overflows"),
             ("centre and clamp: at most 80", 31, clamp,
              "finite, but for -5 neighbours far from the anchor get 0"),
             ("sub-chunks: anchor before token 48", 47, None, "no exponent above 0"))
    d.text(20, 28, "The exponents of both factors of a score, for log-decays of -2 and -5 "
                   "per token", 15, "start", bold=True)
    for n, (title, anchor, largest, verdict) in enumerate(forms):
        left, top = 90 + 420 * (n % 2), 84 + 258 * (n // 2)
        middle = top + high / 2
        up = high / 2 / most
        d.text(left, top - 14, title, 13.5, "start", bold=True)
        d.box(left, top, wide * CHUNK, high, "#fafafa", GREY, 0.8)
        d.box(left, top, wide * CHUNK, high / 2 - up * limit, "#f9dcd8", "none")
        for tick in (-300, 0, 300):
            d.text(left - 8, middle - up * tick + 4, str(tick), 11.5, "end", NOTE)
        d.line([(left, middle), (left + wide * CHUNK, middle)], GREY, 0.8)
        x = left + wide * (anchor + 1)
        d.line([(x, top), (x, top + high)], RED, 1.4)
        for tick in range(0, CHUNK, SUB_CHUNK):
            d.text(left + wide * (tick + 0.5), top + high + 16, str(tick), 11.5, colour=NOTE)
        for decay, dashes in decays:
            def c(t):
                return decay * (t + 1)

            keys = range(48 if n == 3 else CHUNK)
            queries = range(48 if n == 3 else 0, CHUNK)
            for steps, exponents, colour in ((keys, [c(anchor) - c(s) for s in keys], DARK_BLUE),
                                             (queries, [c(t - 1) - c(anchor) for t in queries],
                                              GREEN)):
                values = [min(e, largest) if largest else e for e in exponents]
                assert n < 3 or max(values) <= 0
                d.line([(left + wide * (t + 0.5), middle - up * e) for t, e in zip(steps, values)],
                       colour, 1.8, dashes)
        d.text(left, top + high + 36, verdict, 12.5, "start", GREEN if n == 3 else RED)
    d.text(20, 606, "Blue: of k, anchor minus c_s. Green: of q, c_{t-1} minus anchor. Solid: -2. "
                    "Dashed: -5. Red line: the anchor.", 12.5, "start")
    d.text(20, 626, "Red area: above 88.7 exp is infinite in fp32. In the last form, pairs within "
                    "tokens 48 to 63 have their own exponents.", 12.5, "start")
    d.save("chunk_anchors.svg")


def gla_layer():
    """Lesson 06: the arrays of a layer and the launches between them."""
    d = Drawing(900, 560)
    d_model, keys, values, rank = 2048, 4 * 256, 4 * 512, 16
    d.text(20, 28, "A layer with d_model = 2048, H = 4, K = 256, V = 512: channels per token, "
                   "to scale", 15, "start", bold=True)

    def array(x, middle, channels, name):
        high = channels / 32
        d.box(x, middle - high / 2, 22, high, PALE[0])
        d.text(x + 11, middle - max(high / 2, 4) - 6, f"{name}: {channels}", 12, bold=True)

    def launch(x, middle, words, colour, wide=92):
        d.box(x, middle - 15, wide, 30, colour)
        d.text(x + wide / 2, middle + 4, words, 11.5)

    def arrow(*points):
        d.line(points, INK, 1.2, arrow=True)

    product, small, operator = "#9fc5e8", "#fce5cd", "#d9ead3"
    rows = {"q": 90, "k": 160, "v": 244, "low": 336, "z": 440}
    array(30, 250, d_model, "x")
    for name, y in rows.items():
        arrow((54, 250), (80, 250), (80, y), (100, y))
        launch(103, y, "x " + {"low": "W_1", "z": "W_g"}.get(name, f"W_{name}"), product)
        arrow((195, y), (222, y))
        array(225, y, {"q": keys, "k": keys, "v": values, "low": rank, "z": values}[name], name)
    y = rows["low"]
    arrow((249, y), (272, y))
    launch(275, y, "low W_2", product, 68)
    arrow((343, y), (366, y))
    array(369, y, keys, "g")
    arrow((393, y), (412, y))
    launch(415, y, "+ b, logsigmoid / 16", small, 136)
    x = 582
    d.box(x, 70, 68, 288, operator)
    d.text(x + 34, 220, "GLA", 14, bold=True)
    d.text(x + 34, 240, "lesson 05", 11)
    for name in ("q", "k", "v"):
        arrow((249, rows[name]), (x - 3, rows[name]))
    arrow((551, y), (x - 3, y))
    arrow((650, 244), (676, 244))
    array(679, 244, values, "o")
    launch(690 - 61, rows["z"], "norm per head, gate", small, 128)
    arrow((249, rows["z"]), (626, rows["z"]))
    arrow((684, 280), (684, rows["z"] - 18))
    arrow((696, rows["z"] - 16), (696, 280))
    d.text(704, 356, "in place", 12, "start", NOTE)
    arrow((703, 244), (733, 244))
    launch(736, 244, "o W_o", product, 68)
    arrow((804, 244), (832, 244))
    array(835, 244, d_model, "y")
    for n, (colour, words) in enumerate(((product, "matrix product"), (small, "small kernel"),
                                         (operator, "the operator"), (PALE[0], "array in memory"))):
        d.box(20 + 160 * n, 498, 16, 16, colour, GREY)
        d.text(44 + 160 * n, 511, words, 12.5, "start")
    d.text(20, 546, "The decay's path is 16 channels wide in the middle: W_1 and W_2 instead of "
                    "one matrix of 2048 x 1024. g is changed in place, too.", 12.5, "start")
    d.save("gla_layer.svg")


for draw in (decayed_scores, sub_chunk_anchor, anchors, gla_layer):
    draw()
