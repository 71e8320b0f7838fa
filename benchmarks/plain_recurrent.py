"""LBoW and BTmPG as one would write them down first: padded batches, one cell, one gate and one step after the other.

Frozen, to measure against: the same networks and losses as in the package, with nothing done about speed.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

PAD = 0
BOS, EOS = 1, 2
State = tuple[Tensor, Tensor]


class PlainCell(nn.Module):
    """An LSTM cell as in textbooks: a linear map of input and state for each of the four gates."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.of_input = nn.ModuleList(nn.Linear(input_width, width) for _ in range(4))
        self.of_state = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor, state: State) -> State:
        output, cell = state
        enter, keep, show = (torch.sigmoid(self.of_input[g](x) + self.of_state[g](output)) for g in range(3))
        candidate = torch.tanh(self.of_input[3](x) + self.of_state[3](output))
        cell = keep * cell + enter * candidate
        return show * torch.tanh(cell), cell

    def run(self, x: Tensor, mask: Tensor, state: State | None = None) -> tuple[list[Tensor], State]:
        """x (B, T, input_width), mask (B, T): the outputs of all steps, and the last state of every row."""
        zeros = x.new_zeros(len(x), self.width)
        state, outputs = state or (zeros, zeros), []
        for step in range(x.shape[1]):
            new = self(x[:, step], state)
            going_on = mask[:, step, None]
            state = (torch.where(going_on, new[0], state[0]), torch.where(going_on, new[1], state[1]))
            outputs.append(state[0])
        return outputs, state


def padded(rows: list[list[int]]) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def attend(query: Tensor, memory: Tensor, mask: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
    scores = (memory @ query[:, :, None]).squeeze(2) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights, (weights[:, :, None] * memory).sum(dim=1)


class PlainLBoW(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int, neighbours: int, slots: int) -> None:
        super().__init__()
        self.width, self.slots = width, slots
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
        self.encoder, self.decoder = (nn.ModuleList(PlainCell(width, width) for _ in range(layers)) for _ in range(2))
        self.predictors = nn.ModuleList(nn.Linear(width, width) for _ in range(neighbours))
        self.to_slots, self.to_states = nn.Linear(width, width), nn.Linear(width, width)
        self.join = nn.Linear(2 * width, width)

    def forward(self, sources: list[list[int]], targets: list[list[int]], bags: Tensor) -> Tensor:
        source, read = padded([[*row, EOS] for row in sources]), padded([[BOS, *row] for row in targets])
        said = padded([[*row, EOS] for row in targets])
        mask, x, first = source != PAD, self.embedding(source), None
        for cell in self.encoder:
            outputs, state = cell.run(x, mask)
            first = first or state
            x = x + torch.stack(outputs, dim=1)
        bag = x.new_zeros(len(x), self.embedding.num_embeddings)
        for step in range(x.shape[1]):
            for predictor in self.predictors:
                words = torch.softmax(predictor(x[:, step]) @ self.embedding.weight.T, dim=-1)
                bag = bag + words * mask[:, step, None]
        present = bags >= 0
        surprise = -(bag.gather(1, bags.clamp_min(0)) + 1e-6).log() * present
        loss = (surprise.sum(dim=1) / (present.sum(dim=1) + 1)).mean()
        top = bag.topk(self.slots, dim=1)
        slots = self.embedding(top.indices) * top.values[..., None]
        assert first is not None
        states = [(first[0] + slots.mean(dim=1), first[1])] * len(self.decoder)
        total = x.new_zeros(len(x))
        for step in range(read.shape[1]):
            last = states[-1][0]
            _, one = attend(self.to_slots(last), slots, None, self.width**-0.5)
            _, two = attend(self.to_states(last), x, mask, self.width**-0.5)
            y = self.embedding(read[:, step]) + self.join(torch.cat([one, two], dim=1)) + last
            for number, cell in enumerate(self.decoder):
                states = [*states[:number], cell(y, states[number]), *states[number + 1 :]]
                y = y + states[number][0]
            scores = F.log_softmax(y @ self.embedding.weight.T, dim=-1)
            total = total + scores.gather(1, said[:, step, None]).squeeze(1) * (said[:, step] != PAD)
        return loss - (total / (said != PAD).sum(dim=1)).mean()


class PlainBTmPG(nn.Module):
    def __init__(
        self, vocabulary: int, width: int, lstm: int, layers: int, latent: int, heads: int, ff: int, back_layers: int
    ) -> None:
        super().__init__()
        self.lstm, self.layers, self.vocabulary = lstm, layers, vocabulary
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
        widths = [width] + [2 * lstm] * (layers - 1)
        self.source_cells, self.target_cells = (
            nn.ModuleList(PlainCell(each, lstm) for each in widths for _ in range(2)) for _ in range(2)
        )
        self.posterior = nn.Linear(2 * layers * lstm, 2 * latent)
        self.first_output, self.first_cell = (nn.Linear(2 * layers * lstm, layers * lstm) for _ in range(2))
        self.decoder = nn.ModuleList(PlainCell(lstm if i else width + latent, lstm) for i in range(layers))
        self.project, self.gate = nn.Linear(2 * lstm, width), nn.Linear(2 * lstm + width + latent, 1)
        self.back = nn.Transformer(width, heads, back_layers, back_layers, ff, 0.1, batch_first=True, norm_first=True)
        self.back_gate = nn.Linear(width, 1)

    def encode(
        self, cells: nn.ModuleList, x: Tensor, mask: Tensor, states: list[State] | None = None
    ) -> tuple[Tensor, list[State]]:
        found: list[State] = []
        for layer in range(self.layers):
            sides = []
            for side in range(2):
                cell = cells[2 * layer + side]
                turned, kept = (x.flip(1), mask.flip(1)) if side else (x, mask)
                outputs, state = cell.run(turned, kept, states[len(found)] if states else None)
                found.append(state)
                sides.append(torch.stack(outputs[::-1] if side else outputs, dim=1))
            x = torch.cat(sides, dim=2)
        return x, found

    def first(self, last: list[State]) -> list[State]:
        outputs = self.first_output(torch.cat([state[0] for state in last], dim=1)).chunk(self.layers, dim=1)
        cells = self.first_cell(torch.cat([state[1] for state in last], dim=1)).chunk(self.layers, dim=1)
        return list(zip(outputs, cells, strict=True))

    def say(
        self, vector: Tensor, states: list[State], z: Tensor, memory: Tensor, mask: Tensor, words: Tensor
    ) -> tuple[Tensor, list[State]]:
        x, found = torch.cat([vector, z], dim=1), []
        for cell, state in zip(self.decoder, states, strict=True):
            found.append(cell(x, state))
            x = found[-1][0]
        weights, context = attend(x, memory, mask, 1.0)
        generated = torch.softmax(self.project(torch.cat([x, context], dim=1)) @ self.embedding.weight.T, dim=-1)
        gate = torch.sigmoid(self.gate(torch.cat([context, x, vector, z], dim=1)))
        return gate * generated + (1 - gate) * (weights[:, None] @ words).squeeze(1), found

    def sample(self, last: list[State]) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.posterior(torch.cat([state[0] for state in last], dim=1)).chunk(2, dim=1)
        kl = 0.5 * (log_variance.exp() + mean**2 - 1 - log_variance).sum(dim=1)
        return mean + torch.randn_like(mean) * (0.5 * log_variance).exp(), kl

    def get_back(self, vectors: Tensor, mask: Tensor, words: Tensor, source: Tensor) -> Tensor:
        read = torch.cat([torch.full_like(source[:, :1], BOS), source[:, :-1]], dim=1)
        causal = nn.Transformer.generate_square_subsequent_mask(read.shape[1])
        states = self.back.encoder(vectors, src_key_padding_mask=~mask)
        hidden = self.back.decoder(
            self.embedding(read), states, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=~mask
        )
        generated = torch.softmax(hidden @ self.embedding.weight.T, dim=-1)
        scores = (hidden @ states.transpose(1, 2)).masked_fill(~mask[:, None], -torch.inf)
        gate = torch.sigmoid(self.back_gate(hidden))
        found = gate * generated + (1 - gate) * (torch.softmax(scores, dim=-1) @ words)
        return -((found.gather(2, source[..., None]).squeeze(2) + 1e-9).log() * (source != PAD)).sum()

    def forward(self, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
        source, read = padded([[*row, EOS] for row in sources]), padded([[BOS, *row] for row in targets])
        said = padded([[*row, EOS] for row in targets])
        mask, there = source != PAD, said != PAD
        hot, gold = (F.one_hot(part, self.vocabulary).float() for part in (source, said))
        table = self.embedding.weight
        memory, last = self.encode(self.source_cells, hot @ table, mask)
        memory = memory[..., : self.lstm] + memory[..., self.lstm :]
        z, kl = self.sample(self.encode(self.target_cells, gold @ table, there, last)[1])
        states, loss, soft = self.first(last), kl.sum(), []
        for step in range(read.shape[1]):
            found, states = self.say(self.embedding(read[:, step]), states, z, memory, mask, hot)
            soft.append(found)
            loss = loss - ((found.gather(1, said[:, step, None]).squeeze(1) + 1e-9).log() * there[:, step]).sum()
        loss = loss + self.get_back(gold @ table, there, gold, source)
        heard = torch.stack(soft, dim=1)
        memory, last = self.encode(self.source_cells, heard @ table, there)
        memory = memory[..., : self.lstm] + memory[..., self.lstm :]
        z, _ = self.sample(self.encode(self.target_cells, gold @ table, there, last)[1])
        states, vector, again = self.first(last), self.embedding(read[:, 0]), []
        for _ in range(read.shape[1]):
            found, states = self.say(vector, states, z, memory, there, heard)
            noise = -torch.log(-torch.log(torch.rand_like(found).clamp(1e-9, 1 - 1e-7)))
            again.append(torch.softmax((found + 1e-9).log() + noise, dim=-1))
            vector = again[-1] @ table
        words = torch.stack(again, dim=1)
        everywhere = torch.ones_like(there)
        return (loss + self.get_back(words @ table, everywhere, words, source)) / len(sources)
