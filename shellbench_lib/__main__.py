"""`python -m shellbench_lib` is the command `shellbench`."""

from shellbench_lib.cli import main

if __name__ == "__main__":
    main(prog_name="shellbench")
