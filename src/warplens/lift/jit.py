"""Machine code for lifted kernels: parse, a few cheap passes, emit; objects are cached on disk.

Helpers are compiled apart, once for all kernels of the machine (helper_code.py).
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite
import llvmlite.binding as llvm

from warplens.lift.engines import llvm_lanes
from warplens.lift.engines.host import HostFeatures
from warplens.lift.helper_code import divide
from warplens.lift.regions.forms import module_of
from warplens.lift.regions.lifted import Form, Lifted, Run
from warplens.lift.stencils import Stencil, code_of, names_of, stencils_of
from warplens.toolchain.cache import default_cache

_lock = threading.Lock()
_ready = False
_helpers: dict[str, llvm.ExecutionEngine] = {}  # own the code of helpers, by the unit's key
# of forms by name, and the helpers that they call
_stencils: dict[str, tuple[Stencil, list[list[str]]]] = {}
_RUN = re.compile(r"^declare void @wl\.run\.\d+\(.*\n", re.MULTILINE)


def _initialize() -> None:
    global _ready
    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm_lanes.prepare_symbols()
        _ready = True


@dataclass(slots=True)
class MachineCode:
    """Compiled regions. The engine owns the code; keep it as long as addresses are used."""

    engine: llvm.ExecutionEngine
    addresses: tuple[int, ...]


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Registers become SSA values, dead code goes; nothing that grows faster than the code.

    What instructions can be combined to is left to instruction selection: a pass for it beforehand
    took a quarter of the time and changed neither the size of the code nor its speed.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    inline = llvm.create_new_module_pass_manager()
    inline.add_always_inliner_pass()
    inline.run(module, builder)
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _emit(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    """Machine code in the order in which values are needed.

    LLVM's machine scheduler spreads chains of operations apart, so that processors without
    reordering need not wait; here that keeps hundreds of vectors alive at once, and they are
    spilled. The switch is one of the whole process, so it is put back.
    """
    llvm.set_option("", "-enable-misched=false")
    try:
        data: bytes = machine.emit_object(module)
    finally:
        llvm.set_option("", "-enable-misched=true")
    return data


def _machine(features: HostFeatures, tier: int) -> llvm.TargetMachine:
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=features.cpu, features=features.features, opt=tier, reloc="pic", codemodel="small",
    )  # fmt: skip


def _object(ir: str, machine: llvm.TargetMachine, tier: int) -> bytes:
    """Machine code of a module."""
    module = llvm.parse_assembly(ir)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    if tier > 0:
        _optimize(module, machine)
    return _emit(module, machine)


def _engine(data: bytes, machine: llvm.TargetMachine) -> llvm.ExecutionEngine:
    """An object's code in memory.

    LLVM's own memory manager may map a module's sections further apart than code can reach;
    llvmlite's reserves one block for all of them.
    """
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return engine


def _keep_helpers(key: str, names: Sequence[str], data: bytes, features: HostFeatures) -> None:
    """Helpers in memory for as long as the process lives; kernels find them by name."""
    engine = _engine(data, _machine(features, 1))
    for name in names:
        llvm.add_symbol(name, engine.get_function_address(name))
    _helpers[key] = engine


def _has_helpers(listed: list[list[str]], features: HostFeatures) -> bool:
    """Whether all helpers that a kernel calls are in memory or come from the cache."""
    for key, *names in listed:
        if key not in _helpers:
            data = default_cache().get("helpers", key)
            if data is None:
                return False
            _keep_helpers(key, names, data, features)
    return True


def _kept(kind: str, key: str, features: HostFeatures) -> tuple[list[list[str]], bytes] | None:
    """What `_keep` kept, if the helpers that it calls are there."""
    kept = default_cache().get(kind, key)
    if kept is None:
        return None
    text, data = kept.split(b"\n", 1)
    listed = json.loads(text)
    return (listed, data) if data and _has_helpers(listed, features) else None


def _keep(kind: str, key: str, listed: list[list[str]], data: bytes) -> None:
    """Keeps code on disk, behind the list of helpers that it calls."""
    default_cache().put(kind, key, json.dumps(listed).encode() + b"\n" + data)


def _with_helpers(ir: str, features: HostFeatures,
                  salt: str) -> tuple[str, list[list[str]]]:  # fmt: skip
    """A module without the helpers that it calls, which are in memory then, and their list."""
    kernel, units = divide(ir, salt)
    listed = [[unit.key, *unit.names] for unit in units]
    for unit, one in zip(units, listed, strict=True):
        if not _has_helpers([one], features):
            data = _object(unit.ir, _machine(features, 1), 1)
            default_cache().put("helpers", unit.key, data)
            _keep_helpers(unit.key, unit.names, data, features)
    return kernel, listed


def _stencils_of(forms: Sequence[Form], features: HostFeatures, salt: str) -> None:
    """Gets the machine code of forms; those that no cache has are compiled in one module."""
    missing = []
    for form in forms:
        if form.name not in _stencils:
            kept = _kept("form", f"{salt}\n{form.name}", features)
            if kept is None:
                missing.append(form)
            else:
                _stencils[form.name] = Stencil.from_text(kept[1].decode()), kept[0]
    if not missing:
        return
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=features.cpu, features=f"{features.features},-vzeroupper", opt=1, reloc="static",
        codemodel="small",
    )  # fmt: skip
    ir, listed = _with_helpers(module_of(missing, features), features, salt)
    for name, stencil in stencils_of(_object(ir, machine, 1)).items():
        _stencils[name] = stencil, listed
        _keep("form", f"{salt}\n{name}", listed, stencil.to_text().encode())


def _with_runs(ir: str, runs: Sequence[Run], features: HostFeatures,
               salt: str) -> tuple[str, list[list[str]]]:  # fmt: skip
    """A kernel's module with the code of its runs, and the helpers that it calls."""
    forms = {form.name: form for run in runs for form, _ in run.steps}
    _stencils_of(list(forms.values()), features, salt)
    used = {name: _stencils[name] for name in forms}
    listed = [one for stencil, called in used.values() if stencil.calls for one in called]
    code = code_of(runs, {name: stencil for name, (stencil, _) in used.items()})
    return _RUN.sub("", ir) + code, listed


def salt_of(features: HostFeatures) -> str:
    """What machine code depends on beside its IR."""
    return f"{features.key()}\n{llvm.llvm_version_info}\n{llvmlite.__version__}"


def _key(ir: str, features: HostFeatures, tier: int, runs: Sequence[Run]) -> str:
    text = f"{tier}/not combined/{salt_of(features)}\n{names_of(runs)}\n{ir}"
    return hashlib.sha256(text.encode()).hexdigest()


def key_of(lifted: Lifted, features: HostFeatures) -> str:
    """Under which a lifted kernel's machine code is kept."""
    return _key(lifted.ir, features, lifted.tier, lifted.runs)


def _loaded(data: bytes, n_regions: int, features: HostFeatures, tier: int) -> MachineCode:
    engine = _engine(data, _machine(features, tier))
    addresses = (engine.get_function_address(f"region{i}") for i in range(n_regions))
    return MachineCode(engine, tuple(addresses))


def compile_ir(ir: str, n_regions: int, features: HostFeatures, tier: int,
               runs: Sequence[Run] = ()) -> MachineCode:  # fmt: skip
    """Compiles a lifted kernel's module, or takes its object from the cache.

    Args:
        tier: 0 compiles at once, 1 gives fast code.
        runs: of forms of instructions, that the module calls.
    """
    with _lock:
        _initialize()
        key = _key(ir, features, tier, runs)
        kept = _kept("object", key, features)
        if kept is None:
            salt = salt_of(features)
            ir, listed = _with_helpers(ir, features, salt)
            if runs:
                ir, more = _with_runs(ir, runs, features, salt)
                listed = [*listed, *more]
            data = _object(ir, _machine(features, tier), tier)
            _keep("object", key, listed, data)
        else:
            _, data = kept
        return _loaded(data, n_regions, features, tier)


def load_object(data: bytes) -> llvm.ExecutionEngine:
    """An engine with the code of an object file for this processor."""
    with _lock:
        _initialize()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="large")
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
    return engine


def compile_lifted(lifted: Lifted, features: HostFeatures) -> MachineCode:
    """Machine code of a lifted kernel; without IR from the cache or, if that has lost it, lifted
    once more."""
    n = len(lifted.layout.regions)
    if not lifted.ir:
        with _lock:
            _initialize()
            kept = _kept("object", lifted.key, features)
            if kept is not None:
                return _loaded(kept[1], n, features, lifted.tier)
        assert lifted.again is not None
        lifted = lifted.again()
    return compile_ir(lifted.ir, n, features, lifted.tier, lifted.runs)
