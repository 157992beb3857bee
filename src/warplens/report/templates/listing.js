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

// --- a list of which only the visible rows exist
class Listing {
  constructor(host, tokens) {
    this.host = host;
    this.tokens = tokens;
    this.wrapped = false;
    this.rows = [];
    this.current = -1;
    this.linked = new Set();
    host.addEventListener("scroll", () => this.draw());
    host.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-row]");
      if (row) { this.select(Number(row.dataset.row)); this.onSelect(this.current); }
    });
    host.addEventListener("keydown", (event) => this.key(event));
    this.onSelect = () => {};
    this.onEnter = () => {};
  }
  fill(headings, rows) {
    this.rows = rows;
    this.current = -1;
    this.linked = new Set();
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const heading of headings) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = heading.short;
      if (heading.title) th.title = heading.title;
      if (heading.left) th.className = "t";
      head.append(th);
    }
    this.body = table.createTBody();
    this.headings = headings;
    this.host.replaceChildren(table);
    this.from = this.to = -1;
    this.draw(true);
  }
  draw(force, all) {
    if (!this.body) return;
    const n = this.rows.length;
    all = all || this.wrapped; // wrapped rows differ in height, so all of them exist
    const first = all ? 0 : Math.max(0, Math.floor(this.host.scrollTop / ROW) - MARGIN);
    const seen = Math.ceil((this.host.clientHeight || 700) / ROW);
    const last = all ? n : Math.min(n, first + seen + 2 * MARGIN);
    if (!force && first === this.from && last === this.to) return;
    this.from = first;
    this.to = last;
    const parts = [this.pad(first)];
    for (let i = first; i < last; i++) parts.push(this.line(i));
    parts.push(this.pad(n - last));
    this.body.replaceChildren(...parts);
  }
  pad(count) {
    const row = document.createElement("tr");
    row.className = "pad";
    row.setAttribute("aria-hidden", "true");
    const cell = row.insertCell();
    cell.colSpan = this.headings.length;
    cell.style.height = `${count * ROW}px`;
    return row;
  }
  line(index) {
    const item = this.rows[index];
    const row = document.createElement("tr");
    row.dataset.row = index;
    const names = [];
    if (index === this.current) { names.push("current"); row.setAttribute("aria-current", "true"); }
    if (this.linked.has(index)) names.push("linked");
    if (item.hit) names.push("hit");
    row.className = names.join(" ");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = item.head;
    if (item.advice) { head.title = item.advice; head.classList.add("advice"); }
    row.append(head);
    const value = (cell) => {
      const td = row.insertCell();
      td.textContent = cell.told;
      if (cell.heat) td.style.background = `rgba(var(--heat),${cell.heat.toFixed(2)})`;
    };
    if (item.cells.length) value(item.cells[0]); else row.insertCell();
    const text = row.insertCell();
    text.className = "t";
    paint(text, item.text, this.tokens);
    item.cells.slice(1).forEach(value);
    return row;
  }
  select(index, scroll) {
    this.current = Math.max(0, Math.min(this.rows.length - 1, index));
    if (scroll) this.reveal(this.current);
    this.draw(true);
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
    this.draw(true);
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
