"""Parameters keep their type and text on the whole way: file or option, model, kernel."""

from __future__ import annotations

import ast
import json
import math

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from runner_kit import make_project

from shellbench_lib.cli import parameter_value
from shellbench_lib.errors import ParameterError
from shellbench_lib.normalise import parameter_source
from shellbench_lib.params import (
    ReportParameters,
    check_parameters,
    check_values,
    parse_yaml_value,
    read_parameters_file,
)
from shellbench_lib.runner import NotebookKind, run_notebook

# Texts that YAML 1.1, papermill or Python's own literals would turn into something else.
AWKWARD = (
    "007", "0012345", "1e3", "7e10", "1_000", "no", "off", "y", "None", "nan", ".nan", ".inf", "0x1F", "0o17",
    "2026-08-01", "2026-08-01T10:00:00Z", "1:30", "=cmd", "C:\\new\\table", "it's \"q\"", "ünï→", "\U0001f600",
    "line\nbreak", "tab\there", "a # b", "{x}", "'''", '"""', "\\", "$HOME", "%s", " padded ",
)  # fmt: skip


class EchoParameters(BaseModel):
    """The parameters of the notebook that shows what it was given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    matrix_name: str
    text: str = ""
    texts: list[str] = []
    number: int = 0
    share: float = 0.0
    flag: bool = False
    maybe: int | None = None
    nested: dict[str, list[str]] = {}

    @property
    def output_folder(self) -> str:
        return f"outputs/{self.matrix_name}"


ECHO = NotebookKind(path="notebooks/echo.ipynb", model=EchoParameters, promised=lambda _folder: ())


def echoed(values: dict[str, object]) -> list[tuple[str, object]]:
    """(type, value) of each parameter as the kernel saw it."""
    parameters = check_values(EchoParameters, {"matrix_name": "echo", **values}, source="test")
    notebook = nbformat.read(run_notebook(ECHO, parameters) / "echo.ipynb", as_version=4)
    shown = ast.literal_eval(notebook.cells[-1].outputs[0].data["text/plain"])
    return [(kind, ast.literal_eval(text)) for kind, text in shown]


def test_every_value_reaches_the_notebook_from_a_file_and_from_options(tmp_path, monkeypatch):
    project = make_project(tmp_path / "project", "echo")
    monkeypatch.chdir(project)
    expected = [
        ("str", "007"), ("list", list(AWKWARD)), ("int", 12), ("float", 0.1), ("bool", True), ("NoneType", None),
        ("dict", {"a'b": ["7e10", "no"]}),
    ]  # fmt: skip
    (project / "echo.yaml").write_text(
        f"text: 007\ntexts: {json.dumps(AWKWARD)}\nnumber: 12\nshare: 0.1\nflag: true\nmaybe: null\n"
        "nested: {a'b: [7e10, no]}\n"
    )
    assert echoed(read_parameters_file(project / "echo.yaml")) == expected
    options = {
        "text": "007", "texts": json.dumps(AWKWARD), "number": "12", "share": "0.1", "flag": "true", "maybe": "null",
        "nested": "{a'b: [7e10, no]}",
    }  # fmt: skip
    assert echoed({name: parameter_value(EchoParameters, name, text) for name, text in options.items()}) == expected


@pytest.mark.parametrize("text", AWKWARD)
def test_a_text_option_is_taken_as_it_stands(text):
    assert parameter_value(ReportParameters, "reward_key", text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("007", "007"), ("no", "no"), ("0012345", "0012345"), ("2026-08-01", "2026-08-01"), ("1e3", "1e3"),
        ("1:30", "1:30"), ("[low, 1_000, null, ~]", ["low", "1_000", None, None]), ("{from: 2026-08-01}", {"from": "2026-08-01"}),
        (".inf", ".inf"), ('"\\ud83d\\ude00"', "\U0001f600"), ('"\\ud83d"', "\ufffd"), ("12", 12), ("-3", -3), ("0.50", 0.5), ("true", True), ("'12'", "12"), ("", None),
        ("a: b: c", "a: b: c"),
    ],
)  # fmt: skip
def test_what_a_yaml_value_means(text, value):
    found = parse_yaml_value(text)
    assert (found, type(found)) == (value, type(value))


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["alpha", "beta", "gamma"]), JSON_LIKE, min_size=1))
def test_the_injected_cell_gives_back_the_very_values(values):
    namespace: dict[str, object] = {}
    exec(parameter_source(values), {"float": float}, namespace)
    assert repr(namespace) == repr(values)


def test_a_missing_name_and_an_unknown_one_are_both_named_with_the_known_names():
    with pytest.raises(ParameterError, match=r"p\.yaml: ") as caught:
        check_parameters({"matrix": "x"}, source="p.yaml")
    message = str(caught.value)
    assert "matrix_name: must be given" in message
    assert "matrix: unknown parameter" in message
    assert all(name in message for name in ReportParameters.model_fields)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", "0"), ("seed", 1.0), ("seed", True), ("seed", -1), ("confidence_level", 1.0), ("confidence_level", "0.9"),
        ("confidence_level", math.nan), ("high_variance_threshold", math.inf), ("missing_reward", "ignore"),
        ("merge_jobs", "no"), ("merge_jobs", 1), ("expected_task_count", 0), ("top_tasks", 0), ("cell_timeout", 0),
        ("bootstrap_resamples", 99), ("split_by", ["colour"]), ("split_by", "tool_mode"), ("matrix_name", "../x"),
        ("matrix_name", ""), ("matrix_name", ".hidden"), ("matrix_name", 7), ("reward_key", ""), ("matrix_path", ""),
        ("overrides", [{"match": "*", "set": {"colour": "red"}}]), ("overrides", [{"match": "*", "set": {}}]),
        ("overrides", [{"match": "*"}]), ("overrides", [{"match": "*", "set": {"model_slug": 7}}]),
    ],
)  # fmt: skip
def test_a_wrong_kind_is_refused_and_named(name, value):
    with pytest.raises(ParameterError, match=name):
        check_parameters({"matrix_name": "m", name: value})


def test_defaults_are_those_of_the_contract():
    assert check_parameters({"matrix_name": "m"}).model_dump() == {
        "matrix_path": "sample", "matrix_name": "m", "output_dir": "", "missing_reward": "zero",
        "high_variance_threshold": 0.5, "confidence_level": 0.95, "bootstrap_resamples": 10000, "seed": 0,
        "top_tasks": 20, "narrow_share": 0.1, "split_by": [], "overrides": [], "merge_jobs": False,
        "expected_task_count": None, "generate_plots": True, "reward_key": "reward", "cell_timeout": 600,
    }  # fmt: skip
    assert check_parameters({"matrix_name": "m"}).output_folder == "outputs/m"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"- a\n", "must be a mapping"),
        (b"a: [\n", "not valid YAML"),
        (b"a: 1\na: 2\n", "the name a stands twice"),
        (b"\xff\xfe", "cannot be read"),
        (b"7: x\n", "must be a mapping of parameter names"),
        (b"", "must be a mapping"),
        (b"a: !!python/object:os.system x\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_parameters_file_is_refused(tmp_path, content, words):
    path = tmp_path / "p.yaml"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=f"p.yaml: .*{words}"):
        read_parameters_file(path)
