"""How a condition is named: the experiment key, the dataset key, the order of efforts and the label of a cell."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

UNKNOWN_REVISION = "unknown-revision"
UNKNOWN_COUNT = "unknown-count"
EFFORT_ORDER = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
EXPERIMENT_FIELDS = (
    "harness", "harness_version", "tool_mode", "model_slug", "model_id", "model_provider", "reasoning_effort",
    "judge_model_id", "judge_reasoning_effort", "task_revision", "task_suite",
)  # fmt: skip
# A field that separates cells belongs to the harness, to the model, or to what was measured at all.
HARNESS_FIELDS = frozenset({"harness_version", "tool_mode"})
MODEL_FIELDS = frozenset({"model_id", "model_provider"})
DATASET_FIELDS = frozenset({"judge_model_id", "judge_reasoning_effort", "task_suite", "task_set_sha256"})
SPLIT_FIELDS = HARNESS_FIELDS | MODEL_FIELDS | DATASET_FIELDS
SUFFIX_LENGTH = 8
_REPETITION_SUFFIX = re.compile(r"(?:^|[-_])(?:repetition|repeat|rep|r)[-_]?([0-9]{1,9})$", re.IGNORECASE)
_ENCODED = re.compile("[%;=\x00-\x1f\x7f-\x9f]")


def percent_encode(value: str) -> str:
    """Return the value with `%`, `;`, `=` and control characters as the percent-encoded bytes of their UTF-8 form."""
    return _ENCODED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), value)


def experiment_key(values: Sequence[str], expected_task_count: int, task_set_sha256: str) -> str:
    """Return the full condition of a run as one ordered text; equal keys mean equal conditions.

    Args:
        values: the values of `EXPERIMENT_FIELDS`, in that order; absent is empty.
        expected_task_count: tasks the run was planned to attempt.
        task_set_sha256: digest of the declared task list; empty where none is declared.
    """
    parts = [f"{name}={percent_encode(value)}" for name, value in zip(EXPERIMENT_FIELDS, values, strict=True)]
    return ";".join([*parts, f"expected_task_count={expected_task_count}", f"task_set_sha256={task_set_sha256}"])


def split_repetition(run_label: str, model_slug: str) -> tuple[str, int | None]:
    """Return a run label without its repetition suffix, and the repetition that the suffix names.

    The suffix is `r`, `rep`, `repeat` or `repetition` with digits at the very end. A label that ends with the model's
    own name has none: the `r1` of a model called `deepseek-r1` is no repetition.
    """
    match = _REPETITION_SUFFIX.search(run_label)
    if match is None or (model_slug and run_label.endswith(model_slug)):
        return run_label, None
    return run_label[: match.start()] or run_label, int(match.group(1))


def task_set_digest(paths: Iterable[str]) -> str:
    """Return the SHA-256 of a task list, whatever its order."""
    return hashlib.sha256("\n".join(sorted(set(paths))).encode("utf-8", "surrogatepass")).hexdigest()


def dataset_keys(rows: Iterable[tuple[str, int | None, str]]) -> dict[tuple[str, int | None, str], str]:
    """Name the dataset of every (task revision, task count, task set digest) that occurs.

    The key is `<revision>:<count>`. Where one revision and count stand with several digests, each of them is a
    different set of tasks and gets the digest's first characters as a suffix. A run that declares no task list keeps
    the plain key. A task count that is not known (an export without one) is named so.
    """
    rows = set(rows)
    digests: dict[tuple[str, int | None], set[str]] = defaultdict(set)
    for revision, count, digest in rows:
        if digest:
            digests[revision, count].add(digest)
    keys = {}
    for revision, count, digest in rows:
        key = f"{revision or UNKNOWN_REVISION}:{UNKNOWN_COUNT if count is None else count}"
        if digest and len(digests[revision, count]) > 1:
            key += f":{digest[:SUFFIX_LENGTH]}"
        keys[revision, count, digest] = key
    return keys


def normal_effort(effort: str) -> str:
    """Return the effort as it is compared: trimmed, in lower case."""
    return effort.strip().lower()


def effort_rank(effort: str) -> tuple[int, str]:
    """Return the sort key of a normalised effort: known levels in their order, all others after them by name."""
    if effort in EFFORT_ORDER:
        return EFFORT_ORDER.index(effort), ""
    return len(EFFORT_ORDER), effort


def separated(name: str, values: Mapping[str, str], fields: Iterable[str]) -> str:
    """Return a name with the separating fields in brackets behind it, `name [field=value, ...]`."""
    parts = [f"{field}={values[field]}" for field in sorted(fields)]
    return f"{name} [{', '.join(parts)}]" if parts else name


def cell_names(values: Mapping[str, str], split_by: Collection[str]) -> tuple[str, str, str]:
    """Return harness, model and effort of the cell that a run belongs to, separating fields in brackets.

    Args:
        values: the condition of the run by field name.
        split_by: extra fields that separate cells; those of the dataset are `dataset_name`'s.
    """
    return (
        separated(values["harness"], values, HARNESS_FIELDS.intersection(split_by)),
        separated(values["model_slug"], values, MODEL_FIELDS.intersection(split_by)),
        normal_effort(values["reasoning_effort"]),
    )


def dataset_name(key: str, values: Mapping[str, str], split_by: Collection[str]) -> str:
    """Return the dataset key with the separating fields that decide what was measured (judge, suite) behind it."""
    return separated(key, values, DATASET_FIELDS.intersection(split_by))


def cell_label(harness: str, model_slug: str, effort: str) -> str:
    """Return the label of a cell, `harness/model_slug/reasoning_effort`.

    A `/` in the harness or the effort is percent-encoded, so that two cells never share a label.
    """
    return f"{harness.replace('/', '%2F')}/{model_slug}/{effort.replace('/', '%2F')}"
