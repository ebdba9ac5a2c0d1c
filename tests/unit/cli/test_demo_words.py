"""What the demo says about answers: excerpts, who misses what, and by which rule."""

import pytest

from eai.access.classification import Classification
from eai.cli.demo.asking import Answer, Citation, excerpt, keeps_its_promise, withheld_from
from eai.cli.demo.scenario import Person, Question, Source, sample
from eai.cli.demo.screen import described, why

NORA = Person("Nora", "adviser", "user", Classification.INTERNAL, ("desk",), ("member",))
BLANCHE = Person("Blanche", "finance", "user", Classification.RESTRICTED, ("finance", "board"), ("member",))


def source(file: str, level: Classification, readers: tuple[str, ...] | None = None) -> Source:
    return Source(file, file.title(), "text", "text/plain", level, level, readers)


def citation(of: Source, chunk: str = "1") -> Citation:
    return Citation(of, f"id of {of.file}", chunk, "1", 0, 10, of.level, 0.5, "text")


OPEN = source("open", Classification.INTERNAL)
BOARD = source("board paper", Classification.RESTRICTED, ("board",))
DESK = source("desk", Classification.INTERNAL, ("desk", "quality"))
LISTED = source("listed", Classification.PUBLIC, ("finance",))


def answer(person: Person, *sources: Source) -> Answer:
    return Answer(person, tuple(citation(each) for each in sources), ())


def test_a_person_is_described_with_the_rights_that_matter() -> None:
    assert described(BLANCHE) == "Blanche, finance (clearance restricted, in finance and board)"


def test_the_sentence_names_the_level_and_the_readers_that_exclude() -> None:
    nora, blanche = answer(NORA, OPEN, DESK), answer(BLANCHE, BOARD, OPEN, LISTED)
    assert why(nora, blanche) == (
        "Nora is not shown “Board Paper” (restricted, above the clearance internal, for board only); "
        "“Listed” (for finance only)."
    )
    assert why(blanche, nora) == "Blanche is not shown “Desk” (for desk and quality only)."


def test_who_misses_nothing_is_said_so() -> None:
    nora, blanche = answer(NORA, OPEN), answer(BLANCHE, BOARD, OPEN)
    assert why(blanche, nora) == "Blanche may read everything that Nora was shown."


def test_the_fourth_and_further_documents_are_counted() -> None:
    many = [source(f"paper {n}", Classification.SECRET) for n in range(5)]
    assert why(answer(NORA), answer(BLANCHE, *many)).endswith("; and 2 other documents.")


def test_a_document_withheld_is_named_once_by_its_best_passage() -> None:
    blanche = Answer(BLANCHE, (citation(BOARD, "1"), citation(OPEN), citation(BOARD, "2")), ())
    assert [found.chunk for found in withheld_from(answer(NORA), blanche)] == ["1"]


def test_a_promise_is_kept_only_when_everybody_found_their_files() -> None:
    question = Question(
        "?", ("Nora", "Blanche"), "note", {"Nora": frozenset({"open"}), "Blanche": frozenset()}
    )
    assert keeps_its_promise(question, [answer(NORA, OPEN, DESK), answer(BLANCHE)])
    assert not keeps_its_promise(question, [answer(NORA, DESK), answer(BLANCHE)])


@pytest.mark.parametrize(
    ("passage", "shown"),
    [
        ("Intro here. The yard is sold. Next.", "The yard is sold. Next."),
        ("# Who buys the yard\n\n**Nobody** wants it.", "Who buys the yard: Nobody wants it."),
        ("| yard | price |\n|---|---|\n| north | 3 |", "yard price: north 3"),
        ("nothing alike", "nothing alike"),
        ("yard " * 100, "yard " * 33 + "yard …"),
    ],
)
def test_an_excerpt_begins_where_the_question_is_met(passage: str, shown: str) -> None:
    assert excerpt(passage, "What of the yard?") == shown


def test_the_sample_expects_the_board_paper_to_be_blanches_alone() -> None:
    scenario = sample()
    paper = next(s for s in scenario.sources if s.file == "en/board-paper-corvanel.md")
    nora, blanche = (scenario.person(name) for name in scenario.questions[0].by)
    assert (paper.is_open_to(nora), paper.is_open_to(blanche)) == (False, True)
    assert [question.text[:8] for question in scenario.questions] == ["Who pays", "Qui paie"]
