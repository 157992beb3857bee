// --- launches
const picker = byId("picker");
function show(index) {
  if (!articles.length) return;
  state.launch = Math.max(0, Math.min(articles.length - 1, index));
  articles.forEach((article, i) => { article.hidden = i !== state.launch; });
  picker.value = String(state.launch);
  loadLaunch();
  loadWarp();
  loadSchedule();
  loadTimeline();
  for (const link of document.querySelectorAll("[data-view]")) link.hidden = byId(link.dataset.view).hidden;
}
if (picker) {
  picker.addEventListener("change", () => {
    show(Number(picker.value));
    history.replaceState(null, "", `#launch-${state.launch}`);
  });
}
document.addEventListener("click", (event) => {
  const button = event.target.closest(".chosen");
  if (!button) return;
  show(Number(button.dataset.index));
  articles[state.launch].scrollIntoView();
});
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
for (const [name, printed] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(name, () => { for (const list of [code, sass]) { list.printed = printed; list.draw(true); } });
}
const asked = /^#launch-(\d+)$/.exec(location.hash);
show(asked ? Number(asked[1]) : 0);
