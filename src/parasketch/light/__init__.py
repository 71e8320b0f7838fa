"""Generation without torch: models as ONNX graphs over their own weights, run by onnxruntime.

`export` writes the graphs of a model (it needs the extra `export`); `backend` and `verifier` run them (they need
onnxruntime, NumPy and tokenizers). The weights stay where they are, in `model.safetensors`, and are not stored twice.
"""
