"""What the scripts in tools/ share. Python 3.11, standard library only."""
