// The editor where CodeMirror was not built: a text area with the same functions.
export function createEditor({ parent, text, onChange, onLine, label }) {
  const area = document.createElement("textarea");
  area.className = "plain-editor";
  area.setAttribute("aria-label", label);
  area.spellcheck = false;
  area.value = text;
  parent.append(area);
  area.addEventListener("input", onChange);
  const tell = () => onLine(area.value.slice(0, area.selectionStart).split("\n").length);
  area.addEventListener("keyup", tell);
  area.addEventListener("click", tell);
  return {
    kind: "plain",
    text: () => area.value,
    setText(next) { area.value = next; onChange(); },
    setDiagnostics() {},
    setMarks() {},
    setValues() {},
    goTo(line) {
      const lines = area.value.split("\n");
      const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      area.focus();
      area.setSelectionRange(begin, begin + (lines[line - 1] || "").length);
    },
    focus: () => area.focus(),
  };
}
