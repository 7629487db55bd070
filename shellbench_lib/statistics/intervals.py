"""How uncertain one mean is: standard errors for two questions, and intervals that hold near 0 and 1.

Standard errors (they answer different questions and keep their own names):
    fixed tasks: would this number come out again on these tasks? sqrt(sum_t s_t^2 / r_t) / T, with s_t^2 the variance
        (ddof 1) of the r_t repetitions of task t.
    task population: would it hold on other tasks of this kind? sd of the task means (ddof 1) / sqrt(T); Miller 2024,
        arXiv:2411.00640. Repetitions stay together in their task: attempts are never pooled.

Interval of a mean of scores in 0..1: Wilson's (1927) with an effective number of observations m(1-m)/SE^2, held
between the number of tasks and the number of trials, and the t quantile with T-1 degrees of freedom in place of the
normal one. Scores outside 0..1, and differences: the t interval. No interval from a single task.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import stats

from shellbench_lib.statistics.cells import FloatArray

POWER = 0.8  # of the minimum detectable effect
NAN = float("nan")
Method = Literal["wilson", "t", ""]


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; both ends NaN and no method where there is none."""

    low: float = NAN
    high: float = NAN
    method: Method = ""


@lru_cache(maxsize=4096)
def t_quantile(probability: float, degrees: float) -> float:
    """Return the quantile of Student's t; infinite degrees of freedom give the normal one."""
    return float(stats.t.ppf(probability, degrees))


def population_error(task_means: FloatArray) -> float:
    """Return sd(task means, ddof 1)/sqrt(T) of `(n_tasks,)` means without NaN; NaN for fewer than two tasks."""
    count = len(task_means)
    if count < 2:
        return NAN
    if task_means.min() == task_means.max():
        return 0.0
    centred = task_means - math.fsum(task_means.tolist()) / count
    return math.sqrt(math.fsum((centred**2).tolist()) / (count - 1) / count)


def fixed_task_error(scores: FloatArray) -> float:
    """Return the standard error for these very tasks.

    Args:
        scores: `(n_tasks, n_reps)`; NaN where a repetition does not count.

    Returns:
        NaN without a task, and where a task has fewer than two repetitions: its variance is unknown.
    """
    counts = np.sum(~np.isnan(scores), axis=1)
    if len(counts) == 0 or counts.min() < 2:
        return NAN
    variances = np.nanvar(scores, axis=1, ddof=1) / counts
    return math.sqrt(math.fsum(variances.tolist())) / len(counts)


def t_interval(mean: float, error: float, n_tasks: int, *, confidence_level: float) -> Interval:
    """Return mean -+ t * error with n_tasks - 1 degrees of freedom; none where the error is unknown or 0.

    An error of 0 means that all values are equal, which says nothing about how far the next one may lie.
    """
    if n_tasks < 2 or not error > 0:
        return Interval()
    reach = t_quantile(0.5 + confidence_level / 2, n_tasks - 1) * error
    return Interval(mean - reach, mean + reach, "t")


def wilson_interval(mean: float, observations: float, quantile: float) -> Interval:
    """Return Wilson's interval of a mean in 0..1 over (an effective number of) observations.

    Args:
        mean: the rate.
        observations: number of observations, not necessarily whole.
        quantile: 1.96 for the usual 95 % interval.
    """
    square = quantile**2
    centre = (mean + square / (2 * observations)) / (1 + square / observations)
    spread = math.sqrt(mean * (1 - mean) / observations + square / (4 * observations**2))
    reach = spread * quantile / (1 + square / observations)
    return Interval(max(0.0, min(centre - reach, mean)), min(1.0, max(centre + reach, mean)), "wilson")


def score_interval(task_means: FloatArray, n_trials: int, *, confidence_level: float) -> Interval:
    """Return the interval of the mean of task means for the population of tasks.

    Args:
        task_means: `(n_tasks,)` without NaN.
        n_trials: scored trials behind them.
        confidence_level: nominal coverage.
    """
    count = len(task_means)
    if count < 2:
        return Interval()
    mean, error = math.fsum(task_means.tolist()) / count, population_error(task_means)
    if task_means.min() < 0 or task_means.max() > 1:
        return t_interval(mean, error, count, confidence_level=confidence_level)
    observations = effective_observations(mean, error, count, n_trials)
    return wilson_interval(mean, observations, t_quantile(0.5 + confidence_level / 2, count - 1))


def effective_observations(mean: float, error: float, n_tasks: int, n_trials: int) -> float:
    """Return m(1-m)/SE^2 held between tasks and trials; all tasks at 0 or all at 1 count once each."""
    information = mean * (1 - mean)
    if information <= 0:
        return float(n_tasks)
    return min(max(information / error**2, n_tasks), n_trials) if error > 0 else float(n_trials)


def minimum_detectable_effect(error: float, degrees: float, *, alpha: float, power: float = POWER) -> float:
    """Return the true difference found with the given power: (t_{1-alpha/2} + t_power) * error; NaN without an error.

    Bloom 1995; Miller 2024 with normal quantiles. `degrees` of freedom: tasks less 1.
    """
    if degrees < 1 or not error > 0:
        return NAN
    return (t_quantile(1 - alpha / 2, degrees) + t_quantile(power, degrees)) * error
