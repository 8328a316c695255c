"""A trial leaves the job's files as they were."""

from __future__ import annotations

from pathlib import Path

from trial_support import LOOP, tried

# Everything that a job does to its files while it trains.
BUSY = """
import os, pathlib, shutil, json, torch, numpy, safetensors.torch
import torch.distributed.checkpoint as dcp

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
os.makedirs("made/by/job", exist_ok=True)
log = open("log.txt", "a")
for step in range(50):
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    log.write("step\\n")
    log.flush()
    torch.save({"step": step}, "checkpoints/last.tmp")
    os.replace("checkpoints/last.tmp", "checkpoints/last.pt")
    assert torch.load("checkpoints/last.pt")["step"] == step
    assert os.path.getsize("checkpoints/last.pt") > 0
    if step == 3:
        torch.save(model.state_dict(), pathlib.Path("made/by/job/model.pt"))
        safetensors.torch.save_file(model.state_dict(), "checkpoints/model.safetensors")
        assert set(safetensors.torch.load_file("checkpoints/model.safetensors")) == {"weight", "bias"}
        dcp.save({"model": model.state_dict()}, checkpoint_id="checkpoints/dcp")
        numpy.save("checkpoints/old.npy", numpy.ones(3))
        pathlib.Path("config.json").write_text(json.dumps({"lr": 1}))
        assert json.loads(pathlib.Path("config.json").read_text()) == {"lr": 1}
        os.remove("checkpoints/older.pt")
        shutil.rmtree("checkpoints/step-1")
        shutil.copy("config.json", "copy.json")
        shutil.move("notes.txt", "moved.txt")
        os.symlink("last.pt", "checkpoints/latest")
        os.rename("checkpoints/step-2", "checkpoints/step-2.old")
        assert pathlib.Path("checkpoints/step-2.old/model.pt").read_text() == "precious"
        pathlib.Path("done").touch()
        assert os.path.exists("done")
        assert open("log.txt").read().startswith("old\\n" + "step\\n")
"""


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_saves_go_to_the_scratch_folder_and_nothing_is_deleted(tmp_path: Path) -> None:
    job = tmp_path / "job"
    for name in ("step-1", "step-2"):
        (job / "checkpoints" / name).mkdir(parents=True)
    for name in ("last.pt", "older.pt", "old.npy", "step-1/model.pt", "step-2/model.pt"):
        (job / "checkpoints" / name).write_text("precious")
    for name in ("log.txt", "config.json", "notes.txt"):
        (job / name).write_text("old\n")
    before = contents(job)
    turn = tried(BUSY, tmp_path)
    assert turn.process.returncode == 0, turn.process.stderr
    made = {"made", "made/by", "made/by/job"}
    assert {name: found for name, found in contents(job).items() if name not in made} == before
    assert turn.result["steps"] == 9
    redirected = " ".join(turn.result["redirected"])
    for what in ("torch.save", "safetensors", "torch.distributed.checkpoint", "open: "):
        assert what in redirected
    assert any(path.endswith("checkpoints/step-1") for path in turn.result["kept"])
    assert turn.result["escaped"] == {}
    # Whoever started the turn removes the empty folders.
    journal = (turn.scratch.parent / "results/folders").read_bytes().decode().split("\0")
    assert [path.removeprefix(f"{job}/") for path in journal if path] == ["made", "made/by", "made/by/job"]


def test_what_escapes_is_listed(tmp_path: Path) -> None:
    low = "import io\nio.FileIO('raw.bin', 'w').close()\n"
    base = "import sqlite3\nsqlite3.connect('runs.db').close()\n"
    escaped = tried(low + base + LOOP, tmp_path).result["escaped"]
    assert [what.replace(str(tmp_path), "") for what in escaped] == [
        "writes /job/raw.bin",
        "opens the database runs.db",
    ]


def test_trackers_are_off(tmp_path: Path) -> None:
    show = "import os\nprint(os.environ['WANDB_MODE'], os.environ['MLFLOW_TRACKING_URI'])\n"
    turn = tried(show + LOOP, tmp_path)
    mode, uri = turn.process.stdout.split()
    assert mode == "disabled"
    assert uri == (turn.scratch / "mlruns").as_uri()
