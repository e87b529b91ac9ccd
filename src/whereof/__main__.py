"""`python -m whereof`."""

from whereof.cli import main

main()
