from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import LEVELS, Classification
from eai.knowledge.chunks.rights_classes import ClassRights

PEOPLE = [f"user:{letter}" for letter in "abc"]
readers = st.none() | st.frozensets(st.sampled_from(PEOPLE))
levels = st.none() | st.sampled_from(LEVELS)
classes = st.builds(ClassRights, readers, readers, levels, levels, st.sampled_from(["direct", "wiki"]))


@given(classes, classes)
def test_a_digest_stands_for_exactly_these_rights(first: ClassRights, second: ClassRights) -> None:
    assert (first.digest == second.digest) == (first == second)


def test_nobody_and_everybody_are_two_classes() -> None:
    lists = [None, frozenset[str]()]
    digests = {ClassRights(a, b, None, None, "direct").digest for a, b in product(lists, lists)}
    assert len(digests) == 4


def test_only_classes_without_readers_are_counted() -> None:
    named = frozenset({"tenant:*"})
    assert ClassRights(None, None, Classification.SECRET, None, "direct").is_counted
    assert not ClassRights(named, None, None, None, "direct").is_counted
    assert not ClassRights(None, named, None, None, "direct").is_counted
