"""The device heap under memcheck: bad frees and leaks, with the statements that made them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warplens.errors import MemoryFault
from warplens.execute.hook_registry import Caller, HeapWatch
from warplens.execute.warp_registers import read_register
from warplens.sanitize import state as st
from warplens.sanitize.explain import Explainer
from warplens.sanitize.finding import Access, Finding
from warplens.wording import count

if TYPE_CHECKING:
    from warplens.sanitize.shadows import State

_MOST_SITES = 100


@dataclass(slots=True)
class HeapUse(HeapWatch):
    """What one pass did with the device heap."""

    explainer: Explainer
    state: State
    live: dict[int, tuple[Access, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def _access(self, caller: Caller, warp: int, lane: int, index: int, what: str) -> Access:
        """The call: R20 holds where it returns to."""
        inst = max(0, read_register(warp, 20, lane) // 16 - 1)
        return self.explainer.access(inst, what, index * 32 + lane, caller.block_index)

    def allocated(self, caller: Caller, warp: int, lane: int, index: int, address: int,
                  size: int) -> None:  # fmt: skip
        """Remembers who allocated; fresh memory is not initialised."""
        if not address:
            return
        self.live[address] = (self._access(caller, warp, lane, index, "malloc"), size)
        self.state.add_heap_segment(caller.memory, address)

    def freed(self, address: int) -> None:
        """Forgets an allocation."""
        self.live.pop(address, None)
        self.state.drop_segment(address)

    def bad_free(self, caller: Caller, warp: int, lane: int, index: int, address: int,
                 error: MemoryFault) -> None:  # fmt: skip
        """Records a double or invalid free and continues."""
        if not int(self.state.header[st.TOOLS]) & st.TOOL_MEMCHECK:
            return
        if len(self.findings) >= _MOST_SITES:
            return
        access = self._access(caller, warp, lane, index, "free")
        double = "was already freed" in error.message
        self.findings.append(Finding(
            tool="memcheck",
            check="double-free" if double else "invalid-free",
            severity="error",
            title="Malloc/Free error encountered : "
            + ("Double free" if double else "Invalid pointer to free"),
            details=(f"at {access.where}", f"by {access.by}", f"Address {address:#x}",
                     error.message),
            accesses=(access,), space="global", address=address,
        ))  # fmt: skip

    def leaks(self) -> list[Finding]:
        """One finding per statement whose allocations are still there at the end."""
        sites: dict[tuple[int, str], list[tuple[int, Access, int]]] = {}
        for address, (access, size) in self.live.items():
            sites.setdefault((access.offset, access.kernel), []).append((address, access, size))
        found = []
        for rows in sites.values():
            address, access, _ = rows[0]
            total = sum(size for _, _, size in rows)
            found.append(Finding(
                tool="memcheck", check="heap-leak", severity="error",
                title=f"Leaked {count(total, 'byte')} at {address:#x}",
                details=(f"allocated at {access.where}", f"by {access.by}",
                         f"{count(total, 'byte')} leaked in {count(len(rows), 'allocation')}"),
                accesses=(access,), space="global", address=address, size=total,
                count=len(rows), advice="No thread frees it before the kernel ends.",
            ))  # fmt: skip
        return found
