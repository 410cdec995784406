// Plays recordings of blocks (common/xray/play.hpp) step by step: <xray-player names="04 05"> shows
// those two side by side. A recording's script adds it to xrayRecordings. Needs model.js.
"use strict";

const xrayRecordings = (globalThis.xrayRecordings ??= {});

const xrayPlayer = (() => {
  const {kLanes, kBanks, kWordBytes, kSectorBytes, is, distinct, wordsByBank} = xrayModel;
  const kSpeeds = {slow: 1000, normal: 300, fast: 60};  // milliseconds per step
  const kColumns = 64;  // steps in the picture over time

  const kStyle = `
:host { display: block; container-type: inline-size; margin: 1em 0; font: 16px/1.45 system-ui, sans-serif;
  --surface: light-dark(#ffffff, #1a1e24); --text: light-dark(#1c2127, #e5e8ec); --muted: light-dark(#58616b, #a3adb8);
  --line: light-dark(#d9dde2, #323942); --strong: light-dark(#767f89, #7d8894); --accent: light-dark(#0a58a8, #82bbf7);
  --wash: light-dark(#e3eefa, #1f344c); --shared: light-dark(#a04a00, #f2ad55); --error: light-dark(#b3231b, #ff8c82);
  --on-accent: light-dark(#ffffff, #10151b); --idle: light-dark(#e4e6e9, #2b3138);
  color: var(--text); text-align: left; overflow-wrap: anywhere; }
:host(:focus-visible), :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
* { box-sizing: border-box; }
button, select { font: inherit; color: inherit; min-height: 42px; padding: 5px 13px; background: var(--surface);
  border: 1px solid var(--strong); border-radius: 8px; cursor: pointer; }
button:hover:not(:disabled) { border-color: var(--accent); background: var(--wash); }
button:disabled { color: var(--muted); border-color: var(--line); cursor: default; }
.play { background: var(--accent); color: var(--on-accent); min-width: 5.6em; font-weight: 600; }
.play:hover:not(:disabled) { background: var(--text); color: var(--surface); }
.controls { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 10px; }
.controls input { flex: 1 1 160px; min-width: 0; min-height: 42px; margin: 0; accent-color: var(--accent); }
.where { font-variant-numeric: tabular-nums; color: var(--muted); min-width: 8em; }
.sides { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
@container (min-width: 640px) { .sides.two { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
.side { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 10px 12px; overflow: clip; }
.side.wrong { border-left: 4px solid var(--error); }
h3 { font-size: 16px; margin: 0; }
p { margin: 3px 0 8px; }
.muted { color: var(--muted); font-size: 14px; }
.bad { color: var(--error); font-weight: 600; }
.errors { display: flex; flex-wrap: wrap; gap: 6px; margin: 6px 0; }
.errors button { border-color: var(--error); color: var(--error); }
.sentence { min-height: 3em; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--muted); font: 12px system-ui, sans-serif; }
svg text.on { fill: var(--on-accent); font-weight: 600; }
.box { fill: none; stroke: var(--strong); }
.bank { fill: none; stroke: var(--line); }
.idle { fill: var(--idle); }
.lane { fill: light-dark(hsl(var(--hue) 62% 44%), hsl(var(--hue) 68% 68%)); }
.thread { stroke: light-dark(hsl(var(--hue) 62% 44%), hsl(var(--hue) 68% 68%)); fill: none; stroke-width: 1.4; }
.several { fill: var(--text); }
.several-text { fill: var(--surface) !important; font-weight: 600 !important; }
.global, .copies { fill: var(--accent); } .shared, .product { fill: var(--shared); } .other { fill: var(--strong); }
.barrier { stroke: var(--text); stroke-width: 2; }
.now { stroke: var(--text); stroke-width: 2; }
.later { opacity: .3; }
.fault { fill: var(--error); opacity: 1; }
.ring { fill: none; stroke: var(--error); stroke-width: 3; }
.time { cursor: pointer; }
pre { margin: 8px 0 0; height: 15.5em; overflow: auto; border: 1px solid var(--line); border-radius: 8px; padding: 4px 0;
  font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; position: relative; }
pre div { padding: 0 8px 0 3.6em; text-indent: -3.2em; white-space: pre-wrap; border-left: 4px solid transparent; min-height: 1.45em; }
pre div::before { content: attr(data-number); display: inline-block; width: 3.2em; text-indent: 0; color: var(--muted); }
pre .runs { background: var(--wash); border-left-color: var(--accent); font-weight: 600; }
pre .calls { border-left-color: var(--accent); }
pre .fault-line { border-left-color: var(--error); }
pre .changed { color: var(--error); }
pre .file { color: var(--muted); text-indent: 0; padding-left: 8px; border-top: 1px solid var(--line); }
pre .file::before { content: none; }
pre .file:first-child { border-top: 0; }
`;

  // ---- reading a recording

  // A pattern is a list of runs of lanes: [first lane, lanes, offset of the first, distance].
  function offsetsOf(runs, base) {
    const offsets = Array(kLanes).fill(null);
    for (const [first, count, offset, distance] of runs)
      for (let i = 0; i < count; ++i) offsets[first + i] = base + offset + i * distance;
    return offsets;
  }

  function stepsOf(recording) {
    return recording.steps.map((record) => {
      const [line, warp, base, pattern, cost, conflicts] = record;
      const last = record[record.length - 1], at = recording.lines[line];
      const step = {...at, warp, errors: last && last.errors ? last.errors : []};
      if (!at.bytes) return step;
      const space = at.operation.split(" ")[0];
      return {...step, space, offsets: offsetsOf(recording.patterns[pattern], base), cost,
        conflicts: space === "shared" ? conflicts : 0};
    });
  }

  // ---- words

  const grouped = (value) => value.toLocaleString("en-US");
  const count = (value, one) => `${grouped(value)} ${one}${value === 1 ? "" : "s"}`;
  const fileName = (path) => path.split("/").pop();
  const kVerbs = {load: "load", store: "store", atomic: "add to"};

  // The variable in shared memory that contains an offset.
  const variableAt = (recording, offset) =>
      recording.variables.filter((variable) => variable.offset <= offset).pop();

  function arrayOf(recording, step) {
    if (step.space === "global") return step.array || "no array";
    const variable = variableAt(recording, Math.min(...step.offsets.filter(is)));
    return variable ? variable.name : "shared memory";
  }

  // An error's sentence without the lines that call, which the source view marks.
  const shortened = ({message}) => message.replace(/, called at [^,]+:\d+/g, "");

  // The line that runs. A line of a header that is not shown follows its caller.
  function placeOf(recording, step) {
    const [by] = step.called_at || [], own = `${fileName(step.file)}:${step.line}`;
    if (!by) return own;
    const isShown = recording.source.some(({file}) => file === step.file);
    return isShown ? `${own}, called at ${by.line}` : `${fileName(by.file)}:${by.line}, in ${own}`;
  }

  // Where a warp's lanes are, in words: the same bytes, a row, equal distances, or anywhere.
  function pattern(step) {
    const offsets = step.offsets.filter(is);
    const gaps = new Set(offsets.slice(1).map((offset, i) => offset - offsets[i]));
    const [gap] = gaps, bytes = count(step.bytes, "byte");
    if (offsets.length === 1) return bytes;
    if (gaps.size === 1 && gap === 0) return `the same ${bytes}`;
    if (gaps.size === 1 && gap === step.bytes) return `${grouped(offsets.length * step.bytes)} bytes in a row`;
    if (gaps.size === 1) return `${bytes} each, ${grouped(Math.abs(gap))} bytes apart`;
    return `${bytes} each, at ${count(new Set(offsets).size, "place")}`;
  }

  function words(recording, step) {
    if (step.operation === "barrier") return "All warps of the block have reached this barrier.";
    if (!step.space) return `Warp ${step.warp}: ${step.operation.replace(/^wait$/, "wait for an mbarrier")}.`;
    const lanes = step.offsets.filter(is).length, verb = kVerbs[step.operation.split(" ")[1]];
    const who = lanes === kLanes ? "32 lanes" : count(lanes, "lane");
    const price = step.space === "global" ? count(step.cost, "sector") :
        `${count(step.cost, "wavefront")}${step.conflicts > 0 ? `, ${count(step.conflicts, "bank conflict")}` : ""}`;
    const does = lanes === 1 ? {load: "loads", store: "stores", "add to": "adds to"}[verb] : verb;
    return `Warp ${step.warp}: ${who} ${does} ${pattern(step)} of ${arrayOf(recording, step)}${
        step.matrix_load ? " with ldmatrix" : ""}: ${price}.`;
  }

  // ---- elements

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  function draw(parent, tag, attributes = {}, text = "") {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "hue") node.style.setProperty("--hue", value);
      else node.setAttribute(name, typeof value === "number" ? Math.round(value * 10) / 10 : value);
    }
    node.textContent = text;
    parent.append(node);
    return node;
  }

  function canvas(width, height, label) {
    const svg = draw(document.createDocumentFragment(), "svg", {viewBox: `0 0 ${width} ${height}`, role: "img"});
    svg.setAttribute("aria-label", label);
    return svg;
  }

  const hueOf = (lane) => 195 + lane * 4.4;

  // ---- the picture of one request

  const thread = (svg, lane, x, y, toX, toY) => draw(svg, "path", {class: "thread", hue: hueOf(lane),
    d: `M${x.toFixed(1)},${y} C${x.toFixed(1)},${(y + toY) / 2} ${toX.toFixed(1)},${(y + toY) / 2} ${toX.toFixed(1)},${toY}`});

  function drawLanes(svg, step, left, pitch, wrong) {
    step.offsets.forEach((offset, lane) => {
      draw(svg, "rect", {x: left + (lane + .08) * pitch, y: 16, width: pitch * .84, height: 13, rx: 2,
        class: is(offset) ? "lane" : "idle", hue: hueOf(lane)});
      if (wrong.has(lane))
        draw(svg, "rect", {x: left + lane * pitch, y: 14.5, width: pitch, height: 16, class: "ring", "data-wrong": lane});
      if (lane % 8 === 0 || lane === kLanes - 1)
        draw(svg, "text", {x: left + (lane + .5) * pitch, y: 11, "text-anchor": "middle"}, lane);
    });
  }

  // Bytes, filled by the lane that accesses them, or dark if several do.
  function drawBytes(svg, lanes, x, y, width, height) {
    draw(svg, "rect", {x, y, width, height, class: lanes.length > 1 ? "several" : "lane", hue: hueOf(lanes[0])});
    if (lanes.length > 1 && width >= 26)
      draw(svg, "text", {x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle", class: "several-text"}, `x${lanes.length}`);
  }

  // The lanes at each unit of `size` bytes.
  function lanesAt(step, size) {
    const lanes = new Map();
    step.offsets.forEach((offset, lane) => {
      if (!is(offset)) return;
      for (const unit of distinct([offset], step.bytes, size)) lanes.set(unit, [...(lanes.get(unit) || []), lane]);
    });
    return lanes;
  }

  function drawSectors(step, label, wrong, width) {
    const sectors = distinct(step.offsets, step.bytes, kSectorBytes);
    const gaps = sectors.filter((sector, i) => i > 0 && sector !== sectors[i - 1] + 1).length;
    const pitch = width / kLanes, unit = Math.min(150, width / (sectors.length + gaps * .4)), y = 92, height = 26;
    const svg = canvas(width, 146, label), xs = new Map();
    let x = (width - unit * (sectors.length + gaps * .4)) / 2;
    sectors.forEach((sector, i) => {
      if (i > 0 && sector !== sectors[i - 1] + 1) x += unit * .4;
      xs.set(sector, x);
      x += unit;
    });
    const xOf = (byte) => xs.get(Math.floor(byte / kSectorBytes)) + ((byte % kSectorBytes + kSectorBytes) % kSectorBytes) * unit / kSectorBytes;
    const size = Math.min(step.bytes, kWordBytes);
    for (const [part, lanes] of lanesAt(step, size)) drawBytes(svg, lanes, xOf(part * size), y + 1, Math.max(1.5, unit * size / kSectorBytes - .5), height - 2);
    for (const sector of sectors) draw(svg, "rect", {x: xs.get(sector), y, width: unit, height, class: "box", "data-sector": sector});
    step.offsets.forEach((offset, lane) => {
      if (!is(offset)) return;
      const middle = Math.min(step.bytes, kSectorBytes) / 2 * unit / kSectorBytes;
      thread(svg, lane, (lane + .5) * pitch, 29, xOf(offset) + middle, y);
      if (wrong.has(lane)) draw(svg, "rect", {x: xOf(offset) - 1, y: y - 3, width: Math.max(6, step.bytes * unit / kSectorBytes), height: height + 6, class: "ring"});
    });
    drawLanes(svg, step, 0, pitch, wrong);
    const first = sectors[0] * kSectorBytes, last = (sectors[sectors.length - 1] + 1) * kSectorBytes - 1;
    const bytes = `bytes ${grouped(first)} to ${grouped(last)} of ${step.array || "no array"}`, more = ", in sectors of 32 bytes";
    const fits = (bytes + more).length * 6.3 < width;
    draw(svg, "text", {x: 0, y: y + height + 16}, fits ? bytes + more : bytes);
    return svg;
  }

  function drawBanks(step, label, wrong, width) {
    const banks = wordsByBank(step.offsets, step.bytes), rows = Math.max(1, ...banks.map((words) => words.length));
    const pitch = width / kLanes, rowHeight = Math.max(6, Math.min(18, 130 / rows)), y = 78, bottom = y + rows * rowHeight;
    const svg = canvas(width, bottom + 38, label), lanes = lanesAt(step, kWordBytes);
    banks.forEach((words, bank) => {
      draw(svg, "rect", {x: bank * pitch, y, width: pitch, height: rows * rowHeight, class: "bank"});
      if (bank % 8 === 0 || bank === kBanks - 1)
        draw(svg, "text", {x: (bank + .5) * pitch, y: bottom + 13, "text-anchor": "middle"}, bank);
      words.forEach((word, row) => {
        for (const lane of lanes.get(word)) thread(svg, lane, (lane + .5) * pitch, 29, (bank + .5) * pitch, y + row * rowHeight);
      });
    });
    banks.forEach((words, bank) => words.forEach((word, row) => {
      drawBytes(svg, lanes.get(word), bank * pitch + 1, y + row * rowHeight + 1, pitch - 2, rowHeight - 1.5);
      if (lanes.get(word).some((lane) => wrong.has(lane)))
        draw(svg, "rect", {x: bank * pitch, y: y + row * rowHeight, width: pitch, height: rowHeight, class: "ring"});
    }));
    if (step.conflicts > 0) {
      const worst = banks.findIndex((words) => words.length === rows);
      draw(svg, "rect", {x: worst * pitch, y: y - 2, width: pitch, height: rows * rowHeight + 4, class: "ring", "data-conflict": worst});
    }
    drawLanes(svg, step, 0, pitch, wrong);
    draw(svg, "text", {x: 0, y: bottom + 31}, `banks, 4 bytes wide; ${count(rows, "row")}: the words of a bank`);
    return svg;
  }

  // The lanes of a step that take part in its errors.
  function wrongLanes(recording, step) {
    const [x, y] = recording.block, lanes = new Set();
    for (const error of step.errors.map((number) => recording.errors[number])) {
      for (const party of [error.party, error.other].filter(Boolean)) {
        const linear = party.thread[0] + x * (party.thread[1] + y * party.thread[2]);
        const same = party.block.join() === recording.of_block.join() && Math.floor(linear / kLanes) === step.warp;
        if (same && is((step.offsets || [])[linear % kLanes])) lanes.add(linear % kLanes);
      }
    }
    return lanes;
  }

  // ---- a block over time: a row per warp, a column per step

  // A copy, a product, or a wait; by the names of common/cuda/hopper.hpp.
  const kindOf = ({operation}) =>
      /^(tma_|bulk_)/.test(operation) && !/wait/.test(operation) ? "copies" : operation === "wgmma" ? "product" : "other";

  function drawTime(side, width, go) {
    const {recording, steps, current} = side;
    const warps = Math.ceil(recording.block.reduce((a, b) => a * b) / kLanes), rows = Math.min(warps, 16);
    const rowHeight = rows > 8 ? 6 : 13, pitch = (width - 52) / kColumns, height = rows * rowHeight;
    const from = Math.max(0, Math.min(current - kColumns / 2, steps.length - kColumns));
    const svg = canvas(width, height + 4, `Steps ${from + 1} to ${Math.min(steps.length, from + kColumns)} of ${count(warps, "warp")}`);
    svg.setAttribute("class", "time");
    for (let row = 0; row < rows; row += rowHeight < 13 ? 4 : 1)
      draw(svg, "text", {x: 0, y: row * rowHeight + 10}, `warp ${Math.floor(row * warps / rows)}`);
    steps.slice(from, from + kColumns).forEach((step, i) => {
      const x = 52 + i * pitch, later = from + i > current ? " later" : "";
      if (step.operation === "barrier")
        return draw(svg, "line", {x1: x + pitch / 2, x2: x + pitch / 2, y1: 0, y2: height, class: `barrier${later}`});
      draw(svg, "rect", {x: x + .5, y: Math.floor(step.warp * rows / warps) * rowHeight + 1, width: Math.max(1, pitch - 1), height: rowHeight - 2,
        class: `${step.errors.length > 0 ? "fault" : step.space || kindOf(step)}${later}`});
    });
    draw(svg, "line", {x1: 52 + (current - from + .5) * pitch, x2: 52 + (current - from + .5) * pitch, y1: height, y2: height + 4, class: "now"});
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * width / box.width;
      if (x >= 52) go(from + Math.floor((x - 52) / pitch));
    });
    return svg;
  }

  // ---- one recording

  function sourceView(recording) {
    const view = element("pre", {tabindex: "0", role: "region", "aria-label": `the source of ${recording.title}`}), lines = new Map();
    for (const {file, first, changed, text} of recording.source) {
      view.append(element("div", {class: "file"}, file));
      text.forEach((line, i) => {
        const node = element("div", {"data-number": first + i, class: changed.includes(first + i) ? "changed" : ""}, line);
        lines.set(`${file}:${first + i}`, node);
        view.append(node);
      });
    }
    for (const error of recording.errors) {
      for (const party of [error.party, error.other].filter(Boolean)) lines.get(`${party.file}:${party.line}`)?.classList.add("fault-line");
    }
    let marked = [];
    // Marks the line that runs and those that call it, and scrolls to the innermost caller.
    const show = (step) => {
      for (const node of marked) node.classList.remove("runs", "calls");
      const callers = (step.called_at || []).map((at) => lines.get(`${at.file}:${at.line}`)).filter(Boolean);
      const runs = [lines.get(`${step.file}:${step.line}`), callers[0]].filter(Boolean);
      for (const node of callers) node.classList.add("calls");
      for (const node of runs) node.classList.add("runs");
      marked = [...runs, ...callers];
      const shown = runs[runs.length - 1];
      if (shown) view.scrollTop = shown.offsetTop - view.clientHeight / 2 + shown.offsetHeight / 2;
    };
    return {view, show};
  }

  function sideOf(recording, go) {
    const steps = stepsOf(recording), source = sourceView(recording);
    const side = {recording, steps, current: 0};
    const sentence = element("p", {class: "sentence"}), picture = element("div"), time = element("div");
    const sums = sumsOf(steps), total = element("p", {class: "muted"});
    const ended = recording.first + steps.length;
    const part = steps.length < recording.steps_of_block ?
        `; shown: steps ${grouped(recording.first + 1)} to ${grouped(ended)} of ${grouped(recording.steps_of_block)}` : "";
    const nameOf = (error) => `${error.kind} at line ${error.party.line}${error.other ? ` and ${error.other.line}` : ""}`;
    const firsts = recording.errors.filter((error, i, all) => all.findIndex((other) => nameOf(other) === nameOf(error)) === i);
    const buttons = firsts.map((error) => {
      const at = steps.findIndex((step) => step.errors.some((number) => nameOf(recording.errors[number]) === nameOf(error)));
      const button = element("button", {type: "button"}, nameOf(error));
      button.disabled = at < 0;
      button.addEventListener("click", () => go(at));
      return button;
    });
    side.node = element("section", {class: `side${recording.mistake || buttons.length > 0 ? " wrong" : ""}`, "aria-label": recording.title},
        element("h3", {}, recording.title), element("p", {class: "muted"}, `${recording.about}Block (${recording.of_block.join(",")}) of ${
            recording.block.filter((size, i) => i === 0 || size > 1).join(" x ")} threads${part}.`),
        buttons.length > 0 ? element("div", {class: "errors"}, ...buttons) : null, time, total, sentence, picture, source.view);
    side.words = "";
    side.show = (at, width) => {
      side.current = Math.min(at, steps.length - 1);
      const step = steps[side.current], done = at >= steps.length;
      const where = placeOf(recording, step);
      total.textContent = sums[side.current];
      side.words = done ? `${recording.title}: this recording has ended.` : words(recording, step);
      const errors = done ? [] : step.errors.map((number) => element("span", {class: "bad"}, element("br"), shortened(recording.errors[number])));
      sentence.replaceChildren(element("b", {}, where), " ", side.words, ...errors);
      const wrong = wrongLanes(recording, step);
      picture.replaceChildren(...(!step.space ? [] : [(step.space === "shared" ? drawBanks : drawSectors)(step, side.words, wrong, width)]));
      time.replaceChildren(drawTime(side, width, go));
      source.show(step);
    };
    return side;
  }

  // What the steps up to each one have cost together.
  function sumsOf(steps) {
    let requests = 0, sectors = 0, wavefronts = 0;
    return steps.map((step) => {
      if (step.space) ++requests;
      if (step.space === "global") sectors += step.cost;
      if (step.space === "shared") wavefronts += step.cost;
      return `So far: ${count(requests, "request")}, ${count(sectors, "sector")}, ${count(wavefronts, "wavefront")}.`;
    });
  }

  // Where the reader sees something first: an error, or the first step that differs.
  function firstOf(sides) {
    const errors = sides.map(({steps}) => steps.findIndex((step) => step.errors.length > 0)).filter((at) => at >= 0);
    if (errors.length > 0) return Math.min(...errors);
    if (sides.length < 2 || !sides.some(({recording}) => recording.mistake)) return 0;
    const key = ({operation, array, offsets}) => JSON.stringify([operation, array, offsets]);
    const [a, b] = sides.map(({steps}) => steps);
    return Math.max(0, a.findIndex((step, i) => !b[i] || key(step) !== key(b[i])));
  }

  class Player extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      const recordings = this.getAttribute("names").split(" ").map((name) => xrayRecordings[name]).filter(Boolean);
      const root = this.attachShadow({mode: "open"});
      root.append(element("style", {}, kStyle));
      if (recordings.length === 0) return root.append(element("p", {class: "muted"}, "This lesson has no recording here."));
      this.tabIndex = 0;
      this.setAttribute("role", "group");
      this.setAttribute("aria-label", "X-ray player: space plays and pauses, the arrow keys go one step");
      const button = (label, act, name = "") => {
        const node = element("button", {type: "button", class: name}, label);
        node.addEventListener("click", act);
        return node;
      };
      this.sides = recordings.map((recording) => sideOf(recording, (at) => { this.pause(); this.go(at); }));
      this.last = Math.max(...this.sides.map(({steps}) => steps.length)) - 1;
      this.playButton = button("Play", () => (this.timer ? this.pause() : this.play()), "play");
      this.back = button("Back", () => { this.pause(); this.go(this.at - 1); });
      this.next = button("Next", () => { this.pause(); this.go(this.at + 1); });
      this.slider = element("input", {type: "range", min: 0, max: this.last, value: 0, "aria-label": "step"});
      this.slider.addEventListener("input", () => { this.pause(); this.go(Number(this.slider.value)); });
      this.speed = element("select", {"aria-label": "speed"}, ...Object.keys(kSpeeds).map((name) => element("option", {value: name}, name)));
      this.speed.value = matchMedia("(prefers-reduced-motion: reduce)").matches ? "slow" : "normal";
      this.where = element("span", {class: "where"});
      this.live = element("p", {"aria-live": "polite", style: "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);margin:0"});
      root.append(element("div", {class: "controls"}, this.playButton, this.back, this.next, this.speed, this.where, this.slider),
          element("div", {class: `sides${this.sides.length > 1 ? " two" : ""}`}, ...this.sides.map(({node}) => node)), this.live);
      this.addEventListener("keydown", (event) => this.key(event));
      this.at = firstOf(this.sides);
      new ResizeObserver(() => this.go(this.at)).observe(this);
    }

    key(event) {
      const target = event.composedPath()[0], act = {ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity}[event.key];
      if (event.altKey || event.ctrlKey || event.metaKey || target.closest("select, input")) return;
      if (event.key === " " && !target.closest("button")) this.timer ? this.pause() : this.play();
      else if (act) { this.pause(); this.go(this.at + act); }
      else return;
      event.preventDefault();
    }

    go(at) {
      this.at = Math.max(0, Math.min(this.last, at));
      for (const side of this.sides) {
        const width = Math.round(side.node.clientWidth) - 24;
        if (width > 0) side.show(this.at, width);
      }
      this.back.disabled = this.at === 0;
      this.next.disabled = this.at === this.last;
      this.slider.value = this.at;
      this.where.textContent = `step ${grouped(this.at + 1)} of ${grouped(this.last + 1)}`;
      this.slider.setAttribute("aria-valuetext", this.where.textContent);
      if (!this.timer) this.live.textContent = `${this.where.textContent}. ${this.sides.map((side) => side.words).join(" ")}`;
    }

    play() {
      if (this.at === this.last) this.at = 0;
      const tick = () => {
        if (this.at === this.last) return this.pause();
        this.go(this.at + 1);
        this.timer = setTimeout(tick, kSpeeds[this.speed.value]);
      };
      this.timer = setTimeout(tick, 0);
      this.playButton.textContent = "Pause";
    }

    pause() {
      clearTimeout(this.timer);
      this.timer = 0;
      this.playButton.textContent = "Play";
      this.go(this.at);
    }
  }
  customElements.define("xray-player", Player);
  return {stepsOf, offsetsOf, words};
})();
