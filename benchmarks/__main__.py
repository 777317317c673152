"""`python -m benchmarks NAME [options]`: run one benchmark, the module `benchmarks.NAME`.

`prose` stands for `prose_router`. Without a name, or with an unknown one, the names are listed.
"""

import importlib
import pkgutil
import sys

import benchmarks

SHORT = {"prose": "prose_router"}
PARTS = {"prose_table"}


def names() -> list[str]:
    """The benchmarks that there are."""
    found = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    return [name for name in found if not name.startswith("_") and name not in PARTS]


def main(arguments: list[str]) -> int:
    """Run the benchmark that was named; its exit code, or 2 for a wrong name."""
    name = SHORT.get(arguments[0], arguments[0]) if arguments else ""
    if name not in names():
        print(f"name one of: {', '.join(names())}", file=sys.stderr)
        return 2
    # Each module reads its own options, as if it had been started by itself.
    sys.argv = [f"benchmarks.{name}", *arguments[1:]]
    return int(importlib.import_module(f"benchmarks.{name}").main() or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
