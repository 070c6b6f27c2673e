from .base import Task, ToolType, get_task_iterator
from .impl import message_decoder, dna_sequencer, trade_calculator, travel_itinerary_planning, web_browsing
