# HTA on the traces of a run, as its documentation shows: python run-hta.py TRACE... The number of a trace is its rank.
import importlib.metadata
import logging
import os
import resource
import sys
import time
import warnings

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402

started = time.time()
analysis = TraceAnalysis(trace_files={rank: os.path.abspath(path) for rank, path in enumerate(sys.argv[1:])})
read = time.time() - started
questions = {
    "GPU time by kind": lambda: analysis.get_temporal_breakdown(visualize=False),
    "why the GPU idles": lambda: analysis.get_idle_time_breakdown(visualize=False),
    "longest kernels": lambda: analysis.get_gpu_kernel_breakdown(visualize=False),
    "overlap of communication": lambda: analysis.get_comm_comp_overlap(visualize=False),
    "straggler": lambda: analysis.get_potential_stragglers(num_candidates=1),
}
for question, ask in questions.items():
    try:
        answer = ask()
        said = repr(answer) if isinstance(answer, list) else "a table"
    except Exception as error:
        said = f"failed: {type(error).__name__}: {error}".splitlines()[0][:100]
    print(f"answer={question}: {said}")
own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
versions = [importlib.metadata.version(name) for name in ("HolisticTraceAnalysis", "pandas")]
print(f"version={'/pandas-'.join(versions)}")
print(f"read={read:.2f}")
print(f"peak_mb={max(own, children) / 1024:.0f}")
