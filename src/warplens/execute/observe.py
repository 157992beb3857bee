"""Observers: native functions that see every basic block, memory access and synchronisation.

A program prepared with `observe=True` calls four C functions (make them with `compiled.cfunc`):

    block(env, warp, i32 lifted_block, i32 mask)         a split starts a lifted block
    access(env, warp, i32 instruction, i32 mask, i32 space, i32 kind, i32 size,
           i64 base, host)                                before memory changes, per segment
    sync(env, warp, i32 instruction, i32 mask)            before BAR, WARPSYNC, fences, EXIT, BSSY…
    release(env, i64 slot, i64 barrier)                   a named barrier of a block opens
    check(env, warp, site, i32 instruction, i32 mask, i32 space, i32 kind, i32 size,
          i32 immediate)                                  returns the lanes that may go on

A program prepared with a `Watch` (lift/regions/watch.py) calls only what the watch names: traces
want accesses as they happen, the sanitizers are asked before anything is looked at.

`env` and `warp` are the records of lift/layout.py (int64 slots; byte offsets). Of an access, the
lanes in `mask` take part; `space` is SPACE_*, `kind` ACCESS_*. Global: 32 u64 addresses stand at
scratch slot 20 of the warp record, `base`/`host` are device and host address of the allocation.
Shared and local: 32 u32 offsets at scratch slot 0, `host` is the start of that memory (local memory
is interleaved: word k of lane l at host + 128 * k + 4 * l). Constant, where the index may differ
between lanes: offsets as for shared memory, `base` is the number of the bank. Values to be stored:
scratch slots 2 to 5, one per word. Textures are read by sectors, up to 32 at a time. A check comes
before the engine's own: addresses at scratch slot 0 (offsets) or 0 and 1 (low and high words,
`immediate` still to be added); its space may also be SPACE_GENERIC; where it leaves an allocation
in the site's SITE_QUIET_*, it is not asked again. At BAR and WARPSYNC the arguments of the event
stand at WARP_ARGS; at WARPSYNC every lane's mask stands at scratch slot 0; at SHFL the lane operand
and the clamp stand at scratch slots 0 and 1. `env[ENV_OBSERVER]` is the observer's own pointer.
Instructions are indices into kernel.instructions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Host addresses of the functions (`cfunc.address`) and of the observer's state."""

    sync: int
    release: int
    state: int
    block: int = 0
    access: int = 0
    check: int = 0
