"""Docker images with code bases and their requirements, for sandboxes."""

from codenav.sandboxes.images.build import build
from codenav.sandboxes.images.code import CodeBase
from codenav.sandboxes.images.recipe import BuiltImage, Recipe

__all__ = ["BuiltImage", "CodeBase", "Recipe", "build"]
