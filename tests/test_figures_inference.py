"""The figures about uncertainty: they show what the tables say, in any name, and are the same bytes each time."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from score_data import dataset, two

from shellbench_lib.columns import SUPPORTING_TABLES
from shellbench_lib.figures.inference import INFERENCE_KINDS, inference_figures, no_inference_figures
from shellbench_lib.figures.panels import frontier
from shellbench_lib.statistics import clusters, reliability, variance
from shellbench_lib.statistics.inference import infer
from shellbench_lib.statistics.settings import InferenceSettings

NAN = float("nan")
SETTINGS = InferenceSettings(bootstrap_resamples=100)
HOSTILE = ("$x_1^2$ <b>&amp;", "x" * 120, "\u202eevil\x07", "", "名前")


def tables_of(scores, costs=None):
    import pandas as pd

    from shellbench_lib.columns import names

    found = infer([scores], SETTINGS).tables
    found |= {name: pd.DataFrame(columns=names(columns)) for name, columns in SUPPORTING_TABLES.items()}
    found[clusters.FILE] = clusters.cluster_table([scores], missing_reward="zero")
    found[variance.FILE] = variance.variance_table([scores], missing_reward="zero", confidence_level=0.95)
    found[reliability.FILE] = reliability.reliability_table([scores], missing_reward="zero")
    if costs is not None:
        rows = [
            {"dataset_key": scores.dataset_key, "cell": cell.label, "quantity": "cost", "per_trial": cost,
             "known_trials": 3, "trials": 4 if index else 3}
            for index, (cell, cost) in enumerate(zip(scores.cells, costs, strict=True))
        ]  # fmt: skip
        found["cost_summary.csv"] = pd.DataFrame(rows, columns=names(SUPPORTING_TABLES["cost_summary.csv"]))
    return found


def drawn(scores, costs=None):
    found = inference_figures(
        scores, tables_of(scores, costs), file_stem="d", missing_reward="zero", confidence_level=0.95, top_tasks=20
    )
    return {figure.kind: figure for figure in found}


def texts(figure):
    """Every text of a figure's pages."""
    found = []
    for _, svg in figure.files:
        root = ET.fromstring(svg)
        found += ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text")]
    return found


def cells_of(count, tasks=12, reps=3, seed=0):
    rng = np.random.default_rng(seed)
    hard = rng.random((tasks, 1))
    return {(f"h{i:02d}", "m", "high"): (rng.random((tasks, reps)) < hard).astype(float) for i in range(count)}


def test_every_kind_is_drawn_or_is_a_sentence():
    found = drawn(dataset(cells_of(2)))
    assert tuple(found) == INFERENCE_KINDS
    assert all(figure.files or figure.sentences for figure in found.values())


def test_a_dataset_without_runs_is_sentences():
    found = no_inference_figures("key")
    assert [figure.kind for figure in found] == list(INFERENCE_KINDS)
    assert all("it has no eligible run" in figure.sentences[0] and not figure.files for figure in found)


def test_the_same_scores_give_the_same_bytes():
    scores = dataset(cells_of(7))
    one, other = drawn(scores, [1.0] * 7), drawn(scores, [1.0] * 7)
    assert {kind: figure.files for kind, figure in one.items()} == {
        kind: figure.files for kind, figure in other.items()
    }
    assert b"<dc:date>" not in b"".join(svg for figure in one.values() for _, svg in figure.files)


def test_names_stay_text_and_pages_stay_well_formed():
    cells = {(name, "m", "high"): values for name, values in zip(HOSTILE, cells_of(5).values(), strict=True)}
    cells[("plain", "m", "low")] = np.ones((12, 3))
    tasks = [f"{name} {index}" for index, name in enumerate([*HOSTILE, *"abcdefg"])]
    for kind, figure in drawn(dataset(cells, tasks=tasks), [0.5] * 6).items():
        for _, svg in figure.files:
            ET.fromstring(svg)
            assert b"\xe2\x80\xae" not in svg, kind
            assert not re.search(rb"<script|href=\"http", svg), kind
    shown = " ".join(texts(drawn(dataset(cells, tasks=tasks))["leaderboard-intervals"]))
    assert "$x_1^2$ <b>&amp;" in shown
    assert "名前" in shown


def test_the_heat_map_names_every_task_and_cell_and_needs_six_cells():
    scores = dataset(cells_of(6))
    shown = texts(drawn(scores)["task-heat-map"])
    assert {*scores.tasks, *(f"{cell.harness} / m / high" for cell in scores.cells)} <= set(shown)
    few = drawn(dataset(cells_of(5)))["task-heat-map"]
    assert few.files == ()
    assert "from 6 cells on, and it has 5" in few.sentences[0]


def test_the_heat_map_holds_one_square_for_each_score():
    values = [[1.0]] * 3 + [[0.0]] * 5
    cells = {(f"h{i}", "m", "high"): np.roll(values, i, axis=0) for i in range(6)}
    ((_, svg),) = drawn(dataset(cells))["task-heat-map"].files
    squares = [path.get("d", "").count("z") for path in ET.fromstring(svg).iter() if path.tag.endswith("}path")]
    assert sorted(n for n in squares if n > 1) == [18, 30]


def test_a_narrow_lead_is_called_so_only_beside_its_verdict():
    values = np.zeros((80, 1))
    values[:8] = 1
    found = drawn(two(values, np.zeros((80, 1))))
    for kind in ("leaderboard-intervals", "paired-comparisons", "influence-curves"):
        words = " ".join(texts(found[kind])[:])
        assert "narrow" in words, kind
        for text in texts(found[kind]):
            assert "narrow" not in text or re.search("better|narrow ones first|lead narrow", text), (kind, text)


def test_no_significant_comparison_has_no_curve():
    figure = drawn(two(np.eye(8), np.eye(8)))["influence-curves"]
    assert figure.files == ()
    assert "no comparison of one factor is significant" in figure.sentences[0]


def test_curves_are_capped_and_the_note_counts_them():
    cells = {(f"h{i}", "m", "high"): np.full((20, 1), float(i < 4)) for i in range(8)}
    words = texts(drawn(dataset(cells))["influence-curves"])
    assert any("6 of 16 significant comparisons" in text for text in words)


def test_many_comparisons_go_on_to_further_pages():
    figure = drawn(dataset(cells_of(10)))["paired-comparisons"]
    assert [name for name, _ in figure.files] == ["d-paired-comparisons.svg", "d-paired-comparisons-page-2.svg"]
    assert any("page 2 of 2: rows 41 to 45 of 45" in text for text in texts(figure))


def test_a_cell_without_a_cost_is_named_not_drawn_at_0():
    scores = dataset(cells_of(3))
    figure = drawn(scores, [0.2, NAN, 0.1])["score-against-cost"]
    assert any("h01/m/high" in sentence for sentence in figure.sentences)
    assert not any("h01/m/high" in text for text in texts(figure))
    assert drawn(scores)["score-against-cost"].files == ()


@pytest.mark.parametrize(
    ("costs", "scores", "kept"),
    [
        ([1, 2, 3], [0.1, 0.3, 0.2], [0, 1]),
        ([2, 1, 1], [0.5, 0.5, 0.4], [1]),
        ([1, 1], [0.3, 0.3], [0]),
        ([3, 2, 1], [0.9, 0.5, 0.1], [2, 1, 0]),
    ],
)
def test_the_frontier_holds_what_no_cell_beats_in_both(costs, scores, kept):
    assert frontier(costs, scores) == kept
