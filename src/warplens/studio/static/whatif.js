// Sliders: occupancy and a rough time while they move, the modelled time where they rest.
import { ask, byId, element, grouped, inUnit, latest } from "/static/api.js";
import { launch } from "/static/launch.js";

export const whatif = { gpus: [], code: null, base: null, known: new Map(), request: () => ({}) };
const slider = (name) => Number(byId(`s-${name}`).value);
let rest = 0, top = 0;

// The launch with so many threads a block: the same number of threads in all.
export function shapeFor(threads, grid, block) {
  const g = [...grid, 1, 1].slice(0, 3), b = [...block, 1, 1].slice(0, 3);
  const axis = b[1] * b[2] > 1 && threads % b[0] === 0 ? 1 : 0;
  const others = axis ? b[0] * b[2] : b[1] * b[2];
  const size = Math.max(1, Math.floor(threads / others));
  const all = g[axis] * b[axis];
  b[axis] = size;
  g[axis] = Math.max(1, Math.ceil(all / size));
  return { grid: g, block: b };
}
function point() {
  const gpu = whatif.gpus[slider("gpu")] || whatif.gpus[0];
  const cap = slider("registers") >= 256 ? 0 : slider("registers");
  const form = launch.read();
  return { gpu: gpu.name, cap, shared: slider("shared"), threads: slider("block"), ...shapeFor(slider("block"), form.grid, form.block) };
}
const product = (list) => list.reduce((a, b) => a * b, 1);
const keyOf = (p) => JSON.stringify([whatif.request().source, p.gpu, p.cap, p.shared, p.grid, p.block, launch.read().arguments, launch.read().kernel]);

function tell(p) {
  byId("o-block").textContent = `${p.block.join("x").replace(/(x1)+$/, "")} (${p.threads})`;
  byId("o-registers").textContent = p.cap ? String(p.cap) : "no cap";
  byId("o-shared").textContent = `${grouped.format(p.shared)} B`;
  byId("o-gpu").textContent = p.gpu;
  byId("s-gpu").setAttribute("aria-valuetext", p.gpu);
}
function draw(occupancy, nanoseconds, how, note) {
  const shown = nanoseconds !== null && nanoseconds !== undefined;
  top = Math.max(top, shown ? nanoseconds : 0);
  byId("timebar").style.width = shown && top ? `${(100 * nanoseconds / top).toFixed(1)}%` : "0";
  byId("time").textContent = shown ? `${inUnit(nanoseconds)} ${how}` : "n/a";
  if (occupancy) {
    byId("occupancybar").style.width = occupancy.error ? "0" : `${occupancy.percent.toFixed(1)}%`;
    byId("occupancy").textContent = occupancy.error ? "does not fit" : `${occupancy.percent.toFixed(0)} %, ${occupancy.blocks} x ${occupancy.warps / Math.max(1, occupancy.blocks)} warps`;
    if (occupancy.error) note = occupancy.error;
    else note = `Limited by ${occupancy.limiters.join(" and ")}. ${note}`;
  }
  byId("whatif").textContent = note;
  byId("whatif").dataset.drawn = String(Number(byId("whatif").dataset.drawn || 0) + 1);
}
const follow = latest(async (p) => {
  const known = whatif.known.get(keyOf(p));
  const code = whatif.code || { registers: 32, static_shared: 0 };
  const answer = await ask("occupancy", {
    gpu: p.gpu, threads: p.threads, registers: p.cap ? Math.min(p.cap, code.registers) : code.registers,
    static: code.static_shared, shared: p.shared, blocks: product(p.grid), base: whatif.base,
  });
  if (answer.error) return draw({ error: answer.error.message }, null, "", "");
  if (known) draw(answer.occupancy, known.nanoseconds, "~", `Modelled; ${known.limiter}.`);
  else draw(answer.occupancy, answer.nanoseconds, "rough", whatif.base ? "Scaled from the last run." : "Run first for a time.");
});
const settle = latest(async (p) => {
  if (!whatif.code || whatif.known.has(keyOf(p))) return;
  const found = await predicted(p);
  if (found && keyOf(point()) === keyOf(p)) follow(p);
});
export async function predicted(p) {
  const key = keyOf(p);
  if (whatif.known.has(key)) return whatif.known.get(key);
  const answer = await ask("predict", { ...whatif.request(), ...launch.read(), gpu: p.gpu, cap: p.cap, shared: p.shared, grid: p.grid, block: p.block });
  if (answer.error) { if (answer.error.kind !== "stale") byId("whatif").textContent = answer.error.message; return null; }
  whatif.known.set(key, answer);
  return answer;
}
export function moved() {
  const p = point();
  tell(p);
  follow(p);
  clearTimeout(rest);
  rest = setTimeout(() => settle(point()), 300);
}
export function toLaunch() { // the sliders stand where the form does
  const form = launch.read();
  byId("s-block").value = String(product(form.block) || 32);
  byId("s-shared").value = String(form.shared || 0);
  const at = whatif.gpus.findIndex((g) => g.name === byId("gpu").value);
  if (at >= 0) byId("s-gpu").value = String(at);
  top = 0;
  tell(point());
  follow(point());
}
async function table(points, label) {
  const body = element("tbody");
  byId("predictions").replaceChildren(element("table", { class: "bars" }, body));
  const rows = points.map((p) => {
    const row = { p, fill: element("span", { class: "fill", style: "width:0" }), num: element("td", { class: "num" }, "...") };
    body.append(element("tr", {}, element("th", { scope: "row" }, label(p)), element("td", { class: "track" }, row.fill), row.num));
    return row;
  });
  for (const row of rows) {
    row.found = await predicted(row.p);
    row.num.textContent = row.found ? `${inUnit(row.found.nanoseconds)} ~` : "does not run";
    const most = Math.max(...rows.map((r) => (r.found ? r.found.nanoseconds : 0)));
    for (const r of rows) if (r.found) r.fill.style.width = `${(100 * r.found.nanoseconds / most).toFixed(1)}%`;
  }
  const best = rows.filter((r) => r.found).sort((a, b) => a.found.nanoseconds - b.found.nanoseconds)[0];
  if (best) best.num.append(element("b", { class: "done" }, " fastest"));
}
export function begin(gpus) {
  whatif.gpus = [...gpus].sort((a, b) => a.bandwidth - b.bandwidth);
  byId("s-gpu").max = String(gpus.length - 1);
  for (const name of ["block", "registers", "shared", "gpu"]) byId(`s-${name}`).addEventListener("input", moved);
  byId("apply").addEventListener("click", () => {
    const p = point();
    launch.set({ grid: p.grid, block: p.block, shared: p.shared });
    byId("gpu").value = p.gpu;
    byId("gpu").dispatchEvent(new Event("change"));
  });
  byId("sizes").addEventListener("click", () => {
    const form = launch.read(), p = point();
    const sizes = [32, 64, 128, 256, 512, 1024];
    table(sizes.map((threads) => ({ ...p, threads, ...shapeFor(threads, form.grid, form.block) })), (one) => `${one.threads} threads`);
  });
  const chosen = ["H200 SXM", "RTX 4090", "L4"];
  ["gpu1", "gpu2", "gpu3"].forEach((id, i) => byId(id).replaceChildren(...gpus.map((g) => new Option(g.name, g.name, false, g.name === chosen[i]))));
  byId("compare3").addEventListener("click", () => {
    const p = point();
    table(["gpu1", "gpu2", "gpu3"].map((id) => ({ ...p, gpu: byId(id).value })), (one) => one.gpu);
  });
}
