"""`trace_handler` and `%%whyslow` in training processes. The command line is a script, so no build is needed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from support import run_torch_program

TRAIN = """
import os, sys, time, threading
from pathlib import Path
import torch, whyslow
from torch.profiler import profile, schedule

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = torch.utils.data.DataLoader(torch.randn(400, 8), batch_size=4)

def train(steps, after=lambda: None):
    for step, batch in enumerate(loader):
        if step == steps:
            break
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        after()

def node(script):
    program = Path(sys.argv[1]) / "node"
    program.write_text("#!/bin/sh\\n" + script)
    program.chmod(0o755)
    os.environ["WHYSLOW_NODE"] = str(program)

def windows(handler, repeat=1):
    with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=repeat), on_trace_ready=handler) as profiler:
        train(3 * repeat, profiler.step)

out = Path(sys.argv[1]) / "out"
"""


def traces(out: Path) -> list[Path]:
    return sorted(path for path in out.rglob("*") if path.is_file())


def test_a_trace_handler_keeps_the_trace_and_prints_the_verdict(tmp_path: Path) -> None:
    code = """
node('echo "Data-bound: $3"')
windows(whyslow.trace_handler(out))
"""
    ran = run_torch_program(TRAIN + code, tmp_path)
    folder = tmp_path / "out/traces/step_3"
    assert traces(tmp_path / "out") == [folder / "rank-0-coord-0-trace.json.gz"]
    assert "traceEvents" in json.loads(gzip.decompress(traces(tmp_path / "out")[0].read_bytes()))
    assert f"Data-bound: {folder}\n" in ran.stderr


def test_a_verdict_that_takes_long_holds_up_no_training(tmp_path: Path) -> None:
    code = """
import whyslow.handler
whyslow.handler.AT_EXIT_S = 0.1
node('while ! test -e "$(dirname "$0")/go"; do sleep 0.05; done; echo "the verdict of $3"')
windows(whyslow.trace_handler(out), repeat=2)
print("trained", flush=True)
"""
    ran = run_torch_program(TRAIN + code, tmp_path)
    assert ran.stdout == "trained\n"
    assert "the verdict of step 6 is left out, because the previous one is not ready" in ran.stderr
    (tmp_path / "go").touch()


@pytest.mark.parametrize("broken", ["out.write_text('a file')", "node('exit 9')", "sys.executable = '/no/python'"])
def test_nothing_in_a_trace_handler_ends_the_job(tmp_path: Path, broken: str) -> None:
    ran = run_torch_program(f"{TRAIN}\n{broken}\nwindows(whyslow.trace_handler(out))\nprint('trained')", tmp_path)
    assert ran.stdout == "trained\n"
    assert "Traceback" not in ran.stderr


NOTEBOOK = """
class Result:
    success = True

class Shell:
    '''The two methods of IPython's shell that the extension uses.'''
    def register_magic_function(self, function, magic_kind):
        assert magic_kind == "cell"
        self.magic = function
    def run_cell(self, cell):
        result = Result()
        try:
            exec(cell, globals())
        except Exception as error:
            print(type(error).__name__)
            result.success = False
        return result

def functions():
    from torch.optim import optimizer as base
    holders = [torch.utils.data.DataLoader, torch.optim.SGD, torch.optim.Optimizer, torch.nn.Module, torch.autograd]
    hooks = [len(base._global_optimizer_pre_hooks), len(base._global_optimizer_post_hooks)]
    return hooks, [{name: id(value) for name, value in vars(holder).items()} for holder in holders]

import whyslow.notebook
shell = Shell()
whyslow.load_ipython_extension(shell)
whyslow.notebook.diagnose = lambda folder, title: sorted(p.name for p in Path(folder).iterdir())
train(2)
before = functions(), threading.active_count()
"""


def test_a_measured_cell_leaves_no_hooks_behind(tmp_path: Path) -> None:
    code = """
print(shell.magic(f"--out {out} --no-trace", "train(30); trained = True"), trained)
# A thread that has written its last file may take a moment to end on a busy machine.
until = time.monotonic() + 30
while threading.active_count() > before[1] and time.monotonic() < until:
    time.sleep(0.01)
assert (functions(), threading.active_count()) == before
"""
    ran = run_torch_program(TRAIN + NOTEBOOK + code, tmp_path)
    assert ran.stdout == "['cuda_event_profiler', 'ranks', 'run.json'] True\n"


def test_a_cell_that_fails_or_does_not_train_has_no_report(tmp_path: Path) -> None:
    code = """
print(shell.magic("", "train(3); 1 / 0"))
print(shell.magic("", "x = 1"), x)
assert functions() == before[0]
try:
    shell.magic("--what", "train(3)")
except whyslow.InputError as error:
    print(error)
"""
    ran = run_torch_program(TRAIN + NOTEBOOK + code, tmp_path)
    assert ran.stdout.splitlines() == [
        "ZeroDivisionError",
        "None",
        "whyslow: this cell did not train: no step was seen",
        "None 1",
        "usage: %%whyslow [--out FOLDER] [--no-trace]",
    ]
