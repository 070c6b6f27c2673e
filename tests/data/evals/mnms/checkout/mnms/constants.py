TOOL_METADATA = {
    "text generation": {
        "description": "Writes a text that goes on from a prompt.",
        "input": {"arg_name": ["text"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "text summarization": {
        "description": "Shortens a paragraph.",
        "input": {"arg_name": ["text"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "text classification": {
        "description": "Says what kind of text it is.",
        "input": {"arg_name": ["text"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "question answering": {
        "description": "Answers a question from a text.",
        "input": {"arg_name": ["question", "text"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "image generation": {
        "description": "Draws what a text says.",
        "input": {"arg_name": ["text"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "image captioning": {
        "description": "Says in a sentence what an image shows.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "optical character recognition": {
        "description": "Reads the text in an image.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "image classification": {
        "description": "Names the main thing in an image.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "image editing": {
        "description": "Changes an image as a text says.",
        "input": {"arg_name": ["image", "prompt"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "object detection": {
        "description": "Finds things in an image, with boxes.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["image", "list[dict]"], "arg_name": ["image", "objects"]},
    },
    "image segmentation": {
        "description": "Cuts an image into regions, with masks.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["image", "list[dict]"], "arg_name": ["image", "objects"]},
    },
    "automatic speech recognition": {
        "description": "Writes down what a recording says.",
        "input": {"arg_name": ["audio"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "visual question answering": {
        "description": "Answers a question about an image.",
        "input": {"arg_name": ["image", "question"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "image crop": {
        "description": "Keeps the part of an image in the box of an object.",
        "input": {"arg_name": ["image", "object"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "image crop left": {
        "description": "Keeps the left half of an image.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "image crop right": {
        "description": "Keeps the right half of an image.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "image crop top": {
        "description": "Keeps the upper half of an image.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "image crop bottom": {
        "description": "Keeps the lower half of an image.",
        "input": {"arg_name": ["image"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "background blur": {
        "description": "Blurs what is behind an object.",
        "input": {"arg_name": ["image", "object"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "color pop": {
        "description": "Takes the colour out of all but an object.",
        "input": {"arg_name": ["image", "object"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "count": {
        "description": "Counts objects.",
        "input": {"arg_name": ["objects"]},
        "output": {"modality": ["integer"], "arg_name": ["number"]},
    },
    "tag": {
        "description": "Draws labelled boxes.",
        "input": {"arg_name": ["image", "objects"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "select object": {
        "description": "Picks an object by its name.",
        "input": {"arg_name": ["objects", "object_name"]},
        "output": {"modality": ["object"], "arg_name": ["object"]},
    },
    "emoji": {
        "description": "Puts an emoji on an object.",
        "input": {"arg_name": ["image", "object", "emoji"]},
        "output": {"modality": ["image"], "arg_name": ["image"]},
    },
    "get date fact": {
        "description": "Tells a fact about a day of the year.",
        "input": {"arg_name": ["date"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "get year fact": {
        "description": "Tells a fact about a year.",
        "input": {"arg_name": ["year"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "get math fact": {
        "description": "Tells a fact of mathematics about a number.",
        "input": {"arg_name": ["number"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "get trivia fact": {
        "description": "Tells something odd about a number.",
        "input": {"arg_name": ["number"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "love calculator": {
        "description": "Says how well two names match.",
        "input": {"arg_name": ["first_name", "second_name"]},
        "output": {"modality": ["integer"], "arg_name": ["number"]},
    },
    "get location": {
        "description": "Finds the place of a city on the map.",
        "input": {"arg_name": ["city"]},
        "output": {"modality": ["text", "text"], "arg_name": ["lon", "lat"]},
    },
    "search movie": {
        "description": "Tells the main data of a film.",
        "input": {"arg_name": ["movie_title", "movie_year"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
    "get weather": {
        "description": "Forecasts the weather at a place.",
        "input": {"arg_name": ["lon", "lat"]},
        "output": {"modality": ["list[dict]"], "arg_name": ["objects"]},
    },
    "wikipedia simple search": {
        "description": "Sums up the page that fits a query.",
        "input": {"arg_name": ["text"]},
        "output": {"modality": ["text"], "arg_name": ["text"]},
    },
}

DEMO_EXAMPLES = []
