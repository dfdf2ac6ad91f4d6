"""Speakers: espeak-ng voices that differ in synthesis, pitch, pace and accent; and the noise around them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

RATE = 16_000  # what the acoustic model expects
ESPEAK_RATE = 22_050
WAV_HEADER = 44
BACKGROUND_NOISE_DB = 32.0  # formant synthesis has digital silence, which no recogniser was trained on

Sound: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Speaker:
    """One synthetic voice; `gender` is what espeak-ng says of the voice."""

    name: str
    voice: str
    pace: int
    pitch: int
    gender: str
    accent: str


SPEAKERS = (
    Speaker("spk1", "en-us+klatt2", 140, 50, "male", "american"),
    Speaker("spk2", "en-us+klatt4", 140, 25, "male", "american"),
    Speaker("spk3", "en-us+klatt2", 175, 60, "male", "american"),
    Speaker("spk4", "en-us+klatt6", 125, 40, "male", "american"),
    Speaker("spk5", "en-us+f2", 150, 45, "female", "american"),
    Speaker("spk6", "en-us+f5", 140, 30, "female", "american"),
    Speaker("spk7", "en-us+f2", 130, 60, "female", "american"),
    Speaker("spk8", "en-us-nyc+klatt4", 140, 50, "male", "new york"),
    Speaker("spk9", "en-gb-x-rp+klatt4", 140, 60, "male", "british"),
)


def speak(text: str, speaker: Speaker) -> Sound:
    """Read a text aloud, at 16 kHz, a little brighter than espeak-ng does and with faint noise."""
    command = [
        "espeak-ng",
        "-v",
        speaker.voice,
        "-s",
        str(speaker.pace),
        "-p",
        str(speaker.pitch),
        "--stdout",
    ]
    wav = subprocess.run([*command, text], capture_output=True, check=True).stdout[WAV_HEADER:]
    samples = np.frombuffer(wav[: len(wav) // 2 * 2], dtype="<i2").astype(np.float64)
    length = len(samples) * RATE // ESPEAK_RATE
    sound = np.interp(np.arange(length) * ESPEAK_RATE / RATE, np.arange(len(samples)), samples)
    brighter = np.append(sound[:1], sound[1:] - 0.7 * sound[:-1])
    silence = np.zeros(RATE * 3 // 10)
    return add_noise(np.concatenate([silence, brighter, silence]), BACKGROUND_NOISE_DB, seed=len(text))


def add_noise(sound: Sound, decibels: float, seed: int) -> Sound:
    """Add white noise, this many decibels below the speech."""
    noise = np.random.default_rng(seed).normal(size=len(sound))
    loudness = float(np.sqrt(np.mean(sound**2)))
    return sound + noise * loudness * 10 ** (-decibels / 20)


def to_pcm(sound: Sound) -> bytes:
    """Convert a sound to 16-bit samples, scaled so that none is clipped."""
    loudest = float(np.abs(sound).max())
    return (sound / loudest * 20_000).astype("<i2").tobytes()
