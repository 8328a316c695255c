"""Stand-ins for the profilers of other projects, with their arguments and file names, on top of `whyslow_capture`."""
