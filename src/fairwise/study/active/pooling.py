"""What participants have in common, learned from all of them, so that a newcomer's few answers go further."""

from __future__ import annotations

import numpy as np

from fairwise.study.active.logit import Choices, Posterior, Prior, posterior

# Before anybody has answered: coefficients of standardised features are about this large.
_WIDE = 2.0
# The prior's spread counts as much as that of so many participants.
_IMAGINED = 2.0
_ROUNDS = 12
_STEPS_IN_A_ROUND = 1


def pooled(choices: Choices, rounds: int = _ROUNDS) -> tuple[Prior, Posterior]:
    """Return the prior that explains all participants best, and each one's posterior given it.

    Expectation and maximisation in turn, with posteriors taken as normal: with J participants, of whom the d-th
    coefficient has posterior mean m_jd and variance v_jd,

        mean_d     = Σ_j m_jd / (J + variance_d / wide²)
        variance_d = (imagined · wide² + Σ_j ((m_jd - mean_d)² + v_jd)) / (imagined + J).
    """
    participants, _, _, features = choices.options.shape
    prior = Prior(np.zeros(features), np.full(features, _WIDE**2))
    found = Posterior(np.zeros((participants, features)), np.zeros((participants, features, features)))
    for _ in range(rounds):
        found = posterior(choices, prior, found.mean, _STEPS_IN_A_ROUND)
        mean = found.mean.sum(axis=0) / (participants + prior.variance / _WIDE**2)
        scatter = (found.mean - mean) ** 2 + np.diagonal(found.covariance, axis1=1, axis2=2)
        prior = Prior(mean, (_IMAGINED * _WIDE**2 + scatter.sum(axis=0)) / (_IMAGINED + participants))
    return prior, posterior(choices, prior, found.mean, _STEPS_IN_A_ROUND)
