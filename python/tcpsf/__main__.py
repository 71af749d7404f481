"""Entry point of ``python -m tcpsf``."""

from __future__ import annotations

import sys

from tcpsf.cli import main

if __name__ == "__main__":
    sys.exit(main())
