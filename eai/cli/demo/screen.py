"""What the demo shows: the story on standard output, progress on standard error."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from eai.cli.demo.asking import Answer, Citation, Closed, keeps_its_promise, withheld_from
from eai.cli.demo.proof import Proof
from eai.cli.demo.scenario import Person, Question, Scenario
from eai.cli.demo.seeded import Progress as Done
from eai.cli.demo.seeded import Seeded, unwatched

_WIDTH = 110
_LEVEL_STYLES = {
    "public": "green",
    "internal": "cyan",
    "confidential": "yellow",
    "restricted": "red",
    "secret": "bold red",
}
_NAMED_AT_MOST = 3
# A note is written in the language of its question, and so is what introduces it.
_MEANING = {"en": "What it means:", "fr": "Ce que cela veut dire\u00a0:"}
_MARK = "*"


class Screen:
    """Where everything is said."""

    def __init__(self) -> None:
        self._story = Console(highlight=False, soft_wrap=False)
        # A file has no width of its own, and a very wide terminal is hard to read.
        width = min(self._story.width, _WIDTH) if self._story.is_terminal else _WIDTH
        self._story.width = width
        self._aside = Console(stderr=True, highlight=False)

    def say(self, sentence: str = "", style: str = "") -> None:
        """One paragraph of the story."""
        self._print(Text(sentence, style=style))

    def heading(self, text: str) -> None:
        """A line that begins a part."""
        self.say()
        self.say(text, "bold")
        self.say("─" * min(len(text), self._story.width), "dim")

    def remark(self, sentence: str) -> None:
        """Something for whoever watches, which is no part of the story."""
        self._aside.print(Text(f"eai: {sentence}"), style="dim")

    @contextmanager
    def waiting(self, sentence: str) -> Iterator[None]:
        """Show that something takes its time."""
        if self._aside.is_terminal:
            with self._aside.status(sentence):
                yield
        else:
            self.remark(sentence)
            yield

    @contextmanager
    def counting(self, what: str) -> Iterator[Done]:
        """A bar that follows how many are done."""
        if not self._aside.is_terminal:
            self.remark(f"{what} …")
            yield unwatched
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self._aside, transient=True) as bar:
            task = bar.add_task(what)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    def seeded(self, scenario: Scenario, seeded: Seeded, seconds: float) -> None:
        """What was put in."""
        model = seeded.embedding_model
        known = (
            ""
            if model != "local-hash-256"
            else " (it compares spelling only: no semantic model is installed)"
        )
        self.say(
            f"{len(seeded.documents)} documents went in over HTTP in {seconds:.1f} s: "
            f"{seeded.passages} passages in {seeded.alias}, embedded on this machine by {model}{known}."
        )
        levels = [source.level.value for source in seeded.documents.values()]
        counts = ", ".join(f"{levels.count(level)} {level}" for level in _LEVEL_STYLES if level in levels)
        self.say(f"Their levels: {counts}.")
        for reason in seeded.left_out:
            self.say(f"  left out: {reason}", "yellow")
        named = {name for question in scenario.questions for name in question.by}
        for person in scenario.people:
            if person.name in named:
                self.say(f"  {described(person)}")

    def question(self, question: Question, answers: Sequence[Answer]) -> None:
        """The same question and what each was shown, then why the lists differ."""
        self.heading(question.text)
        for answer in answers:
            others = [other for other in answers if other is not answer]
            self._answer(answer, others)
        self.say()
        for answer in answers:
            for other in answers:
                if other is not answer:
                    self.say(why(answer, other))
        if question.note and keeps_its_promise(question, answers):
            self.say()
            self.say(f"{_MEANING[question.language]} {question.note}")

    def closed(self, closed: Closed) -> None:
        """That knowing an id opens nothing."""
        self.say()
        self.say(
            f"{closed.person.name} opens a passage of “{closed.title}” by its id: "
            f"{closed.status} {closed.code}, the same answer as for an id that does not exist."
        )

    def proof(self, proof: Proof) -> None:
        """What the audit holds, and that it is checked."""
        self.heading("Audit")
        self.say(f"GET /v1/audit/verify: valid, {proof.events} entries in one hash chain.")
        anchored = (
            f"signed checkpoints vouch for the first {proof.anchored_seq}"
            if proof.anchored_seq
            else ("no signed checkpoint was anchored yet, so only the chain vouches for it")
        )
        self.say(
            f"Offline, from the export alone: valid, {proof.offline_events} entries; {anchored}. "
            "These are more than before because verifying and exporting are entries themselves."
        )
        self.say(
            f"The same export with the decision of entry {proof.forged_seq} turned: NOT VALID, "
            f"the verifier names entry {proof.forged_at}."
        )

    def _print(self, renderable: RenderableType) -> None:
        if self._story.is_terminal:
            self._story.print(renderable)
            return
        # Columns are filled up with spaces, which nobody wants in a file.
        with self._story.capture() as captured:
            self._story.print(renderable)
        for line in captured.get().splitlines():
            self._story.out(line.rstrip())

    def _answer(self, answer: Answer, others: Sequence[Answer]) -> None:
        self.say()
        self.say(f"{described(answer.person)}: {_count(len(answer.citations), 'passage')}", "bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(justify="right", min_width=4)
        table.add_column()
        table.add_column(min_width=max(map(len, _LEVEL_STYLES)))
        table.add_column(overflow="fold")
        for rank, citation in enumerate(answer.citations, start=1):
            is_theirs_alone = any(not citation.source.is_open_to(other.person) for other in others)
            table.add_row(
                f"{_MARK} {rank}" if is_theirs_alone else f"{rank}",
                f"{citation.score:.2f}",
                Text(citation.level, style=_LEVEL_STYLES[citation.level]),
                _passage(citation, is_theirs_alone),
            )
        self._print(table)
        if marked := [other.person.name for other in others if withheld_from(other, answer)]:
            self.say(f"  {_MARK} not readable for {_listed(marked)}", "dim")
        for warning in answer.warnings:
            self.say(f"warning: {warning}", "yellow")


def described(person: Person) -> str:
    """A person, with the rights that matter."""
    groups = f", in {_listed(person.groups)}" if person.groups else ""
    return f"{person.name}, {person.job} (clearance {person.clearance}{groups})"


def why(answer: Answer, other: Answer) -> str:
    """One sentence: what the person of `answer` is not shown of `other`, and by which rule."""
    name, withheld = answer.person.name, withheld_from(answer, other)
    if not withheld:
        return f"{name} may read everything that {other.person.name} was shown."
    reasons = "; ".join(
        f"“{c.source.title}” ({_reason(answer.person, c)})" for c in withheld[:_NAMED_AT_MOST]
    )
    more = len(withheld) - _NAMED_AT_MOST
    rest = f"; and {_count(more, 'other document')}" if more > 0 else ""
    return f"{name} is not shown {reasons}{rest}."


def _reason(person: Person, citation: Citation) -> str:
    source, reasons = citation.source, []
    if source.level.exceeds(person.clearance):
        reasons.append(f"{source.level}, above the clearance {person.clearance}")
    if source.readers is not None and set(source.readers).isdisjoint(person.groups):
        reasons.append(f"for {_listed(source.readers)} only")
    return ", ".join(reasons)


def _passage(citation: Citation, is_theirs_alone: bool) -> Text:
    text = Text()
    text.append(citation.source.title, style="bold" if is_theirs_alone else "")
    text.append(f"\nversion {citation.version}, characters {citation.start}-{citation.end}: ", style="dim")
    text.append(f"“{citation.excerpt}”", style="italic")
    return text


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
