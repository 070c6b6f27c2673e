"""The operations of hire.json as functions: for the right answers, and the tools of the row `smolagents`."""

import json
import os
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen


def _get(path: str, **query: Any) -> Any:
    asked = urlencode({key: value for key, value in query.items() if value is not None})
    with urlopen(f"{os.environ['HIRE']}{path}?{asked}") as answer:
        return json.load(answer)


def find_stations(name: str | None = None, district: str | None = None) -> list:
    """Find stations where bicycles stand: id, name, district and number of docks of each.

    Args:
        name: Whole name of the station.
        district: Port, Centre or Hill.
    """
    return _get("/stations", name=name, district=district)


def get_station(station_id: int) -> dict:
    """Get one station: its id, name, district and number of docks.

    Args:
        station_id: Number of the station.
    """
    return _get(f"/stations/{station_id}")


def find_bikes(station: int | None = None, model: str | None = None, electric: bool | None = None) -> list:
    """Find bicycles: id, model, electric, kilometres ridden and station of each.

    Args:
        station: Number of the station where they stand.
        model: Name of the model.
        electric: Only those with a motor, or only those without one.
    """
    return _get("/bikes", station=station, model=model, electric=electric)


def get_bike(bike_id: int) -> dict:
    """Get one bicycle: its id, model, electric, kilometres ridden and station.

    Args:
        bike_id: Number of the bicycle.
    """
    return _get(f"/bikes/{bike_id}")


def find_trips(bike: int | None = None, day: str | None = None) -> list:
    """Find trips: id, bike, day, start and end (numbers of stations) and minutes of each.

    Args:
        bike: Number of the bicycle.
        day: Day of the trip, as 2026-05-01.
    """
    return _get("/trips", bike=bike, day=day)


def quote_price(minutes: int, electric: bool = False, card: str = "none") -> dict:
    """Tell what a trip costs: euros.

    Args:
        minutes: Length of the trip in minutes.
        electric: True for a bicycle with a motor.
        card: Card of the member: none, silver or gold.
    """
    return _get("/price", minutes=minutes, electric=electric, card=card)


def get_member(member_id: int) -> dict:
    """Get one member: id, name and card (none, silver or gold).

    Args:
        member_id: Number of the member.
    """
    return _get(f"/members/{member_id}")


def find_repairs(bike: int | None = None, work: str | None = None) -> list:
    """Find repairs: id, bike, work and cost in euros of each.

    Args:
        bike: Number of the bicycle.
        work: brakes, tyre, chain or light.
    """
    return _get("/repairs", bike=bike, work=work)


TOOLS = [find_stations, get_station, find_bikes, get_bike, find_trips, quote_price, get_member, find_repairs]
