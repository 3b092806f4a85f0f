"""A fitted model as one ONNX graph: the people's own columns in, the mixture's probabilities or mean amounts out.

Comparisons decide, so a number that is rounded otherwise may be another label. Our own classifiers are written with the
same sums in double precision and in the same order as they are computed here, and give the same labels bit for bit
wherever a runtime does not rearrange them (:mod:`fairwise.learning.onnx.mixture`). Of estimators of scikit-learn the
last step of linear ones is a matrix product in double precision, and skl2onnx writes the others
(:mod:`fairwise.learning.onnx.estimators`).
"""

from fairwise.loading import require

require("onnx", "An ONNX graph")

from fairwise.learning.onnx.mixture import amounts_to_onnx, to_onnx

__all__ = ["amounts_to_onnx", "to_onnx"]
