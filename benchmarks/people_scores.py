"""Compute the scores for `people_study.py`: all texts with lexical metrics, a sample with neural ones.

    python benchmarks/people_scores.py lexical FOLDER    # a file per data set
    python benchmarks/people_scores.py shared FOLDER     # the same with fewer perturbations
    python benchmarks/people_scores.py neural FOLDER     # slow without a GPU: a sample of the same texts

The data are those of `METASSAY_DATA`: WMT21 to 23 with MQM, REALSumm, DEMETR. Of each at most 250 items that
people scored for every system are drawn, of some fewer (`FEWER`). Neural metrics score every output of the
first `NEURAL_ITEMS` of these and the copies of `NEURAL_SYSTEMS` outputs of each; what is done is not done
again.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from metassay.data.clusters import assign_outputs_to_clusters
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.metrics.registry import parse_metrics
from metassay.metrics.selection import choose_metrics
from metassay.perturbations.pairs import Pairs, make_perturbed_output_pairs
from metassay.workflows.assay_plan import ExecutionOptions
from metassay.workflows.given_pairs import build_output_pairs_from_user_table, drop_identical_pairs
from metassay.workflows.human_pairs import find_pairs_with_different_human_scores
from metassay.workflows.pair_scoring import score_output_pairs
from metassay.workflows.read import read

DATA = Path(os.environ.get("METASSAY_DATA", "../shared/data"))
SETS = {
    **{f"wmt21 {lp}": (f"wmt21/wmt21_{lp}.parquet", "mqm") for lp in ("en-de", "zh-en")},
    **{f"wmt22 {lp}": (f"wmt22/wmt22_{lp}.parquet", "mqm") for lp in ("en-de", "en-ru", "zh-en")},
    **{f"wmt23 {lp}": (f"wmt23/wmt23_{lp}.parquet", "mqm") for lp in ("he-en", "zh-en", "en-de")},
    "realsumm": ("text/realsumm.parquet", "litepyramid_recall"),
}
DEMETR = "challenge/demetr.parquet"
METRICS = (
    "bleu,bleu(order=1),bleu(order=2),bleu(order=3),bleu(lowercase=true),bleu(effective_order=true),"
    "chrf,chrf(char_order=2),chrf(char_order=3),chrf(char_order=4),chrf(word_order=1),chrf(word_order=2),"
    "chrf(beta=1),chrf(beta=3),chrf(lowercase=true),chrf(char_order=4,word_order=2),"
    "ter,ter(case_sensitive=true),ter(no_punct=true),"
    "rouge1,rouge1(measure=recall),rouge1(measure=precision),rouge2,rouge2(measure=recall),"
    "rougel,rougel(measure=recall),rougel(measure=precision),meteor,meteor(alpha=0.5)"
)
FOR_TEXT = (
    "removal,insertion,swapping,entity,pronoun,negation,negation_removal,number,clause_removal,synonym,"
    "antonym,cohyponym,hypernym,tense,quantifier,gender,date,unit"
)
METHODS = f"{FOR_TEXT},untranslated"
SHARED = (
    "clause_removal,entity,insertion,negation,negation_removal,number,pronoun,quantifier,removal,swapping,"
    "synonym"
)
"""Perturbations that apply in every data set."""
GRADED = "removal,insertion,swapping"
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
NEURAL = {"use": "embedding_cosine(model=use-multilingual-v3)"} | {
    "minilm": f"embedding_cosine(model={MINILM}),bertscore(model={MINILM},layer=5)"
}
"""MiniLM knows English alone."""
NEURAL_ITEMS, NEURAL_SYSTEMS = 80, 2
ITEMS = 250
STORED_FIELDS = {"outcome": "outcomes", "item": "items", "output": "outputs", "cluster": "clusters"} | {
    "method": "perturbations"
}
"""Names of arrays in the files, and of the fields of `PairOutcomes` that they hold."""
FEWER = {"wmt23 he-en": 100, "wmt23 zh-en": 100, "realsumm": 50}
"""Items of a data set; of some fewer, since scoring them takes longest."""


def draw_items(data, human, most):
    """Draw items that have a human score for every system, by a hash of their names."""
    rated = data.outputs.drop_nulls(human)
    systems = rated["system"].n_unique()
    full = rated.group_by("item").agg(pl.len().alias("n")).filter(pl.col("n") == systems)["item"]
    return (
        full.to_frame().with_columns(pl.col("item").hash(7).alias("h")).sort("h", "item").head(most)["item"]
    )


def draw_data(name):
    """Draw the outputs of a data set for the study; returns them and the name of the human score."""
    path, human = SETS[name]
    data = read(
        DATA / path,
        task="text" if name == "realsumm" else None,
        language="en" if name == "realsumm" else None,
    )
    data = prepare_dataset_for_scoring(
        data.declare_human_column(human), normalize=None, keep_references=False
    )
    items = draw_items(data, human, FEWER.get(name, ITEMS))
    data = data.filter_rows(data.outputs["item"].is_in(items.implode()), reason="not drawn")
    rated = data.outputs.filter(pl.col(human).is_not_null())["system"].unique()
    return data.filter_rows(data.outputs["system"].is_in(rated.implode()), reason="not rated"), human


def compute_edited_share(one, other):
    """Compute the edited characters relative to the length of the longer text."""
    return process.cpdist(one, other, scorer=Levenshtein.normalized_distance, dtype=np.float64)


def score_dataset(name, folder, perturbations=None):
    """Perturb every output in every way, score everything, and store what the study needs."""
    data, human = draw_data(name)
    perturbations = perturbations or (FOR_TEXT if name == "realsumm" else METHODS)
    pairs = make_perturbed_output_pairs(data, perturbations=perturbations, per_output=None, workers=1)
    metrics = choose_metrics(data, parse_metrics(METRICS), "none", "none")
    judged = score_output_pairs(
        data,
        pairs,
        metrics,
        ExecutionOptions(workers=1),
        sampled_pairs=pairs,
        clusters=assign_outputs_to_clusters(data, None),
        additional_output_rows=np.arange(len(data)),
    )
    pair_rows = find_pairs_with_different_human_scores(data, human)
    better, worse = pair_rows.better, pair_rows.worse
    texts = data.outputs["output"].to_list()
    distance = compute_edited_share([texts[n] for n in better], [texts[n] for n in worse])
    shape = data.outputs["system"].n_unique(), data.outputs["item"].n_unique()
    outputs = data.outputs.with_row_index("row").sort("system", "item")["row"].to_numpy().reshape(shape)
    found = judged.outcomes
    pairs.frame.write_parquet(folder / f"{name}.pairs.parquet")
    np.savez_compressed(
        folder / f"{name}.npz",
        share=compute_edited_share(pairs.frame["output"].to_list(), pairs.frame["worse"].to_list()),
        methods=np.array(found.perturbation_names),
        metrics=np.array(found.metrics),
        **{field: getattr(found, attribute) for field, attribute in STORED_FIELDS.items()},
        scores=judged.output_scores,
        tolerance=np.array([metric.tie_tolerance for metric in metrics]),
        better=better,
        worse=worse,
        distance=distance,
        items=judged.clusters.items,
        units=judged.clusters.codes,
        grid=outputs,
        human=data.outputs[human].to_numpy(),
    )


def score_demetr(folder):
    """Score the pairs of DEMETR, and pairs that we make from the same outputs."""
    every = drop_identical_pairs(read(DATA / DEMETR, pairs=True))
    theirs = every.filter_rows(every.outputs["perturbation"] != "reference", reason="a control")
    chosen = theirs.outputs["item"].unique().sort().to_frame().with_columns(pl.col("item").hash(7).alias("h"))
    kept = chosen.sort("h", "item").head(300)["item"]
    theirs = theirs.filter_rows(theirs.outputs["item"].is_in(kept.implode()), reason="not drawn")
    own = theirs.outputs.unique(["item", "system"], keep="first", maintain_order=True).drop(
        "worse", "perturbation"
    )
    data = read(own, task="mt", language="en")
    metrics = choose_metrics(data, parse_metrics(METRICS), "none", "none")
    made = make_perturbed_output_pairs(data, perturbations=METHODS, per_output=None, workers=1)
    arrays = {}
    for side, source, pairs in (
        ("theirs", theirs, build_output_pairs_from_user_table(theirs)),
        ("ours", data, made),
    ):
        found = score_output_pairs(
            source,
            pairs,
            metrics,
            ExecutionOptions(workers=1),
            sampled_pairs=pairs,
            clusters=assign_outputs_to_clusters(source, None),
        ).outcomes
        for field, attribute in STORED_FIELDS.items():
            arrays[f"{side}_{field}"] = getattr(found, attribute)
        arrays[f"{side}_methods"] = np.array(found.perturbation_names)
    np.savez_compressed(folder / "demetr.npz", metrics=np.array([m.spec for m in metrics]), **arrays)


def score_matched(name, folder):
    """Score perturbed outputs that are as far from the originals as pairs from human scores, for `GRADED`."""
    data, human = draw_data(name)
    texts = data.outputs["output"]
    pair_rows = find_pairs_with_different_human_scores(data, human)
    better, worse = texts[pair_rows.better].to_list(), texts[pair_rows.worse].to_list()
    target_share = float(np.median(compute_edited_share(better, worse)))
    strengths = choose_strengths(data, target_share)
    specs = [f"{method}(strength={strength})" for method, strength in strengths.items()]
    pairs = make_perturbed_output_pairs(data, perturbations=specs, per_output=None)
    metrics = choose_metrics(data, parse_metrics(METRICS), "none", "none")
    found = score_output_pairs(
        data,
        pairs,
        metrics,
        ExecutionOptions(workers=1),
        sampled_pairs=pairs,
        clusters=assign_outputs_to_clusters(data, None),
    ).outcomes
    np.savez_compressed(
        folder / f"{name}.matched.npz",
        share=compute_edited_share(pairs.frame["output"].to_list(), pairs.frame["worse"].to_list()),
        metrics=np.array(found.metrics),
        methods=np.array(found.perturbation_names),
        **{field: getattr(found, attribute) for field, attribute in STORED_FIELDS.items()},
    )


def choose_strengths(data, target_share):
    """Choose for each method of `GRADED` the strength whose median edited share is nearest to the target.

    Decided on about 100 items. A strength that applies to less than half as many outputs as strength 1 is not
    considered; of two equally near strengths the smaller is taken.
    """
    items = data.outputs["item"].unique().sort()
    sampled_items = items.gather_every(max(1, len(items) // 100))
    sample = data.filter_rows(data.outputs["item"].is_in(sampled_items.implode()), reason="not sampled")
    chosen = {}
    for method in GRADED.split(","):
        best = None
        pairs_at_first = None
        for strength in (1, 2, 3, 4, 6, 8, 12, 16, 24):
            pairs = make_perturbed_output_pairs(
                sample, perturbations=[f"{method}(strength={strength})"], per_output=None
            )
            pairs_at_first = pairs_at_first or len(pairs)
            if not len(pairs) or 2 * len(pairs) < pairs_at_first:
                continue
            shares = compute_edited_share(pairs.frame["output"].to_list(), pairs.frame["worse"].to_list())
            distance = abs(float(np.median(shares)) - target_share)
            if best is None or distance < best[0]:
                best = (distance, strength)
        chosen[method] = 1 if best is None else best[1]
    return chosen


def score_neural(name, family, folder):
    """Score the same outputs of fewer items, and some of their perturbed outputs, with neural metrics."""
    data, _ = draw_data(name)
    frame = pl.read_parquet(folder / f"{name}.pairs.parquet")
    order = pl.col("item").hash(7)
    items = data.outputs.select("item").unique().sort(order, "item").head(NEURAL_ITEMS)["item"]
    place = pl.concat_str("item", pl.lit("\n"), "system").hash(7).rank("dense").over("item")
    chosen = data.outputs.select("item", "system", place.alias("place"))
    chosen = chosen.filter(pl.col("item").is_in(items.implode()) & (pl.col("place") <= NEURAL_SYSTEMS))
    drawn = frame.with_row_index("row").join(chosen, on=["item", "system"], maintain_order="left")
    metrics = choose_metrics(data, parse_metrics(NEURAL[family]), "none", "none")
    pairs = Pairs(drawn.drop("row", "place"), {})
    judged = score_output_pairs(
        data,
        pairs,
        metrics,
        ExecutionOptions(workers=1),
        sampled_pairs=pairs,
        clusters=assign_outputs_to_clusters(data, None),
        additional_output_rows=data.outputs["item"].is_in(items.implode()).arg_true().to_numpy(),
    )
    np.savez_compressed(
        folder / f"{name}.{family}.npz",
        metrics=np.array([metric.spec for metric in metrics]),
        tolerance=np.array([metric.tie_tolerance for metric in metrics]),
        pairs=drawn["row"].to_numpy(),
        outcome=judged.outcomes.outcomes,
        scores=judged.output_scores,
    )


def main(command, folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    english = [name for name in SETS if name.endswith("-en") or name == "realsumm"]
    wanted = {
        "lexical": [*((name, "") for name in [*SETS, "demetr"]), *((name, "matched") for name in SETS)],
        "shared": [(name, "") for name in SETS],
        "neural": [*((name, "use") for name in SETS), *((name, "minilm") for name in english)],
    }
    for name, kind in wanted[command]:
        file = folder / (f"{name}.{kind}.npz" if kind else f"{name}.npz")
        if file.is_file():
            continue
        start = time.perf_counter()
        if kind in NEURAL:
            score_neural(name, kind, folder)
        elif kind:
            score_matched(name, folder)
        elif name == "demetr":
            score_demetr(folder)
        else:
            score_dataset(name, folder, SHARED if command == "shared" else None)
        print(f"{file.stem}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
