"""`dnspanel`, and `python -m dnspanel.cli`."""

from dnspanel.cli.commands import dnspanel


def main() -> None:
    """Run the command that the arguments name; the exit codes are in `errors`."""
    dnspanel(prog_name="dnspanel")


if __name__ == "__main__":
    main()
