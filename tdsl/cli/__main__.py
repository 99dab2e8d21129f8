"""`python -m tdsl.cli`, where the command is not on the path."""

from __future__ import annotations

import sys

from . import main

sys.exit(main())
