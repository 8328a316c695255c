"""All that capture replaces is in one table, is put back, and is reported when a library has renamed it."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from hooked import Job, batches, capturing
from support import SRC, run_program
from torch.utils.data import DataLoader

import whyslow_capture
from whyslow_capture import layout, patching
from whyslow_capture.config import TraceConfig
from whyslow_capture.patching import find
from whyslow_capture.touched import CALLS, GROUPS, TARGETS, TIMED

_ABSENT = "absent"
# Libraries fill these as they work.
_CACHES = ("__warningregistry__", "__annotations__", "__annotate_func__", "__annotations_cache__")


def state() -> dict[str, object]:
    """What is in place of each target now."""
    found: dict[str, object] = {}
    for target in TARGETS:
        if target.kind == "replaced":
            owner, name = find(target)
            if owner is None:
                continue
            found[target.id] = vars(owner).get(name, _ABSENT)
            for alias in target.also:
                found[f"{target.id} in {alias}"] = vars(sys.modules[alias]).get(name) if alias in sys.modules else None
        elif target.kind == "hook" and target.module != "atexit":  # Python does not show that list
            owner, name = find(target)
            held = getattr(owner, name, ())
            found[target.id] = dict(held) if isinstance(held, dict) else list(held)
    found["environment"] = dict(os.environ)
    return found


def train(job: Job, steps: int = 12) -> None:
    scheduler = torch.optim.lr_scheduler.StepLR(job.optimizer, 4)
    for x in DataLoader(batches(steps), batch_size=None):
        job.step(x)
        scheduler.step()
    job.model.eval()
    with torch.inference_mode():
        job.model(batches(1)[0])
    job.model.train()
    gc.collect()


def everything_of(prefixes: tuple[str, ...]) -> dict[str, int]:
    """Every attribute of the modules and classes of these libraries: what it is now, by its address."""
    found: dict[str, int] = {}
    for module in list(sys.modules.values()):
        if not isinstance(module, ModuleType) or module.__name__.partition(".")[0] not in prefixes:
            continue
        for name, value in list(vars(module).items()):
            if name in _CACHES:
                continue
            found[f"{module.__name__}.{name}"] = id(value)
            if isinstance(value, type) and value.__module__ == module.__name__:
                for attribute, inner in list(vars(value).items()):
                    if callable(inner) or isinstance(inner, (staticmethod, classmethod)):
                        found[f"{module.__name__}.{name}.{attribute}"] = id(inner)
    return found


def import_libraries() -> None:
    import torch._dynamo.callback
    import torch.distributed.checkpoint.state_dict
    import torch.distributed.checkpoint.state_dict_saver  # noqa: F401


def test_every_target_is_as_before_after_close(tmp_path: Path) -> None:
    import_libraries()
    job = Job()
    before = state()
    with capturing(tmp_path, trace=TraceConfig(enabled=True, period=6)):
        changed = {name for name, value in state().items() if value != before[name]}
        train(job)
    now = state()
    assert {name: (value, before[name]) for name, value in now.items() if value != before[name]} == {}
    assert whyslow_capture.patches() == []
    assert {"torch.optim.optimizer._global_optimizer_post_hooks", "torch.serialization.save"} <= changed
    assert not job.model._forward_pre_hooks
    assert not job.model._backward_hooks


def test_every_target_is_as_before_after_an_exception(tmp_path: Path) -> None:
    import_libraries()
    before = state()
    job = Job()
    with pytest.raises(KeyError, match="of the job"), capturing(tmp_path) as capture:
        for x in batches(5):
            job.step(x)
        job.model.eval()
        raise KeyError("of the job")
    assert state() == before
    assert capture.problems.counts == {}
    assert not job.model._forward_pre_hooks


def test_nothing_is_touched_that_the_table_does_not_have(tmp_path: Path) -> None:
    """Compares every attribute of torch and of Python's own modules, not only those that the table has."""
    import_libraries()
    prefixes = ("torch", "builtins", "io", "os", "sys", "gc", "threading", "multiprocessing", "subprocess", "atexit")
    job = Job()
    with capturing(tmp_path / "warm"):
        train(job)  # what torch itself sets when it is first used
    before = everything_of(prefixes)
    allowed = {f"{module}.{target.name}" for target in TARGETS for module in (target.module, *target.also)}
    with capturing(tmp_path / "out"):
        for index, x in enumerate(DataLoader(batches(6), batch_size=None)):
            job.step(x)
            during = everything_of(prefixes) if index in (0, 3) else {}
            changed = {name for name, value in during.items() if name in before and before[name] != value}
            # A class is also reachable under the names that other modules import.
            strangers = {name for name in changed if not any(name.endswith("." + a.split(".")[-1]) for a in allowed)}
            assert strangers == set()
            assert index not in (0, 3) or changed


def test_a_forked_child_gets_every_target_back(tmp_path: Path) -> None:
    import_libraries()
    job = Job()
    before = state()
    with capturing(tmp_path):
        job.step(batches(1)[0])
        child = os.fork()
        if child == 0:
            now = state()
            same = [now[name] == before[name] for name in before]
            os._exit(0 if all(same) and whyslow_capture.patches() == [] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert whyslow_capture.patches() != []


def of_child(answer: Any) -> None:
    answer.put([each.target for each in whyslow_capture.patches()])


def test_a_spawned_child_is_not_touched(tmp_path: Path) -> None:
    with capturing(tmp_path):
        context = multiprocessing.get_context("spawn")
        answer = context.Queue()
        child = context.Process(target=of_child, args=(answer,))
        child.start()
        assert answer.get(timeout=240) == []
        child.join()


def test_a_wrapper_over_ours_is_listed_as_covered(tmp_path: Path) -> None:
    original = torch.nn.Module.eval
    try:
        with capturing(tmp_path):
            ours = torch.nn.Module.eval
            torch.nn.Module.eval = lambda self: ours(self)  # type: ignore[method-assign]
        left = whyslow_capture.patches()
        assert [(each.target, each.is_covered) for each in left] == [("torch.nn.Module.eval", True)]
    finally:
        torch.nn.Module.eval = original  # type: ignore[method-assign]
        patching._in_place.clear()


@pytest.mark.parametrize("name", ["torch.serialization.save", "torch.nn.Module.eval"])
def test_a_target_that_a_library_renamed_is_reported(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = next(target for target in TARGETS if target.id == name)
    owner, attribute = find(target)
    monkeypatch.setitem(patching._missing, "x", "y")
    patching._missing.clear()
    monkeypatch.delattr(owner, attribute)
    with capturing(tmp_path, stacks=False) as capture:
        job = Job()
        for x in batches(3):
            job.step(x)
    assert capture.problems.counts == {"hook-missing": 1}
    assert f"{name} does not exist" in capsys.readouterr().err
    manifest = json.loads(layout.rank_file(tmp_path, 0).read_text())
    assert manifest["hooks"]["missing"] == {name: "does not exist"}
    assert "torch.autograd.backward" in manifest["hooks"]["installed"]


def test_patches_lists_what_is_active(tmp_path: Path) -> None:
    assert whyslow_capture.patches() == []
    with capturing(tmp_path):
        active = {each.target: each for each in whyslow_capture.patches()}
    assert active["torch.optim.optimizer._global_optimizer_post_hooks"].kind == "hook"
    assert active["torch.nn.Module.eval"].group == "evaluation"
    assert all(each.why and not each.is_covered for each in active.values())


@pytest.mark.parametrize("group", sorted(name for name, group in GROUPS.items() if not group.comes_with))
def test_one_group_installs_nothing_of_the_others(group: str, tmp_path: Path) -> None:
    import_libraries()
    job = Job()
    with capturing(tmp_path, hooks=(group,), trace=TraceConfig()) as capture:
        active = {each.group for each in whyslow_capture.patches()}
        train(job)
        active |= {each.group for each in whyslow_capture.patches()}
        ever = set(patching._ever)
    assert active - {"imports", "process"} <= {group}
    assert capture.problems.counts == {}
    assert {target.group for target in TARGETS if target.id in ever} - {"imports"} <= {group}


@pytest.fixture(autouse=True)
def nothing_was_installed_before() -> None:
    """Other tests of this process wrap our wrappers, which then stay."""
    patching._ever.clear()
    patching._in_place.clear()


def test_code_gets_torchs_own_hooks_and_the_dataloader_unless_it_asks_for_more(tmp_path: Path) -> None:
    with whyslow_capture.capture(tmp_path / "default"):
        default = {each.group for each in whyslow_capture.patches()}
    with whyslow_capture.capture(tmp_path / "all", hooks="all"):
        everything = {each.group for each in whyslow_capture.patches()}
    with whyslow_capture.capture(tmp_path / "some", hooks=["optimizer", "gc"]):
        some = {each.group for each in whyslow_capture.patches()}
    with whyslow_capture.capture(tmp_path / "none", hooks="none"):
        assert whyslow_capture.patches() == []
    assert default == {"optimizer", "dataloader"}
    assert {"model", "collectives", "checkpoint", "gc", *default} <= everything
    assert some == {"optimizer", "gc"}
    with pytest.raises(ValueError, match="one or several of public, all, none, optimizer"):
        whyslow_capture.capture(tmp_path, hooks="pulbic")


def test_requests_are_not_looked_for_if_control_is_off(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path, control=False):
        job.step(batches(1)[0])
        names = {thread.name for thread in threading.enumerate()}
        assert "whyslow-events" in names
        assert "whyslow-control" not in names


def test_the_table_is_consistent() -> None:
    assert len({target.id for target in TARGETS}) == len(TARGETS)
    assert {target.group for target in TARGETS} == set(GROUPS)
    assert {target.group for target in CALLS} == set(TIMED)
    assert all(target.called for target in CALLS)


def test_targets_of_installed_libraries_exist_and_are_restored() -> None:
    """The real libraries, as far as they are installed here: a release that renames something fails this test."""
    found = run_program(
        """
        import importlib, json, sys, tempfile
        from whyslow_capture import capture
        from whyslow_capture.patching import find
        from whyslow_capture.touched import CALLS

        modules = {target.module for target in CALLS}
        for name in modules:
            try:
                importlib.import_module(name)
            except Exception as error:
                continue  # not installed
        def state():
            found = {}
            for target in CALLS:
                if target.module in sys.modules:
                    owner, name = find(target)
                    found[target.id] = vars(owner).get(name, "inherited"), hasattr(owner, name)
            return found
        before = state()
        with tempfile.TemporaryDirectory() as out, capture(out, hooks="all"):
            during = state()
        after = state()
        gone = [name for name, (_, exists) in before.items() if not exists]
        same = [name for name in before if during[name] == before[name]]
        left = [name for name in before if after[name] != before[name]]
        print(json.dumps([gone, same, left, len(before), sorted(modules & sys.modules.keys())]))
        """
    )
    gone, same, left, count, modules = json.loads(found.stdout.splitlines()[-1])
    assert (gone, same, left) == ([], [], [])
    libraries = {"transformers.trainer", "safetensors.torch", "torchmetrics.metric"}
    assert count > 10 and {name for name in libraries if find_spec(name.partition(".")[0])} <= set(modules)


def test_docs_are_current() -> None:
    root = SRC.parents[1]
    script = root / "scripts" / "what-capture-does.py"
    made = subprocess.run([sys.executable, str(script), "--print"], capture_output=True, text=True, check=True).stdout
    written = (root / "docs" / "what-capture-does.md").read_text()
    assert made == written, "run `npm run what-capture-does`"
