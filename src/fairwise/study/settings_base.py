"""What all settings have in common: nothing unknown is allowed, nothing changes, and everything is explained."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Unit = Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)]
Contact = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]


class Checked(BaseModel):
    """What is said below a setting stands above it in ``study.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
