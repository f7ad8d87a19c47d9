"""Inside the watched process: the recorder, and a stand-in for a device. Standard library only."""
