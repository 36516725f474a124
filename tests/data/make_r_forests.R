# Makes the fixtures of r_forest_json: Rscript make_r_forests.R <folder>; needs randomForest, ranger, jsonlite.
library(jsonlite)
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(3)
d <- data.frame(age = round(runif(120, 18, 90), 1), pay = round(runif(120, 0, 9), 2), job = factor(sample(letters[1:4], 120, TRUE)))
d$ill <- factor(ifelse(d$age + 15 * (d$job == "b") + rnorm(120, 0, 9) > 60, "yes", "no"))
saved <- function(trees, name) writeLines(toJSON(trees, digits = NA, na = "null"), file.path(folder, name))
forest <- randomForest::randomForest(ill ~ age + pay, d, ntree = 3, maxnodes = 6)
saved(lapply(1:3, function(k) randomForest::getTree(forest, k, labelVar = TRUE)), "randomforest.json")
shares <- ranger::ranger(ill ~ ., d, num.trees = 5, max.depth = 5, probability = TRUE, respect.unordered.factors = "partition", num.threads = 1, seed = 1)
saved(lapply(1:5, function(k) ranger::treeInfo(shares, k)), "ranger.json")
votes <- ranger::ranger(ill ~ age + pay, d, num.trees = 3, max.depth = 3, num.threads = 1, seed = 1)
saved(lapply(1:3, function(k) ranger::treeInfo(votes, k)), "ranger_votes.json")
grid <- expand.grid(age = seq(18, 90, 4.1), pay = seq(0, 9, 1.7))
write.csv(data.frame(grid, forest = predict(forest, grid, type = "prob")[, "yes"], votes = as.character(predict(votes, grid)$predictions)),
  file.path(folder, "r_forests.predicted.csv"), row.names = FALSE)

# Forests over factors, with their levels beside the trees (docs/recipes/r.md).
d$job <- factor(d$job, labels = c("nurse", "cook", "smith, b", "clerk"), levels = c("b", "a", "d", "c"))
d$grade <- factor(sample(c("low", "mid", "high"), 120, TRUE), levels = c("low", "mid", "high"), ordered = TRUE)
d$ill <- factor(ifelse(d$age + 15 * (d$job == "nurse") - 9 * (d$grade == "low") + rnorm(120, 0, 9) > 60, "yes", "no"))
parted <- function(trees, levels, name, ...) saved(list(trees = trees, levels = levels, ...), name)
levels_in <- function(fit) {
  found <- fit$forest$covariate.levels
  if (is.null(found)) lapply(Filter(is.factor, d[fit$forest$independent.variable.names]), levels) else found
}
said <- list()
coded <- randomForest::randomForest(ill ~ age + job + pay, d, ntree = 3, maxnodes = 8)
parted(lapply(1:3, function(k) randomForest::getTree(coded, k, labelVar = TRUE)),
  coded$forest$xlevels[coded$forest$ncat > 1], "randomforest_levels.json")
said$randomforest_levels <- predict(coded, d, type = "prob")[, "yes"]
for (rule in c("ignore", "order", "partition")) {
  fit <- ranger::ranger(ill ~ age + pay + job + grade, d, num.trees = 4, max.depth = 4, probability = TRUE,
    respect.unordered.factors = rule, num.threads = 1, seed = 2)
  parted(lapply(1:4, function(k) ranger::treeInfo(fit, k)), levels_in(fit), paste0("ranger_", rule, ".json"),
    ordered = I(names(Filter(is.ordered, d))))
  said[[paste0("ranger_", rule)]] <- predict(fit, d, num.threads = 1)$predictions[, "yes"]
}
one <- ranger::ranger(ill ~ age + pay, d, num.trees = 1, max.depth = 4, probability = TRUE, num.threads = 1, seed = 2)
writeLines(toJSON(ranger::treeInfo(one, 1)), file.path(folder, "ranger_one.json"))
said$ranger_one <- predict(one, d, num.threads = 1)$predictions[, "yes"]
write.csv(data.frame(d[c("age", "pay", "job", "grade")], said), file.path(folder, "r_factors.predicted.csv"), row.names = FALSE)
