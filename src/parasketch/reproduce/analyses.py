"""The analyses of a plan as steps: codes and properties, forms on a plane, tables of sketches; each leaves a JSON."""

import json
from abc import abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from parasketch.files import write_text
from parasketch.generate.pretrained import find_model
from parasketch.model.directory import WEIGHTS
from parasketch.reproduce.plan import Analysis, DataSet
from parasketch.reproduce.steps import Space, Step, digest

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Analyse(Step):
    """Something to be seen in one model, on the training sentences of one data set."""

    what: ClassVar[str]
    data: str
    source: DataSet
    analysis: Analysis

    def inputs(self, space: Space) -> Values:
        sentences = [digest(space.data / file) for file in self.source.train]
        model = digest(find_model(self.analysis.model) / WEIGHTS)
        return {"analysis": asdict(self.analysis), "model": model, "sentences": sentences}

    def outputs(self, space: Space) -> list[Path]:
        return [space.analysis(self.what, self.data)]

    def run(self, space: Space) -> None:
        values = self.find(space)
        with write_text(space.analysis(self.what, self.data)) as stream:
            json.dump(values, stream, indent=1, ensure_ascii=False)
            stream.write("\n")

    @abstractmethod
    def find(self, space: Space) -> Values:
        """The result as JSON."""

    def _files(self, space: Space) -> list[Path]:
        return [space.data / file for file in self.source.train]


@dataclass(frozen=True, kw_only=True)
class Codes(Analyse):
    """What each code goes with."""

    what = "codes"

    @property
    def estimate(self) -> float:
        return 10 + self.analysis.sentences / 200

    def find(self, space: Space) -> Values:
        from parasketch.analyse.codes import explain_codes
        from parasketch.analyse.forms import forms_of, load_hrqvae, read_sentences
        from parasketch.analyse.properties import properties
        from parasketch.samples import sample_clusters
        from parasketch.text.tagger import load_tagger

        network, tokenizer = load_hrqvae(self.analysis.model)
        forms = forms_of(network, tokenizer, read_sentences(self._files(space), self.analysis.sentences))
        found = properties(forms.sentences, load_tagger("crf"), self.source.templates)
        own = [sentence for cluster in sample_clusters(self.data) for sentence in cluster]
        typical = forms_of(network, tokenizer, own)
        return asdict(explain_codes(forms, found, model=self.analysis.model, typical=typical))


@dataclass(frozen=True, kw_only=True)
class Plane(Analyse):
    """Forms on a plane."""

    what = "tsne"

    @property
    def estimate(self) -> float:
        return 10 + self.analysis.points / 100

    def find(self, space: Space) -> Values:
        from parasketch.analyse.forms import forms_of, load_hrqvae, read_sentences
        from parasketch.analyse.tsne import lay_out

        network, tokenizer = load_hrqvae(self.analysis.model)
        forms = forms_of(network, tokenizer, read_sentences(self._files(space), self.analysis.points))
        return asdict(lay_out(forms, model=self.analysis.model))


@dataclass(frozen=True, kw_only=True)
class Tables(Analyse):
    """What sketches do to sentences."""

    what = "sketches"

    @property
    def estimate(self) -> float:
        return 10.0

    def find(self, space: Space) -> Values:
        from parasketch.analyse.tables import granularity_table, sketch_table
        from parasketch.generate.paraphraser import Paraphraser

        del space
        paraphraser = Paraphraser.from_pretrained(self.analysis.model)
        texts = self.analysis.texts
        granular = [granularity_table(paraphraser, text, like) for text in texts for like in self.analysis.like]
        return {
            "model": self.analysis.model,
            "sketches": [asdict(sketch_table(paraphraser, text)) for text in texts],
            "granularity": [asdict(one) for one in granular],
        }
