"""ONNX-ML."""
