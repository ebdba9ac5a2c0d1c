"""Keys and addresses. What looks like a real key is put together here, lest this file be taken for one."""

# ruff: noqa: RUF001 - signs that look like others are what is tested here

import json
from base64 import b64encode, urlsafe_b64encode
from textwrap import fill

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.unit.dlp.finding import entities, found

RSA = rsa.generate_private_key(65537, 2048)
KEYS = {
    "rsa": RSA,
    "ec": ec.generate_private_key(ec.SECP256R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate(),
}
FORMATS = {
    "pkcs8": PrivateFormat.PKCS8,
    "traditional": PrivateFormat.TraditionalOpenSSL,
    "openssh": PrivateFormat.OpenSSH,
}
KINDS = [(kind, form) for kind in KEYS for form in FORMATS if (kind, form) != ("ed25519", "traditional")]


def pem(kind: str, form: str, encryption: KeySerializationEncryption | None = None) -> str:
    return (
        KEYS[kind].private_bytes(Encoding.PEM, FORMATS[form], encryption or NoEncryption()).decode().strip()
    )


def keys(text: str) -> list[str]:
    """The parts that are private keys, whose signs may happen to be a number of another kind as well."""
    return [part for entity, part in found(text) if entity == "private_key"]


@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_a_private_key_is_found_from_its_first_line_to_its_last(kind: str, form: str) -> None:
    key = pem(kind, form)
    assert found(f"The key is\n{key}\nKeep it safe.") == [("private_key", key)]
    assert found(f"Voici la clé :\r\n{key}\r\n") == [("private_key", key)]


def test_an_encrypted_key_is_one_too() -> None:
    for form in ("pkcs8", "traditional"):
        key = pem("rsa", form, BestAvailableEncryption(b"word"))
        assert keys(f"x {key} y") == [key]


@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_a_private_key_is_found_as_one_line_of_json(kind: str, form: str) -> None:
    text = json.dumps({"type": "service_account", "private_key": pem(kind, form) + "\n"})
    assert [(entity, part[:6], part[-5:]) for entity, part in found(text)] == [
        ("private_key", "-----B", "-----")
    ]


def test_a_private_key_is_found_without_its_end_and_without_its_beginning() -> None:
    lines = pem("rsa", "pkcs8").splitlines()
    for part in ("\n".join(lines[:5]), "\n".join(lines[5:])):
        assert found(f"before\n\n{part}") == [("private_key", part)]


PREFIXES = ["> ", "> > ", ">", "# ", "| ", "* ", "; ", "// ", "-- ", "- ", "+ ", "│ ", "12: ", "api-1  | I2 "]
"""As mail, comments, tables, changes, listings and logs write them before each line."""


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_a_private_key_is_found_from_end_to_end_behind_prefixes(kind: str, form: str, prefix: str) -> None:
    quoted = f"\n{prefix}".join(pem(kind, form).splitlines())
    text = f"{prefix}Look:\n{prefix}{quoted}\n{prefix}Bye."
    assert keys(text) == [quoted]


@pytest.mark.parametrize("glue", ["\\\n", "\\\\n", "\\\\\\\\n", '\\n" +\n    "', "\\n' .\n  '", "\\r\\n"])
@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_a_private_key_is_found_from_end_to_end_in_literals(kind: str, form: str, glue: str) -> None:
    written = glue.join(pem(kind, form).splitlines())
    assert keys(f'key = "{written}"; next') == [written]


@pytest.mark.parametrize("prefix", ["", "> ", "# ", "| ", "12: "])
def test_the_private_key_of_a_mailer_is_found_behind_prefixes(prefix: str) -> None:
    lines = [
        "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----", "Version: GnuPG v2", "", "lQOY" + "Ab0+" * 15,
        *["Ab0+" * 16] * 20, "Ab0+Ab==", "=aB3d", "-----END " + "PGP PRIVATE KEY BLOCK-----",
    ]  # fmt: skip
    quoted = f"\n{prefix}".join(lines)
    assert keys(f"{prefix}{quoted}\n{prefix}Bye.") == [quoted]


@pytest.mark.parametrize("prefix", ["> ", "# ", "| ", "// ", "-- "])
def test_a_part_of_a_private_key_is_found_behind_prefixes(prefix: str) -> None:
    lines = pem("rsa", "pkcs8").splitlines()
    for part in (f"\n{prefix}".join(lines[:-2]), f"\n{prefix}".join(lines[5:])):
        assert keys(f"{prefix}before\n{prefix}{part}") == [part]


@pytest.mark.parametrize("glue", ["\n> ", "\n# ", "\\\n", "\\\\n", '\\n" +\n    "'])
@pytest.mark.parametrize(("kind", "form"), [("rsa", "pkcs8"), ("rsa", "traditional"), ("ec", "pkcs8")])
def test_the_lines_of_a_key_without_borders_are_found_from_end_to_end(
    kind: str, form: str, glue: str
) -> None:
    content = KEYS[kind].private_bytes(Encoding.DER, FORMATS[form], NoEncryption())
    lines = glue.join(fill(b64encode(content).decode(), 64).splitlines())
    assert keys(f"secret: {lines}{glue}and so on") == [lines]


@pytest.mark.parametrize("glue", ["\n", "\n> ", "\\n"])
def test_a_key_of_putty_is_found_from_end_to_end(glue: str) -> None:
    lines = [
        "PuTTY-User-" + "Key-File-2: ssh-rsa", "Encryption: none", "Comment: mine", "Public-Lines: 2",
        "Ab0+" * 16, "Ab0+Ab==", "Private-Lines: 2", "Ab0+" * 16, "Ab0=", "Private-MAC: " + "0a1b" * 10,
    ]  # fmt: skip
    written = glue.join(lines)
    assert keys(f"{written}{glue}That was it.") == [written]


def test_words_between_the_borders_of_a_key_are_none() -> None:
    begin, end = ("-----" + word + " PRIVATE KEY-----" for word in ("BEGIN", "END"))
    for between in ("...", "(lines that only you know)", "and at last", "\n> MIIE...\n"):
        assert entities(f"It stands between {begin} {between} {end}.") == set()
    far = " far away" * 10_000
    assert entities(f"{begin}{far} {'Ab0+' * 16}{far} {end}") == set()


@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_the_base64_of_a_private_key_is_found(kind: str, form: str) -> None:
    for encode in (b64encode, urlsafe_b64encode):
        encoded = encode(pem(kind, form).encode()).decode()
        assert found(f"key: {encoded} .") == [("private_key", encoded)]
        assert keys(f"x{encoded}")
        assert found(f"La clé :\n{fill(encoded, 76)}\nfin") == [("private_key", fill(encoded, 76))]
        twice = b64encode(encoded.encode()).decode()
        assert found(twice) == [("private_key", twice)]


@pytest.mark.parametrize(("kind", "form"), [kind for kind in KINDS if kind[1] != "openssh"])
def test_the_bare_bytes_of_a_private_key_are_found(kind: str, form: str) -> None:
    content = KEYS[kind].private_bytes(Encoding.DER, FORMATS[form], NoEncryption())
    encoded = b64encode(content).decode()
    assert found(f"secret={encoded}") == [("private_key", encoded)]
    assert entities(fill(encoded, 64)) == {"private_key"}


def test_public_keys_and_words_about_keys_are_none() -> None:
    public = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    bare = RSA.public_key().public_bytes(Encoding.DER, PublicFormat.PKCS1)
    header = "-----BEGIN " + "PRIVATE KEY-----"
    for text in (
        public,
        b64encode(bare).decode(),
        f"The file begins with {header}, then come lines.",
        header,
    ):
        assert entities(text) == set()


@pytest.mark.parametrize(
    "key",
    [
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "11AAAAAAA0" + "b" * 60,
        "glpat-" + "xYz_-" * 4,
        "xoxb-" + "123456789012-" + "abcdefGHIJKL",
        "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
        "sk-" + "proj-" + "Ab_9-" * 20,
        "sk-" + "ant-api03-" + "Ab_9-" * 18,
        "sk-" + "0123456789abcdef" * 2,
        "AIza" + "SyA-" + "b" * 31,
        "hf_" + "abcdefGHIJ" * 3 + "klmn",
        "npm_" + "a1B2" * 9,
        "SG." + "a" * 22 + "." + "b" * 43,
        "eai_" + "0123456789abcdef_" + "0123456789abcdef" * 4,
    ],
)
@pytest.mark.parametrize("sentence", ["Use {} for this.", "clé='{}'", "https://x.example/?key={}", "{}"])
def test_a_key_of_a_known_service_is_found_whole(key: str, sentence: str) -> None:
    assert found(sentence.format(key)) == [("api_key", key)]


SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    "written",
    [
        "aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}", 'SecretAccessKey": "{}',
        "secretAccessKey: '{}", 'SecretAccessKey\\": \\"{}', "awsSecretAccessKey={}",
        "aws.secretAccessKey={}", "AWSSecretKey: {}", "aws-secret-key={}", "Secret access key: {}",
        'secret_access_key = "{}', f'aws_secret_access_key{14 * " "} = """{{}}',
        'aws_secret_access_key\\\\\\": \\\\\\"{}',
        "aws_secret_access_key | {}", "SecretAccessKey>{}", "SecretAccessKey>\n    {}",
    ],
)  # fmt: skip
def test_a_secret_of_aws_is_found_by_the_name_before_it(written: str) -> None:
    secret = written.format(SECRET)
    assert found(f'{{"{secret}", "next": 1}}') == [("api_key", secret)]
    assert found(f'{{"{secret}a", "next": 1}}') == []


@pytest.mark.parametrize(
    ("opened", "closed"), [("<", ">"), ("&lt;", "&gt;"), ("&#60;", "&#x3e;"), ("&amp;lt;", "&amp;gt;")]
)
def test_a_secret_of_aws_is_found_in_an_answer_of_its_own(opened: str, closed: str) -> None:
    secret = f"SecretAccessKey{closed}{SECRET}"
    text = f"{opened}{secret}{opened}/SecretAccessKey{closed}"
    assert found(text) == [("api_key", secret)]


@pytest.mark.parametrize("between", [",", ";", "\t", '","', " | ", "', '", ": ", "\n"])
@pytest.mark.parametrize("mark", ["AKIA", "ASIA"])
def test_a_secret_of_aws_is_found_by_the_id_before_it(mark: str, between: str) -> None:
    row = f"{mark}IOSFODNN7EXAMPLE{between}{SECRET}"
    assert found(f"Access key ID,Secret access key\n{row}\n") == [("api_key", row)]
    assert found(f"{row}a") == [("api_key", f"{mark}IOSFODNN7EXAMPLE")]


@pytest.mark.parametrize("text", [f"commit {'0a1b' * 10}", f"my secret is the access key {'0a1b' * 10}"])
def test_forty_signs_without_a_name_are_no_secret_of_aws(text: str) -> None:
    assert entities(text) == set()


def test_a_key_is_found_with_unseen_characters_in_it() -> None:
    assert found("ghp_" + "a1\u200bB2" * 9) == [("api_key", "ghp_" + "a1\u200bB2" * 9)]


@pytest.mark.parametrize(
    "text",
    [
        "a task-based-approach-to-risk-management-in-hospitals",
        "scikit sk-learn-contrib-something-very-long",
        "The ghp_ prefix marks a token.",
        "/usr/local/share/doc/some-package/examples/index.html",
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "anticonstitutionnellement",
    ],
)
def test_long_words_are_no_keys(text: str) -> None:
    assert entities(text) == set()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Écrivez à jean.dupont@exemple.fr.", "jean.dupont@exemple.fr"),
        ("Mail anne-marie+achats@compta.societe.co.uk, please", "anne-marie+achats@compta.societe.co.uk"),
        ("<rené.müller@straße.example>", "rené.müller@straße.example"),
        ("jean\u200b.dupont＠exemple.fr", "jean\u200b.dupont＠exemple.fr"),
        ("mailto:o'brien@mail.example?subject=x", "o'brien@mail.example"),
    ],
)
def test_an_address_is_found_whole(text: str, address: str) -> None:
    assert found(text) == [("email", address)]


@pytest.mark.parametrize("text", ["@handle", "a@b", "x @ y.fr", "user@localhost", "price @ 12.50", "a@b.c1"])
def test_what_no_mail_reaches_is_no_address(text: str) -> None:
    assert entities(text) == set()
