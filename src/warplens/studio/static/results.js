// What runs gave: the report, findings, and the history with its comparison.
import { ask, byId, element, grouped, inUnit } from "/static/api.js";

export const results = { history: [], shown: null, onLoad() {}, onLine() {} };
const theme = () => document.documentElement.dataset.theme;

const tabs = ["report", "findings", "history"];
export function open(name) {
  for (const one of tabs) {
    const chosen = one === name, tab = byId(`t-${one}`);
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(`p-${one}`).hidden = !chosen;
  }
}
tabs.forEach((name, i) => {
  byId(`t-${name}`).addEventListener("click", () => open(name));
  byId(`t-${name}`).addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const next = tabs[(i + move + tabs.length) % tabs.length];
    open(next);
    byId(`t-${next}`).focus();
  });
});

export function showPage(name, told) {
  const frame = byId("report");
  frame.hidden = false;
  frame.src = `/result/${name}.html?theme=${theme()}&at=${Date.now()}`;
  byId("shown").textContent = told;
  results.page = name;
  results.told = told;
  open("report");
}
export function showEntry(entry) {
  results.shown = entry;
  byId("share").hidden = byId("stepping").hidden = false;
  byId("stepping").hidden = entry.launches !== 1 || !entry.source;
  byId("html").href = `/result/${entry.id}.html?download`;
  byId("wlens").href = `/result/${entry.id}.wlens?download`;
  showPage(entry.id, `${entry.kernel} on ${entry.gpu}: ${inUnit(entry.nanoseconds)} ~`);
}
export function again() { if (results.page) showPage(results.page, results.told); }

const shape = (list) => [...list].join("x").replace(/(x1)+$/, "");
export function fillHistory() {
  const pick = (side, entry, chosen) => element("input", { type: "radio", name: side, value: entry.id, checked: chosen, "aria-label": `${side.toUpperCase()}: launch ${entry.id}` });
  const n = results.history.length;
  byId("history").replaceChildren(...results.history.map((entry, i) => element("tr", {},
    element("td", {}, pick("a", entry, i === n - 2)), element("td", {}, pick("b", entry, i === n - 1)),
    element("td", {}, entry.kernel), element("td", {}, entry.gpu), element("td", {}, `${shape(entry.grid)} x ${shape(entry.block)}`),
    element("td", {}, inUnit(entry.nanoseconds)), element("td", {}, entry.instructions === null ? "n/a" : grouped.format(entry.instructions)),
    element("td", {}, element("button", { type: "button", on: { click: () => showEntry(entry) } }, "Report"), " ",
      element("button", { type: "button", disabled: !entry.source, on: { click: () => results.onLoad(entry) } }, "Source")))));
  byId("compare").disabled = n < 2;
}
const chosen = (side) => document.querySelector(`input[name=${side}]:checked`)?.value;
byId("compare").addEventListener("click", async () => {
  const before = chosen("a"), after = chosen("b");
  const answer = await ask("compare", { before, after });
  if (answer.error) { byId("shown").textContent = answer.error.message; open("report"); return; }
  byId("share").hidden = byId("stepping").hidden = true;
  showPage(answer.page, `Comparison of launch ${before} with launch ${after}`);
});

export function showFindings(findings) {
  const line = (n) => element("button", { type: "button", class: "link", on: { click: () => results.onLine(n) } }, `line ${n}`);
  byId("findings").replaceChildren(...(findings.length ? findings.map((one) => element("div", { class: "finding" },
    element("b", { class: one.severity === "error" ? "error" : "warning" }, `${one.tool}: ${one.check}`), ` ${one.title} `,
    ...one.lines.flatMap((n) => [line(n), " "]), "\n", one.details.join("\n"), one.advice ? `\n${one.advice}` : "")) : [element("p", { class: "done" }, "No findings.")]));
  open("findings");
}
