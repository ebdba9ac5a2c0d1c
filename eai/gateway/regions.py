"""Regions are names whose parts go from wide to narrow: `eu-west-1` lies in `eu-west`, and in `eu`."""


def lies_in(region: str, wider: str) -> bool:
    """Whether `region` is `wider` or a part of it."""
    return region == wider or region.startswith(f"{wider}-")
