"""What an executed notebook keeps: what it says, and nothing of when, where and by which process it was run.

The same source, parameters and outputs give the same bytes. Dropped: times of cells and of papermill, paths, process
ids and memory addresses, the Python patch version, widget state. Cell ids come from the source, or from the position.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

from shellbench_lib.scrub import Scrubber

INJECTED_TAG = "injected-parameters"
PARAMETERS_TAG = "parameters"
_CELL_METADATA = ("tags", "jupyter", "slideshow")
_NOTEBOOK_METADATA = ("kernelspec", "language_info", "title", "authors")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_PROCESS_FILE = re.compile(r"ipykernel_\d+/\d+\.py")


def normalise(notebook: NotebookNode, *, parameters: Mapping[str, Any], scrub: Scrubber) -> NotebookNode:
    """Return a copy that is fit to be published.

    Args:
        notebook: an executed notebook, whole or failed.
        parameters: the values to show in the injected cell and the metadata, by name.
        scrub: what else must not be shown.
    """
    shown = scrub.tree(dict(parameters))
    copy = nbformat.v4.new_notebook(metadata=_metadata(notebook.metadata, shown))
    copy.cells = [_cell(cell, number, shown, scrub) for number, cell in enumerate(notebook.cells)]
    _make_ids_unique(copy)
    return copy


def notebook_text(notebook: NotebookNode) -> str:
    """Return the notebook as it is saved: valid, keys sorted, one line end at the end."""
    text: str = nbformat.writes(notebook)
    return text if text.endswith("\n") else text + "\n"


def parameter_source(parameters: Mapping[str, Any]) -> str:
    """Return the source of an injected cell as papermill writes it, without the formatter that it uses where it finds one."""
    from papermill.translators import PythonTranslator  # noqa: PLC0415 - slow to import, and nothing else here needs it

    lines = [PythonTranslator.comment("Parameters")]
    lines += [PythonTranslator.assign(name, PythonTranslator.translate(value)) for name, value in parameters.items()]
    return "\n".join(lines)


def _metadata(metadata: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: metadata[name] for name in _NOTEBOOK_METADATA if name in metadata}
    if "language_info" in kept:
        kept["language_info"] = {name: value for name, value in kept["language_info"].items() if name != "version"}
    return {**kept, "papermill": {"parameters": dict(parameters)}}


def _cell(cell: NotebookNode, number: int, parameters: Mapping[str, Any], scrub: Scrubber) -> NotebookNode:
    injected = INJECTED_TAG in cell.metadata.get("tags", [])
    cell_id = INJECTED_TAG if injected else cell.get("id") or f"cell-{number}"
    metadata = {name: cell.metadata[name] for name in _CELL_METADATA if name in cell.metadata}
    source = parameter_source(parameters) if injected else scrub.text(cell.source)
    values = {"id": cell_id, "metadata": metadata, "source": source}
    if cell.cell_type != "code":
        return NotebookNode(cell_type=cell.cell_type, **values)
    outputs = [_output(output, scrub) for output in cell.outputs]
    return nbformat.v4.new_code_cell(outputs=outputs, execution_count=cell.execution_count, **values)


def _output(output: NotebookNode, scrub: Scrubber) -> NotebookNode:
    kind = output.output_type
    if kind == "stream":
        return nbformat.v4.new_output(kind, name=output.name, text=_plain(scrub.text(output.text)))
    if kind == "error":
        traceback = [_plain(scrub.message(line)) for line in output.traceback]
        return nbformat.v4.new_output(
            kind, ename=output.ename, evalue=_plain(scrub.message(output.evalue)), traceback=traceback
        )
    data = scrub.tree(output.data)
    if "text/plain" in data:
        data["text/plain"] = _plain(data["text/plain"])
    values = {"data": data, "metadata": scrub.tree(output.metadata)}
    if kind == "execute_result":
        values["execution_count"] = output.execution_count
    return nbformat.v4.new_output(kind, **values)


def _plain(text: str) -> str:
    return _PROCESS_FILE.sub("cell.py", _ADDRESS.sub("0x...", text))


def _make_ids_unique(notebook: NotebookNode) -> None:
    seen: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        if cell.id in seen:
            cell.id = f"cell-{number}-{cell.id}"[:64]
        seen.add(cell.id)
