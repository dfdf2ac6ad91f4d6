"""The web server of the dashboard, which shows runs on this machine. It can save notes, and changes nothing
else.
"""
