// Which words of a paraphrase are new, and which words of the input are gone: a longest common subsequence of words.

const WORD = /[\p{L}\p{N}'’]+|[^\s\p{L}\p{N}]/gu;

/** The words of a sentence, each with the space before it. */
function words(sentence) {
  return [...sentence.matchAll(WORD)].map(({ 0: word, index }) => ({ word, space: /\s/.test(sentence[index - 1] ?? "") ? " " : "" }));
}

/** Runs [{kind: "same" | "new" | "gone", space, text}] that read as the paraphrase with the lost words between. */
export function differences(source, target) {
  const before = words(source);
  const after = words(target);
  const same = (i, j) => before[i].word.toLowerCase() === after[j].word.toLowerCase();
  const length = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      length[i][j] = same(i, j) ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const runs = [];
  const add = (kind, { word, space }) => {
    const last = runs.at(-1);
    if (last?.kind === kind) last.text += space + word;
    else runs.push({ kind, space: space || (kind === "gone" || last?.kind === "gone" ? " " : ""), text: word });
  };
  let i = 0, j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && same(i, j)) { add("same", after[j++]); i++; }
    else if (i < before.length && (j >= after.length || length[i + 1][j] >= length[i][j + 1])) add("gone", before[i++]);
    else add("new", after[j++]);
  }
  return runs;
}
