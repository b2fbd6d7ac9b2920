"""The application that the commands are added to."""

import typer

# Without markup and pretty exceptions Typer never imports Rich, which would double the time of --help.
app = typer.Typer(
    name="polhode",
    help="The rotation of rigid bodies: exact for free bodies, structure-preserving under a torque.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
