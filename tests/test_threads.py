"""Pools of threads, buffers that threads borrow, and threads that wait."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from concurrent.futures import wait
from threading import Barrier, Event

import pytest

from tilebase.runtime import threads
from tilebase.runtime.threads import Pool, Spares, in_background, lines_of, map_in_threads


def test_results_come_in_the_order_of_the_items() -> None:
    def late(item: int) -> int:
        time.sleep(0.02 * (3 - item))
        return item

    assert map_in_threads(late, range(4), 4) == [0, 1, 2, 3]
    assert map_in_threads(late, (), 2) == []


def test_items_are_taken_a_few_before_the_result_that_is_awaited() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    with Pool(2) as pool:
        results = pool.map(lambda number: number, items(), ahead=3)
        assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
        assert len(taken) == 5 + 3
        assert list(results) == list(range(5, 20))


def test_the_first_error_wins_and_jobs_that_were_not_begun_are_left() -> None:
    done = []

    def work(item: int) -> None:
        if item == 1:
            raise ValueError("one")
        time.sleep(0.01)
        done.append(item)

    with pytest.raises(ValueError, match="one"), Pool(1) as pool:
        list(pool.map(work, range(100)))
    assert len(done) < 10


@pytest.mark.parametrize("number", [1, 2])
def test_a_job_is_done_beside_a_block_which_waits_for_it(number: int) -> None:
    done: list[str] = []

    def job() -> None:
        time.sleep(0.02)
        done.append("job")

    def failing() -> None:
        raise ValueError("job")

    with Pool(number) as pool:
        with pool.beside(job):
            done.append("block")
        assert sorted(done) == ["block", "job"]
        with pytest.raises(ValueError, match="job"), pool.beside(failing):
            pass
        done.clear()
        with pytest.raises(KeyError), pool.beside(job):
            raise KeyError
        assert done == ["job"], "it was waited for"


def test_all_buffers_are_worked_at_the_same_time() -> None:
    together = Barrier(3)

    def work(buffer: list[int], _: Event) -> int:
        together.wait(10)
        buffer.append(1)
        return len(buffer)

    with Pool(3) as pool:
        assert pool.together(work, [[], [0], []]) == [1, 2, 1]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_or_ctrl_c_the_others_stop_and_are_awaited(error, monkeypatch) -> None:
    ended = []
    monkeypatch.setattr(threads, "TELL_SECONDS", 0.01)

    def work(number: int, stop: Event) -> None:
        if number == 0 and error is ValueError:
            raise ValueError("wrong")
        assert stop.wait(10)
        ended.append(number)

    def tell() -> None:
        if error is KeyboardInterrupt:
            raise KeyboardInterrupt

    with Pool(3) as pool:
        with pytest.raises(error):
            pool.together(work, range(3), tell)
        assert set(ended) >= {1, 2}
        assert list(pool.map(abs, [-1])) == [1], "the pool goes on"


def test_no_two_threads_have_the_same_buffer() -> None:
    made: list[list[int]] = []

    def make() -> list[int]:
        made.append([])
        return made[-1]

    spares = Spares(make)
    used: set[int] = set()

    def borrow(_: int) -> bool:
        with spares.one() as buffer:
            alone = id(buffer) not in used
            used.add(id(buffer))
            time.sleep(0.002)
            used.remove(id(buffer))
            return alone

    assert all(map_in_threads(borrow, range(20), 4))
    assert len(made) <= 4


def test_a_call_in_the_background_has_a_result_or_an_error() -> None:
    assert in_background(lambda: 5).result(10) == 5
    failed = in_background(lambda: 1 // 0)
    wait([failed])
    assert isinstance(failed.exception(), ZeroDivisionError)


def test_lines_of_a_stream_end_with_an_empty_one() -> None:
    lines = lines_of(io.BytesIO(b"one\ntwo"))
    assert [lines.get(timeout=10) for _ in range(3)] == [b"one\n", b"two", b""]
