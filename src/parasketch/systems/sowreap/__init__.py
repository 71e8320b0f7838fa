"""SOW/REAP (Goyal and Durrett, 2020): learnt reorderings of phrases become word orders that a decoder follows."""
