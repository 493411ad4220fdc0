"""`python -m lcm`: the command line where the program `lcm` is not on the path."""

from lcm.cli.main import main

if __name__ == "__main__":
    main(prog_name="lcm")
