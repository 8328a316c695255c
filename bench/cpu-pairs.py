"""Processor time and peak memory of `whyslow diagnose` in two checkouts, in turns: ratios of pairs, with their medians.

`python3 bench/cpu-pairs.py BEFORE AFTER PATH… [--pairs 15]`. Both checkouts must be built. Processor time is that of the whole
process with its threads, so it says something on a busy machine too, where wall time does not.
"""

import argparse
import os
import statistics

PROGRAM = 'exec node "$0" diagnose "$1" > /dev/null 2>&1'


def run(checkout: str, path: str) -> tuple[float, float]:
    """Seconds of processor time, and MB."""
    words = ["sh", "-c", PROGRAM, f"{checkout}/bin/whyslow.js", path]
    pid = os.posix_spawn("/bin/sh", words, os.environ)
    _, _, used = os.wait4(pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--pairs", type=int, default=15)
    args = parser.parse_args()
    print(
        "| input | CPU s before | after | ratio | peak MB before | after |\n|---|---|---|---|---|---|"
    )
    for path in args.paths:
        runs: dict[str, list[tuple[float, float]]] = {args.before: [], args.after: []}
        for checkout in runs:
            run(checkout, path)
        for pair in range(args.pairs):
            order = list(runs) if pair % 2 == 0 else list(runs)[::-1]
            for checkout in order:
                runs[checkout].append(run(checkout, path))
        before, after = runs.values()
        ratio = statistics.median(
            b[0] / a[0] for a, b in zip(before, after, strict=True)
        )
        cpu = [statistics.median(one[0] for one in side) for side in (before, after)]
        peak = [statistics.median(one[1] for one in side) for side in (before, after)]
        print(
            f"| {path} | {cpu[0]:.3f} | {cpu[1]:.3f} | {ratio:.3f} | {peak[0]:.0f} | {peak[1]:.0f} |"
        )


if __name__ == "__main__":
    main()
