"""The symmetries of a game form a group that keeps its rules."""

from __future__ import annotations

import pytest
from hypothesis import given

from strategies import GAMES, games_and_boards
from tilebase.game.game import Cells, Game
from tilebase.game.grid import grid_of
from tilebase.game.symmetry import canonical, images, orbit_size, symmetries


@pytest.mark.parametrize(
    ("game", "order"),
    [
        (Game("4x4", 2048), 8),
        (Game("3x4", 512), 4),
        (Game("1x4", 16), 2),
        (Game("1x1", start="empty"), 1),
        (Game("2x2x2", 32), 48),
        (Game("2x2x3", 64), 16),
        (Game("2x3x4", 8), 8),
        (Game("1x3x3", 64), 8),
        (Game("3x3", 64, walls=[4]), 8),
        (Game("3x3", 64, walls=[0]), 2),
        (Game("3x3", 64, walls=[0, 1]), 1),
        (Game("3x3", 64, unmergeable=[0]), 8),  # it moves, so it binds nothing
        (Game("3x3", 64, walls=[8, 0]), 4),
        (Game("2x2", 32, limits="16,8/8,16"), 4),
        (Game("2x2", 32, limits="16,8/8,4"), 2),
        (Game("2x2", 16, limits="16,8/8,8"), 8),  # a goal of 16 limits every cell to 8
        (Game("2x2", 32, limits="16,8/4,8"), 1),
    ],
    ids=str,
)
def test_order_of_the_group(game: Game, order: int) -> None:
    assert len(symmetries(game)) == order


@pytest.mark.parametrize(
    ("shape", "pairs", "order"),
    [((1, 1), 0, 1), ((1, 3), 2, 2), ((2, 3), 7, 4), ((3, 3), 12, 8), ((2, 2, 2), 12, 48), ((1, 2, 3), 7, 4)],
)
def test_a_grid(shape: tuple[int, ...], pairs: int, order: int) -> None:
    grid = grid_of(shape, False)
    own = tuple(range(grid.cells))
    assert len(set(grid.neighbours)) == len(grid.neighbours) == pairs
    assert grid.symmetries[0] == own
    assert len(set(grid.symmetries)) == len(grid.symmetries) == order
    for image in grid.symmetries:  # neighbours stay neighbours
        assert {tuple(sorted((image[a], image[b]))) for a, b in grid.neighbours} == set(grid.neighbours)
    for direction, lines in grid.lines.items():
        assert sorted(cell for line in lines for cell in line) == list(own), direction
    planes = grid.planes([str(cell) for cell in own])
    assert [word for plane in planes for word in plane] == [str(cell) for cell in own]
    assert len(planes) == (shape[0] if len(shape) == 3 else 1)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_symmetries_form_a_group(game: Game) -> None:
    group = symmetries(game)
    identity = tuple(range(game.cells))
    assert group[0] == identity
    assert len(set(group)) == len(group)
    for p in group:
        assert sorted(p) == list(identity)
        assert {tuple(p[cell] for cell in q) for q in group} == set(group)  # closed, with inverses


@given(games_and_boards())
def test_images_are_an_orbit_and_the_least_is_canonical(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    found, least = images(game, cells), canonical(game, cells)
    assert found[0] == cells
    assert all(game.check(image) == image for image in found)
    assert all(set(images(game, image)) == set(found) for image in found[:3])
    assert all(canonical(game, image) == least for image in found)
    assert game.pack(least) == min(map(game.pack, found))
    assert orbit_size(game, cells) * found.count(cells) == len(symmetries(game))
    assert (game.sum(least), game.max_exponent(least)) == (game.sum(cells), game.max_exponent(cells))


@given(games_and_boards())
def test_sliding_commutes_with_symmetry(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    slid = game.slides(cells).values()
    for i, image in enumerate(images(game, cells)):
        assert set(game.slides(image).values()) == {images(game, after)[i] for after in slid}
