"""The link by itself: delay, loss, bursts, bandwidth, windows, order, conservation, copies."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from marsyard.errors import InputError
from marsyard.operations.link import (
    LIGHT,
    PRESETS,
    Duplex,
    Link,
    Passes,
    link_settings,
    preset,
)

END = 1e9


def run_through(link: Link, times, size: int = 10) -> list:
    """Send a message at each of `times`; all deliveries."""
    for t in times:
        link.send(b"x" * size, float(t))
    return link.receive(END)


def test_delay_is_light_time_and_gamma_jitter():
    link = Link(
        distance="384400 km", latency="10 ms", jitter="60 ms", jitter_shape=3, order="free", seed=1
    )
    got = run_through(link, np.arange(4000) * 0.01)
    extra = np.array([d.delay for d in got]) - 384_400e3 / LIGHT - 0.01
    assert len(got) == 4000
    assert extra.min() >= -1e-9
    assert stats.kstest(extra, stats.gamma(3, scale=0.02).cdf).pvalue > 0.01
    # and the test can tell it from another shape with the same mean
    assert stats.kstest(extra, stats.gamma(2, scale=0.03).cdf).pvalue < 1e-6


def test_statistics_are_those_of_the_deliveries():
    link = Link(latency=1.0, jitter=0.5, loss=0.2, order="free", seed=5)
    got = run_through(link, np.arange(500) * 0.1)
    delays = [d.delay for d in got]
    s = link.statistics()
    assert s.delivered == len(got) and s.bytes_delivered == 10 * len(got)
    assert s.delay_mean == pytest.approx(np.mean(delays))
    assert s.delay_deviation == pytest.approx(np.std(delays))
    assert (s.delay_least, s.delay_most) == (min(delays), max(delays))
    assert s.age == END - max(d.sent for d in got)


def test_independent_losses_are_binomial_and_without_memory():
    n, p = 8000, 0.07
    link = Link(loss="7 %", seed=2)
    arrived = {d.number for d in run_through(link, np.arange(n))}
    lost = np.array([k not in arrived for k in range(n)])
    assert stats.binomtest(int(lost.sum()), n, p).pvalue > 0.01
    # a loss after a loss is as likely as after a delivery
    after = int((lost[1:] & lost[:-1]).sum())
    assert stats.binomtest(after, int(lost[:-1].sum()), p).pvalue > 0.01


def test_fades_lose_in_bursts_of_geometric_length():
    n, gap, good, bad = 12000, 0.5, 20.0, 3.0
    link = Link(fades={"good": good, "bad": bad}, seed=3)
    arrived = {d.number for d in run_through(link, np.arange(n) * gap)}
    lost = np.array([k not in arrived for k in range(n)])
    # sampled chain: stays bad with 1 − q, so that bursts have the mean length 1/q
    rate = 1 / good + 1 / bad
    q = good / (good + bad) * (1 - math.exp(-rate * gap))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost.astype(int), [0]])))
    lengths = edges[1::2] - edges[::2]
    error = math.sqrt(1 - q) / q / math.sqrt(len(lengths))
    assert abs(lengths.mean() - 1 / q) < 2.6 * error
    # not those of independent losses with the same share, 1/(1 − share)
    assert lengths.mean() - 1 / (1 - lost.mean()) > 10 * error
    bins = np.arange(1, 9)
    seen = [int((lengths == k).sum()) for k in bins] + [int((lengths > 8).sum())]
    expected = [q * (1 - q) ** (k - 1) for k in bins] + [(1 - q) ** 8]
    assert stats.chisquare(seen, np.array(expected) * len(lengths)).pvalue > 0.01
    # share of time in the bad state; the variance of the mean counts the correlation
    share, r = bad / (good + bad), math.exp(-rate * gap)
    deviation = math.sqrt(share * (1 - share) / n * (1 + r) / (1 - r))
    assert abs(lost.mean() - share) < 2.6 * deviation


def test_bit_errors_lose_long_messages_more():
    for size in (10, 400):
        link = Link(bit_errors=1e-4, overhead="5 B", seed=4)
        n = 3000
        got = len(run_through(link, np.arange(n), size))
        assert stats.binomtest(got, n, (1 - 1e-4) ** (8 * (size + 5))).pvalue > 0.01


def test_overload_delays_grow_as_the_queue_does():
    # 100 bytes take 1 s and come every 0.8 s: the n-th waits 0.2 n
    link = Link(bandwidth="800 bit/s", latency=2.0)
    got = run_through(link, np.arange(50) * 0.8, 100)
    assert [d.delay for d in got] == pytest.approx([3.0 + 0.2 * n for n in range(50)])


def test_overhead_counts_as_bytes_on_the_way():
    link = Link(bandwidth="1 kbit/s", overhead="25 B")
    assert run_through(link, [0.0], 100)[0].delay == pytest.approx(1.0)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_random_arrivals_wait_as_in_an_m_d_1_queue(load):
    # Pollaczek and Khinchine: mean wait ρ T / (2 (1 − ρ)) for constant service T = 1 s
    n = 15000
    gaps = np.random.default_rng(11).exponential(1.0 / load, n)
    got = run_through(Link(bandwidth="80 bit/s"), np.cumsum(gaps))
    waits = np.array([d.delay - 1.0 for d in got])
    batches = waits[: n // 50 * 50].reshape(50, -1).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(50)
    expected = load / (2 * (1 - load))
    assert abs(waits.mean() - expected) < 2.6 * error
    assert error < 0.1 * expected
    assert waits.min() > -1e-6


def test_full_buffer_drops_the_newest_or_the_oldest():
    for rule, kept in (("drop_newest", [0, 1, 2]), ("drop_oldest", [0, 4, 5])):
        link = Link(bandwidth="80 bit/s", buffer="20 B", when_full=rule)
        for _ in range(6):
            link.send(b"x" * 10, 0.0)
        assert [d.number for d in link.receive(100.0)] == kept
        assert link.statistics().dropped == 3


def test_urgent_messages_jump_the_queue_and_find_room():
    for rule in ("drop_newest", "drop_oldest"):
        link = Link(bandwidth="80 bit/s", buffer="30 B", when_full=rule)
        for _ in range(6):
            link.send(b"x" * 10, 0.0)
        stop = link.send(b"y" * 10, 0.5, priority=3)
        for _ in range(6):
            link.send(b"x" * 10, 0.6)
        got = link.receive(100.0)
        # next after the one on the transmitter
        assert got[1].number == stop and got[1].arrived == pytest.approx(2.0)


def test_urgent_messages_are_first_when_a_window_opens():
    link = Link(bandwidth="80 bit/s", windows=[["100 s", "200 s"]])
    numbers = [link.send(b"x" * 10, t) for t in (0.0, 1.0)]
    stop = link.send(b"x" * 10, 50.0, priority=1)
    assert link.next_event() == 100.0
    got = link.receive(150.0)
    assert [d.number for d in got] == [stop, *numbers]
    assert [d.arrived for d in got] == pytest.approx([101.0, 102.0, 103.0])


def test_transmission_pauses_between_windows():
    link = Link(bandwidth="80 bit/s", windows=[[0, 2], [10, 11], [20, 30]], latency=5.0)
    link.send(b"x" * 45, 1.0)  # 4.5 s of open time: 1 + 1 + 2.5
    assert link.receive(100.0)[0].arrived == pytest.approx(27.5)
    link.send(b"x", 100.0)
    assert link.next_event() == math.inf and link.statistics().in_flight == 1


def test_windows_that_lose_lose_what_is_cut():
    link = Link(bandwidth="80 bit/s", windows=[[0, 2], [10, 20]], when_closed="lost")
    for t in (0.0, 1.5, 5.0, 9.5, 12.0):
        link.send(b"x" * 10, t)
    # begun at 0, 1.5 (cut at 2), 5, 9.5 (before the opening), 12
    assert [d.number for d in link.receive(30.0)] == [0, 4]
    s = link.statistics()
    assert (s.lost, s.lost_closed) == (3, 3)


def open_time(passes: Passes, t: float) -> float:
    """Open time from `start` until t, negative before it."""
    whole, rest = divmod(t - passes.start, passes.period)
    return whole * passes.open + min(rest, passes.open)


@settings(max_examples=100, deadline=None)
@given(
    period=st.floats(0.5, 10),
    share=st.floats(0.05, 1.0),
    start=st.floats(-20, 20),
    begin=st.floats(-50, 50),
    work=st.floats(0.01, 10),
)
def test_work_ends_when_so_much_open_time_has_passed(period, share, start, begin, work):
    passes = Passes(period=period, open=period * share, start=start)
    end = passes.work_ends(begin, work)
    assert open_time(passes, end) - open_time(passes, begin) == pytest.approx(work, abs=1e-6)
    # at the first such moment
    assert open_time(passes, end) > open_time(passes, end - 1e-4)
    # and the same from a list of windows
    spans = [(start + k * period, start + (k + share) * period) for k in range(-150, 1)]
    if share < 0.99 and begin < start - period and end < start:
        listed = link_settings(windows=spans)
        assert listed.work_ends(begin, work) == pytest.approx(end, abs=1e-6)


def test_order_is_kept_or_free_as_told():
    times = np.arange(300) * 0.01
    kept = Link(jitter=0.1, order="kept", seed=8)
    free = Link(jitter=0.1, order="free", seed=8)
    in_order = [d.number for d in run_through(kept, times)]
    mixed = [d.number for d in run_through(free, times)]
    assert in_order == list(range(300))
    assert mixed != in_order and sorted(mixed) == in_order
    arrivals = [d.arrived for d in run_through(Link(jitter=0.1, seed=8), times)]
    assert arrivals == sorted(arrivals)


LINKS = st.fixed_dictionaries(
    {
        "latency": st.sampled_from([0.0, 1.3]),
        "jitter": st.sampled_from([0.0, 0.3]),
        "loss": st.sampled_from([0.0, 0.3, 1.0]),
        "fades": st.sampled_from([None, {"good": 3.0, "bad": 2.0}]),
        "bandwidth": st.sampled_from([None, 100.0]),
        "buffer": st.sampled_from([None, 0.0, 25.0]),
        "when_full": st.sampled_from(["drop_newest", "drop_oldest"]),
        "windows": st.sampled_from([None, [(1.0, 4.0), (6.0, 9.0)], {"period": 3.0, "open": 1.0}]),
        "when_closed": st.sampled_from(["wait", "lost"]),
        "order": st.sampled_from(["kept", "free"]),
    }
)
#: gap before, size, priority
SENDS = st.lists(st.tuples(st.floats(0, 2), st.integers(0, 30), st.integers(0, 2)), max_size=25)


def check_balance(link: Link) -> None:
    s = link.statistics()
    assert s.sent == s.delivered + s.lost + s.dropped + s.in_flight
    assert s.waiting_bytes == sum(len(i.data) for i in link._s.waiting)


@settings(max_examples=150, deadline=None)
@given(fields=LINKS, sends=SENDS, seed=st.integers(0, 2**64 - 1), polls=st.integers(1, 7))
def test_nothing_is_made_or_vanishes_however_often_it_is_asked(fields, sends, seed, polls):
    asked, lazy = Link(**fields, seed=seed), Link(**fields, seed=seed)
    now, got = 0.0, []
    for gap, size, priority in sends:
        for k in range(polls):
            got += asked.receive(now + gap * k / polls)
            check_balance(asked)
        now += gap
        asked.send(bytes(size), now, priority)
        lazy.send(bytes(size), now, priority)
        check_balance(lazy)
    for t in np.linspace(now, now + 30, 40):
        got += asked.receive(float(t))
    got += asked.receive(END)
    late = lazy.receive(END)
    assert sorted(got, key=lambda d: d.number) == sorted(late, key=lambda d: d.number)
    assert [d.arrived for d in late] == sorted(d.arrived for d in late)
    assert all(d.delay >= fields["latency"] - 1e-9 for d in late)
    a, b = asked.statistics(), lazy.statistics()
    assert (a.sent, a.delivered, a.lost, a.dropped) == (b.sent, b.delivered, b.lost, b.dropped)


@settings(max_examples=60, deadline=None)
@given(fields=LINKS, sends=SENDS, cut=st.integers(0, 25), seed=st.integers(0, 99))
def test_copies_go_on_bit_by_bit(fields, sends, cut, seed):
    link = Link(**fields, seed=seed)
    now = 0.0
    for gap, size, priority in sends[:cut]:
        now += gap
        link.send(bytes(size), now, priority)
        link.receive(now)
    twins = [link.copy(), Link.load(link.save())]
    before = link.save()
    assert all(t.save() == before for t in twins)
    outs = []
    for one in (link, *twins):
        t, got = now, []
        for gap, size, priority in sends[cut:]:
            t += gap
            one.send(bytes(size), t, priority)
            got += one.receive(t)
        outs.append((got + one.receive(END), one.save(), dataclasses.astuple(one.statistics())))
    assert outs[0] == outs[1] == outs[2]


def test_a_copy_with_another_seed_has_another_future():
    link = Link(loss=0.5, latency=1.0, seed=1)
    link.send(b"a", 0.0)
    twin = link.copy(seed=2)
    times = np.arange(1, 60)
    assert [d.number for d in run_through(link, times)] != [
        d.number for d in run_through(twin, times)
    ]


@settings(max_examples=60, deadline=None)
@given(fields=LINKS, sends=SENDS)
def test_next_event_is_when_something_happens(fields, sends):
    """Asked only at its events, a link delivers each message at the moment of its arrival."""
    link = Link(**fields, seed=7)
    now = 0.0
    for gap, size, priority in sends:
        until = now + gap
        while (event := link.next_event()) <= until:
            assert all(d.arrived == event for d in link.receive(event))
        now = until
        link.send(bytes(size), now, priority)
        link.receive(now)
    for _ in range(200):
        event = link.next_event()
        if event == math.inf:
            break
        assert event > now or link.receive(event) is not None
        link.receive(event)
        now = event
    assert link.statistics().in_flight == 0 or event == math.inf


def test_discard_takes_back_what_waits():
    link = Link(bandwidth="8 bit/s")
    for priority in (0, 0, 3):
        link.send(b"x", 0.0, priority)
    assert link.discard(0.1, below=1) == 1
    check_balance(link)
    assert [d.number for d in link.receive(10.0)] == [0, 2]


def test_bit_rate_is_that_of_the_bandwidth():
    link = Link(bandwidth="1 kbit/s")
    for t in np.arange(0, 60, 0.05):
        link.send(bytes(25), float(t))
        link.receive(float(t))
    assert link.statistics().bit_rate == pytest.approx(1000, rel=0.03)


def test_presets():
    assert preset("moon").round_trip == pytest.approx(2.6, abs=1e-12)
    assert preset("mars_near").round_trip / 2 == pytest.approx(186.8, abs=0.1)
    assert preset("mars_far").round_trip / 2 / 60 == pytest.approx(22.24, abs=0.01)
    assert preset("local").round_trip == 0.0
    pole = preset("moon_south_pole").up.settings
    days = np.arange(0, 272.1222, 0.01)
    share = np.mean([pole.is_open(d * 86400) for d in days])
    assert share == pytest.approx(0.5, abs=0.01)
    changed = preset("moon", up={"loss": "50 %"})
    assert changed.up.settings.loss == 0.5 and changed.down.settings.loss == 0.001
    assert all(isinstance(preset(name), Duplex) for name in PRESETS)


def test_both_ways_have_their_own_luck_and_can_be_copied():
    pair = Duplex(link_settings(loss=0.5), link_settings(loss=0.5), seed=4)
    twins = [pair.copy(), Duplex.load(pair.save())]
    up = [d.number for d in run_through(pair.up, range(60))]
    down = [d.number for d in run_through(pair.down, range(60))]
    assert up != down
    for twin in twins:
        assert [d.number for d in run_through(twin.up, range(60))] == up


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"latency": "1 m"}, "unit of length"),
        ({"latency": -1}, "latency"),
        ({"los": 0.1}, "did you mean 'loss'"),
        ({"loss": "150 %"}, "loss"),
        ({"bandwidth": "2 kbps"}, "kbit/s"),
        ({"windows": [[0, 2], [1, 3]]}, "windows"),
        ({"windows": {"period": 1, "open": 2}}, "longer than period"),
        ({"when_full": "drop"}, "drop_newest"),
        ({"seed": -1}, "seed"),
    ],
)
def test_mistakes_are_said_in_one_sentence(fields, words):
    with pytest.raises(InputError) as error:
        Link(**fields)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_time_does_not_run_backwards_and_presets_have_names():
    link = Link()
    link.send(b"x", 5.0)
    with pytest.raises(InputError, match="backwards"):
        link.receive(4.0)
    with pytest.raises(InputError, match="not a time"):
        link.receive(math.nan)
    with pytest.raises(InputError, match="did you mean 'mars_near'"):
        preset("mars_neer")
    with pytest.raises(InputError, match="cannot be read"):
        Link.load(b"nonsense")
