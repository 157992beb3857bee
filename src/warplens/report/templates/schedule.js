// --- the schedule of an SM: a row per warp, a column per cycle
const plan = { data: null, rows: [], row: 0, cycle: 0, cell: 11, line: 20, left: 74 };
const SVG = "http://www.w3.org/2000/svg";
function svg(name, attributes, text) {
  const item = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) item.setAttribute(key, String(value));
  if (text !== undefined) item.textContent = text;
  return item;
}
function loadSchedule() {
  const launch = data.launches[state.launch];
  plan.data = launch && launch.schedule;
  byId("scheduleview").hidden = !plan.data;
  if (!plan.data) return;
  articles[state.launch].querySelector(".sourcehost").append(byId("scheduleview"));
  const part = byId("part");
  part.replaceChildren(...[...Array(plan.data.subs).keys()].map((n) => new Option(String(n), String(n))));
  drawSchedule();
}
function drawSchedule() {
  const d = plan.data, number = Number(byId("part").value);
  plan.rows = d.rows.filter(([warp]) => warp % d.subs === number).map(([warp, spans]) => {
    let at = d.first;
    return [warp, spans.map(([which, length, instruction]) => {
      const span = { state: which, begin: at, end: at + length, instruction };
      at += length;
      return span;
    }).filter((span) => span.state >= 0)];
  });
  const width = plan.left + d.cycles * plan.cell + 4, height = 22 + plan.rows.length * plan.line;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  for (let c = 0; c <= d.cycles; c += 10) {
    const x = plan.left + c * plan.cell;
    picture.append(svg("line", { x1: x, x2: x, y1: 18, y2: height, class: "gridline" }),
      svg("text", { x: x + 2, y: 13, class: "tick" }, String(d.first + c)));
  }
  plan.rows.forEach(([warp, spans], row) => {
    const y = 20 + row * plan.line;
    picture.append(svg("text", { x: plan.left - 6, y: y + 14, "text-anchor": "end", class: "tick" }, `warp ${warp}`));
    for (const span of spans) {
      const x = plan.left + (span.begin - d.first) * plan.cell, w = (span.end - span.begin) * plan.cell;
      const name = d.states[span.state];
      picture.append(svg("rect", { x, y, width: w - 1, height: plan.line - 3, class: `${d.colours[span.state]} ${name === "selected" ? "issued" : "waits"}` }),
        svg("text", { x: x + 2, y: y + 13, class: name === "selected" ? "letter issuedletter" : "letter" }, d.letters[span.state]));
    }
  });
  plan.cursor = svg("rect", { width: plan.cell, height: plan.line - 1, class: "plancursor" });
  picture.append(plan.cursor);
  byId("schedulegrid").replaceChildren(picture);
  fillLegend();
  plan.row = 0;
  goCell(0, d.first);
}
function fillLegend() {
  const d = plan.data, cycles = new Map();
  for (const [, spans] of plan.rows) for (const s of spans) cycles.set(s.state, (cycles.get(s.state) || 0) + s.end - s.begin);
  const all = [...cycles.values()].reduce((a, b) => a + b, 0) || 1;
  byId("schedulelegend").replaceChildren(...[...cycles].sort((a, b) => b[1] - a[1]).map(([which, n]) => {
    const item = document.createElement("li");
    const swatch = svg("svg", { width: 20, height: 18, "aria-hidden": "true" });
    const issued = d.states[which] === "selected";
    swatch.append(svg("rect", { width: 19, height: 17, class: `${d.colours[which]} ${issued ? "issued" : "waits"}` }),
      svg("text", { x: 9, y: 13, "text-anchor": "middle", class: issued ? "letter issuedletter" : "letter" }, d.letters[which]));
    item.append(swatch, ` ${d.letters[which]} ${d.states[which].replaceAll("_", " ")}, ${(100 * n / all).toFixed(0)} %`);
    return item;
  }));
}
function goCell(row, cycle) {
  const d = plan.data;
  if (!plan.rows.length) { byId("scheduletext").textContent = "No warp was resident on this sub-partition."; return; }
  plan.row = Math.max(0, Math.min(plan.rows.length - 1, row));
  plan.cycle = Math.max(d.first, Math.min(d.first + d.cycles - 1, cycle));
  const x = plan.left + (plan.cycle - d.first) * plan.cell, y = 19 + plan.row * plan.line;
  plan.cursor.setAttribute("x", x);
  plan.cursor.setAttribute("y", y);
  const [warp, spans] = plan.rows[plan.row];
  plan.span = spans.find((s) => s.begin <= plan.cycle && plan.cycle < s.end);
  const blocks = d.blocks.filter(([w, begin]) => w === warp && begin <= plan.cycle);
  const block = blocks.length ? `, block ${blocks[blocks.length - 1][2]}` : "";
  const text = !plan.span ? "no block here"
    : `${d.states[plan.span.state].replaceAll("_", " ")} (${d.letters[plan.span.state]}), cycles ${plan.span.begin} to ${plan.span.end - 1}`
      + (view ? `: ${view.kernel.sass[plan.span.instruction]}` : "");
  byId("scheduletext").textContent = `Cycle ${plan.cycle}, warp ${warp}${block}: ${text}`;
  const host = byId("schedulegrid");
  if (x < host.scrollLeft + plan.left || x > host.scrollLeft + host.clientWidth - 40) host.scrollLeft = Math.max(0, x - host.clientWidth / 2);
}
if (byId("schedulegrid")) {
  const host = byId("schedulegrid");
  byId("part").addEventListener("change", drawSchedule);
  host.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], PageDown: [0, 10], PageUp: [0, -10] };
    if (event.key in moves) goCell(plan.row + moves[event.key][0], plan.cycle + moves[event.key][1]);
    else if (event.key === "Home") goCell(plan.row, plan.data.first);
    else if (event.key === "End") goCell(plan.row, plan.data.first + plan.data.cycles - 1);
    else if (event.key === "Enter" && plan.span && view) { sass.select(plan.span.instruction, true); follow(plan.span.instruction, true); sass.host.focus(); }
    else return;
    event.preventDefault();
  });
  host.addEventListener("click", (event) => {
    const place = host.firstChild.getBoundingClientRect();
    goCell(Math.floor((event.clientY - place.top - 19) / plan.line),
      plan.data.first + Math.floor((event.clientX - place.left - plan.left) / plan.cell));
  });
}
