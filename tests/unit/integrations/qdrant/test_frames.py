import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.integrations.qdrant.frames import MAX_FRAME_BYTES, FrameError, FrameReader, pack

messages = st.lists(st.lists(st.none() | st.integers(-(2**63), 2**63) | st.text() | st.binary()), max_size=5)


def test_a_frame_is_its_length_and_then_messagepack() -> None:
    assert pack([1, None, "é", b"\x00"]) == b"\x09\x00\x00\x00" + b"\x94\x01\xc0\xa2\xc3\xa9\xc4\x01\x00"


@given(messages, st.integers(1, 20))
def test_messages_survive_any_cutting_of_the_stream(sent: list[list[object]], piece: int) -> None:
    stream = b"".join(pack(message) for message in sent)
    reader = FrameReader()
    received = [
        message
        for start in range(0, len(stream), piece)
        for message, _ in reader.feed(stream[start : start + piece])
    ]
    assert received == sent


@pytest.mark.parametrize(
    "stream",
    [
        (MAX_FRAME_BYTES + 1).to_bytes(4, "little"),
        b"\xff\xff\xff\xff",
        b"\x01\x00\x00\x00\xc1",
        b"\x00\x00\x00\x00",
        b"\x02\x00\x00\x00\x92\x01",
        b"\x01\x00\x00\x00\x07",
    ],
    ids=["too long", "absurdly long", "no MessagePack", "empty", "cut short inside", "not a list"],
)
def test_a_malformed_frame_is_refused(stream: bytes) -> None:
    with pytest.raises(FrameError):
        FrameReader().feed(stream)


def test_a_message_that_fits_no_frame_is_refused_by_its_sender() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        pack([bytes(MAX_FRAME_BYTES)])
