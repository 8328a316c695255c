# ruff: noqa: E501
"""Writes docs/what-capture-does.md from the table of python/src/whyslow_capture/touched.py. `--print`: to stdout."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python/src"))

from whyslow_capture.touched import GROUPS, TARGETS, Group, Target  # noqa: E402

UNDONE = {
    "replaced": "Restored on close, unless someone has wrapped ours since; then ours stays and only passes calls on.",
    "hook": "Taken out of the list on close.",
    "on the job's objects": "Removed from the object on close, most of them sooner (see the table).",
    "for good": "Cannot be removed. It does nothing when no capture is open.",
}

HEAD = """\
# What capture does to your process

<!-- Written by `npm run what-capture-does` from python/src/whyslow_capture/touched.py. Do not edit. -->

`whyslow_capture` touches the objects below and nothing else. Every hook is installed from this table; tests compare all targets
before and after `close()`, in forked and spawned children, and after an exception, and compare every attribute of torch with what
this table allows.

- `whyslow_capture.patches()` lists what is in place now. `ranks/rank_<r>.json` lists what was (`hooks.installed`), what somebody has
  wrapped so that ours had to stay (`hooks.covered`), and what a library no longer has (`hooks.missing`, also a line on stderr).
- After `close()` the process is as it was before. A forked child gets the original torch back at once; a spawned one is never
  touched, unless `whyslow run` started the job.
- An error in our code is caught, counted and reported once; training goes on.

## Switches
"""

TAIL = """\
## What a report loses with the public hooks only

Five CPU jobs of this project, each measured by `whyslow run` with `WHYSLOW_HOOKS=all` and with `WHYSLOW_HOOKS=public` (2026-11-19, a
busy machine with 2 cores, most jobs shortened to a minute; the comparison is of what is found, not of times).

| job | with all hooks | with the public ones |
| --- | --- | --- |
| slow files, DataLoader without workers | data, `num_workers=0` is the fix | the same; no forward and backward time |
| an average of the weights copied in each step | compute; `weights-copied` names the copies | compute; that finding is missing |
| two ranks, one sleeps in each micro-batch | host: one rank sleeps, with the line | compute; all_reduce, checkpoint and evaluation are missing, and with them the sleep |
| PPO: a rollout, then 8 optimizer steps | host: 40% of the job is the rollout; a step is a rollout with its updates | compute; a step is one optimizer step, and the rollout is not found |
| an evaluation every 25 steps | host: 54% of the job after start-up is evaluation | host, "in Python, outside the model's phases"; the evaluation is not found |

So the public hooks are enough to see that a job waits for input, and how long its steps take. For time outside steps, for what a
step consists of, and for ranks that wait for each other, allow `model`, `evaluation`, `checkpoint`, `logging` and `collectives`, or
name those parts yourself with `cap.phase()`.

## Threads

All are daemons and end with the capture.

| thread | from | does |
| --- | --- | --- |
| `whyslow-events` | the first step | writes the files of this rank |
| `whyslow-stacks` | the first step | looks at Python stacks (`sys._current_frames`) a few times per second; `stacks=False` turns it off |
| `whyslow-stuck` | the first step | looks every few seconds whether steps still end; `stuck_after=0` turns it off |
| `whyslow-control` | the first step | looks once per second for requests of `whyslow capture` in `OUT/control` |
| `whyslow-alerts` | the first incident | only with `whyslow watch --notify wandb` or `mlflow`: passes incidents on to the run that the job has there |
| `whyslow-compress` | the first trace | compresses traces, at the lowest priority |

## What is recorded

All files are in the folder that you choose (`out`). Nothing is sent anywhere but the incidents that `--notify wandb` or `mlflow` asks for, and no file outside that folder is written.

| file | holds |
| --- | --- |
| `cuda_event_profiler/*.jsonl` | times of phases and steps; the time outside steps, with file, line and function of your code that took it |
| `ranks/rank_<r>.json` | host name, process id, device, how the process was started, settings of the DataLoader, cores, clocks |
| | `stacks`: file, line, function and source text of your lines that hold the training thread most often |
| `run.json` | the command line, versions, settings, the mesh |
| `traces/` | torch.profiler's trace of a window: operator and kernel names, with `record_shapes` also shapes, with `with_stack` your lines |
| `stuck/` | once no step has ended for `stuck_after` (180 s): stacks of the Python threads, and the collectives that torch has recorded |
| `memory/` | when the CUDA allocator runs out of memory: its blocks and the stack that asked; with `memory=True` also its last events with Python stacks, and a snapshot at the peak |
| `control/` | requests for windows and the answers |

It reads clocks and counters of its own process and of the machine in `/proc` and the control groups, the command line of the parent
process (to name torchrun's), and the source lines that it quotes. It reads no batch, no parameter and no gradient: of tensors it
looks at sizes, types and devices.

## What it costs

`max_overhead` (0.5%) limits what recording may take: capture measures its own cost and records fewer steps if needed. Measured
figures are in [measurements](internal/measurements.md).

| what | when | cost |
| --- | --- | --- |
| hooks in steps that are not recorded | each step | a few µs |
| a recorded step | one in ten, or fewer | about 0.1 ms on a slow host |
| search for the models, among all objects | once or twice, in the first steps | 0.1 to 0.3 µs per object; torch alone has 300,000 |
| stacks | a few times per second | at most a fifth of `max_overhead` |
| a profiler window | in the window's steps | launches take longer; the job waits while the trace is saved (decisions 0016 and 0021) |
"""


def main() -> None:
    parts = [
        HEAD,
        _switches(),
        "\n## Targets\n",
        *map(_section, GROUPS.items()),
        _undone(),
        TAIL,
    ]
    text = "\n".join(parts)
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        (ROOT / "docs/what-capture-does.md").write_text(text)


def _switches() -> str:
    rows = [
        f"| `{name}` | {'yes' if group.is_public else 'no'} | {group.why} | {group.without} |"
        for name, group in GROUPS.items()
        if not group.comes_with
    ]
    return "\n".join(
        [
            "| group | public | measures | a report without it lacks |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def _section(item: tuple[str, Group]) -> str:
    name, group = item
    mine = [target for target in TARGETS if target.group == name]
    lines = [
        f"### {name}\n",
        f"{group.why[0].upper()}{group.why[1:]}." + (f" Comes with {group.comes_with}." if group.comes_with else ""),
        "",
    ]
    lines += ["| module | targets | kind | when |", "| --- | --- | --- | --- |"]
    for _, alike in groupby(mine, key=lambda t: (t.module, t.kind, t.armed, t.also, t.since)):
        lines.append(_row(list(alike)))
    return "\n".join([*lines, ""])


def _row(targets: list[Target]) -> str:
    one = targets[0]
    also = f", also in {', '.join(f'`{module}`' for module in one.also)}" if one.also else ""
    since = f" (torch {one.since} and newer)" if one.since else ""
    names = ", ".join(f"`{target.name}`" for target in targets)
    return f"| `{one.module}`{also} | {names}{since} | {one.kind} | {one.armed} |"


def _undone() -> str:
    rows = [f"| {kind} | {undone} |" for kind, undone in UNDONE.items()]
    return "\n".join(
        [
            "## How each kind is undone",
            "",
            "| kind | undone |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


main()
