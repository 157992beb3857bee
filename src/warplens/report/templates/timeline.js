// --- counters over time: a cursor over the strips reads them out
const strips = { times: null, rows: [], at: 0, left: 210, right: 900 };
function loadTimeline() {
  const launch = data.launches[state.launch];
  const known = launch && launch.timeline;
  const tools = articles[state.launch].querySelector(".timetools");
  strips.times = known && tools ? known.times : null;
  if (!strips.times) return;
  strips.rows = known.rows;
  strips.tools = tools;
  strips.slider = articles[state.launch].querySelector(".timeslider");
  strips.cursor = articles[state.launch].querySelector(".timeline .cursor");
  const last = strips.times.length - 1;
  if (strips.slider.max === "0") { // opened for the first time
    strips.slider.max = String(last);
    strips.slider.value = String(last >> 1);
  }
  goTime(Math.min(Number(strips.slider.value), last));
}
function inUnit(ns) {
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
    if (ns >= size) return `${Number((ns / size).toPrecision(4))} ${unit}`;
  }
  return `${ns} ns`;
}
function goTime(index) {
  strips.at = index;
  const begin = index ? strips.times[index - 1] : 0, end = strips.times[index];
  const all = strips.times[strips.times.length - 1] || 1;
  const x = strips.left + (strips.right - strips.left) * (begin + end) / 2 / all;
  for (const name of ["x1", "x2"]) strips.cursor.setAttribute(name, x.toFixed(1));
  strips.slider.value = String(index);
  const told = `${inUnit(begin)} to ${inUnit(end)}`;
  strips.slider.setAttribute("aria-valuetext", told);
  strips.tools.querySelector(".timetold").textContent = told;
  strips.tools.querySelector(".timevalues").replaceChildren(...strips.rows.map(([label, unit, values]) => {
    const item = document.createElement("div");
    const name = document.createElement("dt"), value = document.createElement("dd");
    name.textContent = label;
    value.textContent = `${grouped.format(values[index])} ${unit}`;
    item.append(name, value);
    return item;
  }));
}
document.addEventListener("input", (event) => {
  if (strips.times && event.target === strips.slider) goTime(Number(event.target.value));
});
document.addEventListener("click", (event) => {
  const picture = event.target.closest(".timeline svg");
  if (!picture || !strips.times || !articles[state.launch].contains(picture)) return;
  const place = picture.getBoundingClientRect();
  const x = (event.clientX - place.left) / place.width * picture.viewBox.baseVal.width;
  const all = strips.times[strips.times.length - 1];
  const ns = (x - strips.left) / (strips.right - strips.left) * all;
  const found = strips.times.findIndex((end) => end >= ns);
  goTime(found < 0 ? strips.times.length - 1 : found);
});
