# Makes the fixtures of rpart_text, rpart_json and partykit_text: Rscript make_r_trees.R <folder>; needs rpart, partykit, jsonlite.
library(rpart)
library(partykit)
library(jsonlite)
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(7)
size <- 240
d <- data.frame(age = round(runif(size, 18, 90), 1), pay = round(rlnorm(size, 7, 1), 2),
  job = factor(sample(c("clerk", "smith, black", "nurse", "cook"), size, TRUE)),
  band = cut(runif(size, 0, 100), c(0, 20, 50, 100)))
d$ill <- factor(ifelse(d$age + 20 * (d$job == "nurse") + rnorm(size, 0, 12) > 60, "yes", "no"))
d$cost <- round(d$pay / 10 + 50 * (d$band == "(50,100]") + rnorm(size, 0, 20), 1)
gaps <- d
for (name in c("age", "pay", "job")) gaps[[name]][sample(size, 40)] <- NA
options(width = 400)

object <- function(fit, path) {
  frame <- fit$frame
  rows <- data.frame(node = as.integer(rownames(frame)), frame[c("var", "n", "wt", "dev", "yval", "complexity", "ncompete", "nsurrogate")])
  rows$var <- as.character(rows$var)
  splits <- if (is.null(fit$splits)) NULL else data.frame(var = rownames(fit$splits), fit$splits, row.names = NULL)
  parms <- if (fit$method == "class") fit$parms[c("prior", "loss", "split")] else NULL
  if (!is.null(parms)) parms$prior <- as.numeric(parms$prior)
  whole <- list(frame = rows, yval2 = frame$yval2, splits = splits, csplit = fit$csplit,
    xlevels = attr(fit, "xlevels"), ylevels = attr(fit, "ylevels"), method = unbox(fit$method), parms = parms,
    control = lapply(fit$control, unbox), call = paste(deparse(fit$call), collapse = ""))
  if (!is.null(parms)) whole$parms$split <- unbox(parms$split)
  if (!is.null(whole$yval2)) dimnames(whole$yval2) <- NULL
  writeLines(toJSON(whole, digits = NA, null = "null", dataframe = "rows", auto_unbox = FALSE), path)
}

# One value per row of the frame: unboxed by taking the JSON of data frames.
fits <- list(
  plain = rpart(ill ~ age + pay + job + band, d),
  gaps = rpart(ill ~ age + pay + job + band, gaps),
  stay = rpart(ill ~ age + pay + job + band, gaps, usesurrogate = 1),
  none = rpart(ill ~ age + pay + job + band, gaps, usesurrogate = 0),
  prior = rpart(ill ~ age + pay + job + band, d, parms = list(prior = c(0.3, 0.7))),
  weighted = rpart(ill ~ age + pay, d, weights = ifelse(d$ill == "yes", 2, 1)),
  costs = rpart(cost ~ age + pay + job + band, d))
# Missing values go with the child of more records, whatever they weigh, and with neither where both hold as many.
even <- data.frame(age = 1:20, ill = factor(rep(c("yes", "no"), each = 10)))
uneven <- data.frame(age = 1:20, ill = factor(rep(c("yes", "no"), c(8, 12))))
fits$tie <- rpart(ill ~ age, even, minsplit = 2)
fits$heavy <- rpart(ill ~ age, uneven, weights = ifelse(uneven$ill == "yes", 5, 1), minsplit = 2)
for (name in names(fits)) {
  fit <- fits[[name]]
  object(fit, file.path(folder, paste0("rpart_", name, ".json")))
  writeLines(capture.output(print(fit)), file.path(folder, paste0("rpart_", name, ".txt")))
  said <- predict(fit, gaps)
  write.csv(said, file.path(folder, paste0("rpart_", name, ".predicted.csv")), row.names = FALSE)
}
write.csv(gaps, file.path(folder, "rpart_records.csv"), row.names = FALSE, na = "")
writeLines(capture.output(print(as.party(fits$plain))), file.path(folder, "partykit_plain.txt"))
writeLines(capture.output(print(as.party(fits$costs))), file.path(folder, "partykit_costs.txt"))
writeLines(capture.output(print(ctree(ill ~ age + pay + job, d))), file.path(folder, "partykit_ctree.txt"))
writeLines(capture.output(print(party::ctree(ill ~ age + pay + job, d))), file.path(folder, "party_ctree.txt"))

# What jsonlite makes of an rpart object: whole by force, and with the names that it drops (docs/recipes/r.md).
forced <- function(fit, path) writeLines(toJSON(unclass(fit), digits = NA, force = TRUE), path)
parted <- function(fit, path) {
  splits <- data.frame(var = rownames(fit$splits), fit$splits, row.names = NULL)
  parts <- c(unclass(fit)[c("frame", "csplit", "method", "parms", "control")], list(splits = splits,
    xlevels = attr(fit, "xlevels"), ylevels = attr(fit, "ylevels"), call = deparse(fit$call)))
  writeLines(toJSON(parts, digits = NA, force = TRUE), path)
}
d$visits <- rpois(size, 1 + d$age / 40)
gaps$visits <- d$visits
d$years <- rexp(size, d$age / 100)
jsons <- list(
  forced_anova = rpart(cost ~ age + pay, d),
  parted_class = rpart(ill ~ age + pay + job + band, gaps),
  parted_poisson = rpart(visits ~ age + pay + job, gaps, method = "poisson"),
  parted_exp = rpart(survival::Surv(years) ~ age + pay + job, d))
for (name in names(jsons)) {
  if (startsWith(name, "forced")) forced(jsons[[name]], file.path(folder, paste0("rpart_", name, ".json")))
  else parted(jsons[[name]], file.path(folder, paste0("rpart_", name, ".json")))
  write.csv(predict(jsons[[name]], gaps), file.path(folder, paste0("rpart_", name, ".predicted.csv")), row.names = FALSE)
}
