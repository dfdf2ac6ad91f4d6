"""The web server of the dashboard: runs, their pairs and reports, on this machine. Only notes are written."""
