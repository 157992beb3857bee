// The report in a frame without the notebook's origin; its theme is the notebook's.
function isDark() {
  const body = document.body;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // JupyterLab
  if (/\bvscode-(dark|light|high-contrast)/.test(body.className)) return !/\bvscode-light/.test(body.className);
  const theme = document.documentElement.dataset.theme || document.documentElement.getAttribute("theme");
  if (theme) return theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "warplens report";
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = "width:100%;border:0;display:block";
  const draw = () => {
    frame.name = `warplens-theme-${isDark() ? "dark" : "light"}`; // read by the page
    frame.style.height = `${model.get("height")}px`;
    frame.srcdoc = model.get("page");
  };
  const heard = (event) => {
    if (event.source !== frame.contentWindow || !event.data || event.data.warplens !== "goto") return;
    model.set("line", Number(event.data.line) || 0);
    model.save_changes();
  };
  let was = isDark();
  const watch = new MutationObserver(() => { if (isDark() !== was) { was = isDark(); draw(); } });
  watch.observe(document.body, { attributes: true, attributeFilter: ["class", "data-jp-theme-light"] });
  addEventListener("message", heard);
  model.on("change:page change:height", draw);
  draw();
  el.append(frame);
  return () => { removeEventListener("message", heard); watch.disconnect(); };
}
export default { render };
