"""Looks after imports: checks a framework's version and sets its plug-in when it is imported."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from warplens import frontends
from warplens.frontends.frontend import Frontend, GiveDriver


def known_frontends() -> tuple[Frontend, ...]:
    """Every front-end of this package: the `FRONTEND` of its modules."""
    modules = (
        importlib.import_module(f"{frontends.__name__}.{entry.name}")
        for entry in pkgutil.iter_modules(frontends.__path__)
    )
    return tuple(module.FRONTEND for module in modules if hasattr(module, "FRONTEND"))


class _Activating(Loader):
    """A module's own loader, and the plug-in set afterwards."""

    def __init__(self, loader: Any, frontend: Frontend, give_driver: GiveDriver) -> None:
        self._loader, self._frontend, self._give_driver = loader, frontend, give_driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module, then sets the plug-in."""
        self._loader.exec_module(module)
        assert self._frontend.activate is not None
        self._frontend.activate(self._give_driver)


class _Watch(MetaPathFinder):
    """Finds nothing itself: checks versions, and lends front-ends with a plug-in a loader."""

    def __init__(self, give_driver: GiveDriver) -> None:
        self._give_driver = give_driver
        self._by_module = {one.module: one for one in known_frontends()}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec if it has a plug-in, else None: others find it."""
        frontend = self._by_module.get(name)
        if frontend is None:
            return None
        frontend.check_version()
        if frontend.prepare is not None:
            frontend.prepare()
        if frontend.activate is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Activating(spec.loader, frontend, self._give_driver)
        return spec


def watch(give_driver: GiveDriver) -> None:
    """Looks after all later imports, and after the frameworks that are imported already."""
    sys.meta_path.insert(0, _Watch(give_driver))
    for frontend in known_frontends():
        if frontend.offer is not None:
            frontend.offer()
        if frontend.module in sys.modules:
            frontend.check_version()
            if frontend.prepare is not None:
                frontend.prepare()
            if frontend.activate is not None:
                frontend.activate(give_driver)
