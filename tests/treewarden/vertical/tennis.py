"""The fourteen days of tennis, whole and as two parties hold them."""

import csv

RECORDS = """
sunny hot high false no
sunny hot high true no
overcast hot high false yes
rainy mild high false yes
rainy cool normal false yes
rainy cool normal true no
overcast cool normal true yes
sunny mild high false no
sunny cool normal false yes
rainy mild normal false yes
sunny mild normal true yes
overcast mild high true yes
overcast hot normal false yes
rainy mild high true no
"""
NAMES = ("outlook", "temp", "humidity", "windy", "play")
ROWS = [dict(zip(NAMES, line.split(), strict=True)) for line in RECORDS.split("\n") if line]
PARTIES = """
[[party]]
name = "alice"
columns = ["outlook", "temp", "play"]

[[party]]
name = "bobby"
columns = ["humidity", "windy"]
"""
CANARY = "c4n4ry"


def write_table(path, rows, names=NAMES):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path
