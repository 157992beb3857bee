"""One warp through its SASS, both ways, with every lane's registers and addresses.

It runs a block of an executable launch again and may import execute, lift, sass and result.
"""
