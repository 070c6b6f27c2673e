"""Sums for hand weavers."""

from . import dyeing, library, setts, yarns
from .drafts import Draft, DraftError
from .projects import Project
from .stripes import Stripes

__all__ = ["Draft", "DraftError", "Project", "Stripes", "dyeing", "library", "setts", "yarns"]
