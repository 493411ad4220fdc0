"""One group of lines in a process of its own: prints them as JSON.

python -m benchmarks.one NAME FOLDER SIZES
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.register import measure
from benchmarks.sizes import Sizes
from benchmarks.workplace import Workplace


def main(name: str, folder: str, sizes: str) -> None:
    work = Workplace(Path(folder), Sizes.from_json(sizes))
    print(json.dumps([each.to_json() for each in measure(name, work)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
