"""`python3 -m gstream`: the command line where no console script is installed."""

from gstream.cli.main import main

if __name__ == "__main__":
    main()
