# Makes the fixtures of partykit_json: Rscript make_partykit.R <folder>; needs partykit, rpart, jsonlite.
suppressMessages(library(partykit))
library(jsonlite)
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(5)
size <- 240
d <- data.frame(age = round(runif(size, 18, 90), 1), pay = round(rlnorm(size, 7, 1), 2),
  job = factor(sample(c("clerk", "smith, black", "nurse", "cook"), size, TRUE)),
  grade = factor(sample(c("low", "mid", "high"), size, TRUE), levels = c("low", "mid", "high"), ordered = TRUE))
d$ill <- factor(ifelse(d$age + 20 * (d$job == "nurse") - 25 * (d$grade == "low") + rnorm(size, 0, 8) > 55, "yes", "no"))
d$cost <- round(60 * (d$job %in% c("nurse", "cook")) + 30 * (d$grade == "high") + rnorm(size, 0, 9), 1)

parted <- function(fit, path) {
  fitted <- data.frame(node = fit$fitted[["(fitted)"]], y = fit$fitted[["(response)"]])
  parts <- list(nodes = lapply(as.list(node_party(fit)), function(node) node[intersect(names(node), c("id", "split", "kids"))]),
    variables = names(fit$data), levels = Filter(Negate(is.null), lapply(fit$data, levels)), target = all.vars(terms(fit))[1])
  if (is.factor(fitted$y)) parts$counts <- as.data.frame(table(node = fitted$node, class = fitted$y))
  else parts$means <- data.frame(aggregate(cbind(mean = y) ~ node, fitted, mean), n = as.vector(table(fitted$node)))
  writeLines(toJSON(parts, digits = NA, force = TRUE), path)
}
fits <- list(
  ctree = ctree(ill ~ age + pay + job + grade, d),
  regression = ctree(cost ~ age + job + grade, d),
  rpart = as.party(rpart::rpart(ill ~ age + pay + job + grade, d)))
said <- list()
for (name in names(fits)) {
  parted(fits[[name]], file.path(folder, paste0(name, ".json")))
  said[[name]] <- as.character(predict(fits[[name]], d))
  said[[paste0(name, "_node")]] <- predict(fits[[name]], d, type = "node")
}
write.csv(data.frame(d, said), file.path(folder, "partykit.predicted.csv"), row.names = FALSE)
