import torch
from lightning_fabric import Fabric
from tiny import config_for

from parasketch.data.prepared import Prepared
from parasketch.model.inputs import Sentences
from parasketch.systems.hrqvae.codebooks import revive_codes, start_codebooks
from parasketch.systems.hrqvae.network import HRQVAE

FABRIC = Fabric(accelerator="cpu", devices=1)


def make_model(corpus: Prepared) -> HRQVAE:
    torch.manual_seed(0)
    return HRQVAE(config_for(corpus).model, mask_id=corpus.tokenizer.mask_id)


def forms(model: HRQVAE, corpus: Prepared) -> torch.Tensor:
    tokenizer, every = corpus.tokenizer, torch.arange(corpus.num_sentences).numpy()
    sentences = Sentences.from_ragged(corpus.sentences(every), first=tokenizer.bos_id, last=tokenizer.eos_id)
    with torch.no_grad():
        return model.eval().encode(sentences).form


def test_k_means_gives_every_code_something_to_do(language_corpus: Prepared) -> None:
    model = make_model(language_corpus)
    start_codebooks(model, language_corpus, length=8.0, seed=1, fabric=FABRIC)
    found = forms(model, language_corpus)
    length = found.square().sum(dim=1).mean().sqrt()
    torch.testing.assert_close(length, torch.tensor(8.0), rtol=0.02, atol=0)
    codes = model.quantizer.encode(found)
    assert [len(level.unique()) for level in codes.T] == [4, 4, 4]
    left = (found - model.quantizer.decode(codes)).square().sum(dim=1).mean().sqrt()
    assert left < 0.8 * length


def test_the_decoder_reads_centred_and_rescaled_forms_as_before(language_corpus: Prepared) -> None:
    model = make_model(language_corpus)
    with torch.no_grad():
        before = [layer.read_form(forms(model, language_corpus)) for layer in model.decoder.decoder_layers]
        start_codebooks(model, language_corpus, length=8.0, seed=1, fabric=FABRIC)
        after = [layer.read_form(forms(model, language_corpus)) for layer in model.decoder.decoder_layers]
        none = model.decoder.decoder_layers[0].read_form(torch.zeros(1, model.config.form_width))
    for old, new in zip(before, after, strict=True):
        torch.testing.assert_close(new, old, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(none[0], before[0].mean(dim=0), rtol=1e-4, atol=1e-5)


def test_the_same_seed_gives_the_same_codebooks(language_corpus: Prepared) -> None:
    models = [make_model(language_corpus) for _ in range(2)]
    for model in models:
        start_codebooks(model, language_corpus, length=8.0, seed=1, fabric=FABRIC)
    assert torch.equal(models[0].quantizer.codebooks, models[1].quantizer.codebooks)


def test_dead_codes_move_to_real_forms(language_corpus: Prepared) -> None:
    model = make_model(language_corpus)
    found = forms(model, language_corpus)
    model.quantizer.usage[0, 1] = 0.0
    before = model.quantizer.codebooks.detach().clone()
    revive_codes(model, found, threshold=0.1, seed=3, fabric=FABRIC)
    moved = (model.quantizer.codebooks != before).any(dim=-1)
    assert moved.nonzero().tolist() == [[0, 1]]
    assert (model.quantizer.codebooks[0, 1] == found).all(dim=1).any()
