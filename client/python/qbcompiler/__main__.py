"""`python -m qbcompiler COMMAND ...`: the commands of the qbcompiler program, as it spells them."""

import os
import sys

from .local import CompilerNotFoundError, find_compiler


def main() -> int:
    try:
        program = find_compiler()
    except CompilerNotFoundError as error:
        print(f"ERROR {error}", file=sys.stderr)
        return 2
    os.execv(program, ["qbcompiler", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
