// Generated with Weka 3.6.14
//
// This code is public domain and comes with no warranty.
//
// Timestamp: Sat Nov 21 02:13:42 UTC 2026

package weka.classifiers;

import weka.core.Attribute;
import weka.core.Capabilities;
import weka.core.Capabilities.Capability;
import weka.core.Instance;
import weka.core.Instances;
import weka.core.RevisionUtils;
import weka.classifiers.Classifier;

public class WekaWrapper
  extends Classifier {

  /**
   * Returns only the toString() method.
   *
   * @return a string describing the classifier
   */
  public String globalInfo() {
    return toString();
  }

  /**
   * Returns the capabilities of this classifier.
   *
   * @return the capabilities
   */
  public Capabilities getCapabilities() {
    weka.core.Capabilities result = new weka.core.Capabilities(this);

    result.enable(weka.core.Capabilities.Capability.NOMINAL_ATTRIBUTES);
    result.enable(weka.core.Capabilities.Capability.NUMERIC_ATTRIBUTES);
    result.enable(weka.core.Capabilities.Capability.DATE_ATTRIBUTES);
    result.enable(weka.core.Capabilities.Capability.MISSING_VALUES);
    result.enable(weka.core.Capabilities.Capability.NOMINAL_CLASS);
    result.enable(weka.core.Capabilities.Capability.MISSING_CLASS_VALUES);

    result.setMinimumNumberInstances(0);

    return result;
  }

  /**
   * only checks the data against its capabilities.
   *
   * @param i the training data
   */
  public void buildClassifier(Instances i) throws Exception {
    // can classifier handle the data?
    getCapabilities().testWithFail(i);
  }

  /**
   * Classifies the given instance.
   *
   * @param i the instance to classify
   * @return the classification result
   */
  public double classifyInstance(Instance i) throws Exception {
    Object[] s = new Object[i.numAttributes()];
    
    for (int j = 0; j < s.length; j++) {
      if (!i.isMissing(j)) {
        if (i.attribute(j).isNominal())
          s[j] = new String(i.stringValue(j));
        else if (i.attribute(j).isNumeric())
          s[j] = new Double(i.value(j));
      }
    }
    
    // set class value to missing
    s[i.classIndex()] = null;
    
    return J48Visits.classify(s);
  }

  /**
   * Returns the revision string.
   * 
   * @return        the revision
   */
  public String getRevision() {
    return RevisionUtils.extract("1.0");
  }

  /**
   * Returns only the classnames and what classifier it is based on.
   *
   * @return a short description
   */
  public String toString() {
    return "Auto-generated classifier wrapper, based on weka.classifiers.trees.J48 (generated with Weka 3.6.14).\n" + this.getClass().getName() + "/J48Visits";
  }

  /**
   * Runs the classfier from commandline.
   *
   * @param args the commandline arguments
   */
  public static void main(String args[]) {
    runClassifier(new WekaWrapper(), args);
  }
}

class J48Visits {

  public static double classify(Object[] i)
    throws Exception {

    double p = Double.NaN;
    p = J48Visits.N4f2410ac0(i);
    return p;
  }
  static double N4f2410ac0(Object []i) {
    double p = Double.NaN;
    if (i[2] == null) {
      p = 2;
    } else if (i[2].equals("yes")) {
    p = J48Visits.N722c41f41(i);
    } else if (i[2].equals("no")) {
    p = J48Visits.N722c41f41(i);
    } 
    return p;
  }
  static double N722c41f41(Object []i) {
    double p = Double.NaN;
    if (i[0] == null) {
      p = 2;
    } else if (((Double) i[0]).doubleValue() <= 50.0) {
      p = 2;
    } else if (((Double) i[0]).doubleValue() > 50.0) {
    p = J48Visits.N5b80350b2(i);
    } 
    return p;
  }
  static double N5b80350b2(Object []i) {
    double p = Double.NaN;
    if (i[1] == null) {
      p = 0;
    } else if (i[1].equals("12: 30")) {
      p = 0;
    } else if (i[1].equals("9 <= 10")) {
      p = 1;
    } else if (i[1].equals("late 'x'")) {
      p = 1;
    } 
    return p;
  }
  static double N5d6f64b13(Object []i) {
    double p = Double.NaN;
    if (i[1] == null) {
      p = 1;
    } else if (i[1].equals("12: 30")) {
    p = J48Visits.N32a1bec04(i);
    } else if (i[1].equals("9 <= 10")) {
      p = 1;
    } else if (i[1].equals("late 'x'")) {
      p = 1;
    } 
    return p;
  }
  static double N32a1bec04(Object []i) {
    double p = Double.NaN;
    if (i[0] == null) {
      p = 1;
    } else if (((Double) i[0]).doubleValue() <= 42.0) {
      p = 1;
    } else if (((Double) i[0]).doubleValue() > 42.0) {
      p = 0;
    } 
    return p;
  }
}

