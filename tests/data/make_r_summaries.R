# Makes the fixtures of rpart_summary: Rscript make_r_summaries.R <tests/data>; R with rpart 4.1.
library(rpart)
args <- commandArgs(trailingOnly = TRUE)
good <- file.path(args[1], "formats", "rpart_summary", "good")
dir.create(good, recursive = TRUE, showWarnings = FALSE)
set.seed(4)
n <- 120
d <- data.frame(age = sample(18:80, n, TRUE), `hours < 40` = sample(10:60, n, TRUE),
                town = factor(sample(c("a", "b", "c", "d"), n, TRUE)), check.names = FALSE)
d$weight <- d$age + sample(-6:6, n, TRUE)
d$kind <- factor(ifelse(d$age > 50, ifelse(d$town %in% c("a", "c"), "ill: acute", "well"), "other"))
d$pay <- d$age * 10 + ifelse(d$town == "b", 300, 0) + sample(0:40, n, TRUE)
d$age[seq(3, n, 11)] <- NA
d$town[seq(5, n, 13)] <- NA
write <- function(fit, name) {
  out <- file.path(good, paste0(name, ".summary"))
  capture.output(invisible(summary(fit)), file = out)
}
x <- c("age", "hours < 40", "town", "weight")
classes <- rpart(kind ~ ., d[c(x, "kind")], control = rpart.control(minbucket = 3, cp = 0.005, xval = 0))
numbers <- rpart(pay ~ ., d[c(x, "pay")], control = rpart.control(minbucket = 8, cp = 0.005, xval = 0))
stays <- rpart(kind ~ ., d[c(x, "kind")], control = rpart.control(minbucket = 5, usesurrogate = 0, xval = 0))
priors <- rpart(kind ~ ., d[c(x, "kind")], parms = list(prior = c(.6, .2, .2)),
                control = rpart.control(minbucket = 5, xval = 0))
write(classes, "classes"); write(numbers, "numbers"); write(stays, "stays"); write(priors, "priors")
rows <- d[x]
rows$age[seq(1, n, 4)] <- NA
rows$weight[seq(2, n, 5)] <- NA
rows$class <- predict(classes, rows, type = "class")
rows$number <- predict(numbers, rows)
rows$town <- as.integer(rows$town)
write.csv(rows, file.path(args[1], "r_predictions", "rpart_summary.csv"), row.names = FALSE, na = "")
