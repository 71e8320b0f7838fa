"""Put the model of a run into the package: 16-bit weights, tuned settings, and a card written from the run.

    python scripts/ship_model.py runs/questions questions --data "Quora duplicate questions" --licence "..." \\
        --results results/hrqvae-qqp-test --results results/oracle-qqp-test
"""

import argparse
import json
import tempfile
from pathlib import Path

from parasketch.evaluate.results import OUTPUTS, Results
from parasketch.generate.pretrained import SHIPPED
from parasketch.light.export import export_model
from parasketch.model.storage import WEIGHTS, save_model
from parasketch.systems.kinds import load_model

SHOWN = ("bleu", "self_bleu", "ibleu", "mean_ibleu", "p_bleu", "cosine_input", "retrieval", "numbers_kept", "copies")
EXAMPLES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="directory that `parasketch train` wrote")
    parser.add_argument("name", help="name of the model in the package")
    parser.add_argument("--model", choices=["best", "last"], default="best", help="by dev iBLEU, or at the end")
    parser.add_argument("--data", required=True, help="what it was trained on")
    parser.add_argument("--licence", required=True, help="the licence or terms of that data")
    parser.add_argument("--results", type=Path, action="append", default=[], help="directory of `parasketch evaluate`")
    arguments = parser.parse_args()

    loaded = load_model(arguments.run / arguments.model)
    if embeddings := loaded.sections.get("train", {}).get("embeddings"):
        loaded.sections["train"]["embeddings"] = Path(str(embeddings)).name  # where it lay is of no use to others
    card = write_card(arguments, loaded.sections, sum(value.numel() for value in loaded.model.parameters()))
    target = SHIPPED / arguments.name
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / arguments.name
        save_model(stored, loaded.model, loaded.tokenizer, sections=loaded.sections, half=True, card=card)
        export_model(stored, target)
    print(f"{target}: {(target / WEIGHTS).stat().st_size / 1e6:.1f} MB of weights")


def write_card(arguments: argparse.Namespace, sections: dict[str, dict[str, object]], parameters: int) -> str:
    """The model card, in Markdown."""
    records = [json.loads(line) for line in (arguments.run / "metrics.jsonl").read_text("utf-8").splitlines()]
    config = json.loads((arguments.run / "config.json").read_text("utf-8"))["model"]
    # The model at the end of a run carries no scores of its own: they are the last that the run wrote.
    dev = sections.get("dev") or next((record["dev"] for record in reversed(records) if "dev" in record), {})
    last = records[-1]
    results = [Results.load(path) for path in arguments.results]
    lines = [
        f"# parasketch model `{arguments.name}`",
        "",
        f"HRQ-VAE with {parameters / 1e6:.1f} million parameters (width {config['width']}, "
        f"{config['encoder_layers']} + {config['decoder_layers']} layers, {config['vocab_size']} subwords, sketches of "
        f"{config['levels']} codes out of {config['codes']}), stored with 16 bits a weight.",
        "",
        f"- Trained on: {arguments.data}.",
        f"- Licence or terms of that data, which bind users of this model too: {arguments.licence}.",
        f"- Budget: {last['seconds'] / 60:.0f} minutes on CPUs, {last['step']} steps.",
        "- Dev scores during training at this point (greedy, no reranking): "
        + ", ".join(f"{name} {value:.2f}" for name, value in dev.items() if isinstance(value, float)),
        "",
        "## Results",
        "",
        "| system | data | items | " + " | ".join(SHOWN) + " |",
        "|---|---|---:|" + "---:|" * len(SHOWN),
    ]
    for result in results:
        values = [result.score(name) for name in SHOWN]
        cells = " | ".join("" if value is None else f"{value:.2f}" for value in values)
        lines.append(f"| {result.system} | {result.data} | {result.items} | {cells} |")
    if any(result.data.endswith("/dev") for result in results):
        lines += [
            "",
            "Dev items were also used to tune the choice among candidates: their scores are a little optimistic.",
        ]
    lines += ["", "Made by:", ""]
    lines += [f"    {command}" for command in dict.fromkeys(result.command for result in results)]
    if arguments.results:
        lines += ["", f"## The first {EXAMPLES} items of {results[0].data}, unselected", ""]
        lines += ["| input | paraphrase |", "|---|---|"]
        for line in (arguments.results[0] / OUTPUTS).read_text("utf-8").splitlines()[:EXAMPLES]:
            item = json.loads(line)
            lines.append(f"| {cell(item['input'])} | {cell(item['outputs'][0])} |")
    lines += [
        "",
        "## Limits",
        "",
        "A small model trained for a short time on one kind of sentence. It changes meaning at times, drops details, "
        "repeats words of the input more than a person would, and knows few names beyond those it can copy. English "
        "only. Text of other kinds than its training data gives poor results.",
        "",
    ]
    return "\n".join(lines)


def cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
