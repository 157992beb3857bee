"""What the names of warplens mean: rules of advice, metrics, sections, checks, opcodes.

One module per kind makes a page of Markdown for a name, from the declaration of what it names.
`warplens explain` prints these pages, and the documentation's reference is made of them. `kernels/`
holds a kernel for each rule of advice and its repaired twin.
"""

from __future__ import annotations

from warplens.reference.examples import Example, examples
from warplens.reference.lookup import find, pages
from warplens.reference.page import Page

__all__ = ["Example", "Page", "examples", "find", "pages"]
