# Makes the fixtures of gbm_json: Rscript make_gbm.R <folder>; needs gbm, jsonlite.
library(gbm)
library(jsonlite)
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(11)
size <- 160
d <- data.frame(age = round(runif(size, 18, 90), 1), pay = round(rlnorm(size, 7, 1), 2),
  job = factor(sample(c("clerk", "smith, black", "nurse", "cook"), size, TRUE)),
  grade = factor(sample(c("low", "mid", "high"), size, TRUE), levels = c("low", "mid", "high"), ordered = TRUE))
d$ill <- as.numeric(d$age + 20 * (d$job == "nurse") - 15 * (d$grade == "low") + rnorm(size, 0, 12) > 55)
d$cost <- round(d$pay / 10 + 50 * d$ill + rnorm(size, 0, 20), 1)
d$score <- 30 * as.numeric(d$grade) + round(rnorm(size, 0, 9), 1)
d$visits <- rpois(size, 1 + d$age / 40)
d$ward <- factor(ifelse(d$age > 60, "C", ifelse(d$job == "nurse", "B", "A")))
gaps <- d
for (name in c("age", "job")) gaps[[name]][sample(size, 30)] <- NA

parted <- function(model, path) {
  told <- c("initF", "bag.fraction", "distribution", "num.classes", "response.name", "var.names", "var.type", "c.splits", "classes")
  parts <- c(unclass(model)[intersect(told, names(model))], list(
    var.levels = lapply(model$var.levels, function(levels) if (is.character(levels)) levels),
    trees = lapply(seq_along(model$trees), function(k) pretty.gbm.tree(model, k))))
  writeLines(toJSON(parts, digits = NA), path)
}
fits <- list(
  bernoulli = gbm(ill ~ age + pay + job + grade, gaps, distribution = "bernoulli", n.trees = 4, interaction.depth = 3, n.minobsinnode = 5, bag.fraction = 1),
  adaboost = gbm(ill ~ age + job, d, distribution = "adaboost", n.trees = 3, interaction.depth = 2, n.minobsinnode = 5),
  gaussian = gbm(score ~ grade + age, d, distribution = "gaussian", n.trees = 3, interaction.depth = 2, n.minobsinnode = 5, bag.fraction = 1),
  poisson = gbm(visits ~ age + job, d, distribution = "poisson", n.trees = 3, interaction.depth = 2, n.minobsinnode = 5),
  multinomial = suppressWarnings(gbm(ward ~ age + job, d, distribution = "multinomial", n.trees = 3, interaction.depth = 2, n.minobsinnode = 5)))
said <- list()
for (name in names(fits)) {
  fit <- fits[[name]]
  parted(fit, file.path(folder, paste0(name, ".json")))
  found <- predict(fit, gaps, n.trees = fit$n.trees, type = "response")
  if (name == "multinomial") for (class in fit$classes) said[[paste0("multinomial_", class)]] <- found[, class, 1]
  else said[[name]] <- found
}
write.csv(data.frame(gaps[c("age", "pay", "job", "grade")], said), file.path(folder, "gbm.predicted.csv"), row.names = FALSE, na = "")
