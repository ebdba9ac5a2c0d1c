import pytest
from pydantic import BaseModel
from starlette.responses import Response

from eai.api.etags import NotModified, Tags


class Shown(BaseModel):
    name: str
    count: int = 0


def _tag(value: Shown, revision: int) -> str:
    response = Response()
    Tags(response, None, None).show(value, revision)
    return response.headers["etag"]


def test_the_same_thing_has_the_same_tag_and_another_has_another() -> None:
    assert _tag(Shown(name="a"), 1) == _tag(Shown(name="a"), 1)
    assert len({_tag(Shown(name="a"), 1), _tag(Shown(name="a"), 2), _tag(Shown(name="a", count=1), 1)}) == 3


def test_a_tag_that_still_holds_answers_unchanged() -> None:
    tag = _tag(Shown(name="a"), 1)
    for header in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        with pytest.raises(NotModified) as caught:
            Tags(Response(), None, header).show(Shown(name="a"), 1)
        assert caught.value.tag == tag
    Tags(Response(), None, tag).show(Shown(name="b"), 1)


def test_a_change_expects_the_revision_of_its_tag() -> None:
    tag = _tag(Shown(name="a"), 7)
    assert Tags(Response(), tag, None).expected == 7


def test_without_a_condition_any_revision_will_do() -> None:
    assert Tags(Response(), None, None).expected is None
    assert Tags(Response(), "*", None).expected is None


def test_only_what_was_read_may_be_stored_by_a_client() -> None:
    read, changed = Response(), Response()
    Tags(read, None, None).show(Shown(name="a"), 1)
    Tags(changed, None, "*", is_read=False).show(Shown(name="a"), 1)
    assert read.headers["cache-control"] == "private, no-cache"
    assert "cache-control" not in changed.headers


@pytest.mark.parametrize(
    "header", ["", "7", '"7"', 'W/"7-0011223344556677"', '"x-0011223344556677"', "'; DROP"]
)
def test_what_is_no_tag_of_ours_matches_no_revision(header: str) -> None:
    assert Tags(Response(), header, None).expected == -1
