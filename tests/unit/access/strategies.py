"""Hypothesis strategies for rights: few names, so that entries and subjects often meet."""

from uuid import UUID

from hypothesis import strategies as st

from eai.access.acl import BaseRights, Entry, Permission
from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.access.subject import EVERYONE, PrincipalKind, Subject
from eai.access.visibility import PassageRights
from eai.kernel.ids import ApiKeyId, GroupId, PrincipalId, TenantId

TENANT = TenantId(UUID(int=1))
OTHER_TENANT = TenantId(UUID(int=2))
ALICE = PrincipalId(UUID(int=10))
GROUPS = tuple(GroupId(UUID(int=number)) for number in (20, 21, 22))
REFERENCES = (
    EVERYONE,
    f"user:{ALICE}",
    f"service:{ALICE}",
    f"user:{UUID(int=11)}",
    *(f"group:{group}" for group in GROUPS),
)

levels = st.sampled_from(Classification)
references = st.sampled_from(REFERENCES)
entries = st.builds(
    Entry,
    principal=references,
    permission=st.sampled_from(Permission),
    effect=st.sampled_from(["allow", "deny"]),
)
access_lists = st.lists(entries, max_size=8)
readers = st.none() | st.frozensets(references)
subjects = st.builds(
    Subject,
    tenant=st.just(TENANT),
    principal=st.just(ALICE),
    kind=st.sampled_from(PrincipalKind),
    name=st.just("Alice"),
    roles=st.tuples(st.sampled_from(Role)),
    groups=st.frozensets(st.sampled_from(GROUPS)),
    scopes=st.frozensets(st.sampled_from(Scope)),
    clearance=levels,
    api_key=st.just(ApiKeyId(UUID(int=30))),
)
base_rights_values = st.builds(BaseRights)
passages = st.builds(
    PassageRights,
    tenant=st.sampled_from([TENANT, TENANT, OTHER_TENANT]),
    document_readers=readers,
    chunk_readers=readers,
    classification=levels,
    is_live=st.booleans(),
    is_source_enabled=st.booleans(),
)
