"""The door in the browser: runs, their pairs and reports, on this machine; only notes are written."""
