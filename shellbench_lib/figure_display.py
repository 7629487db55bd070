"""How a notebook cell shows figures that lie on disk: each SVG as it is, and a sentence for what was not drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shellbench_lib.blocks import paragraph


@dataclass(frozen=True, slots=True)
class Figures:
    """Some figures and the sentences of those that could not be drawn."""

    paths: Sequence[Path]
    sentences: Sequence[str] = ()

    def _ipython_display_(self) -> None:
        from IPython.display import SVG, display  # noqa: PLC0415 - only a notebook needs it

        for path in self.paths:
            display(SVG(data=path.read_text(encoding="utf-8")))  # type: ignore[no-untyped-call]
        if self.sentences:
            display(paragraph(*self.sentences))  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        """Return the names of the figures and the sentences."""
        return "\n".join([*(path.name for path in self.paths), *self.sentences])
