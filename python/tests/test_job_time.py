"""Time outside training steps: what is found without a change to the job, and that wrapped functions stay the same."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hooked import Job, batches, capturing
from support import header_of, records_of

from whyslow_capture import files
from whyslow_capture.session import Capture


@pytest.fixture(autouse=True)
def _no_chance_collections() -> Iterator[None]:
    """A full collection would count, whenever it happens."""
    gc.disable()
    yield
    gc.enable()


def phases_of(capture: Capture) -> dict[str, float]:
    """Seconds by phase."""
    return {name: total.ns / 1e9 for name, total in capture.job_clock.phases.items()}


def test_a_job_that_is_killed_leaves_the_time_of_most_of_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray kills its workers when training is over. The header must not be of the first steps then."""
    monkeypatch.setattr(files, "DESCRIBE_AT_MOST_EVERY_S", 0.02)
    monkeypatch.setattr(files, "FLUSH_AT_MOST_EVERY_S", 0.0)
    job = Job()
    with capturing(tmp_path, flush_every_n_steps=1):
        for batch in batches(40):
            job.step(batch)
            time.sleep(0.02)
        assert within(10, lambda: header_of(tmp_path)["job"]["steps"] > 20)  # as if it were killed here


def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.05)
    return False


def test_a_checkpoint_and_an_evaluation_are_timed_once(tmp_path: Path) -> None:
    job = Job()
    evaluating = saving = 0.0
    with capturing(tmp_path) as capture:
        for batch in batches(6):
            job.step(batch)
            began = time.perf_counter()
            job.model.eval()
            time.sleep(0.02)
            # Inside the evaluation, but a checkpoint.
            before = time.perf_counter()
            torch.save(SlowToPickle(), tmp_path / "model.pt")
            saving += time.perf_counter() - before
            job.model.train()
            evaluating += time.perf_counter() - began
        found = phases_of(capture)
        counts = {name: total.count for name, total in capture.job_clock.phases.items()}
    assert counts == {"evaluation": 6, "checkpoint": 6}
    assert found["evaluation"] == pytest.approx(evaluating - saving, rel=0.2, abs=0.05)
    assert found["checkpoint"] == pytest.approx(saving, rel=0.2, abs=0.05)
    job_time = header_of(tmp_path)["job"]
    assert job_time["phases"]["checkpoint"]["call"] == "torch.save"
    assert "test_job_time.py:" in job_time["phases"]["evaluation"]["line"]
    assert job_time["steps"] == 6
    assert job_time["start_ms"] < 0 <= job_time["last_step_ms"] <= job_time["end_ms"]
    # Each step says how much there was before it, and phases in recorded steps are records.
    steps = [r for r in records_of(tmp_path) if r["name"] == "training_step"]
    before = [sum(r.get("outside_ms", {}).values()) for r in steps]
    assert before == sorted(before) and before[0] == 0 and before[-1] > 5 * 40
    assert [r["step"] for r in records_of(tmp_path) if r["name"] == "evaluation"] == [1, 2, 3, 4, 5]


class SlowToPickle:
    def __reduce__(self) -> Any:
        time.sleep(0.03)
        return (object, ())


def test_training_a_model_in_evaluation_mode_is_no_evaluation(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        for batch in batches(4):
            job.model.eval()
            time.sleep(0.01)
            job.step(batch)
        job.model.train()
        assert phases_of(capture) == {}


def test_a_job_that_only_infers_has_no_evaluation(tmp_path: Path) -> None:
    model = Job().model
    with capturing(tmp_path, steps="manual") as capture:
        model.eval()
        time.sleep(0.01)
        model.train()
        assert phases_of(capture) == {}


def test_train_is_wrapped_only_during_an_evaluation(tmp_path: Path) -> None:
    original = torch.nn.Module.train
    job = Job()
    with capturing(tmp_path):
        job.step(batches(1)[0])
        assert torch.nn.Module.train is original
        job.model.eval()
        assert torch.nn.Module.train is not original
        assert not job.model.first.training
        job.model.train()
        assert torch.nn.Module.train is original
        assert job.model.first.training


def test_an_evaluation_that_fails_ends_with_the_next_step(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        job.step(batches(1)[0])
        with pytest.raises(ZeroDivisionError):
            job.model.eval()
            raise ZeroDivisionError
        job.step(batches(1)[0])
        assert not capture.job_clock.is_evaluating
        assert phases_of(capture) == {}


def test_full_collections_and_printed_tensors_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        job.step(batches(1)[0])
        gc.collect()
        gc.collect(0)
        print(torch.zeros(3))
        totals = capture.job_clock.phases
        assert totals["gc"].count == 1
        assert totals["logging"].count == 1
        assert list(totals["logging"].calls) == ["print(tensor)"]
    assert "tensor([0., 0., 0.])" in capsys.readouterr().out
    assert not any("whyslow" in getattr(c, "__module__", "") for c in gc.callbacks)


def test_other_threads_do_not_count(tmp_path: Path) -> None:
    import threading

    job = Job()
    with capturing(tmp_path) as capture:
        job.step(batches(1)[0])
        thread = threading.Thread(target=lambda: torch.save({}, tmp_path / "in_background.pt"))
        thread.start()
        thread.join()
        assert phases_of(capture) == {}


def test_wrapped_functions_stay_what_they_were(tmp_path: Path) -> None:
    original = torch.save
    signature = inspect.signature(original)
    with capturing(tmp_path):
        assert torch.save is not original
        assert torch.save is torch.serialization.save
        assert inspect.signature(torch.save) == signature
        assert torch.save.__name__ == "save" and torch.save.__doc__ == original.__doc__
        assert pickle.loads(pickle.dumps(torch.save)) is torch.save
        with pytest.raises((OSError, RuntimeError)):
            torch.save({}, tmp_path / "no" / "such" / "folder" / "x.pt")
        torch.save({"a": torch.ones(2)}, tmp_path / "x.pt")
    assert torch.save is original
    assert torch.equal(torch.load(tmp_path / "x.pt")["a"], torch.ones(2))


class _Fakes:
    """Modules of libraries that are not installed, as the job would import them."""

    wandb = """
        class Run:
            def log(self, data, step=None):
                import time; time.sleep(0.01)
                return step
    """
    safetensors = """
        def save_file(tensors, filename, metadata=None):
            import time; time.sleep(0.01)
    """


@pytest.mark.parametrize(
    ("module", "source", "use", "phase", "called"),
    [
        ("wandb.sdk.wandb_run", _Fakes.wandb, lambda m: m.Run().log({}, step=3), "logging", "wandb.log"),
        (
            "safetensors.torch",
            _Fakes.safetensors,
            lambda m: m.save_file({}, "x"),
            "checkpoint",
            "safetensors.torch.save_file",
        ),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_libraries_are_timed_whenever_they_are_imported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    source: str,
    use: Any,
    phase: str,
    called: str,
    is_late: bool,
) -> None:
    import importlib
    import textwrap

    folder = tmp_path / "libraries"
    *packages, last = module.split(".")
    at = folder
    for package in packages:
        at = at / package
        at.mkdir(parents=True)
        (at / "__init__.py").write_text("")
    (at / f"{last}.py").write_text(textwrap.dedent(source))
    for name in [name for name in sys.modules if name.split(".")[0] == packages[0]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(folder))
    if not is_late:
        importlib.import_module(module)
    with capturing(tmp_path / "out") as capture:
        Job().step(batches(1)[0])
        fake: types.ModuleType = importlib.import_module(module)
        assert use(fake) in (3, None)
        total = capture.job_clock.phases[phase]
        assert list(total.calls) == [called]
        assert total.ns >= 9_000_000
    assert not any(type(finder).__name__ == "AfterImport" for finder in sys.meta_path)
    use(fake)  # the original again
    assert capture.job_clock.phases[phase].count == 1
    for name in [name for name in sys.modules if name.split(".")[0] == packages[0]]:
        del sys.modules[name]


def test_workers_forked_during_an_evaluation_get_the_original_torch(tmp_path: Path) -> None:
    """As DataLoader workers of a validation loop do. The evaluation of the parent goes on."""
    original_eval, original_train, original_save = torch.nn.Module.eval, torch.nn.Module.train, torch.save
    job = Job()
    with capturing(tmp_path) as capture:
        job.step(batches(1)[0])
        job.model.eval()
        child = os.fork()
        if child == 0:
            same = torch.nn.Module.eval is original_eval and torch.nn.Module.train is original_train
            os._exit(0 if same and torch.save is original_save else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert capture.job_clock.is_evaluating
        job.model.train()
        assert capture.job_clock.phases["evaluation"].count == 1


def test_inference_mode_counts_unless_it_is_part_of_an_evaluation(tmp_path: Path) -> None:
    @torch.inference_mode()
    def rollout(model: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
        time.sleep(0.01)
        return model(batch)

    job = Job()
    with capturing(tmp_path) as capture:
        for batch in batches(3):
            job.step(batch)
            assert rollout(job.model, batch).is_inference()
            job.model.eval()
            with pytest.raises(ZeroDivisionError), torch.inference_mode():
                raise ZeroDivisionError
            job.model.train()
        counts = {name: total.count for name, total in capture.job_clock.phases.items()}
        assert counts == {"inference": 3, "evaluation": 3}
        assert capture.job_clock.phases["inference"].ns > 25_000_000
    assert not torch.is_inference_mode_enabled()


def test_schedules_and_metrics_are_phases_of_recorded_steps(tmp_path: Path) -> None:
    metrics = pytest.importorskip("torchmetrics")
    job = Job()
    scheduler = torch.optim.lr_scheduler.StepLR(job.optimizer, 2)
    with capturing(tmp_path, record_every_n_steps=2):
        mean = metrics.MeanMetric()
        for batch in batches(4):
            mean.update(job.step(batch))
            scheduler.step()
        assert scheduler.get_last_lr() == [pytest.approx(0.01 * 0.1**2)]
        mean = pickle.loads(pickle.dumps(mean))
    assert mean.compute().isfinite()
    found = {(r["name"], r["step"]) for r in records_of(tmp_path) if r["name"] in ("scheduler", "metrics")}
    # The optimizer ends a step, so they belong to the next one.
    assert found == {("scheduler", 2), ("metrics", 2)}
