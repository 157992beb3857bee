// SASS and PTX beside the source: rows of one source line share its colour, clicks lead both ways.
import { byId, element } from "/static/api.js";

const COLOURS = 8, CHUNK = 200;
export class Listings {
  constructor(onLine) {
    this.rows = { sass: [], ptx: [] };
    this.colours = new Map();
    this.picked = 0;
    for (const name of ["sass", "ptx"]) {
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
    this.rows[name] = [];
    const chunks = [];
    for (let first = 0; first < rows.length; first += CHUNK) {
      const part = rows.slice(first, first + CHUNK);
      const chunk = element("div", { class: "chunk", style: `contain-intrinsic-size:auto ${20 * part.length}px` });
      for (const [head, text, line] of part) {
        const row = element("div", { class: `row ${this.colours.get(line) || ""}`, "data-line": line, title: line ? `line ${line}` : null });
        if (head) row.append(element("span", { class: "at" }, head));
        row.append(text);
        this.rows[name].push([line, row]);
        chunk.append(row);
      }
      chunks.push(chunk);
    }
    host.replaceChildren(...chunks);
    host.scrollTop = top;
  }
  marks() {
    return [...this.colours].map(([line, colour]) => ({ line, colour, picked: line === this.picked })).sort((a, b) => a.line - b.line);
  }
  pick(line, from) {
    this.picked = line;
    for (const name of ["sass", "ptx"]) {
      let first = null;
      for (const [of, row] of this.rows[name]) {
        row.classList.toggle("picked", of === line && line > 0);
        if (!first && of === line && line > 0) first = row;
      }
      if (first && name !== from && from !== "both") {
        const host = byId(name);
        const place = first.offsetTop - host.offsetTop;
        if (place < host.scrollTop || place > host.scrollTop + host.clientHeight - 40) host.scrollTop = place - host.clientHeight / 3;
      }
    }
  }
}
