from eai.platform.i18n import finding_messages
from eai.quarantine.catalogue import DETECTORS, PASSAGE_DETECTORS
from eai.quarantine.ports import Reason, Severity


def test_every_reason_has_words_and_no_words_are_left_over() -> None:
    assert set(finding_messages()) == set(Reason)


def test_a_severity_reaches_what_is_not_above_it() -> None:
    reached = [threshold for threshold in Severity if Severity.HIGH.reaches(threshold)]
    assert reached == [Severity.LOW, Severity.MEDIUM, Severity.HIGH]


def test_no_two_detectors_go_by_the_same_name() -> None:
    names = [detector.name for detector in (*DETECTORS, *PASSAGE_DETECTORS)]
    assert len(names) == len(set(names)) == 18
