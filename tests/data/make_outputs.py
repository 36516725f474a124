"""Outputs of a small made-up table as Python's tools write them, each by its own ``to_csv`` or ``to_excel``.

    python make_outputs.py people    # writes outputs/people.csv; then Rscript make_outputs.R
    python make_outputs.py           # tableone 0.9.6, lifelines 0.30.3, statsmodels 0.15.0, pandas 2.3.3, openpyxl

Run in tests/data. Nobody in the table is real.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path("outputs")


def people() -> pd.DataFrame:
    random = np.random.default_rng(20)
    age = random.integers(35, 76, 60)
    sex = random.choice(["F", "M"], 60)
    chance = 1 / (1 + np.exp(-(age - 55) / 8 - (sex == "M") * 0.8))
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "days": random.integers(20, 400, 60),
            "ill": np.where(random.random(60) < chance, "yes", "no"),
        }
    )


def main() -> None:
    if sys.argv[1:] == ["people"]:
        people().to_csv(FOLDER / "people.csv", index=False)
        return
    import statsmodels.api as sm
    from lifelines import CoxPHFitter, KaplanMeierFitter
    from tableone import TableOne

    table = pd.read_csv(FOLDER / "people.csv")
    table["case"] = (table.ill == "yes").astype(int)
    one = TableOne(
        table, columns=["age", "sex"], categorical=["sex"], groupby="ill", pval=True, decimals=1
    )
    one.to_csv(FOLDER / "py_tableone.csv")
    plain = TableOne(
        table,
        columns=["age", "sex"],
        categorical=["sex"],
        nonnormal=["age"],
        groupby="ill",
        missing=False,
    )
    plain.to_csv(FOLDER / "py_tableone_median.csv")

    design = sm.add_constant(pd.get_dummies(table[["age", "sex"]], drop_first=True, dtype=float))
    logit = sm.Logit(table.case, design).fit(disp=0)
    logit.summary2().tables[1].to_csv(FOLDER / "py_logit_summary2.csv")
    Path(FOLDER / "py_logit_summary.csv").write_text(logit.summary().tables[1].as_csv())
    least = sm.OLS(table.case, design).fit()
    Path(FOLDER / "py_ols_summary.csv").write_text(least.summary().tables[1].as_csv())

    cox = CoxPHFitter().fit(table[["age", "days", "case"]], "days", "case")
    cox.summary.to_csv(FOLDER / "py_lifelines_cox.csv")
    curve = KaplanMeierFitter().fit(table.days, table.case)
    curve.event_table.to_csv(FOLDER / "py_lifelines_events.csv")

    predicted = np.where(table.age > 55, "yes", "no")
    pd.crosstab(table.ill, predicted, margins=True, margins_name="Total").to_csv(
        FOLDER / "py_confusion.csv"
    )
    score = table.groupby(table.age > 55).case.transform("mean")
    bins = pd.cut(score, [0, 0.5, 1], right=False)
    calibration = table.groupby(bins, observed=True).case.agg(["size", "sum"])
    calibration.columns, calibration.index.name = ["n", "events"], "bin"
    calibration.to_csv(FOLDER / "py_calibration.csv")
    ages = table.assign(group=table.ill).groupby("group").age
    frame = pd.DataFrame({"": ["n", "age, mean"], **{k: [len(v), v.mean()] for k, v in ages}})
    frame.to_excel(FOLDER / "py_means.xlsx", index=False)


main()
