"""The zoo's programs (zoo/programs): the registry holds together, a loop and its repaired twin do the same work."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

PROGRAMS = Path(__file__).parents[2] / "zoo" / "programs"
# A number of the knowledge base, or the id of a rule that has none.
RULE = re.compile(r"[TW]\d+(-[a-z]+)*|[a-z]+(-[a-z]+)+")


@pytest.fixture(scope="module")
def zoo() -> Iterator[None]:
    """The programs import each other by bare names."""
    before = set(sys.modules)
    sys.path.insert(0, str(PROGRAMS))
    yield
    sys.path.remove(str(PROGRAMS))
    for name in set(sys.modules) - before:
        if str(PROGRAMS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.usefixtures("zoo")
class TestRegistry:
    def cases(self) -> list[tuple[str, dict[str, Any]]]:
        from registry import all_cases

        return [(group, {case.name: case for case in cases}) for group, cases in all_cases().items()]

    def test_names_are_unique(self) -> None:
        from registry import all_cases

        names = [case.name for cases in all_cases().values() for case in cases]
        assert len(names) == len(set(names))

    def test_twins_are_in_the_same_group_and_say_what_was_fixed(self) -> None:
        for group, cases in self.cases():
            for case in cases.values():
                if case.twin:
                    assert case.twin in cases, f"{group} {case.name}"
                    assert case.twin != case.name
                    assert case.fix, case.name

    def test_rules_are_not_promised_and_forbidden_at_once(self) -> None:
        for _, cases in self.cases():
            for case in cases.values():
                claimed = [*case.rules, *case.not_a_gain]
                assert all(RULE.fullmatch(rule) for rule in claimed), case.name
                assert len(claimed) == len(set(claimed)), case.name

    def test_a_planted_fault_of_an_unseen_case_has_a_measured_fix(self) -> None:
        unseen = dict(self.cases())["unseen"]
        twins = {case.twin for case in unseen.values()}
        for case in unseen.values():
            if case.rules and case.name not in twins:
                assert case.twin, case.name


@pytest.mark.usefixtures("zoo")
class TestTwinsAgree:
    def test_masks_of_packed_texts(self) -> None:
        from cases_unseen_text import mask_by_loops, mask_on_device, packed_lengths

        lengths = next(packed_lengths(3, 24))
        for loops, device in zip(mask_by_loops(lengths, 24), mask_on_device(lengths, 24, "cpu"), strict=True):
            assert torch.equal(loops, device)

    def test_losses_of_the_detector(self) -> None:
        from cases_unseen_vision import KINDS, MOST_OBJECTS, anchors, loss_of_batch, loss_per_picture

        torch.manual_seed(0)
        places, counts = anchors(16, "cpu"), (3, 7, 11)
        corner = torch.rand(3, MOST_OBJECTS, 2) * 0.6
        boxes = torch.cat([corner, corner + 0.1 + 0.3 * torch.rand(3, MOST_OBJECTS, 2)], -1)
        for row, count in enumerate(counts):
            boxes[row, count:] = 0
        kinds, output = torch.randint(0, KINDS, (3, MOST_OBJECTS)), torch.randn(3, len(places), 4 + KINDS)
        few = [boxes[i, :n] for i, n in enumerate(counts)], [kinds[i, :n] for i, n in enumerate(counts)]
        torch.testing.assert_close(loss_per_picture(output, *few, places), loss_of_batch(output, boxes, kinds, places))

    def test_averages_of_weights(self) -> None:
        from cases_unseen_diffusion import average_weights

        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4)
        shadows = []
        for how in ("loop", "foreach"):
            average, shadow = average_weights(model, how)
            with torch.no_grad():
                model.weight += 1
            average()
            with torch.no_grad():
                model.weight -= 1
            shadows.append(shadow.weight)
        torch.testing.assert_close(*shadows)

    def test_a_graph_of_molecules_joined_by_parts(self) -> None:
        from cases_unseen_input import joined

        first = torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]]), torch.zeros(1)
        second = torch.zeros(3, 3), torch.tensor([[0], [2]]), torch.ones(1)
        atoms, bonds, owner, truth = joined([first, second], "cpu")
        assert atoms.shape == (5, 3)
        assert bonds.tolist() == [[0, 1, 2], [1, 0, 4]]
        assert owner.tolist() == [0, 0, 1, 1, 1]
        assert truth.tolist() == [0, 1]


class FilledQueue(Iterator[int]):
    """A loader whose workers make no batch while they are asked for one: those that were ready run out."""

    prefetched = 8

    def __init__(self) -> None:
        self.ready = 0

    def fill(self) -> None:
        self.ready = self.prefetched

    def __next__(self) -> int:
        self.ready = max(0, self.ready - 1)
        return self.ready


@pytest.mark.usefixtures("zoo")
@pytest.mark.parametrize("has_neighbor", [True, False])
def test_no_recorded_step_finds_batches_that_were_made_while_a_neighbor_ran(has_neighbor: bool, tmp_path: Path) -> None:
    from harness import Clock, Driver, write_trace
    from registry import Case, Loop

    queue = FilledQueue()
    ready: list[int] = []
    case = Case("queue", lambda _: Loop(ready.append, queue), None)

    def neighbor_ms() -> float | None:
        if not has_neighbor:
            return None
        queue.fill()
        return 1.0

    driver = Driver(case.build(None), Clock("cpu"))
    around = write_trace(driver, case, "cpu", tmp_path / "trace.json", neighbor_ms)
    assert around == ([1.0, 1.0] if has_neighbor else [None, None])
    assert ready[-case.active :] == [0] * case.active
    assert (ready[0] > 0) == has_neighbor
