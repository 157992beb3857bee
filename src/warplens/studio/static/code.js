// SASS and PTX beside the source: rows of one source line share its colour, clicks lead both ways.
import { byId, element } from "/static/api.js";

const COLOURS = 8, CHUNK = 200, ROW = 20, AT_ONCE = 2000;
export class Listings {
  constructor(onLine) {
    this.rows = { sass: [], ptx: [] };
    this.colours = new Map();
    this.picked = 0;
    this.watch = {};
    for (const name of ["sass", "ptx"]) {
      // Rows of a long kernel are made when they come near; their chunks have their height at once.
      this.watch[name] = new IntersectionObserver((seen) => {
        for (const one of seen) if (one.isIntersecting) this.make(name, one.target);
      }, { root: byId(name), rootMargin: "1000px 0px" });
      byId(name).addEventListener("click", (event) => {
        const row = event.target.closest(".row");
        if (row && row.dataset.line !== "0") { this.pick(Number(row.dataset.line), name); onLine(Number(row.dataset.line)); }
      });
    }
  }
  show(kernel) {
    const lines = [...new Set([...kernel.sass.map((r) => r[2]), ...kernel.ptx.map((r) => r[1])])].filter(Boolean).sort((a, b) => a - b);
    this.colours = new Map(lines.map((line, i) => [line, `c${i % COLOURS}`]));
    this.fill("sass", kernel.sass.map(([address, text, line]) => [`${address.toString(16).padStart(4, "0")}`, text, line]));
    this.fill("ptx", kernel.ptx.map(([text, line]) => ["", text, line]));
    this.pick(this.picked, "both");
  }
  clear() {
    this.picked = 0;
    this.colours = new Map();
    for (const name of ["sass", "ptx"]) this.fill(name, []);
  }
  fill(name, rows) {
    const host = byId(name), top = host.scrollTop;
    this.rows[name] = rows;
    this.watch[name].disconnect();
    const chunks = [];
    for (let first = 0; first < rows.length; first += CHUNK) {
      const n = Math.min(CHUNK, rows.length - first);
      const chunk = element("div", { class: "chunk", style: `min-height:${ROW * n}px;contain-intrinsic-size:auto ${ROW * n}px` });
      chunk.first = first;
      if (first < AT_ONCE) this.make(name, chunk); else this.watch[name].observe(chunk);
      chunks.push(chunk);
    }
    host.replaceChildren(...chunks);
    host.scrollTop = top;
  }
  make(name, chunk) {
    this.watch[name].unobserve(chunk);
    chunk.replaceChildren(...this.rows[name].slice(chunk.first, chunk.first + CHUNK).map(([head, text, line]) => {
      const row = element("div", { class: `row ${this.colours.get(line) || ""}`, "data-line": line, title: line ? `line ${line}` : null });
      if (head) row.append(element("span", { class: "at" }, head));
      row.append(text);
      row.classList.toggle("picked", line === this.picked && line > 0);
      return row;
    }));
  }
  marks() {
    return [...this.colours].map(([line, colour]) => ({ line, colour, picked: line === this.picked })).sort((a, b) => a.line - b.line);
  }
  pick(line, from) {
    this.picked = line;
    for (const name of ["sass", "ptx"]) {
      const host = byId(name);
      for (const row of host.querySelectorAll(".row.picked")) row.classList.remove("picked");
      if (!line) continue;
      for (const row of host.querySelectorAll(`.row[data-line="${line}"]`)) row.classList.add("picked");
      const first = this.rows[name].findIndex((row) => row[2] === line);
      if (first < 0 || name === from || from === "both") continue;
      const place = ROW * first;
      if (place < host.scrollTop || place > host.scrollTop + host.clientHeight - 2 * ROW) host.scrollTop = place - host.clientHeight / 3;
    }
  }
}
