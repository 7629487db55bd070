import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summary_data import full_scores, tables_of

from shellbench_lib.figures.boxes import (
    BLANK,
    MAX_DOT_SHIFT,
    MAX_ROWS,
    BoxPlot,
    Group,
    box_svg,
    dot_shifts,
    draw,
    row_labels,
)
from shellbench_lib.figures.classic import CLASSIC_KINDS, classic_figures
from shellbench_lib.statistics.cells import build_datasets

HOSTILE = [
    "$\\frac$", "fix_$$_pid", "esc\x1b[31m", "nul\0", "<img src=x onerror=alert(1)>", "</script><script>x</script>",
    "two\nlines", "a&b", "\u202ertl", "sep\u2028ator", "]]>", "任务 😀", " ", "\ufffe", "W" * 80, "x" * 300, "x" * 299 + "y",
]  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"


def plot(groups, **values):
    return BoxPlot("Title", "axis", "note", tuple(groups), **values)


def page(groups, **values):
    hues = tuple(sorted({group.hue for group in groups}))
    return box_svg(plot(groups, limits=(-0.1, 1.1), hues=hues, **values))


def texts(svg):
    return ["".join(element.itertext()).strip() for element in ET.fromstring(svg).iter(f"{SVG}text")]


def dots(svg):
    """Marks that are drawn in a colour of the palette, without an outline: the single values."""
    found = [use for use in ET.fromstring(svg).iter(f"{SVG}use") if "fill-opacity: 0.8" in use.get("style", "")]
    return [(float(use.get("x")), float(use.get("y"))) for use in found]


def drawn(dataset, **values):
    scores = {path: 0.5 for cell in dataset.cells for path in cell.run_paths}
    settings_of = (
        dict(file_stem="stem", run_scores=scores, top_tasks=dataset.tasks[:20], missing_reward="zero") | values
    )
    return {figure.kind: figure for figure in classic_figures(dataset, **settings_of)}


def test_every_value_is_a_dot_over_its_box():
    svg = page([Group(("a",), np.array([0.0, 0.5, 1.0])), Group(("b",), np.array([0.25] * 9))])
    assert len(dots(svg)) == 12
    text = svg.decode()
    assert text.index("fill-opacity: 0.25") < text.index("fill-opacity: 0.8")  # boxes are painted first


def test_a_lone_value_stands_at_its_place_and_rows_follow_the_given_order():
    svg = page([Group(("first",), np.array([0.0])), Group(("second",), np.array([1.0]))])
    (x0, y0), (x1, y1) = dots(svg)
    assert x0 < x1
    assert y0 < y1  # SVG counts downwards: the first group is on top
    middle = page([Group(("first",), np.array([0.5])), Group(("second",), np.array([1.0]))])
    assert dots(middle)[0][0] == pytest.approx((x0 + x1) / 2, abs=1e-3)


def test_a_mean_is_marked_only_where_values_differ():
    groups = [
        Group(("lone",), np.array([0.5])),
        Group(("same",), np.array([0.2, 0.2])),
        Group(("b",), np.array([0.0, 1.0])),
    ]
    uses = [use.get("style", "") for use in ET.fromstring(page(groups)).iter(f"{SVG}use")]
    assert sum("fill: #ffffff" in style for style in uses) == 1


def test_equal_values_stand_side_by_side_around_their_place():
    shifts = dot_shifts(np.array([0.5] * 100 + [0.0]), 0.0, 1.0, size=3.0)
    assert shifts[100].tolist() == [0.0, 0.0]
    assert len({tuple(shift) for shift in shifts[:100].round(9)}) == 100
    assert shifts[:100].mean(axis=0) == pytest.approx([0.0, 0.0], abs=0.002)
    assert np.abs(shifts[:, 0]).max() <= MAX_DOT_SHIFT + 1e-12


def test_more_equal_values_than_fit_stay_within_the_bound():
    shifts = dot_shifts(np.zeros(5000), -1.0, 1.0, size=3.0)
    assert np.abs(shifts[:, 0]).max() <= 2 * MAX_DOT_SHIFT + 1e-12


def test_the_same_values_give_the_same_bytes_whatever_the_user_has_set():
    groups = [Group(("a",), np.array([0.1, 0.9]), "h"), Group(("b",), np.array([0.4]), "g")]
    first = page(groups)
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other", "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert page(groups) == first
        assert mpl.rcParams["font.size"] == 30  # and theirs are left alone
    assert b"<dc:date>" not in first
    assert b"matplotlib.org" not in first


def test_hostile_names_stay_text_and_the_file_stays_well_formed():
    svg = page([Group((name,), np.array([0.5])) for name in HOSTILE])
    shown = texts(svg)
    for name in ("$\\frac$", "fix_$$_pid", "<img src=x onerror=alert(1)>", "a&b", "two lines", "]]>", "任务 😀", BLANK):
        assert name in shown
    assert "esc\ufffd[31m" in shown
    assert ET.fromstring(svg).find(f".//{SVG}script") is None


@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=100), st.text(max_size=20))
def test_whatever_a_name_holds_the_svg_parses(name, title):
    svg = box_svg(BoxPlot(title, "axis", "note", (Group((name,), np.array([0.5])),), limits=(0, 1), hues=("",)))
    assert ET.fromstring(svg).tag == f"{SVG}svg"


def test_labels_are_wrapped_shortened_and_kept_apart():
    name = "n" * 80
    (whole,) = row_labels([(name,)])
    assert whole.replace("\n", "") == name
    assert max(map(len, whole.split("\n"))) <= 48
    first, second, third = row_labels([("x" * 299 + "y",), ("x" * 298 + "zy",), ("short /", "cell")])
    assert "…" in first
    assert len({first, second, third}) == 3
    assert third == "short / cell"


def test_labels_and_title_lie_inside_the_figure():
    svg = page([Group(("W" * 80 + " /", "M" * 80 + " /", "high"), np.array([0.5])), Group(("b",), np.array([0.2]))])
    root = ET.fromstring(svg)
    width = float(root.get("width").removesuffix("pt"))
    plot_left = min(x for x, _ in dots(svg))
    label_lines = max(len(text) for text in texts(svg))
    assert label_lines <= 60
    assert 48 * 7 < plot_left < width  # the widest line, 48 capital W of more than 7 points, has room on the left


def test_a_long_title_widens_the_figure():
    svg = box_svg(BoxPlot("W" * 120, "axis", "note", (Group(("a",), np.array([0.5])),), limits=(0, 1), hues=("",)))
    width = float(ET.fromstring(svg).get("width").removesuffix("pt"))
    assert width > 120 * 1.1 * 11  # a bold W takes 1.1 em, at 11 points


def test_groups_without_a_value_are_left_out_with_a_sentence():
    groups = [Group(("full",), np.array([0.5, np.nan])), Group(("hollow /", "cell"), np.array([np.nan, np.nan]))]
    figure = draw(plot(groups), kind="k", dataset_key="d:1", file_stem="d-1", empty="reason")
    assert figure.sentences == ("Title: left out for want of a value: hollow / cell.",)
    ((name, svg),) = figure.files
    assert name == "d-1-k.svg"
    assert "full" in texts(svg)
    assert len(dots(svg)) == 1


def test_a_figure_without_a_group_is_a_sentence():
    figure = draw(plot([]), kind="task-deltas", dataset_key="d:1", file_stem="d-1", empty="there is no pair")
    assert figure.files == ()
    assert figure.sentences == ("No figure of task deltas for dataset d:1: there is no pair.",)


def test_more_groups_than_a_page_holds_go_on_to_further_pages():
    groups = [Group((f"group {i}",), np.array([i / 100]), f"hue {i}") for i in range(2 * MAX_ROWS + 3)]
    figure = draw(plot(groups), kind="k", dataset_key="d", file_stem="d", empty="")
    assert [name for name, _ in figure.files] == ["d-k.svg", "d-k-page-2.svg", "d-k-page-3.svg"]
    shown = [texts(svg) for _, svg in figure.files]
    assert "Title (page 3 of 3: rows 81 to 83 of 83)" in shown[2]
    labels = [text for page_texts in shown for text in page_texts if re.fullmatch(r"group \d+", text)]
    assert sorted(labels) == sorted(f"group {i}" for i in range(83))
    assert sum(len(dots(svg)) for _, svg in figure.files) == 83


def test_values_beyond_the_limits_widen_them():
    figure = draw(
        plot([Group(("a",), np.array([-3.0, 5.0]))], limits=(0, 1)), kind="k", dataset_key="d", file_stem="d", empty=""
    )
    root = ET.fromstring(figure.files[0][1])
    width = float(root.get("width").removesuffix("pt"))
    assert all(0 < x < width for x, _ in dots(figure.files[0][1]))
    assert {"\u22122", "0", "4"} <= set(texts(figure.files[0][1]))


def test_the_classic_figures_of_the_full_matrix(tmp_path):
    (dataset,) = build_datasets(tables_of(tmp_path / "s", full_scores(task_count=10)))
    figures = drawn(dataset)
    assert tuple(figures) == CLASSIC_KINDS
    counts = {kind: len(dots(figure.files[0][1])) for kind, figure in figures.items()}
    assert counts == {
        "run-score-distributions": 93,
        "harness-task-deltas": 27 * 10,
        "reasoning-task-deltas": 19 * 10,
        "highest-variance-tasks": 31 * 10,
    }
    assert [figure.files[0][0] for figure in figures.values()] == [f"stem-{kind}.svg" for kind in CLASSIC_KINDS]
    assert (
        sum(text.startswith(("codex /", "hermes /")) for text in texts(figures["run-score-distributions"].files[0][1]))
        > 10
    )
    assert "codex \u2212 hermes, gpt / low" in texts(figures["harness-task-deltas"].files[0][1])
    assert "high \u2212 medium, openclaw / deepseek" in texts(figures["reasoning-task-deltas"].files[0][1])


def test_a_delta_is_drawn_on_the_side_that_its_sign_says(tmp_path):
    scores = {("alpha", "m", "low"): {"t": [1.0]}, ("beta", "m", "low"): {"t": [0.0]}}
    (dataset,) = build_datasets(tables_of(tmp_path / "s", scores))
    svg = drawn(dataset)["harness-task-deltas"].files[0][1]
    ((x, _),) = dots(svg)
    zero = next(t for t in ET.fromstring(svg).iter(f"{SVG}text") if "".join(t.itertext()).strip() == "0.00")
    assert "alpha \u2212 beta, m / low" in texts(svg)
    assert x > float(re.search(r"[\d.]+", zero.get("x") or zero.get("transform")).group())


def test_a_dataset_without_pairs_says_so(tmp_path):
    (dataset,) = build_datasets(tables_of(tmp_path / "s", {("alpha", "m", "low"): {"t": [1.0]}}))
    figures = drawn(dataset)
    assert figures["harness-task-deltas"].files == ()
    assert "no two harnesses share" in figures["harness-task-deltas"].sentences[0]
    assert "no two known efforts share" in figures["reasoning-task-deltas"].sentences[0]
    assert len(figures["run-score-distributions"].files) == len(figures["highest-variance-tasks"].files) == 1


def test_cells_that_share_no_task_are_named(tmp_path):
    scores = {
        ("alpha", "m", "low"): {"a": [1.0]},
        ("beta", "m", "low"): {"b": [0.0]},
        ("gamma", "m", "low"): {"b": [0.5]},
    }
    (dataset,) = build_datasets(tables_of(tmp_path / "s", scores))
    figure = drawn(dataset)["harness-task-deltas"]
    assert [sentence.rpartition(": ")[2] for sentence in figure.sentences] == [
        "alpha \u2212 beta, m / low.",
        "alpha \u2212 gamma, m / low.",
    ]
    assert len(dots(figure.files[0][1])) == 1
