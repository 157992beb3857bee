"""Machine code for lifted kernels: parse, a few cheap passes, emit; objects are cached on disk."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass

import llvmlite
import llvmlite.binding as llvm

from warplens.lift.engines import llvm_lanes
from warplens.lift.engines.host import HostFeatures
from warplens.lift.regions.lifted import Lifted
from warplens.toolchain.cache import default_cache

_lock = threading.Lock()
_ready = False


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
    """Registers become SSA values, dead code goes; nothing that grows faster than the code."""
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    inline = llvm.create_new_module_pass_manager()
    inline.add_always_inliner_pass()
    inline.run(module, builder)
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
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


def compile_ir(ir: str, n_regions: int, features: HostFeatures, tier: int) -> MachineCode:
    """Compiles a lifted kernel's module, or takes its object from the cache.

    Args:
        tier: 0 compiles at once, 1 gives fast code.
    """
    with _lock:
        _initialize()
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=features.cpu, features=features.features, opt=tier, reloc="pic",
            codemodel="small",
        )  # fmt: skip
        cache = default_cache()
        versions = f"{llvm.llvm_version_info}\n{llvmlite.__version__}"
        text = f"{tier}/in order/{features.key()}\n{versions}\n{ir}"
        key = hashlib.sha256(text.encode()).hexdigest()
        data = cache.get("object", key)
        if data is None:
            module = llvm.parse_assembly(ir)
            module.triple = target.triple
            module.data_layout = str(machine.target_data)
            module.verify()
            if tier > 0:
                _optimize(module, machine)
            data = _emit(module, machine)
            cache.put("object", key, data)
        empty = llvm.parse_assembly("")
        # LLVM's own memory manager may map a module's sections further apart than code can reach;
        # llvmlite's reserves one block for all of them.
        engine = llvm.create_mcjit_compiler(empty, machine, use_lmm=True)
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        addresses = tuple(
            engine.get_function_address(f"region{i}") for i in range(n_regions)
        )
    return MachineCode(engine, addresses)


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
    """Machine code of a lifted kernel."""
    return compile_ir(lifted.ir, len(lifted.layout.regions), features, lifted.tier)
