"""What an environment means, and how faults in it are told."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from eai.platform.settings import Environment, Settings, SettingsError, load_settings, variables
from eai.platform.settings.environment import IGNORED

PRODUCTION = {
    "EAI_DATABASE_URL": "postgresql://eai_app:pw@db:5432/eai",
    "EAI_MASTER_KEY": "bWFzdGVyIGtleSBvZiB0aGlydHktdHdvIGJ5dGVzISE=",
    "EAI_AUDIT_ANCHOR_PATH": "/mnt/anchor/checkpoints.jsonl",
    "EAI_QDRANT_URL": "https://qdrant:6333",
    "EAI_QDRANT_API_KEY": "qdrant-key",
}


def problems(environ: dict[str, str]) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    return list(caught.value.problems)


def test_dev_needs_nothing_but_its_name() -> None:
    settings = load_settings({"EAI_ENV": "dev", "HOME": "/home/ada"})
    assert settings.environment is Environment.DEV
    assert settings.home == Path("/home/ada/.eai")
    assert settings.database.url is None
    assert settings.anchor_path == Path("/home/ada/.eai/anchor/checkpoints.jsonl")
    assert settings.engine_socket == Path("/home/ada/.eai/run/engine.sock")
    assert settings.http.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")


def test_the_home_of_root_lies_where_the_database_server_can_go() -> None:
    assert load_settings({"EAI_ENV": "dev", "HOME": "/root"}).home == Path("/var/lib/eai")


def test_an_environment_that_names_no_kind_is_production_unless_the_caller_says_otherwise() -> None:
    assert load_settings(PRODUCTION).is_production
    assert load_settings({}, default_environment=Environment.DEV).environment is Environment.DEV


def test_every_value_reaches_its_place() -> None:
    settings = load_settings(
        PRODUCTION
        | {
            "EAI_HOME": "/srv/eai",
            "EAI_DATABASE_ADMIN_URL": "postgres://admin:pw@db/eai",
            "EAI_DATABASE_POOL_MAX_SIZE": "25",
            "EAI_RAG_EMBEDDING_MODEL": "local-use-512",
            "EAI_EMBEDDINGS_BATCH_SIZE": "16",
            "EAI_CORS_ORIGINS": "https://a.example, https://b.example:8443",
            "EAI_ALLOWED_HOSTS": "eai.example",
        }
    )
    assert settings.home == Path("/srv/eai")
    assert settings.database.url is not None
    assert settings.database.url.get_secret_value() == "postgresql://eai_app:pw@db:5432/eai"
    assert settings.database.pool_max_size == 25
    assert settings.qdrant.url == "https://qdrant:6333"
    assert settings.audit.anchor_path == Path("/mnt/anchor/checkpoints.jsonl")
    assert settings.models.rag_embedding_model == "local-use-512"
    assert settings.models.embeddings_batch_size == 16
    assert settings.http.cors_origins == ("https://a.example", "https://b.example:8443")
    assert settings.http.allowed_hosts == ("eai.example",)


def test_production_answers_to_any_host_unless_told() -> None:
    assert load_settings(PRODUCTION).http.allowed_hosts == ("*",)


def test_production_names_everything_it_lacks_at_once() -> None:
    assert problems({}) == [
        "EAI_DATABASE_URL is required in production: the embedded PostgreSQL is for development",
        "EAI_MASTER_KEY (or EAI_MASTER_KEY_FILE) is required in production: 32 random bytes in base64",
        "EAI_AUDIT_ANCHOR_PATH is required in production: a file on another mount than the database",
        "EAI_QDRANT_URL is required in production: the embedded engine is for development",
        "EAI_QDRANT_API_KEY (or EAI_QDRANT_API_KEY_FILE) is required in production",
    ]


@pytest.mark.parametrize("missing", sorted(PRODUCTION))
def test_production_starts_with_none_of_its_needs_missing(missing: str) -> None:
    (problem,) = problems({name: value for name, value in PRODUCTION.items() if name != missing})
    assert problem.startswith(missing)


def test_production_refuses_an_unencrypted_vector_store() -> None:
    assert problems(PRODUCTION | {"EAI_QDRANT_URL": "http://127.0.0.1:6333"}) == [
        "EAI_QDRANT_URL must use https in production"
    ]


def test_production_refuses_a_cache_whose_password_anybody_on_the_way_could_read() -> None:
    told = problems({**PRODUCTION, "EAI_REDIS_URL": "redis://:secret@cache.internal:6379/0"})
    assert told == [
        "EAI_REDIS_URL must begin with rediss:// or unix:// in production: its password travels with it"
    ]
    for url in ("rediss://:secret@cache.internal:6379/0", "unix:///run/redis.sock"):
        assert load_settings({**PRODUCTION, "EAI_REDIS_URL": url}).cache.keeps
    told = problems({**PRODUCTION, "EAI_REDIS_URL": "cache.internal:6379"})
    assert told == ["EAI_REDIS_URL: is no Redis URL; write rediss://user:password@host:port/0"]


@pytest.mark.parametrize(("megabytes", "keeps"), [("0", False), ("1", True)])
def test_without_memory_and_without_redis_nothing_is_cached(megabytes: str, *, keeps: bool) -> None:
    assert load_settings({**PRODUCTION, "EAI_CACHE_MEMORY_MB": megabytes}).cache.keeps is keeps


def test_production_refuses_a_model_that_only_compares_spelling() -> None:
    (problem,) = problems(PRODUCTION | {"EAI_RAG_EMBEDDING_MODEL": "local-hash-256"})
    assert problem.startswith("EAI_RAG_EMBEDDING_MODEL=local-hash-256 compares spelling only")


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from the file\n")
    settings = load_settings({"EAI_ENV": "dev", "EAI_MASTER_KEY_FILE": str(tmp_path / "key")})
    assert settings.keys.master_key is not None
    assert settings.keys.master_key.get_secret_value() == "from the file"


def test_every_secret_and_nothing_else_has_a_file_form(tmp_path: Path) -> None:
    assert [variable.name for variable in variables() if variable.secret] == [
        "EAI_DATABASE_URL",
        "EAI_DATABASE_ADMIN_URL",
        "EAI_QDRANT_API_KEY",
        "EAI_MASTER_KEY",
        "EAI_REDIS_URL",
    ]
    assert problems({"EAI_ENV": "dev", "EAI_HOME_FILE": str(tmp_path)}) == [
        "EAI_HOME_FILE is not a setting; did you mean EAI_HOME?"
    ]


def test_a_secret_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("one")
    environ = {"EAI_ENV": "dev", "EAI_MASTER_KEY": "two", "EAI_MASTER_KEY_FILE": str(tmp_path / "key")}
    assert problems(environ) == ["EAI_MASTER_KEY and EAI_MASTER_KEY_FILE are both set; keep one"]


def test_a_secret_file_that_is_missing_or_empty_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    missing = problems({"EAI_ENV": "dev", "EAI_MASTER_KEY_FILE": "/missing/key"})
    assert missing == [
        "EAI_MASTER_KEY_FILE names /missing/key, which cannot be read: No such file or directory"
    ]
    empty = problems({"EAI_ENV": "dev", "EAI_MASTER_KEY_FILE": str(tmp_path / "empty")})
    assert empty == [f"EAI_MASTER_KEY_FILE names {tmp_path / 'empty'}, which is empty"]


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    assert problems({"EAI_ENV": "dev", "EAI_DATABSE_URL": "x", "EAI_ZZZZ": "y"}) == [
        "EAI_DATABSE_URL is not a setting; did you mean EAI_DATABASE_URL?",
        "EAI_ZZZZ is not a setting; remove it",
    ]


def test_a_name_that_is_far_from_all_that_are_read_is_told_no_other() -> None:
    assert problems({"EAI_ENV": "dev", "EAI_PORTT": "8000"}) == ["EAI_PORTT is not a setting; remove it"]


@pytest.mark.parametrize(
    "name",
    [
        "EAI_API_KEY", "EAI_BASE_URL", "EAI_EVAL_DATA", "EAI_TEST_QDRANT_URL", "EAI_REQUIRE_TOOLCHAINS",
        "EAI_LITELLM_URL", "EAI_MEMORY_EMBEDDING_MODEL",
        "OTEL_EXPORTER_OTLP_ENDPOINT", "PATH",
    ],
)  # fmt: skip
def test_names_for_others_and_for_later_are_no_mistakes(name: str) -> None:
    assert load_settings({"EAI_ENV": "dev", name: "anything"}).environment is Environment.DEV


def test_what_may_be_reached_is_hosts_and_networks() -> None:
    allow = load_settings(
        {"EAI_ENV": "dev", "EAI_EGRESS_ALLOW": "models.internal, 10.20.0.0/16,::1"}
    ).egress.allow
    assert allow == ("models.internal", "10.20.0.0/16", "::1")
    told = problems({"EAI_ENV": "dev", "EAI_EGRESS_ALLOW": "models.internal,http://x"})
    assert told == [
        (
            "EAI_EGRESS_ALLOW ('models.internal,http://x'): 'http://x' is neither a host name nor a network "
            "such as 10.0.0.0/8"
        )
    ]


def test_an_empty_variable_is_an_absent_one() -> None:
    assert load_settings({"EAI_ENV": "dev", "EAI_QDRANT_URL": "", "EAI_QDRANT": ""}).qdrant.url is None


def test_faults_of_every_kind_are_told_together() -> None:
    environ = {
        "EAI_ENV": "staging",
        "EAI_DATABASE_URL": "mysql://user:hunter2@db/eai",
        "EAI_EMBEDDINGS_BATCH_SIZE": "0",
        "EAI_QDRANT_URL": "qdrant:6333",
        "EAI_NO": "1",
    }
    told = problems(environ)
    assert told[0].startswith("EAI_NO is not a setting")
    assert told[1:] == [
        "EAI_ENV ('staging'): Input should be 'dev', 'test' or 'production'",
        "EAI_DATABASE_URL: is no PostgreSQL URL; write postgresql://user:password@host:port/database",
        "EAI_QDRANT_URL ('qdrant:6333'): is no URL; write https://host:port",
        "EAI_EMBEDDINGS_BATCH_SIZE ('0'): Input should be greater than or equal to 1",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name in (
            "EAI_WORKER_EMBEDDINGS_REINDEX_INTERVAL_SECONDS",
            "EAI_REINDEX_GRACE_SECONDS",
            "EAI_WORKER_INTEGRITY_INTERVAL_SECONDS",
            "EAI_EMBEDDINGS_BATCH_SIZE",
        )
        for value in ("-1", "nan", "inf", "1e12", "soon")
    ],
)
def test_what_no_clock_can_count_and_no_call_can_hold_is_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load_settings({"EAI_ENV": "dev", name: value})


def test_no_secret_shows_in_what_is_printed() -> None:
    settings = load_settings(PRODUCTION)
    assert not any(word in repr(settings) for word in ("pw", "bWFzdGVy", "qdrant-key"))


def test_the_tree_cannot_be_changed() -> None:
    settings = load_settings(PRODUCTION)
    with pytest.raises(ValidationError, match="frozen"):
        settings.database.pool_max_size = 3  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        settings.home = Path("/elsewhere")  # type: ignore[misc]


def test_the_process_environment_is_not_read_behind_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/elsewhere")
    monkeypatch.setenv("ENVIRONMENT", "production")
    assert Settings(environment=Environment.DEV, home=Path("/here")).home == Path("/here")


def test_every_setting_says_what_it_is_for_and_groups_stay_small() -> None:
    listed = list(variables())
    assert len({variable.name for variable in listed}) == len(listed)
    assert [variable.name for variable in listed if not variable.description.endswith(".")] == []
    groups = [variable.path[0] for variable in listed if len(variable.path) == 2]
    assert max(groups.count(group) for group in groups) <= 12


@pytest.mark.parametrize("origin", ["a.example", "https://a.example/path", "https://"])
def test_an_origin_is_a_scheme_and_a_host(origin: str) -> None:
    (problem,) = problems({"EAI_ENV": "dev", "EAI_CORS_ORIGINS": f"https://fine.example,{origin}"})
    assert problem.endswith("is no origin; write https://host or https://host:port, without a path")


def test_no_setting_is_also_said_to_change_nothing() -> None:
    assert IGNORED & {variable.name for variable in variables()} == set()
