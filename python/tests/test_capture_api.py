"""`capture()`: three lines in a loop, a second capture, a disabled one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from support import records_of, run_program, run_torch_program

import whyslow_capture
from whyslow_capture import layout


def train(steps: int, cap: object) -> list[float]:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Dropout(0.5), torch.nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    dataset = torch.utils.data.TensorDataset(torch.randn(8 * steps, 16))
    losses = []
    for (x,) in torch.utils.data.DataLoader(dataset, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        cap.step()  # type: ignore[attr-defined]
    return losses


class Nothing:
    def step(self) -> None:
        pass


def test_three_lines_give_all_phases_and_the_same_losses(tmp_path: Path) -> None:
    expected = train(40, Nothing())
    with whyslow_capture.capture(tmp_path, record_every_n_steps=2, max_overhead=1, hooks="all") as cap:
        losses = train(40, cap)
    assert losses == expected, "bit for bit"
    rows = records_of(tmp_path)
    names = {r["name"] for r in rows if r["step"] >= 4}
    assert names == {"data_wait", "forward", "backward", "optimizer", "training_step"}
    whole = {r["step"]: r["duration_ms"] for r in rows if r["name"] == "training_step"}
    for step, duration in whole.items():
        parts = sum(r["duration_ms"] for r in rows if r["step"] == step and r["name"] != "training_step")
        assert parts <= duration * 1.001


def test_capture_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYSLOW_ENABLED", "no")
    with whyslow_capture.capture(tmp_path / "out") as cap:
        train(3, cap)
        with cap.phase("rollout"):
            pass
        assert list(cap.data([1, 2])) == [1, 2]
        assert cap.step_callback("train_actor") is None
        cap.micro_step()
        cap.set_mesh({"dp": (1, 0)})
    assert not (tmp_path / "out").exists()


def test_a_second_capture_joins_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with whyslow_capture.capture(tmp_path / "one", max_overhead=1) as outer:
        for _ in range(2):
            with whyslow_capture.capture(tmp_path / "two") as inner:
                assert inner.phase is outer.phase
                inner.step()
        assert whyslow_capture.active() is outer
        outer.step()
    assert whyslow_capture.active() is None
    assert not (tmp_path / "two").exists()
    assert json.loads(layout.rank_file(tmp_path / "one", 0).read_text())["steps"] == 3
    assert capsys.readouterr().err.count("is already on") == 1


def test_nothing_is_touched_before_a_capture_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = whyslow_capture.patches()  # what other tests have wrapped
    cap = whyslow_capture.capture(tmp_path / "late", max_overhead=1)
    assert whyslow_capture.patches() == before and whyslow_capture.active() is None
    assert cap.start() is cap and whyslow_capture.active() is cap
    train(3, cap)
    cap.close()
    assert cap.start() is cap and whyslow_capture.active() is None
    assert records_of(tmp_path / "late")
    # Steps that nobody can start it before do so, and say it once.
    forgotten = whyslow_capture.capture(tmp_path / "forgotten", max_overhead=1)
    train(3, forgotten)
    forgotten.close()
    assert records_of(tmp_path / "forgotten")
    assert capsys.readouterr().err.count("call start() before") == 1
    unused = whyslow_capture.capture(tmp_path / "unused")
    unused.close()
    assert not (tmp_path / "unused").exists()


def test_one_capture_after_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with whyslow_capture.capture(tmp_path / name, max_overhead=1) as cap:
            train(3, cap)
        assert records_of(tmp_path / name)


def test_an_unknown_setting_raises(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="record_every_n_steps"):
        whyslow_capture.capture(tmp_path, record_evry_n_steps=5)
    assert whyslow_capture.active() is None


def test_manifests(tmp_path: Path) -> None:
    with whyslow_capture.capture(tmp_path, run="abc") as cap:
        cap.set_mesh({"pp": (2, 1), "dp": (4, 3)})
        train(3, cap)
    run = json.loads(layout.run_file(tmp_path).read_text())
    assert run["run"] == "abc"
    assert run["world_size"] == 1
    assert run["mesh"] == {"axes": ["pp", "dp"], "sizes": [2, 4]}
    assert run["schedule"]["record_every_n_steps"] == 10
    assert run["versions"]["torch"] == str(torch.__version__)
    rank = json.loads(layout.rank_file(tmp_path, 0).read_text())
    assert rank["coordinates"] == {"pp": 1, "dp": 3}
    assert rank["device"] is None
    assert [a["at"] for a in rank["anchors"]] == ["start", "end"]
    assert rank["anchors"][1]["wall_ns"] > rank["anchors"][0]["wall_ns"] > 1.7e18
    assert not list(tmp_path.rglob("*.partial-*"))


def test_importing_does_not_import_torch_or_initialize_cuda() -> None:
    without = run_program("import sys, whyslow_capture; assert 'torch' not in sys.modules")
    with_torch = run_torch_program(
        "import whyslow_capture; whyslow_capture.capture; import torch; assert not torch.cuda.is_initialized()"
    )
    assert (without.stderr, with_torch.stderr) == ("", "")


def test_random_numbers_do_not_change(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    torch.manual_seed(5)
    with whyslow_capture.capture(tmp_path) as cap:
        for _ in range(30):
            cap.step()
    assert torch.rand(3).tolist() == expected
