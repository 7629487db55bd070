"""Names and order of the promised columns, against a list that is written down apart from the code."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from shellbench_lib.columns import TABLES, names

GOLDEN = Path(__file__).parent / "golden" / "columns.csv"


def promised():
    found = defaultdict(list)
    with GOLDEN.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found[row["file"]].append((int(row["position"]), row["column"], row["origin"]))
    return found


@pytest.mark.parametrize("file", promised())
def test_a_table_has_the_promised_columns_in_their_order(file):
    positions, expected, origins = zip(*promised()[file], strict=True)
    assert list(positions) == list(range(1, len(positions) + 1))
    assert names(TABLES[file]) == list(expected)
    assert [column.origin for column in TABLES[file]] == list(origins)


@pytest.mark.parametrize("file", TABLES)
def test_new_columns_stand_behind_upstreams_and_no_name_twice(file):
    origins = [column.origin for column in TABLES[file]]
    assert origins == sorted(origins, key=["upstream", "new"].index)
    assert len(set(names(TABLES[file]))) == len(TABLES[file])


@pytest.mark.parametrize("file", TABLES)
def test_every_column_says_what_it_means_and_every_number_its_unit(file):
    for column in TABLES[file]:
        assert column.meaning.endswith("."), column.name
        assert bool(column.unit) == (column.type in {"integer", "number"}), column.name
