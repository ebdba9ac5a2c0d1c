"""What commands take from a home, and what they never take from it."""

import stat
from pathlib import Path

import pytest

from eai.cli.home_settings import arrange, arranged, master_key, merged, read_settings, settings_to_examine
from eai.integrations.home import HomeFolder, HomeUnusable
from eai.platform.keys import MasterKey
from eai.platform.settings import Environment, SettingsError

URL = "postgresql://eai_app:pw@/eai"


@pytest.fixture
def home(tmp_path: Path) -> HomeFolder:
    folder = HomeFolder(tmp_path / "home")
    folder.prepare()
    return folder


def test_a_named_home_brings_what_was_arranged_there(home: HomeFolder) -> None:
    arrange(home, {"EAI_ENV": "test"}, {"EAI_DATABASE_URL": URL, "EAI_MASTER_KEY": "key"})
    settings = read_settings({}, home=home.path)
    assert (settings.environment, settings.home) == (Environment.TEST, home.path)
    assert settings.database.url is not None
    assert settings.database.url.get_secret_value() == URL
    assert settings.keys.master_key is not None
    assert settings.keys.master_key.get_secret_value() == "key"


def test_what_is_given_goes_before_what_was_arranged(home: HomeFolder) -> None:
    arrange(home, {}, {"EAI_DATABASE_URL": URL, "EAI_MASTER_KEY": "key"})
    settings = read_settings({"EAI_DATABASE_URL": "postgresql://other/eai"}, home=home.path)
    assert settings.database.url is not None
    assert settings.database.url.get_secret_value() == "postgresql://other/eai"
    assert settings.keys.master_key is not None


def test_production_takes_nothing_from_a_home(home: HomeFolder) -> None:
    arrange(home, {}, {"EAI_DATABASE_URL": URL, "EAI_MASTER_KEY": "key"})
    with pytest.raises(SettingsError, match="EAI_DATABASE_URL is required in production"):
        read_settings({"EAI_HOME": str(home.path)})
    with pytest.raises(SettingsError, match=r"EAI_MASTER_KEY .* is required in production"):
        read_settings({"EAI_ENV": "production"}, home=home.path)


def test_either_form_of_a_secret_keeps_the_other_out() -> None:
    kept = merged({"EAI_MASTER_KEY_FILE": "/mine", "EAI_ENV": ""}, {"EAI_MASTER_KEY": "x", "EAI_ENV": "dev"})
    assert kept == {"EAI_MASTER_KEY_FILE": "/mine", "EAI_ENV": "dev"}


def test_secrets_are_kept_as_files_of_their_owner(home: HomeFolder) -> None:
    variables = arrange(home, {"EAI_ENV": "dev"}, {"EAI_DATABASE_URL": URL})
    path = home.secrets / "database-url"
    assert variables == {"EAI_ENV": "dev", "EAI_DATABASE_URL_FILE": str(path)}
    assert arranged(home.path) == variables
    assert path.read_text() == URL
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.secrets.iterdir()} == {0o600}


def test_a_master_key_is_made_once(home: HomeFolder) -> None:
    first = master_key(home)
    MasterKey.from_text(first)
    home.postgres.mkdir()
    assert master_key(home) == first


def test_a_lost_master_key_is_never_replaced_beside_a_database(home: HomeFolder) -> None:
    home.postgres.mkdir()
    with pytest.raises(HomeUnusable, match="cannot be read without it"):
        master_key(home)


def test_what_is_only_examined_may_be_a_home_for_development_that_nobody_named(home: HomeFolder) -> None:
    arrange(home, {"EAI_ENV": "dev"}, {"EAI_DATABASE_URL": URL, "EAI_MASTER_KEY": "key"})
    for environ in ({"EAI_HOME": str(home.path)}, {"HOME": str(home.path.parent)}):
        if "HOME" in environ:
            (home.path.parent / ".eai").symlink_to(home.path)
        settings = settings_to_examine(environ)
        assert settings.environment is Environment.DEV
        assert settings.database.url is not None


@pytest.mark.parametrize("named", [{"EAI_ENV": "production"}, {"EAI_DATABASE_URL": URL}])
def test_what_is_named_as_production_is_examined_as_such(home: HomeFolder, named: dict[str, str]) -> None:
    arrange(home, {"EAI_ENV": "dev"}, {"EAI_DATABASE_URL": URL, "EAI_MASTER_KEY": "key"})
    with pytest.raises(SettingsError, match=r"EAI_MASTER_KEY .* is required in production"):
        settings_to_examine({"EAI_HOME": str(home.path), **named})
