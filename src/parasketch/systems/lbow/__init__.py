"""LBoW: a bag of words that paraphrases may have, predicted word by word, is the decoder's plan."""
