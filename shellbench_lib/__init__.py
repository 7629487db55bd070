"""Reproducible reports on agent benchmarks: is a gap real, and which tasks make it?"""
