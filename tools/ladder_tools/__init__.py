"""Modules that the scripts in tools/ share. Python 3.9 or later, standard library only."""
