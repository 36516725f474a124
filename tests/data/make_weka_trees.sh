#!/bin/sh
# Makes the fixtures of weka_text and of graphviz_dot's J48 drawing: make_weka_trees.sh <folder>; needs Debian's weka.
set -e
cd "$1"
cat > visits.arff <<'ARFF'
@relation 'clinic: visits-2024'
@attribute 'age at visit' numeric
@attribute slot {'12: 30','9 <= 10','late \'x\''}
@attribute smoker {yes,no}
@attribute outcome {'ill: acute',well,other}
@data
ARFF
awk 'BEGIN{srand(3); split("\"12: 30\",\"9 <= 10\",\"late \\\x27x\\\x27\"", s, ","); o[0]="\"ill: acute\""; o[1]="well"; o[2]="other"; m[0]="yes"; m[1]="no";
  for(i=0;i<90;i++){a=20+int(rand()*60); k=int(rand()*3)+1; y=int(rand()*2); c=(a>50)?((k==1)?0:1):((y==0)?2:1); if(rand()<0.1)c=int(rand()*3); print a "," s[k] "," m[y] "," o[c]}}' >> visits.arff
run() { java -cp /usr/share/java/weka.jar "$@"; }
run weka.classifiers.trees.J48 -t visits.arff -no-cv > j48.txt
run weka.classifiers.trees.J48 -t visits.arff -no-cv -B -U -M 1 > j48_binary.txt
run weka.classifiers.trees.J48 -t visits.arff -g > j48.dot
run weka.classifiers.trees.REPTree -t visits.arff -no-cv > reptree.txt
run weka.classifiers.trees.RandomTree -t visits.arff -no-cv -K 2 -S 1 > randomtree.txt
