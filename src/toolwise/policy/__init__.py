"""What may be exposed: policies, the rules they stand for, and the search that keeps them."""

from toolwise.policy.constraints import Pool, constraints, needs
from toolwise.policy.eligibility import Eligibility, matches
from toolwise.policy.greedy import GreedySearch
from toolwise.policy.idle import idle
from toolwise.policy.policy import BUILT_IN, Breadth, Cap, Policy, Redundancy, load_policy, price, revise

__all__ = [
    "BUILT_IN",
    "Breadth",
    "Cap",
    "Eligibility",
    "GreedySearch",
    "Policy",
    "Pool",
    "Redundancy",
    "constraints",
    "idle",
    "load_policy",
    "matches",
    "needs",
    "price",
    "revise",
]
