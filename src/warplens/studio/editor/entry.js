// The studio's editor: CodeMirror with what the page needs of it, behind a few functions.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, drawSelection, gutter, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const setMarks = StateEffect.define();
const marks = StateField.define({
  create: () => ({ lines: [], set: Decoration.none }),
  update(value, transaction) {
    let next = { ...value, set: value.set.map(transaction.changes) };
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) next = { lines: effect.value, set: decorated(transaction.state, effect.value) };
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.set),
});
function decorated(state, lines) {
  const builder = new RangeSetBuilder();
  for (const { line, colour, picked } of lines) {
    if (line < 1 || line > state.doc.lines || (!colour && !picked)) continue;
    const at = state.doc.line(line).from;
    builder.add(at, at, Decoration.line({ class: `${colour || ""} ${picked ? "picked" : ""}`.trim() }));
  }
  return builder.finish();
}

class Value extends GutterMarker {
  constructor(text, share) { super(); this.text = text; this.share = share; }
  eq(other) { return other.text === this.text && other.share === this.share; }
  toDOM() {
    const item = document.createElement("span");
    item.textContent = this.text;
    item.style.backgroundColor = `rgba(var(--heat),${(0.6 * this.share).toFixed(2)})`;
    return item;
  }
}
const setValues = StateEffect.define();
const values = StateField.define({
  create: () => new Map(),
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setValues)) return effect.value;
    return transaction.docChanged ? new Map() : value;
  },
});
const valueGutter = gutter({
  class: "values",
  lineMarker(view, line) {
    const found = view.state.field(values).get(view.state.doc.lineAt(line.from).number);
    return found ? new Value(found.text, found.share) : null;
  },
  lineMarkerChange: (update) => update.startState.field(values) !== update.state.field(values),
  initialSpacer: () => new Value("", 0),
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword, tags.operatorKeyword, tags.processingInstruction], color: "var(--kw)" },
  { tag: [tags.string, tags.character], color: "var(--str)" },
  { tag: [tags.number, tags.bool, tags.typeName], color: "var(--lit)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

export function createEditor({ parent, text, language, onChange, onLine, label }) {
  const mode = new Compartment();
  const modeOf = (name) => (name === "python" ? python() : cpp());
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        valueGutter, lineNumbers(), lintGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(),
        closeBrackets(), autocompletion(), highlightSelectionMatches(), highlightActiveLine(), indentUnit.of("    "),
        syntaxHighlighting(colours), marks, values, mode.of(modeOf(language)),
        // Tab leaves the editor after Escape, so that the keyboard alone gets out of it.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange();
          if (update.selectionSet) onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
        }),
      ],
    }),
  });
  return {
    kind: "codemirror",
    text: () => view.state.doc.toString(),
    setText(next, name) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, effects: mode.reconfigure(modeOf(name)) });
    },
    setDiagnostics(list) {
      const doc = view.state.doc;
      view.dispatch(setDiagnostics(view.state, list.filter((d) => d.line >= 1 && d.line <= doc.lines).map((d) => {
        const line = doc.line(d.line), indent = /^\s*/.exec(line.text)[0].length;
        return { from: Math.min(line.from + indent, line.to), to: line.to, severity: d.severity, message: d.text, source: d.source };
      })));
    },
    setMarks: (lines) => view.dispatch({ effects: setMarks.of(lines) }),
    setValues: (map) => view.dispatch({ effects: setValues.of(map) }),
    goTo(line) {
      const at = view.state.doc.line(Math.max(1, Math.min(view.state.doc.lines, line))).from;
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    focus: () => view.focus(),
  };
}
