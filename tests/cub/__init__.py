"""Block and warp algorithms of CUB."""
