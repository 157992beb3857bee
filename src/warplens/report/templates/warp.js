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
function sourceOf(instruction) { // "file:line  text" of an instruction
  const k = view.kernel, line = k.lines[instruction];
  if (!line) return "";
  const name = k.names[k.files[instruction]];
  const file = data.files.find((f) => f.name === name);
  const run = (file ? file.lines : []).find(([first, texts]) => line >= first && line < first + texts.length);
  return `${short(name)}:${line}${inlinedAt(instruction)}  ${run ? run[1][line - run[0]].trim() : ""}`;
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
  byId("stepline").textContent = view ? sourceOf(instruction) : "";
  const lanes = [...Array(32).keys()];
  byId("lanes").replaceChildren(...lanes.map((lane) =>
    span(String(lane), executing >>> lane & 1 ? "on" : mask >>> lane & 1 ? "off" : "")));
  byId("lanes").setAttribute("aria-label", `${lanes.filter((l) => executing >>> l & 1).length} of 32 lanes predicated on`);
  byId("accesses").replaceChildren(...accesses.flatMap(([space, what, size, n, pieces]) => {
    const row = document.createElement("div");
    row.className = "pieces";
    const shared = space === "shared", most = Math.max(...pieces.map((p) => p[1]), 1);
    const base = shared || !pieces.length ? 0 : pieces[0][0];
    for (const [place, count] of pieces) {
      const item = span(shared ? `b${place}: ${count}` : `+${(place - base) * 32}: ${count}`, "",
        shared ? `bank ${place}: ${counted(count, "word")}` : `sector at 0x${(place * 32).toString(16)}: ${counted(count, "lane")}`);
      item.style.background = `rgba(var(--heat),${(0.5 * count / most).toFixed(2)})`;
      row.append(item);
    }
    const text = document.createElement("p");
    text.className = "note";
    text.textContent = shared
      ? `shared ${what}: ${counted(n, "lane")}, ${counted(size, "byte")} each; ${counted(pieces.length, "bank")}, at most ${counted(most, "word")} per bank`
      : `${space} ${what}: ${counted(n, "lane")}, ${counted(size, "byte")} each; ${counted(pieces.length, "sector")} (offset: lanes)`;
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
