"""``python -m gpflow_gi``: the command line."""

import sys

from .cli import main

sys.exit(main())
