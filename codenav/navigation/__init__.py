"""From one block to others: what a name stands for, who calls it, what it calls, and what is central."""
