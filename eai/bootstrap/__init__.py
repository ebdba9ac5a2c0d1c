"""The composition root: settings become adapters, adapters become services. Nothing else builds any."""

from eai.bootstrap.gateway import Models
from eai.bootstrap.lifecycle import NotStarted, build, start
from eai.bootstrap.platform import Platform, first_start, job_handlers, maintain, warm_up

__all__ = [
    "Models",
    "NotStarted",
    "Platform",
    "build",
    "first_start",
    "job_handlers",
    "maintain",
    "start",
    "warm_up",
]
