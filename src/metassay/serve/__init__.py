"""The door in the browser: runs, read only, on this machine."""
