"""Keras on torch."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

DISTRIBUTIONS = ("keras",)


def _set(model):
    rng = np.random.RandomState(0)
    model.set_weights([rng.standard_normal(w.shape).astype("float32") * 0.2 for w in model.get_weights()])
    return model


def dense():
    model = keras.Sequential(
        [keras.layers.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2)]
    )
    _set(model).compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
    x, y = (
        np.random.RandomState(1).randn(32, 4).astype("float32"),
        np.random.RandomState(2).randn(32, 2).astype("float32"),
    )
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0)
    return history.history["loss"], model.predict(x, verbose=0)


def pictures():
    L = keras.layers
    model = keras.Sequential(
        [
            L.Input((8, 8, 3)),
            L.Conv2D(4, 3, padding="same"),
            L.BatchNormalization(),
            L.ReLU(),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dense(3, activation="softmax"),
        ]
    )
    return _set(model).predict(np.random.RandomState(1).randn(2, 8, 8, 3).astype("float32"), verbose=0)


def sequences():
    L = keras.layers
    x = np.random.RandomState(1).randn(2, 5, 3).astype("float32")
    found = []
    for kind in (L.LSTM, L.GRU, L.SimpleRNN):
        model = _set(keras.Sequential([L.Input((5, 3)), kind(4, return_sequences=True), L.Bidirectional(kind(3))]))
        found.append(model.predict(x, verbose=0))
    return found


def attention():
    L = keras.layers
    inputs = L.Input((5, 8))
    x = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(inputs, inputs) + inputs)
    model = _set(keras.Model(inputs, L.GlobalAveragePooling1D()(x)))
    return model(torch.from_numpy(np.random.RandomState(1).randn(2, 5, 8).astype("float32")))
