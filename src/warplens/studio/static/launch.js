// The launch as a form: kernel, grid, block, and an argument per parameter.
import { byId, element } from "/static/api.js";

const TYPES = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"];
const BUFFER = /^(\w+)\[([^\]]*)\]=(.*)$/s, SCALAR = /^(\w+)=(.*)$/s;
const sizes = (text) => text.split(",").map((part) => Number(part.trim()));

export const launch = {
  signature: "", rows: [],
  set({ kernel, grid, block, shared, arguments: given }) {
    if (kernel !== undefined) byId("kernel").value = kernel;
    if (grid) byId("grid").value = [...grid].join(",").replace(/(,1)+$/, "");
    if (block) byId("block").value = [...block].join(",").replace(/(,1)+$/, "");
    if (shared !== undefined) byId("shared").value = String(shared);
    if (given) this.pending = [...given];
  },
  // A script launches its kernels itself.
  scripted(on) {
    for (const id of ["kernel", "grid", "block", "shared", "apply", "sizes", "compare3", "s-block", "s-registers", "s-shared", "s-gpu"]) byId(id).disabled = on;
    if (on) byId("arguments").replaceChildren(element("p", { class: "note" }, "The script launches its kernels itself."));
  },
  // The parameters of the kernel as compiled; what was typed stays while they are the same.
  parameters(list) {
    const signature = JSON.stringify(list.map((p) => p.type));
    const given = this.pending && this.pending.length === list.length ? this.pending : null;
    if (!list.length || (signature === this.signature && !given)) { if (!list.length && !given) return; }
    if (signature === this.signature && !given) return;
    this.signature = signature;
    this.pending = null;
    this.rows = list.map((parameter, i) => argument(i, parameter.type, given ? given[i] : parameter.example));
    byId("arguments").replaceChildren(...this.rows.map((row) => row.element));
  },
  read() {
    return {
      kernel: byId("kernel").value.trim(),
      grid: sizes(byId("grid").value),
      block: sizes(byId("block").value),
      shared: Number(byId("shared").value),
      arguments: this.pending && !this.rows.length ? this.pending : this.rows.map((row) => row.text()),
    };
  },
};

function argument(index, type, text) {
  const label = element("span", { class: "type" }, `${index}: ${type}`);
  const named = (what) => `Argument ${index}, ${what}`;
  const buffer = BUFFER.exec(text), scalar = SCALAR.exec(text);
  const kind = (chosen) => element("select", { "aria-label": named("type") }, ...TYPES.map((t) => new Option(t, t, false, t === chosen)));
  const field = (what, value, list) => element("input", { "aria-label": named(what), value, list, spellcheck: "false", autocomplete: "off" });
  if (buffer && TYPES.includes(buffer[1])) {
    const parts = [kind(buffer[1]), field("size", buffer[2]), field("values", buffer[3], "initialisers")];
    return { element: element("div", { class: "argument" }, label, ...parts), text: () => `${parts[0].value}[${parts[1].value}]=${parts[2].value}` };
  }
  if (scalar && TYPES.includes(scalar[1])) {
    const parts = [kind(scalar[1]), field("value", scalar[2])];
    return { element: element("div", { class: "argument" }, label, ...parts), text: () => `${parts[0].value}=${parts[1].value}` };
  }
  const whole = field("value", text);
  return { element: element("div", { class: "argument" }, label, whole), text: () => whole.value };
}
document.body.append(element("datalist", { id: "initialisers" }, ...["0", "1", "arange", "rand", "randint(0,10)", "data.npy"].map((v) => new Option(v, v))));
