"""Questions to a run: the answer follows from the numbers, and says what is missing."""

from __future__ import annotations

import io

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from marsyard.errors import InputError
from marsyard.results import answer_all, draw, questions_text
from marsyard.results.questions import check_questions, questions_section
from marsyard.scenario import validate
from marsyard.scenario.report_schema import Figure, Question

BASE = {"robot": {"name": "exomars_rt0448"}, "run": {"duration": 1}}


@pytest.fixture(scope="module")
def ramp():
    """x = t mm over ten seconds, a force that swings."""
    time = np.linspace(0, 10, 101)
    return xr.Dataset(
        {
            "x": ("time", time * 1e-3, {"units": "m", "long_name": "way"}),
            "f": ("time", 5 * np.sin(time), {"units": "N", "long_name": "force"}),
        },
        coords={"time": time},
    )


def way(**bounds):
    return {"name": "way", "of": "x", "take": "final", "unit": "mm", **bounds}


def asked(*measures, **more):
    return Question.model_validate({"question": "Well?", "measures": measures, **more})


@pytest.mark.parametrize(
    ("measures", "answer"),
    [
        ([way(at_most=11)], "yes"),
        ([way(at_least=10, at_most=10)], "yes"),
        ([way(at_most=9)], "no"),
        ([way(at_least=11)], "no"),
        ([way(at_most=11), way(at_least=11)], "no"),
        ([way()], "measured"),
        ([way(), way(at_most=11)], "yes"),
        ([way(at_most=11), {"name": "none", "of": "y"}], "not computed"),
        ([way(at_most=9), {"name": "none", "of": "y"}], "no"),
        ([way(at_most=11, unit="kg")], "not computed"),
    ],
)
def test_the_answer_follows_from_the_bounds(ramp, measures, answer):
    assert answer_all(ramp, [asked(*measures)])[0].answer == answer


def test_numbers_are_given_in_their_unit(ramp):
    (got,) = answer_all(ramp, [asked(way(at_most=11), note="one run only")])
    assert got.numbers[0].computed == pytest.approx(10.0)
    assert got.numbers[0].words == "way 10 mm (at most 11 mm)"
    (got,) = answer_all(ramp, [asked(way(at_least=1, at_most=11))])
    assert got.numbers[0].words == "way 10 mm (1 to 11 mm)"


def test_a_question_may_be_answered_by_words_alone(ramp):
    assert answer_all(ramp, [asked(note="see the study")])[0].answer == "see note"


def test_a_shortened_run_judges_what_it_holds(ramp):
    early = {"name": "early", "of": "x", "take": "max", "end": 3, "at_most": 1}
    both = [asked(way(at_most=11)), asked(early)]
    answers = answer_all(ramp.isel(time=slice(0, 51)), both, shortened=True)
    assert [a.answer for a in answers] == ["not judged", "yes"]


def test_page_and_terminal_say_the_same(ramp):
    given = [asked(way(at_most=9, source="a <b>")), asked(way(at_most=11), note="so & so")]
    answers = answer_all(ramp, given)
    page = questions_section(answers)
    assert "✗ way 10 mm (at most 9 mm)" in page and "✓ way 10 mm (at most 11 mm)" in page
    assert "a &lt;b&gt;" in page and "so &amp; so" in page
    assert page.count('verdict pass">yes') == 1 and page.count('verdict fail">no') == 1
    out = io.StringIO()
    Console(file=out, width=100).print(questions_text(answers))
    for said in ("Well? no", "Well? yes", "way 10 mm (at most 9 mm)", "so & so"):
        assert said in out.getvalue()
    assert questions_section(()) == ""


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"question": "Well?"}, "needs 'measures' or a 'note'"),
        ({"question": "Well?", "measures": [way(at_least=2, at_most=1)]}, "must not be above"),
        ({"question": "Well?", "measures": [{"of": "x"}]}, "name"),
    ],
)
def test_questions_that_cannot_be(question, says):
    with pytest.raises(InputError, match=says) as error:
        validate({**BASE, "report": {"questions": [question]}})
    assert "\n" not in str(error.value)


def test_panels_in_other_units(ramp):
    figure = Figure(title="t", panels=(("x",), ("f",)), units=("mm",))
    upper, lower = draw(ramp, figure).axes
    assert upper.get_ylabel() == "way [mm]" and lower.get_ylabel() == "force [N]"
    assert upper.get_lines()[0].get_ydata()[-1] == pytest.approx(10.0)
    with pytest.raises(InputError, match="'kg' is not a unit of x, which is in 'm'"):
        draw(ramp, figure.model_copy(update={"units": ("kg",)}))


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ({"name": "a", "of": "xx"}, r"report.questions.0.measures.0.of: .*'x'"),
        ({"name": "a", "of": "x", "unit": "kg"}, r"unit: 'kg' is not a unit of x, .* in 'm'"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused_before_the_run(ramp, bound, words):
    first = ramp.isel(time=[0])
    with pytest.raises(InputError, match=words):
        check_questions(first, [asked({"take": "max", **bound})])
    check_questions(first, [asked(way(at_most=1)), asked(note="see elsewhere")])
