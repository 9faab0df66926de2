"""``python -m symfonic_ray.cli``: the command where its script is not installed."""

import sys

from symfonic_ray.cli import main

sys.exit(main())
