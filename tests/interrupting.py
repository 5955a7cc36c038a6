"""Dense passes that are stopped at a layer, as Ctrl-C or a kill would."""

from __future__ import annotations

from collections.abc import Container

import pytest

from tilebase.dense.passes import DensePass


def stop_at(
    monkeypatch: pytest.MonkeyPatch, numbers: Container[int], error: type[BaseException] = KeyboardInterrupt
) -> list[int]:
    """Raise an error where the layers with these numbers begin, counted from 1 over all passes to come.

    Returns a list to which the sum of each layer that is begun is added.
    """
    real, layers = DensePass._layer, list[int]()

    def begin(self: DensePass, total: int) -> None:
        layers.append(total)
        if len(layers) in numbers:
            raise error
        real(self, total)

    monkeypatch.setattr(DensePass, "_layer", begin)
    return layers
