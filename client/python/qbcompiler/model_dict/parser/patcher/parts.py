"""Which parts of a model can be compiled on their own."""

from __future__ import annotations

from typing import Any, Tuple


def available_parts(model: Any) -> Tuple[str, ...]:
    """The names that `model_part` accepts for this model. Models of several parts are not supported
    yet: every model has the one part that needs no name."""
    del model
    return ()
