"""Readers: a place on disk becomes run and trial records. They know no statistics."""
