"""
Why is my PyTorch training slow, and what do I change? The command line and its answers as Python objects:

    import whyslow

    report = whyslow.diagnose("runs/a")
    print(report.verdict.bottleneck, report.findings[0].fix.code)
"""

from __future__ import annotations

__version__ = "0.1.0"

# Importing `typing` and `importlib` takes as long as the rest of what starts the command line.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .comparison import Comparison, compare
    from .errors import InputError, WhyslowError
    from .handler import trace_handler
    from .notebook import load_ipython_extension
    from .reports import Report, diagnose

# Loaded when first used: the command line starts with this file too.
_MODULES = {
    "Comparison": "comparison",
    "InputError": "errors",
    "Report": "reports",
    "WhyslowError": "errors",
    "compare": "comparison",
    "diagnose": "reports",
    "load_ipython_extension": "notebook",
    "trace_handler": "handler",
}

__all__ = [
    "Comparison",
    "InputError",
    "Report",
    "WhyslowError",
    "__version__",
    "compare",
    "diagnose",
    "load_ipython_extension",
    "trace_handler",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    home = _MODULES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
