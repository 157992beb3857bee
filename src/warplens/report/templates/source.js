const code = new Listing(byId("code"), CUDA), sass = new Listing(byId("sass"), SASS), ptx = new Listing(byId("ptx"), PTX);
const listings = [code, sass, ptx];
let view = null; // what the chosen launch shows

function heading(column) {
  const unit = column.unit ? `, ${column.unit}` : "";
  return { short: column.short, title: `${column.heading}${unit} (${column.basis})` };
}
function heatFirst(columns) { // the coloured column stands next to the text, always in view
  const first = columns.filter((c) => c.heading === state.heat);
  const others = columns.filter((c) => c.heading !== state.heat && !state.hidden.has(c.heading));
  return first.concat(others.filter((c) => !c.text), others.filter((c) => c.text));
}
function offerColumns() { // each can be hidden; the coloured one stays
  byId("columnlist").replaceChildren(...view.columns.map((column) => {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !state.hidden.has(column.heading);
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(column.heading); else state.hidden.add(column.heading);
      store.set("warplens-hidden", JSON.stringify([...state.hidden]));
      fillSass();
      fillCode();
    });
    label.append(box, ` ${column.heading}`);
    return label;
  }));
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
  offerColumns();
  chooseFiles();
  fillSass();
  fillPtx();
  fillCode();
  search();
  for (const list of listings) list.host.scrollTop = 0;
  const first = firstOfInterest();
  if (first >= 0) { sass.select(first, true); follow(first, true); }
}
function adviceMarks() {
  const marks = new Map();
  for (const button of articles[state.launch].querySelectorAll("[data-name=summary] .rule .goto")) {
    const rule = button.closest(".rule").querySelector("b").textContent;
    const key = `${button.dataset.file}:${button.dataset.line}`;
    marks.set(key, marks.has(key) ? `${marks.get(key)}; ${rule}` : rule);
  }
  return marks;
}
function advised() { // the columns that explain the advice, the first piece first
  return [...articles[state.launch].querySelectorAll("[data-name=summary] .rule")].map((r) => r.dataset.heat).filter(Boolean);
}
function chooseHeat() {
  const offered = view.columns.filter((c) => !c.text && c.top > 0);
  const names = offered.map((c) => c.heading);
  const wanted = state.picked ? [state.heat] : [...advised(), "Warp Stall Cycles", "Instructions Executed"];
  state.heat = wanted.find((n) => names.includes(n)) || names[0] || "";
  byId("heat").replaceChildren(...offered.map((c) => new Option(c.heading, c.heading, false, c.heading === state.heat)));
}
function chooseFiles() {
  const counts = new Map(), calls = view.kernel.callers;
  const outermost = (f, i) => (calls[i] ? calls[i].at(-1)[0] : f);
  view.kernel.files.map(outermost).forEach((f) => { if (f >= 0) counts.set(view.kernel.names[f], (counts.get(view.kernel.names[f]) || 0) + 1); });
  const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  for (const f of view.kernel.files) if (f >= 0 && !names.includes(view.kernel.names[f])) names.push(view.kernel.names[f]);
  const own = names.find((n) => /\.cu$/.test(n));
  if (!names.includes(state.file)) state.file = own || names[0] || "";
  byId("file").replaceChildren(...names.map((n) => new Option(short(n), n, false, n === state.file)));
}
function inlinedAt(i) { // ", inlined at b.py:30" of an instruction; empty if it was not
  const k = view.kernel;
  return (k.callers[i] || []).map(([f, line]) => `, inlined at ${short(k.names[f])}:${line}`).join("");
}
function fillSass() {
  const k = view.kernel;
  const columns = heatFirst(view.columns);
  const rows = k.sass.map((text, i) => ({
    head: `0x${k.addresses[i].toString(16).padStart(4, "0")}`,
    text,
    at: i,
    key: k.files[i] >= 0 && k.lines[i] ? `${k.names[k.files[i]]}:${k.lines[i]}` : "",
  }));
  for (const row of rows) {
    const told = k.callers[row.at] ? `${short(k.names[k.files[row.at]])}:${k.lines[row.at]}${inlinedAt(row.at)}` : "";
    if (told) row.told = told;
    if (view.marks.has(row.key)) row.advice = view.marks.get(row.key);
  }
  sass.fill(headings("Address", "SASS", columns), rows, columns);
}
function fillPtx() {
  const k = view.kernel;
  byId("withptx").hidden = !k.ptx.length;
  ptx.host.hidden = !k.ptx.length || !byId("showptx").checked;
  ptx.fill([{ short: "" }, { short: "" }, { short: "PTX", left: true }], k.ptx.map(([text, file, line], i) => (
    { head: String(i + 1), text, at: -1, key: file >= 0 && line ? `${k.names[file]}:${line}` : "" })));
}
function fillCode() {
  const file = data.files.find((f) => f.name === state.file);
  const lines = view.lines;
  const places = new Map();
  if (lines) lines.lines.forEach((line, i) => { if (lines.names[lines.files[i]] === state.file) places.set(line, i); });
  const columns = lines ? heatFirst(lines.columns) : [];
  const rows = [];
  for (const [first, texts] of file ? file.lines : []) {
    if (rows.length) rows.push({ head: "…", text: "", at: -1, key: "" });
    texts.forEach((text, i) => {
      const number = first + i;
      const key = `${state.file}:${number}`;
      const index = places.has(number) ? places.get(number) : -1;
      const row = { head: String(number), text: text.replaceAll("\t", "    "), at: index, key };
      if (view.marks.has(key)) row.advice = view.marks.get(key);
      rows.push(row);
    });
  }
  if (!rows.length) rows.push({ head: "", text: "This result does not include the text of this file.", at: -1, key: "" });
  code.fill(headings("Line", state.file ? short(state.file) : "Source", columns), rows, columns);
}
function firstOfInterest() {
  const column = view.columns.find((c) => c.heading === state.heat);
  return column && column.top > 0 ? column.values.indexOf(column.top) : -1;
}

// --- links between source, SASS and PTX
const withKey = (list, key) => (key ? list.rows.flatMap((r, i) => (r.key === key ? [i] : [])) : []);
function follow(index, scroll, list = sass) { // from a row of SASS or PTX to its source line
  const row = list.rows[index];
  if (!row) return;
  const file = row.key.slice(0, row.key.lastIndexOf(":"));
  if (row.key && file !== state.file && scroll) {
    state.file = file;
    byId("file").value = file;
    fillCode();
  }
  for (const other of listings) {
    if (other === list) { other.link([], false); continue; }
    const found = withKey(other, row.key);
    other.link(other === code ? found.slice(0, 1) : found, found.length > 0);
  }
}
function back(index, scroll) { // from a source line to its SASS and PTX
  const row = code.rows[index], key = row ? row.key : "";
  for (const list of [sass, ptx]) list.link(withKey(list, key), scroll !== false);
  code.link([], false);
  return [...sass.linked];
}
for (const list of [sass, ptx]) {
  list.onSelect = (index) => follow(index, true, list);
  list.onEnter = (index) => { follow(index, true, list); const at = [...code.linked][0]; if (at !== undefined) { code.select(at, true); code.host.focus(); } };
}
code.onSelect = (index) => back(index, true);
code.onEnter = (index) => { const found = back(index, true); if (found.length) { sass.select(found[0], true); sass.host.focus(); } };

// In the studio or a notebook, the page around this one marks the line.
const isFramed = parent !== window && (location.pathname.startsWith("/result/") || named);
function goTo(file, line) {
  if (isFramed) parent.postMessage({ warplens: "goto", file, line }, "*");
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
  const seen = event.target.closest("[data-view]");
  if (seen) { event.preventDefault(); byId(seen.dataset.view).scrollIntoView(); }
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
  for (const list of ptx.host.hidden ? [code, sass] : listings) {
    list.rows.forEach((row, i) => {
      row.hit = wanted !== "" && row.text.toLowerCase().includes(wanted);
      if (row.hit) state.matches.push([list, i]);
    });
    list.remark();
  }
  byId("matches").textContent = wanted ? `${state.matches.length} found` : "";
}
function step(by) {
  const n = state.matches.length;
  if (!n) return;
  state.match = (state.match + by + n) % n;
  const [list, index] = state.matches[state.match];
  list.select(index, true);
  if (list === code) back(index, true); else follow(index, true, list);
  byId("matches").textContent = `${state.match + 1} of ${n}`;
}
const box = byId("search");
if (box) {
  box.addEventListener("input", () => { state.search = box.value; search(); });
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") box.blur();
    if (event.key !== "Enter") return;
    step(event.shiftKey ? -1 : 1);
    if (state.matches.length) state.matches[state.match][0].host.focus({ preventScroll: true }); // so that n and N go on
  });
  byId("next").addEventListener("click", () => step(1));
  byId("previous").addEventListener("click", () => step(-1));
  byId("heat").addEventListener("change", (event) => { state.heat = event.target.value; state.picked = true; fillSass(); fillCode(); search(); });
  byId("file").addEventListener("change", (event) => { state.file = event.target.value; fillCode(); search(); });
}

// --- the panes: their widths, wrapped lines, one column of values
const splitter = byId("splitter");
function widths(percent) {
  const left = Math.max(15, Math.min(85, Math.round(percent)));
  splitter.parentElement.style.setProperty("--left", `${left}fr`);
  splitter.parentElement.style.setProperty("--right", `${100 - left}fr`);
  splitter.setAttribute("aria-valuenow", String(left));
  store.set("warplens-split", String(left));
  for (const list of listings) list.draw(true);
}
if (splitter) {
  const both = byId("showptx"); // from the start where there is room for three columns
  both.checked = store.get("warplens-ptx") === null ? innerWidth >= 1700 : store.get("warplens-ptx") === "1";
  both.addEventListener("change", () => {
    store.set("warplens-ptx", both.checked ? "1" : "0");
    if (!view) return;
    fillPtx();
    search();
    if (sass.current >= 0) follow(sass.current, false);
  });
  const kept = Number(store.get("warplens-split"));
  if (kept) widths(kept);
  splitter.addEventListener("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  splitter.addEventListener("pointermove", (event) => {
    if (!splitter.hasPointerCapture(event.pointerId)) return;
    const area = splitter.parentElement.getBoundingClientRect();
    widths(100 * (event.clientX - area.left) / area.width);
  });
  splitter.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -3, ArrowRight: 3 }[event.key];
    if (by) { event.preventDefault(); widths(Number(splitter.getAttribute("aria-valuenow")) + by); }
  });
  for (const [id, change] of [
    ["wrap", (list, on) => { list.wrapped = on; list.host.classList.toggle("wrap", on); }],
    ["bare", (list, on) => list.host.classList.toggle("bare", on)],
  ]) {
    byId(id).addEventListener("change", (event) => {
      for (const list of listings) { change(list, event.target.checked); list.draw(true); }
    });
  }
}
