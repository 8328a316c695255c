"""
Ends of iterations, drawn as text. A word is a group of optimizer steps without a backward pass between; | ends a step.
"""

from __future__ import annotations

import pytest

from whyslow_capture.hooks.iterations import IterationTracker


def drawn(groups: str, sees_backward: bool = True) -> str:
    clock = IterationTracker()
    words = []
    for group in groups.split():
        if sees_backward:
            clock.backward_since_step = True
        words.append("".join(letter + ("|" if clock.stepped(ord(letter)) else "") for letter in group))
    return " ".join(words)


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param("A| A| A| A|", id="one optimizer"),
        pytest.param("D| G D G| D G| D G|", id="two in turn: after the last of the cycle, once it is known"),
        pytest.param("D| D| D| G D D D G| D D D G| D D D G|", id="three of one, one of the other"),
        pytest.param("Q| Q| P A P A Q Q P A P A| Q Q P A P A|", id="the last one comes twice (SAC)"),
        pytest.param("D| G D G| D G| D D D D D| D| D|", id="the last one disappears"),
        pytest.param("D| G D G| D G| G| G| G|", id="the first one disappears"),
        pytest.param("D| G D G| D D D D D| D| D| D| G D G| D G|", id="and comes back"),
        pytest.param("A| A| A| B B B| B| B|", id="another takes its place"),
        pytest.param("A| B C A B C| A B C| B C| B C|", id="three, the first disappears"),
        pytest.param("M|A MA| MA| MA|", id="side by side"),
        pytest.param("Z|ZZZ ZZZZ| ZZZZ| ZZZZ|", id="one called for each part of the parameters"),
        pytest.param("Z|ZZ ZZ ZZ|Z ZZ| ZZ|Z ZZ|Z ZZZ| ZZZ|", id="in a number that varies"),
        pytest.param("A| A|A A| A| A|A A| A|", id="one step twice now and then"),
    ],
)
def test_each_iteration_ends_once(expected: str) -> None:
    assert drawn(expected.replace("|", "")) == expected


def test_a_rare_optimizer_does_not_define_the_loop() -> None:
    often = " ".join(["D|"] * 20)
    expected = f"{often} G {often} G {often}"
    assert drawn(expected.replace("|", "")) == expected


@pytest.mark.parametrize("expected", ["A| A| A|", "D| G D G| D G|"])
def test_iterations_without_visible_backward(expected: str) -> None:
    assert drawn(expected.replace("|", ""), sees_backward=False) == expected
