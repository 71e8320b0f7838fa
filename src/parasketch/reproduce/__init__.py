"""The paper's tables and figures with one command: a plan, its steps, and the report on what they found."""
