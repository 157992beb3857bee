const ROW = 20, MARGIN = 20;
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const articles = [...document.querySelectorAll(".launch")];
const state = { launch: 0, heat: "", file: "", search: "", matches: [], match: -1, hidden: new Set() };
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

const store = {
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(key, value); } catch { /* private mode */ } },
};

try { state.hidden = new Set(JSON.parse(store.get("warplens-hidden") || "[]")); } catch { /* not ours */ }

// --- theme
const theme = byId("theme");
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  theme.setAttribute("aria-pressed", String(dark));
}
// A page around this one asks for a theme by the address or by the frame's name.
const named = /^warplens-theme-(dark|light)$/.exec(window.name);
const saved = new URLSearchParams(location.search).get("theme") || (named && named[1]) || store.get("warplens-theme");
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
const counted = (n, noun) => `${grouped.format(n)} ${noun}${n === 1 ? "" : "s"}`;
function short(path) { return path.split(/[\\/]/).pop(); }
