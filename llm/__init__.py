"""The model behind one face: an OpenAI-compatible endpoint, or the offline provider. And the embedders."""
