"""A catalogue of models that nobody has to run: vectors of three numbers."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.kernel.errors import InvalidInput
from eai.knowledge.ports import ModelFacts, SpaceId

SPACE = SpaceId("space_of_tests", 3)


class CatalogueOfTests:
    """`tiny` may see everything; `capped` nothing above confidential."""

    async def resolve(
        self, session: AsyncSession, subject: Subject, name: str | None, dimensions: int | None
    ) -> ModelFacts | None:
        ceilings = {"tiny": Classification.SECRET, "capped": Classification.CONFIDENTIAL}
        if (name or "tiny") not in ceilings:
            return None
        if dimensions not in {None, 3}:
            raise InvalidInput.field("dimensions", "unsupported", "3 only")
        return ModelFacts(name or "tiny", SPACE, ceilings[name or "tiny"])
