#!/bin/sh
# Makes the fixtures of weka_stump and weka_java: make_weka_sources.sh <folder with visits.arff>; needs Debian's weka.
# visits.arff is tests/data/weka_visits.arff.
set -e
cd "$1"
run() { java -cp /usr/share/java/weka.jar "$@"; }
run weka.classifiers.trees.DecisionStump -t visits.arff -no-cv > stump_nominal.txt
run weka.classifiers.trees.DecisionStump -t visits.arff -no-cv -c first > stump_of_numbers.txt
run weka.classifiers.trees.DecisionStump -t visits.arff -no-cv -c 3 > stump_numeric.txt
run weka.classifiers.trees.J48 -t visits.arff -no-cv -z J48Visits > j48_source.txt
run weka.classifiers.trees.J48 -t visits.arff -no-cv > j48_print.txt
run weka.classifiers.trees.J48 -t visits.arff -no-cv -B -U -M 1 -z J48Binary > j48_binary_source.txt
run weka.classifiers.trees.J48 -t visits.arff -no-cv -B -U -M 1 > j48_binary_print.txt
