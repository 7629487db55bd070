"""One notebook run becomes one output folder: every cell run, every promised file there, or nothing.

    parameters → kernel → normalised notebook + HTML page + manifest → swapped in

What a run is about is a `NotebookKind`; the matrix report is `MATRIX_REPORT`. The kernel writes into a staging folder,
and the notebook that is saved names the public place instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nbformat import NotebookNode
from pydantic import BaseModel

import shellbench_lib
from shellbench_lib.errors import ReportError, ShellbenchError
from shellbench_lib.execution import KernelSettings, read_notebook, run_cells, unheard, unread
from shellbench_lib.manifest import write_manifest
from shellbench_lib.normalise import normalise, notebook_text
from shellbench_lib.output_folder import fresh_folder, locked, refuse_strangers, save_failed
from shellbench_lib.params import SAMPLE_MATRIX, ReportParameters
from shellbench_lib.paths import local_path, project_root, refuse_inside
from shellbench_lib.scrub import Scrubber, scrubber, secret_values

OUTPUT_PARAMETER = "output_dir"
SUMMARIES, ANALYSIS, ANALYSIS_SUMMARY = "summaries", "analysis", "analysis_summary.json"
DEFAULT_CELL_TIMEOUT = 24 * 3600  # seconds, for a notebook without a parameter of its own: an upload takes hours
# The same on every machine and nobody's own: to shorten them would only make a text depend on where it was written.
SHARED_PLACES = frozenset({Path("/usr"), Path("/usr/local"), Path("/tmp")})  # noqa: S108
_TIMEOUT_PARAMETER = "cell_timeout"


def _nothing_private(_environment: Mapping[str, str]) -> Sequence[str]:
    return ()


def _no_digest(_folder: Path) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class NotebookKind:
    """What the runner must know about a notebook.

    Attributes:
        path: the notebook, relative to the project root; its stem names the results.
        model: the typed parameters, with `matrix_name` and the property `output_folder`.
        promised: the files that a good run leaves, relative to the output folder, given that folder.
        places: names of the parameters that hold a path.
        keeps_credentials: whether the kernel may see credentials.
        input_sha256: reads the digest of the input from a finished folder.
        private_texts: texts that must not appear in any file, given the environment.
    """

    path: str
    model: type[BaseModel]
    promised: Callable[[Path], Sequence[str]]
    places: Sequence[str] = ()
    keeps_credentials: bool = False
    input_sha256: Callable[[Path], str] = _no_digest
    private_texts: Callable[[Mapping[str, str]], Sequence[str]] = _nothing_private

    @property
    def stem(self) -> str:
        """The name of the notebook's results without their suffix."""
        return Path(self.path).stem


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a notebook is run, apart from its parameters."""

    output_root: Path | None = None
    html: bool = True
    verbose: bool = False
    on_cell: Callable[[int, int], None] = unheard
    on_text: Callable[[str], None] = unread


def _report_files(folder: Path) -> list[str]:
    from shellbench_lib.export import SUMMARY_FILES  # noqa: PLC0415 - every reader of matrices comes with it

    promised = [*(f"{SUMMARIES}/{name}" for name in SUMMARY_FILES), f"{ANALYSIS}/{ANALYSIS_SUMMARY}"]
    path = folder / ANALYSIS / ANALYSIS_SUMMARY
    if not path.is_file():
        return promised
    outputs = json.loads(path.read_text(encoding="utf-8"))["outputs"]
    named = [name for value in outputs.values() for name in ([value] if isinstance(value, str) else value)]
    return [*promised, *(f"{ANALYSIS}/{name}" for name in named)]


def _matrix_digest(folder: Path) -> str:
    content = json.loads((folder / SUMMARIES / "aggregate_results.json").read_text(encoding="utf-8"))
    return str(content["input"]["input_sha256"])


MATRIX_REPORT = NotebookKind(
    path="notebooks/matrix_report.ipynb",
    model=ReportParameters,
    promised=_report_files,
    places=("matrix_path",),
    input_sha256=_matrix_digest,
)


def _import_what_comes_after() -> None:
    """Import what is needed after the kernel, so that nobody waits for it then."""
    with contextlib.suppress(ImportError):  # who needs it imports it again, and says so
        import shellbench_lib.export  # noqa: PLC0415
        import shellbench_lib.page  # noqa: F401, PLC0415


def output_folder(parameters: Any, options: RunOptions) -> Path:
    """Return the absolute output folder of a run.

    Raises:
        ParameterError: it is no local path.
    """
    if options.output_root is not None:
        return options.output_root.resolve() / str(parameters.matrix_name)
    return local_path(parameters.output_folder, field=OUTPUT_PARAMETER)


def run_notebook(kind: NotebookKind, parameters: Any, options: RunOptions | None = None) -> Path:
    """Run a notebook and replace its output folder; return the folder.

    Args:
        kind: what is run.
        parameters: an instance of `kind.model`.
        options: see `RunOptions`.

    Raises:
        OutputError: the folder holds something that is not ours, is held by another process or cannot be written.
        ShellbenchError: the class that the notebook raised, where it raised one of ours.
        ReportError: a cell failed or did not run, or a promised file is missing. The failed notebook stands in the
            output folder, and what was there before is untouched.
    """
    options = options or RunOptions()
    target = output_folder(parameters, options)
    source = read_notebook(project_root() / kind.path, list(kind.model.model_fields))
    for name in kind.places:
        place = getattr(parameters, name)
        if place != SAMPLE_MATRIX:
            refuse_inside(target, local_path(place, field=name), field=name)
    refuse_strangers(target, notebook=kind.stem)  # before the lock leaves a file beside a folder that is not ours
    with locked(target), fresh_folder(target, notebook=kind.stem) as stage:
        run = _Run(kind, parameters, target, stage, options)
        run.build(source)
    return target


@dataclass(frozen=True, slots=True)
class _Run:
    """One run under way."""

    kind: NotebookKind
    parameters: Any
    target: Path
    stage: Path
    options: RunOptions

    def build(self, notebook: NotebookNode) -> None:
        scrub = self.scrubber()
        public = scrub.tree(self.public_parameters())
        try:
            self.execute(notebook, scrub)
        except ShellbenchError as error:
            self.fail(notebook, public, scrub, error)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever stopped the kernel, the notebook is saved
            self.fail(notebook, public, scrub, ReportError(f"{self.kind.stem}: {type(error).__name__}: {error}"))
        self.write(normalise(notebook, parameters=public, scrub=scrub), public)

    def execute(self, notebook: NotebookNode, scrub: Scrubber) -> None:
        values = self.parameters.model_dump()
        if OUTPUT_PARAMETER in values:
            values[OUTPUT_PARAMETER] = str(self.stage)
        settings = KernelSettings(
            workdir=project_root(),
            cell_timeout=values.get(_TIMEOUT_PARAMETER, DEFAULT_CELL_TIMEOUT),
            keeps_credentials=self.kind.keeps_credentials,
            verbose=self.options.verbose,
        )
        run_cells(
            notebook,
            values,
            settings,
            on_cell=self.options.on_cell,
            on_text=lambda text: self.options.on_text(scrub.message(text)),
            meanwhile=_import_what_comes_after,
        )
        self.check_promised()

    def check_promised(self) -> None:
        for name in self.kind.promised(self.stage):
            path = self.stage / name
            if not path.is_file() or path.stat().st_size == 0:
                state = "is empty" if path.is_file() else "was not written"
                raise ReportError(f"{name}: {state}, although the notebook ran to its end")

    def write(self, notebook: NotebookNode, public: Mapping[str, Any]) -> None:
        (self.stage / f"{self.kind.stem}.ipynb").write_text(notebook_text(notebook), encoding="utf-8", newline="")
        if self.options.html:
            from shellbench_lib.page import render_page  # noqa: PLC0415 - slow, imported beside the kernel

            page = render_page(notebook, subtitle=self.parameters.matrix_name)
            (self.stage / f"{self.kind.stem}.html").write_text(page, encoding="utf-8", newline="")
        write_manifest(
            self.stage,
            notebook=self.kind.stem,
            parameters=public,
            input_sha256=self.kind.input_sha256(self.stage),
        )

    def fail(
        self, notebook: NotebookNode, public: Mapping[str, Any], scrub: Scrubber, error: ShellbenchError
    ) -> NoReturn:
        """Save the failed notebook and raise the error with its message scrubbed."""
        shown = normalise(notebook, parameters=public, scrub=scrub)
        saved = save_failed(self.target, notebook_text(shown), notebook=self.kind.stem)
        where = f" (see {os.path.relpath(saved)})" if saved else ""
        raise type(error)(scrub.message(str(error)) + where) from error

    def public_output(self) -> str:
        root = project_root()
        if self.target.is_relative_to(root) and self.target != root:
            return self.target.relative_to(root).as_posix()
        return f"outputs/{self.target.name}"

    def public_parameters(self) -> dict[str, Any]:
        values: dict[str, Any] = self.parameters.model_dump()
        for name in self.kind.places:
            values[name] = public_place(values[name])
        if OUTPUT_PARAMETER in values:
            values[OUTPUT_PARAMETER] = self.public_output()
        return values

    def scrubber(self) -> Scrubber:
        root, here, home = project_root(), Path.cwd(), Path.home()
        library = Path(shellbench_lib.__file__).resolve().parents[1]
        places = {self.stage: self.public_output(), self.target: self.public_output()}
        values = self.parameters.model_dump()
        for name in self.kind.places:
            if values[name] != SAMPLE_MATRIX:
                places[local_path(values[name], field=name)] = public_place(values[name])
        places |= {root: ".", library: "."}
        for place, shown in ((Path(sys.prefix), Path(sys.prefix).name), (here, here.name), (home, "~")):
            if place not in SHARED_PLACES:
                places.setdefault(place, shown)
        places.setdefault(Path(tempfile.gettempdir()), "/tmp")  # noqa: S108 - the name that every machine knows
        secrets = [*secret_values(os.environ), *self.kind.private_texts(os.environ)]
        return scrubber(places, secrets)


def public_place(text: str) -> str:
    """Return how a path parameter is shown: relative to the project where it lies inside, else its last component.

    Only the built-in sample is shown as `sample`; a folder of that name gets `./` before it.
    """
    if text == SAMPLE_MATRIX:
        return text
    path, root = local_path(text, field="path"), project_root()
    if path.is_relative_to(root):
        shown = text if not Path(text).is_absolute() and not text.startswith("~") else path.relative_to(root).as_posix()
    else:
        shown = path.name
    return f"./{shown}" if shown == SAMPLE_MATRIX else shown
