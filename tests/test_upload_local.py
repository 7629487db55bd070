"""A stretch of a file as a request's body: the right bytes, again after a rewind, and never after the run has ended."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upload_files import MIB, noise, pinned

from shellbench_lib.upload.local import ChangedError, FileSlice, Stopped, check_part, opened


def memory_file(data: bytes) -> int:
    descriptor = os.memfd_create("data")
    os.write(descriptor, data)
    return descriptor


@given(
    st.binary(min_size=1, max_size=300),
    st.data(),
    st.lists(st.one_of(st.integers(1, 80), st.tuples(st.integers(-50, 350), st.sampled_from([0, 1, 2]))), max_size=12),
)
def test_it_reads_like_the_bytes_it_stands_for_and_progress_is_where_it_is(data, draw, steps):
    offset = draw.draw(st.integers(0, len(data) - 1))
    size = draw.draw(st.integers(1, len(data) - offset))
    expected, position, heard = data[offset : offset + size], 0, []
    descriptor = memory_file(data)
    try:
        body = FileSlice(descriptor, offset=offset, size=size, advance=heard.append, stop=threading.Event())
        for step in steps:
            if isinstance(step, int):
                assert body.read(step) == expected[position : position + step]
                position = min(size, position + step)
            else:
                base = {0: 0, 1: position, 2: size}[step[1]]
                position = max(0, min(size, base + step[0]))
                assert body.seek(*step) == position
            assert (body.tell(), sum(heard)) == (position, position)
        assert len(body) == size
    finally:
        os.close(descriptor)


def test_a_run_that_ends_breaks_off_its_requests_and_no_retry_can_swallow_it():
    stop = threading.Event()
    descriptor = memory_file(b"data")
    body = FileSlice(descriptor, offset=0, size=4, advance=lambda _: None, stop=stop)
    assert body.read(2) == b"da"
    stop.set()
    with pytest.raises(Stopped):
        body.read(2)
    os.close(descriptor)
    assert not issubclass(Stopped, Exception)


def test_each_part_is_hashed_again_before_it_is_sent(tmp_path):
    file = pinned(tmp_path, "x.bin", noise(2 * MIB + 5), part_size=MIB)
    with opened(file) as descriptor:
        for number in range(3):
            check_part(descriptor, file, number)
        with file.path.open("r+b") as stream:
            stream.seek(2 * MIB)
            stream.write(b"other")
            stream.flush()
            check_part(descriptor, file, 0)
            with pytest.raises(ChangedError, match=r"x\.bin: the file changed between hashing and sending"):
                check_part(descriptor, file, 2)
        os.utime(file.path, ns=(0, file.identity.modified_ns))


def test_a_file_that_changes_while_it_is_open_is_noticed_at_the_end(tmp_path):
    file = pinned(tmp_path, "x.bin", b"before")
    with pytest.raises(ChangedError), opened(file):
        file.path.write_bytes(b"after!!")
