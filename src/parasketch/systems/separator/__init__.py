"""Separator (Hosking and Lapata, 2021): meaning and form are parts of one vector; the form is quantised."""
