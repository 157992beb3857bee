// The page: what is open, compiled on every pause in typing, run, checked and stepped.
import { ask, byId, element, grouped, latest, tab } from "/static/api.js";
import { Listings } from "/static/code.js";
import { launch } from "/static/launch.js";
import { again, fillHistory, results, showEntry, showFindings, showPage, open } from "/static/results.js";
import { begin, toLaunch, whatif } from "/static/whatif.js";

const PAUSE = 150;
const page = { file: "kernel.cu", exercise: "", isFile: false, gallery: [], compiled: null, problems: [], found: { source: "", list: [] }, lines: {}, busy: false };
let editor = null, pause = 0;

// --- theme
const keep = { get: (k) => { try { return localStorage.getItem(k); } catch { return null; } }, set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* private mode */ } } };
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(dark));
}
setTheme(keep.get("warplens-theme") ? keep.get("warplens-theme") === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
byId("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme !== "dark";
  setTheme(dark);
  keep.set("warplens-theme", dark ? "dark" : "light");
  again();
});

const say = (text, kind = "") => { byId("status").textContent = text; byId("status").className = kind; };
const language = (name) => (name.endsWith(".py") ? "python" : "cpp");
const request = () => ({ file: page.file, source: editor.text(), gpu: byId("gpu").value });
whatif.request = request;

// --- compiling
const compile = latest(async () => {
  const kernel = byId("kernel").value.trim();
  const sent = performance.now(), asked = request();
  const answer = await ask("compile", { ...asked, kernel });
  if (answer.error) { if (answer.error.kind !== "stale") say(answer.error.message, "error"); return; }
  page.compiled = answer;
  page.problems = answer.diagnostics.map((d) => ({ ...d, source: "compiler" }));
  if (page.found.source === asked.source) page.problems.push(...page.found.list); // of the same text
  showProblems();
  byId("kernels").replaceChildren(...answer.kernels.map((name) => new Option(name, name.split("(")[0])));
  const errors = answer.diagnostics.filter((d) => d.severity === "error").length;
  document.body.classList.toggle("stale", !answer.kernel);
  launch.scripted(page.file.endsWith(".py"));
  if (!answer.kernel) {
    say(answer.message || `${errors} error${errors === 1 ? "" : "s"}`, errors || (answer.message && !answer.python) ? "error" : "");
    document.body.dataset.compiled = String(Number(document.body.dataset.compiled || 0) + 1);
    return;
  }
  const found = answer.kernel;
  whatif.code = found;
  listings.show(found);
  editor.setMarks(listings.marks());
  launch.parameters(found.parameters);
  showFacts(found);
  toLaunch();
  say(`${found.name.split("(")[0]}: ${grouped.format(found.sass.length)} instructions, ${Math.round(performance.now() - sent)} ms`);
  document.body.dataset.compiled = String(Number(document.body.dataset.compiled || 0) + 1);
});
const listings = new Listings((line) => { editor.goTo(line); });
function changed() {
  clearTimeout(pause);
  page.lines = {};
  pause = setTimeout(compile, PAUSE);
}
function onLine(line) {
  if (line === listings.picked) return;
  listings.pick(line, "");
  editor.setMarks(listings.marks());
}
function showProblems() {
  editor.setDiagnostics(page.problems);
  byId("problems").replaceChildren(...page.problems.slice(0, 30).map((d) => element("li", { class: d.severity === "error" ? "error" : "warning" },
    d.line ? element("button", { type: "button", class: "link", on: { click: () => editor.goTo(d.line) } }, `line ${d.line}`) : null, ` ${d.text}`)));
}
async function showFacts(k) {
  const shared = k.dynamic_shared ?? (Number(byId("shared").value) || 0);
  const threads = (k.block || launch.read().block).reduce((a, b) => a * b, 1);
  const answer = await ask("occupancy", { gpu: byId("gpu").value, threads, registers: k.registers, static: k.static_shared, shared });
  const o = answer.occupancy || { error: answer.error.message };
  const rows = [
    ["Registers", `${k.registers} per thread${k.live === null ? "" : `, at most ${k.live} alive`}`],
    ["Local memory", k.local ? `${grouped.format(k.local)} B per thread, ${k.spills} stores (spills or arrays)` : "none: nothing spilled"],
    ["Shared memory", `${grouped.format(k.static_shared)} B static, ${grouped.format(shared)} B dynamic`],
    ["Occupancy", o.error ? o.error : `${o.percent.toFixed(0)} %: ${o.blocks} blocks, ${o.warps} of ${o.max_warps} warps per SM`],
    ["Limited by", o.error ? "" : o.limiters.join(", ")],
    ["Instructions", grouped.format(k.sass.length)],
    ...(k.gaps.length ? [["Not executed", k.gaps.slice(0, 3).join("; ")]] : []),
  ];
  byId("facts").replaceChildren(...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

// --- running
function busy(on, text = "") {
  page.busy = on;
  byId("run").disabled = byId("check").disabled = on;
  byId("cancel").disabled = !on;
  if (text) say(text);
}
async function run() {
  if (page.busy) return;
  busy(true, "Running...");
  const began = performance.now();
  const answer = await ask("run", { ...request(), ...launch.read(), exercise: page.exercise });
  busy(false);
  if (answer.error) { failed(answer.error); return; }
  page.lines = answer.lines || answer.launches[0].lines;
  showValues();
  if (answer.code) { // of a script, whose kernels are compiled by its run
    document.body.classList.remove("stale");
    whatif.code = answer.code;
    listings.show(answer.code);
    editor.setMarks(listings.marks());
    showFacts(answer.code);
  }
  results.history.push(answer.entry);
  fillHistory();
  whatif.base = answer.entry.id;
  if (!answer.code) toLaunch();
  byId("output").hidden = !answer.output;
  byId("output").textContent = answer.output;
  showEntry(answer.entry);
  showGoals(answer.exercise);
  say(`Ran in ${((performance.now() - began) / 1000).toFixed(2)} s. ${answer.launches[0].limiter ? `Limited by ${answer.launches[0].limiter}.` : ""}`);
  document.body.dataset.runs = String(Number(document.body.dataset.runs || 0) + 1);
}
function failed(error) {
  say(error.message, "error");
  const place = /(?:^|[\s(])[^\s()]*?:(\d+)\b/.exec(error.message);
  if (place && error.kind === "refused") {
    page.problems = [...page.problems.filter((p) => p.source === "compiler"), { line: Number(place[1]), severity: "error", text: error.message.split("\n")[0], source: "run" }];
    showProblems();
  }
}
async function check() {
  if (page.busy) return;
  busy(true, "Checking...");
  const asked = request();
  const answer = await ask("sanitize", { ...asked, ...launch.read() });
  busy(false);
  if (answer.error) { failed(answer.error); return; }
  page.found = { source: asked.source, list: answer.findings.flatMap((one) =>
    one.lines.map((line) => ({ line, severity: one.severity === "error" ? "error" : "warning", text: `${one.check}: ${one.title}`, source: one.tool }))) };
  page.problems = page.problems.filter((p) => p.source === "compiler").concat(page.found.list);
  showProblems();
  showFindings(answer.findings);
  say(answer.findings.length ? `${answer.findings.length} finding${answer.findings.length === 1 ? "" : "s"}` : "No findings.", answer.findings.length ? "error" : "done");
}
byId("run").addEventListener("click", run);
byId("check").addEventListener("click", check);
byId("cancel").addEventListener("click", () => ask("cancel", { tab }));
byId("stepping").addEventListener("submit", async (event) => {
  event.preventDefault();
  const entry = results.shown;
  say("Recording the warp...");
  const answer = await ask("step", { ...entry.request, file: entry.file, source: entry.source, gpu: entry.gpu, grid: entry.grid, block: entry.block, id: entry.id,
    warp_block: Number(byId("warpblock").value), warp: Number(byId("warp").value) });
  if (answer.error) { failed(answer.error); return; }
  say("Recorded.");
  showEntry(entry);
});
function showValues() {
  const chosen = page.lines[byId("values").value] || {};
  const most = Math.max(1, ...Object.values(chosen));
  editor.setValues(new Map(Object.entries(chosen).map(([line, value]) => [Number(line), { text: grouped.format(Math.round(value)), share: value / most }])));
}
byId("values").addEventListener("change", showValues);
function showGoals(told) {
  if (!told) { byId("goals").replaceChildren(); return; }
  const rows = told.goals.map((g) => element("li", { class: g.holds ? "done" : "error" },
    `${g.holds ? "Reached" : "Not yet"}: ${g.metric} is ${g.value === null ? "n/a" : grouped.format(g.value)}, wanted ${g.comparison} ${grouped.format(g.number)}`));
  if (told.same !== null) rows.push(element("li", { class: told.same ? "done" : "error" }, told.same ? "The result is right." : "The result differs from the original kernel's."));
  if (told.solved) rows.push(element("li", { class: "done" }, element("b", {}, "Solved.")));
  byId("goals").replaceChildren(...rows);
}

// --- what is open
function show({ file, source, exercise, isFile }) {
  page.file = file;
  page.exercise = exercise ? exercise.id : "";
  page.isFile = Boolean(isFile);
  page.lines = {};
  page.problems = [];
  byId("save").disabled = !page.isFile;
  byId("exercise").hidden = !exercise;
  byId("goals").replaceChildren();
  launch.signature = "";
  launch.rows = [];
  launch.pending = null;
  byId("arguments").replaceChildren();
  byId("kernel").value = "";
  if (exercise) {
    byId("exercisetitle").textContent = exercise.title;
    byId("steps").replaceChildren(...exercise.steps.map((text) => element("li", {}, text)));
    launch.set(exercise);
  }
  whatif.base = null;
  byId("predictions").replaceChildren();
  listings.clear();
  editor.setText(source, language(file));
  clearTimeout(pause);
  compile();
}
async function openChosen(value) {
  const [kind, name] = [value.slice(0, 2), value.slice(2)];
  if (kind === "g:") {
    const exercise = page.gallery.find((one) => one.id === name);
    show({ file: exercise.file, source: exercise.source, exercise });
    return;
  }
  const answer = await ask("open", { file: name });
  if (answer.error) { say(answer.error.message, "error"); return; }
  show({ file: name, source: answer.source, isFile: true });
}
async function save() {
  if (!page.isFile) return;
  const answer = await ask("save", { file: page.file, source: editor.text() });
  say(answer.error ? answer.error.message : `Saved ${page.file}.`, answer.error ? "error" : "");
}
results.onLine = (line) => editor.goTo(line);
results.onLoad = (entry) => {
  show({ file: entry.file || "kernel.cu", source: entry.source });
  launch.set({ ...entry.request, grid: entry.grid, block: entry.block });
  compile();
};
byId("opened").addEventListener("change", () => openChosen(byId("opened").value));
byId("save").addEventListener("click", save);
byId("gpu").addEventListener("change", compile);
byId("kernel").addEventListener("change", compile);
for (const id of ["block", "grid", "shared"]) byId(id).addEventListener("change", () => { toLaunch(); if (whatif.code) showFacts(whatif.code); });
byId("launch").addEventListener("submit", (event) => { event.preventDefault(); run(); });
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey)) return;
  if (event.key === "Enter") { event.preventDefault(); event.stopPropagation(); run(); }
  else if (event.key.toLowerCase() === "s") { event.preventDefault(); save(); }
}, { capture: true });
addEventListener("message", (event) => { // a report's link to a source line
  if (event.source !== byId("report").contentWindow || !event.data || event.data.warplens !== "goto") return;
  const line = Number(event.data.line);
  if (Number.isInteger(line) && line > 0 && line < 1e6) { listings.pick(line, ""); editor.setMarks(listings.marks()); }
});

async function start() {
  const told = await ask("start");
  const plain = () => import("/static/plain.js");
  const module = await (told.note ? plain() : import("/static/editor.js").catch(plain));
  editor = module.createEditor({ parent: byId("editor"), text: "", language: "cpp", onChange: changed, onLine, label: "Source" });
  if (told.error) { say(told.error.message, "error"); return; }
  byId("note").hidden = !told.note;
  byId("note").textContent = told.note;
  page.gallery = told.gallery;
  const favourite = told.gpus.find((g) => g.name === "H200 SXM") || told.gpus[0];
  byId("gpu").replaceChildren(...told.gpus.map((g) => new Option(g.name, g.name, false, g === favourite)));
  begin(told.gpus);
  const groups = [];
  if (told.files.length) groups.push(element("optgroup", { label: "Files" }, ...told.files.map((f) => new Option(f, `f:${f}`))));
  groups.push(element("optgroup", { label: "Gallery" }, ...told.gallery.map((e) => new Option(e.title, `g:${e.id}`))));
  byId("opened").replaceChildren(...groups);
  results.history = told.history;
  fillHistory();
  const first = told.opened ? `f:${told.opened}` : told.files.length ? `f:${told.files[0]}` : "g:transpose";
  byId("opened").value = first;
  await openChosen(first);
  if (told.history.length) showEntry(told.history[told.history.length - 1]);
  document.body.dataset.ready = "1";
}
start();
