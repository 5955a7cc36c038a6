"""The spawn law: what is read and printed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tilebase.cli import main
from tilebase.errors import GameError
from tilebase.game.game import Game
from tilebase.game.spawns import ORIGINAL, SpawnLaw, law_of
from tilebase.questions.prove import prove
from tilebase.web.documents import describe_rules


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("0.1", "1/10"),
        (0, "0"),
        (Fraction(2, 6), "1/3"),
        (" 3/4 ", "3/4"),
        ("50%", "1/2"),
        ("12.5 %", "1/8"),
        (ORIGINAL, "1/10"),
    ],
)
def test_what_is_read_is_printed_in_one_form(written: object, text: str) -> None:
    law = SpawnLaw.of(written)  # type: ignore[arg-type]
    assert str(law) == text
    assert SpawnLaw.of(text) == law
    game = Game("2x3", 32, spawn=text)
    assert Game.from_identity(game.identity) == game
    assert game.identity["four"] == text


def test_probabilities_of_the_tiles() -> None:
    law = SpawnLaw.of("2/5")
    assert [law.chance(e) for e in (1, 2, 3)] == [Fraction(3, 5), Fraction(2, 5), 0]
    assert (law.weight(1), law.weight(2), law.denominator) == (3, 2, 5)
    assert law_of("4, 2") == ORIGINAL
    assert law_of("4").exponents == (2,)


@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        ("110%", "the probability of a 4 is 110%, but must lie between 0 "),
        ("%", "'%' is not a probability"),
        ("1/10, 2: 1/3", "'1/10, 2: 1/3' is not a probability"),
        ("often", "'often' is not a probability"),
        ("1/1000000000000000001", "has too many digits"),
        ("", "'' is not a probability"),
        ("2:0.9,8:0.1", "'2:0.9,8:0.1' is not a probability"),
    ],
)
def test_what_is_no_law_is_refused(law: str, sentence: str) -> None:
    with pytest.raises(GameError) as raised:
        Game("2x2", 8, spawn=law)
    assert sentence in str(raised.value)


def test_a_law_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert ORIGINAL.words == "2 with probability 9/10 and 4 with probability 1/10"
    game = Game("2x2", 32, spawn="1/3")
    words = "spawns of 2 with probability 2/3 and 4 with probability 1/3: there is a strategy"
    assert words in prove(game, threads=1).statement
    assert "One of 3 new tiles is a 4." in str(describe_rules(game))
    assert main(["solve", "2x2", "32", "--spawn", "1/3", "-q"]) == 0
    assert "2x2, to 32, spawn 1/3" in capsys.readouterr().out
