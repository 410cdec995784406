// <xray-banks lesson="07.09"> is a tile of bf16 in shared memory. The reader types the index of
// element (row, column), and sees the banks and sectors of a warp's accesses. Needs model.js.
"use strict";

const xrayBanks = (() => {
  const {kLanes, kBanks, kWordBytes, kSectorBytes, wordsByBank, wavefronts, sectors, distinct} = xrayModel;
  const kColumns = 64, kRows = 32, kElementBytes = 2, kUnit = 8;  // rows of 128 bytes, vectors of 16

  // What a warp does to the tile: its lanes' elements, from each of which it moves 16 bytes.
  const kAccesses = {
    "matrix load: 16 rows, 16 columns": {matrixLoad: true, row: (lane) => lane % 16, column: (lane) => Math.floor(lane / 16) * 8},
    "copy to the tile: 4 rows, 64 columns": {matrixLoad: false, row: (lane) => Math.floor(lane / 8), column: (lane) => lane % 8 * 8},
    "vectors of one column: 32 rows": {matrixLoad: false, row: (lane) => lane, column: () => 0},
  };
  const kStraight = "row * 64 + column", kSwizzled = "row * 64 + (column / 8 ^ row % 8) * 8 + column % 8";
  const kLessons = {"00.16d": {from: "00.16c"}, "07.09": {from: "07.08"}, "08.06": {from: "08.05c"}};

  // ---- C's integer expressions of row and column

  const kLevels = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]];  // loosest first
  const kApply = {
    "|": (a, b) => a | b, "^": (a, b) => a ^ b, "&": (a, b) => a & b, "<<": (a, b) => a << b, ">>": (a, b) => a >> b,
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b,
    "/": (a, b) => Math.trunc(a / divisor(b)), "%": (a, b) => a % divisor(b),
  };

  function divisor(value) {
    if (value === 0) throw new Error("it divides by 0");
    return value;
  }

  // A function of (row, column). Throws an Error that says what is not understood.
  function parse(text) {
    const tokens = text.match(/\d+|[A-Za-z_]\w*|<<|>>|\S/g) || [];
    let at = 0;
    function operand() {
      const token = tokens[at++];
      if (token === undefined) throw new Error("it ends too early");
      if (token === "-") {
        const value = operand();
        return (of) => -value(of);
      }
      if (token === "(") {
        const value = level(0);
        if (tokens[at++] !== ")") throw new Error("a ) is missing");
        return value;
      }
      if (/^\d/.test(token)) return () => Number(token);
      if (token === "row" || token === "column") return (of) => of[token];
      throw new Error(`"${token}" is not known; allowed: row, column, numbers, + - * / % ^ & | << >> ( )`);
    }
    function level(depth) {
      if (depth === kLevels.length) return operand();
      let left = level(depth + 1);
      while (kLevels[depth].includes(tokens[at])) {
        const apply = kApply[tokens[at++]], a = left, b = level(depth + 1);
        left = (of) => apply(a(of), b(of));
      }
      return left;
    }
    const value = level(0);
    if (at < tokens.length) throw new Error(`"${tokens[at]}" is not expected there`);
    return (row, column) => value({row, column});
  }

  // A sentence if the index does not give each element of the tile a place of its own.
  function faultOf(index) {
    const taken = new Map();
    for (let row = 0; row < kRows; ++row) {
      for (let column = 0; column < kColumns; ++column) {
        const place = index(row, column);
        if (!(place >= 0 && place < kRows * kColumns)) return `Element (${row}, ${column}) gets index ${place}, outside of the tile.`;
        if (taken.has(place)) return `Elements ${taken.get(place)} and (${row}, ${column}) get the same index, ${place}.`;
        taken.set(place, `(${row}, ${column})`);
        if (column % kUnit !== 0 && place !== index(row, column - 1) + 1)
          return `Elements (${row}, ${column - 1}) and (${row}, ${column}) are not neighbours, so no 16-byte vector holds both.`;
        if (column % kUnit === 0 && place % kUnit !== 0) return `The vector of (${row}, ${column}) begins at index ${place}, which is no multiple of 8.`;
      }
    }
    return "";
  }

  const offsetsOf = (index, access) => Array.from({length: kLanes}, (_, lane) => index(access.row(lane), access.column(lane)) * kElementBytes);

  function cost(index, access) {
    const offsets = offsetsOf(index, access), bytes = kUnit * kElementBytes;
    return {offsets, bytes, ...wavefronts(offsets, bytes, access.matrixLoad), sectors: sectors(offsets, bytes)};
  }

  // ---- the widget

  const kStyle = `
:host { display: block; margin: 1em 0; font: 16px/1.45 system-ui, sans-serif; text-align: left;
  --surface: light-dark(#ffffff, #1a1e24); --text: light-dark(#1c2127, #e5e8ec); --muted: light-dark(#58616b, #a3adb8);
  --line: light-dark(#d9dde2, #323942); --strong: light-dark(#767f89, #7d8894); --accent: light-dark(#0a58a8, #82bbf7);
  --error: light-dark(#b3231b, #ff8c82); color: var(--text); }
* { box-sizing: border-box; }
form { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; }
label { display: block; font-weight: 600; }
input, select, button { font: inherit; color: inherit; background: var(--surface); border: 1px solid var(--strong); border-radius: 8px;
  min-height: 42px; padding: 5px 12px; max-width: 100%; }
input { width: 100%; font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; margin: 4px 0 10px; }
button { cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.row { display: flex; flex-wrap: wrap; gap: 8px; }
p { margin: 10px 0 6px; min-height: 3em; }
.bad { color: var(--error); font-weight: 600; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--muted); font: 11px system-ui, sans-serif; }
rect { stroke: var(--line); fill: none; }
.lane { fill: light-dark(hsl(var(--hue) 62% 44%), hsl(var(--hue) 68% 68%)); stroke: none; }
.ring { stroke: var(--error); stroke-width: 2.5; }
`;

  const kSvg = "http://www.w3.org/2000/svg";

  function node(parent, tag, attributes = {}, text = "", space = "http://www.w3.org/1999/xhtml") {
    const made = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "hue") made.style.setProperty("--hue", value);
      else made.setAttribute(name, value);
    }
    made.textContent = text;
    parent.append(made);
    return made;
  }

  // Each lane's 16 bytes, in the banks that hold them: one row per word that a bank serves.
  function drawBanks(parent, {offsets, bytes}, width) {
    const banks = wordsByBank(offsets, bytes), rows = Math.max(...banks.map((words) => words.length));
    const size = width / kBanks, height = Math.min(18, 300 / rows);
    const svg = node(parent, "svg", {viewBox: `0 0 ${kBanks * size} ${rows * height + 34}`, role: "img", "aria-label": `banks: up to ${rows} words each`}, "", kSvg);
    const rect = (attributes) => node(svg, "rect", attributes, "", kSvg);
    banks.forEach((words, bank) => {
      words.forEach((word, row) => {
        const lane = offsets.findIndex((offset) => distinct([offset], bytes, kWordBytes).includes(word));
        rect({class: "lane", hue: 195 + lane * 4.4, x: bank * size + 1, y: row * height + 1, width: size - 2, height: height - 1.5});
      });
      rect({x: bank * size, y: 0, width: size, height: rows * height});
      if (bank % 4 === 0 || bank === kBanks - 1) node(svg, "text", {x: (bank + .5) * size, y: rows * height + 13, "text-anchor": "middle"}, bank, kSvg);
    });
    node(svg, "text", {x: 0, y: rows * height + 30}, "banks, 4 bytes wide, above each other their words", kSvg);
  }

  class Banks extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      const lesson = kLessons[this.getAttribute("lesson")] || {}, root = this.attachShadow({mode: "open"});
      node(root, "style", {}, kStyle);
      const form = node(root, "form", {"aria-label": "an index of your own"});
      form.addEventListener("submit", (event) => event.preventDefault());
      const label = node(form, "label", {}, "The index of element (row, column) in a tile with rows of 64 elements of 2 bytes:");
      this.input = node(label, "input", {type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off"});
      this.input.value = kStraight;
      const row = node(form, "div", {class: "row"});
      this.access = node(row, "select", {"aria-label": "what the warp does"});
      for (const name of Object.keys(kAccesses)) node(this.access, "option", {value: name}, name);
      const choose = (text, value) => {
        const button = node(row, "button", {type: "button"}, text);
        button.addEventListener("click", () => { this.input.value = value; this.show(); });
      };
      choose(`Rows as in ${lesson.from || "the step before"}`, kStraight);
      choose("This lesson's index", kSwizzled);
      this.verdict = node(form, "p", {"aria-live": "polite"});
      this.picture = node(form, "div");
      for (const each of [this.input, this.access]) each.addEventListener("input", () => this.show());
      new ResizeObserver(() => this.show()).observe(this);
    }

    show() {
      this.picture.replaceChildren();
      this.verdict.className = "bad";
      try {
        const index = parse(this.input.value), fault = faultOf(index);
        const result = cost(index, kAccesses[this.access.value]), several = (value, one) => `${value} ${one}${value === 1 ? "" : "s"}`;
        this.verdict.className = fault || result.conflicts > 0 ? "bad" : "";
        this.verdict.textContent = fault || `${several(result.wavefronts, "wavefront")}, of which ${result.conflicts} by bank conflicts. ` +
            `The same index in global memory: ${several(result.sectors, "sector")} of ${kSectorBytes} bytes for ${kLanes * result.bytes} bytes.`;
        const width = Math.round(this.picture.clientWidth);
        if (!fault && width > 0) drawBanks(this.picture, result, width);
      } catch (error) {
        this.verdict.textContent = `This is no index: ${error.message}.`;
      }
    }
  }
  customElements.define("xray-banks", Banks);
  return {parse, faultOf, cost, kAccesses, kStraight, kSwizzled};
})();
