"""Why something in a document may have been put there for a model and not for a reader."""

from enum import StrEnum

from eai.platform.i18n import Message, finding_messages


class Reason(StrEnum):
    """Codes of findings; their words in each language stand in the catalogue of findings."""

    OVERRIDES_INSTRUCTIONS = "overrides_instructions"
    GIVES_NEW_INSTRUCTIONS = "gives_new_instructions"
    ASSIGNS_PERSONA = "assigns_persona"
    LIFTS_RESTRICTIONS = "lifts_restrictions"
    ASKS_FOR_PROMPT = "asks_for_prompt"
    ASKS_FOR_SECRETS = "asks_for_secrets"
    SENDS_DATA_OUT = "sends_data_out"
    LEAKS_BY_LINK = "leaks_by_link"
    CALLS_TOOLS = "calls_tools"
    ACTS_WITHOUT_CONSENT = "acts_without_consent"
    ADDRESSES_MODEL = "addresses_model"
    STEERS_ANSWERS = "steers_answers"
    INSERTS_CODE = "inserts_code"
    CONCEALS_FROM_USER = "conceals_from_user"
    CHAT_TEMPLATE = "chat_template"
    ROLE_LABEL = "role_label"
    DOCUMENT_BOUNDARY = "document_boundary"
    TOOL_MESSAGE = "tool_message"
    ZERO_WIDTH_RUN = "zero_width_run"
    ZERO_WIDTH_IN_WORDS = "zero_width_in_words"
    STRAY_INVISIBLE = "stray_invisible"
    CONTROL_CHARACTERS = "control_characters"
    BIDI_OVERRIDE = "bidi_override"
    BIDI_WITHOUT_NEED = "bidi_without_need"
    TAG_CHARACTERS = "tag_characters"
    VARIATION_RUN = "variation_run"
    VARIATION_WITHOUT_BASE = "variation_without_base"
    MIXED_ALPHABETS = "mixed_alphabets"
    ENCODED_INSTRUCTIONS = "encoded_instructions"
    UNSEEN_BY_STYLE = "unseen_by_style"
    WAITING_TO_BE_SHOWN = "waiting_to_be_shown"
    INSTRUCTIONS_UNSEEN = "instructions_unseen"
    INSTRUCTIONS_IN_MARKUP = "instructions_in_markup"
    COMMENT = "comment"
    STYLES_UNREAD = "styles_unread"
    FOLLOWS_HELD = "follows_held"
    NEAR_DUPLICATE = "near_duplicate"
    REPLACES_APPROVED = "replaces_approved"
    DEPARTS_FROM_APPROVED = "departs_from_approved"
    REPLACES_SERVED = "replaces_served"
    NEAR_EVERYTHING = "near_everything"
    FAR_FROM_BASE = "far_from_base"
    SENSITIVE_DATA = "sensitive_data"

    @property
    def words(self) -> Message:
        """What it means, in every language."""
        return finding_messages()[self]
