"""`whyslow facts --on …`: what driver.py asks of an engine, and what it makes of the answers."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import driver
import facts_on_nodes
import on_dask
import pytest
from engine import NoCluster, first_line

Answer = dict[str, Any]


class Fake:
    """An `Engine` whose hosts answer at once, the last task first. An answer that is an exception is raised."""

    def __init__(self, hosts: dict[str, str], slots: int = 1) -> None:
        self.known = hosts
        self.count = slots
        self.answers: dict[int, Any] = {}
        self.placed: dict[str, list[str] | None] = {}
        self.most = 0

    def hosts(self) -> dict[str, str]:
        return self.known

    def slots(self) -> int:
        return self.count

    def share(self, data: Any) -> Any:
        return data

    def start(self, function: Callable[..., Any], arguments: Iterable[Any], hosts: list[str] | None) -> int:
        path, *_ = arguments
        self.placed[path] = hosts
        return self._add(function(path))

    def start_soon(self, function: Callable[..., Any], arguments: Iterable[Any], host: str) -> int:
        return self._add(function(host))

    def _add(self, answer: Any) -> int:
        task = len(self.placed) * 1000 + len(self.answers)
        self.answers[task] = answer
        self.most = max(self.most, len(self.answers))
        return task

    def next_done(self, tasks: Iterable[int]) -> int:
        return list(tasks)[-1]

    def result(self, task: int) -> Any:
        answer = self.answers.pop(task)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def why(self, error: BaseException) -> str:
        return f"engine: {error}"

    def close(self) -> None:
        pass


def seen(path: str, size: int = 1, modified: int = 0, explicit: bool = False) -> Answer:
    return {"path": path, "size": size, "modified": modified, "explicit": explicit}


def made(path: str) -> Answer:
    return {"files": [({"path": f"{Path(path).name}.facts", "from": path}, path.encode())], "ignored": []}


def run(
    engine: Fake,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    listed: dict[str, Any],
    facts: Callable[[str], Any] = made,
) -> tuple[int, list[Answer]]:
    """The exit status and the messages. `listed`: the answer of each host."""
    job: driver.Job = {
        "paths": ["/data"],
        "out": str(tmp_path),
        "address": None,
        "options": [],
        "program": {},
        "entry": "task.js",
        "node_version": [20, 19],
    }
    status = driver.run_job(engine, job, lambda host, *_: listed[host], lambda path, *_: facts(path))
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_file_that_all_hosts_see_may_be_read_anywhere_and_another_only_where_it_is(tmp_path, capsys) -> None:
    engine = Fake({"a": "a", "b": "b", "c": "c"})
    shared, two = seen("/data/shared", size=5), seen("/data/two", size=9)
    own = {host: seen("/data/own", size=1, modified=i) for i, host in enumerate("abc")}
    listed = {
        "a": {"files": [shared, own["a"]]},
        "b": {"files": [shared, two, own["b"]]},
        "c": {"files": [shared, two, own["c"]]},
    }
    status, answers = run(engine, tmp_path, capsys, listed)
    assert status == 0
    assert [m["type"] for m in answers] == ["listed", *["done"] * 5, "end"]
    assert [f["size"] for f in answers[0]["files"]] == [9, 5, 1, 1, 1]
    assert engine.placed["/data/shared"] is None
    assert sorted(engine.placed["/data/two"] or []) == ["b", "c"]
    # Three files of one path: a folder for each.
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.facts")} == {
        "shared.facts",
        "two.facts",
        "a/own.facts",
        "b/own.facts",
        "c/own.facts",
    }


def test_hosts_of_one_name_have_folders_of_their_own() -> None:
    hosts = {"0123456789": "node", "9876543210": "node", "5": "other/1"}
    assert [driver.folder_of(host, hosts) for host in hosts] == ["node-01234567", "node-98765432", "other-1"]


def test_a_host_that_cannot_run_whyslow_is_named_and_gets_no_task(tmp_path, capsys) -> None:
    engine = Fake({"a": "node-a", "b": "node-b", "c": "node-c"})
    files = {"files": [seen("/data/x"), seen("/data/y")]}
    listed = {"a": files, "b": {"why": "no Node.js"}, "c": RuntimeError("its worker died")}
    status, answers = run(engine, tmp_path, capsys, listed)
    assert status == 0
    assert [m["text"] for m in answers if m["type"] == "note"] == [
        "node-b: no Node.js",
        "node-c: engine: its worker died",
    ]
    assert engine.placed == {"/data/x": ["a"], "/data/y": ["a"]}


def test_files_that_several_hosts_see_are_spread_over_them(tmp_path, capsys) -> None:
    engine = Fake({"a": "a", "b": "b", "c": "c"})
    files = {"files": [seen(f"/data/{i}") for i in range(4)]}
    run(engine, tmp_path, capsys, {"a": files, "b": files, "c": {"files": []}})
    assert [(hosts or [""])[0] for hosts in engine.placed.values()] == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("hosts", "answer", "code", "why"),
    [
        ({"a": "n1"}, {"why": "no Node.js"}, "no-node", "n1: no Node.js"),
        ({}, {}, "no-node", "it has no workers"),
        ({"a": "n1"}, {"files": []}, "no-files", None),
    ],
)
def test_what_stops_the_whole(tmp_path, capsys, hosts: dict[str, str], answer: Answer, code: str, why: str) -> None:
    status, answers = run(Fake(hosts), tmp_path, capsys, {"a": answer})
    assert status == 1
    assert [(m["type"], m["code"], m.get("why")) for m in answers] == [("error", code, why)]


def test_a_task_that_failed_loses_its_file_and_no_other(tmp_path, capsys) -> None:
    def facts(path: str) -> Any:
        if path == "/data/dead":
            return RuntimeError("killed")
        return {"why": "it is no trace"} if path == "/data/bad" else made(path)

    listed = {"a": {"files": [seen("/data/dead", 7), seen("/data/bad", 6), seen("/data/good", 5)]}}
    status, answers = run(Fake({"a": "a"}), tmp_path, capsys, listed, facts)
    assert status == 0
    assert {m["path"]: m["why"] for m in answers if m["type"] == "failed"} == {
        "/data/dead": "engine: killed",
        "/data/bad": "it is no trace",
    }
    assert [m["written"] for m in answers if m["type"] == "done"] == [
        [{"path": str(tmp_path / "good.facts"), "from": "/data/good"}]
    ]
    assert (tmp_path / "good.facts").read_bytes() == b"/data/good"


def test_a_result_that_cannot_be_written_is_a_lost_file(tmp_path, capsys) -> None:
    (tmp_path / "x.facts").mkdir()
    _, answers = run(Fake({"a": "a"}), tmp_path, capsys, {"a": {"files": [seen("/data/x")]}})
    assert [(m["type"], m.get("why")) for m in answers[1:]] == [("failed", "Is a directory"), ("end", None)]
    assert [p.name for p in tmp_path.iterdir()] == ["x.facts"]


def test_only_some_tasks_wait_in_the_queue_of_the_engine(tmp_path, capsys) -> None:
    engine = Fake({"a": "a"}, slots=3)
    run(engine, tmp_path, capsys, {"a": {"files": [seen(f"/data/{i}") for i in range(50)]}})
    assert engine.most == 6


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["/a/b/c", "/a/b/d"], "/a/b/"),
        (["/a/b"], "/a/"),
        (["/a/bc/x", "/a/bd/x"], "/a/"),
        (["s3://bucket/x/1", "s3://bucket/y/1"], "s3://bucket/"),
    ],
)
def test_names_are_paths_below_the_folder_of_all(paths: list[str], folder: str) -> None:
    assert driver.common_folder(paths) == folder


def test_an_engine_that_is_not_installed(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"address": null}'))
    monkeypatch.setitem(__import__("sys").modules, "dask", None)
    assert driver.run("dask", dict, dict) == 1
    assert json.loads(capsys.readouterr().out) == {"type": "error", "code": "not-installed"}


def test_errors_of_the_system_lose_their_number() -> None:
    assert first_line(ConnectionRefusedError(111, "Connection refused")) == "Connection refused"
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(KeyError()) == "KeyError"


# -- On a node. --


def test_a_node_says_which_nodejs_it_lacks(tmp_path, monkeypatch) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho v18.20.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("WHYSLOW_NODE", str(program))
    arguments = (["/data"], {}, "key", "task.js", [20, 19])
    assert "it has v18.20.1" in facts_on_nodes.list_files(*arguments)["why"]
    assert "it has v18.20.1" in facts_on_nodes.facts_of("/data/x", *arguments)["why"]


@pytest.mark.parametrize(
    ("does", "answer"),
    [
        ("echo 'whyslow: x is no trace' >&2; exit 2", {"why": "x is no trace"}),
        ("exit 2", {"why": "whyslow ended with 2"}),
        ("kill -9 $$", None),
    ],
)
def test_only_what_may_work_at_another_try_is_raised(tmp_path, monkeypatch, does: str, answer: Answer | None) -> None:
    program = tmp_path / "node"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo v22.1.0 && exit\n{does}\n')
    program.chmod(0o755)
    monkeypatch.setenv("WHYSLOW_NODE", str(program))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    arguments = ("/data/x", [], {"dist/task.js": b""}, "key", "dist/task.js", [20, 19])
    if answer is None:
        with pytest.raises(RuntimeError, match="signal 9"):
            facts_on_nodes.facts_of(*arguments)
    else:
        assert facts_on_nodes.facts_of(*arguments) == answer


# -- Dask. --


class Client:
    """Of Dask: its tasks are done when `finish` says so."""

    def __init__(self, *workers: str) -> None:
        self.workers = dict.fromkeys(workers, 2)
        self.futures: list[SimpleNamespace] = []

    def nthreads(self) -> dict[str, int]:
        return self.workers

    def submit(self, function: Callable[..., Any], *arguments: Any, **settings: Any) -> SimpleNamespace:
        future = SimpleNamespace(key=f"task-{len(self.futures)}", settings=settings, cancelled=False)
        future.add_done_callback = lambda call: setattr(future, "finish", lambda: call(future))
        future.result = lambda: function(*arguments)
        future.cancel = lambda: setattr(future, "cancelled", True)
        self.futures.append(future)
        return future


def test_workers_of_one_host_are_asked_once_and_all_their_threads_count() -> None:
    engine = on_dask.OnDask(Client("tcp://10.0.0.2:1", "tcp://10.0.0.1:1", "tcp://10.0.0.1:2", "tls://[fe80::1]:5"))
    assert engine.hosts() == {"10.0.0.1": "10.0.0.1", "10.0.0.2": "10.0.0.2", "fe80::1": "fe80::1"}
    assert engine.slots() == 8


def test_a_task_waits_for_the_worker_of_its_host_only_so_long(monkeypatch) -> None:
    monkeypatch.setattr(on_dask, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(on_dask, "GONE_AFTER_S", 0.05)
    client = Client("tcp://a:1", "tcp://b:1")
    engine = on_dask.OnDask(client)
    tasks = [engine.start(str.upper, ["x"], hosts) for hosts in (["a"], ["b"], ["b", "a"], None)]
    assert [future.settings["workers"] for future in client.futures] == [["a"], ["b"], ["b", "a"], None]
    del client.workers["tcp://b:1"]
    lost = engine.next_done(tasks)
    assert lost == tasks[1]
    with pytest.raises(on_dask.HostGone, match="the node with the file went away"):
        engine.result(lost)
    assert [future.cancelled for future in client.futures] == [False, True, False, False]
    # What Dask says of it now is not asked for.
    for future in client.futures[1:3]:
        future.finish()
    rest = [tasks[0], tasks[2], tasks[3]]
    assert engine.next_done(rest) == tasks[2]
    assert engine.result(tasks[2]) == "X"
    client.workers.clear()
    gone = {engine.next_done([tasks[0], tasks[3]])}
    gone.add(engine.next_done({tasks[0], tasks[3]} - gone))
    with pytest.raises(on_dask.HostGone, match="the cluster has no workers any more"):
        engine.result(tasks[3])


def test_a_worker_that_comes_back_keeps_its_tasks(monkeypatch) -> None:
    monkeypatch.setattr(on_dask, "LOOK_EVERY_S", 0.01)
    client = Client()
    engine = on_dask.OnDask(client)
    task = engine.start(str.upper, ["x"], ["a"])
    looked: list[int] = []

    def nthreads() -> dict[str, int]:
        looked.append(1)
        if len(looked) == 3:
            client.futures[0].finish()
        return {"tcp://a:7": 1} if len(looked) == 2 else {}

    client.nthreads = nthreads  # type: ignore[method-assign]
    assert engine.next_done([task]) == task
    assert engine.result(task) == "X"


def test_addresses_of_dask(tmp_path, monkeypatch) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text('{"address": "tcp://10.0.0.1:8786", "workers": {}}')
    assert on_dask.address_in(str(file)) == "tcp://10.0.0.1:8786"
    assert on_dask.address_in("tls://host:1") == "tls://host:1"
    assert on_dask.address_in("host:8786") == "host:8786"
    monkeypatch.setattr("dask.config.get", lambda name, default: default)
    with pytest.raises(NoCluster) as none:
        on_dask.connect(None)
    assert none.value.address is None
    with pytest.raises(NoCluster, match="No such file") as missing:
        on_dask.connect("missing.json")
    assert missing.value.address == "missing.json"


def error_of(kind: type[BaseException], **known: object) -> BaseException:
    """An error of another package, from what is known and nothing for the rest of what it is made of."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return kind(*(known.get(p.name) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD))


def test_what_dask_calls_what_happened() -> None:
    from distributed import client
    from distributed.scheduler import KilledWorker

    # Versions of distributed differ in which errors they have and what these are made of.
    cancelled = getattr(client, "FutureCancelledError", CancelledError)
    engine = on_dask.OnDask(Client())
    assert engine.why(error_of(KilledWorker, allowed_failures=3)) == "its worker died 4 times"
    assert engine.why(error_of(cancelled, key="task", reason="lost")) == "the connection to the scheduler was lost"
    assert engine.why(RuntimeError("whyslow was ended by signal 9")) == "whyslow was ended by signal 9"
