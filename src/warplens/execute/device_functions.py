"""All device functions that run on the host, and the code addresses that stand for them."""

from __future__ import annotations

from warplens.execute import bulk_hooks, hooks
from warplens.execute.hook_registry import Hook
from warplens.lift import layout as at

HOOKS: dict[str, Hook] = dict(sorted({**hooks.HOOKS, **bulk_hooks.HOOKS}.items()))
_BY_NUMBER = tuple(HOOKS.values())


def hook_address(name: str) -> int:
    """The code address that stands for an external function."""
    return (at.HOOK_WINDOW_HIGH << 32) + list(HOOKS).index(name)


def hook_at(number: int) -> Hook:
    """The host function of a code address, by the address's low word."""
    if number >= at.FIRST_SYSTEM_CALL:
        return HOOKS[at.SYSTEM_CALLS[number - at.FIRST_SYSTEM_CALL]]
    return _BY_NUMBER[number]
