"""``python -m tilebase``."""

import sys

from tilebase.cli import main

if __name__ == "__main__":
    sys.exit(main())
