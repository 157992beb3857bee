// Requests to the server; every answer is an object, with `error` where something is wrong.
export const tab = `t${Math.random().toString(36).slice(2, 12)}`;

export async function ask(what, document = {}) {
  try {
    const response = await fetch(`/api/${what}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ tab, ...document }),
    });
    const text = await response.text();
    try { return JSON.parse(text); } catch { return { error: { kind: "refused", message: text.trim() || response.statusText } }; }
  } catch {
    return { error: { kind: "gone", message: "The server does not answer. Was warplens studio stopped?" } };
  }
}

// The latest of many requests: while one is under way only the last of the others is kept.
export function latest(work) {
  let running = false, next = null;
  return async function later(...given) {
    next = given;
    if (running) return;
    running = true;
    while (next) {
      const now = next;
      next = null;
      await work(...now);
    }
    running = false;
  };
}

export const byId = (id) => document.getElementById(id);
export const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
export function element(name, attributes = {}, ...children) {
  const item = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, action] of Object.entries(value)) item.addEventListener(event, action);
    else if (value !== false && value !== null && value !== undefined) item.setAttribute(key, value === true ? "" : String(value));
  }
  item.append(...children.filter((child) => child !== null && child !== undefined));
  return item;
}
export function inUnit(ns) {
  if (ns === null || ns === undefined) return "n/a";
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  return `${Math.round(ns)} ns`;
}
