"""Forms of instructions: what every modifier and mark does, and what is refused."""
