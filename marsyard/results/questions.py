"""Questions about a run, answered by numbers from its results.

The answer is "yes" when every bound is kept, "no" when one is not, "measured" where the numbers
have no bounds, and "see note" where there are none. It is "not computed" where nothing speaks
against it but a number is missing, and "not judged" where a run was made shorter than the question
needs. An answer is no verdict on the run: a docking that fails is a result, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from marsyard.drawing.page import badge, joined, quantity, soft, stacked, strong, table
from marsyard.drawing.sheet import unit_text
from marsyard.errors import InputError
from marsyard.results.checks import NOT_JUDGED, measure_in, measure_unit, within
from marsyard.scenario.report_schema import Bound, Question
from marsyard.units import dimension_of

if TYPE_CHECKING:
    from rich.text import Text

_DIGITS = 4
_CLASS = {"yes": "pass", "no": "fail"}
_COLOUR = {"yes": "green", "no": "bold red"}


@dataclass(frozen=True)
class Answered:
    """One number of an answer; `kept` is None where there is no bound or no number."""

    bound: Bound
    computed: float | None
    unit: str
    reason: str
    kept: bool | None

    @property
    def words(self) -> str:
        """'locking force 100.2 N (90 to 110 N)'."""
        text = f"{self.bound.name} {quantity(self.computed, self.unit, _DIGITS)}"
        if self.computed is None:
            text += f" ({self.reason})"
        elif limits := _limits(self.bound, self.unit):
            text += f" ({limits})"
        return text


@dataclass(frozen=True)
class Answer:
    """A question with its answer and the supporting numbers."""

    question: str
    answer: str
    numbers: tuple[Answered, ...]
    note: str


def check_questions(ds: xr.Dataset, questions: Iterable[Question]) -> None:
    """Refuse questions about what a run does not record, or in units of something else.

    `ds` is the data of its first record: all variables are there before the first step.
    """
    for k, question in enumerate(questions):
        for j, bound in enumerate(question.measures):
            field = f"report.questions.{k}.measures.{j}"
            try:
                own = measure_unit(ds, bound)
            except InputError as error:
                raise InputError(f"{field}.of: {error}") from None
            wanted, known = dimension_of(bound.unit), dimension_of(own)
            if bound.unit and own and wanted != known:
                raise InputError(
                    f"{field}.unit: '{bound.unit}' is not a unit of {bound.of}, which is in '{own}'"
                )


def answer_all(
    ds: xr.Dataset, questions: Iterable[Question], shortened: bool = False
) -> tuple[Answer, ...]:
    """All answers in order; of a run that was `shortened` from what it still holds."""
    return tuple(_answer(ds, question, shortened) for question in questions)


def _answer(ds: xr.Dataset, question: Question, shortened: bool) -> Answer:
    numbers = tuple(_number(ds, bound, shortened) for bound in question.measures)
    return Answer(question.question, _word(numbers), numbers, question.note or "")


def _number(ds: xr.Dataset, bound: Bound, shortened: bool) -> Answered:
    try:
        computed, unit, reason = measure_in(ds, bound, bound.unit)
    except InputError as error:
        computed, unit, reason = None, bound.unit, str(error)
    end = float(ds["time"].values[-1])
    if shortened and not within(bound, computed, end):
        computed, reason = None, NOT_JUDGED
    return Answered(bound, computed, unit_text(unit), reason, _kept(bound, computed))


def _kept(bound: Bound, computed: float | None) -> bool | None:
    if computed is None or (bound.at_least is None and bound.at_most is None):
        return None
    low = bound.at_least is None or computed >= bound.at_least
    return low and (bound.at_most is None or computed <= bound.at_most)


def _word(numbers: Sequence[Answered]) -> str:
    if not numbers:
        return "see note"
    if any(n.kept is False for n in numbers):
        return "no"
    missing = [n.reason for n in numbers if n.computed is None]
    if missing:
        return NOT_JUDGED if NOT_JUDGED in missing else "not computed"
    return "yes" if any(n.kept for n in numbers) else "measured"


def _limits(bound: Bound, unit: str) -> str:
    low, high = bound.at_least, bound.at_most
    if low is not None and high is not None:
        return f"{quantity(low, '', _DIGITS)} to {quantity(high, unit, _DIGITS)}"
    if low is not None:
        return f"at least {quantity(low, unit, _DIGITS)}"
    return f"at most {quantity(high, unit, _DIGITS)}" if high is not None else ""


# --- in words


def questions_section(answers: Sequence[Answer]) -> str:
    """The body of the section in the report; nothing where nothing was asked."""
    if not answers:
        return ""
    rows = [
        (stacked(strong(a.question), *_numbers(a)), badge(a.answer, _CLASS.get(a.answer, "open")))
        for a in answers
    ]
    return table((), rows, 2, id="questions")


def _numbers(answer: Answer) -> Iterator[str]:
    """The numbers that speak for an answer, and its note."""
    for n in answer.numbers:
        mark = {True: "✓ ", False: "✗ ", None: ""}[n.kept]
        source = soft(n.bound.source) if n.bound.source else ""
        yield joined(f"{mark}{n.words} ", source)
    if answer.note:
        yield soft(" ".join(answer.note.split()))


def questions_text(answers: Sequence[Answer]) -> Text:
    """The same for the terminal."""
    from rich.text import Text

    text = Text()
    for a in answers:
        text.append(f"{a.question} ").append(a.answer, style=_COLOUR.get(a.answer, "yellow"))
        for n in a.numbers:
            text.append(f"\n  {n.words}", style="" if n.kept is not False else "red")
        if a.note:
            text.append(f"\n  {' '.join(a.note.split())}", style="dim")
        text.append("\n")
    text.rstrip()
    return text
