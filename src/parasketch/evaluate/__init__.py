"""Evaluation: BLEU, Self-BLEU, iBLEU, P-BLEU and scores of form and meaning, signed, with bootstrap tests."""
