"""Small sizes, as the interpreter stands in for compiled code here."""

from __future__ import annotations

import pytest

from tdsl.testing import case


@pytest.fixture
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case, "LARGEST_PRODUCT", 256)
