"use strict";
(() => {
  const ROW = 20, MARGIN = 40;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const articles = [...document.querySelectorAll(".launch")];
  const state = { launch: 0, heat: "", file: "", search: "", matches: [], match: -1 };
  const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

  const store = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); } catch { /* private mode */ } },
  };

  // --- theme
  const theme = byId("theme");
  function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    theme.setAttribute("aria-pressed", String(dark));
  }
  const saved = new URLSearchParams(location.search).get("theme") || store.get("warplens-theme");
  setTheme(saved ? saved === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  theme.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    setTheme(dark);
    store.set("warplens-theme", dark ? "dark" : "light");
  });

  // --- values
  function unpack(values) {
    if (Array.isArray(values)) return values;
    const all = new Array(values.n).fill(0);
    values.at.forEach((place, i) => { all[place] = values.is[i]; });
    return all;
  }
  function prepare(columns) {
    return columns.map((column) => {
      const values = unpack(column.values);
      let top = 0;
      if (!column.text) for (const v of values) if (v > top) top = v;
      return { ...column, values, top };
    });
  }
  function told(value) {
    if (value === null || value === undefined) return "";
    return typeof value === "number" ? (value === 0 ? "" : grouped.format(value)) : value;
  }
  function short(path) { return path.split(/[\\/]/).pop(); }

  // --- a list of which only the visible rows exist
  class Listing {
    constructor(host) {
      this.host = host;
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
      text.textContent = item.text;
      item.cells.slice(1).forEach(value);
      return row;
    }
    select(index, scroll) {
      this.current = Math.max(0, Math.min(this.rows.length - 1, index));
      if (scroll) this.reveal(this.current);
      this.draw(true);
    }
    reveal(index) {
      const top = index * ROW, height = this.host.clientHeight - 2 * ROW;
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

  const code = new Listing(byId("code")), sass = new Listing(byId("sass"));
  let view = null; // what the chosen launch shows

  function heading(column) {
    const unit = column.unit ? `, ${column.unit}` : "";
    return { short: column.short, title: `${column.heading}${unit} (${column.basis})` };
  }
  function heatFirst(columns) { // the coloured column stands next to the text, always in view
    const first = columns.filter((c) => c.heading === state.heat);
    return first.concat(columns.filter((c) => c.heading !== state.heat && !c.text),
      columns.filter((c) => c.text));
  }
  function headings(head, text, columns) {
    const all = columns.map(heading);
    return [{ short: head }, all[0] || { short: "" }, { short: text, left: true }, ...all.slice(1)];
  }
  function cells(columns, index) {
    return columns.map((column) => {
      const value = index < 0 ? null : column.values[index];
      const heat = column.heading === state.heat && column.top > 0 && typeof value === "number"
        ? 0.75 * value / column.top : 0;
      return { told: told(value), heat };
    });
  }

  function loadLaunch() {
    const launch = data.launches[state.launch];
    const host = articles[state.launch].querySelector(".sourcehost");
    const box = byId("sourceview");
    box.hidden = !launch;
    host.append(box);
    if (!launch) { view = null; return; }
    const kernel = data.kernels[launch.kernel];
    view = { kernel, columns: prepare(launch.columns), lines: null, marks: adviceMarks() };
    if (launch.lines) view.lines = { ...launch.lines, columns: prepare(launch.lines.columns) };
    chooseHeat();
    chooseFiles();
    fillSass();
    fillCode();
    search();
    code.host.scrollTop = sass.host.scrollTop = 0;
    const first = firstOfInterest();
    if (first >= 0) { sass.select(first, true); follow(first, true); }
  }
  function adviceMarks() {
    const marks = new Map();
    for (const button of articles[state.launch].querySelectorAll("[data-name=summary] .goto")) {
      const rule = button.closest(".rule").querySelector("b").textContent;
      const key = `${button.dataset.file}:${button.dataset.line}`;
      marks.set(key, marks.has(key) ? `${marks.get(key)}; ${rule}` : rule);
    }
    return marks;
  }
  const PREFERRED = ["L2 Theoretical Sectors Global Excessive", "L1 Wavefronts Shared Excessive",
    "Divergent Branches", "Instructions Executed"];
  function chooseHeat() {
    const offered = view.columns.filter((c) => !c.text && c.top > 0);
    const names = offered.map((c) => c.heading);
    if (!names.includes(state.heat)) state.heat = PREFERRED.find((n) => names.includes(n)) || names[0] || "";
    byId("heat").replaceChildren(...offered.map((c) => new Option(c.heading, c.heading, false, c.heading === state.heat)));
  }
  function chooseFiles() {
    const counts = new Map();
    view.kernel.files.forEach((f) => { if (f >= 0) counts.set(view.kernel.names[f], (counts.get(view.kernel.names[f]) || 0) + 1); });
    const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    const own = names.find((n) => /\.cu$/.test(n));
    if (!names.includes(state.file)) state.file = own || names[0] || "";
    byId("file").replaceChildren(...names.map((n) => new Option(short(n), n, false, n === state.file)));
  }
  function fillSass() {
    const k = view.kernel;
    const columns = heatFirst(view.columns);
    const rows = k.sass.map((text, i) => ({
      head: `0x${k.addresses[i].toString(16).padStart(4, "0")}`,
      text,
      cells: cells(columns, i),
      key: k.files[i] >= 0 && k.lines[i] ? `${k.names[k.files[i]]}:${k.lines[i]}` : "",
    }));
    for (const row of rows) if (view.marks.has(row.key)) row.advice = view.marks.get(row.key);
    sass.fill(headings("Address", "SASS", columns), rows);
  }
  function fillCode() {
    const file = data.files.find((f) => f.name === state.file);
    const lines = view.lines;
    const places = new Map();
    if (lines) lines.lines.forEach((line, i) => { if (lines.names[lines.files[i]] === state.file) places.set(line, i); });
    const columns = lines ? heatFirst(lines.columns) : [];
    const rows = [];
    for (const [first, texts] of file ? file.lines : []) {
      if (rows.length) rows.push({ head: "…", text: "", cells: [], key: "" });
      texts.forEach((text, i) => {
        const number = first + i;
        const key = `${state.file}:${number}`;
        const index = places.has(number) ? places.get(number) : -1;
        const row = { head: String(number), text: text.replaceAll("\t", "    "), cells: cells(columns, index), key, number };
        if (view.marks.has(key)) row.advice = view.marks.get(key);
        rows.push(row);
      });
    }
    if (!rows.length) rows.push({ head: "", text: "The text of this file is not in the result.", cells: [], key: "" });
    code.fill(headings("Line", state.file ? short(state.file) : "Source", columns), rows);
  }
  function firstOfInterest() {
    const column = view.columns.find((c) => c.heading === state.heat);
    return column && column.top > 0 ? column.values.indexOf(column.top) : -1;
  }

  // --- links both ways
  function follow(index, scroll) { // from a SASS row to its source line
    const k = view.kernel;
    if (index < 0 || !sass.rows[index]) return;
    const file = k.files[index];
    if (file >= 0 && k.names[file] !== state.file && scroll) {
      state.file = k.names[file];
      byId("file").value = state.file;
      fillCode();
    }
    const key = sass.rows[index].key;
    const at = key ? code.rows.findIndex((row) => row.key === key) : -1;
    code.link(at < 0 ? [] : [at], at >= 0);
    sass.link([], false);
  }
  function back(index, scroll) { // from a source line to its SASS
    const row = code.rows[index];
    const found = row && row.key ? sass.rows.flatMap((r, i) => (r.key === row.key ? [i] : [])) : [];
    sass.link(found, scroll !== false);
    code.link([], false);
    return found;
  }
  sass.onSelect = (index) => follow(index, true);
  sass.onEnter = (index) => { follow(index, true); const at = [...code.linked][0]; if (at !== undefined) { code.select(at, true); code.host.focus(); } };
  code.onSelect = (index) => back(index, true);
  code.onEnter = (index) => { const found = back(index, true); if (found.length) { sass.select(found[0], true); sass.host.focus(); } };

  function goTo(file, line) {
    if (!view) return;
    const known = [...byId("file").options].some((o) => o.value === file);
    if (known && file !== state.file) { state.file = file; byId("file").value = file; fillCode(); }
    const at = code.rows.findIndex((row) => row.key === `${file}:${line}`);
    byId("sourceview").scrollIntoView({ block: "start" });
    if (at >= 0) { code.select(at, true); back(at, true); }
    code.host.focus({ preventScroll: true });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".goto");
    if (button) goTo(button.dataset.file, Number(button.dataset.line));
    const part = event.target.closest("[data-part]");
    if (part) {
      event.preventDefault();
      articles[state.launch].querySelector(`[data-name=${part.dataset.part}]`).scrollIntoView();
    }
  });

  // --- search
  function search() {
    const wanted = state.search.toLowerCase();
    state.matches = [];
    state.match = -1;
    for (const list of [code, sass]) {
      list.rows.forEach((row, i) => {
        row.hit = wanted !== "" && row.text.toLowerCase().includes(wanted);
        if (row.hit) state.matches.push([list, i]);
      });
      list.draw(true);
    }
    byId("matches").textContent = wanted ? `${state.matches.length} found` : "";
  }
  function step(by) {
    const n = state.matches.length;
    if (!n) return;
    state.match = (state.match + by + n) % n;
    const [list, index] = state.matches[state.match];
    list.select(index, true);
    if (list === sass) follow(index, true); else back(index, true);
    byId("matches").textContent = `${state.match + 1} of ${n}`;
  }
  const box = byId("search");
  if (box) {
    box.addEventListener("input", () => { state.search = box.value; search(); });
    box.addEventListener("keydown", (event) => { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); });
    byId("next").addEventListener("click", () => step(1));
    byId("previous").addEventListener("click", () => step(-1));
    byId("heat").addEventListener("change", (event) => { state.heat = event.target.value; fillSass(); fillCode(); search(); });
    byId("file").addEventListener("change", (event) => { state.file = event.target.value; fillCode(); search(); });
  }

  // --- one warp, step by step
  const warp = { trace: null, at: 0 };
  const word = new DataView(new ArrayBuffer(4));
  function shown(value) {
    const form = byId("form").value;
    if (form === "int") return String(value | 0);
    if (form === "hex") return value.toString(16).padStart(8, "0");
    word.setUint32(0, value);
    return String(Number(word.getFloat32(0).toPrecision(6)));
  }
  function span(text, name, title) {
    const item = document.createElement("span");
    item.textContent = text;
    if (name) item.className = name;
    if (title) item.title = title;
    return item;
  }
  function loadWarp() {
    const launch = data.launches[state.launch];
    warp.trace = launch && launch.warp;
    const box = byId("warpview");
    box.hidden = !warp.trace;
    if (!warp.trace) return;
    articles[state.launch].querySelector(".sourcehost").append(box);
    byId("step").max = String(warp.trace.steps.length - 1);
    goStep(0, false);
  }
  function goStep(number, follows = true) {
    if (!warp.trace) return;
    const steps = warp.trace.steps;
    warp.at = Math.max(0, Math.min(steps.length - 1, number));
    const [instruction, mask, executing, changed, accesses] = steps[warp.at];
    byId("step").value = String(warp.at);
    byId("steptext").textContent =
      `${warp.at + 1} of ${warp.trace.total}, block ${warp.trace.block} warp ${warp.trace.warp}`;
    byId("stepsass").textContent = view ? view.kernel.sass[instruction] : "";
    const lanes = [...Array(32).keys()];
    byId("lanes").replaceChildren(...lanes.map((lane) =>
      span(String(lane), executing >>> lane & 1 ? "on" : mask >>> lane & 1 ? "off" : "")));
    byId("lanes").setAttribute("aria-label", `${lanes.filter((l) => executing >>> l & 1).length} of 32 lanes execute`);
    byId("accesses").replaceChildren(...accesses.flatMap(([space, what, size, n, pieces]) => {
      const row = document.createElement("div");
      row.className = "pieces";
      const shared = space === "shared", most = Math.max(...pieces.map((p) => p[1]), 1);
      const base = shared || !pieces.length ? 0 : pieces[0][0];
      for (const [place, count] of pieces) {
        const item = span(shared ? `b${place}: ${count}` : `+${(place - base) * 32}: ${count}`, "",
          shared ? `bank ${place} serves ${count} words` : `sector at 0x${(place * 32).toString(16)}: ${count} lanes`);
        item.style.background = `rgba(var(--heat),${(0.5 * count / most).toFixed(2)})`;
        row.append(item);
      }
      const text = document.createElement("p");
      text.className = "note";
      text.textContent = shared
        ? `${n} lanes ${what} ${size} bytes each: ${pieces.length} banks, ${most} words in the busiest`
        : `${n} lanes ${what} ${size} bytes each in ${space} memory: ${pieces.length} sectors (offset: lanes)`;
      return [text, row];
    }));
    drawRegisters(mask, new Map(changed));
    if (view && follows) { sass.select(instruction, true); follow(instruction, true); }
  }
  function drawRegisters(mask, changed) {
    const values = new Map();
    for (const step of warp.trace.steps.slice(0, warp.at)) for (const [r, v] of step[3]) values.set(r, v);
    for (const r of changed.keys()) if (!values.has(r)) values.set(r, new Array(32).fill(0));
    const table = byId("registers");
    table.replaceChildren();
    const head = table.createTHead().insertRow();
    for (const text of ["", ...Array(32).keys()]) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = String(text);
      head.append(th);
    }
    const body = table.createTBody();
    const line = (name, row, kind) => {
      const tr = body.insertRow();
      const th = document.createElement("th");
      th.scope = "row";
      th.textContent = name;
      tr.append(th);
      row.forEach((value, lane) => {
        const td = tr.insertCell();
        td.textContent = shown(value);
        td.className = kind || (mask >>> lane & 1 ? "" : "out");
      });
    };
    for (const r of [...values.keys()].sort((a, b) => a - b)) {
      line(`R${r}`, values.get(r));
      if (changed.has(r)) line(`R${r} after`, changed.get(r), "new");
    }
  }
  if (byId("step")) {
    byId("step").addEventListener("input", (event) => goStep(Number(event.target.value)));
    byId("first").addEventListener("click", () => goStep(0));
    byId("back").addEventListener("click", () => goStep(warp.at - 1));
    byId("forward").addEventListener("click", () => goStep(warp.at + 1));
    byId("form").addEventListener("change", () => goStep(warp.at));
  }

  // --- launches
  const picker = byId("picker");
  function show(index) {
    if (!articles.length) return;
    state.launch = Math.max(0, Math.min(articles.length - 1, index));
    articles.forEach((article, i) => { article.hidden = i !== state.launch; });
    picker.value = String(state.launch);
    loadLaunch();
    loadWarp();
  }
  if (picker) {
    picker.addEventListener("change", () => {
      show(Number(picker.value));
      history.replaceState(null, "", `#launch-${state.launch}`);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && view) { event.preventDefault(); box.focus(); box.select(); }
    else if (event.key === "[") show(state.launch - 1);
    else if (event.key === "]") show(state.launch + 1);
    else if (event.key === "f" || event.key === "F") goStep(warp.at + 1);
    else if (event.key === "b" || event.key === "B") goStep(warp.at - 1);
    else if (event.key === "n") step(1);
    else if (event.key === "N") step(-1);
  });
  addEventListener("beforeprint", () => { code.draw(true, true); sass.draw(true, true); });
  addEventListener("afterprint", () => { code.draw(true); sass.draw(true); });
  const asked = /^#launch-(\d+)$/.exec(location.hash);
  show(asked ? Number(asked[1]) : 0);
})();
