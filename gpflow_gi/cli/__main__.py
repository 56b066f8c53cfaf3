"""``python -m gpflow_gi.cli``."""

import sys

from . import main

sys.exit(main())
