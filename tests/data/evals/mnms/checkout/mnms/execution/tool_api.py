# ruff: noqa
import os
from typing import Dict, List, Union

from .config import *
from .config import DATA_PATH, MODEL_SELECTION


class Image:
    class Image:
        pass


def get_full_path_data(filename):
    return os.path.join(DATA_PATH, filename)


def text_generation(text: str, ckpt=MODEL_SELECTION.get("text_generation")):
    """
    models:
        "none"
    """
    result = {"text": f"text generation of {text}"}
    return result


def text_summarization(text: str, ckpt=MODEL_SELECTION.get("text_summarization")):
    result = {"text": f"text summarization of {text}"}
    return result


def text_classification(text: str, ckpt=MODEL_SELECTION.get("text_classification")):
    result = {"text": f"text classification of {text}"}
    return result


def question_answering(question: str, text: str, ckpt=MODEL_SELECTION.get("question_answering")):
    result = {"text": f"question answering of {question}"}
    return result


def image_generation(text: str, ckpt=MODEL_SELECTION.get("image_generation")):
    result = {"image": "image_generation.png"}
    return result


def image_captioning(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("image_captioning")):
    result = {"text": f"image captioning of {image}"}
    return result


def optical_character_recognition(
    image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("optical_character_recognition")
):
    result = {"text": f"optical character recognition of {image}"}
    return result


def image_classification(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("image_classification")):
    result = {"text": f"image classification of {image}"}
    return result


def image_editing(image: Union[str, Image.Image], prompt: str, ckpt=MODEL_SELECTION.get("image_editing")):
    result = {"image": "image_editing.png"}
    return result


def object_detection(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("object_detection")):
    result = {
        "image": "object_detection.png",
        "objects": [{"label": "dog", "bbox": [0, 0, 9, 9]}, {"label": "cat", "bbox": [9, 9, 20, 20]}],
    }
    return result


def image_segmentation(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("image_segmentation")):
    result = {
        "image": "image_segmentation.png",
        "objects": [{"label": "dog", "bbox": [0, 0, 9, 9]}, {"label": "cat", "bbox": [9, 9, 20, 20]}],
    }
    return result


def automatic_speech_recognition(audio: str, ckpt=MODEL_SELECTION.get("automatic_speech_recognition")):
    result = {"text": f"automatic speech recognition of {audio}"}
    return result


def visual_question_answering(
    image: Union[str, Image.Image], question, ckpt=MODEL_SELECTION.get("visual_question_answering")
):
    result = {"text": f"visual question answering of {image}"}
    return result


def image_crop(image: Union[str, Image.Image], object: Dict, ckpt=MODEL_SELECTION.get("image_crop")):
    result = {"image": "image_crop.png"}
    return result


def image_crop_left(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("image_crop_left")):
    # halves are of the same size
    result = {"image": "image_crop_left.png"}
    return result


def image_crop_right(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("image_crop_right")):
    result = {"image": "image_crop_right.png"}
    return result


def image_crop_top(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("image_crop_top")):
    result = {"image": "image_crop_top.png"}
    return result


def image_crop_bottom(image: Union[str, Image.Image], ckpt=MODEL_SELECTION.get("image_crop_bottom")):
    result = {"image": "image_crop_bottom.png"}
    return result


def background_blur(image: Union[str, Image.Image], object: Dict, ckpt=MODEL_SELECTION.get("background_blur")):
    result = {"image": "background_blur.png"}
    return result


def color_pop(image: Union[str, Image.Image], object: Dict, ckpt=MODEL_SELECTION.get("color_pop")):
    result = {"image": "color_pop.png"}
    return result


def count(objects: List[Dict], ckpt=MODEL_SELECTION.get("count")):
    result = {"number": len(objects)}
    return result


def tag(image: Union[str, Image.Image], objects: List[Dict], ckpt=MODEL_SELECTION.get("tag")):
    result = {"image": "tag.png"}
    return result


def select_object(objects: List[Dict], object_name: str, ckpt=MODEL_SELECTION.get("select_object")):
    result = {"object": next((one for one in objects if one["label"] == object_name), {})}
    return result


def emoji(image: Union[str, Image.Image], object: Dict, emoji: str, ckpt=MODEL_SELECTION.get("emoji")):
    result = {"image": "emoji.png"}
    return result


def get_date_fact(date: str, ckpt=MODEL_SELECTION.get("get_date_fact")):
    result = {"text": f"get date fact of {date}"}
    return result


def get_year_fact(year: Union[str, int], ckpt=MODEL_SELECTION.get("get_year_fact")):
    result = {"text": f"get year fact of {year}"}
    return result


def get_math_fact(number: Union[str, int], ckpt=MODEL_SELECTION.get("get_math_fact")):
    result = {"text": f"get math fact of {number}"}
    return result


def get_trivia_fact(number: Union[str, int], ckpt=MODEL_SELECTION.get("get_trivia_fact")):
    result = {"text": f"get trivia fact of {number}"}
    return result


def love_calculator(first_name: str, second_name: str, ckpt=MODEL_SELECTION.get("love_calculator")):
    result = {"number": 42}
    return result


def get_location(city: str, ckpt=MODEL_SELECTION.get("get_location")):
    result = {"lon": f"get location of {city}", "lat": f"get location of {city}"}
    return result


def search_movie(movie_title: str, movie_year: Union[str, int], ckpt=MODEL_SELECTION.get("search_movie")):
    result = {"text": f"search movie of {movie_title}"}
    return result


def get_weather(lon: Union[str, float], lat: Union[str, float], ckpt=MODEL_SELECTION.get("get_weather")):
    result = {"objects": [{"label": "rain", "bbox": [0, 0, 1, 1]}]}
    return result


def wikipedia_simple_search(text: str, ckpt=MODEL_SELECTION.get("wikipedia_simple_search")):
    result = {"text": f"wikipedia simple search of {text}"}
    return result
