"""What starts inside the watched process: standard library only, off unless an env variable says so."""
