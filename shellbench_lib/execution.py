"""Did every cell of a notebook run? A kernel of our own Python, a clean profile, a time limit for each cell.

The parameters are injected as papermill injects them; the cells are run by nbclient, which papermill runs on too.
A notebook that ended early without an error (a cell that calls `sys.exit(0)`, a skipped cell) is a failure here.
"""

from __future__ import annotations

import ast
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import nbformat
from nbformat import NotebookNode

import shellbench_lib
from shellbench_lib import errors
from shellbench_lib.errors import ParameterError, ReportError, ShellbenchError
from shellbench_lib.normalise import PARAMETERS_TAG
from shellbench_lib.scrub import is_private_name
from shellbench_lib.text import shorten

KERNEL_START_SECONDS = 60
LAST_OUTPUT_SECONDS = 60  # a large figure may still be under way when its cell has finished
FIRST_MINOR_WITH_IDS = 5  # of the notebook format 4
SOCKET_PATH_LIMIT = 90  # file systems take 107 characters for a socket's path; the rest is for our suffix
# What the user's own Python and Jupyter settings would bring into a kernel.
_USER_SETTINGS = ("PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONBREAKPOINT", "MPLBACKEND", "JUPYTER_CONFIG_DIR")
_SHOWN_SOURCE, _SHOWN_MESSAGE = 60, 400  # characters; the failed notebook holds the rest


def unheard(_done: int, _total: int) -> None:
    """Progress that nobody listens to."""


def unread(_text: str) -> None:
    """Words that nobody reads."""


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """How a kernel is started: where it works, how long a cell may take, and whether it may see credentials."""

    workdir: Path
    cell_timeout: int
    keeps_credentials: bool = False
    verbose: bool = False


def read_notebook(path: Path, parameters: Collection[str]) -> NotebookNode:
    """Return a notebook whose parameters cell assigns exactly these names.

    Raises:
        ReportError: the file is missing or no notebook.
        ParameterError: no cell is tagged `parameters`, or its names differ.
    """
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except FileNotFoundError as error:
        raise ReportError(f"{path.name}: not found; run the command inside a checkout of the project") from error
    except (OSError, ValueError, TypeError, AttributeError, nbformat.ValidationError) as error:
        raise ReportError(f"{path.name}: is not a notebook that can be read") from error
    for number, cell in enumerate(notebook.cells):
        cell.setdefault("id", f"cell-{number}")  # a random one would be given later
    notebook.nbformat_minor = max(notebook.nbformat_minor, FIRST_MINOR_WITH_IDS)
    known = ", ".join(parameters)
    cells = [cell for cell in notebook.cells if PARAMETERS_TAG in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise ParameterError(
            f"{path.name}: needs exactly one cell tagged `{PARAMETERS_TAG}`, has {len(cells)}. "
            f"Known parameters: {known}"
        )
    differing = sorted(_assigned_names(cells[0].source) ^ set(parameters))
    if differing:
        raise ParameterError(
            f"{path.name}: the cell tagged `{PARAMETERS_TAG}` and the known parameters differ in "
            f"{', '.join(differing)}. "
            f"Known parameters: {known}"
        )
    return notebook


def run_cells(
    notebook: NotebookNode,
    parameters: Mapping[str, Any],
    settings: KernelSettings,
    *,
    on_cell: Callable[[int, int], None] = unheard,
    on_text: Callable[[str], None] = unread,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Inject the parameters and run every cell; the notebook is changed in place and holds what ran when it fails.

    Args:
        notebook: a clean notebook.
        parameters: the values for its parameters cell.
        settings: see `KernelSettings`.
        on_cell: called with the number of code cells that ran and their total.
        on_text: called with what a cell writes to standard error, as soon as it comes.
        meanwhile: done in a thread while the kernel works, whatever becomes of it.

    Raises:
        ShellbenchError: the class that a cell raised, where it raised one of ours.
        ReportError: a cell failed, took too long or was not run, or the kernel died. Messages are not scrubbed yet.
    """
    scratch = Path(tempfile.mkdtemp(prefix="shellbench-"))
    try:
        with (scratch / "kernel.log").open("wb") as log:
            running = _Running(on_cell, on_text, sum(cell.cell_type == "code" for cell in notebook.cells) + 1)
            _run(notebook, parameters, settings, scratch, None if settings.verbose else log, running, meanwhile)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    check_every_cell_ran(notebook)


def check_every_cell_ran(notebook: NotebookNode) -> None:
    """Raise the error that a notebook's outputs show, or ReportError naming the first cell that did not run."""
    expected = 0
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        expected += 1
        for output in cell.outputs:
            if output.output_type == "error":
                raise _cell_error(number, cell.source, output.ename, output.evalue)
        if cell.execution_count != expected:
            raise ReportError(f"cell {number} ({_first_line(cell.source)}) did not run; the notebook ended early")


def kernel_environment(
    environment: Mapping[str, str], *, scratch: Path, keeps_credentials: bool = False
) -> dict[str, str]:
    """Return the variables that a kernel starts with: none of the user's settings, credentials only where needed."""
    kept = {
        name: value
        for name, value in environment.items()
        if name not in _USER_SETTINGS and (keeps_credentials or not is_private_name(name))
    }
    neutral = scratch / "matplotlibrc"
    neutral.touch()
    library = str(Path(shellbench_lib.__file__).resolve().parents[1])
    path = [library, *(part for part in kept.get("PYTHONPATH", "").split(os.pathsep) if part)]
    return {
        **kept,
        "IPYTHONDIR": str(scratch / "ipython"),
        "MATPLOTLIBRC": str(neutral),
        "PYTHONPATH": os.pathsep.join(path),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # the debugger's remark about frozen modules
    }


def _run(
    notebook: NotebookNode,
    parameters: Mapping[str, Any],
    settings: KernelSettings,
    scratch: Path,
    log: IO[bytes] | None,
    running: _Running,
    meanwhile: Callable[[], None] | None,
) -> None:
    from jupyter_core.utils import run_sync  # noqa: PLC0415 - slow, as the next
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError  # noqa: PLC0415

    client = _client(notebook, settings, scratch, running)
    environment = kernel_environment(os.environ, scratch=scratch, keeps_credentials=settings.keeps_credentials)
    client.create_kernel_manager()
    client.start_new_kernel(env=environment, cwd=str(settings.workdir), stdout=log, stderr=log)
    try:
        _inject(notebook, parameters)  # imports papermill while the kernel starts
        client.start_new_kernel_client()
    except RuntimeError as error:
        raise ReportError("the kernel did not start; run again with --debug to see what it prints") from error
    finally:
        if client.kc is None and client.km is not None:
            run_sync(client.km.shutdown_kernel)(now=True)
    helper = threading.Thread(target=meanwhile)
    helper.start()
    try:
        client.execute()
    except CellExecutionError:
        check_every_cell_ran(notebook)
        raise
    except CellTimeoutError as error:
        raise ReportError(f"{running.name} took longer than cell_timeout ({settings.cell_timeout} seconds)") from error
    except DeadKernelError as error:
        raise ReportError(f"{running.name}: the kernel died") from error
    except AssertionError as error:  # nbclient has taken the kernel away: a signal came
        raise ReportError(f"{running.name}: the run was interrupted") from error
    finally:
        helper.join()


class _Running:
    """Which cell is running, how many have run, and who listens."""

    def __init__(self, on_cell: Callable[[int, int], None], on_text: Callable[[str], None], total: int) -> None:
        self.name = "the notebook"
        self.on_text = on_text
        self._on_cell, self._total, self._done = on_cell, total, 0

    def started(self, cell: NotebookNode, cell_index: int) -> None:
        if cell.source.strip():
            self.name = f"cell {cell_index + 1} ({_first_line(cell.source)})"

    def executed(self, **_: Any) -> None:
        self._done += 1
        self._on_cell(self._done, self._total)


def _client(notebook: NotebookNode, settings: KernelSettings, scratch: Path, running: _Running) -> Any:
    from jupyter_client.kernelspec import KernelSpecManager  # noqa: PLC0415
    from jupyter_client.manager import AsyncKernelManager  # noqa: PLC0415
    from nbclient import NotebookClient  # noqa: PLC0415
    from traitlets import default  # noqa: PLC0415
    from traitlets.config import Config  # noqa: PLC0415

    class OwnKernelManager(AsyncKernelManager):
        """Starts the kernel of this very Python, whatever kernels the user has installed."""

        @default("kernel_spec_manager")
        def _own_specs(self) -> Any:
            return KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)

    class ListeningClient(NotebookClient):
        """Passes on what a cell writes to standard error while it runs: the progress of long work."""

        def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
            if msg["msg_type"] == "stream" and msg["content"]["name"] == "stderr":
                running.on_text(msg["content"]["text"])
            return super().process_message(msg, cell, cell_index)

    config = Config()
    connection = scratch / "kernel.json"
    config.KernelManager.connection_file = str(connection)
    if len(str(connection)) <= SOCKET_PATH_LIMIT and os.name == "posix":
        config.KernelManager.transport = "ipc"
        config.KernelManager.ip = str(scratch / "kernel-ipc")
    return ListeningClient(
        notebook,
        config=config,
        kernel_manager_class=OwnKernelManager,
        kernel_name="python3",
        timeout=settings.cell_timeout,
        startup_timeout=KERNEL_START_SECONDS,
        iopub_timeout=LAST_OUTPUT_SECONDS,
        raise_on_iopub_timeout=True,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        shutdown_kernel="immediate",
        extra_arguments=["--HistoryManager.enabled=False", "--InteractiveShellApp.ignore_cwd=True"],
        on_cell_execute=running.started,
        on_cell_executed=running.executed,
    )


def _inject(notebook: NotebookNode, parameters: Mapping[str, Any]) -> None:
    from papermill.parameterize import parameterize_notebook  # noqa: PLC0415 - slow to import

    notebook.metadata.setdefault("papermill", NotebookNode())
    for cell in notebook.cells:
        cell.metadata.setdefault("tags", [])
    # Its own replaced notebook shares our cells; the client already holds ours.
    notebook.cells = parameterize_notebook(notebook, dict(parameters), kernel_name="python3", language="python").cells


def _assigned_names(source: str) -> set[str]:
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(f"the cell tagged `{PARAMETERS_TAG}` is not valid Python: {error.msg}") from error
    targets = [
        target
        for statement in statements
        for target in (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
            if isinstance(statement, ast.AnnAssign)
            else []
        )
    ]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _cell_error(number: int, source: str, name: str, message: str) -> ShellbenchError:
    ours = getattr(errors, name, None)
    if isinstance(ours, type) and issubclass(ours, ShellbenchError):
        return ours(message)
    if name == "SystemExit":
        return ReportError(f"cell {number} ({_first_line(source)}) ended the notebook early (SystemExit)")
    shown = shorten(" ".join(message.split()), _SHOWN_MESSAGE)
    return ReportError(f"cell {number} ({_first_line(source)}) failed: {name}: {shown}")


def _first_line(source: str) -> str:
    line = source.strip().splitlines()[0]
    return f"`{line[:_SHOWN_SOURCE]}`"
