"""m&m's: multi-step tasks over 33 tools for images, text, audio and lookups (Ma et al., ECCV 2024)."""

from __future__ import annotations

from codenav.evals.mnms.task import Mnms

__all__ = ["Mnms"]
