"""Small datasets as arrays, for the tests of the statistics."""

import numpy as np

from shellbench_lib.statistics.cells import Cell, DatasetScores


def dataset(cells, *, tasks=None, attempted=None, key="rev:8"):
    """A dataset of {(harness, model, effort): rewards (n_tasks, n_reps)}; NaN is an attempt without a reward unless
    `attempted` says otherwise. Cells with fewer repetitions are padded."""
    arrays = {names: np.atleast_2d(np.asarray(values, dtype=float)) for names, values in cells.items()}
    reps = max(values.shape[1] for values in arrays.values())
    count = len(next(iter(arrays.values())))
    rewards = np.full((len(arrays), count, reps), np.nan)
    tried = np.zeros(rewards.shape, dtype=bool)
    for index, values in enumerate(arrays.values()):
        rewards[index, :, : values.shape[1]] = values
        tried[index, :, : values.shape[1]] = True
    if attempted is not None:
        tried &= np.asarray(attempted, dtype=bool)
    made = tuple(
        Cell(h, m, e, (m,), tuple(f"{h}-{m}-{e}-r{i + 1}" for i in range(arrays[h, m, e].shape[1])))
        for h, m, e in arrays
    )
    names = tuple(tasks or (f"task-{i:03d}" for i in range(count)))
    return DatasetScores(key, "rev", count, made, names, rewards, tried)


def two(left, right, **values):
    """Two harnesses `a` and `b` at one model and effort."""
    return dataset({("a", "m", "high"): left, ("b", "m", "high"): right}, **values)


def differences(values):
    """Two one-repetition cells whose task differences are the given ones (right is 0)."""
    return two([[v] for v in values], [[0.0]] * len(values))


def array_dataset(rewards, *, attempted=None):
    """A dataset of rewards `(n_cells, n_tasks, n_reps)`: harnesses h0, h1 ... at one model and effort."""
    rewards = np.asarray(rewards, dtype=float)
    tried = np.ones(rewards.shape, dtype=bool) if attempted is None else np.asarray(attempted, dtype=bool)
    cells = tuple(
        Cell(f"h{i}", "m", "high", ("m",), tuple(f"h{i}-r{r + 1}" for r in range(int(tried[i].any(axis=0).sum()))))
        for i in range(len(rewards))
    )
    tasks = tuple(f"task-{i:03d}" for i in range(rewards.shape[1]))
    return DatasetScores("rev:8", "rev", rewards.shape[1], cells, tasks, rewards, tried)
