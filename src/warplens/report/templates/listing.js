// --- colours of words; what is not a token stays plain
const CUDA = [
  ["com", /\/\/.*|\/\*.*?(\*\/|$)/y], ["str", /"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/y],
  ["lit", /\b(0[xX][0-9a-fA-F]+|\d+\.?\d*([eE][-+]?\d+)?)[uUlLfF]*\b/y],
  ["kw", /\b(__\w+__|alignas|auto|bool|break|case|char|class|const|constexpr|continue|default|do|double|else|enum|extern|false|float|for|if|inline|int|long|namespace|new|operator|return|short|signed|sizeof|static|struct|switch|template|this|true|typedef|typename|union|unsigned|using|void|volatile|while|def|import|from|as|in|not|and|or|None|lambda|with|yield)\b|#\s*\w+/y],
];
const SASS = [
  ["com", /\/\*.*?\*\/|\/\/.*/y], ["str", /@!?U?P\w+/y], ["lit", /\b(0x[0-9a-f]+|\d+\.?\d*)\b/y],
  ["kw", /\b[A-Z][A-Z0-9]{1,}(\.[A-Z0-9_]+)*(?=\s|$)/y],
];
const PTX = [
  ["com", /\/\/.*|\/\*.*?\*\//y], ["str", /@!?%\w+/y], ["lit", /\b(0[fFdDxX][0-9a-fA-F]+|\d+\.?\d*)\b/y],
  ["kw", /\.(visible|entry|func|param|reg|pred|shared|local|const|global|align|maxntid|reqntid|minnctapersm|[usbf]\d+)\b|\b[a-z]\w*(\.[a-z_]\w*)*(?=[\s;])/y],
];
function paint(cell, text, tokens) {
  let plain = "", at = 0;
  const flush = () => { if (plain) { cell.append(plain); plain = ""; } };
  while (at < text.length) {
    let length = 0;
    const start = at === 0 || !/\w/.test(text[at - 1]) || !/\w/.test(text[at]);
    for (const [kind, pattern] of start ? tokens : []) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (!found || !found[0]) continue;
      flush();
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = found[0];
      cell.append(span);
      length = found[0].length;
      break;
    }
    if (!length) { plain += text[at]; length = 1; }
    at += length;
  }
  flush();
}

// --- a list of which only the rows in sight exist; while it scrolls they get other lines to show
function columnsOf(text) { // of a monospaced font: tabs and wide characters take several
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let n = 0;
  for (const one of text) n += one === "\t" ? 8 - n % 8 : one > "\u10ff" ? 2 : 1;
  return n;
}
function widthOf(column) { // of its longest value, in characters
  if (column.text) return Math.max(...new Set(column.values.map((v) => (v ? v.length : 0))));
  const fraction = column.values.some((v) => v % 1) ? 3 : 0;
  return grouped.format(Math.floor(column.top)).length + fraction;
}
function element(name, role, text = "", kind = "") {
  const one = document.createElement(name);
  if (kind) one.className = kind;
  one.setAttribute("role", role);
  if (text) one.textContent = text;
  return one;
}
class Listing {
  constructor(host, tokens) {
    this.host = host;
    this.tokens = tokens;
    this.wrapped = false;
    this.rows = [];
    this.columns = [];
    this.current = -1;
    this.linked = new Set();
    host.addEventListener("scroll", () => {
      // Line numbers that stay at the left edge cost a layer each, so only where they are needed.
      const shifted = host.scrollLeft > 0;
      if (shifted !== this.shifted) host.classList.toggle("shifted", this.shifted = shifted);
      this.draw(false, true);
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.complete(), 150);
    }, { passive: true });
    host.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-row]");
      if (row) { this.select(Number(row.dataset.row)); this.onSelect(this.current); }
    });
    host.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(host);
    this.onSelect = () => {};
    this.onEnter = () => {};
  }
  fill(headings, rows, columns = []) { // a row: head, text, key, and `at`, its place in the columns
    this.rows = rows;
    this.columns = columns;
    this.current = -1;
    this.linked = new Set();
    this.body = element("tbody", "rowgroup");
    this.shown = [];
    this.from = 0;
    this.above = this.pad();
    this.below = this.pad();
    this.body.append(this.above, this.below);
    const table = element("table", "table"), head = element("thead", "rowgroup");
    table.setAttribute("aria-rowcount", rows.length + 1);
    head.append(this.measure(table, headings));
    table.append(head, this.body);
    this.host.style.setProperty("--rows", rows.length);
    this.host.replaceChildren(table);
    this.draw(true);
  }
  measure(table, headings) { // widths from all rows, so that none depends on what is in sight
    const longest = (name) => this.rows.reduce((n, row) => Math.max(n, columnsOf(row[name])), 0);
    const widths = headings.map((heading, i) => {
      if (i === 0) return longest("head");
      if (heading.left) return longest("text");
      const column = this.columns[i > 2 ? i - 2 : 0];
      return column ? widthOf(column) : 0;
    });
    this.widths = widths.map((n, i) => Math.max(n, columnsOf(headings[i].short)) + (n || i ? 2 : 0));
    for (const [name, at] of [["head", 0], ["heat", 1], ["text", 2]]) {
      table.style.setProperty(`--${name}width`, `${this.widths[at]}ch`);
    }
    table.style.setProperty("--wide", `${this.widths.reduce((a, b) => a + b, 1)}ch`);
    const row = element("tr", "row");
    headings.forEach((heading, i) => {
      const th = element("th", "columnheader", heading.short, ["h", "v", "t"][i] || "r");
      if (i > 2) th.style.width = `${this.widths[i]}ch`;
      if (heading.title) th.title = heading.title;
      row.append(th);
    });
    return row;
  }
  pad() {
    const row = document.createElement("tr");
    row.className = "pad";
    row.setAttribute("aria-hidden", "true");
    return row;
  }
  draw(force, quick) {
    if (!this.body) return;
    const n = this.rows.length, seen = Math.ceil((this.host.clientHeight || 700) / ROW);
    // Wrapped rows differ in height, so all of them exist; so do they on paper.
    const size = this.wrapped || this.printed ? n : Math.min(n, seen + 2 * MARGIN);
    const first = Math.max(0, Math.min(n - size, Math.floor(this.host.scrollTop / ROW) - MARGIN));
    if (force) this.shown.forEach((row, i) => this.write(row, this.from + i, quick));
    if (first !== this.from || size !== this.shown.length) {
      this.move(first, first + size, quick);
      this.above.style.height = `${first * ROW}px`;
      this.below.style.height = `${(n - first - size) * ROW}px`;
    }
    if (!quick) this.complete();
  }
  move(first, last, quick) { // rows that stay in sight stay where they are; the others move
    const to = this.from + this.shown.length, isApart = first >= to || last <= this.from;
    const low = isApart ? first : Math.max(first, this.from), high = isApart ? first : Math.min(last, to);
    const kept = isApart ? [] : this.shown.slice(low - this.from, high - this.from);
    const free = this.shown.filter((row) => row.index < low || row.index >= high);
    const make = (a, b) => Array.from({ length: b - a }, (_, i) => this.write(free.pop() || this.row(), a + i, quick));
    const before = make(first, low), after = make(high, last);
    free.forEach((row) => row.remove());
    this.above.after(...before);
    this.below.before(...after);
    this.shown = [...before, ...kept, ...after];
    this.from = first;
  }
  complete() { // at rest: a cell for each value, as a screen reader wants them
    const chosen = getSelection();
    if (chosen && !chosen.isCollapsed) return; // it would be lost
    for (const row of this.shown) {
      if (row.isQuick) row.lastChild.replaceWith(...this.values(row.index));
      row.isQuick = false;
    }
  }
  row() {
    const row = element("tr", "row");
    row.append(element("th", "rowheader", "", "h"), element("td", "cell", "", "v"), element("td", "cell", "", "t"));
    return row;
  }
  padded(index) { // the values behind the text
    return cells(this.columns.slice(1), this.rows[index].at).map((v, i) => v.told.padStart(this.widths[i + 3]));
  }
  values(index) {
    return this.padded(index).map((told) => element("td", "cell", told, "r"));
  }
  write(row, index, quick) {
    const item = this.rows[index], [head, heat, text] = row.children;
    row.index = index;
    row.dataset.row = index;
    row.setAttribute("aria-rowindex", index + 2);
    this.mark(row, index);
    head.textContent = item.head;
    head.title = item.advice || "";
    text.title = item.told || "";
    head.classList.toggle("advice", Boolean(item.advice));
    const [value] = cells(this.columns.slice(0, 1), item.at);
    heat.textContent = value ? value.told : "";
    heat.style.background = value && value.heat ? `rgba(var(--heat),${value.heat.toFixed(2)})` : "";
    text.replaceChildren();
    paint(text, item.text, this.tokens);
    while (row.children.length > (quick ? 4 : 3)) row.lastChild.remove();
    row.isQuick = quick && this.widths.length > 3;
    if (!row.isQuick) row.append(...this.values(index));
    else {
      if (!row.children[3]) row.append(element("td", "cell", "", "r"));
      row.children[3].textContent = this.padded(index).join("");
    }
    return row;
  }
  mark(row, index) {
    const names = [];
    if (index === this.current) names.push("current");
    if (this.linked.has(index)) names.push("linked");
    if (this.rows[index].hit) names.push("hit");
    const wanted = names.join(" ");
    if (row.className !== wanted) row.className = wanted;
    if (index === this.current) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  remark() { // what is chosen, linked or found has changed, not what the rows say
    this.draw();
    if (this.body) this.shown.forEach((row) => this.mark(row, row.index));
  }
  select(index, scroll) {
    this.current = Math.max(0, Math.min(this.rows.length - 1, index));
    if (scroll) this.reveal(this.current);
    this.remark();
  }
  reveal(index) {
    const row = this.wrapped && this.body ? this.body.querySelector(`[data-row="${index}"]`) : null;
    const top = row ? row.offsetTop : index * ROW, height = this.host.clientHeight - 2 * ROW;
    if (top < this.host.scrollTop + ROW || top > this.host.scrollTop + height) {
      this.host.scrollTop = Math.max(0, top - height / 3);
    }
  }
  link(indices, scroll) {
    this.linked = new Set(indices);
    if (scroll && indices.length) this.reveal(indices[0]);
    this.remark();
  }
  key(event) {
    const page = Math.floor(this.host.clientHeight / ROW) - 2;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.select(this.current + steps[event.key], true);
    else if (event.key === "Home" && event.ctrlKey) this.select(0, true);
    else if (event.key === "End" && event.ctrlKey) this.select(this.rows.length - 1, true);
    else if (event.key === "Enter") this.onEnter(this.current);
    else return;
    event.preventDefault();
    this.onSelect(this.current);
  }
}
