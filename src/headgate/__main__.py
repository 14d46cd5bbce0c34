"""``python -m headgate``."""

from headgate.cli import main

main()
