"""Trees that parties grow together who hold different columns about the same people, and show them to nobody.

After "Privacy Preserving Decision Tree Learning Over Vertically Partitioned Data" (CSSE 2008): a miner, who has no
data, learns the skeleton of the tree that plain ID3 grows on the joined table.
"""
