"""`marsyard sweep`: stopped, killed and resumed; on a Dask cluster that loses a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
import xarray as xr
import yaml
from command import MAIN, run_here

import marsyard
from marsyard.campaign.journal import read_records

STUDY = {
    "scenario": "rt0448/test-1",
    "set": {"run.duration": 0.1},
    "design": {"kind": "sobol", "n": 32},
    "vary": {"robot.velocity.0": "uniform(0, 0.1)", "gravity": "uniform(3, 4)"},
    "outputs": [{"name": "way", "of": "position_base.x", "take": "range", "unit": "mm"}],
    "seed": 2,
}


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(STUDY, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def whole():
    """The study run through in this process."""
    return marsyard.sweep(STUDY, jobs=1).data


def start(arguments, cwd, **how):
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *map(str, arguments)], cwd=cwd, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **how,
    )  # fmt: skip


def wait_for(log, count, process):
    """Until so many runs are in the journal."""
    until = time.monotonic() + 240
    while not log.exists() or len(read_records(log)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def interrupt_at(log, count):
    """Ctrl-c to this process, once so many runs are in the journal."""
    while not log.exists() or len(read_records(log)) < count:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def test_stopped_killed_and_resumed(study, tmp_path, whole):
    folder = tmp_path / "out"
    log = folder / "finished.log"
    # ctrl-c: a polite end that says how to go on
    interrupt = threading.Thread(target=interrupt_at, args=(log, 3))
    interrupt.start()
    first = run_here(["sweep", study, "--out", folder, "-j", 1], tmp_path)
    interrupt.join()
    assert first.returncode == 130 and "Traceback" not in first.stderr
    assert f"continue with: marsyard sweep {study} --out {folder} --resume" in first.stderr
    kept = len(read_records(log))
    # the power goes: every process of the group at once
    second = start(["sweep", study, "--out", folder, "-j", 2, "--resume"], tmp_path)
    wait_for(log, kept + 4, second)
    os.killpg(second.pid, signal.SIGKILL)
    second.communicate()
    cut = len(read_records(log))
    assert kept + 4 <= cut < 32 and not (folder / "sweep.nc").exists()
    with log.open("ab") as file:
        file.write(b"0badc0de {torn")
    third = run_here(["sweep", study, "--out", folder, "-j", 1, "--resume"], tmp_path)
    assert third.returncode == 0, third.stderr
    assert f"{32 - cut} runs in" in third.stdout and f"{cut} were already finished" in third.stdout
    done = Counter(r["point"] for r in read_records(log))
    assert done == Counter(range(32))  # each once
    found = marsyard.open_sweep(folder)
    xr.testing.assert_identical(found.drop_attrs(), whole.drop_attrs())
    fourth = run_here(["sweep", study, "--out", folder, "--resume"], tmp_path)
    assert "all 32 runs were already finished" in fourth.stdout


def test_wrong_input_is_one_sentence(study, tmp_path):
    def error(*arguments):
        result = run_here(["sweep", *arguments], tmp_path)
        assert result.returncode == 2 and result.stderr.count("\n") == 1
        return result.stderr

    assert "no such file" in error(tmp_path / "none.yaml")
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in error(
        study, "--scheduler", "tcp://127.0.0.1:1", "-q"
    )
    assert not list(tmp_path.glob("runs/*/finished.log"))
    assert "no such file 'gone.json'" in error(study, "--scheduler", "gone.json", "-q")
    study.write_text(yaml.safe_dump({**STUDY, "vary": {"frction": "uniform(0, 1)"}}))
    assert "unknown setting 'frction'; did you mean 'friction'" in error(study)
    assert not (tmp_path / "runs").exists()


def test_a_dask_cluster_that_loses_a_worker(tmp_path, whole):
    """Scheduler and workers as Dask's documentation starts them, without anybody who would start a
    worker again."""
    distributed = pytest.importorskip("distributed")
    dask = [sys.executable, "-m", "distributed.cli.dask_worker"]
    how = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--death-timeout", "60"]
    killed = []
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
        workers = [subprocess.Popen([*dask, address, *how], **quiet) for _ in range(2)]
        try:
            with distributed.Client(address) as client:
                client.wait_for_workers(2, timeout=240)

            def watch(now):
                if now.done >= 5 and not killed:
                    killed.append(now.where)
                    workers[0].kill()

            found = marsyard.sweep(STUDY, scheduler=address, watch=watch, out=tmp_path / "out")
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    assert killed == [f"2 workers with 2 threads of {address}"] and found.info["ran"] == 32
    xr.testing.assert_identical(found.data, whole)
    done = Counter(r["point"] for r in read_records(tmp_path / "out/finished.log"))
    assert done == Counter(range(32))
