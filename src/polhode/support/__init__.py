"""What every package uses: checks, arrays, signals, plug-ins."""
