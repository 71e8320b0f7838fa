"""What LBoW and BTmPG share: batches of pairs as recurrent networks read them, and their figures on dev."""
