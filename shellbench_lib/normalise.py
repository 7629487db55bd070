"""What an executed notebook keeps: what it says, and nothing of when, where and by which process it was run.

The same source, parameters and outputs give the same bytes. Dropped: times of cells and of papermill, paths, process
ids and memory addresses, the Python patch version, widget state. Cell ids come from the source.
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
_LONGEST_ID = 64  # characters that the notebook format allows
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_PROCESS_FILE = re.compile(r"ipykernel_\d+/\d+\.py")


def normalise(notebook: NotebookNode, *, parameters: Mapping[str, Any], scrub: Scrubber) -> NotebookNode:
    """Return a copy that is fit to be published.

    Args:
        notebook: an executed notebook, whole or failed.
        parameters: the values to show in the injected cell and the metadata, by name, already public.
        scrub: what else must not be shown.
    """
    cells = [_cell(cell, parameters, scrub) for cell in notebook.cells]
    _make_ids_unique(cells)
    metadata = _metadata(notebook.metadata, parameters)
    copy: NotebookNode = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells})
    return copy


def notebook_text(notebook: NotebookNode) -> str:
    """Return the notebook as it is saved: valid, keys sorted, one line end at the end."""
    text: str = nbformat.writes(notebook)
    return text if text.endswith("\n") else text + "\n"


def parameter_source(parameters: Mapping[str, Any]) -> str:
    """Return the source of an injected cell as papermill writes it where it finds no code formatter."""
    from papermill.translators import PythonTranslator  # noqa: PLC0415 - slow to import, and nothing else here needs it

    lines = [PythonTranslator.comment("Parameters")]
    lines += [PythonTranslator.assign(name, PythonTranslator.translate(value)) for name, value in parameters.items()]
    return "\n".join(lines)


def _metadata(metadata: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: metadata[name] for name in _NOTEBOOK_METADATA if name in metadata}
    if "language_info" in kept:
        kept["language_info"] = {name: value for name, value in kept["language_info"].items() if name != "version"}
    return {**kept, "papermill": {"parameters": dict(parameters)}}


def _cell(cell: NotebookNode, parameters: Mapping[str, Any], scrub: Scrubber) -> dict[str, Any]:
    injected = INJECTED_TAG in cell.metadata.get("tags", [])
    kept = {
        "cell_type": cell.cell_type,
        "id": INJECTED_TAG if injected else cell.id,
        "metadata": {name: cell.metadata[name] for name in _CELL_METADATA if cell.metadata.get(name)},
        "source": parameter_source(parameters) if injected else scrub.text(cell.source),
    }
    if cell.cell_type == "code":
        kept["outputs"] = [_output(output, scrub) for output in cell.outputs]
        kept["execution_count"] = cell.execution_count
    return kept


def _output(output: NotebookNode, scrub: Scrubber) -> dict[str, Any]:
    kept: dict[str, Any] = {"output_type": output.output_type}
    if output.output_type == "stream":
        return {**kept, "name": output.name, "text": _plain(scrub.text(output.text))}
    if output.output_type == "error":
        traceback = [_plain(scrub.message(line)) for line in output.traceback]
        return {**kept, "ename": output.ename, "evalue": _plain(scrub.message(output.evalue)), "traceback": traceback}
    kept |= {"data": scrub.tree(output.data), "metadata": scrub.tree(output.metadata)}
    if "text/plain" in kept["data"]:
        kept["data"]["text/plain"] = _plain(kept["data"]["text/plain"])
    if output.output_type == "execute_result":
        kept["execution_count"] = output.execution_count
    return kept


def _plain(text: str) -> str:
    return _PROCESS_FILE.sub("cell.py", _ADDRESS.sub("0x...", text))


def _make_ids_unique(cells: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for number, cell in enumerate(cells):
        if cell["id"] in seen:
            cell["id"] = f"cell-{number}-{cell['id']}"[:_LONGEST_ID]
        seen.add(cell["id"])
