"""A Dask cluster of two nodes on this machine. Prints its address, and ends when the standard input does.

Lines on the standard input: `add HOST NODE` adds a worker that takes NODE for Node.js; `lose HOST` kills the worker
there, and nobody starts it again. The answer is the line.
"""

import asyncio
import os
import signal
import sys

from distributed import Nanny, Scheduler


async def main() -> None:
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        nannies: dict[str, Nanny] = {}

        async def add(host: str, node: str) -> None:
            # Every address of 127/8 is this machine: a host of its own for Dask.
            env = {"WHYSLOW_NODE": node}
            nannies[host] = await Nanny(scheduler.address, host=host, nthreads=2, env=env, dashboard=False)

        def lose(host: str) -> None:
            nanny = nannies.pop(host)
            # Else it would start the worker again.
            nanny.close_gracefully()
            os.kill(nanny.pid, signal.SIGKILL)

        node = os.environ["WHYSLOW_NODE"]
        await asyncio.gather(add("127.0.0.1", node), add("127.0.0.2", node))
        print(scheduler.address, flush=True)
        lines = asyncio.get_running_loop()
        while line := await lines.run_in_executor(None, sys.stdin.readline):
            match line.split():
                case ["add", host, node]:
                    await add(host, node)
                case ["lose", host]:
                    lose(host)
            print(line, end="", flush=True)
        for nanny in nannies.values():
            await nanny.close()


if __name__ == "__main__":
    asyncio.run(main())
