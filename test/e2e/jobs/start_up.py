"""Prints how much more processor time one command takes to start than another, in ms: the median of pairs."""

import json
import resource
import statistics
import subprocess
import sys

PAIRS = 9


def spent(command: list[str]) -> float:
    def so_far() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (used.ru_utime + used.ru_stime)

    before = so_far()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return so_far() - before


one, other = json.loads(sys.argv[1])
spent(one), spent(other)
print(statistics.median(spent(one) - spent(other) for _ in range(PAIRS)))
