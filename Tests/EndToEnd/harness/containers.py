"""Parses docker-compose.yml, its Stripe overlay and ops/Dockerfile as Docker does."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
WITH_STRIPE = yaml.safe_load((ROOT / "ops/compose/stripe.yml").read_text())
SERVICES = COMPOSE["services"]
OURS = ("api", "worker", "notifier", "gateway", "sandbox", "mail")
MAIL = ROOT / "ops/compose/mail"
PROGRAMS = ("pollerd", "pollerctl", "stripe-sandbox")


def instructions() -> list[tuple[str, str]]:
    """Returns the Dockerfile's instructions with continued lines joined."""
    text = (ROOT / "ops/Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def of(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def expand(value, env: dict[str, str] | None = None) -> str:
    """Expands `${NAME:-default}` as Compose does, and `$$` to a dollar sign."""
    text = re.sub(
        r"(?<!\$)\$\{([A-Z_]+)(?::?[-?]([^}]*))?\}",
        lambda found: (env or {}).get(found[1]) or found[2] or "",
        str(value),
    )
    return text.replace("$$", "$")


def pollerd_services() -> list[str]:
    return [name for name, service in SERVICES.items() if "pollerd" in service.get("command", [])]
