"""Tasks in this process and in others: the same outcomes, progress, mistakes and ends."""

from __future__ import annotations

import os

import pytest
from deadly import Sum

from marsyard.errors import InputError
from marsyard.executors import Workers, make_executor, run_members


@pytest.mark.parametrize("jobs", [1, 2])
def test_outcomes_in_the_order_of_the_tasks_wherever_they_run(jobs):
    heard, done = [], []
    with Workers(jobs, 5) as workers:
        for first in (0, 5):  # the same processes for both
            tasks = [Sum(first + k) for k in range(5)]
            found = workers.run(tasks, heard.append, lambda k, o: done.append((k, o.number)))
            assert [o.number for o in found] == [first + k for k in range(5)]
    assert sorted(done) == [(k, first + k) for k in range(5) for first in (0, 5)]
    assert all(0 <= t <= 5 for t in heard)
    assert (jobs == 1) == all(o.process == os.getpid() for o in found)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_mistake_in_a_task_reaches_the_caller(jobs):
    with pytest.raises(InputError, match="task 1 is wrong"), Workers(jobs, 3) as workers:
        workers.run([Sum(0), Sum(1, "raise"), Sum(2)], lambda t: None, lambda k, o: None)


def test_a_task_that_takes_its_processes_with_it_is_a_mistake_in_one_sentence():
    said = r"jobs: a run lost its process 2 times .*SIGKILL"
    with pytest.raises(InputError, match=said), Workers(2, 2) as workers:
        workers.run([Sum(0), Sum(1, "die")], lambda t: None, lambda k, o: None)


def test_stop_ends_what_is_under_way_and_begins_no_more():
    done = []
    with Workers(2, 2) as workers:
        tasks = [Sum(k) for k in range(20)]
        found = workers.run(tasks, lambda t: None, lambda k, o: done.append(k),
                            lambda: len(done) >= 3)  # fmt: skip
    assert 3 <= len(done) < 20
    assert [k for k, o in enumerate(found) if o is not None] == sorted(done)


def test_one_job_stays_in_this_process_unless_there_is_a_limit_of_time():
    class Work:
        time_limit = None

        def evaluate(self, task, tell):
            return task + 1

    executor = make_executor(Work(), 4, 1)
    found = []
    assert executor.words == "1 process" and run_members(executor, [(7, 1)], found.extend)
    assert found == [(7, 2)]
