"""Figures as deterministic SVG: scores in, bytes out. They compute no statistic but what a box shows."""
