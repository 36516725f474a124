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
