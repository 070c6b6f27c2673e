"""Left out by the adapter: it would need a model."""

import sentence_transformers_that_is_not_installed  # noqa: F401
