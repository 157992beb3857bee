"""Control flow: branches, calls, convergence barriers. The lifter gives these roles their code."""

from __future__ import annotations

from typing import Any

from warplens.isa.table import op

_CONTROL: dict[str, Any] = {
    "sig": "<-", "pipe": "cbu", "latency": "branch", "category": "control",
}  # fmt: skip
_JOIN = {**_CONTROL, "latency": "join"}
_INDIRECT = {**_CONTROL, "latency": "indirect_branch"}


@op("BRA", role="bra", mods="U DIV CONV ANY INC DEC DEPTH", **_CONTROL)
def bra() -> None:
    """Jump to the target for lanes whose guard and extra predicate hold.

    `.DIV` is taken when not all lanes of the mask are converged here, `.CONV` when they are;
    `.U` sends all lanes the same way: to the target if the predicate of all of them holds, with
    `.ANY` if that of any does. Code that falls through tests the predicate again.
    """


@op("EXIT", role="exit", mods="KEEPREFCOUNT PREEMPTED NO_ATEXIT", **_CONTROL)
def exit_() -> None:
    """End the lanes whose guard and extra predicate hold."""


@op("BSSY", role="bssy", mods="RECONVERGENT RELIABLE", **_CONTROL)
def bssy() -> None:
    """Bn = the executing lanes: they will meet again at BSYNC Bn."""


@op("BSYNC", role="bsync", mods="RECONVERGENT RELIABLE", **_JOIN)
def bsync() -> None:
    """Wait until every lane of Bn has arrived, left it (BREAK) or ended."""


@op("BREAK", role="break", mods="RECONVERGENT RELIABLE", **_CONTROL)
def break_() -> None:
    """Remove the executing lanes from Bn."""


@op("CALL", role="call", mods="REL ABS NOINC INC", **_CONTROL)
def call() -> None:
    """Jump to a function; the return address is an ordinary register pair set before."""


@op("RET", role="ret", mods="REL ABS NODEC DEC", **_INDIRECT)
def ret() -> None:
    """Jump to the address in a register pair, lane by lane."""


@op("BRX", "JMX", role="brx", mods="INC DEC", **_INDIRECT)
def brx() -> None:
    """Jump through a table: target = register pair + address of the next instruction + offset."""


@op("BRXU", "JMXU", role="brxu", mods="INC DEC", **_INDIRECT)
def brxu() -> None:
    """Jump through a table with a uniform register pair."""


@op("JMP", role="bra", mods="U", **_CONTROL)
def jmp() -> None:
    """Jump to an absolute target."""


@op("WARPSYNC", role="warpsync", mods="ALL EXCLUSIVE COLLECTIVE", **_CONTROL)
def warpsync() -> None:
    """Wait until all lanes of the mask (minus ended ones) are here, then go on together."""


@op("ENDCOLLECTIVE", role="nop", **_CONTROL)
def endcollective() -> None:
    """End of the bracket opened by WARPSYNC.COLLECTIVE."""


@op("YIELD", role="yield", **_CONTROL)
def yield_() -> None:
    """Let another split or warp run first."""


@op("NANOSLEEP", role="sleep", mods="WARP SYNCS RAND", **_CONTROL)
def nanosleep() -> None:
    """Suspend the warp for about the given number of nanoseconds."""


@op("BMOV", role="bmov", mods="32 64 CLEAR PQUAD", **{**_CONTROL, "category": "misc"})
def bmov() -> None:
    """Move a convergence barrier's mask to or from a register; `.CLEAR` empties the source."""


@op("BPT", role="trap", mods="TRAP INT DRAIN", **_CONTROL)
def bpt() -> None:
    """Stop the kernel (`__trap()`)."""


@op("KILL", role="exit", **_CONTROL)
def kill() -> None:
    """End lanes."""


@op("LEPC", role="lepc", sig="<-", pipe="cbu", latency="alu", category="control")
def lepc() -> None:
    """Rd pair = the absolute code address of this instruction, or of the label."""


@op("RPCMOV", role="rpcmov", mods="32 LO HI", **_CONTROL)
def rpcmov() -> None:
    """Move the return address register."""
