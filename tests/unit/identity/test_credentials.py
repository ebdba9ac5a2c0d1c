import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eai.identity.credentials import Credential, Peppers
from eai.kernel.errors import Unauthenticated
from eai.platform.keys import MasterKey

GOOD = f"eai_0123456789abcdef_{'5' * 64}"
PEPPERS = Peppers(MasterKey(b"k" * 32))


def test_a_key_has_one_form_and_256_bits_of_secret() -> None:
    made = Credential.generate()
    assert re.fullmatch(r"eai_[0-9a-f]{16}_[0-9a-f]{64}", made.text)
    assert Credential.parse(made.text) == made


def test_ids_and_secrets_do_not_repeat() -> None:
    made = [Credential.generate() for _ in range(1_000)]
    assert len({credential.key_id for credential in made}) == 1_000
    assert len({credential.secret for credential in made}) == 1_000


def test_renewing_keeps_the_id_and_changes_the_secret() -> None:
    made = Credential.generate()
    renewed = Credential.renew(made.key_id)
    assert renewed.key_id == made.key_id
    assert renewed.secret != made.secret


def test_printing_a_credential_does_not_tell_its_secret() -> None:
    made = Credential.generate()
    assert made.secret not in repr(made)
    assert made.key_id in str(made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "eai_",
        "eai__",
        GOOD[:-1],
        GOOD + "0",
        GOOD + "\n",
        " " + GOOD,
        GOOD.upper(),
        GOOD.replace("eai", "EAI"),
        GOOD.replace("5", "\uff15"),
        GOOD.replace("0", "\u0660"),
        GOOD.replace("5", "\x00"),
        GOOD.replace("_", "-"),
        GOOD.replace("0123456789abcdef", "0123456789abcde"),
        GOOD.replace("0123456789abcdef", "0123456789abcdeg"),
        "eai_' OR 1=1 --_" + "5" * 64,
        "eai_0123456789abcdef_" + "5" * 60 + "';--",
        "\ud800" * len(GOOD),
        "x" * 1_000_000,
    ],
)
def test_what_is_not_a_key_is_refused(text: str) -> None:
    with pytest.raises(Unauthenticated):
        Credential.parse(text)


@given(st.text(max_size=120))
@example(GOOD)
def test_parsing_accepts_a_text_only_as_itself(text: str) -> None:
    try:
        parsed = Credential.parse(text)
    except Unauthenticated:
        return
    assert parsed.text == text


def test_what_is_stored_depends_on_id_secret_and_pepper() -> None:
    one = Credential("00" * 8, "11" * 32)
    assert PEPPERS.seal(one).hex() == "f7cfef74b28334e395d04a1877ba7736a3f4efb3f8f339a0c64b26f9ea5ce9c5"
    others = [
        PEPPERS.seal(Credential("00" * 8, "22" * 32)),
        PEPPERS.seal(Credential("01" * 8, "11" * 32)),
        Peppers(MasterKey(b"l" * 32)).seal(one),
        Peppers(MasterKey(b"k" * 32), versions=(2,)).seal(one),
    ]
    assert len({PEPPERS.seal(one), *others}) == 5


def test_a_key_sealed_under_an_old_pepper_is_still_found() -> None:
    one = Credential.generate()
    both = Peppers(MasterKey(b"k" * 32), versions=(1, 2))
    assert both.seal(one) == Peppers(MasterKey(b"k" * 32), versions=(2,)).seal(one)
    assert both.candidates(one) == [both.seal(one), PEPPERS.seal(one)]
