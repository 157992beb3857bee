"""Memory counters: instructions, requests, sectors, bytes and wavefronts by space and access.

Columns are counted per instruction and by the space that each lane's address fell in, so a generic
access counts where it went. The kind of access (`op`) comes from the opcode.
"""

from __future__ import annotations

from warplens.metrics.counters import Choice, Counters, Quantity, ratio
from warplens.metrics.instructions import both_units, executed
from warplens.metrics.registry import Formula, metric

SECTOR_BYTES = 32
_GLOBAL_OPS = ("ld", "st", "atom", "red")
_LOCAL_OPS = ("ld", "st")
_DESCRIBED = {
    "ld": "loads",
    "st": "stores",
    "atom": "atomics",
    "red": "reductions",
    "ldgsts": "copies from global to shared memory",
    "ldsm": "matrix loads",
    "stsm": "matrix stores",
}
# Executions that accessed the space with at least one lane
_TOUCHED = {"global": "global_requests", "local": "local_executed", "shared": "shared_requests"}
_NOT_COPIES = ("ld", "st", "atom", "red", "ldsm", "stsm")
_ANY_ACCESS = (*_NOT_COPIES, "ldgsts")


def accesses(column: str, op: Choice = None, factor: int = 1) -> Formula:
    """A column over the instructions of one kind of access."""

    def formula(c: Counters) -> Quantity:
        return factor * c.sum(column, op=op)

    return formula


_OTHERS = {"global": ("local", "shared", "dshared"), "local": ("global", "shared", "dshared"),
           "shared": ("global", "local", "dshared")}  # fmt: skip


def _bytes(space: str, op: Choice = None) -> Formula:
    """Bytes that threads access: generic accesses count in every space that has the kind.

    The sum over all kinds of a space does so too, but for global memory.
    """

    def formula(c: Counters) -> Quantity:
        own = c.sum(f"{space}_bytes", op=_ANY_ACCESS if op is None else op)
        if op is None and space == "global":
            return own
        kinds = op if op is not None else ("ld", "st") if space == "local" else ("ld", "st", "atom")
        for other in _OTHERS[space]:
            own = own + c.sum(f"{other}_bytes", space="generic", op=kinds)
        return own

    return formula


def _quotient(top: str, bottom: str, op: Choice = None) -> Formula:
    def formula(c: Counters) -> Quantity:
        return ratio(c.sum(top, op=op), c.sum(bottom, op=op))

    return formula


def _excess(op: Choice = None) -> Formula:
    def formula(c: Counters) -> Quantity:
        return c.sum("shared_wavefronts", op=op) - c.sum("shared_wavefronts_ideal", op=op)

    return formula


def _in_space(space: str, op: Choice = None) -> Formula:
    """Instructions that touched the space: with every thread off they do not count."""

    kinds = _NOT_COPIES if op is None else op

    def formula(c: Counters) -> Quantity:
        return c.sum(_TOUCHED[space], op=kinds)

    return formula


def _looked_up(space: str, op: Choice = None, factor: int = 1) -> Formula:
    """Sectors as L1TEX counts them: atomics look one up for every turn of their lanes."""

    def formula(c: Counters) -> Quantity:
        sectors = c.sum(f"{space}_sectors", op=op)
        if space == "global":
            sectors = sectors + c.sum("global_sectors_repeated", op=op)
        return factor * sectors

    return formula


def _copied_sectors(op: Choice = "ldgsts", is_bypass: Choice = None) -> Formula:
    """Sectors, once for each sector of shared memory to which a copy around L1 brings them."""

    def formula(c: Counters) -> Quantity:
        whole = c.sum("global_sectors", op=op, is_bypass=is_bypass)
        return whole + c.sum("global_sectors_split", op=op, is_bypass=is_bypass)

    return formula


def _l1tex(name: str, *, unit: str, formula: Formula, doc: str, basis: str = "exact") -> None:
    metric(f"l1tex__{name}", kind="counter", unit=unit, formula=formula, basis=basis, doc=doc,
           per_instruction=True)  # fmt: skip


# For the tag stage an asynchronous copy is a load
_SERVED: dict[str, Choice] = {"ld": ("ld", "ldgsts")}


def _tag_stage(space: str, op: str) -> None:
    """The counters of L1TEX's tag stage for one space and kind of access."""
    name = f"pipe_lsu_mem_{space}_op_{op}"
    served = _SERVED.get(op, op)
    what = f"{space} {_DESCRIBED[op]}"
    _l1tex(f"t_requests_{name}", unit="request", formula=accesses(f"{space}_requests", served),
           doc=f"Requests of {what}: one per instruction with at least one active "
               "lane.")  # fmt: skip
    _l1tex(f"t_sectors_{name}", unit="sector", formula=_looked_up(space, served),
           doc=f"32-byte sectors accessed by {what}.")  # fmt: skip
    _l1tex(f"t_bytes_{name}", unit="byte", formula=_looked_up(space, served, SECTOR_BYTES),
           doc=f"Bytes of the sectors accessed by {what}.")  # fmt: skip
    metric(f"l1tex__average_t_sectors_per_request_{name}", kind="ratio",
           unit="sector/request", per_instruction=True, max_rate=32.0,
           formula=lambda c: ratio(_looked_up(space, served)(c),
                                   c.sum(f"{space}_requests", op=served)),
           doc=f"Sectors per request of {what}; 4 is ideal for 32-bit accesses: 32 lanes x 4 "
           "bytes = 4 sectors.")  # fmt: skip
    metric(f"l1tex__t_sector_{name}_hit_rate", kind="ratio", unit="", max_rate=1.0,
           basis="model", formula=None,
           doc=f"L1 hit rate of {what}, in sectors.")  # fmt: skip
    for outcome in ("hit", "miss"):
        metric(f"l1tex__t_sectors_{name}_lookup_{outcome}", kind="counter", unit="sector",
               basis="model", formula=None,
               doc=f"Sectors of {what} with an L1 {outcome}.")  # fmt: skip
    both_units(f"sass_l1tex_t_sectors_{name}", unit="sector",
               formula=accesses(f"{space}_sectors", op),
               doc=f"Sectors accessed by {what}, counted in SASS.")  # fmt: skip


for _op in _GLOBAL_OPS:
    _tag_stage("global", _op)
for _op in _LOCAL_OPS:
    _tag_stage("local", _op)


def _all_requests(c: Counters) -> Quantity:
    return c.sum("global_requests") + c.sum("local_requests") + c.sum("dshared_requests")


def _barriers(c: Counters) -> Quantity:
    """Barriers that blocks passed: on hardware each is a request and a wavefront."""
    return c.sum("inst_executed", opcode="BAR") * c.execution.blocks // c.execution.warps


def _fences(c: Counters) -> Quantity:
    return c.sum("inst_executed", opcode=("MEMBAR", "ERRBAR"))


def _requests_and_barriers(c: Counters) -> Quantity:
    ends = c.sum("inst_executed", opcode="LDGDEPBAR")
    return _all_requests(c) + _barriers(c) + _fences(c) + ends


def _all_sectors(c: Counters) -> Quantity:
    return _looked_up("global")(c) + _looked_up("local")(c)


def _with_textures(formula: Formula, column: str) -> Formula:
    """Of both pipes: textures and surfaces go through another one (textures.py)."""

    def both(c: Counters) -> Quantity:
        return formula(c) + c.sum(column)

    return both


def _in_bytes(sectors: Formula) -> Formula:
    return lambda c: SECTOR_BYTES * sectors(c)


def _over(top: Formula, bottom: Formula) -> Formula:
    return lambda c: ratio(top(c), bottom(c))


for _name, _what, _requests, _sectors in (
    ("_pipe_lsu", "global and local memory", _all_requests, _all_sectors),
    ("", "global and local memory, textures and surfaces",
     _with_textures(_all_requests, "tex_requests"), _with_textures(_all_sectors, "tex_sectors")),
):  # fmt: skip
    _l1tex(f"t_requests{_name}", unit="request", formula=_requests,
           doc=f"Requests of {_what}.")  # fmt: skip
    # The hardware's counter repeats a few sectors when requests collide.
    _l1tex(f"t_sectors{_name}", unit="sector", formula=_sectors, basis="definition",
           doc=f"Sectors of accesses to {_what}.")  # fmt: skip
    _l1tex(f"t_bytes{_name}", unit="byte", basis="definition",
           formula=_in_bytes(_sectors),
           doc=f"Bytes of the sectors of accesses to {_what}.")  # fmt: skip
    metric(f"l1tex__average_t_sectors_per_request{_name}", kind="ratio", unit="sector/request",
           per_instruction=True, max_rate=32.0, basis="definition",
           formula=_over(_sectors, _requests),
           doc=f"Sectors per request of {_what}.")  # fmt: skip

both_units("sass_sectors_mem_global", unit="sector", formula=_copied_sectors(None),
           doc="Sectors accessed in global memory.")  # fmt: skip
both_units("sass_sectors_mem_local", unit="sector", formula=accesses("local_sectors"),
           doc="Sectors accessed in local memory.")  # fmt: skip
both_units("sass_l1tex_tags_mem_global", unit="tag", formula=accesses("global_lines"),
           doc="128-byte lines accessed in global memory.")  # fmt: skip

# Copies from global to shared memory exist only in the SASS-counted family on every chip.
both_units("sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts", unit="request",
           formula=accesses("global_requests", "ldgsts"),
           doc="Requests of copies from global to shared memory.")  # fmt: skip
both_units("sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts", unit="sector",
           formula=_copied_sectors(),
           doc="Sectors accessed by copies from global to shared memory.")  # fmt: skip

# --- bytes that threads access -----------------------------------------------------------------

for _space, _ops in (
    ("global", ("", *_GLOBAL_OPS, "ldgsts")),
    ("local", ("", *_LOCAL_OPS)),
    ("shared", ("", "ld", "st", "atom", "ldgsts", "ldsm", "stsm")),
):
    for _op in _ops:
        _suffix = f"_op_{_op}" if _op else ""
        _what = f"{_space} {_DESCRIBED.get(_op, 'accesses')}"
        _choice = _op or None
        both_units(f"sass_data_bytes_mem_{_space}{_suffix}", unit="byte",
                   formula=_bytes(_space, _choice),
                   doc=f"Bytes accessed by threads in {_what}.")  # fmt: skip
        _per = ("wavefront", "shared_wavefronts") if _space == "shared" else (
            "sector", f"{_space}_sectors")  # fmt: skip
        metric(f"smsp__sass_average_data_bytes_per_{_per[0]}_mem_{_space}{_suffix}",
               kind="ratio", unit=f"byte/{_per[0]}", per_instruction=True,
               max_rate=128.0 if _space == "shared" else 32.0,
               formula=_quotient(f"{_space}_bytes", _per[1], _choice),
               doc=f"Bytes used per {_per[0]} in {_what}; more than the maximum means that "
               "lanes share data.")  # fmt: skip

# --- shared memory ------------------------------------------------------------------------------


def _all_passes(c: Counters) -> Quantity:
    """With what else takes a pass of the data banks: shuffles, reads of a thread's index, barriers,
    and shared-memory instructions and stores with every thread off (idle_accesses_sm90.json)."""
    idle = c.sum("inst_executed", space="shared") - c.sum("shared_requests", space="shared")
    idle = idle + c.sum("inst_executed", space="global", op="st") - c.sum(
        "global_requests", space="global", op="st")  # fmt: skip
    others = c.sum("inst_executed", uses_banks=True) + _barriers(c) + _fences(c)
    around = c.sum("shared_passes", is_bypass=True)  # copies around L1 are counted elsewhere
    return c.sum("shared_passes", op=_ANY_ACCESS) - around + idle + others


def copy_wavefronts(is_bypass: Choice = None) -> Formula:
    """Wavefronts of asynchronous copies: through L1, each line that they read needs its own."""

    def formula(c: Counters) -> Quantity:
        through = around = 0
        if is_bypass is not True:
            through = c.larger("shared_wavefronts", "global_lines", op="ldgsts", is_bypass=False)
        if is_bypass is not False:
            around = c.sum("shared_wavefronts", op="ldgsts", is_bypass=True)
        return through + around

    return formula


def _copy_excess(is_bypass: Choice = None) -> Formula:
    def formula(c: Counters) -> Quantity:
        ideal = c.sum("shared_wavefronts_ideal", op="ldgsts", is_bypass=is_bypass)
        return copy_wavefronts(is_bypass)(c) - ideal

    return formula


_SHARED = {
    "": None,
    "_op_ld": ("ld", "ldsm"),  # the hardware's op_ld covers matrix loads too
    "_op_st": ("st", "stsm"),
    "_op_atom": "atom",
}
for _suffix, _choices in _SHARED.items():
    _what = {"": "accesses"}.get(_suffix, _DESCRIBED.get(_suffix.removeprefix("_op_"), ""))
    _l1tex(f"data_pipe_lsu_wavefronts_mem_shared{_suffix}", unit="wavefront", basis="definition",
           formula=accesses("shared_passes", _choices) if _suffix else _all_passes,
           doc=f"Wavefronts of shared memory {_what} in the L1 data stage.")  # fmt: skip
    _l1tex(f"data_bank_conflicts_pipe_lsu_mem_shared{_suffix}", unit="", basis="definition",
           formula=accesses("shared_conflicts", _choices),
           doc=f"Bank conflicts of shared memory {_what}; the hardware counter adds arbitration "
           "losses to these.")  # fmt: skip
_l1tex("data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts", unit="", basis="definition",
       formula=_copy_excess(),
       doc="Bank conflicts of global-to-shared copies.")  # fmt: skip
for _op in ("ld", "st", "atom", "ldgsts", "ldsm", "stsm"):
    both_units(f"sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{_op}", unit="wavefront",
               formula=copy_wavefronts() if _op == "ldgsts" else accesses("shared_wavefronts", _op),
               doc=f"Wavefronts of shared memory {_DESCRIBED[_op]}, computed from "
                   "addresses.")  # fmt: skip
for _op in ("ldgsts", "ldsm", "st", "stsm"):
    both_units(f"sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{_op}", unit="",
               formula=_copy_excess() if _op == "ldgsts" else _excess(_op),
               doc=f"Bank conflicts of shared memory {_DESCRIBED[_op]}, computed from "
                   "addresses.")  # fmt: skip
both_units("sass_l1tex_pipe_lsu_wavefronts_mem_shared", unit="wavefront",
           formula=lambda c: c.sum("shared_wavefronts", op=_NOT_COPIES) + copy_wavefronts()(c),
           doc="Wavefronts of all shared memory accesses, computed from addresses.")  # fmt: skip

# --- instructions by opcode and by where they went ---------------------------------------------

_EXECUTED_IN: dict[str, tuple[str, ...]] = {
    "global": ("ld", "st", "atom", "red"),
    "local": ("ld", "st"),
    "shared": ("ld", "st", "atom"),
}
for _space, _kinds in _EXECUTED_IN.items():
    both_units(f"sass_inst_executed_op_{_space}", unit="inst", formula=_in_space(_space),
               doc=f"Instructions that access {_space} memory.")  # fmt: skip
    for _op in _kinds:
        both_units(f"sass_inst_executed_op_{_space}_{_op}", unit="inst",
                   formula=_in_space(_space, _op),
                   doc=f"{_space.capitalize()} {_DESCRIBED[_op]}, generic ones to that space "
                   "included.")  # fmt: skip
for _name, _same in (
    ("ld", ("ld", "ldsm")), ("st", ("st", "stsm")), ("atom", ("atom",)),
    ("ldsm", ("ldsm",)), ("shared_stsm", ("stsm",)),
):  # fmt: skip
    both_units(f"sass_inst_executed_op_{_name}", unit="inst",
               formula=executed(op=_same, space=("generic", "global", "local", "shared")),
               doc=f"Executed {_DESCRIBED[_same[0]]}, in any memory space.")  # fmt: skip
# Copies with every thread off do not count
both_units("sass_inst_executed_op_ldgsts", unit="inst",
           formula=accesses("shared_requests", "ldgsts"),
           doc=f"Executed {_DESCRIBED['ldgsts']}.")  # fmt: skip
for _bits in (8, 16, 32, 64, 128):
    both_units(f"sass_inst_executed_op_memory_{_bits}b", unit="inst",
               formula=executed(width=_bits, op=_ANY_ACCESS,
                                space=("generic", "global", "local", "shared")),
               doc=f"Memory instructions that access {_bits} bits per thread.")  # fmt: skip

_BY_OPCODE: dict[str, tuple[dict[str, Choice], str]] = {
    "generic_ld": ({"opcode": "LD"}, "LD"),
    "generic_st": ({"opcode": "ST"}, "ST"),
    "generic_atom": ({"opcode": ("ATOM", "ATOMG")}, "ATOM and ATOMG"),
    "generic_atom_dot_alu": ({"opcode": ("ATOM", "ATOMG"), "is_cas": False}, "ATOM, ATOMG but CAS"),
    "generic_atom_dot_cas": ({"opcode": ("ATOM", "ATOMG"), "is_cas": True}, "ATOM.CAS, ATOMG.CAS"),
    "global_ld": ({"opcode": "LDG"}, "LDG"),
    "global_st": ({"opcode": "STG"}, "STG"),
    "global_red": ({"opcode": ("RED", "REDG")}, "RED and REDG"),
    "local_ld": ({"opcode": "LDL"}, "LDL"),
    "local_st": ({"opcode": "STL"}, "STL"),
    "shared_ld": ({"opcode": "LDS"}, "LDS"),
    "shared_st": ({"opcode": "STS"}, "STS"),
    "shared_atom": ({"opcode": "ATOMS"}, "ATOMS"),
    "shared_atom_dot_alu": ({"opcode": "ATOMS", "is_cas": False}, "ATOMS but CAS"),
    "shared_atom_dot_cas": ({"opcode": "ATOMS", "is_cas": True}, "ATOMS.CAS"),
    "ldc": ({"opcode": "LDC"}, "LDC"),
    "ldgsts": ({"opcode": "LDGSTS"}, "LDGSTS"),
    "ldsm": ({"opcode": "LDSM"}, "LDSM"),
    "shared_stsm": ({"opcode": "STSM"}, "STSM"),
    "texture": ({"space": "texture"}, "texture instructions"),
    "surface_ld": ({"opcode": "SULD"}, "SULD"),
    "surface_st": ({"opcode": "SUST"}, "SUST"),
    "surface_red": ({"opcode": "SURED"}, "SURED"),
}
for _name, (_selected, _what) in _BY_OPCODE.items():
    metric(f"smsp__inst_executed_op_{_name}", kind="counter", unit="inst", per_instruction=True,
           formula=executed(**_selected), doc=f"Executed {_what}.")  # fmt: skip

_ONE_SPACE = ("global_ld", "global_st", "global_red", "local_ld", "local_st", "shared_ld",
              "shared_st", "shared_atom", "shared_atom_dot_alu", "shared_atom_dot_cas",
              "shared_stsm")  # fmt: skip


def _on_any(space: str, choices: dict[str, Choice]) -> Formula:
    def formula(c: Counters) -> Quantity:
        return c.sum(_TOUCHED[space], **choices)

    return formula


def _off_all(space: str, choices: dict[str, Choice]) -> Formula:
    def formula(c: Counters) -> Quantity:
        return c.sum("inst_executed", **choices) - c.sum(_TOUCHED[space], **choices)

    return formula


# Of these the chip counts some with every thread off as on, from run to run other ones
_LOADS_AND_STORES = ("global_ld", "global_st", "shared_ld", "shared_st")

for _name in (*_ONE_SPACE, "ldsm"):
    _selected, _what = _BY_OPCODE[_name]
    _space = "shared" if _name == "ldsm" else _name.partition("_")[0]
    metric(f"smsp__inst_executed_op_{_name}_pred_on_any", kind="counter", unit="inst",
           per_instruction=True, formula=_on_any(_space, _selected),
           basis="definition" if _name in _LOADS_AND_STORES else "exact",
           doc=f"Executed {_what} with at least one predicated-on thread.")  # fmt: skip
    metric(f"smsp__inst_executed_op_{_name}_pred_off_all", kind="counter", unit="inst",
           per_instruction=True, formula=_off_all(_space, _selected),
           basis="definition" if _name in _LOADS_AND_STORES else "exact",
           doc=f"Executed {_what} with all threads predicated off.")  # fmt: skip

# --- asynchronous copies through L1 and around it -----------------------------------------------


def _copies(column: str, bypass: bool) -> Formula:
    def formula(c: Counters) -> Quantity:
        return c.sum(column, op="ldgsts", is_bypass=bypass)

    return formula


def _of_copies(name: str, column: str) -> str:
    counted = "inst_executed" if name.startswith("sass_inst_executed") else column
    return counted.replace("_", " ").capitalize()


for _name, _bypass in (("cache_access", False), ("cache_bypass", True)):
    _what = "around L1" if _bypass else "through L1"
    for _base, _column, _unit in (
        ("sass_inst_executed_op_ldgsts", "shared_requests", "inst"),
        ("sass_data_bytes_mem_global_op_ldgsts", "global_bytes", "byte"),
        ("sass_data_bytes_mem_shared_op_ldgsts", "shared_bytes", "byte"),
        ("sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts", "global_requests", "request"),
    ):
        both_units(f"{_base}_{_name}", unit=_unit, formula=_copies(_column, _bypass),
                   doc=f"{_of_copies(_base, _column)} of asynchronous copies {_what}.")  # fmt: skip
    both_units(f"sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_{_name}", unit="sector",
               formula=_copied_sectors(is_bypass=_bypass),
               doc=f"Global sectors of asynchronous copies {_what}.")  # fmt: skip
    both_units(f"sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts_{_name}",
               unit="wavefront", formula=copy_wavefronts(_bypass),
               doc=f"Shared wavefronts of asynchronous copies {_what}.")  # fmt: skip
    both_units(f"sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts_{_name}",
               unit="", formula=_copy_excess(_bypass),
               doc=f"Bank conflicts of asynchronous copies {_what}.")  # fmt: skip

for _quantity, _unit, _formula in (
    ("requests", "request", _requests_and_barriers), ("sectors", "sector", _all_sectors),
):  # fmt: skip
    metric(f"l1tex__t_{_quantity}_pipe_lsu_mem_lg", kind="counter", unit=_unit,
           per_instruction=True, formula=_formula, basis="definition",
           exists=lambda gpu: gpu.sm >= 90,
           doc=f"{_quantity.capitalize()} of local and global memory together.")  # fmt: skip

# --- ncu's per-instruction source metrics ---------------------------------------------------------

_SOURCE = {
    "memory_l1_tag_requests_global": ("global_lines", "tag", "128-byte lines accessed"),
    "memory_l1_wavefronts_shared": ("shared_wavefronts", "wavefront", "Shared memory wavefronts"),
    "memory_l1_wavefronts_shared_ideal": (
        "shared_wavefronts_ideal", "wavefront", "Shared memory wavefronts without bank conflicts"),
    "memory_l2_theoretical_sectors_global": ("global_sectors", "sector", "Sectors touched"),
    "memory_l2_theoretical_sectors_global_ideal": (
        "global_sectors_ideal", "sector", "Sectors if the same bytes were contiguous"),
    "memory_l2_theoretical_sectors_local": ("local_sectors", "sector", "Sectors accessed in local "
        "memory"),
}  # fmt: skip
for _name, (_column, _unit, _what) in _SOURCE.items():
    metric(_name, unit=_unit, formula=accesses(_column), per_instruction=True,
           doc=f"{_what}.")  # fmt: skip
metric("derived__memory_l1_wavefronts_shared_excessive", unit="wavefront", formula=_excess(),
       per_instruction=True, doc="Shared memory wavefronts above the ideal: bank "
                                 "conflicts.")  # fmt: skip
metric("derived__memory_l2_theoretical_sectors_global_excessive", unit="sector",
       formula=lambda c: c.sum("global_sectors") - c.sum("global_sectors_ideal"),
       per_instruction=True, doc="Sectors above the ideal: uncoalesced accesses.")  # fmt: skip
metric("derived__memory_l1_conflicts_shared_nway", unit="", per_instruction=True,
       formula=lambda c: ratio(c.sum("shared_wavefronts"), _in_space("shared")(c)),
       doc="Wavefronts per shared memory instruction: N of an N-way bank conflict.")  # fmt: skip
for _space, _name in (("global", "global"), ("local", "local"), ("shared", "shared")):
    for _op, _plural in (("ld", "loads"), ("st", "stores")):
        metric(f"sass__inst_executed_{_name}_{_plural}", unit="inst",
               formula=_in_space(_space, _op), per_instruction=True,
               doc=f"{_space.capitalize()} {_plural} executed.")  # fmt: skip
