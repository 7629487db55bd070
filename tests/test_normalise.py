"""The same cells and outputs give the same bytes, whenever, wherever and by which process they were run."""

from __future__ import annotations

import json

import nbformat
from nbformat import v4

from shellbench_lib.normalise import normalise, notebook_text
from shellbench_lib.scrub import scrubber

NOTHING = scrubber({})


def executed(*, pid: int, address: str, moment: str, version: str) -> nbformat.NotebookNode:
    """A notebook as a kernel leaves it, with everything in it that differs from run to run."""
    injected = v4.new_code_cell("# Parameters\noutput_dir = '/tmp/x'\n", metadata={"tags": ["injected-parameters"]})
    shown = v4.new_code_cell(
        "thing",
        id="thing",
        execution_count=2,
        metadata={"execution": {"iopub.execute_input": moment}, "papermill": {"duration": 1.5, "start_time": moment}},
        outputs=[
            v4.new_output("stream", name="stderr", text=f"/tmp/ipykernel_{pid}/12.py:1: UserWarning\n"),
            v4.new_output("execute_result", {"text/plain": f"<thing at {address}>"}, execution_count=2),
            v4.new_output("display_data", {"image/svg+xml": "<svg><path d='0xabcdef12'/></svg>"}),
        ],
    )
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# Title", id="title"), injected, shown])
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python", "version": version, "pygments_lexer": "ipython3"},
            "papermill": {"start_time": moment, "input_path": "/a/b.ipynb", "parameters": {"output_dir": "/tmp/x"}},
            "widgets": {"state": moment},
        }
    )
    return notebook


def normal(notebook, **parameters):
    return normalise(notebook, parameters=parameters or {"output_dir": "outputs/x"}, scrub=NOTHING)


def test_two_runs_give_the_same_bytes():
    first = executed(pid=11, address="0x7f0000000010", moment="2026-01-01", version="3.11.7")
    second = executed(pid=222222, address="0x55aa00aa00aa", moment="2026-02-02", version="3.11.9")
    texts = [notebook_text(normal(notebook)) for notebook in (first, second)]
    assert texts[0] == texts[1]
    for word in ("2026-", "3.11", "0x7f", "ipykernel_", "/tmp/x", "b.ipynb", "widgets", "duration"):
        assert word not in texts[0]


def test_what_it_says_is_kept():
    notebook = normal(executed(pid=1, address="0x7f0000000010", moment="x", version="3.11.7"))
    assert [cell.id for cell in notebook.cells][1:] == ["injected-parameters", "thing"]
    assert notebook.cells[1].source == '# Parameters\noutput_dir = "outputs/x"'
    outputs = notebook.cells[2].outputs
    assert outputs[1].data["text/plain"] == "<thing at 0x...>"
    assert (
        outputs[2].data["image/svg+xml"] == "<svg><path d='0xabcdef12'/></svg>"
    )  # a figure's numbers are no addresses
    assert notebook.metadata.language_info == {"name": "python", "pygments_lexer": "ipython3"}
    assert notebook.metadata.papermill == {"parameters": {"output_dir": "outputs/x"}}


def test_repeated_ids_are_told_apart():
    notebook = v4.new_notebook()
    notebook.cells = [v4.new_markdown_cell("a", id="same"), v4.new_markdown_cell("b", id="same")]
    assert [cell.id for cell in normal(notebook).cells] == ["same", "cell-1-same"]


def test_the_saved_text_is_a_valid_notebook_with_sorted_keys_and_one_line_end():
    text = notebook_text(normal(executed(pid=1, address="0x7f0000000010", moment="x", version="3.11.7")))
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")
    content = json.loads(text)
    assert list(content) == sorted(content)
    nbformat.validate(nbformat.from_dict(content))


def test_the_notebook_given_is_not_changed():
    notebook = executed(pid=1, address="0x7f0000000010", moment="x", version="3.11.7")
    before = json.dumps(notebook)
    normal(notebook)
    assert json.dumps(notebook) == before


def test_an_error_is_kept_without_colours_and_places():
    error = v4.new_output(
        "error",
        ename="ValueError",
        evalue="in /srv/x/y",
        traceback=["\x1b[31mFile /srv/lib/z.py:3\x1b[0m", "0x7f0000000010"],
    )
    notebook = normal(v4.new_notebook(cells=[v4.new_code_cell("f()", execution_count=1, outputs=[error])]))
    kept = notebook.cells[0].outputs[0]
    assert (kept.ename, kept.evalue, kept.traceback) == ("ValueError", "in y", ["File z.py:3", "0x..."])
