"""Bad input: every case ends in a typed error, and the process goes on working."""
