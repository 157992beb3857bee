"""Modules: compiled kernels by name, with template instances compiled on demand."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from warplens.errors import CompileError, CubinError, InputError, UnknownKernel
from warplens.execute.executable import Image, KernelCode
from warplens.execute.program import unknown_functions
from warplens.gpus.spec import GpuSpec
from warplens.lift.coverage import Gap, gaps_of
from warplens.naming import KernelNames, squeezed
from warplens.sass.model import SassKernel
from warplens.session.kernel import Kernel
from warplens.session.target import Target
from warplens.toolchain.source import SourceUnit

_TEMPLATE = re.compile(r"template\s*<[^;{]*?__global__[^;{(]*?\b(\w+)\s*\(", re.DOTALL)


class Module:
    """Compiled kernels by name; `module["reduce<256>"]` compiles a template instance on demand."""

    def __init__(
        self,
        device: Target,
        *,
        unit: SourceUnit | None = None,
        cubin: bytes | None = None,
        expressions: tuple[str, ...] = (),
        shipped: Callable[[], str] | None = None,
    ) -> None:
        self.device = device
        self.unit = unit
        self.log = ""
        self._names: dict[str, tuple[Image, str]] = {}  # asked expression -> where it is
        self.images: list[Image] = []
        self._kernels: dict[tuple[int, str], Kernel] = {}
        self._asked: dict[str, Kernel] = {}  # by the names that users gave
        if cubin is not None:
            image = Image(device.memory, cubin, None, shipped=shipped)
            _check_architecture(image, device.gpu)
            self.images.append(image)
        else:
            self._compile(expressions)

    def _compile(self, expressions: tuple[str, ...]) -> None:
        assert self.unit is not None
        compiled = self.unit.compiled(expressions)
        self.log = compiled.log or self.log
        image = Image(
            self.device.memory, compiled.cubin, compiled.ptx, unit=self.unit,
            expressions=expressions,
        )  # fmt: skip
        self.images.append(image)
        for expression, mangled in compiled.lowered_names.items():
            self._names[squeezed(expression)] = (image, mangled)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The demangled names of all kernels compiled so far."""
        found = {k.demangled: None for image in self.images for k in image.names}
        return tuple(found)

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of that bare, mangled or demangled name, or of a template expression.

        Raises:
            UnknownKernel: no such kernel, or several fit.
            Unsupported: the kernel needs what warplens does not do; all gaps are listed.
        """
        if not isinstance(name, str):
            raise InputError(f"a kernel name is a string, not {name!r}")
        if name not in self._asked:
            image, mangled = self._find(name)
            key = (self.images.index(image), mangled)
            if key not in self._kernels:
                code = KernelCode(image, image.kernels[mangled])
                self._kernels[key] = Kernel(self.device, code)
            self._asked[name] = self._kernels[key]
        return self._asked[name]

    @property
    def names(self) -> tuple[KernelNames, ...]:
        """Every name of every kernel compiled so far."""
        return tuple({n.mangled: n for image in self.images for n in image.names}.values())

    def sass(self, name: str) -> SassKernel:
        """The kernel's SASS and resources, without lifting it: any instruction is welcome."""
        image, mangled = self._find(name)
        return image.kernels[mangled]

    def outline(self, name: str) -> Kernel:
        """The kernel without its instructions: its facts, its occupancy and which launches a GPU
        refuses. It is not disassembled and cannot run."""
        image, mangled = self._find(name)
        return Kernel(
            self.device, KernelCode(image, image.kernels.outline(mangled), is_plain=False)
        )

    def gaps(self, name: str) -> tuple[Gap, ...]:
        """Every instruction of a kernel that warplens does not execute, with place and reason."""
        image, mangled = self._find(name)
        kernel = image.kernels[mangled]
        return gaps_of(kernel, unknown_functions(kernel, image.kernels.cubin))

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self._find(name))
        except (UnknownKernel, CompileError):
            return False

    def _find(self, name: str) -> tuple[Image, str]:
        wanted = squeezed(name)
        if wanted in self._names:
            return self._names[wanted]
        found = {
            listed.mangled: image
            for image in reversed(self.images)
            for listed in image.names
            if wanted in listed.spellings
        }
        if len(found) == 1:
            mangled, image = next(iter(found.items()))
            return image, mangled
        if found:
            choices = [k.demangled for i in self.images for k in i.names if k.mangled in found]
            raise UnknownKernel(
                f"{name!r} matches several kernels: {'; '.join(dict.fromkeys(choices))}",
                hint="Use one of these names.",
            )
        if self.unit is not None and "<" in name:
            return self._instantiate(name)
        raise self._unknown(name)

    def _instantiate(self, name: str) -> tuple[Image, str]:
        """Compiles a template instance; it gets a copy of the module's variables of its own."""
        try:
            self._compile((name,))
        except CompileError as error:
            if name.partition("<")[0].rpartition("::")[2].strip() not in self._templates():
                raise self._unknown(name.partition("<")[0]) from error
            raise UnknownKernel(
                f"{name!r} cannot be instantiated:\n{error.log or error.message}",
                hint=f"Templates in the source: {', '.join(self._templates()) or 'none'}.",
            ) from error
        image, mangled = self._names[squeezed(name)]
        if mangled not in image.kernels:
            raise UnknownKernel(f"{name!r} is not a kernel (__global__ function)")
        return image, mangled

    def _templates(self) -> tuple[str, ...]:
        return () if self.unit is None else tuple(dict.fromkeys(_TEMPLATE.findall(self.unit.text)))

    def _unknown(self, name: str) -> UnknownKernel:
        if name in self._templates():
            return UnknownKernel(
                f"{name!r} is a template", hint=f"Give its arguments: module[{name + '<...>'!r}]."
            )
        known = [k.demangled for image in self.images for k in image.names]
        bare = {k.bare: k.demangled for image in self.images for k in image.names}
        bare.update({template: template for template in self._templates()})
        near = difflib.get_close_matches(name, [*bare, *known], n=3, cutoff=0.5)
        names = ", ".join(dict.fromkeys(near or [*bare][:8])) or "none"
        start = "Did you mean" if near else "It has"
        return UnknownKernel(f"no kernel named {name!r} in this module", hint=f"{start}: {names}")

    def __repr__(self) -> str:
        return f"Module({', '.join(self.kernels)})"


def _check_architecture(image: Image, gpu: GpuSpec) -> None:
    sm = image.kernels.cubin.sm
    if sm // 10 != gpu.sm // 10 or sm > gpu.sm:
        raise CubinError(
            f"the cubin is for sm_{sm}; {gpu.name} is sm_{gpu.sm}",
            hint=f"Compile it with -arch=sm_{gpu.sm}, or choose a GPU of sm_{sm}.",
        )
