"""A Dask cluster of two nodes on this machine. Prints its address, and ends when the standard input does.

A line on the standard input adds a worker: its host, and what it takes for Node.js. The answer is its host.
"""

import asyncio
import os
import sys

from distributed import Nanny, Scheduler


async def main() -> None:
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        nannies = []

        async def add(host: str, node: str) -> None:
            # Every address of 127/8 is this machine: a host of its own for Dask.
            env = {"WHYSLOW_NODE": node}
            nannies.append(await Nanny(scheduler.address, host=host, nthreads=2, env=env, dashboard=False))

        node = os.environ["WHYSLOW_NODE"]
        await asyncio.gather(add("127.0.0.1", node), add("127.0.0.2", node))
        print(scheduler.address, flush=True)
        lines = asyncio.get_running_loop()
        while line := await lines.run_in_executor(None, sys.stdin.readline):
            host, node = line.split()
            await add(host, node)
            print(host, flush=True)
        for nanny in nannies:
            await nanny.close()


if __name__ == "__main__":
    asyncio.run(main())
