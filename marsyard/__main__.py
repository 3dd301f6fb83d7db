"""`python -m marsyard` is the command line."""

from marsyard.cli import main

if __name__ == "__main__":
    main()
