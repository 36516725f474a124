# Outputs of a small made-up table as R writes them: survival, broom, arsenal and pROC by their own functions and
# write.csv. Run in tests/data: Rscript make_outputs.R   (R 4.2, survival 3.4, broom, arsenal, pROC of Debian 12)
library(survival); library(broom); library(arsenal); library(pROC)
people <- read.csv("outputs/people.csv", stringsAsFactors = TRUE)
people$case <- as.integer(people$ill == "yes")
put <- function(frame, name, rows = FALSE) write.csv(frame, file.path("outputs", name), row.names = rows)

fit <- glm(case ~ age + sex, binomial, people)
put(tidy(fit), "r_glm_broom.csv")
put(summary(fit)$coefficients, "r_glm_summary.csv", TRUE)
odds <- tidy(fit, exponentiate = TRUE, conf.int = TRUE)
names(odds)[2] <- "odds_ratio"
odds <- cbind(odds[1], lapply(odds[-1], function(x) signif(x, 4)))
put(odds, "r_odds_ratios.csv")
put(odds[-1, 1:2], "r_odds_ratios_without_constant.csv")

line <- lm(case ~ age + sex, people)
put(summary(line)$coefficients, "r_lm_summary.csv", TRUE)

cox <- coxph(Surv(days, case) ~ age + sex, people, ties = "breslow")
rows <- as.data.frame(summary(cox)$coefficients)
rows <- cbind(term = rownames(rows), rows)
settings <- rows[1:2, ]; settings[,] <- NA; settings$term <- c("(time)", "(ties)"); settings$coef <- c("days", "breslow")
put(rbind(rows, settings), "r_coxph_summary.csv")
efron <- cbind(term = c("age", "(time)"), hr = c(signif(exp(coef(coxph(Surv(days, case) ~ age, people))), 4), "days"))
put(efron, "r_coxph_efron.csv")
one <- coxph(Surv(days, case) ~ age, people, ties = "breslow")
put(cbind(term = c("age", "(time)", "(ties)"), hr = c(signif(exp(coef(one)), 4), "days", "breslow")), "r_coxph_one.csv")

curve <- tidy(survfit(Surv(days, case) ~ 1, people))
names(curve)[1] <- "days"
put(curve, "r_survfit_broom.csv")
some <- summary(survfit(Surv(days, case) ~ sex, people), times = c(100, 300))
put(data.frame(days = some$time, n.risk = some$n.risk, n.event = some$n.event, survival = round(some$surv, 3),
               strata = some$strata), "r_survfit_times.csv")

put(as.data.frame(summary(tableby(ill ~ age + sex, people, digits = 1), text = TRUE)), "r_tableby.csv")
predicted <- factor(ifelse(people$age > 55, "yes", "no"))
put(as.data.frame(table(Prediction = predicted, Reference = people$ill)), "r_confusion.csv")
score <- ave(people$case, people$age > 55)
put(data.frame(metric = "AUC", value = round(as.numeric(auc(people$case, score, quiet = TRUE)), 3)), "r_auc.csv")
