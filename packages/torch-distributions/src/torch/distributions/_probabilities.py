"""Parameters that are given as probabilities or as log odds, either of which gives the other."""

from .utils import lazy_property, logits_to_probs, probs_to_logits


def one_of(family, **given):
    """ValueError unless exactly one of the named arguments is there; its name."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        choice = " or ".join(f"`{name}`" for name in given)
        got = " and ".join(names) or "none of them"
        raise ValueError(f"{family}: Either {choice} must be specified, but not both: got {got}")
    return names[0]


class Chances:
    """``probs`` and ``logits`` of binary outcomes; the one that was not given is computed when asked for."""

    _is_binary = True

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self):
        return self.logits if "logits" in vars(self) and "probs" not in vars(self) else self.probs

    @property
    def param_shape(self):
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


class OfCategorical:
    """The same parameters where a :class:`Categorical` in ``_categorical`` keeps them."""

    def _choice(self, probs, logits, validate_args):
        from .categorical import Categorical, read_chances

        read_chances(type(self).__name__, probs, logits, self._validates(validate_args))
        return Categorical(probs, logits, validate_args=False)

    def _is_given(self, name):
        return self._categorical._is_given(name) if name in ("probs", "logits") else super()._is_given(name)

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def _param(self):
        return self._categorical._param

    @property
    def param_shape(self):
        return self._categorical.param_shape

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)
